// reduce: out[g] = the elements of share g of x, combined by an operation; share g begins at element g * share
//
// Shape      x: at least n elements; out: at least one element for each workgroup
// Dispatch   one workgroup per share, along x; the last share may be shorter, and a share past n is empty
// Workgroup  [WORKGROUP, 1, 1], a power of two
// Barriers   as reduce_share
// Tolerance  as reduce_share and finish
//#use finish
//#use reduce_share
override WORKGROUP: u32 = 256;
override OPERATION: u32 = 0;                // 0: sum, 1: product, 2: smallest, 3: largest; the last two for integers
override FINISH: u32 = 0;                   // 0: the result itself, 1: divided by the divisor, 2: its square root
alias T = f32;                              // f32 | i32 | u32: replaced on the host's request
struct Params { n: u32, share: u32, identity: T, divisor: T }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<T>;
@group(0) @binding(2) var<storage, read_write> out: array<T>;

alias S = T;

fn identity() -> S { return params.identity; }

fn element(i: u32) -> S { return x[i]; }

fn combined(a: S, b: S) -> S {
    if OPERATION == 0u { return a + b; }
    if OPERATION == 1u { return a * b; }
    if OPERATION == 2u { return min(a, b); }
    return max(a, b);
}

@compute @workgroup_size(WORKGROUP)
fn reduce(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    let end = min(params.n, (group.x + 1u) * params.share);
    reduce_share(group.x * params.share, end, lane);
    if lane == 0u { out[group.x] = finished(parts[0], params.divisor); }
}
