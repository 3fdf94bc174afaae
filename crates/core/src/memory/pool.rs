//! Blocks that are free for now.

use crate::api::context::Owner;
use crate::arrays::allocation_tracker::{Book, Entries, Made};
use crate::arrays::device_array::Storage;
use crate::error::{Kind, PoolLimit, Result};
use crate::memory::block::{Block, BlockId, Heap};
use crate::memory::recent_peak::Lately;
use crate::memory::staging::Staged;
use crate::memory::uses::{Tracker, Use};
use crate::scheduler::engine::Engine;
use crate::scheduler::ordering::admit::Admission;
use crate::scheduler::ordering::policy::Policy;
use crate::scheduler::state::State;
use fencepost_sync::Slot;
use fencepost_sync::prim::MutexGuard;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// What a context's memory pool holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct PoolStats {
    /// Bytes in arrays of the device.
    pub used: u64,
    /// Bytes kept for later arrays, those for pinned ones too.
    pub free: u64,
    /// The most bytes that were in arrays of the device at once, since the start or the last
    /// [reset](crate::Context::reset_high_water).
    pub high_water: u64,
    /// Bytes in pinned arrays, where pinned memory is not ordinary memory.
    pub pinned: u64,
    /// Arrays with memory of the pool: slices and handles are none of their own.
    pub arrays: u64,
    /// Pieces of memory that the driver has given: for those arrays, and the free ones.
    pub blocks: u64,
    /// Bytes of staging memory that holds what uploads and reads move, until they are done. Small ones share a chunk of
    /// a mebibyte, which counts as long as one of them is there.
    pub staging: u64,
    /// Bytes of staging memory kept for later uploads and reads.
    pub staging_free: u64,
}

impl PoolStats {
    /// Bytes in all: of arrays, pinned, staging, and free.
    pub fn total(&self) -> u64 {
        self.used + self.pinned + self.free + self.staging + self.staging_free
    }
}

/// Free bytes that are kept however little is in use.
const LITTLE: u64 = 16 << 20;

/// Free blocks by kind and size, and the count of all.
#[derive(Default)]
pub(crate) struct Pool {
    free: FxHashMap<(Heap, u64), Vec<Free>>,
    /// Blocks that were ever free: the number of the next one.
    turn: u64,
    lately: Lately,
    stats: PoolStats,
    /// Bytes that may be had of the driver.
    limit: Option<u64>,
    /// Free bytes that are kept, if the program says how many.
    threshold: Option<u64>,
    /// Who wants to know what is allocated.
    pub(crate) books: Vec<Arc<Book>>,
}

/// A block that no array has.
struct Free {
    /// When it became free: the smaller, the longer ago.
    since: u64,
    block: Arc<Block>,
}

impl Free {
    /// Whether nothing on its way uses it any more.
    fn is_idle(&self) -> bool {
        Arc::strong_count(&self.block) == 1
    }
}

impl Pool {
    /// Takes a free block for which `usable` holds.
    fn take(&mut self, heap: Heap, size: u64, usable: impl Fn(&Arc<Block>) -> bool) -> Option<Arc<Block>> {
        let list = self.free.get_mut(&(heap, size))?;
        let at = list.iter().rposition(|free| usable(&free.block))?;
        let Free { block, .. } = list.swap_remove(at);
        self.stats.free -= size;
        self.used(heap, size);
        Some(block)
    }

    fn used(&mut self, heap: Heap, size: u64) {
        self.stats.arrays += 1;
        match heap {
            Heap::Device => self.stats.used += size,
            Heap::Upload | Heap::Download => self.stats.pinned += size,
        }
        self.stats.high_water = self.stats.high_water.max(self.stats.used);
    }

    fn unused(&mut self, heap: Heap, size: u64) {
        self.stats.arrays -= 1;
        match heap {
            Heap::Device => self.stats.used -= size,
            Heap::Upload | Heap::Download => self.stats.pinned -= size,
        }
    }

    fn give(&mut self, block: Arc<Block>) {
        self.lately.turn(self.stats.used + self.stats.pinned);
        self.unused(block.heap, block.size);
        self.stats.free += block.size;
        self.turn += 1;
        let free = Free { since: self.turn, block };
        self.free.entry((free.block.heap, free.block.size)).or_default().push(free);
    }

    /// Counts a block that is about to be made in, if the limit allows it.
    fn reserve(&mut self, heap: Heap, size: u64) -> Result<(), PoolLimit> {
        let used = self.stats.used + self.stats.pinned;
        if let Some(limit) = self.limit.filter(|limit| used + self.stats.free + size > *limit) {
            return Err(PoolLimit { used, limit });
        }
        self.stats.blocks += 1;
        self.used(heap, size);
        Ok(())
    }

