//! The built-in functions of WGSL.

use super::{Operand, Outcome};
use naga::MathFunction;

/// Calls a built-in function.
pub(crate) fn math(fun: MathFunction, args: &[Operand<'_>]) -> Outcome {
    todo!("{fun:?} {args:?}")
}
