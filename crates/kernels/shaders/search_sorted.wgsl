// search_sorted: out[i] = the number of elements of x below queries[i], plus those equal to it if `right`
//
// Shape      x: n elements in ascending order; queries, out: m elements; all as bits but out
// Dispatch   one invocation per query; invocations past m do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  exact, in the order of order_keys
//#use linear
//#use order_keys
override WORKGROUP: u32 = 256;
struct Params {
    n: u32, m: u32, flip_clear: u32, flip_set: u32,
    right: u32,                             // 1: elements equal to a query are counted too
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read> queries: array<u32>;
@group(0) @binding(3) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(WORKGROUP)
fn search_sorted(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = linear_id(gid, groups, WORKGROUP);
    if i >= params.m { return; }
    let query = order_key(queries[i]);
    var before = 0u;
    var behind = params.n;
    while before < behind {
        let middle = before + (behind - before) / 2u;
        let key = order_key(x[middle]);
        if key < query || (params.right == 1u && key == query) { before = middle + 1u; } else { behind = middle; }
    }
    out[i] = before;
}
