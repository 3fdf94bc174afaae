//! Host access to the bytes of a block. Also the reuse of free blocks by queues, and the return of unused blocks to the
//! driver. S is the state lock.

use crate::error::{CommandKind, Error, ErrorDetail, Result};
use crate::memory::allocations::AllocationEntries;
use crate::memory::block::{Block, BlockId, BlockState, HostUse};
use crate::memory::host_access::{HostAccess, HostUseKind};
use crate::memory::pool::{BlockPool, is_unshared};
use crate::memory::read_slot::{ReadSlot, ReadState};
use crate::memory::staging::Staged;
use crate::memory::uses::{BlockUse, BlockUses, Policy};
use crate::scheduler::engine::Engine;
use crate::scheduler::queue::{HoldReason, PointProgress};
use crate::scheduler::state::State;
use crate::scheduler::threads::{ThreadId, this_thread};
use crate::scheduler::wakers::Deadline;
use crate::work::step::{Span, Work};
use fencepost_kernels::report;
use fencepost_sync::prim::MutexGuard;
use fencepost_sync::{HoldId, Point, Slot, Stamp};
use std::ops::{Deref, DerefMut, Range};
use std::panic::Location;
use std::sync::{Arc, Weak};
use std::time::Duration;
use web_time::Instant;

/// Age at which a guard that holds back an awaited command is reported in the log.
const LONG_HELD: Duration = Duration::from_secs(10);

/// Guard that gives the host access to the bytes of a block until it is dropped.
///
/// The scheduler creates a guard only if no earlier command can still use the range in conflict with the access. Later
/// conflicting commands stay in their queues until the guard is dropped. Before [`report_done`](Self::report_done), the
/// guard tells the program nothing about completed work.
pub(crate) struct HostGuard {
    engine: Arc<Engine>,
    access: HostAccess,
    /// Number of the guard in the list of guards that the program holds, if it is there.
    held: Option<HoldId>,
}

impl Deref for HostGuard {
    type Target = HostAccess;

    fn deref(&self) -> &HostAccess {
        &self.access
    }
}

impl DerefMut for HostGuard {
    fn deref_mut(&mut self) -> &mut HostAccess {
        &mut self.access
    }
}

