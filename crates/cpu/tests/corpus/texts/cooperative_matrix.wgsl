// expect: refused: cooperative_matrix.wgsl:4:1: kernel `multiplies`: a cooperative matrix does not run on the CPU
enable wgpu_cooperative_matrix;

var<private> tile: coop_mat8x8<f32, A>;

@compute @workgroup_size(8, 8)
fn multiplies() {
    let doubled = tile + tile;
}
