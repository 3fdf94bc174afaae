// choose: out[i] = x[i] where mask[i] is not zero, else y[i]
//
// Shape      mask, x, y, out: at least n elements; x, y and out as bits
// Dispatch   one invocation per element; invocations past n do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  exact: the bits are copied
//#use linear
override WORKGROUP: u32 = 256;
struct Params { n: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> mask: array<u32>;
@group(0) @binding(2) var<storage, read> x: array<u32>;
@group(0) @binding(3) var<storage, read> y: array<u32>;
@group(0) @binding(4) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(WORKGROUP)
fn choose(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = linear_id(gid, groups, WORKGROUP);
    if i >= params.n { return; }
    if mask[i] != 0u {
        out[i] = x[i];
    } else {
        out[i] = y[i];
    }
}
