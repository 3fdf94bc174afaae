// Computes the corners of a chart's bars, two triangles each. x and y go from -1 to 1.

struct Params { full: f32 } // the height of a bar that reaches the top
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> heights: array<f32>;
@group(0) @binding(2) var<storage, read_write> corners: array<vec2<f32>>;

@compute @workgroup_size(64)
fn bars(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&corners) { return; }
    let bar = id.x / 6u;
    let corner = id.x % 6u;
    let right = f32(corner == 1u || corner == 2u || corner == 4u);
    let top = f32(corner == 2u || corner == 4u || corner == 5u);
    let x = (f32(bar) + right) / f32(arrayLength(&heights));
    let y = top * heights[bar] / params.full;
    corners[id.x] = vec2(x, y) * 2.0 - 1.0;
}
