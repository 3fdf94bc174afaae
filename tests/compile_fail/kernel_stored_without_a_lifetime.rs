//! A struct stores a kernel by the type of its arguments without their lifetime.

use fencepost::prelude::*;

#[derive(KernelArgs)]
#[kernel(source = "saxpy.wgsl")]
struct Saxpy<'a> {
    a: f32,
    x: &'a DeviceArray<f32>,
    y: &'a mut DeviceArray<f32>,
}

struct Solver {
    saxpy: Kernel<Saxpy>,
}

fn main() {}
