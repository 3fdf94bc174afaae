//! A call expects the value of a kernel that returns none.

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
    let (queue, saxpy) = (ctx.queue("main"), ctx.kernel::<Saxpy>().unwrap());
    let (x, mut y) = (ctx.array(&[1.0, 2.0]).unwrap(), ctx.zeros([2]).unwrap());
    let _ = queue.call(&saxpy, Grid::threads([2]), Saxpy { a: 2.0, x: &x, y: &mut y });
}
