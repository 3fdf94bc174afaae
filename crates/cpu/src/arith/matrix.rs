//! The binary operators on vectors and matrices.

use super::{Operand, Outcome};
use naga::BinaryOperator;

/// Applies a binary operator to two values. A scalar beside a vector stands for a vector of equal components. Products
/// with a matrix are those of linear algebra.
pub(crate) fn binary_whole(op: BinaryOperator, a: Operand<'_>, b: Operand<'_>) -> Outcome {
    todo!("{op:?} {a:?} {b:?}")
}
