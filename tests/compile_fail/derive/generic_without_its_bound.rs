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

fn made_for<K: fencepost_kernels::KernelArgs>() {}

fn made_for_elements<T: Element>() {
    made_for::<Saxpy<T>>();
}

fn main() {}
