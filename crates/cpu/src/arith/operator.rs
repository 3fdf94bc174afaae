//! The operators on scalars.

use super::Scalar;
use naga::{BinaryOperator, UnaryOperator};

/// Applies a unary operator.
pub(crate) fn unary(op: UnaryOperator, x: Scalar) -> Scalar {
    todo!("{op:?} {x:?}")
}

/// Applies a binary operator to two scalars of one type. The amount of a shift is a `u32` beside any integer.
///
/// Integers wrap. A division by zero gives the dividend, and a remainder by zero gives zero. The least integer divided
/// by -1 gives itself, with the remainder zero. A shift uses its amount modulo the number of bits.
pub(crate) fn binary(op: BinaryOperator, a: Scalar, b: Scalar) -> Scalar {
    todo!("{op:?} {a:?} {b:?}")
}
