//! Free blocks: the check that a queue may reuse one, and the return of unused blocks to the driver. S is the state
//! lock.

use crate::error::{Kind, Result};
use crate::memory::block::{Block, HostUse};
use crate::memory::pool::Pool;
use crate::memory::staged_bytes::Staged;
use crate::memory::uses::Use;
use crate::scheduler::engine::Engine;
use crate::scheduler::ordering::policy::Policy;
use crate::scheduler::state::State;
use fencepost_sync::Slot;
use fencepost_sync::prim::MutexGuard;
use std::sync::{Arc, Weak};

/// Returns `true` if the next command of `slot` is ordered after every use of a free block.
pub(crate) fn usable(state: &State, block: &Arc<Block>, slot: Slot) -> bool {
    if slot == Slot::CONTEXT {
        // A context command waits for nothing, so it may use only a block that no incomplete command refers to.
        return Arc::strong_count(block) == 1;
    }
    let clock = &state.queue(slot).clock;
    let before = |u: &Use| u.slot == slot || u.slot == Slot::CONTEXT || clock.covers(u.slot, u.stamp());
    block.order().uses.all().all(before)
}

/// A graph's claim on the memory of a block. It keeps the memory even after the last array on the block is dropped. A
/// lease does not keep the context alive.
pub(crate) struct BlockLease {
    pub(crate) block: Arc<Block>,
    engine: Weak<Engine>,
}

impl Drop for BlockLease {
    fn drop(&mut self) {
        if let Some(engine) = self.engine.upgrade() {
            engine.end_lease(&self.block);
        }
    }
}

impl State {
    /// Returns `true` if no recorded use of a block can affect its next user. Under `Checked` a use counts until the
    /// program was told that it is complete, because errors must not depend on the progress of the device.
    fn is_over(&self, block: &Block) -> bool {
        self.policy() != Policy::Checked || block.order().uses.all().all(|u| self.forgettable(u))
    }
}

impl Engine {
    /// Returns the block of a dropped array to the pool. An external block is dropped once its uses are over. Never
    /// waits.
    pub(crate) fn free(&self, block: Arc<Block>) {
        let state = self.lock();
        if state.lost.is_some() {
            drop(state);
            // The device may still use the block, and a lost device must not be called.
            std::mem::forget(block);
            return;
        }
        if block.order().outlives_array() {
            return;
        }
        self.give_to_pool(state, block);
    }

    /// Returns a block without an array and without a lease to the pool.
    fn give_to_pool(&self, mut state: MutexGuard<'_, State>, block: Arc<Block>) {
        if !block.is_external() {
            state.pool.give(block);
            // Only memory above the program's threshold is released here. A release may block in the driver, and
            // dropping an array never blocks.
            let surplus = state.pool.over_threshold();
            drop(state);
            if surplus {
                self.release_surplus();
            }
            return;
        }
        state.external.push(block);
        self.release_external_blocks(state);
    }

    /// Returns a lease of a block that still has an array.
    pub(crate) fn lease(&self, block: &Arc<Block>) -> BlockLease {
        let state = self.lock();
        block.order().leases += 1;
        drop(state);
        BlockLease { block: block.clone(), engine: self.me.clone() }
    }

    /// Takes the block of a dropped array for another array of the same graph. Returns `false` if the block has an
    /// array, or if another graph, a command or the host still uses the block.
    pub(crate) fn take_orphan(&self, block: &Block, label: &Arc<str>) -> bool {
        let state = self.lock();
        let mut order = block.order();
        let is_idle = order.host == HostUse::Idle && order.readers == 0 && order.lazy.is_empty();
        let is_unused = is_idle && order.uses.is_empty();
        if !order.orphaned || order.leases != 1 || !is_unused || state.lost.is_some() {
            return false;
        }
        order.orphaned = false;
        order.label = label.clone();
        true
    }

    /// Ends one lease. The last lease returns the block to the pool if its array is gone.
    fn end_lease(&self, block: &Arc<Block>) {
        let state = self.lock();
        let mut order = block.order();
        order.leases -= 1;
        let is_last = order.leases == 0 && std::mem::take(&mut order.orphaned);
        drop(order);
        if !is_last {
            return;
        }
        if state.lost.is_some() {
            drop(state);
            std::mem::forget(block.clone()); // the device may still use the block
            return;
        }
        self.give_to_pool(state, block.clone());
    }

    /// Drops the external blocks whose uses can no longer affect a later command.
    pub(crate) fn release_external_blocks(&self, mut state: MutexGuard<'_, State>) {
        let blocks = std::mem::take(&mut state.external);
        let (over, kept): (Vec<_>, Vec<_>) = blocks.into_iter().partition(|block| state.is_over(block));
        state.external = kept;
        drop(state); // buffers are dropped outside S
        drop(over);
    }

    /// Returns staging memory of `size` bytes that `fill` has filled. If the memory is exhausted, free memory is
    /// released first.
    ///
    /// # Errors
    /// `OutOfMemory`, or the error of the device.
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

    /// Releases all free memory that no command in flight uses. Returns the released bytes.
    pub(crate) fn trim(&self) -> u64 {
        let lost = self.lock().lost.is_some();
        if lost { 0 } else { self.give_back(|pool| pool.take_idle(0)) + self.device.trim_staging() }
    }

    /// Releases the free memory beyond what the pool keeps. Returns the released bytes.
    pub(crate) fn release_surplus(&self) -> u64 {
        self.give_back(|pool| pool.take_surplus(0))
    }

    /// Releases surplus memory before a block of `size` bytes is allocated. A threshold set by the program counts only
    /// free memory, so it is applied when the new block is free again.
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
