// Replaces each height by the mean of its neighbours.
@group(0) @binding(0) var<storage, read_write> heights: array<f32>;

@compute @workgroup_size(64)
fn smooth_heights(@builtin(global_invocation_id) id: vec3<u32>) {
    let last = arrayLength(&heights) - 1u;
    if id.x > last { return; }
    let left = heights[max(id.x, 1u) - 1u];
    let right = heights[min(id.x + 1u, last)];
    heights[id.x] = 0.5 * (left + right);
}
