// saxpy: y[i] = a * x[i] + y[i]
//
// The launch rows use this kernel, with the same text for every implementation.
//
// Shape      x, y: n elements, n = arrayLength(&y)
// Dispatch   one invocation per element; invocations past n do nothing
// Workgroup  [64, 1, 1]
// Barriers   none
var<immediate> a: f32;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(64)
fn saxpy(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if i >= arrayLength(&y) { return; }
    y[i] = a * x[i] + y[i];
}
