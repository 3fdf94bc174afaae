// scan: out[i] = an initial value and the elements of x up to i, combined by an operation; total[0] = all of them
// If REVERSED, each result combines the elements from i on.
//
// Shape      x, out: at least n elements; carries: one element for each share, if CARRIED; total: at least one element
// Dispatch   one workgroup per share, along x; the last share may be shorter, and none is empty
// Workgroup  [WORKGROUP, 1, 1], a power of two
// Barriers   as scan_share
// Tolerance  as scan_share
//#use lanes
//#use number_keys
//#use operation
//#use scan_share
override WORKGROUP: u32 = 256;
override OPERATION: u32 = 0;                // 0: sum, 1: product, 2: smallest, 3: largest; the last two for integers
override KEYS: u32 = 0;                     // not 0: bits of f32, whose min or max is computed; 2: NaNs are left out
override EXCLUSIVE: u32 = 0;                // 1: an element is not part of its own result (exclusive)
override CARRIED: u32 = 0;                  // 1: carries holds, for each share, the combined elements before it (after it if REVERSED)
override REVERSED: u32 = 0;                 // 1: an element is combined with the elements after it
alias T = f32;                              // f32 | i32 | u32: replaced on the host's request
struct Params { n: u32, share: u32, identity: T, initial: T }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<T>;
@group(0) @binding(2) var<storage, read> carries: array<T>;
@group(0) @binding(3) var<storage, read_write> out: array<T>;
@group(0) @binding(4) var<storage, read_write> total: array<T>;

alias S = T;

fn identity() -> S { return params.identity; }

fn combined(a: S, b: S) -> S { return operation(a, b); }

// Sum of the first and the last index of the share.
var<private> mirror: u32;

// Returns the index of the element at step i of a share's scan. The number of elements may shrink meanwhile, so the
// index is limited by the array.
fn place(i: u32) -> u32 {
    if REVERSED == 0u { return i; }
    return min(mirror - i, arrayLength(&x) - 1u);
}

fn load(i: u32) -> S { return of_bits(x[place(i)]); }

fn store(i: u32, before: S, after: S) { out[place(i)] = to_bits(select(after, before, EXCLUSIVE == 1u)); }

fn keep(all: S) { if REVERSED == 0u { total[0] = to_bits(all); } }

@compute @workgroup_size(WORKGROUP)
fn scan(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    var before = params.initial;
    if CARRIED == 1u { before = combined(before, of_bits(carries[group.x])); }
    mirror = group.x * params.share + min(params.n, (group.x + 1u) * params.share) - 1u;
    let all = scan_share(group.x, lane, before);
    // The first share is the last one of a reversed scan.
    if REVERSED == 1u && group.x == 0u && lane == 0u { total[0] = to_bits(all); }
}
