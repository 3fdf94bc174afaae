//! The shape of an array, and of its memory.

use crate::memory::region_iter::PaddedShape;

/// The two shapes that [`PaddedShape`] borrows: the shape of an array and the shape of its memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArrayShape<S> {
    pub(crate) shape: S,
    pub(crate) padded: S,
}

impl<S: AsRef<[usize]>> ArrayShape<S> {
    pub(crate) fn new(shape: S, padded: S) -> Self {
        let new = Self { shape, padded };
        debug_assert!(new.frame().fits(), "bug: the memory of an array is shorter than its shape");
        new
    }

    pub(crate) fn frame(&self) -> PaddedShape<'_> {
        PaddedShape { shape: self.shape.as_ref(), padded: self.padded.as_ref() }
    }
}
