//! A value that an operator or a built-in function returns.

use super::{Operand, Scalar};
use smallvec::SmallVec;

/// Holds the components of a vector or of a matrix.
pub(crate) type Components = SmallVec<[Scalar; 4]>;

/// Is a scalar, a vector, a matrix, or the two members of the results of `modf` and `frexp`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    Scalar(Scalar),
    /// Holds the components.
    Vector(Components),
    /// Holds the columns, one after the other.
    Matrix {
        columns: usize,
        rows: usize,
        values: Components,
    },
    /// Holds the members `fract` and `whole` of `modf`, or the members `fract` and `exp` of `frexp`.
    Pair(Box<[Outcome; 2]>),
}

impl Outcome {
    /// Returns the value with the shape of an operand and these components.
    pub(crate) fn shaped_like(operand: &Operand<'_>, values: Components) -> Self {
        match *operand {
            Operand::Scalar(_) => Self::Scalar(values[0]),
            Operand::Vector(_) => Self::Vector(values),
            Operand::Matrix { columns, rows, .. } => Self::Matrix { columns, rows, values },
        }
    }
}
