//! Blocks: the memory of arrays, and the state that orders its uses.
//!
//! The first replay of a graph records its use in each block. As long as no other command is recorded in these blocks,
//! the next replay only replaces a stamp that all of them share, so its cost does not depend on the number of blocks.

use crate::driver::error_scopes::LateAnswer;
use crate::error::Result;
use crate::memory::allocations::AllocationEntries;
use crate::memory::cpu_memory::CpuMemory;
use crate::memory::external_buffers::ExternalBuffer;
use crate::memory::host_view::HostView;
#[cfg(native)]
use crate::memory::native_memory::NativeMemory;
use crate::memory::read_slot::ReadParts;
#[cfg(cpu)]
use crate::memory::shared_memory::SharedMemory;
use crate::memory::uses::{BlockUses, RepeatedUse, UseDetails};
use crate::memory::wgpu_memory::WgpuMemory;
use fencepost_sync::prim::{Mutex, MutexGuard, lock};
use fencepost_sync::{Clock, Slot, Stamp};
use std::fmt;
use std::ops::Range;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use wgpu::BufferUsages as Usages;

/// One allocation of memory. It is kept alive by the storage of its array and by commands in flight.
pub(crate) struct Block {
    pub(crate) id: BlockId,
    pub(crate) heap: Heap,
    /// Size in bytes: a multiple of 16, unless the block is an external buffer.
    pub(crate) size: u64,
    pub(crate) memory: Memory,
    /// Last epoch in which the native recorder used the block, and if it read or wrote it then. Only the thread that
    /// holds the lane's token accesses the mark.
    #[cfg(native)]
    pub(crate) mark: AtomicU64,
    order: Mutex<BlockState>,
}

/// The memory of a block: on a wgpu device, or on the host for the CPU recorder.
pub(crate) enum Memory {
    Wgpu(WgpuMemory),
    /// Bytes that the CPU recorder works on.
    Host(CpuMemory),
    /// Bytes that the CPU device works on, and which the host accesses in place.
    #[cfg(cpu)]
    Shared(SharedMemory),
}

/// Uses of a block, which order commands and host accesses on it. Only a thread that holds the state lock S may access
/// this state, except for the label.
#[derive(Default)]
pub(crate) struct BlockState {
    /// Name of the array that is on the block now.
    pub(crate) label: Arc<str>,
    pub(crate) uses: BlockUses,
    /// Stamp of the last command before the current array was made. Failures of earlier uses do not concern this array.
    pub(crate) born: Stamp,
    /// Host use other than reads. `Writing` implies that `readers` is 0. A map for reading is `Mapped`, and not counted
    /// in `readers`.
    pub(crate) host: HostUse,
    /// Number of host reads that are under way.
    pub(crate) readers: u32,
    /// Lazy reads of this block, each with its range. A lazy read leaves its bytes in the block until the thread that
    /// waits for the read copies them out. If a writer comes first, `take_lazy` removes the read from this list, and
    /// its bytes are saved elsewhere before the write.
    pub(crate) lazy: ReadParts,
    /// `true` as long as neither a command nor the host has written the block, so that all bytes are zero.
    pub(crate) fresh: bool,
    /// Stamps of the first and the last context command that uses the block and may still be unplanned.
    pub(crate) made: Option<(Stamp, Stamp)>,
    /// Number of graphs that use the block. The pool gets the block back only when they and the array are gone.
    pub(crate) leases: u32,
    /// `true` if the array on the block is gone while `leases` is not 0.
    pub(crate) orphaned: bool,
    /// Entries of that array in the books of the allocation trackers, until a graph gives the memory back or to another
    /// array.
    pub(crate) entries: AllocationEntries,
}

/// The host's current use of a block, apart from reads, which [`BlockState::readers`] counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum HostUse {
    #[default]
    Idle,
    /// The host writes the bytes.
    Writing,
    /// A map's guard exists, or a pending map has already been granted its access.
    Mapped,
}

impl Memory {
    /// Returns the memory on a wgpu device, or `None` for memory of the CPU.
    #[inline]
    pub(crate) fn wgpu(&self) -> Option<&WgpuMemory> {
        if let Memory::Wgpu(memory) = self { Some(memory) } else { None }
    }

    /// Returns the host's view, if the host accesses the memory in place.
    pub(crate) fn view(&self) -> Option<&HostView> {
        match self {
            Memory::Wgpu(memory) => memory.view(),
            Memory::Host(_) => None,
            #[cfg(cpu)]
            Memory::Shared(memory) => Some(memory.view()),
        }
    }

    /// Returns the native memory of the block, if there is any.
    #[cfg(native)]
    pub(crate) fn native(&self) -> Option<&NativeMemory> {
        self.wgpu().and_then(WgpuMemory::native)
    }
}

impl BlockState {
    /// Records that the array on the block is gone. Returns `true` if a graph still uses the block.
    pub(crate) fn outlives_array(&mut self) -> bool {
        self.orphaned = self.leases > 0;
        self.orphaned
    }

