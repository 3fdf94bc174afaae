// mix: y[i] = y[i] * a + x[i] + b, wrapping: each step depends on all steps before it, and no two commute
//
// Shape      x, y: n elements, n = the shorter length
// Dispatch   one invocation per element; invocations past n do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  exact
//#use linear
override WORKGROUP: u32 = 64;
struct Params { a: u32, b: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read_write> y: array<u32>;

@compute @workgroup_size(WORKGROUP)
fn mix(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = linear_id(gid, groups, WORKGROUP);
    if i >= min(arrayLength(&x), arrayLength(&y)) { return; }
    y[i] = y[i] * params.a + x[i] + params.b;
}
