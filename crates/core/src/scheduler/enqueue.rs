//! Enqueueing of all commands, within the context's backlog limit: the limit of the work that is not yet given to the
//! device. S is the state lock.

#[cfg(test)]
mod enqueue_tests;

use crate::device::wgpu_device::BacklogLimit;
use crate::error::{CommandKind, Error, ErrorDetail, Result};
use crate::memory::block::Block;
use crate::memory::uses::Policy;
use crate::scheduler::batch::{Callback, Command, Op};
use crate::scheduler::complete::{FailureWatch, PointHistory};
use crate::scheduler::engine::{Engine, SLICE};
use crate::scheduler::lanes::ThreadRest;
use crate::scheduler::ordering;
use crate::scheduler::ordering::Admission;
use crate::scheduler::queue::{Backlog, HoldReason, PointProgress};
use crate::scheduler::queues::Queues;
use crate::scheduler::relay::{SignalledBy, UserSignal, UserWait};
use crate::scheduler::state::{State, describe_hold};
use crate::scheduler::threads::{SignallingMark, is_inside_callback, replace_lane_thread};
use crate::work::step::{KindsOfWork, Work, Works};
use fencepost_profile::WaitCause;
#[cfg(target_arch = "wasm32")]
use fencepost_sync::page::may_block;
use fencepost_sync::prim::{MutexGuard, assert_unlocked, thread_local};
use fencepost_sync::{Clock, HoldId, Point, Slot, Stamp};
use smallvec::SmallVec;
use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::Location;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;
use web_time::Instant;

/// Minimum number of nodes with which a replay fills a batch.
const NODES_OF_A_BATCH: usize = 100;

/// Minimum number of waits of a queue between two cleanups of its clock by [`State::tidy_clock`].
const KNOWN: usize = 16;

/// Longest time that a call waits for room because of one callback or another context, which may itself be waiting for
/// that call to return.
const LONGEST_HOLD: Duration = Duration::from_secs(10);

/// Returns `true`: outside a page, each thread may block.
#[cfg(not(target_arch = "wasm32"))]
const fn may_block() -> bool {
    true
}

impl Engine {
    /// Enqueues work: checks it, adds the waits that the policy requires, and assigns its stamp.
    #[inline]
    pub(crate) fn enqueue(&self, by: Admission, work: Work) -> Result<Stamp> {
        let state = self.lock_with_room(by.slot)?;
        state.memory.check_maps(&work)?;
        self.check_and_push(state, by, work)
    }

    /// Like [`enqueue`](Self::enqueue), but the work first waits for a user event.
    #[cold]
    pub(crate) fn enqueue_after(&self, by: Admission, work: Work, event: Arc<UserSignal>) -> Result<Stamp> {
        let mut state = self.lock_with_room(by.slot)?;
        state.check(by.slot)?;
        state.check_work(by, &work)?;
        let stamp = state.next_stamp();
        state.queue_mut(by.slot).push(Command { stamp, op: Op::WaitUser(UserWait(event)) });
        state.queue_mut(by.slot).end_times();
        self.check_and_push(state, by, work)
    }

    /// Enqueues work for a map's guard, which has exclusive access to the bytes. This work may use the mapped array.
    pub(crate) fn enqueue_mapped(&self, by: Admission, work: Work) -> Result<Stamp> {
        self.check_and_push(self.lock(), by, work)
    }

    #[inline]
    fn check_and_push(&self, mut state: MutexGuard<'_, State>, by: Admission, work: Work) -> Result<Stamp> {
        state.check(by.slot)?;
        let waits = ordering::missing_waits(&state, by, &work)?;
        if !waits.is_empty() {
            state.add_waits(by, &work, &waits);
        }
        // The same thread flushes or waits after a read, so the lane thread need not be woken.
        let read = matches!(work, Work::Read { .. });
        let stamp = state.push_work(by, work);
        if !read {
            self.notify_lane(state, by.slot);
        }
        Ok(stamp)
    }

    /// Checks work as [`enqueue`](Self::enqueue) does, but enqueues nothing.
    #[cold]
    pub(crate) fn check_only(&self, by: Admission, work: &Work) -> Result<()> {
        let state = self.lock();
        state.check(by.slot)?;
        state.check_work(by, work)
    }

