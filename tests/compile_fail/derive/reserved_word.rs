use fencepost_derive::KernelArgs;

include!("../../../crates/derive-tests/tests/support/array.rs");

#[derive(KernelArgs)]
#[kernel(crate = fencepost_kernels, wgsl = "
@group(0) @binding(0) var<storage, read_write> target: array<f32>;
@compute @workgroup_size(64) fn clear() { target[0] = 0.0; }
")]
struct Clear<'a> {
    target: &'a mut DeviceArray<f32>,
}

fn main() {}
