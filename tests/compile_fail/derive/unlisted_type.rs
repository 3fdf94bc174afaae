use fencepost_derive::KernelArgs;

include!("../../../crates/derive-tests/tests/support/array.rs");

use fencepost_kernels::Element;

#[derive(KernelArgs)]
#[kernel(source = "saxpy.wgsl", T = [f32, u32], crate = fencepost_kernels)]
struct Saxpy<'a, T: Element> {
    a: T,
    x: &'a DeviceArray<T>,
    y: &'a mut DeviceArray<T>,
}

#[derive(KernelArgs)]
#[kernel(source = "saxpy.wgsl", crate = fencepost_kernels)]
struct NoList<'a, T: Element> {
    a: T,
    x: &'a DeviceArray<T>,
    y: &'a mut DeviceArray<T>,
}

fn made_for<K: fencepost_kernels::KernelArgs>() {}

fn main() {
    made_for::<Saxpy<f32>>();
    made_for::<Saxpy<i32>>();
}
