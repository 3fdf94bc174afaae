// saxpy: y[i] = a * x[i] + y[i]
//
// Dispatch   a grid of two axes; one invocation for each element
// Workgroup  [256, 1, 1]
struct Params { a: f32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(256)
fn saxpy(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = id.y * groups.x * 256u + id.x;
    if i >= arrayLength(&y) { return; }
    y[i] = params.a * x[i] + y[i];
}