    /// Checks works as [`enqueue_all`](Self::enqueue_all) does, but enqueues nothing.
    pub(crate) fn check_whole(&self, by: Admission, whole: &[Work]) -> Result<()> {
        let state = self.lock();
        state.check(by.slot)?;
        whole.iter().try_for_each(|work| state.check_work(by, work))
    }

    /// Enqueues the works of one call: all of them or, if one is refused, none. No other command comes between them.
    /// Commands ordered after one of them are ordered after all of them.
    pub(crate) fn enqueue_all_or_none(&self, by: Admission, works: Works) -> Result<()> {
        let mut state = self.lock_with_room(by.slot)?;
        state.push_all_or_none(by, works.into_iter().map(|work| (by.what, work)).collect())?;
        self.notify_lane(state, by.slot);
        Ok(())
    }

    /// Like [`enqueue_all_or_none`](Self::enqueue_all_or_none), for launches of different kinds.
    pub(crate) fn enqueue_launches(&self, by: Admission, launches: KindsOfWork) -> Result<()> {
        let mut state = self.lock_with_room(by.slot)?;
        state.push_all_or_none(by, launches)?;
        self.notify_lane(state, by.slot);
        Ok(())
    }

    /// Like [`enqueue_all_or_none`](Self::enqueue_all_or_none). Returns the end of the last work. Other threads cannot
    /// enqueue before that end.
    pub(crate) fn enqueue_call(
        &self,
        by: Admission,
        works: KindsOfWork,
    ) -> Result<(Point, Arc<PointHistory>)> {
        let mut state = self.lock_with_room(by.slot)?;
        state.push_all_or_none(by, works)?;
        let end = state.queues.marker(by.slot);
        self.notify_lane(state, by.slot);
        Ok(end)
    }

    /// Enqueues `ops`, which together have the effect of `whole`, with no other command between them. Returns their
    /// stamps.
    pub(crate) fn enqueue_all(&self, by: Admission, whole: &[Work], ops: Vec<Op>) -> Result<Vec<Stamp>> {
        let mut state = self.lock();
        state.check_all(by, whole)?;
        let mut stamps = Vec::new();
        let mut last = None;
        for op in ops {
            let stamp = state.next_stamp();
            stamps.push(stamp);
            state.queue_mut(by.slot).end_times();
            if let Op::Work(work) = op {
                last = Some(stamp);
                state.push_stamped(by, stamp, work);
            } else {
                state.queue_mut(by.slot).push(Command { stamp, op });
            }
        }
        if let Some(last) = last {
            whole.iter().for_each(|work| ordering::record(&state, by, last, work));
        }
        self.notify_lane(state, by.slot);
        Ok(stamps)
    }

    /// Under `Checked`, records that a queue has made an array. The creation gets a stamp, and every use of the array
    /// must be ordered after it.
    pub(crate) fn note_making(&self, by: Admission, block: &Block) {
        let mut state = self.lock();
        if state.policy() == Policy::Checked && by.slot != Slot::CONTEXT {
            let stamp = state.next_stamp();
            let end = state.queue(by.slot).end(by.slot);
            // The stamp needs a command. This wait is for a point that the queue already comes after.
            state.queue_mut(by.slot).push(Command { stamp, op: Op::Wait(end) });
            ordering::record_making(&state, by, stamp, block);
        }
    }

    /// Enqueues a wait of the program for a point of another queue.
    pub(crate) fn enqueue_wait(
        &self,
        slot: Slot,
        point: Point,
        clock: &Clock,
        at: &'static Location<'static>,
    ) -> Result<()> {
        let mut state = self.lock();
        state.check(slot)?;
        if state.notes.waits.is_some() {
            ordering::note_requested_wait(&mut state, slot, at, point, clock);
        }
        state.queue_mut(slot).clock.join(clock);
        state.push_wait(slot, point, WaitCause::Queue, at);
        Ok(())
    }

