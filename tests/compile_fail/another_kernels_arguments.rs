//! A launch passes the arguments of another kernel.

use fencepost::prelude::*;

#[derive(KernelArgs)]
#[kernel(source = "saxpy.wgsl")]
struct Saxpy<'a> {
    a: f32,
    x: &'a DeviceArray<f32>,
    y: &'a mut DeviceArray<f32>,
}

#[derive(KernelArgs)]
#[kernel(source = "iota.wgsl")]
struct Iota<'a> {
    start: u32,
    step: u32,
    out: &'a mut DeviceArray<u32>,
}

fn main() {
    let ctx = Context::new().wait().unwrap();
    let queue = ctx.queue("main");
    let saxpy = ctx.kernel::<Saxpy>().unwrap();
    let mut out = queue.array(&[1_u32, 2]).unwrap();
    queue.launch(&saxpy, Grid::threads([2]), Iota { start: 0, step: 1, out: &mut out }).unwrap();
}
