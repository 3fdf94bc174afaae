//! The operators and the built-in functions of WGSL on scalars, vectors and matrices.
//!
//! The interpreter calls all of them, and compiled code calls those that it has no instructions for.

#[cfg(test)]
mod accuracy;
pub(crate) mod bits;
mod component;
mod convert;
pub(crate) mod double;
#[cfg(test)]
mod edges;
pub(crate) mod float;
pub(crate) mod formula;
pub(crate) mod geometry;
mod lift;
mod linear;
mod math;
mod matrix;
mod narrow;
mod operand;
mod operator;
mod outcome;
pub(crate) mod pack;
mod packed;
mod real;
mod relational;
mod scalar;
#[cfg(test)]
mod types;
mod vector;

pub(crate) use convert::convert;
pub(crate) use math::math;
pub(crate) use matrix::binary_whole;
pub(crate) use narrow::narrow;
pub(crate) use operand::Operand;
pub(crate) use operator::{binary, unary};
pub(crate) use outcome::{Components, Outcome};
pub(crate) use relational::relational;
pub(crate) use scalar::Scalar;
