//! The one plain command that queue lists, batches and recorders speak.

use crate::memory::block::Block;
use crate::memory::heap::Heap;
use crate::memory::read_slot::ReadSlot;
use crate::memory::staged_bytes::Payload;
use crate::work::kernel_launch::{BoundArray, Launch, touches};
use crate::work::region_copy::RegionCopy;
use crate::work::span::{Pattern, Span, Touch};
use crate::work::time_slot::TimeSlot;
use crate::work::wgpu_commands::WgpuCommands;
use fencepost_sync::{Slot, Stamp};
use smallvec::SmallVec;
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
    WgpuCommands(Box<WgpuCommands>),
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
        let bound: &[BoundArray] = match self {
            Work::Launch(launch) => &launch.bindings,
            Work::WgpuCommands(encoded) => &encoded.uses,
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
            Work::WgpuCommands(_)
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

impl Step {
    /// Returns the launch of the step, if it is one, and drops everything else.
    pub(crate) fn launch(self) -> Option<Box<Launch>> {
        if let Work::Launch(launch) = self.work { Some(launch) } else { None }
    }
}

impl From<RegionCopy> for Work {
    fn from(copy: RegionCopy) -> Self {
        Work::Region(Box::new(copy))
    }
}
