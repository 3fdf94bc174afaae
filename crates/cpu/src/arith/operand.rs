//! A value that an operator or a built-in function takes.

use super::Scalar;

/// A scalar, a vector or a matrix.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operand<'a> {
    Scalar(Scalar),
    /// Components of a vector.
    Vector(&'a [Scalar]),
    /// Matrix as a list of its columns, one after the other.
    Matrix {
        columns: usize,
        rows: usize,
        values: &'a [Scalar],
    },
}

impl<'a> Operand<'a> {
    /// Returns the component at an index. A scalar has the same component at every index.
    pub(crate) fn component(&self, index: usize) -> Scalar {
        match *self {
            Self::Scalar(value) => value,
            Self::Vector(values) | Self::Matrix { values, .. } => values[index],
        }
    }

    /// Returns the components.
    pub(crate) fn components(&'a self) -> &'a [Scalar] {
        match self {
            Self::Scalar(value) => std::slice::from_ref(value),
            Self::Vector(values) | Self::Matrix { values, .. } => values,
        }
    }
}
