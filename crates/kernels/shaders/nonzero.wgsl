// nonzero: out[g] = the number of elements of share g that are not zero, or 1 if any or all of them are not zero, else 0
//
// Shape      x: at least n elements, as bits; out: at least one element for each workgroup
// Dispatch   one workgroup per share of n elements; share g begins at element g * share, and the last may be shorter
// Workgroup  [WORKGROUP, 1, 1], a power of two
// Barriers   one for each halving of the workgroup
// Tolerance  exact; a NaN and each number below the smallest normal one are not zero
override WORKGROUP: u32 = 256;
override OPERATION: u32 = 0;                // 0: count, 1: any, 2: all
override BITS: u32 = 0xFFFFFFFFu;           // bits of an element to test for nonzero: for f32 all but the sign
struct Params { n: u32, share: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;

var<workgroup> parts: array<u32, WORKGROUP>;

fn combined(a: u32, b: u32) -> u32 {
    if OPERATION == 0u { return a + b; }
    if OPERATION == 1u { return a | b; }
    return a & b;
}

@compute @workgroup_size(WORKGROUP)
fn nonzero(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    let end = min(params.n, (group.x + 1u) * params.share);
    var a = select(0u, 1u, OPERATION == 2u);
    for (var i = group.x * params.share + lane; i < end; i += WORKGROUP) {
        a = combined(a, select(0u, 1u, (x[i] & BITS) != 0u));
    }
    parts[lane] = a;
    for (var width = WORKGROUP / 2u; width > 0u; width /= 2u) {
        workgroupBarrier();
        if lane < width { parts[lane] = combined(parts[lane], parts[lane + width]); }
    }
    if lane == 0u { out[group.x] = parts[0]; }
}
