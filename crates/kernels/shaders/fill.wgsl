// fill: out[i] = value
//
// Shape      out: n elements, n = arrayLength(&out)
// Dispatch   one invocation per element; invocations past n do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  exact
//#use linear
override WORKGROUP: u32 = 64;
alias T = f32;                              // f32 | i32 | u32: replaced on the host's request
struct Params { value: T }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> out: array<T>;

@compute @workgroup_size(WORKGROUP)
fn fill(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = linear_id(gid, groups, WORKGROUP);
    if i >= arrayLength(&out) { return; }
    out[i] = params.value;
}