    /// Enqueues a wait for a user event.
    pub(crate) fn enqueue_user_wait(
        &self,
        slot: Slot,
        event: Arc<UserSignal>,
        at: &'static Location<'static>,
    ) -> Result<()> {
        let mut state = self.lock();
        state.check(slot)?;
        state.note_user_wait(slot, &event, at);
        self.push_op(state, slot, Op::WaitUser(UserWait(event)))
    }

    /// Enqueues a host callback.
    pub(crate) fn enqueue_callback(
        &self,
        slot: Slot,
        callback: Callback,
        at: &'static Location<'static>,
    ) -> Result<()> {
        let mut state = self.lock_with_room(slot)?;
        state.check(slot)?;
        let callback = state.note_callback(slot, callback, at);
        let queue = state.queue(slot);
        let is_due = queue.is_finished() && queue.hold.is_none() && !state.queues.has_context_commands();
        // In a page, turns run the callbacks.
        let has_runner = self.threads || cfg!(target_arch = "wasm32");
        if !(has_runner && is_due) {
            return self.push_op(state, slot, Op::Callback(callback));
        }
        // There is nothing before the callback, so it must not wait for the lane thread, which may be inside a
        // submission, or for a tick.
        let stamp = state.next_stamp();
        state.queue_mut(slot).push(Command { stamp, op: Op::Callback(callback) });
        state.queue_mut(slot).end_times();
        let priority = state.queue(slot).priority;
        state.plan([Point { slot, stamp }], priority);
        self.unlock(state);
        #[cfg(target_arch = "wasm32")]
        self.schedule();
        Ok(())
    }

    fn push_op(&self, mut state: MutexGuard<'_, State>, slot: Slot, op: Op) -> Result<()> {
        let stamp = state.next_stamp();
        state.queue_mut(slot).push(Command { stamp, op });
        state.queue_mut(slot).end_times();
        self.notify_lane(state, slot);
        Ok(())
    }

    /// Releases S, and wakes the thread of the queue's lane if that thread sleeps and could submit something.
    ///
    /// A small amount of unflushed work waits for the lane thread's next tick. If the program flushes before that, it
    /// submits the work itself, which saves the wake-up.
    #[inline]
    pub(crate) fn notify_lane(&self, mut state: MutexGuard<'_, State>, slot: Slot) {
        let sleeper = state.sleeper(slot);
        drop(state);
        #[cfg(target_arch = "wasm32")]
        self.schedule();
        if let Some(lane) = sleeper {
            self.work[lane].notify_all();
        }
    }

    /// Returns the point of everything enqueued so far on a queue, with the clock and the failure watch of that point.
    pub(crate) fn marker(&self, slot: Slot) -> (Point, Arc<PointHistory>) {
        self.lock().queues.marker(slot)
    }

    /// Returns the failure watch of a point, which keeps the failures up to that point available.
    pub(crate) fn stretch_of(&self, point: Point) -> FailureWatch {
        self.lock().queue(point.slot).failures.stretch_of(point.stamp)
    }

