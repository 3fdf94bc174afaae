// inner_product: out[g] = the sum of x[i] * y[i] over share g, or its square root
//
// Shape      x, y: at least n elements; out: at least one element for each workgroup
// Dispatch   one workgroup per share of n elements; share g begins at element g * share, and the last may be shorter
// Workgroup  [WORKGROUP, 1, 1], a power of two
// Barriers   one for each halving of the workgroup
// Tolerance  f32: d u times the sum of |x[i] * y[i]|, d = share / WORKGROUP / 4 + 6 + log2(WORKGROUP), u = 2^-24, and 4.5
//            ulp for a root; integers exactly, wrapping
override WORKGROUP: u32 = 256;
override ROOT: u32 = 0;                     // 0: the sum, 1: its square root
alias T = f32;                              // f32 | i32 | u32: replaced on the host's request
struct Params { n: u32, share: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<T>;
@group(0) @binding(2) var<storage, read> y: array<T>;
@group(0) @binding(3) var<storage, read_write> out: array<T>;

var<workgroup> parts: array<T, WORKGROUP>;

fn finished(total: T) -> T {
    if ROOT == 1u { return T(sqrt(f32(total))); }
    return total;
}

@compute @workgroup_size(WORKGROUP)
fn inner_product(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    let end = min(params.n, (group.x + 1u) * params.share);
    var a = T(0);
    var b = T(0);
    var c = T(0);
    var d = T(0);
    var i = group.x * params.share + lane;
    // Four values make four chains of operations, which the device executes side by side.
    for (; i + 3u * WORKGROUP < end; i += 4u * WORKGROUP) {
        a += x[i] * y[i];
        b += x[i + WORKGROUP] * y[i + WORKGROUP];
        c += x[i + 2u * WORKGROUP] * y[i + 2u * WORKGROUP];
        d += x[i + 3u * WORKGROUP] * y[i + 3u * WORKGROUP];
    }
    for (; i < end; i += WORKGROUP) { a += x[i] * y[i]; }
    parts[lane] = (a + b) + (c + d);
    for (var width = WORKGROUP / 2u; width > 0u; width /= 2u) {
        workgroupBarrier();
        if lane < width { parts[lane] += parts[lane + width]; }
    }
    if lane == 0u { out[group.x] = finished(parts[0]); }
}
