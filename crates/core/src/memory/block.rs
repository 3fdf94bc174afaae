//! The memory behind an array.

use crate::error::Result;
use crate::memory::cpu_memory::CpuMemory;
use crate::memory::heap::{BlockId, Heap, overlap};
use crate::memory::native_memory::HostView;
use crate::memory::read_slot::ReadParts;
use crate::memory::uses::BlockUses;
use crate::memory::wgpu_memory::WgpuMemory;
use fencepost_sync::prim::{Mutex, MutexGuard, lock};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
#[cfg(native)]
use std::sync::atomic::AtomicU64;

/// One allocation. Arrays, and commands on their way, share it.
pub(crate) struct Block {
    pub(crate) id: BlockId,
    pub(crate) heap: Heap,
    /// Bytes, a multiple of 16 unless the memory is the program's own.
    pub(crate) size: u64,
    pub(crate) memory: Memory,
    /// What the native recorder has done with it since its last barrier. Only for who holds the lane's token.
    #[cfg(native)]
    pub(crate) mark: AtomicU64,
    order: Mutex<BlockState>,
}

/// Where the bytes are.
pub(crate) enum Memory {
    Wgpu(WgpuMemory),
    /// The CPU recorder's.
    Host(CpuMemory),
}

/// What a block's users have to know of each other. Read and written under the context's state lock only.
#[derive(Default)]
pub(crate) struct BlockState {
    /// The label of the array that lives here now.
    pub(crate) label: Arc<str>,
    pub(crate) uses: BlockUses,
    pub(crate) host: HostUse,
    /// How many host reads are under way.
    pub(crate) readers: u32,
    /// Reads whose bytes are taken from this block itself, if nobody writes them first.
    pub(crate) lazy: ReadParts,
    /// The host reads this block now and then: every batch that writes it makes its writes visible to the host.
    pub(crate) host_reads: bool,
    /// Whether the last planned write was, or will be, made visible to the host by its own batch.
    pub(crate) visible: bool,
    /// Whether nothing was ever written: all bytes are zero.
    pub(crate) fresh: bool,
}

/// What the host does with a block's bytes at this moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum HostUse {
    #[default]
    Idle,
    /// Being written.
    Writing,
    /// Mapped by a guard, or about to be.
    Mapped,
}

impl BlockState {
    /// Takes what reads have left in `range`, which is about to be written, with a slot for each piece. The rest of
    /// those reads stays in place: other writers of it need not come after this one.
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
        let order = BlockState { fresh: true, visible: true, ..BlockState::default() };
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

    /// The block of a buffer of the program's own, whose bytes are whatever they are.
    pub(crate) fn foreign(id: BlockId, size: u64, memory: Memory, label: &Arc<str>) -> Self {
        let block = Self::new(id, Heap::Device, size, memory);
        {
            let mut order = block.order();
            (order.label, order.fresh) = (label.clone(), false);
        }
        block
    }

    /// The order book. Only for who holds the state lock; it is never held across anything.
    #[inline]
    pub(crate) fn order(&self) -> MutexGuard<'_, BlockState> {
        lock(&self.order)
    }

    /// Whether the memory is the program's own.
    pub(crate) fn is_external(&self) -> bool {
        matches!(&self.memory, Memory::Wgpu(memory) if memory.foreign().is_some())
    }

    /// wgpu's buffer, if the program knows it, too.
    pub(crate) fn shared_buffer(&self) -> Option<&wgpu::Buffer> {
        match &self.memory {
            Memory::Wgpu(memory) if memory.foreign().is_some() => Some(memory.buffer()),
            _ => None,
        }
    }

    /// Whether the host reaches the bytes where they are.
    pub(crate) fn direct(&self) -> bool {
        match &self.memory {
            Memory::Wgpu(memory) => memory.view().is_some(),
            Memory::Host(_) => true,
        }
    }

    /// The native view, where there is one.
    pub(crate) fn view(&self) -> Option<&HostView> {
        match &self.memory {
            Memory::Wgpu(memory) => memory.view(),
            Memory::Host(_) => None,
        }
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Block({}, {} bytes)", self.id.0, self.size)
    }
}

/// Where a device's memory comes from.
pub(crate) trait Allocate {
    /// Memory of `size` bytes, zero.
    ///
    /// # Errors
    /// `OutOfMemory` or `TooLarge`, naming `label`.
    fn allocate(&self, heap: Heap, size: u64, label: &str) -> Result<Memory>;
}