    /// Waits until a queue has room for another command, and takes S.
    ///
    /// # Errors
    /// Returns `Backlog`, or the error of the queue.
    #[inline]
    pub(crate) fn lock_with_room(&self, slot: Slot) -> Result<MutexGuard<'_, State>> {
        let state = self.lock();
        if state.room.is_full(&state.queues, slot) || state.room.has_callers(slot) {
            self.wait_for_room(state, slot)
        } else {
            Ok(state)
        }
    }

    /// Waits until a queue has room for another command. Until the result is dropped, all commands of this thread have
    /// room. So a full backlog refuses all commands of a verb or none.
    ///
    /// # Errors
    /// Returns `Backlog`, or the error of the queue.
    pub(crate) fn take_room(&self, slot: Slot) -> Result<TakenRoom> {
        drop(self.lock_with_room(slot)?);
        Ok(TakenRoom { before: HAS_ROOM.try_with(|room| room.replace(true)).unwrap_or(false) })
    }

    /// Waits until a queue has room for another command. The callers of a queue get room in the order of their calls.
    ///
    /// The wait fails if the queue itself waits for the program, because the program may be waiting here.
    #[cold]
    fn wait_for_room<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        slot: Slot,
    ) -> Result<MutexGuard<'a, State>> {
        state.check(slot)?;
        if HAS_ROOM.try_with(Cell::get).unwrap_or(false) {
            return Ok(state);
        }
        if !may_block() || self.is_in_function() || is_inside_callback() {
            let what = if is_inside_callback() { "a host callback" } else { "this call" };
            let why = format!("{what} must not block until the device has taken it");
            return Err(state.room.error(&state.queues, slot, &why));
        }
        let caller = CallerForRoom { engine: self, id: state.new_hold() };
        state.room.add_caller(slot, caller.id);
        drop(state);
        assert_unlocked("a wait for room");
        let _mark = SignallingMark::set(false);
        replace_lane_thread();
        let mut held: Option<(HoldReason, Instant)> = None;
        loop {
            state = self.lock();
            if let Err(error) = state.check(slot) {
                drop(state);
                return Err(error);
            }
            let first = state.room.first_caller(slot);
            if first == Some(caller.id) && !state.room.is_full(&state.queues, slot) {
                drop(state);
                drop(caller);
                return Ok(self.lock());
            }
            state.queue_mut(slot).request_all();
            self.unlock(state);
            let end = self.lock().queue(slot).end(slot);
            let relay = self.held_by(end);
            if let Some(relay) = &relay {
                relay.poll(Waker::noop());
            }
            state = self.lock();
            let hold = state.queue(slot).hold;
            if held.map(|(hold, _)| hold) != hold {
                held = hold.map(|hold| (hold, Instant::now()));
            }
            let waits_for_the_program = held.is_some_and(|(hold, since)| match hold {
                HoldReason::Host(_) => true,
                HoldReason::User(hold) => {
                    let by = state.queues.held_event(hold).map(|event| event.signalled_by());
                    by == Some(SignalledBy::Program)
                        || by != Some(SignalledBy::OwnThread) && since.elapsed() > LONGEST_HOLD
                }
                HoldReason::Callback(_) => since.elapsed() > LONGEST_HOLD,
                HoldReason::Drain(_) | HoldReason::Loop(_) => false,
            });
            if waits_for_the_program && let Some(hold) = hold {
                let why = format!("the queue waits: {}", describe_hold(hold));
                let error = state.room.error(&state.queues, slot, &why);
                drop(state);
                return Err(error);
            }
            let goes_on = first == Some(caller.id) && !state.room.is_full(&state.queues, slot);
            if self.threads && !goes_on {
                self.park(state, SLICE);
                continue;
            }
            drop(state);
            if !self.threads {
                self.make_backlog_room();
            }
        }
    }

    /// Makes progress on a context without threads. In a page, its event loop runs too.
    fn make_backlog_room(&self) {
        #[cfg(not(target_arch = "wasm32"))]
        self.make_progress(SLICE);
        #[cfg(target_arch = "wasm32")]
        if !self.make_progress(Duration::ZERO) {
            _ = fencepost_sync::page::pause(); // the caller may block
        }
    }
}

/// Room for all commands of a verb. Until it is dropped, the calls of this thread find room in every backlog.
pub struct TakenRoom {
    /// `true` if the thread already had room.
    before: bool,
}

thread_local! {
    /// `true` while this thread has a [`TakenRoom`].
    static HAS_ROOM: Cell<bool> = Cell::default();
}

impl Drop for TakenRoom {
    fn drop(&mut self) {
        // A thread that is exiting has no room to give back.
        let _ = HAS_ROOM.try_with(|room| room.set(self.before));
    }
}

impl State {
    /// Enqueues all of the works or, if one is refused, none. A launch without workgroups is only checked.
    fn push_all_or_none(&mut self, by: Admission, mut works: KindsOfWork) -> Result<()> {
        self.check_each(by, works.iter().map(|(what, work)| (*what, work)))?;
        works.retain(|(_, work)| !work.is_empty_launch());
        let stamps: SmallVec<[Stamp; 3]> = works.iter().map(|_| self.next_stamp()).collect();
        if let Some(&last) = stamps.last() {
            for (what, work) in &works {
                ordering::record(self, Admission { what: *what, ..by }, last, work);
            }
        }
        for (stamp, (what, work)) in stamps.into_iter().zip(works) {
            self.push_stamped(Admission { what, ..by }, stamp, work);
        }
        Ok(())
    }