    /// The block was not made after all.
    fn unreserve(&mut self, heap: Heap, size: u64) {
        self.stats.blocks -= 1;
        self.unused(heap, size);
    }

    /// Takes free blocks that nothing on its way uses, those first that have been free for the longest time, until at most
    /// `keep` free bytes are left.
    fn take_idle(&mut self, keep: u64) -> Vec<Arc<Block>> {
        let idle = self.free.values().flatten().filter(|free| free.is_idle());
        let mut ages: Vec<(u64, u64)> = idle.map(|free| (free.since, free.block.size)).collect();
        ages.sort_unstable();
        let mut left = self.stats.free;
        let surplus = ages.iter().take_while(|(_, size)| {
            let goes = left > keep;
            left -= if goes { *size } else { 0 };
            goes
        });
        let Some(&(upto, _)) = surplus.last() else { return Vec::new() };
        let mut taken = Vec::new();
        for list in self.free.values_mut() {
            taken.extend(
                list.extract_if(.., |free| free.since <= upto && free.is_idle()).map(|free| free.block),
            );
        }
        self.free.retain(|_, list| !list.is_empty());
        self.stats.free -= taken.iter().map(|block| block.size).sum::<u64>();
        self.stats.blocks -= taken.len() as u64;
        taken
    }

    /// Free bytes that are kept if a block of `size` bytes comes into use: as many as the program says or, if it says
    /// nothing, twice as many as were in use at once lately. A loop that makes two arrays in turn finds both.
    fn kept(&self, size: u64) -> u64 {
        let used = self.stats.used + self.stats.pinned + size;
        self.threshold.unwrap_or_else(|| self.lately.most().max(used).saturating_mul(2).max(LITTLE))
    }

    /// Whether more is free than the program wants.
    fn over_threshold(&self) -> bool {
        self.threshold.is_some_and(|threshold| self.stats.free > threshold)
    }

    /// Whether more is free than is kept.
    #[inline]
    pub(crate) fn has_surplus(&self) -> bool {
        self.stats.free > self.kept(0)
    }

    /// Takes what is free beyond what is kept, counting a block of `size` bytes that is about to be made as free: that it
    /// will be.
    fn take_surplus(&mut self, size: u64) -> Vec<Arc<Block>> {
        if self.stats.free + size <= self.kept(size) {
            return Vec::new();
        }
        // No array has what running work uses, and it is in use nevertheless.
        let running = self.free.values().flatten().filter(|free| !free.is_idle());
        let running: u64 = running.map(|free| free.block.size).sum();
        self.lately.note(self.stats.used + self.stats.pinned + running);
        self.take_idle(self.kept(size).saturating_sub(size))
    }

    pub(crate) fn stats(&self) -> PoolStats {
        self.stats
    }

    pub(crate) fn reset_high_water(&mut self) {
        self.stats.high_water = self.stats.used;
    }

    pub(crate) fn set_limit(&mut self, limit: Option<u64>) {
        self.limit = limit;
    }

    pub(crate) fn set_threshold(&mut self, threshold: Option<u64>) {
        self.threshold = threshold;
    }
}

/// The size of a block for so many bytes, on a device with a largest one.
fn size_for(bytes: u64, limit: u64) -> u64 {
    rounded(bytes).min(limit / 16 * 16).max(bytes.next_multiple_of(16))
}

/// Sizes come in steps of an eighth of a power of two, so that a block fits more than one array.
fn rounded(bytes: u64) -> u64 {
    let step = (bytes.next_power_of_two() / 8).max(256);
    bytes.max(16).next_multiple_of(step)
}

impl Owner {
    /// A storage of at least `bytes`, for commands of the queue that asks, or of the context itself.
    ///
    /// A free block is used again at once by a queue that comes after all its earlier uses, by the context once
    /// nothing on its way uses it.
    pub(crate) fn allocate(
        &self,
        heap: Heap,
        bytes: u64,
        label: &Arc<str>,
        by: Admission,
    ) -> Result<Arc<Storage>> {
        let limit = self.device().caps().max_block;
        if bytes > limit {
            return Err(Kind::TooLarge { object: format!("array `{label}`"), bytes, limit }.into());
        }
        let size = size_for(bytes, limit);
        let (block, tracked) = self.reuse(heap, size, label, by.slot)?;
        let block = match block {
            Some(block) => block,
            None => self.make(heap, size, label)?,
        };
        let entries = tracked.map_or_else(Entries::default, |(books, queue)| {
            Entries::new(books, &Made { label, bytes, pinned: heap != Heap::Device, queue, at: by.at })
        });
        Ok(Storage::tracked(block, label.clone(), self.clone(), entries))
    }

