// expect: runs
// The value of a uniform load has 576 components.
@group(0) @binding(0) var<storage, read_write> out: array<f32>;

var<workgroup> tile: array<array<f32, 24>, 24>;

@compute @workgroup_size(16)
fn loads(@builtin(local_invocation_index) i: u32, @builtin(global_invocation_id) id: vec3<u32>) {
    tile[i][23u - i] = f32(i);
    let whole = workgroupUniformLoad(&tile);
    out[id.x] = whole[15u - i][8u + i];
}