    /// Checks works that are to be enqueued together, and returns the waits that the policy requires.
    pub(crate) fn check_all(&mut self, by: Admission, works: &[Work]) -> Result<()> {
        self.check_each(by, works.iter().map(|work| (by.what, work)))
    }

    /// Like [`check_all`](Self::check_all), for works of different kinds.
    fn check_each<'a>(
        &mut self,
        by: Admission,
        works: impl Iterator<Item = (CommandKind, &'a Work)> + Clone,
    ) -> Result<()> {
        self.check(by.slot)?;
        let mut waits: SmallVec<[SmallVec<[Point; 2]>; 3]> = SmallVec::new();
        for (what, work) in works.clone() {
            self.memory.check_maps(work)?;
            waits.push(ordering::missing_waits(self, Admission { what, ..by }, work)?);
        }
        for ((what, work), waits) in works.zip(&waits).filter(|(_, waits)| !waits.is_empty()) {
            self.add_waits(Admission { what, ..by }, work, waits);
        }
        Ok(())
    }

    /// Returns the error that this work would now be refused with.
    pub(crate) fn check_work(&self, by: Admission, work: &Work) -> Result<()> {
        self.memory.check_maps(work)?;
        ordering::missing_waits(self, by, work).map(drop)
    }

    /// Adds admitted work to the end of a queue and assigns its stamp.
    #[inline]
    fn push_work(&mut self, by: Admission, work: Work) -> Stamp {
        let stamp = self.next_stamp();
        ordering::record(self, by, stamp, &work);
        self.push_stamped(by, stamp, work);
        stamp
    }

    #[inline]
    pub(crate) fn push_stamped(&mut self, by: Admission, stamp: Stamp, work: Work) {
        let queue = self.queue_mut(by.slot);
        if fills_a_batch(&work) {
            queue.request(stamp);
        }
        if queue.timing.is_none() {
            queue.push(Command { stamp, op: Op::Work(work) });
        } else {
            self.push_timed(by, stamp, work);
        }
    }

    /// Enqueues the waits that the policy adds before `work`.
    fn add_waits(&mut self, by: Admission, work: &Work, waits: &[Point]) {
        ordering::note_added(self, by, work, waits);
        for &point in waits {
            self.push_wait(by.slot, point, WaitCause::Policy, by.at);
        }
    }

    /// Adds a wait to the end of a queue, and records that later commands of the queue come after `point`.
    pub(crate) fn push_wait(
        &mut self,
        slot: Slot,
        point: Point,
        cause: WaitCause,
        at: &'static Location<'static>,
    ) {
        if point.slot == slot {
            return;
        }
        self.note_wait(slot, point, cause, at);
        let stamp = self.next_stamp();
        let done = self.reached(point) == PointProgress::Done;
        self.queue_mut(point.slot).note_use();
        self.queue_mut(slot).clock.see(point.slot, point.stamp);
        self.tidy_clock(slot);
        let queue = self.queue_mut(slot);
        if done {
            return;
        }
        queue.push(Command { stamp, op: Op::Wait(point) });
        queue.end_times();
    }

    /// Removes entries of a queue's clock that no later check needs: entries that the host clock covers and, except
    /// under `Checked`, entries of queues that no longer exist. Runs only occasionally, so that the cost per wait is
    /// small.
    fn tidy_clock(&mut self, slot: Slot) {
        let queue = self.queue_mut(slot);
        queue.learned += 1;
        if queue.learned <= KNOWN + queue.clock.len() / 4 {
            return;
        }
        queue.learned = 0;
        let mut clock = std::mem::take(&mut queue.clock);
        let counts = self.policy() != Policy::Checked;
        let gone = |at: Slot, stamp: Stamp| counts && (self.queue(at).free || stamp < self.queue(at).born);
        clock.retain(|at, stamp| !self.host_clock().covers(at, stamp) && !gone(at, stamp));
        self.queue_mut(slot).clock = clock;
    }

