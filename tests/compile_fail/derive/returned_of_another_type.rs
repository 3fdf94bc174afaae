use fencepost_derive::KernelArgs;

include!("../../../crates/derive-tests/tests/support/array.rs");

#[derive(KernelArgs)]
#[kernel(
    wgsl = "
        @group(0) @binding(0) var<storage, read_write> total: f32;
        @compute @workgroup_size(1) fn sum() { total = 1.0; }",
    returns(total: u32),
    crate = fencepost_kernels
)]
struct Another;

#[derive(KernelArgs)]
#[kernel(
    wgsl = "
        @group(0) @binding(0) var<storage, read_write> total: f32;
        @compute @workgroup_size(1) fn sum() { total = 1.0; }",
    returns(result: f32),
    crate = fencepost_kernels
)]
struct Unknown;

#[derive(KernelArgs)]
#[kernel(
    wgsl = "
        @group(0) @binding(0) var<storage, read_write> total: array<f32>;
        @compute @workgroup_size(1) fn sum() { total[0] = 1.0; }",
    returns(total: DeviceArray<f32>),
    crate = fencepost_kernels
)]
struct Array;

#[derive(KernelArgs)]
#[kernel(source = "saxpy.wgsl", returns(x: f32, y: f32), crate = fencepost_kernels)]
struct Two {
    a: f32,
}

fn main() {}
