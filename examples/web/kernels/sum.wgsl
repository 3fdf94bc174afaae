// Adds the elements of each workgroup.
@group(0) @binding(0) var<storage, read> values: array<f32>;
@group(0) @binding(1) var<storage, read_write> sums: array<f32>;
var<workgroup> shares: array<f32, 64>;

@compute @workgroup_size(64)
fn sum(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(local_invocation_index) own: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    shares[own] = values[id.x];
    for (var reach = 32u; reach > 0u; reach /= 2u) {
        if own < reach { shares[own] += shares[own + reach]; }
        workgroupBarrier();
    }
    if own == 0u { sums[group.x] = shares[0]; }
}
