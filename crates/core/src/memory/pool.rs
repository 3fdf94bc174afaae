//! The memory pool of a context, which keeps free blocks. Also free lists of other objects and of staging memory, for
//! reuse.

#[cfg(test)]
mod pool_tests;

use crate::driver::gl_gate::GlGate;
use crate::error::{PoolLimit, Result};
use crate::memory::allocations::{AllocationBook, MeteredBytes, RecentPeak};
use crate::memory::block::{Block, Heap};
use crate::memory::wgpu_memory::free_in_page;
use fencepost_sync::prim::{Mutex, lock};
use rustc_hash::FxHashMap;
use std::ops::{Deref, DerefMut, RangeInclusive};
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

/// Statistics of a context's memory pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct PoolStats {
    /// Bytes in arrays of the device.
    pub used: u64,
    /// Bytes kept for later arrays, pinned ones included.
    pub free: u64,
    /// Maximum of `used` since the start or the last [reset](crate::Pool::reset_high_water).
    pub high_water: u64,
    /// Bytes in pinned arrays; 0 on a device where pinned arrays are ordinary memory.
    pub pinned: u64,
    /// Number of arrays with memory of the pool. A slice or a second handle of an array is not counted.
    pub arrays: u64,
    /// Number of pieces of memory that the driver has allocated, for arrays and as free blocks.
    pub blocks: u64,
    /// Bytes of staging memory in use by uploads and reads that are not complete. Small uploads and reads share chunks
    /// of 1 MiB, which count in full while any of them is in flight.
    pub staging: u64,
    /// Bytes of staging memory kept for later uploads and reads.
    pub staging_free: u64,
}

impl PoolStats {
    /// Returns the sum of the used, pinned, free, staging and free staging bytes.
    pub fn total(&self) -> u64 {
        self.used + self.pinned + self.free + self.staging + self.staging_free
    }
}

/// Number of free bytes that the pool always keeps, unless the user sets a threshold.
const MIN_KEPT: u64 = 16 << 20;

/// The free blocks by heap and size, and the statistics of all blocks. `stats.free` is the sum of the sizes in `free`,
/// `stats.blocks` counts the free blocks and the blocks of arrays, and `stats.used <= stats.high_water`.
#[derive(Default)]
pub(crate) struct BlockPool {
    free: FxHashMap<(Heap, u64), Vec<Free>>,
    /// Number of times that a block has become free.
    turn: u64,
    recent_peak: RecentPeak,
    stats: PoolStats,
    /// Maximum number of bytes that the driver allocates for the pool.
    pub(crate) limit: Option<u64>,
    /// Maximum number of free bytes to keep, if the user has set a threshold.
    pub(crate) threshold: Option<u64>,
    /// Books of allocation trackers that record each new array.
    pub(crate) books: Vec<Arc<AllocationBook>>,
}

/// A block without an array.
struct Free {
    /// Value of the pool's `turn` when the block became free. Smaller means longer ago.
    since: u64,
    block: Arc<Block>,
}

impl Free {
    /// Returns `true` if no command in flight uses the block, so that only the pool refers to it.
    fn is_idle(&self) -> bool {
        is_unshared(&self.block)
    }
}

/// Returns `true` if this is the only reference. Then the caller sees all that other threads did before they dropped
/// theirs.
pub(crate) fn is_unshared<T>(reference: &Arc<T>) -> bool {
    let is_unshared = Arc::strong_count(reference) == 1;
    fence(Ordering::Acquire); // reading the count orders nothing
    is_unshared
}

