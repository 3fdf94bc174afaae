use fencepost_derive::KernelArgs;

include!("../../../crates/derive-tests/tests/support/array.rs");

#[derive(KernelArgs)]
#[kernel(source = "saxpy.wgsl", entry = "saxpy", crate = fencepost_kernels)]
struct ReadsWhatIsWritten<'a> {
    a: f32,
    x: &'a DeviceArray<f32>,
    y: &'a DeviceArray<f32>,
}

#[derive(KernelArgs)]
#[kernel(source = "saxpy.wgsl", entry = "saxpy", crate = fencepost_kernels)]
struct WritesWhatIsRead<'a> {
    a: f32,
    x: &'a mut DeviceArray<f32>,
    y: &'a mut DeviceArray<f32>,
}

fn main() {}
