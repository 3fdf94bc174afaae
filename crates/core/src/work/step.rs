//! The one plain command that queue lists, batches and recorders speak.

use crate::memory::block::{Block, Heap};
use crate::memory::read_slot::ReadSlot;
use crate::memory::staging::Payload;
use crate::work::kernel_launch::{Bound, Launch};
use crate::work::region_copy::RegionCopy;
use crate::work::time_slot::TimeSlot;
use crate::work::wgpu_commands::Encoded;
use fencepost_sync::{Slot, Stamp};
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;

/// What a device does: the only part of a command that a recorder sees.
pub(crate) enum Work {
    /// In a box: a command is moved several times on its way to the device.
    Launch(Box<Launch>),
    Copy {
        src: Span,
        dst: Span,
    },
    Fill {
        dst: Span,
        pattern: Pattern,
    },
    /// Bytes that were copied from the program when the call was made.
    Upload {
        src: Payload,
        dst: Span,
    },
    /// Rows of bytes, so far apart. In a box: it is larger than the others.
    Region(Box<RegionCopy>),
    /// Copies bytes to staging memory for the host, and puts into the slot where that is.
    Read {
        src: Span,
        slot: Arc<ReadSlot>,
    },
    /// The program's own.
    Encoded(Box<Encoded>),
    /// Makes what was written to a block that the host reaches visible to the host.
    Publish(Arc<Block>),
    /// What the clock shows before the next step, or after the last one: the three have one stamp and one level.
    Start(Arc<TimeSlot>),
    End(Arc<TimeSlot>),
    /// Nothing itself: done when all is that the hardware queue had before, whoever submitted it.
    Behind,
    /// Nothing any more, but a place in the order that others may count on.
    Nothing,
}

/// The commands of one call.
pub(crate) type Works = SmallVec<[Work; 3]>;

/// A range of a block.
#[derive(Clone)]
pub(crate) struct Span {
    pub(crate) block: Arc<Block>,
    /// Bytes from the start of the block.
    pub(crate) offset: u64,
    /// Bytes.
    pub(crate) size: u64,
}

impl Span {
    pub(crate) fn range(&self) -> Range<u64> {
        self.offset..self.offset + self.size
    }
}

/// Up to 16 bytes, repeated over a range. `len` is 4, 8 or 16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    pub(crate) bytes: [u8; 16],
    pub(crate) len: u8,
}

impl Pattern {
    pub(crate) const ZERO: Pattern = Pattern { bytes: [0; 16], len: 4 };

    /// `value`'s bytes, repeated to 4, 8 or 16; `None` if a pattern cannot hold them.
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

    /// The bytes that are repeated.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// What a command does to bytes of a block, as far as order is concerned.
pub(crate) struct Touch<'a> {
    pub(crate) block: &'a Arc<Block>,
    pub(crate) range: Range<u64>,
    pub(crate) write: bool,
}

/// Whether the memory is the program's to read, or to fill again, when a copy is done.
fn is_pinned(span: &Span) -> bool {
    matches!(span.block.heap, Heap::Download | Heap::Upload)
}

impl Work {
    #[inline]
    pub(crate) fn gives(&self) -> bool {
        match self {
            Work::Read { .. } => true,
            Work::Copy { src, dst } => is_pinned(src) || is_pinned(dst),
            Work::Region(copy) => is_pinned(&copy.src) || is_pinned(&copy.dst),
            _ => false,
        }
    }

    /// Everything that this command touches. A binding that the entry point does not use counts for nothing.
    #[inline]
    pub(crate) fn touches(&self) -> impl Iterator<Item = Touch<'_>> {
        let bound: &[Bound] = match self {
            Work::Launch(launch) => &launch.bindings,
            Work::Encoded(encoded) => &encoded.uses,
            _ => &[],
        };
        touches(bound, self.spans())
    }

    /// Bytes that it moves, unless it is a launch.
    pub(crate) fn bytes(&self) -> Option<u64> {
        match self {
            Work::Launch(_) => None,
            Work::Region(copy) => Some(copy.rows.row * copy.rows.count()),
            _ => self.spans().into_iter().flatten().last().map(|span| span.size),
        }
    }

    /// What is read, and what is written, besides bindings.
    #[inline]
    fn spans(&self) -> [Option<&Span>; 2] {
        match self {
            Work::Launch(launch) => [launch.indirect.as_ref(), None],
            Work::Copy { src, dst } => [Some(src), Some(dst)],
            Work::Region(copy) => [Some(&copy.src), Some(&copy.dst)],
            Work::Fill { dst, .. } | Work::Upload { dst, .. } => [None, Some(dst)],
            Work::Read { src, .. } => [Some(src), None],
            Work::Encoded(_)
            | Work::Publish(_)
            | Work::Start(_)
            | Work::End(_)
            | Work::Behind
            | Work::Nothing => [None, None],
        }
    }

    /// Calls `visit` for the block of everything that this command names, whether or not it touches it.
    pub(crate) fn each_block<'a>(&'a self, mut visit: impl FnMut(&'a Arc<Block>)) {
        if let Work::Launch(launch) = self {
            launch.bindings.iter().for_each(|bound| visit(&bound.block));
        }
        self.touches().for_each(|touch| visit(touch.block));
    }
}

/// What bindings touch, and what is read and written besides. One loop over both, for the sake of launches: what is
/// done with a touch is compiled into it.
#[inline]
pub(crate) fn touches<'a>(
    bound: &'a [Bound],
    spans: [Option<&'a Span>; 2],
) -> impl Iterator<Item = Touch<'a>> {
    let others = if spans.iter().any(Option::is_some) { spans.len() } else { 0 };
    (0..bound.len() + others).filter_map(move |at| match bound.get(at) {
        Some(bound) => bound.touch(),
        None => spans[at - bound.len()].map(|span| of_span(span, at > bound.len())),
    })
}

fn of_span(span: &Span, write: bool) -> Touch<'_> {
    Touch { block: &span.block, range: span.range(), write }
}

/// A command in a batch.
pub(crate) struct Step {
    pub(crate) slot: Slot,
    pub(crate) stamp: Stamp,
    /// Steps of one level are independent of each other, but for a command and its times; a step depends only on lower
    /// levels.
    pub(crate) level: u32,
    /// Steps of the same batch, earlier in it, that come first besides the ones of the same queue.
    pub(crate) after: SmallVec<[u32; 2]>,
    pub(crate) work: Work,
}
