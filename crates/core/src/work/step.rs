//! The commands in batches as plain data, with the ranges of blocks that they access.
//!
//! Also the code of kernels on the CPU, and commands that the program records with wgpu.

use crate::driver::erased::Erased;
use crate::error::CommandKind;
use crate::memory::block::{Block, Heap};
use crate::memory::read_slot::ReadSlot;
use crate::memory::staging::Payload;
use crate::work::graph::control::Gate;
use crate::work::graph::run::GraphStep;
use crate::work::kernel_launch::{BoundArray, Launch, touches};
use crate::work::region_copy::RegionCopy;
use crate::work::time_slot::TimeSlot;
#[cfg(cpu)]
use fencepost_cpu::CpuKernel;
#[cfg(cpu)]
use fencepost_kernels::HostKernel;
use fencepost_sync::prim::{Mutex, lock};
use fencepost_sync::{Slot, Stamp};
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;

/// An operation of a device: the only part of a command that recorders see.
pub(crate) enum Work {
    /// Launch of a kernel, boxed because a command is moved several times before it is submitted.
    Launch(Box<Launch>),
    Copy {
        src: Span,
        dst: Span,
    },
    Fill {
        dst: Span,
        pattern: Pattern,
    },
    /// Copy of staged bytes to a block. They were staged during the call of the program.
    Upload {
        src: Payload,
        dst: Span,
    },
    /// Copy of rows of bytes, boxed because it is larger than the other variants.
    Region(Box<RegionCopy>),
    /// Copy of bytes to staging memory for the host. The slot receives the location of that memory.
    Read {
        src: Span,
        slot: Arc<ReadSlot>,
    },
    /// Submission of the program's command buffers.
    WgpuCommands(Box<WgpuCommands>),
    /// Replay of a part of a graph.
    Graph(Box<GraphStep>),
    /// Gate that decides if the nodes of a body execute. Occurs only as a node of a graph.
    Gate(Box<Gate>),
    /// Read of the clock before a command. `Start`, the command and `End` have the same stamp and level.
    Start(Arc<TimeSlot>),
    /// Read of the clock after a command.
    End(Arc<TimeSlot>),
    /// No operation. Completes after all earlier work on the hardware queue, whichever context it belongs to.
    QueueFence,
    /// No operation. Replaces a removed command, to keep its place in the order, because other commands may depend on
    /// it.
    Nothing,
}

/// Works of one call.
pub(crate) type Works = SmallVec<[Work; 3]>;

/// Works of one call, each with the kind of its command.
pub(crate) type KindsOfWork = SmallVec<[(CommandKind, Work); 3]>;

/// Returns `true` if the span is in pinned memory, which the program may access when the copy is complete.
fn is_pinned(span: &Span) -> bool {
    matches!(span.block.heap, Heap::Download | Heap::Upload)
}

impl Work {
    /// Returns `true` if the program may wait for the end of this work before it accesses bytes: for a read, for a copy
    /// from or to pinned memory, and for an upload that each replay repeats.
    #[inline]
    pub(crate) fn returns_to_host(&self) -> bool {
        match self {
            Work::Read { .. } | Work::Upload { src: Payload::PerReplay(_), .. } => true,
            Work::Copy { src, dst } => is_pinned(src) || is_pinned(dst),
            Work::Region(copy) => is_pinned(&copy.src) || is_pinned(&copy.dst),
            _ => false,
        }
    }

    /// Returns the bytes of memory that count towards the backlog with the command: the staging memory of an upload,
    /// and the memory of a graph with only one replay.
    #[inline]
    pub(crate) fn held_bytes(&self) -> u64 {
        match self {
            Work::Upload { dst, .. } => dst.size,
            Work::Graph(step) => step.returned_bytes(),
            _ => 0,
        }
    }

    /// Returns `true` for a launch without workgroups.
    pub(crate) fn is_empty_launch(&self) -> bool {
        matches!(self, Work::Launch(launch) if launch.is_empty())
    }

