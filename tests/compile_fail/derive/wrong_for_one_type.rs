use fencepost_derive::KernelArgs;

include!("../../../crates/derive-tests/tests/support/array.rs");

use fencepost_kernels::Element;

#[derive(KernelArgs)]
#[kernel(source = "saxpy.wgsl", T = [f32, u32], crate = fencepost_kernels)]
struct Saxpy<'a, T: Element> {
    a: T,
    x: &'a DeviceArray<f32>,
    y: &'a mut DeviceArray<T>,
}

fn main() {}
