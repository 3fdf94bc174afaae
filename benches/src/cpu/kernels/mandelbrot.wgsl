// mandelbrot: steps[i] = the number of steps, at most 256, until the point of pixel i leaves the circle of radius 2
//
// Dispatch   one invocation for each pixel of a square picture with SIDE columns
// Workgroup  [64, 1, 1]
override SIDE: u32 = 1024;
@group(0) @binding(0) var<storage, read_write> steps: array<u32>;

@compute @workgroup_size(64)
fn mandelbrot(@builtin(global_invocation_id) id: vec3<u32>) {
    let scale = 2.5 / f32(SIDE);
    let re = f32(id.x) * scale - 2.0;
    let im = f32(id.y) * scale - 1.25;
    var x = 0.0;
    var y = 0.0;
    var n = 0u;
    while n < 256u && x * x + y * y <= 4.0 {
        let next = x * x - y * y + re;
        y = 2.0 * x * y + im;
        x = next;
        n++;
    }
    steps[id.y * SIDE + id.x] = n;
}
