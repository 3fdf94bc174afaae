// Adds the sum of all earlier blocks of 256 elements to each element of a block.
@group(0) @binding(0) var<storage, read> sums: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;

@compute @workgroup_size(256)
fn add_blocks(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    if id.x < arrayLength(&y) && group.x > 0 {
        y[id.x] += sums[group.x - 1];
    }
}
