// The wave equation in two dimensions: one time step of the heights, and a colour for each height.

override RATE: f32; // (speed * time step / width of a cell)^2, at most 0.5
override KEPT: f32; // part of the velocity that a time step keeps
override RADIUS: f32; // radius of the source in cells
override GAIN: f32; // the heights from -1 / GAIN to 1 / GAIN have a colour of their own

struct Params { size: vec2<u32>, mouse: vec2<f32>, push: f32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> current: array<f32>;
@group(0) @binding(2) var<storage, read_write> old: array<f32>; // the step before `current`, then the step after it
@group(0) @binding(3) var<storage, read_write> pixels: array<u32>; // red, green, blue and alpha, a byte each

@compute @workgroup_size(8, 8)
fn step(@builtin(global_invocation_id) id: vec3<u32>) {
    // The heights along the edge stay 0, so the edge reflects the waves.
    if any(id.xy == vec2(0u)) || any(id.xy + 1u >= params.size) { return; }
    let width = params.size.x;
    let i = id.y * width + id.x;
    let height = current[i];
    let bend = current[i - 1u] + current[i + 1u] + current[i - width] + current[i + width] - 4.0 * height;
    let offset = vec2<f32>(id.xy) - params.mouse;
    let near = max(1.0 - dot(offset, offset) / (RADIUS * RADIUS), 0.0);
    old[i] = height + KEPT * (height - old[i]) + RATE * bend + params.push * near * near;
}

@compute @workgroup_size(64)
fn paint(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&current) { return; }
    let level = 0.5 + 0.5 * clamp(GAIN * current[id.x], -1.0, 1.0);
    let colour = mix(vec3(0.0, 0.1, 0.3), vec3(0.8, 1.0, 0.9), level);
    pixels[id.x] = pack4x8unorm(vec4(colour, 1.0));
}
