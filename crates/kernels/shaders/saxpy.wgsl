// saxpy: y[i] = a * x[i] + y[i]
//
// Shape      x, y: n elements, n = the shorter length
// Dispatch   one invocation per element; invocations past n do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  2 ulp (the device may fuse); integers exactly, wrapping
//#use linear
override WORKGROUP: u32 = 64;
alias T = f32;                              // f32 | i32 | u32: replaced on the host's request
struct Params { a: T }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<T>;
@group(0) @binding(2) var<storage, read_write> y: array<T>;

@compute @workgroup_size(WORKGROUP)
fn saxpy(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = linear_id(gid, groups, WORKGROUP);
    if i >= min(arrayLength(&x), arrayLength(&y)) { return; }
    y[i] = params.a * x[i] + y[i];
}