impl BlockPool {
    /// Takes a free block that `usable` accepts.
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
        self.count_taken(heap, size);
        Some(block)
    }

    /// Counts a block that an array takes.
    fn count_taken(&mut self, heap: Heap, size: u64) {
        self.stats.arrays += 1;
        match heap {
            Heap::Device => self.stats.used += size,
            Heap::Upload | Heap::Download => self.stats.pinned += size,
        }
        self.stats.high_water = self.stats.high_water.max(self.stats.used);
    }

    /// Counts a block whose array is gone.
    fn count_returned(&mut self, heap: Heap, size: u64) {
        self.stats.arrays -= 1;
        match heap {
            Heap::Device => self.stats.used -= size,
            Heap::Upload | Heap::Download => self.stats.pinned -= size,
        }
    }

    /// Adds the block of a dropped array to the free blocks.
    pub(crate) fn give(&mut self, block: Arc<Block>) {
        self.recent_peak.note_end_of_use(self.stats.used + self.stats.pinned);
        self.count_returned(block.heap, block.size);
        self.stats.free += block.size;
        debug_assert!(self.stats.arrays < self.stats.blocks, "bug: more arrays than blocks");
        self.turn += 1;
        let free = Free { since: self.turn, block };
        self.free.entry((free.block.heap, free.block.size)).or_default().push(free);
    }

    /// Counts a block that is about to be allocated.
    ///
    /// # Errors
    /// Returns `PoolLimit` if the limit does not allow the block.
    pub(crate) fn reserve(&mut self, heap: Heap, size: u64) -> Result<(), PoolLimit> {
        let used = self.stats.used + self.stats.pinned;
        if let Some(limit) = self.limit.filter(|limit| used + self.stats.free + size > *limit) {
            return Err(PoolLimit { used, limit });
        }
        self.stats.blocks += 1;
        self.count_taken(heap, size);
        Ok(())
    }

    /// Undoes [`reserve`](Self::reserve) for a block that could not be made.
    pub(crate) fn unreserve(&mut self, heap: Heap, size: u64) {
        self.stats.blocks -= 1;
        self.count_returned(heap, size);
    }

    /// Takes free blocks that no command in flight uses, until at most `keep` free bytes are left. Takes those first
    /// that have been free the longest.
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

    /// Returns how many free bytes to keep when a block of `size` bytes comes into use.
    ///
    /// This is the user's threshold if there is one. Otherwise it is twice the recent peak of the bytes in use, so that
    /// a loop that alternately makes two arrays finds both blocks again.
    fn bytes_to_keep(&self, size: u64) -> u64 {
        let used = self.stats.used + self.stats.pinned + size;
        self.threshold.unwrap_or_else(|| self.recent_peak.peak().max(used).saturating_mul(2).max(MIN_KEPT))
    }

    /// Returns `true` if there are more free bytes than the user's threshold.
    pub(crate) fn over_threshold(&self) -> bool {
        self.threshold.is_some_and(|threshold| self.stats.free > threshold)
    }

    /// Returns `true` if there are more free bytes than to be kept.
    #[inline]
    pub(crate) fn has_surplus(&self) -> bool {
        self.stats.free > 0 && self.stats.free > self.bytes_to_keep(0)
    }

    /// Takes the free blocks beyond the bytes to keep. A block of `size` bytes that is about to be made counts as free,
    /// because the pool will keep it later.
    pub(crate) fn take_surplus(&mut self, size: u64) -> Vec<Arc<Block>> {
        if self.stats.free + size <= self.bytes_to_keep(size) {
            return Vec::new();
        }
        // A free block that a command in flight uses has no array, but counts as in use.
        let running = self.free.values().flatten().filter(|free| !free.is_idle());
        let running: u64 = running.map(|free| free.block.size).sum();
        self.recent_peak.note(self.stats.used + self.stats.pinned + running);
        self.take_idle(self.bytes_to_keep(size).saturating_sub(size))
    }

    pub(crate) fn stats(&self) -> PoolStats {
        self.stats
    }

    pub(crate) fn reset_high_water(&mut self) {
        self.stats.high_water = self.stats.used;
    }
}

/// Returns the block size for `bytes` bytes. `limit` is the size of the device's largest block.
pub(crate) fn size_for(bytes: u64, limit: u64) -> u64 {
    rounded(bytes).min(limit / 16 * 16).max(bytes.next_multiple_of(16))
}

/// Rounds up in steps of an eighth of a power of two, so that a block fits arrays of several sizes.
fn rounded(bytes: u64) -> u64 {
    let step = (bytes.next_power_of_two() / 8).max(256);
    bytes.max(16).next_multiple_of(step)
}

/// Unused items. Each lent item refers to its list.
pub(crate) struct FreeList<T>(Arc<Mutex<Vec<T>>>);

/// An item taken from a list. Dropping it returns it to the list.
pub(crate) struct TakenItem<T> {
    /// `Some` until the drop.
    item: Option<T>,
    list: FreeList<T>,
}

impl<T> Default for FreeList<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> FreeList<T> {
    /// Removes the item that was returned last, if there is one.
    pub(crate) fn take(&self) -> Option<T> {
        lock(&self.0).pop()
    }

