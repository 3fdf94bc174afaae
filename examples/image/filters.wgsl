// Filters of a picture. Each filter has an entry point and its own bindings: pixels -> grey, source -> blurred, source
// -> edges.

struct Params { size: vec2<u32> } // width and height
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> pixels: array<u32>; // red, green, blue and alpha, a byte each
@group(0) @binding(2) var<storage, read_write> grey: array<f32>;
@group(0) @binding(3) var<storage, read> source: array<f32>;
@group(0) @binding(4) var<storage, read_write> blurred: array<f32>;
@group(0) @binding(5) var<storage, read_write> edges: array<u32>;

// Returns the nearest pixel to a position, which may lie outside.
fn nearest(at: vec2<i32>) -> u32 {
    let inside = vec2<u32>(clamp(at, vec2(0), vec2<i32>(params.size) - 1));
    return inside.y * params.size.x + inside.x;
}

@compute @workgroup_size(8, 8)
fn to_grey(@builtin(global_invocation_id) id: vec3<u32>) {
    if any(id.xy >= params.size) { return; }
    let at = nearest(vec2<i32>(id.xy));
    grey[at] = dot(unpack4x8unorm(pixels[at]).rgb, vec3(0.2126, 0.7152, 0.0722));
}

@compute @workgroup_size(8, 8)
fn blur(@builtin(global_invocation_id) id: vec3<u32>) {
    if any(id.xy >= params.size) { return; }
    var weights = array(1.0, 4.0, 6.0, 4.0, 1.0);
    var sum = 0.0;
    for (var i = 0; i < 25; i++) {
        let offset = vec2(i % 5, i / 5);
        sum += weights[offset.x] * weights[offset.y] * source[nearest(vec2<i32>(id.xy) + offset - 2)];
    }
    blurred[nearest(vec2<i32>(id.xy))] = sum / 256.0;
}

@compute @workgroup_size(8, 8)
fn sobel(@builtin(global_invocation_id) id: vec3<u32>) {
    if any(id.xy >= params.size) { return; }
    var slope = vec2(0.0);
    for (var i = 0; i < 9; i++) {
        let offset = vec2(i % 3, i / 3) - 1;
        let weights = vec2<f32>(offset * (2 - abs(offset.yx)));
        slope += weights * source[nearest(vec2<i32>(id.xy) + offset)];
    }
    edges[nearest(vec2<i32>(id.xy))] = pack4x8unorm(vec4(vec3(length(slope)), 1.0));
}