    /// A block of new memory. Free memory goes first if it is more than is kept, if there is no other, or if no more is
    /// allowed.
    fn make(&self, heap: Heap, size: u64, label: &Arc<str>) -> Result<Arc<Block>> {
        self.engine().make_room(size);
        self.reserve(heap, size, label)?;
        let memory = match self.device().allocate(heap, size, label) {
            Err(error) if matches!(error.kind(), Kind::OutOfMemory { .. }) => {
                self.engine().trim();
                self.device().allocate(heap, size, label)
            }
            memory => memory,
        };
        let memory = self.engine().checked(memory).inspect_err(|_| {
            let mut state = self.engine().lock();
            if state.lost.is_none() {
                state.pool.unreserve(heap, size);
            }
        })?;
        let block = Arc::new(Block::new(BlockId::next(), heap, size, memory));
        block.order().label = label.clone();
        Ok(block)
    }

    /// # Errors
    /// `OutOfMemory` if the pool's limit is in the way.
    fn reserve(&self, heap: Heap, size: u64, label: &Arc<str>) -> Result<()> {
        let reserve = || self.engine().lock().pool.reserve(heap, size);
        let reserved = reserve().or_else(|_| {
            self.engine().trim();
            reserve()
        });
        reserved.map_err(|limit| {
            let (object, limit) = (format!("array `{label}`"), Some(limit));
            Kind::OutOfMemory { object, bytes: size, limit }.into()
        })
    }

    /// A free block, if one fits; and who wants to know, with the label of the queue.
    fn reuse(
        &self,
        heap: Heap,
        size: u64,
        label: &Arc<str>,
        slot: Slot,
    ) -> Result<(Option<Arc<Block>>, Option<Tracked>)> {
        let mut guard = self.engine().lock();
        guard.check(slot)?;
        let mut pool = std::mem::take(&mut guard.pool);
        let block = pool.take(heap, size, |block| usable(&guard, block, slot));
        guard.pool = pool;
        if let Some(block) = &block {
            let mut order = block.order();
            order.label = label.clone();
            order.host_reads = false;
            if slot == Slot::CONTEXT {
                // All of its uses are done.
                order.uses = Tracker::default();
            }
        }
        let books = &guard.pool.books;
        let tracked = (!books.is_empty()).then(|| (books.clone(), guard.queue(slot).label.clone()));
        Ok((block, tracked))
    }
}

/// Who wants to know of an allocation, and its queue.
type Tracked = (Vec<Arc<Book>>, Arc<str>);

/// Whether whatever `slot` enqueues next comes after every use of a free block.
fn usable(state: &State, block: &Arc<Block>, slot: Slot) -> bool {
    if slot == Slot::CONTEXT {
        return Arc::strong_count(block) == 1;
    }
    let clock = &state.queue(slot).clock;
    let before = |u: &Use| u.slot == slot || u.slot == Slot::CONTEXT || clock.covers(u.slot, u.stamp);
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
            state.pool.give(block);
            // Nothing else goes back here: the driver may block for it, and dropping an array never does.
            let surplus = state.pool.over_threshold();
            drop(state);
            if surplus {
                self.let_surplus_go();
            }
            return;
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

    /// Staging memory of `size` bytes that `fill` has filled; free memory goes first if there is none.
    ///
    /// # Errors
    /// Out of memory, or whatever the device says.
    pub(crate) fn stage(&self, size: u64, fill: &mut dyn FnMut(&mut [u8])) -> Result<Staged> {
        let staged = match self.device.stage(size, fill) {
            Err(error) if matches!(error.kind(), Kind::OutOfMemory { .. }) => {
                self.trim();
                self.device.stage(size, fill)
            }
            staged => staged,
        };
        self.checked(staged)
    }

    /// Gives all free memory that nothing on its way uses back to the driver; the bytes given back.
    pub(crate) fn trim(&self) -> u64 {
        let lost = self.lock().lost.is_some();
        if lost { 0 } else { self.give_back(|pool| pool.take_idle(0)) + self.device.trim_staging() }
    }

    /// As [`trim`](Self::trim), of what is free beyond what is kept.
    pub(crate) fn let_surplus_go(&self) -> u64 {
        self.give_back(|pool| pool.take_surplus(0))
    }

    /// As [`let_surplus_go`](Self::let_surplus_go), before a block of `size` bytes is made. A threshold of the program's is
    /// about what is free, so it waits until that block is.
    fn make_room(&self, size: u64) {
        self.give_back(|pool| if pool.threshold.is_none() { pool.take_surplus(size) } else { Vec::new() });
    }

    fn give_back(&self, take: impl FnOnce(&mut Pool) -> Vec<Arc<Block>>) -> u64 {
        let idle = {
            let mut state = self.lock();
            if state.lost.is_some() { Vec::new() } else { take(&mut state.pool) }
        };
        idle.iter().for_each(|block| self.device.forget(block));
        idle.iter().map(|block| block.size).sum()
    }
}

#[cfg(test)]
mod tests;
