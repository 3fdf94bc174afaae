use fencepost_derive::KernelArgs;

include!("../../../crates/derive-tests/tests/support/array.rs");

#[derive(KernelArgs)]
#[kernel(source = "saxpy.wgsl", crate = fencepost_kernels)]
struct Saxpy<'a> {
    a: f32,
    x: &'a Vec<f32>,
    y: &'a mut DeviceArray<f32>,
}

fn main() {}
