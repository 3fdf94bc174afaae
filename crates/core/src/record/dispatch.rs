//! The parts of a dispatch that all recorders share.

use crate::memory::block::Block;

/// A range of a block that a dispatch binds.
#[derive(Clone, Copy)]
pub(crate) struct BoundRange<'a> {
    pub(crate) block: &'a Block,
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

/// The number of workgroups of a dispatch, with buffers of type `B`.
pub(crate) enum GroupCount<'a, B> {
    Fixed([u32; 3]),
    /// Three words of this buffer, from this byte on, hold the numbers.
    Indirect(&'a B, u64),
}
