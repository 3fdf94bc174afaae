//! The operators and the built-in functions of WGSL on scalars, vectors and matrices.
//!
//! The interpreter calls all of them, and compiled code calls those that it has no instructions for.

mod convert;
mod math;
mod matrix;
mod operand;
mod operator;
mod outcome;
mod relational;
mod scalar;

pub(crate) use convert::convert;
pub(crate) use math::math;
pub(crate) use matrix::binary_whole;
pub(crate) use operand::Operand;
pub(crate) use operator::{binary, unary};
pub(crate) use outcome::{Components, Outcome};
pub(crate) use relational::relational;
pub(crate) use scalar::Scalar;
