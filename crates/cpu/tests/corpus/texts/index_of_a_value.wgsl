// expect: compiled
// Indices choose elements of arrays, vectors and matrices that are not variables, within the bounds and outside.
@group(0) @binding(0) var<storage, read_write> out: array<f32>;

fn at(values: array<f32, 5>, index: i32) -> f32 {
    return values[index];
}

@compute @workgroup_size(16)
fn picks(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = i32(id.x) - 4;
    let rows = array(array(1.0, 2.0), array(3.0, 4.0));
    let turn = mat3x2(1.0, 2.0, 3.0, 4.0, 5.0, 6.0);
    let halves = array<vec3f, 2>(vec3(0.5), vec3(0.25, 0.125, f32(i)));
    out[id.x] = at(array(10.0, 20.0, 30.0, 40.0, 50.0), i) + rows[i][i + 1] + turn[i][i] + halves[i].z * 8.0;
}
