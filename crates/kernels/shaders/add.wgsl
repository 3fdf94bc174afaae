// add: z[i] = x[i] + y[i]
//
// Shape      x, y, z: n elements, n = the shortest length
// Dispatch   one invocation per element; invocations past n do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  exact
//#use linear
override WORKGROUP: u32 = 64;
alias T = f32;                              // f32 | i32 | u32: replaced on the host's request
@group(0) @binding(1) var<storage, read> x: array<T>;
@group(0) @binding(2) var<storage, read> y: array<T>;
@group(0) @binding(3) var<storage, read_write> z: array<T>;

@compute @workgroup_size(WORKGROUP)
fn add(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = linear_id(gid, groups, WORKGROUP);
    if i >= min(arrayLength(&z), min(arrayLength(&x), arrayLength(&y))) { return; }
    z[i] = x[i] + y[i];
}
