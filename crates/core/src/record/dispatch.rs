//! The description of a dispatch that both GPU recorders share.

use crate::memory::block::Block;
use crate::work::kernel_launch::Launch;

/// A range of a block that a dispatch binds.
#[derive(Clone, Copy)]
pub(crate) struct BoundRange<'a> {
    pub(crate) block: &'a Block,
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

/// Number of workgroups of a dispatch. `B` is the recorder's buffer type.
pub(crate) enum GroupCount<'a, B> {
    Fixed([u32; 3]),
    /// The device reads the three numbers from three words of this buffer, starting at this byte.
    Indirect(&'a B, u64),
}

/// A dispatch whose arguments are ranges of blocks.
pub(crate) struct Dispatch<'a, Pipeline, Buffer, P> {
    pub(crate) pipeline: &'a Pipeline,
    /// Parameters, in whole words.
    pub(crate) params: &'a [u32],
    /// Bound ranges, in the order of the interface.
    pub(crate) parts: P,
    pub(crate) size: GroupCount<'a, Buffer>,
}

/// Iterates over the ranges that a dispatch binds.
pub(crate) trait BoundRanges<'p>: Iterator<Item = BoundRange<'p>> + Clone {}

impl<'p, P: Iterator<Item = BoundRange<'p>> + Clone> BoundRanges<'p> for P {}

/// Returns the ranges that a launch binds.
pub(crate) fn bound_ranges(launch: &Launch) -> impl BoundRanges<'_> {
    let bindings = launch.bindings.iter();
    bindings.map(|bound| BoundRange { block: &bound.block, offset: bound.offset, size: bound.size })
}
