use fencepost_derive::KernelArgs;

include!("../../../crates/derive-tests/tests/support/array.rs");

#[derive(KernelArgs)]
#[kernel(source = "saxpy.wgsl", crate = fencepost_kernels)]
struct Saxpy<'a> {
    a: usize,
    x: &'a DeviceArray<isize>,
    y: &'a mut DeviceArray<f32>,
}

fn main() {}