    /// Returns all accesses of this command. Bindings that the entry point does not use are left out.
    #[inline]
    pub(crate) fn touches(&self) -> impl Iterator<Item = BlockAccess<'_>> {
        let bound: &[BoundArray] = match self {
            Work::Launch(launch) => &launch.bindings,
            Work::WgpuCommands(encoded) => &encoded.uses,
            Work::Graph(graph) => graph.uses(),
            _ => &[],
        };
        touches(bound, self.spans())
    }

    /// Returns the number of bytes that the command moves, or `None` for a launch.
    pub(crate) fn bytes(&self) -> Option<u64> {
        match self {
            Work::Launch(_) => None,
            Work::Region(copy) => Some(copy.rows.row * copy.rows.count()),
            _ => self.spans().into_iter().flatten().last().map(|span| span.size),
        }
    }

    /// Returns a copy of captured work.
    ///
    /// # Panics
    /// Panics for work that cannot be captured, which is a bug.
    pub(crate) fn duplicate(&self) -> Self {
        match self {
            Work::Launch(launch) => Work::Launch(Box::new(launch.duplicate())),
            Work::Copy { src, dst } => Work::Copy { src: src.clone(), dst: dst.clone() },
            Work::Fill { dst, pattern } => Work::Fill { dst: dst.clone(), pattern: *pattern },
            Work::Upload { src: Payload::Kept(kept), dst } => {
                Work::Upload { src: Payload::Kept(kept.clone()), dst: dst.clone() }
            }
            Work::Upload { src: Payload::PerReplay(source), dst } => {
                Work::Upload { src: Payload::PerReplay(source.clone()), dst: dst.clone() }
            }
            Work::Region(copy) => Work::Region(Box::new(copy.duplicate())),
            Work::Read { src, .. } => Work::Read { src: src.clone(), slot: ReadSlot::new() },
            Work::Gate(gate) => Work::Gate(gate.clone()),
            Work::Nothing => Work::Nothing,
            Work::Upload { .. }
            | Work::Graph(_)
            | Work::WgpuCommands(_)
            | Work::Start(_)
            | Work::End(_)
            | Work::QueueFence => unreachable!("bug: this work is not captured"),
        }
    }

    /// Returns the number of levels in a batch that the command occupies.
    #[inline]
    pub(crate) fn depth(&self) -> u32 {
        if let Work::Graph(graph) = self { graph.depth() } else { 1 }
    }

    /// Returns the ranges that are read and written other than through bindings.
    #[inline]
    fn spans(&self) -> [Option<&Span>; 2] {
        match self {
            Work::Launch(launch) => [launch.indirect.as_ref(), None],
            Work::Copy { src, dst } => [Some(src), Some(dst)],
            Work::Region(copy) => [Some(&copy.src), Some(&copy.dst)],
            Work::Fill { dst, .. } | Work::Upload { dst, .. } => [None, Some(dst)],
            Work::Read { src, .. } => [Some(src), None],
            Work::Gate(gate) => [Some(&gate.condition), None],
            Work::WgpuCommands(_)
            | Work::Graph(_)
            | Work::Start(_)
            | Work::End(_)
            | Work::QueueFence
            | Work::Nothing => [None, None],
        }
    }

    /// Calls `visit` for each block that this command refers to, even if it does not access it.
    pub(crate) fn each_block<'a>(&'a self, mut visit: impl FnMut(&'a Arc<Block>)) {
        match self {
            Work::Launch(launch) => launch.bindings.iter().for_each(|bound| visit(&bound.block)),
            Work::Graph(graph) => graph.uses().iter().for_each(|bound| visit(&bound.block)),
            _ => {}
        }
        self.touches().for_each(|touch| visit(touch.block));
    }
}

/// A command of a batch.
pub(crate) struct Step {
    pub(crate) slot: Slot,
    pub(crate) stamp: Stamp,
    /// Level in the batch. A step depends only on steps of lower levels. Steps of one level are independent, except for
    /// a command with its `Start` and `End`.
    pub(crate) level: u32,
    /// Earlier steps of the batch that this step comes after, not counting those of the same queue.
    pub(crate) after: SmallVec<[u32; 2]>,
    pub(crate) work: Work,
}

impl Step {
    /// Returns `true` if the step is work of its own queue. A copy for a lazy read is not: it saves the bytes of
    /// another queue's read before a command of this queue overwrites them.
    pub(crate) fn is_own(&self) -> bool {
        match &self.work {
            Work::Nothing => false,
            Work::Read { slot, .. } => slot.saving_batch().is_none(),
            _ => true,
        }
    }

    /// Returns the launch, if the step is one, and drops the rest of the step.
    pub(crate) fn launch(self) -> Option<Box<Launch>> {
        if let Work::Launch(launch) = self.work { Some(launch) } else { None }
    }
}

impl From<RegionCopy> for Work {
    fn from(copy: RegionCopy) -> Self {
        Work::Region(Box::new(copy))
    }
}

/// Code of a kernel on the CPU.
#[derive(Clone)]
#[cfg(cpu)]
pub(crate) enum HostCode {
    /// A function of the program or the library, for the whole grid.
    Function(Arc<dyn HostKernel>),
    /// The compiled or interpreted text of the kernel.
    Program(Arc<CpuKernel>),
}

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
    pub(crate) fn move_to(&mut self, block: &Arc<Block>, offset: u64) {
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

    /// Returns the bytes of `value`, repeated to 4, 8 or 16 bytes. Returns `None` if a pattern cannot hold that.
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
pub(crate) struct BlockAccess<'a> {
    pub(crate) block: &'a Arc<Block>,
    pub(crate) range: Range<u64>,
    pub(crate) write: bool,
}

/// The program's command buffers, at their place in the order of a queue. They form a separate batch, which wgpu
/// submits.
pub(crate) struct WgpuCommands {
    /// Command buffers, until they are submitted.
    commands: Erased<Mutex<Vec<wgpu::CommandBuffer>>>,
    /// Arrays that the commands read and write, as declared by the program.
    pub(crate) uses: Vec<BoundArray>,
}

impl WgpuCommands {
    pub(crate) fn new(commands: Vec<wgpu::CommandBuffer>, uses: Vec<BoundArray>) -> Self {
        Self { commands: Erased::new(Mutex::new(commands)), uses }
    }

    /// Takes the command buffers, because wgpu can submit them only once.
    pub(crate) fn take(&self) -> Vec<wgpu::CommandBuffer> {
        std::mem::take(&mut *lock(&self.commands))
    }
}

/// Returns the queues that fail, each with its first command in the batch.
pub(crate) fn firsts(steps: &[Step], blamed: Option<Slot>) -> Vec<(Slot, Stamp)> {
    let mut firsts: Vec<(Slot, Stamp)> = Vec::new();
    // Timestamps are not part of a queue's own work.
    let is_timestamp = |step: &Step| matches!(step.work, Work::Start(_) | Work::End(_));
    for step in steps.iter().filter(|step| step.is_own() && !is_timestamp(step)) {
        if blamed.is_none_or(|slot| slot == step.slot) && !firsts.iter().any(|(slot, _)| *slot == step.slot) {
            firsts.push((step.slot, step.stamp));
        }
    }
    firsts
}