    /// Lends an item until the result is dropped.
    pub(crate) fn lend(&self, item: T) -> TakenItem<T> {
        TakenItem { item: Some(item), list: Self(self.0.clone()) }
    }
}

impl<T> Deref for TakenItem<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.item.as_ref().expect("bug: only the drop takes the item")
    }
}

impl<T> DerefMut for TakenItem<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.item.as_mut().expect("bug: only the drop takes the item")
    }
}

impl<T> Drop for TakenItem<T> {
    fn drop(&mut self) {
        lock(&self.list.0).extend(self.item.take());
    }
}

/// Free staging memory, each item with its byte count. The sum of the counts is at most `limit`.
///
/// This is not a [`FreeList`], because a user needs an item of a certain size, and because the total is limited.
pub(crate) struct FreeMemory<T> {
    limit: u64,
    items: Mutex<Vec<(MeteredBytes, T)>>,
}

impl<T> FreeMemory<T> {
    pub(crate) fn new(limit: u64) -> Self {
        Self { limit, items: Mutex::new(Vec::new()) }
    }

    /// Removes the smallest item whose size is in `sizes`.
    pub(crate) fn take(&self, sizes: RangeInclusive<u64>) -> Option<(MeteredBytes, T)> {
        let mut items = lock(&self.items);
        let fitting = items.iter().enumerate().filter(|(_, (count, _))| sizes.contains(&count.bytes));
        let (at, _) = fitting.min_by_key(|(_, (count, _))| count.bytes)?;
        let (count, item) = items.swap_remove(at);
        Some((count.set_free(false), item))
    }

    /// Adds an item if the limit allows its bytes, and returns the item otherwise.
    pub(crate) fn keep(&self, count: MeteredBytes, item: T) -> Option<T> {
        let mut items = lock(&self.items);
        let free: u64 = items.iter().map(|(count, _)| count.bytes).sum();
        if free + count.bytes > self.limit {
            return Some(item);
        }
        items.push((count.set_free(true), item));
        None
    }

    /// Removes all items. Returns them and their total size.
    pub(crate) fn drain(&self) -> (Vec<(MeteredBytes, T)>, u64) {
        let items = std::mem::take(&mut *lock(&self.items));
        let bytes = items.iter().map(|(count, _)| count.bytes).sum();
        (items, bytes)
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        lock(&self.items).len()
    }
}

/// The free buffers for transfers in one direction, to the device or to the host.
pub(crate) struct SpareBuffers {
    gate: Arc<GlGate>,
    free: FreeMemory<SpareBuffer>,
}

/// A free staging buffer.
pub(crate) struct SpareBuffer {
    pub(crate) buffer: wgpu::Buffer,
    pub(crate) mapped: bool,
}

impl SpareBuffers {
    /// Makes an empty list that keeps at most `limit` bytes.
    pub(crate) fn new(gate: &Arc<GlGate>, limit: u64) -> Arc<Self> {
        Arc::new(Self { gate: gate.clone(), free: FreeMemory::new(limit) })
    }

    /// Takes a buffer whose size is in `sizes`, if one is free.
    pub(crate) fn take(&self, sizes: RangeInclusive<u64>) -> Option<(MeteredBytes, SpareBuffer)> {
        self.free.take(sizes)
    }

    /// Keeps a buffer if the limit allows its bytes, and drops the buffer otherwise.
    pub(crate) fn keep(&self, count: MeteredBytes, spare: SpareBuffer) {
        if let Some(over) = self.free.keep(count, spare) {
            self.discard(over.buffer);
        }
    }

    /// Drops a buffer that is not used again.
    pub(crate) fn discard(&self, buffer: wgpu::Buffer) {
        free_in_page(&buffer);
        self.gate.drop_in_turn(buffer);
    }

    /// Drops all free buffers, and returns their total size in bytes.
    pub(crate) fn trim(&self) -> u64 {
        let (spares, bytes) = self.free.drain();
        for (_, spare) in spares {
            self.discard(spare.buffer);
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_item_is_taken_again() {
        let list = FreeList::default();
        assert_eq!(list.take(), None);
        let mut item = list.lend(1);
        *item += 1;
        assert_eq!((*item, list.take()), (2, None));
        drop(item);
        assert_eq!((list.take(), list.take()), (Some(2), None));
    }
}
