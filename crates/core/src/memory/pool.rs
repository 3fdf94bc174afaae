//! Blocks that are free for now.

use super::{Block, BlockId, Heap};
use crate::context::Owner;
use crate::error::{Kind, Result};
use crate::ordering::{Policy, Tracker, Use};
use crate::scheduler::{Engine, State};
use fencepost_sync::Slot;
use fencepost_sync::prim::MutexGuard;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// What a context's memory pool holds, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct PoolStats {
    /// In arrays.
    pub used: u64,
    /// Kept for later arrays.
    pub free: u64,
    /// The most that was ever in arrays at once.
    pub high_water: u64,
}

/// Free blocks by kind and size, and the count of all.
#[derive(Default)]
pub(crate) struct Pool {
    free: FxHashMap<(Heap, u64), Vec<Arc<Block>>>,
    stats: PoolStats,
}

impl Pool {
    /// Takes a free block for which `usable` holds.
    fn take(&mut self, heap: Heap, size: u64, usable: impl Fn(&Arc<Block>) -> bool) -> Option<Arc<Block>> {
        let list = self.free.get_mut(&(heap, size))?;
        let at = list.iter().rposition(usable)?;
        let block = list.swap_remove(at);
        self.stats.free -= size;
        self.used(size);
        Some(block)
    }

    fn used(&mut self, size: u64) {
        self.stats.used += size;
        self.stats.high_water = self.stats.high_water.max(self.stats.used);
    }

    fn give(&mut self, block: Arc<Block>) {
        self.stats.used -= block.size;
        self.stats.free += block.size;
        self.free.entry((block.heap, block.size)).or_default().push(block);
    }

    /// Takes all free blocks that nothing on its way uses.
    fn take_idle(&mut self) -> Vec<Arc<Block>> {
        let mut idle = Vec::new();
        for list in self.free.values_mut() {
            idle.extend(list.extract_if(.., |block| Arc::strong_count(block) == 1));
        }
        self.stats.free -= idle.iter().map(|block| block.size).sum::<u64>();
        idle
    }

    pub(crate) fn stats(&self) -> PoolStats {
        self.stats
    }
}

/// Sizes come in steps of an eighth of a power of two, so that a block fits more than one array.
fn rounded(bytes: u64) -> u64 {
    let step = (bytes.next_power_of_two() / 8).max(256);
    bytes.max(16).next_multiple_of(step)
}

impl Owner {
    /// A block of at least `bytes`, for commands of the queue `slot`, or of the context itself.
    ///
    /// A free block is used again at once by a queue that comes after all its earlier uses, by the context once
    /// nothing on its way uses it.
    pub(crate) fn allocate(
        &self,
        heap: Heap,
        bytes: u64,
        label: &Arc<str>,
        slot: Slot,
    ) -> Result<Arc<Block>> {
        let limit = self.device().caps().max_block;
        if bytes > limit {
            return Err(Kind::TooLarge { object: format!("array `{label}`"), bytes, limit }.into());
        }
        let size = rounded(bytes).min(limit / 16 * 16).max(bytes.next_multiple_of(16));
        if let Some(block) = self.reuse(heap, size, label, slot)? {
            return Ok(block);
        }
        let memory = match self.device().allocate(heap, size, label) {
            Err(error) if matches!(error.kind(), Kind::OutOfMemory { .. }) => {
                self.engine().trim();
                self.device().allocate(heap, size, label)
            }
            memory => memory,
        };
        let memory = self.engine().checked(memory)?;
        let block = Arc::new(Block::new(BlockId::next(), heap, size, memory));
        block.order().label = label.clone();
        self.engine().lock().pool.used(size);
        Ok(block)
    }

    fn reuse(&self, heap: Heap, size: u64, label: &Arc<str>, slot: Slot) -> Result<Option<Arc<Block>>> {
        let mut guard = self.engine().lock();
        guard.check(slot)?;
        let mut pool = std::mem::take(&mut guard.pool);
        let block = pool.take(heap, size, |block| usable(&guard, block, slot));
        guard.pool = pool;
        if let Some(block) = &block {
            let mut order = block.order();
            order.label = label.clone();
            order.host_reads = false;
            if slot == State::CONTEXT {
                // All of its uses are done.
                order.uses = Tracker::default();
            }
        }
        Ok(block)
    }
}

/// Whether whatever `slot` enqueues next comes after every use of a free block.
fn usable(state: &State, block: &Arc<Block>, slot: Slot) -> bool {
    if slot == State::CONTEXT {
        return Arc::strong_count(block) == 1;
    }
    let clock = &state.queue(slot).clock;
    let before = |u: &Use| u.slot == slot || u.slot == State::CONTEXT || clock.covers(u.slot, u.stamp);
    block.order().uses.all().iter().all(before)
}

impl State {
    /// Whether nothing that is remembered of a block can matter to its next user. Under `Checked` what the program has
    /// not been told of does: what is an error must not depend on how far the device is.
    fn is_over(&self, block: &Block) -> bool {
        self.policy() != Policy::Checked || block.order().uses.all().iter().all(|u| self.forgettable(u))
    }
}

impl Engine {
    /// Gives the block of an array that is gone to the pool, unless it is the program's own; never waits.
    pub(crate) fn free(&self, block: Arc<Block>) {
        let mut state = self.lock();
        if state.lost.is_some() {
            drop(state);
            // The device may still be at it, and no call may be made to it.
            std::mem::forget(block);
            return;
        }
        if !block.is_foreign() {
            return state.pool.give(block);
        }
        state.foreign.push(block);
        self.let_foreign_go(state);
    }

    /// Lets go of the blocks on the program's own buffers whose uses nobody has to be ordered after any more.
    pub(crate) fn let_foreign_go(&self, mut state: MutexGuard<'_, State>) {
        let blocks = std::mem::take(&mut state.foreign);
        let (over, kept): (Vec<_>, Vec<_>) = blocks.into_iter().partition(|block| state.is_over(block));
        state.foreign = kept;
        drop(state); // before the buffers go
        drop(over);
    }

    /// Gives all free memory that nothing on its way uses back to the driver; the bytes given back.
    pub(crate) fn trim(&self) -> u64 {
        let idle = {
            let mut state = self.lock();
            if state.lost.is_some() { Vec::new() } else { state.pool.take_idle() }
        };
        idle.iter().for_each(|block| self.device.forget(block));
        idle.iter().map(|block| block.size).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_rounded_by_an_eighth_at_most() {
        for bytes in [1, 255, 256, 257, 5000, 1 << 20, (1 << 20) + 1] {
            let size = rounded(bytes);
            assert!(size >= bytes && size <= (bytes + bytes / 4).max(256) + 256, "{bytes} -> {size}");
        }
    }
}