impl Engine {
    /// Waits until the host may access `span`. Returns `None` at the deadline. With an `opening`, the program holds the
    /// guard.
    ///
    /// # Errors
    /// Returns the error of a failed command that wrote bytes of `span` last, until the program has taken that error.
    pub(crate) fn host_access(
        self: &Arc<Self>,
        span: &Span,
        want: HostUseKind,
        deadline: Deadline,
        opening: Option<GuardOpening<'_>>,
    ) -> Result<Option<HostGuard>> {
        loop {
            match self.claim(span, want, opening)? {
                HostClaim::Granted(access) => return Ok(Some(access)),
                HostClaim::After(point) => match self.wait(point, deadline) {
                    Ok(false) => return Ok(None),
                    Err(error) if !self.is_outcome(point, &error) => return Err(error),
                    Ok(true) | Err(_) => {} // the next claim checks for failed writes
                },
                HostClaim::Shared => {
                    if !self.wait_for_host(&span.block, deadline) {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Returns access to overwrite `span`, or `None` if the host must wait. Flushes nothing.
    pub(crate) fn try_overwrite(self: &Arc<Self>, span: &Span) -> Result<Option<HostGuard>> {
        match self.claim(span, HostUseKind::Overwrite, None)? {
            HostClaim::Granted(access) => Ok(Some(access)),
            HostClaim::After(_) | HostClaim::Shared => Ok(None),
        }
    }

    /// Returns `true` if the command at `point` has ended with `error`.
    pub(crate) fn is_outcome(&self, point: Point, error: &Error) -> bool {
        self.lock().queues.is_outcome(point, error)
    }

    /// Grants the host access to `span`, or returns what the host must wait for. With an `opening`, records that this
    /// thread of the program holds the guard: a wait of this thread for a command that the guard holds back is then an
    /// error, and so is a replay that reads bytes which the guard may write.
    ///
    /// # Errors
    /// The errors of [`host_access`](Self::host_access). Access to overwrite ignores failed writes.
    pub(crate) fn claim(
        self: &Arc<Self>,
        span: &Span,
        want: HostUseKind,
        opening: Option<GuardOpening<'_>>,
    ) -> Result<HostClaim> {
        let mut state = self.lock();
        state.check_not_lost()?;
        let mut order = span.block.order();
        if order.host == HostUse::Mapped {
            return Err(ErrorDetail::Mapped { array: order.label.to_string() }.into());
        }
        if let Some(point) = blocker(&state, &order, span, want.writes()) {
            return Ok(HostClaim::After(point));
        }
        if want != HostUseKind::Overwrite
            && let Some(error) = failed_write(&state, &order, span).cloned()
        {
            state.report_uses_done(order.uses.conflicts(span.range(), want.writes()));
            return Err(error);
        }
        let Some(access) = HostAccess::join(&span.block, &mut order, want) else {
            return Ok(HostClaim::Shared);
        };
        if want == HostUseKind::Overwrite {
            let born = order.born;
            order.uses.overwrite(&span.range(), |u| state.queues.sticky_failure(u, born).is_some());
        }
        state.memory.host_uses += 1;
        order.fresh &= !want.writes();
        if want == (HostUseKind::Map { write: true }) {
            self.device.host_writes(&span.block, span.range()); // which bytes will change is unknown
        }
        if want != HostUseKind::Read && span.block.direct() {
            save_reads(&mut order, span, &access);
        }
        let held = opening.map(|opening| state.hold_guard(&span.block, want, opening));
        Ok(HostClaim::Granted(HostGuard { engine: self.clone(), access, held }))
    }

    /// Waits until another host use of a block ends. Returns `false` at the deadline.
    fn wait_for_host(&self, block: &Block, deadline: Deadline) -> bool {
        let state = self.lock();
        if block.order().host_idle() {
            return true;
        }
        self.park(state, deadline.slice());
        !deadline.has_passed()
    }

    /// Ends the accesses of the guards of a pinned array that the program has leaked. A guard borrows its array: while
    /// the program borrows the array, it has no guard with write access; while it borrows the array mutably
    /// (`exclusive`), it has no guard at all.
    pub(crate) fn end_leaked_guards(&self, block: &Block, exclusive: bool) {
        if self.is_in_child() {
            return; // the parent may hold the block's lock
        }
        let mut state = self.lock();
        let is_leaked = |guard: &mut HeldGuard| guard.block == block.id && (exclusive || guard.want.writes());
        let leaked: Vec<HeldGuard> = state.memory.held.extract_if(.., is_leaked).collect();
        if leaked.is_empty() {
            return;
        }
        let mut order = block.order();
        leaked.iter().for_each(|guard| order.dismiss_host(guard.want));
        drop(order);
        self.end_host_uses(state, block, leaked.len() as u32);
    }

    /// Counts `ended` accesses of the host to a block as ended, and releases S. If the host has no access left, resumes
    /// the queues that it held.
    fn end_host_uses(&self, mut state: MutexGuard<'_, State>, block: &Block, ended: u32) {
        state.memory.host_uses -= ended;
        let idle = block.order().host_idle();
        if idle && state.release(HoldReason::Host(block.id)) && !self.threads {
            state.wake_all_waiters(); // a task that found no work can now make progress
        }
        self.unlock(state);
        #[cfg(target_arch = "wasm32")]
        self.schedule();
    }

    /// Returns the last commands enqueued so far that write bytes of `span`.
    pub(crate) fn last_writers(&self, span: Span) -> LastWriters {
        let _state = self.lock();
        let order = span.block.order();
        let uses = order.uses.writes_of(&span.range());
        let born = order.born;
        drop(order);
        LastWriters { span, uses, born }
    }

    /// Checks that the last commands that wrote the bytes have not failed. They must be complete.
    ///
    /// # Errors
    /// Returns the error of a failed command, until the program has taken that error.
    pub(crate) fn check_written(&self, writers: &LastWriters) -> Result<()> {
        let state = self.lock();
        let failed = writers
            .uses
            .failed_write(&writers.span.range(), |u| state.queues.sticky_failure(u, writers.born));
        failed.map_or(Ok(()), |error| Err(error.clone()))
    }

    /// Returns access to the bytes that the lazy `read` left in the block, with their ranges. Returns `None` if the
    /// bytes were saved elsewhere. No wait is needed: the read's own point is done, and every later writer, even the
    /// host, saves the bytes first.
    pub(crate) fn claim_lazy(
        self: &Arc<Self>,
        block: &Arc<Block>,
        read: &Arc<ReadSlot>,
    ) -> Option<(HostGuard, Vec<Range<u64>>)> {
        let mut state = self.lock();
        let mut order = block.order();
        let left = order.lazy.extract_if(.., |(_, slot)| Arc::ptr_eq(slot, read));
        let ranges: Vec<Range<u64>> = left.map(|(range, _)| range).collect();
        if ranges.is_empty() {
            return None;
        }
        state.memory.host_uses += 1;
        let access = HostAccess::of_lazy_read(block, &mut order);
        Some((HostGuard { engine: self.clone(), access, held: None }, ranges))
    }

    /// Drops a read whose bytes are no longer wanted.
    pub(crate) fn drop_read(&self, block: &Block, read: &Arc<ReadSlot>) {
        if self.is_in_child() {
            return; // a thread of the parent may have held the lock of the block's order
        }
        let _state = self.lock();
        block.order().lazy.retain(|(_, slot)| !read.owns(slot));
        if matches!(read.state(), ReadState::Queued | ReadState::Lazy) {
            read.set(ReadState::Dropped);
        }
    }

    /// Returns the block of a dropped array to the pool. Drops an external block once its uses are over. Never waits.
    /// `entries` are those of the array in the books of the allocation trackers.
    pub(crate) fn free(&self, block: Arc<Block>, entries: AllocationEntries) {
        let state = self.lock();
        if state.lost.is_some() {
            drop(state);
            // The device may still use the block, and after a loss it must not be called.
            std::mem::forget(block);
            return;
        }
        let mut order = block.order();
        if order.outlives_array() {
            order.entries = entries;
            return;
        }
        drop(order);
        self.give_to_pool(state, block);
    }

    /// Returns a block that has neither an array nor a lease to the pool. Drops a block that the device has refused.
    fn give_to_pool(&self, mut state: MutexGuard<'_, State>, block: Arc<Block>) {
        if block.is_refused() && is_idle(&block) {
            state.memory.pool.unreserve(block.heap, block.size);
            drop(state);
            self.device.forget(&block);
            return;
        }
        if !block.is_external() {
            let surplus = state.memory.give(block);
            drop(state);
            if surplus {
                self.release_surplus();
            }
            return;
        }
        state.memory.external.push(block);
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
    /// array, or if another graph, a command or the host still uses it.
    pub(crate) fn take_orphan(&self, block: &Block, label: &Arc<str>) -> bool {
        let state = self.lock();
        let mut order = block.order();
        let is_idle = order.host == HostUse::Idle && order.readers == 0 && order.lazy.is_empty();
        // A context command comes before all later uses, so the fill of the earlier array does no harm.
        let is_clear = |u: &BlockUse| u.slot == Slot::CONTEXT && u.what == CommandKind::Fill;
        let is_unused = is_idle && order.uses.all().all(is_clear);
        if !order.orphaned || order.leases != 1 || !is_unused || block.is_refused() || state.lost.is_some() {
            return false;
        }
        order.orphaned = false;
        order.label = label.clone();
        let entries = std::mem::take(&mut order.entries);
        drop(order);
        drop(state);
        drop(entries); // the other array has its own
        true
    }

    /// Ends one lease. If it was the last and the block has no array, returns the block to the pool.
    fn end_lease(&self, block: &Arc<Block>) {
        let state = self.lock();
        let mut order = block.order();
        order.leases -= 1;
        let is_last = order.leases == 0 && std::mem::take(&mut order.orphaned);
        let entries = if is_last { std::mem::take(&mut order.entries) } else { AllocationEntries::default() };
        drop(order);
        if !is_last {
            return;
        }
        drop(entries); // before the pool counts the memory as free
        if state.lost.is_some() {
            drop(state);
            std::mem::forget(block.clone()); // the device may still use the block
            return;
        }
        self.give_to_pool(state, block.clone());
    }

    /// Drops the external blocks whose uses can no longer affect a later command.
    pub(crate) fn release_external_blocks(&self, mut state: MutexGuard<'_, State>) {
        let blocks = std::mem::take(&mut state.memory.external);
        let (over, kept): (Vec<_>, Vec<_>) = blocks.into_iter().partition(|block| state.is_over(block));
        state.memory.external = kept;
        drop(state); // buffers are dropped outside S
        drop(over);
    }

    /// Returns staging memory of `size` bytes, filled by `fill`. If memory is exhausted, first releases free memory.
    ///
    /// # Errors
    /// `OutOfMemory`, or the error of the device.
    pub(crate) fn stage(&self, size: u64, fill: &mut dyn FnMut(&mut [u8])) -> Result<Staged> {
        let staged = match self.device.stage(size, fill) {
            Err(error) if matches!(error.detail(), ErrorDetail::OutOfMemory { .. }) => {
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

    /// Releases surplus memory before a block of `size` bytes is allocated. A threshold set by the program is ignored
    /// here: it applies once the new block becomes free.
    pub(crate) fn make_room(&self, size: u64) {
        self.give_back(|pool| if pool.threshold.is_none() { pool.take_surplus(size) } else { Vec::new() });
    }

    fn give_back(&self, take: impl FnOnce(&mut BlockPool) -> Vec<Arc<Block>>) -> u64 {
        let idle = {
            let mut state = self.lock();
            if state.lost.is_some() { Vec::new() } else { take(&mut state.memory.pool) }
        };
        idle.iter().for_each(|block| self.device.forget(block));
        idle.iter().map(|block| block.size).sum()
    }
}

/// The call of the program that opens a guard of a pinned array.
#[derive(Clone, Copy)]
pub(crate) struct GuardOpening<'a> {
    /// Name of the array.
    pub(crate) array: &'a Arc<str>,
    /// Source line of the call.
    pub(crate) at: &'static Location<'static>,
}

/// Result of a request for host access.
pub(crate) enum HostClaim {
    Granted(HostGuard),
    /// The host must wait for this point first.
    After(Point),
    /// Another host thread uses the bytes.
    Shared,
}

/// Memory of a context that no array owns, and the number of host accesses.
///
/// A block is in the pool or in `external` only while it has neither an array nor a lease. A host access is counted
/// from the claim until its [`HostGuard`] is dropped.
#[derive(Default)]
pub(crate) struct ContextMemory {
    pub(crate) pool: BlockPool,
    /// External blocks (on the program's own buffers) without arrays, which the device may still use.
    pub(crate) external: Vec<Arc<Block>>,
    /// Number of existing host guards.
    pub(crate) host_uses: u32,
    /// Guards of pinned arrays that the program holds.
    held: Vec<HeldGuard>,
}

/// A guard of a pinned array that the program holds. It holds back later commands until the thread that opened it drops
/// it.
struct HeldGuard {
    number: HoldId,
    block: BlockId,
    /// Name of the array.
    array: Arc<str>,
    want: HostUseKind,
    thread: ThreadId,
    /// Source line and time of the call that opened the guard.
    opened: &'static Location<'static>,
    since: Instant,
    /// `true` once the guard was reported in the log.
    reported: bool,
}

impl ContextMemory {
    /// Fails if `work` uses a mapped array, or uploads a pinned array to which the program has write access.
    #[inline]
    pub(crate) fn check_maps(&self, work: &Work) -> Result<()> {
        if self.host_uses == 0 { Ok(()) } else { self.check_accessed(work) }
    }

    fn check_accessed(&self, work: &Work) -> Result<()> {
        for touch in work.touches() {
            let order = touch.block.order();
            if order.host == HostUse::Mapped {
                return Err(ErrorDetail::Mapped { array: order.label.to_string() }.into());
            }
            drop(order);
            // A guard with write access borrows its array mutably, so only a replay can read the array meanwhile.
            let writes = |guard: &&HeldGuard| guard.block == touch.block.id && guard.want.writes();
            if !touch.write
                && let Some(guard) = self.held.iter().find(writes)
            {
                let array = guard.array.to_string();
                return Err(ErrorDetail::OpenGuard { array, opened: guard.opened }.into());
            }
        }
        Ok(())
    }

    /// Adds a free block to the pool. Returns `true` if the pool now has more free memory than the program allows. Only
    /// that surplus is released at once: releasing may block in the driver, and dropping an array should not block.
    fn give(&mut self, block: Arc<Block>) -> bool {
        self.pool.give(block);
        self.pool.over_threshold()
    }
}

/// Returns the first earlier use that the host must wait for.
fn blocker(state: &State, order: &BlockState, span: &Span, write: bool) -> Option<Point> {
    let mut uses = order.uses.conflicts(span.range(), write).map(BlockUse::point);
    uses.find(|&p| state.reached(p) != PointProgress::Done)
}

/// Returns the error of a failed command that wrote bytes of `span` last, if the program has not taken the error.
fn failed_write<'s>(state: &'s State, order: &BlockState, span: &Span) -> Option<&'s Error> {
    order.uses.failed_write(&span.range(), |u| state.queues.sticky_failure(u, order.born))
}

/// The last commands that write some bytes, as of one moment.
pub(crate) struct LastWriters {
    span: Span,
    uses: BlockUses,
    born: Stamp,
}

/// Saves the bytes that lazy reads have left in `span` before the host overwrites them. The host can copy them itself,
/// because its access is exclusive.
fn save_reads(order: &mut BlockState, span: &Span, access: &HostAccess) {
    for (range, read) in order.take_lazy(&span.range()) {
        let mut bytes = vec![0; (range.end - range.start) as usize];
        access.read(range.start, &mut bytes);
        read.set(ReadState::Taken(bytes.into()));
    }
}

impl HostGuard {
    /// Records that the host writes a range. Not needed for a map to write, where the whole range is recorded at once.
    pub(crate) fn writes(&self, range: Range<u64>) {
        self.engine.device.host_writes(self.access.block(), range);
    }

    /// Adds the uses in `range` that this guard had to wait for to the host clock. Called before the program receives
    /// the bytes.
    pub(crate) fn report_done(&self, range: Range<u64>) {
        let mut state = self.engine.lock();
        let order = self.access.block().order();
        state.report_uses_done(order.uses.conflicts(range, self.access.want().writes()));
    }
}

impl Drop for HostGuard {
    fn drop(&mut self) {
        if self.engine.is_in_child() {
            return; // the parent may hold the block's lock, and counts its own guards
        }
        let block = self.access.block();
        let mut state = self.engine.lock();
        let mut order = block.order();
        self.access.leave(&mut order);
        drop(order);
        if let Some(number) = self.held {
            state.memory.held.retain(|guard| guard.number != number);
        }
        self.engine.end_host_uses(state, block, 1);
    }
}

impl State {
    /// Records that this thread holds a guard of a block. Returns the number of the guard.
    fn hold_guard(&mut self, block: &Block, want: HostUseKind, opening: GuardOpening<'_>) -> HoldId {
        let number = self.new_hold();
        self.memory.held.push(HeldGuard {
            number,
            block: block.id,
            array: opening.array.clone(),
            want,
            thread: this_thread(),
            opened: opening.at,
            since: Instant::now(),
            reported: false,
        });
        number
    }

    /// Checks that this thread holds no guard that holds back the commands up to `point`.
    ///
    /// # Errors
    /// `WaitInGuard`.
    pub(crate) fn check_guards(&self, point: Point) -> Result<()> {
        let Some(HoldReason::Host(block)) = self.queue(point.slot).hold else { return Ok(()) };
        if self.reached(point) != PointProgress::Unplanned {
            return Ok(());
        }
        let here = this_thread();
        match self.memory.held.iter().find(|guard| guard.block == block && guard.thread == here) {
            None => Ok(()),
            Some(guard) => {
                let queue = self.queues.name_of(point).to_string();
                let array = guard.array.to_string();
                Err(ErrorDetail::WaitInGuard { queue, array, opened: guard.opened }.into())
            }
        }
    }

    /// Reports in the log, once, each guard that is old and holds back a queue. Every wait and poll calls this, and so
    /// does a thread of the context, because a task may await without polling again.
    pub(crate) fn report_guards(&mut self) {
        for guard in self.memory.held.iter_mut().filter(|guard| !guard.reported) {
            if guard.since.elapsed() <= LONG_HELD {
                continue;
            }
            if let Some(&slot) = self.queues.held(HoldReason::Host(guard.block)).first() {
                let queue = &self.queues[slot].label;
                let HeldGuard { array, opened, .. } = guard;
                report!(Warn, "queue `{queue}` waits for the guard of array `{array}`, opened at {opened}");
                guard.reported = true;
            }
        }
    }
}

/// Returns `true` if every use of the free block is complete: only the pool refers to it, and no command in flight. Queues
/// that have not waited for the uses may take it too, because a wait for an event that is reached adds nothing to a
/// queue's clock.
pub(crate) fn is_idle(block: &Arc<Block>) -> bool {
    is_unshared(block)
}

/// Returns `true` if the next command of `slot` comes after every use of the free block, and the device has not refused
/// the block.
pub(crate) fn usable(state: &State, block: &Arc<Block>, slot: Slot) -> bool {
    if block.is_refused() {
        return false;
    }
    if is_idle(block) {
        return true;
    }
    if slot == Slot::CONTEXT {
        // A context command waits for nothing.
        return false;
    }
    let clock = &state.queue(slot).clock;
    let before = |u: &BlockUse| u.slot == slot || u.slot == Slot::CONTEXT || clock.covers(u.slot, u.stamp());
    block.order().uses.all().all(before)
}

/// A graph's claim on a block. It keeps the memory even after the last array on the block is dropped, but it does not
/// keep the context alive.
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
    /// Returns `true` if no recorded use of a block can affect its next user. Under `Checked`, a use counts until the
    /// program knows that it is complete, because errors must not depend on the progress of the device.
    fn is_over(&self, block: &Block) -> bool {
        self.policy() != Policy::Checked || block.order().uses.all().all(|u| self.forgettable(u))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::CommandKind;
    use crate::runtime::context_threads::ContextThreads;
    use crate::scheduler::ordering::Admission;
    use crate::scheduler::queues::Priority;
    use crate::scheduler::test_engine::{
        TestTask, block, engine, enqueue_work, fill, finish, here, queue, span,
    };
    use fencepost_sync::Clock;
    use std::task::Waker;
    use std::thread;

    /// Opens a guard as a pinned array does.
    fn opened(engine: &Arc<Engine>, block: &Arc<Block>, want: HostUseKind) -> HostGuard {
        let opening = GuardOpening { array: &"array".into(), at: here() };
        let access = engine.host_access(&span(block), want, Deadline::after(None), Some(opening));
        access.expect("the device is there").expect("a wait without limit has an end")
    }

    /// Opens a guard on another thread.
    fn opened_elsewhere(engine: &Arc<Engine>, block: &Arc<Block>) -> HostGuard {
        let engine = engine.clone();
        let block = block.clone();
        let opening = thread::spawn(move || opened(&engine, &block, HostUseKind::Read));
        opening.join().expect("the thread does not panic")
    }

    /// Enqueues a fill that the guards of its block hold back, and plans it.
    fn held_fill(engine: &Engine, block: &Arc<Block>) -> Point {
        let point = enqueue_work(engine, queue(engine), fill(block));
        engine.lock().plan([point], Priority::Normal);
        point
    }

    #[test]
    fn m03_a_wait_for_work_behind_a_guard_is_refused_on_the_thread_that_holds_it() {
        let engine = engine(false);
        let block = block();
        let guard = opened(&engine, &block, HostUseKind::Read);
        let point = held_fill(&engine, &block);
        let error = engine.wait(point, Deadline::after(None)).expect_err("the wait would never end");
        assert!(matches!(error.detail(), ErrorDetail::WaitInGuard { array, .. } if array == "array"));
        assert!(!engine.wait(point, Deadline::now()).expect("a wait with a limit is not refused"));
        drop(guard);
        finish(&engine, point);
    }

    #[test]
    fn m03_a_wait_for_work_behind_a_guard_of_another_thread_is_not_refused() {
        let engine = engine(false);
        let block = block();
        drop(opened(&engine, &block, HostUseKind::Read));
        let guard = opened_elsewhere(&engine, &block);
        let point = held_fill(&engine, &block);
        assert!(engine.lock().check_guards(point).is_ok());
        drop(guard);
        finish(&engine, point);
    }

    /// Makes the only guard old, and returns `true`. A machine that has just started has no earlier time.
    fn age(engine: &Engine) -> bool {
        let long_ago = Instant::now().checked_sub(2 * LONG_HELD);
        long_ago.map(|long_ago| engine.lock().memory.held[0].since = long_ago).is_some()
    }

    fn is_reported(engine: &Engine) -> bool {
        engine.lock().memory.held[0].reported
    }

    #[test]
    fn m03_each_kind_of_wait_reports_an_old_guard_that_holds_back_a_queue_even_one_of_its_own_thread() {
        type Wait = fn(&Engine, Point);
        let waits: [(&str, Wait); 4] = [
            ("a wait with a limit", |engine, point| {
                assert!(!engine.wait(point, Deadline::now()).expect("a wait with a limit is not refused"));
            }),
            ("a call of `is_complete`", |engine, point| {
                assert!(!engine.is_complete(point, &Clock::default()).expect("nothing has failed"));
            }),
            ("a poll", |engine, point| assert!(engine.poll(point, Waker::noop()).is_none())),
            ("a poll for the submission", |engine, point| {
                assert!(engine.poll_submission(point, Waker::noop()).is_none());
            }),
        ];
        for (name, wait) in waits {
            for elsewhere in [false, true] {
                let engine = engine(false);
                let block = block();
                let guard = if elsewhere {
                    opened_elsewhere(&engine, &block)
                } else {
                    opened(&engine, &block, HostUseKind::Read)
                };
                let point = held_fill(&engine, &block);
                wait(&engine, point);
                assert!(!is_reported(&engine), "{name}: the guard is new");
                if age(&engine) {
                    wait(&engine, point);
                    assert!(is_reported(&engine), "{name}, opened elsewhere: {elsewhere}");
                }
                drop(guard);
                finish(&engine, point);
            }
        }
    }

    #[test]
    fn m03_a_thread_of_the_context_reports_an_old_guard_that_holds_back_an_awaited_queue() {
        let engine = engine(true);
        let block = block();
        let guard = opened(&engine, &block, HostUseKind::Read);
        if age(&engine) {
            engine.lock().report_guards();
            assert!(!is_reported(&engine), "the guard holds back no queue");
        }
        let point = held_fill(&engine, &block);
        let (_, task) = TestTask::new();
        assert!(engine.poll(point, &task).is_none());
        let threads = ContextThreads::start(&engine);
        if age(&engine) {
            while !is_reported(&engine) {
                thread::yield_now();
            }
        }
        drop(guard);
        finish(&engine, point);
        threads.end(&engine, &Arc::default());
    }

    #[test]
    fn m03_a_command_that_reads_what_a_guard_may_write_is_refused() {
        let engine = engine(false);
        let [pinned, device] = [(); 2].map(|()| block());
        let slot = queue(&engine);
        let by = Admission { slot, what: CommandKind::Copy, at: here() };
        let upload = || Work::Copy { src: span(&pinned), dst: span(&device) };
        let guard = opened(&engine, &pinned, HostUseKind::Write);
        let end = engine.lock().queue(slot).end(slot);
        let error = engine.enqueue(by, upload()).expect_err("the guard may still write");
        assert!(
            matches!(error.detail(), ErrorDetail::OpenGuard { array, .. } if array == "array"),
            "{error}"
        );
        assert_eq!(engine.lock().queue(slot).end(slot), end, "nothing is enqueued");
        drop(guard);
        let reading = opened(&engine, &pinned, HostUseKind::Read);
        finish(&engine, enqueue_work(&engine, slot, upload()));
        drop(reading);
    }

    #[test]
    fn m03_a_leaked_guard_ends_once_its_array_is_borrowed_in_conflict_with_it() {
        let leaks = [(HostUseKind::Read, true), (HostUseKind::Write, true), (HostUseKind::Write, false)];
        for (want, exclusive) in leaks {
            let engine = engine(false);
            let block = block();
            std::mem::forget(opened(&engine, &block, want));
            let point = held_fill(&engine, &block);
            assert!(!engine.wait(point, Deadline::now()).expect("a wait with a limit is not refused"));
            engine.end_leaked_guards(&block, exclusive);
            finish(&engine, point);
            assert_eq!(engine.lock().memory.host_uses, 0, "{want:?}");
        }
    }

    #[test]
    fn m03_a_guard_with_read_access_stays_while_its_array_is_only_shared() {
        let engine = engine(false);
        let block = block();
        let guard = opened(&engine, &block, HostUseKind::Read);
        engine.end_leaked_guards(&block, false);
        let state = engine.lock();
        assert_eq!((block.order().readers, state.memory.host_uses), (1, 1));
        drop(state);
        drop(guard);
    }

    #[test]
    fn m02_a_dropped_read_is_removed_from_its_block() {
        let engine = engine(false);
        let block = block();
        let dropped = ReadSlot::new();
        let kept = ReadSlot::new();
        block.order().lazy =
            vec![(0..8, dropped.clone()), (8..16, dropped.part(8..16)), (0..16, kept.clone())];
        engine.drop_read(&block, &dropped);
        let order = block.order();
        let [(range, left)] = order.lazy.as_slice() else { panic!("{} are left", order.lazy.len()) };
        assert!(
            *range == (0..16) && Arc::ptr_eq(left, &kept) && matches!(dropped.state(), ReadState::Dropped)
        );
    }
}
