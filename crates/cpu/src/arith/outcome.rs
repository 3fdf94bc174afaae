//! A value that an operator or a built-in function returns.

use super::{Operand, Scalar};
use smallvec::SmallVec;

/// Components of a vector or of a matrix.
pub(crate) type Components = SmallVec<[Scalar; 4]>;

/// A scalar, a vector, a matrix, or the two members of the result of `modf` or `frexp`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    Scalar(Scalar),
    /// Components of a vector.
    Vector(Components),
    /// Matrix as a list of its columns, one after the other.
    Matrix {
        columns: usize,
        rows: usize,
        values: Components,
    },
    /// Members `fract` and `whole` of `modf`, or members `fract` and `exp` of `frexp`.
    Pair(Box<[Outcome; 2]>),
}

impl Outcome {
    /// Returns a value with these components and the shape of an operand.
    pub(crate) fn shaped_like(operand: &Operand<'_>, values: Components) -> Self {
        match *operand {
            Operand::Scalar(_) => Self::Scalar(values[0]),
            Operand::Vector(_) => Self::Vector(values),
            Operand::Matrix { columns, rows, .. } => Self::Matrix { columns, rows, values },
        }
    }

    /// Calls a function with each component, in memory order.
    pub(crate) fn each(&self, component: &mut impl FnMut(Scalar)) {
        match self {
            Self::Scalar(value) => component(*value),
            Self::Vector(values) | Self::Matrix { values, .. } => {
                values.iter().for_each(|value| component(*value));
            }
            Self::Pair(members) => members.iter().for_each(|member| member.each(component)),
        }
    }
}
