//! A value that an operator or a built-in function takes.

use super::Scalar;
use naga::TypeInner;

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
    /// Returns the numbers of columns and of rows of a type. A vector has no columns, and a scalar has no rows either.
    pub(crate) fn shape(inner: &TypeInner) -> (usize, usize) {
        match *inner {
            TypeInner::Vector { size, .. } => (0, size as usize),
            TypeInner::Matrix { columns, rows, .. } => (columns as usize, rows as usize),
            _ => (0, 0),
        }
    }

    /// Creates a value of a [shape](Self::shape).
    pub(crate) fn new(columns: usize, rows: usize, values: &'a [Scalar]) -> Self {
        match (columns, rows) {
            (0, 0) => Self::Scalar(values[0]),
            (0, _) => Self::Vector(values),
            _ => Self::Matrix { columns, rows, values },
        }
    }

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
