// expect: compiled
// Functions take pointers to elements of nested arrays, at indices that may lie outside of the array.
@group(0) @binding(0) var<storage, read_write> out: array<vec4<f32>>;

fn adds(x: ptr<function, f32>, y: f32) {
    *x += y;
}

fn turns(m: ptr<function, array<mat2x2<f32>, 3>>, v: ptr<function, array<vec2<f32>, 3>>, at: u32) {
    (*v)[at] = (*m)[at] * (*v)[at];
}

fn row(rows: ptr<function, array<array<f32, 4>, 3>>, at: u32, y: f32) {
    adds(&rows[at][at + 1u], y);
    adds(&rows[0][at], y);
    adds(&rows[at][2], rows[at][0]);
}

@compute @workgroup_size(16)
fn walks(@builtin(local_invocation_index) i: u32, @builtin(global_invocation_id) id: vec3<u32>) {
    var rows: array<array<f32, 4>, 3>;
    row(&rows, i, f32(i));
    row(&rows, 2u, 0.5);
    var matrices: array<mat2x2<f32>, 3>;
    matrices[1] = mat2x2(1.0, 2.0, 3.0, 4.0);
    var vectors = array(vec2(1.0, 2.0), vec2(3.0, 4.0), vec2(5.0, 6.0));
    turns(&matrices, &vectors, i);
    turns(&matrices, &vectors, 1u);
    out[id.x] = vec4(rows[0][1] + rows[2][3], rows[2][2], vectors[1].x, vectors[2].y);
}
