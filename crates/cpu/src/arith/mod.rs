//! The operators and the built-in functions of WGSL on scalars, vectors and matrices.
//!
//! The interpreter calls all of them, and compiled code calls those for which it has no instructions.
//!
//! - Integers wrap. A division by zero gives the dividend, and a remainder by zero gives zero.
//! - `f32` functions without an exact result compute with `f64` and round once. Formulas such as `mix` and `dot`
//!   compute each step with `f32`, so that compiled code with the same steps gets the same bits.
//! - Functions of `f16` compute with `f64` and round once.
//! - Subnormal numbers stay as they are. A function that is undefined for its argument returns NaN.
//! - All hosts get the same bits, except the bits of a NaN.
#![cfg_attr(
    not(all(feature = "compile", not(target_family = "wasm"))),
    allow(dead_code, reason = "machine code alone calls some of the functions")
)]

mod bits;
mod convert;
mod curves;
mod double;
mod each;
mod float;
pub(crate) mod formula;
pub(crate) mod geometry;
mod half;
mod lift;
mod linear;
mod math;
mod matrix;
mod narrow;
mod operand;
mod operator;
mod outcome;
mod pack;
mod real;
mod relational;
mod scalar;
#[cfg(test)]
pub(crate) mod tests;
mod wide;

pub(crate) use convert::{conversion, convert};
#[cfg(all(feature = "compile", not(target_family = "wasm")))]
pub(crate) use each::Each;
#[cfg(all(test, feature = "compile", not(target_family = "wasm")))]
pub(crate) use math::TABLE;
pub(crate) use math::{Bits, OfVectors, Reference, builtin, math};
pub(crate) use matrix::binary_whole;
pub(crate) use operand::Operand;
pub(crate) use operator::{Operator, binary, binary_of, unary_of};
pub(crate) use outcome::{Components, Outcome};
pub(crate) use relational::relational;
pub(crate) use scalar::Scalar;
