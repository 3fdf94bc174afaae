//! A program uses a kernel whose shader has an error. The compiler reports the error of the shader only.

use fencepost::prelude::*;

#[derive(KernelArgs)]
#[kernel(wgsl = "
@group(0) @binding(0) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64)
fn twice(@builtin(global_invocation_id) id: vec3<u32>) { y[id.x] = 2u * y[id.x]; }
")]
struct Twice<'a> {
    y: &'a mut DeviceArray<f32>,
}

fn main() {
    let ctx = Context::new().wait().unwrap();
    let queue = ctx.queue("main");
    let twice = ctx.kernel::<Twice>().unwrap();
    let mut y = queue.array(&[1.0_f32, 2.0]).unwrap();
    queue.launch(&twice, Grid::threads([2]), Twice { y: &mut y }).unwrap();
}
