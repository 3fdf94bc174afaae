// iota: out[i] = start + i * step
//
// Shape      out: n elements, n = arrayLength(&out)
// Dispatch   one invocation per element; invocations past n do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  2 ulp (the device may fuse); integers exactly, wrapping
//#use linear
override WORKGROUP: u32 = 64;
alias T = u32;                              // f32 | i32 | u32: replaced on the host's request
struct Params { start: T, step: T }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> out: array<T>;

@compute @workgroup_size(WORKGROUP)
fn iota(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = linear_id(gid, groups, WORKGROUP);
    if i >= arrayLength(&out) { return; }
    out[i] = params.start + T(i) * params.step;
}
