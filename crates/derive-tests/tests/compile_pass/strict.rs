//! The generated code passes strict lints.
#![deny(warnings, missing_docs, unreachable_pub, private_bounds, private_interfaces, unused_qualifications)]

use fencepost_derive::KernelArgs;
use fencepost_kernels::{BufferArg, DType, Element, KernelArgs as _, KernelFamily, TypedBuffer};
use std::any::Any;

/// A public struct that is generic in everything.
#[derive(KernelArgs)]
#[kernel(source = "saxpy.wgsl", T = [f32, u32], crate = fencepost_kernels)]
pub struct Saxpy<'a, 'b, T: Element, X, Y>
where
    X: TypedBuffer<Element = T> + 'static,
    Y: TypedBuffer<Element = T> + 'static,
{
    /// The factor.
    pub a: T,
    /// Array that the kernel reads.
    pub x: &'a X,
    /// Array that the kernel writes.
    pub y: &'b mut Y,
}

/// An element type of an array `A`.
pub trait ElementOf<A> {}

impl ElementOf<Words> for f32 {}
impl ElementOf<Words> for u32 {}

/// A struct whose listed type has bounds with other parameters, in both places of bounds.
#[derive(KernelArgs)]
#[kernel(source = "saxpy.wgsl", T = [f32, u32], crate = fencepost_kernels)]
pub struct Related<'a, T: Element + ElementOf<X>, X, Y>
where
    T: ElementOf<Y>,
    X: TypedBuffer<Element = T> + 'static,
    Y: TypedBuffer<Element = T> + 'static,
{
    /// The factor.
    pub a: T,
    /// Array that the kernel reads.
    pub x: &'a X,
    /// Array that the kernel writes.
    pub y: &'a mut Y,
}

#[test]
fn a_listed_type_may_have_bounds_with_other_parameters() {
    let names: Vec<_> = Related::<u32, Words, Words>::fields().iter().map(|field| field.name).collect();
    assert_eq!(names, ["a", "x", "y"]);
}

/// Substitute for device memory.
struct Words(Vec<u32>);

impl BufferArg for Words {
    fn dtype(&self) -> DType {
        u32::DTYPE
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn handle(&self) -> &dyn Any {
        &self.0
    }
}

impl TypedBuffer for Words {
    type Element = u32;
}

/// Compiles with the lints above as errors, and checks the names of the fields.
#[test]
fn a_struct_that_is_generic_in_everything_describes_its_fields() {
    let names: Vec<_> = Saxpy::<u32, Words, Words>::fields().iter().map(|field| field.name).collect();
    assert_eq!(names, ["a", "x", "y"]);
}

/// Returns the names of the fields, with one bound for all types.
fn names<T, X, Y>() -> Vec<&'static str>
where
    T: Element,
    X: TypedBuffer<Element = T> + 'static,
    Y: TypedBuffer<Element = T> + 'static,
    Saxpy<'static, 'static, T, X, Y>: KernelFamily,
{
    Saxpy::<T, X, Y>::fields().iter().map(|field| field.name).collect()
}

#[test]
fn one_bound_is_enough_for_code_that_is_generic_in_everything() {
    assert_eq!(names::<u32, Words, Words>(), ["a", "x", "y"]);
}
