//! A launch of two entry points has one grid.

use fencepost::prelude::*;

#[derive(KernelArgs)]
#[kernel(
    wgsl = "
        @group(0) @binding(0) var<storage, read_write> x: array<u32>;
        @compute @workgroup_size(1) fn first() { x[0] = 1u; }
        @compute @workgroup_size(1) fn second() { x[1] = x[0]; }",
    entries("first", "second")
)]
struct Both<'a> {
    x: &'a mut DeviceArray<u32>,
}

fn main() {
    let ctx = Context::new().wait().unwrap();
    let (queue, both) = (ctx.queue("main"), ctx.kernel::<Both>().unwrap());
    let mut x = ctx.zeros([2]).unwrap();
    queue.launch_all(&both, [Grid::groups([1])], Both { x: &mut x }).unwrap();
}
