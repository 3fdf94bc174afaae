use fencepost_derive::KernelArgs;

include!("../../../crates/derive-tests/tests/support/array.rs");

type Words = DeviceArray<u32>;

#[derive(KernelArgs)]
#[kernel(source = "saxpy.wgsl", crate = fencepost_kernels)]
struct Saxpy<'a> {
    a: f32,
    x: &'a Words,
    y: &'a mut DeviceArray<f32>,
}

fn main() {}
