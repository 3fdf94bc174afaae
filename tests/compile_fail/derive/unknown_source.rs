use fencepost_derive::KernelArgs;

include!("../../../crates/derive-tests/tests/support/array.rs");

#[derive(KernelArgs)]
#[kernel(wgsl = "", source = "mix.wgsl", crate = fencepost_kernels)]
struct Both;

#[derive(KernelArgs)]
struct Neither;

fn main() {}
