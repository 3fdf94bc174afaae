// Draws a picture over the whole view, which may have another size than the picture.

struct Sizes { cells: vec2<u32>, view: vec2<u32> }
@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var<storage, read> pixels: array<u32>; // red, green, blue and alpha, a byte each

// The corners of a triangle that contains the view.
@vertex
fn corner(@builtin(vertex_index) index: u32) -> @builtin(position) vec4<f32> {
    let x = 4.0 * f32(index & 1u) - 1.0;
    let y = 4.0 * f32(index >> 1u) - 1.0;
    return vec4(x, y, 0.0, 1.0);
}

@fragment
fn colour(@builtin(position) at: vec4<f32>) -> @location(0) vec4<f32> {
    let cell = vec2<u32>(at.xy) * sizes.cells / sizes.view;
    return unpack4x8unorm(pixels[cell.y * sizes.cells.x + cell.x]);
}
