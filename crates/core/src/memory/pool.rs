//! Blocks that are free for now.

use super::tracker::{Book, Entries, Made};
use super::{Block, BlockId, Heap, Staged, Storage};
use crate::context::Owner;
use crate::error::{Kind, PoolLimit, Result};
use crate::ordering::{Admission, Policy, Tracker, Use};
use crate::scheduler::{Engine, State};
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

/// Free blocks by kind and size, and the count of all.
#[derive(Default)]
pub(crate) struct Pool {
    free: FxHashMap<(Heap, u64), Vec<Arc<Block>>>,
    stats: PoolStats,
    /// Bytes that may be had of the driver.
    limit: Option<u64>,
    /// Free bytes that are kept.
    threshold: Option<u64>,
    /// Who wants to know what is allocated.
    pub(crate) books: Vec<Arc<Book>>,
}

impl Pool {
    /// Takes a free block for which `usable` holds.
    fn take(&mut self, heap: Heap, size: u64, usable: impl Fn(&Arc<Block>) -> bool) -> Option<Arc<Block>> {
        let list = self.free.get_mut(&(heap, size))?;
        let at = list.iter().rposition(usable)?;
        let block = list.swap_remove(at);
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
        self.unused(block.heap, block.size);
        self.stats.free += block.size;
        self.free.entry((block.heap, block.size)).or_default().push(block);
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

    /// Takes free blocks that nothing on its way uses, until at most `keep` free bytes are left.
    fn take_idle(&mut self, keep: u64) -> Vec<Arc<Block>> {
        let (mut idle, mut left) = (Vec::new(), self.stats.free);
        for list in self.free.values_mut() {
            let surplus = |block: &mut Arc<Block>| {
                let goes = left > keep && Arc::strong_count(block) == 1;
                left -= if goes { block.size } else { 0 };
                goes
            };
            idle.extend(list.extract_if(.., surplus));
        }
        self.stats.free = left;
        self.stats.blocks -= idle.len() as u64;
        idle
    }

    /// Whether more is free than is to be kept.
    #[inline]
    pub(crate) fn has_surplus(&self) -> bool {
        self.threshold.is_some_and(|threshold| self.stats.free > threshold)
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

    /// A block of new memory. If there is none, or no more is allowed, free memory goes first.
    fn make(&self, heap: Heap, size: u64, label: &Arc<str>) -> Result<Arc<Block>> {
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
            if slot == State::CONTEXT {
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
            state.pool.give(block);
            let surplus = state.pool.has_surplus();
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
        if lost { 0 } else { self.give_back(|_| 0) + self.device.trim_staging() }
    }

    /// As [`trim`](Self::trim), of what is more than the threshold.
    pub(crate) fn let_surplus_go(&self) -> u64 {
        self.give_back(|pool| pool.threshold.unwrap_or(u64::MAX))
    }

    fn give_back(&self, keep: impl Fn(&Pool) -> u64) -> u64 {
        let idle = {
            let mut state = self.lock();
            let keep = keep(&state.pool);
            if state.lost.is_some() { Vec::new() } else { state.pool.take_idle(keep) }
        };
        idle.iter().for_each(|block| self.device.forget(block));
        idle.iter().map(|block| block.size).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Pattern, Span, What, Work};
    use crate::context::Context;
    use crate::memory::{Cells, Memory};
    use crate::recorder::cpu::CpuOptions;
    use std::panic::Location;

    #[test]
    fn a_size_is_rounded_by_an_eighth_at_most() {
        for bytes in [1, 255, 256, 257, 5000, 1 << 20, (1 << 20) + 1] {
            let size = rounded(bytes);
            assert!(size >= bytes && size <= (bytes + bytes / 4).max(256) + 256, "{bytes} -> {size}");
        }
    }

    fn made(pool: &mut Pool, heap: Heap, size: u64) -> Arc<Block> {
        pool.reserve(heap, size).expect("the limit allows it");
        let memory = Memory::Host(Cells::zeroed(size));
        Arc::new(Block::new(BlockId::next(), heap, size, memory))
    }

    #[test]
    fn m08_all_of_a_limit_can_be_had_and_no_more() {
        let mut pool = Pool::default();
        pool.set_limit(Some(1024));
        let device = made(&mut pool, Heap::Device, 512);
        let pinned = made(&mut pool, Heap::Upload, 256);
        let refused = pool.reserve(Heap::Download, 512).expect_err("768 and 512 are more than 1024");
        assert_eq!((refused.used, refused.limit), (768, 1024));
        pool.give(device);
        let refused = pool.reserve(Heap::Device, 512).expect_err("what is free counts too");
        assert_eq!(refused.used, 256);
        made(&mut pool, Heap::Download, 256);
        pool.give(pinned);
        assert!(pool.reserve(Heap::Device, 1).is_err());
    }

    #[test]
    fn m08_the_statistics_follow_each_block() {
        let mut pool = Pool::default();
        let (device, pinned) = (made(&mut pool, Heap::Device, 512), made(&mut pool, Heap::Download, 256));
        let both = PoolStats {
            used: 512,
            high_water: 512,
            pinned: 256,
            arrays: 2,
            blocks: 2,
            ..PoolStats::default()
        };
        assert_eq!(pool.stats(), both);
        pool.give(device);
        pool.give(pinned);
        let free = PoolStats { free: 768, high_water: 512, blocks: 2, ..PoolStats::default() };
        assert_eq!(pool.stats(), free);
        assert!(pool.take(Heap::Upload, 256, |_| true).is_none(), "it is for downloads");
        assert!(pool.take(Heap::Device, 512, |_| true).is_some());
        assert_eq!(pool.stats(), PoolStats { used: 512, free: 256, arrays: 1, ..free });
        made(&mut pool, Heap::Device, 256);
        pool.unreserve(Heap::Device, 256);
        assert_eq!(pool.stats(), PoolStats { used: 512, free: 256, arrays: 1, high_water: 768, ..free });
        pool.reset_high_water();
        assert_eq!(pool.stats().high_water, 512);
    }

    #[test]
    fn m07_a_block_is_taken_only_if_it_is_usable() {
        let mut pool = Pool::default();
        let blocks = [(); 3].map(|()| made(&mut pool, Heap::Device, 256));
        let wanted = blocks[1].id;
        blocks.into_iter().for_each(|block| pool.give(block));
        assert!(pool.take(Heap::Device, 256, |_| false).is_none());
        let taken = pool.take(Heap::Device, 256, |block| block.id == wanted).expect("it is free");
        assert_eq!(taken.id, wanted);
    }

    #[test]
    fn m08_idle_blocks_go_until_what_is_kept_is_left() {
        let mut pool = Pool::default();
        let blocks = [(); 4].map(|()| made(&mut pool, Heap::Device, 256));
        let running = blocks[0].clone();
        blocks.into_iter().for_each(|block| pool.give(block));
        assert_eq!(pool.take_idle(1024).len(), 0);
        let gone = pool.take_idle(512);
        assert_eq!((gone.len(), pool.stats().free, pool.stats().blocks), (2, 512, 2));
        let gone: Vec<_> = gone.into_iter().chain(pool.take_idle(0)).collect();
        assert!(gone.len() == 3 && gone.iter().all(|block| block.id != running.id));
        drop(running);
        assert_eq!(pool.take_idle(0).len(), 1);
        assert_eq!(pool.stats(), PoolStats { high_water: 1024, ..PoolStats::default() });
    }

    #[test]
    fn m08_a_surplus_is_more_than_the_threshold() {
        let mut pool = Pool::default();
        let block = made(&mut pool, Heap::Device, 256);
        pool.give(block);
        assert!(!pool.has_surplus(), "without a threshold all is kept");
        for (threshold, surplus) in [(256, false), (255, true), (0, true)] {
            pool.set_threshold(Some(threshold));
            assert_eq!(pool.has_surplus(), surplus, "threshold {threshold}");
        }
    }

    #[test]
    fn m10_a_rounded_size_stays_within_the_largest_block() {
        assert_eq!(size_for(1000, 4096), 1024);
        assert_eq!(size_for(1000, 1008), 1008);
        assert_eq!(size_for(1008, 1008), 1008);
        assert_eq!(size_for(1, 4096), 256);
    }

    /// A context that does nothing unasked, on a device with so much memory.
    fn context(memory: u64) -> Context {
        Context::on_cpu(CpuOptions { threads: false, memory, ..CpuOptions::default() })
    }

    fn by(slot: Slot) -> Admission {
        Admission { slot, what: What::Fill, at: Location::caller() }
    }

    fn allocate(ctx: &Context, bytes: u64, label: &str, slot: Slot) -> Result<Arc<Storage>> {
        ctx.owner.allocate(Heap::Device, bytes, &label.into(), by(slot))
    }

    #[test]
    fn m10_the_largest_array_can_be_had_and_none_that_is_larger() {
        let ctx = context(1 << 34);
        let limit = ctx.owner.device().caps().max_block;
        assert!(allocate(&ctx, limit, "largest", State::CONTEXT).is_ok());
        let refused = allocate(&ctx, limit + 1, "larger", State::CONTEXT).err().expect("it is too large");
        assert!(matches!(refused.kind(), Kind::TooLarge { bytes, .. } if *bytes == limit + 1), "{refused}");
    }

    #[test]
    fn m10_an_array_that_could_not_be_made_counts_for_nothing() {
        let ctx = context(1024);
        assert!(allocate(&ctx, 4096, "large", State::CONTEXT).is_err());
        assert_eq!(ctx.pool_stats(), PoolStats { high_water: 4096, ..PoolStats::default() });
        ctx.reset_high_water();
        assert_eq!(ctx.pool_stats(), PoolStats::default());
    }

    #[test]
    fn m07_memory_that_is_used_again_has_a_new_name_and_its_old_uses() {
        let ctx = context(1 << 20);
        let [one, two] = ["one", "two"].map(|label| ctx.queue(label));
        let (own, other) = (one.slot().expect("it is there"), two.slot().expect("it is there"));
        let first = allocate(&ctx, 256, "first", own).expect("there is room");
        let (block, engine) = (first.block().clone(), ctx.owner.engine());
        let dst = Span { block: block.clone(), offset: 0, size: 256 };
        engine.enqueue(by(own), Work::Fill { dst, pattern: Pattern::ZERO }).expect("nothing has failed");
        block.order().host_reads = true;
        drop(first);
        let elsewhere = allocate(&ctx, 256, "elsewhere", other).expect("there is room");
        assert_ne!(elsewhere.block().id, block.id, "the fill is not over");
        let second = allocate(&ctx, 256, "second", own).expect("there is room");
        assert_eq!(second.block().id, block.id);
        let order = block.order();
        assert_eq!((&*order.label, order.host_reads, order.uses.all().len()), ("second", false, 1));
    }

    #[test]
    fn m07_the_context_takes_memory_only_if_nothing_uses_it_and_forgets_its_uses() {
        let ctx = context(1 << 20);
        let queue = ctx.queue("queue");
        let slot = queue.slot().expect("it is there");
        let first = allocate(&ctx, 256, "first", slot).expect("there is room");
        let id = first.block().id;
        let dst = Span { block: first.block().clone(), offset: 0, size: 256 };
        let fill = Work::Fill { dst, pattern: Pattern::ZERO };
        ctx.owner.engine().enqueue(by(slot), fill).expect("nothing has failed");
        drop(first);
        let elsewhere = allocate(&ctx, 256, "elsewhere", State::CONTEXT).expect("there is room");
        assert_ne!(elsewhere.block().id, id, "the fill is not over");
        queue.finish().wait().expect("nothing has failed");
        let second = allocate(&ctx, 256, "second", State::CONTEXT).expect("there is room");
        assert_eq!(second.block().id, id);
        assert!(second.block().order().uses.all().is_empty());
    }
}
