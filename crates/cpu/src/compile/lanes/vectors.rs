//! The vectors of one component of all lanes.

use cranelift_codegen::ir;
use std::ops::Deref;

/// Number of vectors for 16 lanes of 64-bit numbers.
const MOST: usize = 8;

/// Vectors of a component, beginning with the first lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::compile) struct Vectors {
    /// Unused elements are copies of the first one.
    parts: [ir::Value; MOST],
    count: usize,
}

impl Vectors {
    /// Creates `count` vectors.
    pub(super) fn make(count: usize, mut make: impl FnMut(usize) -> ir::Value) -> Self {
        let mut parts = [make(0); MOST];
        for (at, part) in parts[..count].iter_mut().enumerate().skip(1) {
            *part = make(at);
        }
        Self { parts, count }
    }

    /// Creates a component whose vectors are all equal.
    pub(super) fn repeat(count: usize, vector: ir::Value) -> Self {
        Self { parts: [vector; MOST], count }
    }
}

impl Deref for Vectors {
    type Target = [ir::Value];

    fn deref(&self) -> &[ir::Value] {
        &self.parts[..self.count]
    }
}
