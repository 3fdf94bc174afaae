// subgroups: the first lane of each subgroup stores the sum of the words of its lanes in its element of out, 16 times
//
// Dispatch   one invocation for each element
// Workgroup  [64, 1, 1]
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(64)
fn subgroups(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(subgroup_invocation_id) lane: u32,
) {
    var sum = 0u;
    for (var round = 0u; round < 16u; round++) {
        sum += subgroupAdd(x[id.x] & 15u);
    }
    out[id.x] = select(0u, sum, lane == 0u);
}
