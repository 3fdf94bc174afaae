// convolution: each pixel is the weighted sum of its 3 by 3 neighbours; pixels at the border repeat outside
//
// Dispatch   one invocation for each pixel of a square picture with SIDE columns
// Workgroup  [64, 4, 1]
override SIDE: u32 = 2048;
@group(0) @binding(0) var<storage, read> weights: array<f32>;
@group(0) @binding(1) var<storage, read> picture: array<f32>;
@group(0) @binding(2) var<storage, read_write> smooth_picture: array<f32>;

@compute @workgroup_size(64, 4)
fn convolution(@builtin(global_invocation_id) id: vec3<u32>) {
    var sum = 0.0;
    for (var dy = 0u; dy < 3u; dy++) {
        let y = clamp(i32(id.y + dy) - 1, 0, i32(SIDE) - 1);
        for (var dx = 0u; dx < 3u; dx++) {
            let x = clamp(i32(id.x + dx) - 1, 0, i32(SIDE) - 1);
            sum += weights[dy * 3u + dx] * picture[u32(y) * SIDE + u32(x)];
        }
    }
    smooth_picture[id.y * SIDE + id.x] = sum;
}
