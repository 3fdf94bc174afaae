//! What the derive writes trips no lint.
#![deny(warnings, missing_docs, unreachable_pub, private_bounds, private_interfaces, unused_qualifications)]

use fencepost_derive::KernelArgs;
use fencepost_kernels::{Element, TypedBuffer};

/// Public, and generic in everything.
#[derive(KernelArgs)]
#[kernel(source = "saxpy.wgsl", T = [f32, u32], crate = fencepost_kernels)]
pub struct Saxpy<'a, 'b, T: Element, X, Y>
where
    X: TypedBuffer<Element = T> + 'static,
    Y: TypedBuffer<Element = T> + 'static,
{
    /// The factor.
    pub a: T,
    /// What is read.
    pub x: &'a X,
    /// What is written.
    pub y: &'b mut Y,
}

fn main() {}
