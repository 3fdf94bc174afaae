//! The operators and the built-in functions of WGSL on scalars and on lists of components.
//!
//! The interpreter calls all of them, and compiled code calls those that it has no instructions for.

mod scalar;

pub(crate) use scalar::Scalar;
