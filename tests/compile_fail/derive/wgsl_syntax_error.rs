use fencepost_derive::KernelArgs;

include!("../../../crates/derive-tests/tests/support/array.rs");

#[derive(KernelArgs)]
#[kernel(
    wgsl = "@compute @workgroup_size(1)
fn k() {
    let a = ;
}",
    crate = fencepost_kernels
)]
struct Broken;

fn main() {}
