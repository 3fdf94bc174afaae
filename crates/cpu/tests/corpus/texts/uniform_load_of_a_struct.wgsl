// expect: compiled
// A uniform load returns a struct with arrays and a matrix, and the value of an atomic.
@group(0) @binding(0) var<storage, read_write> out: array<f32>;

struct Parts {
    axes: array<vec3<f32>, 4>,
    turn: mat3x3<f32>,
}

var<workgroup> parts: Parts;
var<workgroup> count: atomic<u32>;

@compute @workgroup_size(16)
fn loads(@builtin(local_invocation_index) i: u32, @builtin(global_invocation_id) id: vec3<u32>) {
    atomicAdd(&count, i);
    if i < 4u {
        parts.axes[i] = vec3(f32(i), 7.0, 9.0);
        parts.turn[i % 3u][i / 2u] = f32(i) + 1.0;
    }
    let whole = workgroupUniformLoad(&parts);
    let sum = workgroupUniformLoad(&count);
    out[id.x] = f32(sum) + whole.axes[3].x + (whole.turn * whole.axes[i]).y;
}