    /// Removes `range`, which a command or the host is about to write, from the lazy reads. Returns the removed pieces,
    /// each with a new slot for its bytes.
    ///
    /// The rest of each read stays lazy. A writer of the rest may be unordered with this one, so each writer saves only
    /// the bytes that it overwrites.
    pub(crate) fn take_lazy(&mut self, range: &Range<u64>) -> ReadParts {
        let mut taken = ReadParts::new();
        for (left, read) in std::mem::take(&mut self.lazy) {
            if !overlap(&left, range) {
                self.lazy.push((left, read));
                continue;
            }
            let cut = left.start.max(range.start)..left.end.min(range.end);
            let rest = [left.start..cut.start, cut.end..left.end];
            self.lazy
                .extend(rest.into_iter().filter(|rest| !rest.is_empty()).map(|rest| (rest, read.clone())));
            taken.push((cut.clone(), read.part(cut)));
        }
        taken
    }
}

impl Block {
    pub(crate) fn new(id: BlockId, heap: Heap, size: u64, memory: Memory) -> Self {
        let order = BlockState { fresh: true, ..BlockState::default() };
        Self {
            id,
            heap,
            size,
            memory,
            #[cfg(native)]
            mark: AtomicU64::new(0),
            order: Mutex::new(order),
        }
    }

    /// Returns the block of an external buffer, whose contents are unknown.
    pub(crate) fn external(id: BlockId, size: u64, memory: Memory, label: &Arc<str>) -> Self {
        let block = Self::new(id, Heap::Device, size, memory);
        {
            let mut order = block.order();
            order.label = label.clone();
            order.fresh = false;
        }
        block
    }

    /// Locks the state of the block. Except to access only the label, the caller must hold the state lock S, and
    /// release this lock before S.
    #[inline]
    pub(crate) fn order(&self) -> MutexGuard<'_, BlockState> {
        lock(&self.order)
    }

    /// Returns `true` if the block is an external buffer.
    pub(crate) fn is_external(&self) -> bool {
        self.external_buffer().is_some()
    }

    /// Returns the state of the external buffer, if the block is one.
    pub(crate) fn external_buffer(&self) -> Option<&ExternalBuffer> {
        self.memory.wgpu().and_then(WgpuMemory::external)
    }

    /// Returns the wgpu buffer of an external block, which user code may also use. Returns `None` for other blocks.
    pub(crate) fn shared_buffer(&self) -> Option<&wgpu::Buffer> {
        self.is_external().then(|| self.wgpu_buffer())
    }

    /// Returns the wgpu buffer of the block.
    ///
    /// # Panics
    /// Panics if the block belongs to the CPU, which is a bug.
    pub(crate) fn wgpu_buffer(&self) -> &wgpu::Buffer {
        self.memory.wgpu().unwrap_or_else(|| unreachable!("bug: {self:?} belongs to the CPU")).buffer()
    }

    /// Returns the device's answer to the allocation of the block, if it comes later than the block.
    pub(crate) fn answer(&self) -> Option<&LateAnswer> {
        self.memory.wgpu().and_then(WgpuMemory::answer)
    }

    /// Returns `true` if the device has reported that it has no memory for the block. Commands that use it fail.
    pub(crate) fn is_refused(&self) -> bool {
        self.answer().is_some_and(|answer| answer.refusal().is_some())
    }

    /// Returns `true` if commands may fail because of the block: the device has not said that it has memory for it, or the
    /// program may destroy the buffer.
    pub(crate) fn is_doubtful(&self) -> bool {
        self.is_external() || self.answer().is_some_and(|answer| !answer.is_made())
    }

    /// Returns `true` if the host can access the bytes in place.
    pub(crate) fn direct(&self) -> bool {
        self.memory.wgpu().is_none_or(|memory| memory.view().is_some())
    }

    /// Returns the host's view of the memory, if the block has one.
    pub(crate) fn view(&self) -> Option<&HostView> {
        self.memory.view()
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Block({}, {} bytes)", self.id.0, self.size)
    }
}

/// Allocates the memory of a device.
pub(crate) trait Allocate {
    /// Allocates `size` bytes, which are zero before the first command uses them.
    ///
    /// `size` is a multiple of 16 above 0. A failed call must have no effect, because after `OutOfMemory` the caller
    /// frees memory and tries once more. Any thread may call this method, without holding the state lock S.
    ///
    /// # Errors
    /// Returns `OutOfMemory` or `TooLarge`, which name `label`, or `DeviceLost`.
    fn allocate(&self, heap: Heap, size: u64, label: &str) -> Result<Memory>;
}

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

/// Request for a new buffer.
#[derive(Clone, Copy)]
pub(crate) struct BufferRequest<'a> {
    pub(crate) heap: Heap,
    /// `true` if the host is to keep the buffer mapped.
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

/// The last use of some blocks by a command that may be repeated.
#[derive(Default)]
pub(crate) struct LastUse(Mutex<Option<Arc<UseDetails>>>);

impl LastUse {
    /// Returns `true` if the kept use is the last one of each block and was made on `slot`. Then the next command of
    /// `slot` already comes after all uses that it must follow.
    pub(crate) fn is_of(&self, slot: Slot) -> bool {
        let kept = lock(&self.0);
        matches!(kept.as_deref(), Some(UseDetails::Repeated(kept)) if kept.is_last_of(slot))
    }

