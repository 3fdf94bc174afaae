//! A launch passes an array whose element type differs from the kernel's.

use fencepost::prelude::*;

#[derive(KernelArgs)]
#[kernel(source = "saxpy.wgsl")]
struct Saxpy<'a> {
    a: f32,
    x: &'a DeviceArray<f32>,
    y: &'a mut DeviceArray<f32>,
}

fn main() {
    let ctx = Context::new().wait().unwrap();
    let queue = ctx.queue("main");
    let saxpy = ctx.kernel::<Saxpy>().unwrap();
    let x = queue.array(&[1_u32, 2]).unwrap();
    let mut y = queue.array(&[1.0, 2.0]).unwrap();
    queue.launch(&saxpy, Grid::threads([2]), Saxpy { a: 1.0, x: &x, y: &mut y }).unwrap();
}
