//! The functions that test components.

use super::{Outcome, Scalar};
use naga::RelationalFunction;

/// Calls a function on the components of a vector, or on one scalar.
///
/// `all` and `any` return a scalar. `isNan` and `isInf` return a vector, or a scalar for one component.
pub(crate) fn relational(fun: RelationalFunction, x: &[Scalar]) -> Outcome {
    todo!("{fun:?} {x:?}")
}
