// strided: out[to + i0 * t0 + .. + i5 * t5] = x[from + i0 * f0 + .. + i5 * f5]
//
// Shape      n indices of the shape count_0 x .. x count_5; x, out: the places are inside of them, and no two of those in
//            out are equal; as bits. A stride may be negative: its product with an index wraps
// Dispatch   one invocation per element; invocations past n do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  exact: the bits are copied
//#use linear
override WORKGROUP: u32 = 64;
struct Params {
    n: u32,
    count_1: u32,
    count_2: u32,
    count_3: u32,
    count_4: u32,
    count_5: u32,
    first_from: u32,
    from_0: u32,
    from_1: u32,
    from_2: u32,
    from_3: u32,
    from_4: u32,
    from_5: u32,
    first_to: u32,
    to_0: u32,
    to_1: u32,
    to_2: u32,
    to_3: u32,
    to_4: u32,
    to_5: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(WORKGROUP)
fn strided(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = linear_id(gid, groups, WORKGROUP);
    if i >= params.n { return; }
    var rest = i;
    var index = rest % params.count_5;
    rest /= params.count_5;
    var source = params.first_from + index * params.from_5;
    var place = params.first_to + index * params.to_5;
    index = rest % params.count_4;
    rest /= params.count_4;
    source += index * params.from_4;
    place += index * params.to_4;
    index = rest % params.count_3;
    rest /= params.count_3;
    source += index * params.from_3;
    place += index * params.to_3;
    index = rest % params.count_2;
    rest /= params.count_2;
    source += index * params.from_2;
    place += index * params.to_2;
    index = rest % params.count_1;
    rest /= params.count_1;
    source += index * params.from_1 + rest * params.from_0;
    place += index * params.to_1 + rest * params.to_0;
    out[place] = x[source];
}
