//! The kinds of memory, and the names of blocks.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use wgpu::BufferUsages as Usages;

/// Names a block for as long as the process lives.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct BlockId(pub(crate) u64);

impl BlockId {
    /// One that no other block has.
    pub(crate) fn next() -> Self {
        static IDS: AtomicU64 = AtomicU64::new(1);
        Self(IDS.fetch_add(1, Ordering::Relaxed))
    }
}

/// What a block is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Heap {
    /// Read and written by kernels and copies.
    Device,
    /// Pinned: written by the host, read by copies.
    Upload,
    /// Pinned: written by copies, read by the host.
    Download,
}

/// Whether two byte ranges share a byte.
pub(crate) fn overlap(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}

/// What is wanted of a buffer.
#[derive(Clone, Copy)]
pub(crate) struct BufferRequest<'a> {
    pub(crate) heap: Heap,
    /// Whether the host is to reach it for good.
    #[cfg_attr(not(native), expect(dead_code, reason = "there is no such memory"))]
    pub(crate) mapped: bool,
    pub(crate) size: u64,
    pub(crate) label: &'a str,
}

/// What a buffer of each heap may be used for.
pub(crate) fn usages(heap: Heap) -> Usages {
    match heap {
        Heap::Device => Usages::STORAGE | Usages::COPY_SRC | Usages::COPY_DST | Usages::INDIRECT,
        Heap::Upload => Usages::COPY_SRC,
        Heap::Download => Usages::COPY_DST,
    }
}
