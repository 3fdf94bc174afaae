use bytemuck::{Pod, Zeroable};
use fencepost_derive::{Element, KernelArgs};

include!("../../../crates/derive-tests/tests/support/array.rs");

#[derive(Clone, Copy, Pod, Zeroable, Element)]
#[element(crate = fencepost_kernels)]
#[repr(C)]
struct Pair {
    weight: f32,
    index: u32,
}

#[derive(KernelArgs)]
#[kernel(crate = fencepost_kernels, wgsl = "
struct Pair { index: u32, weight: f32 }
@group(0) @binding(0) var<storage, read_write> pairs: array<Pair>;
@compute @workgroup_size(64) fn step() { pairs[0].weight = 0.0; }
")]
struct Step<'a> {
    pairs: &'a mut DeviceArray<Pair>,
}

fn main() {}
