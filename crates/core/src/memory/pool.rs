//! Blocks that are free for now.

use crate::error::{PoolLimit, Result};
use crate::memory::allocation_book::AllocationBook;
use crate::memory::block::Block;
use crate::memory::heap::Heap;
use crate::memory::recent_peak::RecentPeak;
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
    lately: RecentPeak,
    stats: PoolStats,
    /// Bytes that may be had of the driver.
    limit: Option<u64>,
    /// Free bytes that are kept, if the program says how many.
    pub(crate) threshold: Option<u64>,
    /// Who wants to know what is allocated.
    pub(crate) books: Vec<Arc<AllocationBook>>,
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
    pub(crate) fn take(
        &mut self,
        heap: Heap,
        size: u64,
        usable: impl Fn(&Arc<Block>) -> bool,
    ) -> Option<Arc<Block>> {
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

    pub(crate) fn give(&mut self, block: Arc<Block>) {
        self.lately.turn(self.stats.used + self.stats.pinned);
        self.unused(block.heap, block.size);
        self.stats.free += block.size;
        self.turn += 1;
        let free = Free { since: self.turn, block };
        self.free.entry((free.block.heap, free.block.size)).or_default().push(free);
    }

    /// Counts a block that is about to be made in, if the limit allows it.
    pub(crate) fn reserve(&mut self, heap: Heap, size: u64) -> Result<(), PoolLimit> {
        let used = self.stats.used + self.stats.pinned;
        if let Some(limit) = self.limit.filter(|limit| used + self.stats.free + size > *limit) {
            return Err(PoolLimit { used, limit });
        }
        self.stats.blocks += 1;
        self.used(heap, size);
        Ok(())
    }

    /// The block was not made after all.
    pub(crate) fn unreserve(&mut self, heap: Heap, size: u64) {
        self.stats.blocks -= 1;
        self.unused(heap, size);
    }

    /// Takes free blocks that nothing on its way uses, those first that have been free for the longest time, until at most
    /// `keep` free bytes are left.
    pub(crate) fn take_idle(&mut self, keep: u64) -> Vec<Arc<Block>> {
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
    pub(crate) fn over_threshold(&self) -> bool {
        self.threshold.is_some_and(|threshold| self.stats.free > threshold)
    }

    /// Whether more is free than is kept.
    #[inline]
    pub(crate) fn has_surplus(&self) -> bool {
        self.stats.free > self.kept(0)
    }

    /// Takes what is free beyond what is kept, counting a block of `size` bytes that is about to be made as free: that it
    /// will be.
    pub(crate) fn take_surplus(&mut self, size: u64) -> Vec<Arc<Block>> {
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
pub(crate) fn size_for(bytes: u64, limit: u64) -> u64 {
    rounded(bytes).min(limit / 16 * 16).max(bytes.next_multiple_of(16))
}

/// Sizes come in steps of an eighth of a power of two, so that a block fits more than one array.
fn rounded(bytes: u64) -> u64 {
    let step = (bytes.next_power_of_two() / 8).max(256);
    bytes.max(16).next_multiple_of(step)
}

#[cfg(test)]
mod tests;
