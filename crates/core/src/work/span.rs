//! Ranges of blocks, and the accesses of commands to them.

use crate::memory::block::Block;
use std::ops::Range;
use std::sync::Arc;

/// A range of a block.
#[derive(Clone)]
pub(crate) struct Span {
    pub(crate) block: Arc<Block>,
    /// Number of bytes from the start of the block.
    pub(crate) offset: u64,
    /// Size of the range in bytes.
    pub(crate) size: u64,
}

impl Span {
    pub(crate) fn range(&self) -> Range<u64> {
        self.offset..self.offset + self.size
    }

    /// Moves the span to other bytes.
    pub(crate) fn place(&mut self, block: &Arc<Block>, offset: u64) {
        self.block = block.clone();
        self.offset = offset;
    }
}

/// Up to 16 bytes that a fill repeats over a range. `len` is 4, 8 or 16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    pub(crate) bytes: [u8; 16],
    pub(crate) len: u8,
}

impl Pattern {
    pub(crate) const ZERO: Pattern = Pattern { bytes: [0; 16], len: 4 };

    /// Returns the bytes of `value`, repeated to 4, 8 or 16 bytes. Returns `None` if a pattern cannot hold them.
    pub(crate) fn of(value: &[u8]) -> Option<Self> {
        if value.iter().all(|&byte| byte == 0) {
            return Some(Self::ZERO);
        }
        if ![1, 2, 4, 8, 16].contains(&value.len()) {
            return None;
        }
        let bytes = std::array::from_fn(|at| value[at % value.len()]);
        Some(Self { bytes, len: value.len().max(4) as u8 })
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.bytes == [0; 16]
    }

    /// Returns the bytes that the fill repeats.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// Access of a command to a range of a block. Accesses decide the order of commands.
pub(crate) struct Touch<'a> {
    pub(crate) block: &'a Arc<Block>,
    pub(crate) range: Range<u64>,
    pub(crate) write: bool,
}
