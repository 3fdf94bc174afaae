// permute: out[i0, .., i5] = x[i0 * s0 + .. + i5 * s5]
//
// Shape      out: n elements of the shape count_0 x .. x count_5; x: as many; as bits
// Dispatch   one invocation per element; invocations past n do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  exact: the bits are copied
//#use linear
override WORKGROUP: u32 = 256;
struct Params {
    n: u32,
    count_1: u32,
    count_2: u32,
    count_3: u32,
    count_4: u32,
    count_5: u32,
    stride_0: u32,
    stride_1: u32,
    stride_2: u32,
    stride_3: u32,
    stride_4: u32,
    stride_5: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(WORKGROUP)
fn permute(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = linear_id(gid, groups, WORKGROUP);
    if i >= params.n { return; }
    var rest = i;
    var at = rest % params.count_5 * params.stride_5;
    rest /= params.count_5;
    at += rest % params.count_4 * params.stride_4;
    rest /= params.count_4;
    at += rest % params.count_3 * params.stride_3;
    rest /= params.count_3;
    at += rest % params.count_2 * params.stride_2;
    rest /= params.count_2;
    at += rest % params.count_1 * params.stride_1;
    rest /= params.count_1;
    out[i] = x[at + rest * params.stride_0];
}
