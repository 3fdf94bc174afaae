//! The vectors of one component of all lanes.

use cranelift_codegen::ir;
use std::ops::Deref;

/// Counts the vectors of 16 lanes with two of them in a vector.
const MOST: usize = 8;

/// Holds the vectors of a component, the first lanes in the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::compile) struct Vectors {
    /// Those past the count are copies of the first one.
    parts: [ir::Value; MOST],
    count: usize,
}

impl Vectors {
    /// Makes each of so many vectors.
    pub(super) fn make(count: usize, mut make: impl FnMut(usize) -> ir::Value) -> Self {
        let mut parts = [make(0); MOST];
        for (at, part) in parts[..count].iter_mut().enumerate().skip(1) {
            *part = make(at);
        }
        Self { parts, count }
    }

    /// Repeats a vector.
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
