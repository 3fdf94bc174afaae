// bridge_gaps: out[i] = x[i], or for a NaN the number at its place on the line from the number before it to the one after it
//
// Shape      x, as bits, and out: [outer, n, inner]; the numbers before and after a NaN are those along the middle axis; without one of
//            them, the result is the other one, and without both it is 0
// Dispatch   one invocation per element; invocations past count do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  4 u times the larger magnitude of both numbers, u = 2^-24
//#use linear
override WORKGROUP: u32 = 64;
struct Params { n: u32, inner: u32, count: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;

fn is_nan(bits: u32) -> bool { return (bits & 0x7FFFFFFFu) > 0x7F800000u; }

@compute @workgroup_size(WORKGROUP)
fn bridge_gaps(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = linear_id(gid, groups, WORKGROUP);
    if i >= params.count { return; }
    let index = i / params.inner % params.n;
    let line = i - index * params.inner;
    var before = index + 1u;                // number of elements up to the last number before the gap
    for (; before > 0u; before -= 1u) { if !is_nan(x[line + (before - 1u) * params.inner]) { break; } }
    var after = index;                      // index of the first number after the gap
    for (; after < params.n; after += 1u) { if !is_nan(x[line + after * params.inner]) { break; } }
    var result = 0.0;
    if before > 0u || after < params.n {
        let first = select(after, before - 1u, before > 0u);
        let last = select(before - 1u, after, after < params.n);
        let left = bitcast<f32>(x[line + first * params.inner]);
        let right = bitcast<f32>(x[line + last * params.inner]);
        // At a number, and with a number on one side alone, both are the same.
        result = left + (right - left) * (f32(index - min(index, first)) / f32(max(last - first, 1u)));
    }
    out[i] = result;
}
