//! The kinds of memory, and the ids of blocks.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use wgpu::BufferUsages as Usages;

/// Id of a block. No two blocks of a process share an id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct BlockId(pub(crate) u64);

impl BlockId {
    /// Returns a new id.
    pub(crate) fn next() -> Self {
        static IDS: AtomicU64 = AtomicU64::new(1);
        Self(IDS.fetch_add(1, Ordering::Relaxed))
    }
}

/// The kind of memory of a block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Heap {
    /// Kernels and copies read and write the block.
    Device,
    /// The block is pinned: the host writes it and copies read it.
    Upload,
    /// The block is pinned: copies write it and the host reads it.
    Download,
}

/// Returns `true` if two byte ranges share a byte.
pub(crate) fn overlap(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}

/// A buffer to be made.
#[derive(Clone, Copy)]
pub(crate) struct BufferRequest<'a> {
    pub(crate) heap: Heap,
    /// `true` if the host keeps the buffer mapped.
    #[cfg_attr(not(native), expect(dead_code, reason = "there is no such memory"))]
    pub(crate) mapped: bool,
    pub(crate) size: u64,
    pub(crate) label: &'a str,
}

/// Returns the wgpu usages of a buffer on `heap`.
pub(crate) fn usages(heap: Heap) -> Usages {
    match heap {
        Heap::Device => Usages::STORAGE | Usages::COPY_SRC | Usages::COPY_DST | Usages::INDIRECT,
        Heap::Upload => Usages::COPY_SRC,
        Heap::Download => Usages::COPY_DST,
    }
}
