// inner_product: out[g] = the sum of x[i] * y[i] over share g, or its square root
//
// Shape      x, y: at least n elements; out: at least one element for each workgroup
// Dispatch   one workgroup per share of n elements; share g begins at element g * share, and the last may be shorter
// Workgroup  [WORKGROUP, 1, 1], a power of two
// Barriers   as reduce_share
// Tolerance  f32: as reduce_share for the products, with d one more, and 4.5 ulp for a root; integers exactly, wrapping
//#use reduce_share
override WORKGROUP: u32 = 256;
override ROOT: u32 = 0;                     // 0: the sum, 1: its square root
alias T = f32;                              // f32 | i32 | u32: replaced on the host's request
struct Params { n: u32, share: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<T>;
@group(0) @binding(2) var<storage, read> y: array<T>;
@group(0) @binding(3) var<storage, read_write> out: array<T>;

alias S = T;

fn identity() -> S { return S(0); }

fn element(i: u32) -> S { return x[i] * y[i]; }

fn combined(a: S, b: S) -> S { return a + b; }

fn finished(total: T) -> T {
    if ROOT == 1u { return T(sqrt(f32(total))); }
    return total;
}

@compute @workgroup_size(WORKGROUP)
fn inner_product(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    let end = min(params.n, (group.x + 1u) * params.share);
    reduce_share(group.x * params.share, end, lane);
    if lane == 0u { out[group.x] = finished(parts[0]); }
}
