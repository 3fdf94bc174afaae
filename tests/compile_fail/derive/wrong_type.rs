use fencepost_derive::KernelArgs;

include!("../../../crates/derive-tests/tests/support/array.rs");

#[derive(KernelArgs)]
#[kernel(source = "saxpy.wgsl", entry = "saxpy", crate = fencepost_kernels)]
struct Saxpy<'a> {
    a: i32,
    x: &'a DeviceArray<u32>,
    y: &'a mut DeviceArray<f32>,
}

fn main() {}
