use bytemuck::{Pod, Zeroable};
use fencepost_derive::Element;

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Inner {
    x: f32,
}

#[derive(Clone, Copy, Pod, Zeroable, Element)]
#[element(crate = fencepost_kernels)]
#[repr(C)]
struct Outer {
    inner: Inner,
}

fn main() {}
