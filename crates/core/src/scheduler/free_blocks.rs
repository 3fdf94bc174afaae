//! Free memory in the order of queues: which free block a queue may use again, and what goes back to the driver.

use crate::error::{Kind, Result};
use crate::memory::block::Block;
use crate::memory::pool::Pool;
use crate::memory::staged_bytes::Staged;
use crate::memory::uses::Use;
use crate::scheduler::engine::Engine;
use crate::scheduler::ordering::policy::Policy;
use crate::scheduler::state::State;
use fencepost_sync::Slot;
use fencepost_sync::prim::MutexGuard;
use std::sync::Arc;

/// Whether whatever `slot` enqueues next comes after every use of a free block.
pub(crate) fn usable(state: &State, block: &Arc<Block>, slot: Slot) -> bool {
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
        if !block.is_external() {
            state.pool.give(block);
            // Nothing else goes back here: the driver may block for it, and dropping an array never does.
            let surplus = state.pool.over_threshold();
            drop(state);
            if surplus {
                self.release_surplus();
            }
            return;
        }
        state.foreign.push(block);
        self.release_external_blocks(state);
    }

    /// Lets go of the blocks on the program's own buffers whose uses nobody has to be ordered after any more.
    pub(crate) fn release_external_blocks(&self, mut state: MutexGuard<'_, State>) {
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
    pub(crate) fn release_surplus(&self) -> u64 {
        self.give_back(|pool| pool.take_surplus(0))
    }

    /// As [`release_surplus`](Self::release_surplus), before a block of `size` bytes is made. A threshold of the program's is
    /// about what is free, so it waits until that block is.
    pub(crate) fn make_room(&self, size: u64) {
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
