// turn: data[i] = factor * data[i], as complex numbers
struct Params { factor: vec2<f32> }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> data: array<vec2<f32>>;

@compute @workgroup_size(64)
fn turn(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&data) { return; }
    let f = params.factor;
    let z = data[id.x];
    data[id.x] = vec2(f.x * z.x - f.y * z.y, f.x * z.y + f.y * z.x);
}
