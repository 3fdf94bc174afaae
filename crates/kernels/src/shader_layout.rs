//! Describes the layout that a shader declares for one element of a buffer or one parameter.

use crate::Scalar;
use std::borrow::Cow;

/// Layout of one element of a buffer, or of one parameter, in a shader.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout<'a> {
    /// Number of bytes from one element to the next; for a parameter, its size.
    pub size: u32,
    /// Every number of the element; a vector, a matrix or an array of numbers is a single entry.
    pub leaves: Cow<'a, [Leaf<'a>]>,
}

impl Layout<'_> {
    /// Returns `true` for a number or a vector without gaps, which its name describes completely.
    pub(crate) fn is_one_number(&self) -> bool {
        let [leaf] = &self.leaves[..] else { return false };
        let tight =
            leaf.dims.iter().rev().try_fold(leaf.scalar.size() as u32, |size, dim| {
                (dim.stride == size).then_some(size * dim.len)
            });
        leaf.path.is_empty() && tight == Some(self.size)
    }
}

/// A number, or a block of numbers of one type, in a [`Layout`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Leaf<'a> {
    /// Names of the members that lead to the number, with dots between them; empty outside of structs.
    pub path: Cow<'a, str>,
    /// Number of bytes from the start of the element to the first number.
    pub offset: u32,
    /// Type of each number.
    pub scalar: Scalar,
    /// Length and stride of each dimension, outermost first; empty for one number.
    pub dims: Cow<'a, [Dim]>,
}

impl Default for Leaf<'_> {
    fn default() -> Self {
        Self { path: Cow::Borrowed(""), offset: 0, scalar: Scalar::U32, dims: Cow::Borrowed(&[]) }
    }
}

/// One dimension of a block of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dim {
    /// Number of items in this dimension: numbers, or blocks of them.
    pub len: u32,
    /// Number of bytes from one item to the next.
    pub stride: u32,
}
