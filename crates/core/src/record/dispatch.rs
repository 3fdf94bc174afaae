//! The parts of a dispatch that all recorders share.

use crate::memory::block::Block;

/// Names a range of a block that a dispatch binds.
#[derive(Clone, Copy)]
pub(crate) struct BoundRange<'a> {
    pub(crate) block: &'a Block,
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

/// Holds the number of workgroups of a dispatch. `B` is the recorder's buffer type.
pub(crate) enum GroupCount<'a, B> {
    Fixed([u32; 3]),
    /// The device reads the three numbers from three words of this buffer, starting at this byte.
    Indirect(&'a B, u64),
}
