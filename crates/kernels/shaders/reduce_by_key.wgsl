// reduce_by_key: kept = the key of each run, out = the elements of x of each run combined; states[0] = the number of runs
//
// Shape      keys, x: at least n elements; kept, out: as many; partials: two words for each share, in stage 0; states: one
//            word, or two for each share in stage 1; a run is a sequence of equal keys
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
override STAGE: u32 = 0;                    // 0: writes the runs that end in each share, 1: states, 2: writes all of a single share
override OPERATION: u32 = 0;                // 0: sum, 1: product, 2: smallest, 3: largest; the last two for integers
override KEYS: u32 = 0;                     // not 0: bits of f32, whose min or max is computed; 2: NaNs are left out
override LENGTHS: u32 = 0;                  // 1: each element is 1, so that sums are the lengths of runs
alias T = f32;                              // f32 | i32 | u32: replaced on the host's request
struct Params { n: u32, share: u32, identity: T }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> keys: array<u32>;
@group(0) @binding(2) var<storage, read> x: array<T>;
@group(0) @binding(3) var<storage, read> partials: array<u32>;
@group(0) @binding(4) var<storage, read_write> kept: array<u32>;
@group(0) @binding(5) var<storage, read_write> out: array<T>;
@group(0) @binding(6) var<storage, read_write> states: array<u32>;

fn load(i: u32) -> S {
    var value = T(1);
    if LENGTHS == 0u { value = of_bits(x[i]); }
    return S(value, select(0u, 1u, i == 0u || keys[i] != keys[i - 1u]));
}

fn store(i: u32, before: S, after: S) {
    if i + 1u < params.n && keys[i] == keys[i + 1u] { return; }
    let place = after.heads - 1u;
    // Another queue may change the keys between the two reads.
    if place >= min(arrayLength(&kept), arrayLength(&out)) { return; }
    kept[place] = keys[i];
    out[place] = to_bits(after.value);
}

fn keep(all: S) { states[0] = all.heads; }

@compute @workgroup_size(WORKGROUP)
fn reduce_by_key(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    run_stage(group.x, lane);
}