    /// Returns the lane of `slot` if the lane's thread must be woken for the pending commands.
    #[inline]
    fn sleeper(&mut self, slot: Slot) -> Option<usize> {
        let queue = self.queue(slot);
        let at = queue.lane;
        let rest = self.lanes[queue.lane].rest;
        let rests = rest.is_deep() || (rest == ThreadRest::Ticking && queue.urgent());
        if !rests || queue.pending.is_empty() || queue.hold.is_some() || slot == Slot::CONTEXT {
            return None;
        }
        let lane = &mut self.lanes[at];
        (!lane.token && lane.has_room(false)).then(|| {
            lane.rest = ThreadRest::Awake;
            at
        })
    }
}

/// Returns `true` for a replay that fills a batch. Waiting for more commands would gain nothing, so such a replay is
/// requested when it is enqueued. Then the lane thread is woken once, and a later flush need not wake it.
fn fills_a_batch(work: &Work) -> bool {
    matches!(work, Work::Graph(part) if part.node_count() >= NODES_OF_A_BATCH)
}

/// Share of a full backlog: a queue may go on if its own backlog is below `1 / SHARES` of the context's limit.
const SHARES: usize = 16;

impl Backlog {
    /// Returns `true` if this is at least `1 / parts` of a limit.
    #[inline]
    fn fills(self, limit: BacklogLimit, parts: usize) -> bool {
        self.commands >= limit.commands.div_ceil(parts).max(1)
            || self.bytes >= limit.bytes.div_ceil(parts as u64).max(1)
    }
}

/// Room for further commands in the backlog of a context.
///
/// A call that finds no room is listed until it gets room or fails. The calls on one queue get room in their order.
#[derive(Default)]
pub(crate) struct BacklogRoom {
    /// Limit of the work that is enqueued but not planned; `None` means no limit.
    pub(crate) limit: Option<BacklogLimit>,
    /// Calls that wait until their queue has room for another command, in their order.
    callers: VecDeque<(Slot, HoldId)>,
}

impl BacklogRoom {
    /// Returns `true` if a queue has no room for another command now. A queue with little work of its own always has
    /// room, so that a queue with much work cannot stop the others.
    #[inline]
    fn is_full(&self, queues: &Queues, slot: Slot) -> bool {
        let Some(limit) = self.limit else { return false };
        let own = queues[slot].backlog();
        if slot == Slot::CONTEXT {
            return own.fills(limit, 1);
        }
        own.fills(limit, SHARES) && queues.backlog().fills(limit, 1)
    }

    /// Returns `true` if other calls wait for room in this queue. Then a new call must wait for its turn.
    #[inline]
    fn has_callers(&self, slot: Slot) -> bool {
        !self.callers.is_empty() && self.callers.iter().any(|(of, _)| *of == slot)
    }

    /// Adds a call that waits for room in a queue.
    fn add_caller(&mut self, slot: Slot, id: HoldId) {
        self.callers.push_back((slot, id));
    }

    /// Removes a call. Returns `true` if other calls wait for room.
    fn remove_caller(&mut self, id: HoldId) -> bool {
        self.callers.retain(|(_, of)| *of != id);
        !self.callers.is_empty()
    }

    /// Returns the call that is next to get room in a queue.
    fn first_caller(&self, slot: Slot) -> Option<HoldId> {
        self.callers.iter().find(|(of, _)| *of == slot).map(|(_, id)| *id)
    }

    /// Returns the error of a call that cannot wait for room.
    #[cold]
    fn error(&self, queues: &Queues, slot: Slot, why: &str) -> Error {
        let Backlog { commands, bytes } =
            if slot == Slot::CONTEXT { queues[slot].backlog() } else { queues.backlog() };
        let BacklogLimit { commands: most_commands, bytes: most_bytes } = self.limit.unwrap_or_default();
        let queue = queues[slot].label.to_string();
        ErrorDetail::Backlog { queue, commands, bytes, most_commands, most_bytes, why: why.into() }.into()
    }
}

/// A call that waits for room, listed in [`BacklogRoom`] until it is dropped.
struct CallerForRoom<'a> {
    engine: &'a Engine,
    id: HoldId,
}

impl Drop for CallerForRoom<'_> {
    fn drop(&mut self) {
        let mut state = self.engine.lock();
        let next = state.room.remove_caller(self.id);
        drop(state);
        if next {
            self.engine.done.notify_all();
        }
    }
}
