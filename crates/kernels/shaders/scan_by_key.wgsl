// scan_by_key: out[i] = an initial value and the elements of x up to i that belong to the same run, combined by an operation
// If REVERSED, each result combines the elements of the run from i on.
//
// Shape      keys, x, out: at least n elements, and one word of keys for 32 of them if HEADS; partials: two words for each share,
//            in stage 0; states: two words for each share, in stage 1; a run is a sequence of equal keys
// Dispatch   one workgroup per share, along x; the last share may be shorter, and none is empty
// Workgroup  [WORKGROUP, 1, 1], a power of two
// Barriers   as scan_share and fold_share
// Tolerance  as scan_share and fold_share
//#use fold_partials
//#use fold_share
//#use keyed
//#use lanes
//#use number_keys
//#use operation
//#use run_stage
//#use scan_share
override WORKGROUP: u32 = 64;
override STAGE: u32 = 0;                    // 0: writes the results of each share, 1: states, 2: writes all of a single share
override OPERATION: u32 = 0;                // 0: sum, 1: product, 2: smallest, 3: largest; the last two for integers
override KEYS: u32 = 0;                     // not 0: bits of f32, whose min or max is computed; 2: NaNs are left out
override EXCLUSIVE: u32 = 0;                // 1: an element is not part of its own result (exclusive)
override REVERSED: u32 = 0;                 // 1: an element is combined with the elements after it
override HEADS: u32 = 0;                    // 1: keys has a bit for each element, which is set where a run begins
alias T = f32;                              // f32 | i32 | u32: replaced on the host's request
struct Params { n: u32, share: u32, identity: T, initial: T }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> keys: array<u32>;
@group(0) @binding(2) var<storage, read> x: array<T>;
@group(0) @binding(3) var<storage, read> partials: array<u32>;
@group(0) @binding(4) var<storage, read_write> out: array<T>;
@group(0) @binding(5) var<storage, read_write> states: array<u32>;

// Returns the index of the element at step i of the scan. The number of elements may shrink meanwhile, so the index is
// limited by the array.
fn place(i: u32) -> u32 {
    if REVERSED == 0u { return i; }
    return min(params.n - 1u - i, arrayLength(&x) - 1u);
}

// Returns true for the first element of a run's scan. As a single function, it takes a third of the time of two on the
// CPU.
fn is_head(at: u32) -> bool {
    if HEADS == 1u {
        let place = at + REVERSED;
        return place >= params.n || ((keys[place / 32u] >> (place % 32u)) & 1u) == 1u;
    }
    if REVERSED == 1u { return at + 1u >= params.n || keys[at] != keys[at + 1u]; }
    return at == 0u || keys[at] != keys[at - 1u];
}

fn load(i: u32) -> S {
    let at = place(i);
    return S(of_bits(x[at]), select(0u, 1u, is_head(at)));
}

fn store(i: u32, before: S, after: S) {
    let at = place(i);
    var value = after.value;
    if EXCLUSIVE == 1u { value = select(before.value, params.identity, is_head(at)); }
    out[at] = to_bits(operation(params.initial, value));
}

fn keep(all: S) { }

@compute @workgroup_size(WORKGROUP)
fn scan_by_key(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    run_stage(group.x, lane);
}
