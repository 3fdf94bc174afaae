use fencepost_derive::KernelArgs;

include!("../../../crates/derive-tests/tests/support/array.rs");

#[derive(KernelArgs)]
#[kernel(
    wgsl = "@compute @workgroup_size(1) fn one() {}
@compute @workgroup_size(1) fn two() {}",
    crate = fencepost_kernels
)]
struct Several;

fn main() {}