    /// Records the command as a repetition of the kept use, for all blocks at once. Returns `false` if the use must be
    /// recorded in each block instead. That is so if another command was recorded in one of them, if another queue or
    /// source line enqueues the command, or if the queue has waited since.
    pub(crate) fn repeat(
        &self,
        slot: Slot,
        at: &'static Location<'static>,
        stamp: Stamp,
        clock: &Clock,
    ) -> bool {
        let kept = lock(&self.0);
        matches!(kept.as_deref(), Some(UseDetails::Repeated(kept)) if kept.repeat(slot, at, stamp, clock))
    }

    /// Forgets the kept use, so that the next command must be recorded in each block.
    #[cfg(test)]
    pub(crate) fn forget(&self) {
        *lock(&self.0) = None;
    }

    /// Keeps the use of a command. The caller must record it in each block.
    pub(crate) fn begin(
        &self,
        slot: Slot,
        at: &'static Location<'static>,
        stamp: Stamp,
        clock: &Clock,
    ) -> Arc<UseDetails> {
        let begun = Arc::new(UseDetails::Repeated(RepeatedUse::new(slot, at, stamp, clock.clone())));
        *lock(&self.0) = Some(begun.clone());
        begun
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::CommandKind;
    use crate::memory::uses::{BlockUse, BlockUses};

    const SLOT: Slot = Slot(1);

    fn used(slot: Slot, stamp: u64, write: bool, more: Option<Arc<UseDetails>>) -> BlockUse {
        let what = CommandKind::Copy;
        let at = Location::caller();
        BlockUse { slot, first: Stamp(stamp), range: 0..8, write, what, at, more }
    }

    /// Makes two blocks, and records a use of both by one command.
    fn two_blocks(last: &LastUse, at: &'static Location<'static>) -> [BlockUses; 2] {
        let begun = last.begin(SLOT, at, Stamp(1), &Clock::default());
        [true, false].map(|write| {
            let mut uses = BlockUses::default();
            uses.record(used(SLOT, 1, write, Some(begun.clone())), &Clock::default());
            uses
        })
    }

    #[test]
    fn a_repetition_changes_the_stamp_in_each_block() {
        let last = LastUse::default();
        let at = Location::caller();
        assert!(!last.is_of(SLOT) && !last.repeat(SLOT, at, Stamp(1), &Clock::default()), "nothing is kept");
        let blocks = two_blocks(&last, at);
        assert!(last.is_of(SLOT) && last.repeat(SLOT, at, Stamp(7), &Clock::default()));
        for block in blocks {
            assert_eq!(block.all().map(BlockUse::stamp).collect::<Vec<_>>(), [Stamp(7)]);
        }
    }

    #[test]
    fn another_queue_or_line_and_a_queue_that_has_waited_repeat_nothing() {
        let last = LastUse::default();
        let at = Location::caller();
        let blocks = two_blocks(&last, at);
        assert!(!last.is_of(Slot(2)) && !last.repeat(Slot(2), at, Stamp(7), &Clock::default()));
        assert!(!last.repeat(SLOT, Location::caller(), Stamp(7), &Clock::default()));
        assert!(!last.repeat(SLOT, at, Stamp(7), &Clock::after_all(Stamp(1))));
        assert!(blocks.iter().all(|block| block.all().all(|u| u.stamp() == Stamp(1))));
    }

    #[test]
    fn a_use_of_one_block_or_its_removal_ends_the_repetitions() {
        let ends: [fn(&mut BlockUses); 5] = [
            |uses| {
                uses.record(used(SLOT, 2, true, None), &Clock::default());
            },
            |uses| {
                uses.record(used(SLOT, 2, false, None), &Clock::default());
            },
            |uses| {
                uses.record(used(Slot(2), 2, false, None), &Clock::default());
            },
            |uses| uses.retain(|_| false),
            BlockUses::clear,
        ];
        for (end, block) in ends.into_iter().zip([0, 1, 0, 1, 0]) {
            let last = LastUse::default();
            let at = Location::caller();
            let mut blocks = two_blocks(&last, at);
            end(&mut blocks[block]);
            assert!(!last.is_of(SLOT) && !last.repeat(SLOT, at, Stamp(7), &Clock::default()));
            assert_eq!(
                blocks[1 - block].all().map(BlockUse::stamp).collect::<Vec<_>>(),
                [Stamp(1)],
                "the other block keeps the use"
            );
        }
    }

    #[test]
    fn a_use_of_the_same_command_in_the_same_block_ends_nothing() {
        let last = LastUse::default();
        let at = Location::caller();
        let begun = last.begin(SLOT, at, Stamp(1), &Clock::default());
        let mut uses = BlockUses::default();
        for write in [false, true] {
            uses.record(used(SLOT, 1, write, Some(begun.clone())), &Clock::default());
        }
        assert!(last.repeat(SLOT, at, Stamp(2), &Clock::default()));
    }
}
