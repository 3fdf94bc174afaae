use fencepost_derive::KernelArgs;

include!("../../../crates/derive-tests/tests/support/array.rs");

#[derive(KernelArgs)]
#[kernel(
    wgsl = "
        @group(0) @binding(0) var<storage, read> x: array<u32>;
        @group(0) @binding(1) var<storage, read_write> y: array<u32>;
        @compute @workgroup_size(1) fn first() { y[0] = x[0]; }
        @compute @workgroup_size(1) fn second() { y[1] = x[1]; }",
    entries("first", "third"),
    crate = fencepost_kernels
)]
struct Unknown<'a> {
    x: &'a DeviceArray<u32>,
    y: &'a mut DeviceArray<u32>,
}

#[derive(KernelArgs)]
#[kernel(
    wgsl = "
        @group(0) @binding(0) var<storage, read> x: array<u32>;
        @group(0) @binding(1) var<storage, read_write> y: array<u32>;
        @group(0) @binding(2) var<storage, read_write> z: array<u32>;
        @compute @workgroup_size(1) fn first() { y[0] = x[0]; }
        @compute @workgroup_size(1) fn second() { z[0] = y[0]; }",
    entries("first", "second"),
    crate = fencepost_kernels
)]
struct Fields<'a> {
    x: &'a mut DeviceArray<u32>,
    y: &'a mut DeviceArray<u32>,
    w: &'a DeviceArray<u32>,
}

#[derive(KernelArgs)]
#[kernel(source = "saxpy.wgsl", entries("saxpy"), crate = fencepost_kernels)]
struct Alone;

#[derive(KernelArgs)]
#[kernel(source = "saxpy.wgsl", entry = "saxpy", entries("saxpy", "saxpy"), crate = fencepost_kernels)]
struct Both;

#[derive(KernelArgs)]
#[kernel(
    wgsl = "
        @group(0) @binding(0) var<storage, read> x: array<u32>;
        @group(0) @binding(1) var<storage, read_write> last: u32;
        @compute @workgroup_size(1) fn first() { last = x[0]; }
        @compute @workgroup_size(1) fn second() { last += x[1]; }",
    entries("first", "second"),
    returns(last: u32),
    crate = fencepost_kernels
)]
struct Returning<'a> {
    x: &'a DeviceArray<u32>,
}

fn main() {}
