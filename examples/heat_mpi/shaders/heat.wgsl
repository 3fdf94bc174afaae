// One time step of the heat equation. `y` has rows of a plate, and `x` the same rows before the step, with one more row
// before them and one after them. Dispatch: an invocation for each cell of `y`.
//
// The cells of the first and of the last column keep their values. The sum has a fixed order and RATE is a power of
// two, so all devices compute the same bits, even if they fuse products with sums.

const RATE = 0.125;

struct Params { width: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(8, 8)
fn heat(@builtin(global_invocation_id) id: vec3<u32>) {
    let width = params.width;
    let to = id.y * width + id.x;
    if id.x == 0u || id.x + 1u >= width || to >= arrayLength(&y) { return; }
    let at = to + width;
    let sum = ((x[at - width] + x[at + width]) + x[at - 1u]) + x[at + 1u];
    y[to] = x[at] + RATE * (sum - 4.0 * x[at]);
}
