//! Completed batches, failed commands and the loss of the device. S is the state lock. A *watcher* of a lane is a
//! caller that polls the lane's fence itself; meanwhile the completer sleeps.
//!
//! If the device refuses a batch, only the queue of the refused command fails, and the rest of the batch is submitted
//! again. If a command fails during its execution, its queue fails, and other queues go on. A queue keeps the failures
//! that later calls can still ask for.

use crate::device::{ExecutionFailure, SubmitFailure};
use crate::error::{Error, ErrorDetail};
use crate::scheduler::batch::{Batch, BatchStatus, Command, Op, SubmittedBatch};
use crate::scheduler::callbacks::wake_all;
use crate::scheduler::engine::Engine;
use crate::scheduler::queues::Priority;
use crate::scheduler::state::State;
use crate::work::step::{Step, Work, firsts};
use fencepost_kernels::report;
use fencepost_sync::prim::MutexGuard;
use fencepost_sync::{Clock, Point, Seq, Slot, Stamp, TimelineValue};
use smallvec::SmallVec;
use std::ops::RangeInclusive;
use std::sync::{Arc, Weak};
use std::task::Waker;

impl Engine {
    /// Waits for the fence of a lane without any lock, and processes the batches that have completed.
    pub(crate) fn wait_native(&self, lane: usize, value: TimelineValue, limit: std::time::Duration) {
        self.wait_watched(lane, value, limit, 0);
    }

    /// Like [`wait_native`](Self::wait_native). `watch` is 1 if the caller is a watcher of the lane, else 0. The caller
    /// stops being a watcher before wakers and destructors of the program run, because that user code may itself wait
    /// for this lane.
    pub(crate) fn wait_watched(
        &self,
        lane: usize,
        value: TimelineValue,
        limit: std::time::Duration,
        watch: u32,
    ) {
        let fence = &self.lanes[lane].fence;
        let reached = if limit.is_zero() { fence.completed() } else { fence.wait(value, limit) };
        match reached {
            Ok(reached) if reached >= value => self.advance(lane, reached, watch),
            Ok(reached) => {
                self.unwatch(lane, watch);
                self.device.poll_loss(); // some drivers report a loss only when polled
                self.advance(lane, reached, 0);
            }
            Err(lost) => {
                self.unwatch(lane, watch);
                self.lose(&lost.reason);
            }
        }
    }

    /// Removes the caller from the watchers. After the last one, notifies the completer.
    fn unwatch(&self, lane: usize, watch: u32) {
        if watch > 0 {
            let mut state = self.lock();
            state.lanes[lane].watchers -= watch;
            self.unlock(state);
        }
    }

    /// Reads the fence of a lane and processes the batches that have completed.
    pub(crate) fn poll_lane(&self, lane: usize) {
        match self.lanes[lane].fence.completed() {
            Ok(reached) => self.advance(lane, reached, 0),
            Err(lost) => self.lose(&lost.reason),
        }
    }

    /// Polls the fences of all lanes. If no lane has a batch in flight, polls for device loss, because no fence would
    /// report it.
    pub(crate) fn poll_lanes(&self) {
        let busy = self.lock().lanes.iter().any(|lane| lane.timeline.in_flight() > 0);
        if busy {
            (0..self.lanes.len()).for_each(|lane| self.poll_lane(lane));
        } else {
            self.poll_loss();
        }
    }

    /// Polls for device loss and then the fences of all lanes, for a waiter whose work is not yet submitted.
    pub(crate) fn poll_loss(&self) {
        if self.lock().lost.is_some() {
            return;
        }
        self.device.poll_loss();
        (0..self.lanes.len()).for_each(|lane| self.poll_lane(lane));
    }

    /// Returns `outcome`, the result of a device call. If the device is lost, replaces an error by the loss.
    pub(crate) fn checked<T>(&self, outcome: Result<T, Error>) -> Result<T, Error> {
        if outcome.is_err() && self.lock().lost.is_none() && self.device.is_gone() {
            (0..self.lanes.len()).for_each(|lane| self.poll_lane(lane));
        }
        match outcome {
            Err(error) => Err(self.lock().lost.clone().unwrap_or(error)),
            done => done,
        }
    }

    /// Records that the fence of a lane has reached `reached`, and removes `watch` watchers. After releasing S, drops
    /// the resources of the completed batches and calls the wakers that wait for them.
    fn advance(&self, lane: usize, reached: TimelineValue, watch: u32) {
        let mut state = self.lock();
        state.lanes[lane].watchers -= watch;
        let mut state = self.fail_executed(state);
        if state.lost.is_some() || !state.lanes[lane].timeline.complete(reached) {
            return;
        }
        let (done, wakers) = state.complete(lane);
        state.lanes[lane].learn(&done);
        let wakeups = state.wakeups();
        let surplus = state.memory.pool.has_surplus();
        let times = std::mem::take(&mut state.after.times);
        drop(state);
        drop(times);
        // The memory of the completed batches must be free before a waiter is woken.
        for SubmittedBatch { steps, keep, .. } in done {
            drop(keep);
            if let Some(steps) = Arc::into_inner(steps) {
                self.launches.take_back(steps.into_iter().map(Step::launch));
            }
        }
        self.notify(&wakeups);
        if !wakers.is_empty() {
            wake_all(wakers);
        }
        if surplus {
            self.release_surplus();
        }
        self.tick_driver(lane);
    }

    /// Lets the driver release resources whose handles were dropped: some memory is freed only then. If the lane thread
    /// will tick soon, leaves this to it, to save the time of a waiting caller.
    fn tick_driver(&self, lane: usize) {
        if self.threads {
            let mut state = self.lock();
            let at = &mut state.lanes[lane];
            if !at.rest.is_deep() {
                at.needs_cleanup = true;
                return;
            }
        }
        if !self.device.tick() && self.threads {
            self.lock().lanes[lane].needs_cleanup = true;
            self.work[lane].notify_all();
        }
    }

    /// Marks the device as lost. Every wait ends and every later call returns the loss. From now on the device is not
    /// called, and resources that it may still use are never freed.
    pub(crate) fn lose(&self, reason: &str) {
        let mut state = self.lock();
        if state.lost.is_some() {
            return;
        }
        let device = self.device.caps().adapter.clone();
        report!(Error, "device `{device}` was lost: {reason}");
        state.lost = Some(ErrorDetail::DeviceLost { device, reason: reason.into() }.into());
        let (leaked, wakers) = state.give_up();
        drop(state);
        report!(Warn, "{} submissions and everything in them are leaked with the device", leaked.len());
        std::mem::forget(leaked);
        self.notify_due_threads();
        wake_all(wakers);
    }

    /// Fails the queue whose command could not be encoded, and makes the commands of the other queues ready to be
    /// submitted again. `steps` are the steps of `batch`, which the submission had taken out. If the failure names no
    /// command, or the batch was refused before, all its queues fail.
    ///
    /// A removed command is replaced by [`Work::Nothing`], because other commands may depend on the waits at its
    /// position.
    pub(crate) fn fail_batch(
        &self,
        lane: usize,
        batch: Batch,
        steps: Arc<Vec<Step>>,
        failure: SubmitFailure,
    ) {
        if failure.lost {
            let reason = match failure.error.detail() {
                ErrorDetail::DeviceLost { reason, .. } => reason.clone(),
                _ => failure.error.to_string(),
            };
            self.lose(&reason);
            std::mem::forget(steps);
            return;
        }
        // The recorder has dropped its reference, so this one is the last.
        let Ok(mut steps) = Arc::try_unwrap(steps) else {
            panic!("bug: a recorder kept a batch that it refused")
        };
        steps.iter().for_each(unstage);
        let blamed =
            failure.step.filter(|_| !batch.refused).and_then(|at| steps.get(at)).map(|step| step.slot);
        let mut state = self.lock();
        state.lanes[lane].token = false;
        for (slot, first) in state.queues.with_followers(firsts(&steps, blamed)) {
            state.fail_queue(slot, first, failure.error.clone());
            state.after.dropped.extend(undo(&mut steps, slot, first));
        }
        if batch.refused || steps.iter().all(|step| matches!(step.work, Work::Nothing)) {
            state.remove_unsubmitted(lane, batch.seq, &batch.deps);
        } else {
            state.batches.set(batch.seq, BatchStatus::Ready(Priority::High));
            let steps = std::mem::take(&mut steps);
            let again = Batch { steps, cut: false, refused: true, ..batch };
            state.lanes[lane].list(Priority::High).push_front(again);
        }
        self.unlock(state);
        drop(steps);
    }

    /// Takes an error that no queue of the program returns: from a drop, from the context's own work, or of a dropped
    /// queue. One call takes the errors of at most one dropped queue, and returns the first of them.
    pub(crate) fn take_context_error(&self) -> Option<Error> {
        let mut state = self.lock();
        if let Some(error) = state.drop_error.take() {
            return Some(error);
        }
        let own = state.queue_mut(Slot::CONTEXT);
        let of_commands = own.failures.take_all();
        if let Some(error) = own.error.take().or(of_commands) {
            return Some(error);
        }
        for slot in state.queues.slots() {
            if state.queue(slot).failures.is_empty() {
                continue;
            }
            // Earlier queues in this slot have left the errors of earlier stretches.
            let taken = match state.queue(slot).open {
                true => state.queue_mut(slot).failures.take_earlier(),
                false => state.queue_mut(slot).failures.take_all(),
            };
            if taken.is_some() {
                return taken;
            }
        }
        None
    }

    /// Takes the error of a queue. Later commands and markers form a new *stretch* of the queue, which the error does
    /// not affect.
    pub(crate) fn take_queue_error(&self, slot: Slot) -> Option<Error> {
        let mut state = self.lock();
        let error = state.queue_mut(slot).error.take()?;
        let stamp = state.next_stamp();
        state.queue_mut(slot).failures.take(stamp);
        // A marker names the last command, so the new stretch needs a first command at once. This wait is always
        // complete.
        state.queue_mut(slot).push(Command { stamp, op: Op::Wait(Point::START) });
        state.queue_mut(slot).end_times();
        Some(error)
    }

    /// Fails the queues of the commands that failed on the device, before the caller submits a batch or marks batches as
    /// complete.
    pub(crate) fn fail_executed<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let failures = self.device.take_failures(state.last_stamp());
        if failures.is_empty() {
            return state;
        }
        for ExecutionFailure { slot, first, error, refused, alone } in failures {
            if alone {
                state.fail_alone(slot, first, &error);
                continue;
            }
            let failed = state.queues.with_followers(vec![(slot, first)]);
            if refused {
                failed
                    .iter()
                    .for_each(|&(slot, first)| state.unstage_submitted(slot, |stamp| stamp >= first));
            }
            if state.queue(slot).failures.error_of(first).is_some() {
                continue; // an earlier failure has reached the command, and the program may have taken its error
            }
            for (slot, first) in failed {
                state.fail_queue(slot, first, error.clone());
            }
        }
        // The wakers and the drops of failed commands run outside S.
        self.unlock(state);
        self.lock()
    }
}

impl State {
    /// Removes the batches that a lane has completed. Returns them, and the wakers that are due.
    fn complete(&mut self, lane: usize) -> (Vec<SubmittedBatch>, Vec<Waker>) {
        let completed = self.lanes[lane].timeline.completed();
        let mut done = Vec::new();
        let mut wakers = Vec::new();
        while self.lanes[lane].submitted.front().is_some_and(|batch| batch.value <= completed) {
            let Some(batch) = self.lanes[lane].submitted.pop_front() else { break };
            self.notes.note_complete(batch.seq);
            wakers.extend(self.complete_batch(batch.seq));
            done.push(batch);
        }
        self.lanes[lane].debug_check();
        (done, wakers)
    }

    /// Removes all work and all wakers from the scheduler. The caller must leak the work and wake the wakers.
    fn give_up(&mut self) -> (Vec<Box<dyn Send>>, Vec<Waker>) {
        let mut leaked: Vec<Box<dyn Send>> = Vec::new();
        for lane in &mut self.lanes {
            let (batches, submitted) = lane.take_all();
            batches.into_iter().for_each(|batch| leaked.push(Box::new(batch)));
            submitted.into_iter().for_each(|batch| leaked.push(Box::new(batch)));
        }
        self.queues.for_each(|queue| {
            leaked.push(Box::new(queue.take_pending()));
            queue.hold = None;
        });
        leaked.push(Box::new(self.callbacks.take_due()));
        leaked.push(Box::new(self.deliveries.take()));
        leaked.push(Box::new(std::mem::take(&mut self.memory.pool)));
        leaked.push(Box::new(std::mem::take(&mut self.memory.external)));
        (leaked, self.waiters.wakers.take_all())
    }

    /// Returns the error of a lost device.
    pub(crate) fn check_not_lost(&self) -> Result<(), Error> {
        self.lost.clone().map_or(Ok(()), Err)
    }

    /// Fails a queue from `first` on with a sticky error. Waits for this queue still end, because they only request an
    /// order.
    pub(crate) fn fail_queue(&mut self, slot: Slot, first: Stamp, error: Error) {
        report!(Error, "queue `{}` failed: {error}", self.queue(slot).label);
        let held = self.queue(slot).hold;
        self.queue_mut(slot).fail(first, error);
        for batch in self.lanes.iter_mut().flat_map(|lane| lane.planned()) {
            self.after.dropped.extend(undo(&mut batch.steps, slot, first));
        }
        if let Some(held) = held {
            // Queues that only wait for this queue have the same hold. Its release lets planning examine them again.
            self.release(held);
        }
    }

    /// Fails one submitted command of the context itself. The context and its queues go on.
    fn fail_alone(&mut self, slot: Slot, stamp: Stamp, error: &Error) {
        report!(Error, "a command of queue `{}` failed: {error}", self.queue(slot).label);
        self.unstage_submitted(slot, |at| at == stamp);
        self.queue_mut(slot).failures.fail(stamp..=stamp, error);
    }

    /// Resets the reads of `slot` that have failed in submitted batches, because they have no bytes, or those of an earlier
    /// batch. Otherwise the messages of an earlier launch would be delivered again.
    fn unstage_submitted(&self, slot: Slot, has_failed: impl Fn(Stamp) -> bool) {
        let batches = self.lanes.iter().flat_map(|lane| &lane.submitted);
        let steps = batches.flat_map(|batch| batch.steps.iter());
        let failed = steps.filter(|step| step.slot == slot && has_failed(step.stamp) && step.is_own());
        failed.for_each(unstage);
    }

    /// Removes a batch that was not submitted. Batches that depend on it inherit its dependencies, and also depend on
    /// the last submitted batch of its lane, which would have run before it.
    fn remove_unsubmitted(&mut self, lane: usize, seq: Seq, deps: &[Seq]) {
        let last = self.lanes[lane].submitted.back().map(|submitted| submitted.seq);
        let before: SmallVec<[Seq; 4]> =
            deps.iter().copied().chain(last).filter(|&dep| !self.batches.is_done(dep)).collect();
        for batch in
            self.lanes.iter_mut().flat_map(|lane| lane.planned()).filter(|batch| batch.deps.contains(&seq))
        {
            batch.deps.extend(before.iter().copied());
        }
        for at in self.queues.slots() {
            if self.queue_mut(at).replace_batch(seq, &before) {
                before.iter().for_each(|&dep| self.batches.watch(dep, at));
            }
        }
        let wakers = self.complete_batch(seq);
        self.after.wakers.extend(wakers);
    }
}

/// Replaces the work of `slot` from `first` on by [`Work::Nothing`], and returns that work.
fn undo(steps: &mut [Step], slot: Slot, first: Stamp) -> Vec<Command> {
    let hit = |step: &&mut Step| step.slot == slot && step.stamp >= first && step.is_own();
    let take = |step: &mut Step| {
        if let Work::Start(time) = &step.work {
            time.forget(); // the recorder may have assigned a place for its ticks
        }
        if let Work::Graph(graph) = &step.work {
            graph.forget_times();
        }
        let work = std::mem::replace(&mut step.work, Work::Nothing);
        Command { stamp: step.stamp, op: Op::Work(work) }
    };
    steps.iter_mut().filter(hit).map(take).collect()
}

/// Resets the reads of a step, to which a refused submission had assigned staging memory.
fn unstage(step: &Step) {
    match &step.work {
        Work::Read { slot, .. } => slot.unstage(),
        Work::Graph(graph) => graph.unstage(),
        _ => {}
    }
}

/// Number of newest failures that are kept even without a [`FailureWatch`], in case a running call asks for one of
/// them.
const NEWEST: usize = 16;

/// Reference that keeps the failures of one stretch of a queue. A stretch is a run of commands that ends when the
/// program takes the queue's error. Every handle and every pending result of the stretch holds a clone. Once all clones
/// are dropped, the history may drop the failures.
pub(crate) type FailureWatch = Arc<()>;

/// State of a point that its handles carry.
#[derive(Clone, Default)]
pub(crate) struct PointHistory {
    /// Points of other queues that come before this point.
    pub(crate) clock: Clock,
    /// Watch that keeps the failures of the work before the point.
    pub(crate) stretch: FailureWatch,
}

/// Failures that a call can still ask for, of a queue and of earlier queues in its slot.
///
/// When its error is taken, a queue begins a new stretch, so that earlier failures do not affect later commands.
#[derive(Default)]
pub(crate) struct FailureHistory {
    /// Failures in the order of their stamps, without overlaps.
    failed: Vec<FailedCommands>,
    /// Earlier stretches that a watch still refers to, in ascending order.
    before: Vec<(RangeInclusive<Stamp>, Weak<()>)>,
    /// Watch of the current stretch.
    now: FailureWatch,
    /// First stamp of the current stretch, after the last stamp of every stretch in `before`.
    first: Stamp,
    /// Number of entries left by the last [`tidy`](Self::tidy).
    kept: usize,
}

/// A run of commands that failed with one error.
struct FailedCommands {
    stamps: RangeInclusive<Stamp>,
    error: Error,
    /// `true` until the program takes the error. The error of cancelled commands is never sticky.
    sticky: bool,
}

impl FailureHistory {
    /// Returns `true` if the program has a handle or a pending result of the current stretch.
    pub(crate) fn is_watched(&self) -> bool {
        Arc::strong_count(&self.now) > 1
    }

    /// Returns a watch for the current stretch.
    pub(crate) fn stretch(&self) -> FailureWatch {
        self.now.clone()
    }

    /// Returns a watch for the stretch of an earlier command. If that stretch has no watch left, returns one for the
    /// current stretch.
    pub(crate) fn stretch_of(&self, stamp: Stamp) -> FailureWatch {
        let at = self.before.partition_point(|(stamps, _)| *stamps.end() < stamp);
        let held = self.before.get(at).and_then(|(_, stretch)| stretch.upgrade());
        held.unwrap_or_else(|| self.now.clone())
    }

    /// Begins a stretch at `first`. The failures so far do not affect its commands.
    pub(crate) fn begin(&mut self, first: Stamp) {
        let ended = std::mem::take(&mut self.now);
        let stamps = self.first..=Stamp(first.0.saturating_sub(1));
        if Arc::strong_count(&ended) > 1 && !stamps.is_empty() {
            self.before.push((stamps, Arc::downgrade(&ended)));
        }
        self.first = first;
        let earlier = self.before.last().is_none_or(|(stamps, _)| *stamps.end() < first);
        debug_assert!(earlier, "bug: a stretch begins inside an earlier one");
        drop(ended);
        self.tidy();
    }

    /// Begins a stretch at `first`, after the program has taken the error of the current stretch.
    pub(crate) fn take(&mut self, first: Stamp) {
        let of_stretch = self.failed.partition_point(|failure| *failure.stamps.end() < self.first);
        self.failed[of_stretch..].iter_mut().for_each(|failure| failure.sticky = false);
        self.begin(first);
    }

    /// Marks the errors of all earlier stretches as taken. Returns the first of them that was not taken before.
    pub(crate) fn take_earlier(&mut self) -> Option<Error> {
        let of_stretch = self.failed.partition_point(|failed| *failed.stamps.end() < self.first);
        Self::take_first(&mut self.failed[..of_stretch])
    }

    /// Marks all errors as taken, and returns the first that was not taken before. The current stretch continues.
    pub(crate) fn take_all(&mut self) -> Option<Error> {
        Self::take_first(&mut self.failed)
    }

    fn take_first(failed: &mut [FailedCommands]) -> Option<Error> {
        let first = failed.iter().find(|failed| failed.sticky).map(|failed| failed.error.clone());
        failed.iter_mut().for_each(|failed| failed.sticky = false);
        first
    }

    /// Records that commands have failed. A command that has failed before keeps its first error.
    pub(crate) fn fail(&mut self, stamps: RangeInclusive<Stamp>, error: &Error) {
        self.insert(stamps, error, true);
    }

    /// Records that the program has cancelled commands. A command that has failed before keeps its first error.
    pub(crate) fn cancel(&mut self, stamps: RangeInclusive<Stamp>, error: &Error) {
        self.insert(stamps, error, false);
    }

    fn insert(&mut self, stamps: RangeInclusive<Stamp>, error: &Error, sticky: bool) {
        let (mut first, last) = stamps.into_inner();
        let mut at = self.failed.partition_point(|known| *known.stamps.end() < first);
        while first <= last {
            let next = self.failed.get(at).map(|known| known.stamps.clone());
            let known = next.filter(|known| *known.start() <= last);
            let end = known.as_ref().map_or(last, |known| Stamp(known.start().0.saturating_sub(1)));
            if first <= end {
                self.failed.insert(at, FailedCommands { stamps: first..=end, error: error.clone(), sticky });
                at += 1;
            }
            let Some(known) = known else { break };
            (first, at) = (Stamp(known.end().0 + 1), at + 1);
        }
        self.tidy();
    }

    /// Extends the last failure to the stamp `last`.
    pub(crate) fn extend_last(&mut self, last: Stamp) {
        if let Some(FailedCommands { stamps, .. }) = self.failed.last_mut() {
            *stamps = *stamps.start()..=last.max(*stamps.end());
        }
    }

    /// Returns the error of a command, if it has one.
    pub(crate) fn error_of(&self, stamp: Stamp) -> Option<&Error> {
        self.failure(stamp).map(|failure| &failure.error)
    }

    /// Returns the error of a command, if it has one that the program has not taken.
    #[inline]
    pub(crate) fn sticky(&self, stamp: Stamp) -> Option<&Error> {
        if self.failed.is_empty() {
            return None;
        }
        self.failure(stamp).filter(|failure| failure.sticky).map(|failure| &failure.error)
    }

    fn failure(&self, stamp: Stamp) -> Option<&FailedCommands> {
        let at = self.failed.partition_point(|failure| *failure.stamps.end() < stamp);
        self.failed.get(at).filter(|failure| failure.stamps.contains(&stamp))
    }

    /// Returns `true` if no failure is kept.
    pub(crate) fn is_empty(&self) -> bool {
        self.failed.is_empty()
    }

    /// Returns the number of failures and stretches that are kept.
    pub(crate) fn len(&self) -> usize {
        self.failed.len() + self.before.len()
    }

    /// Drops the failures that no watch refers to. Runs only once the number of entries has doubled, to keep the cost
    /// per failure small.
    fn tidy(&mut self) {
        if self.len() <= 2 * self.kept + 2 * NEWEST {
            return;
        }
        self.before.retain(|(_, stretch)| stretch.strong_count() > 0);
        let before = &self.before;
        let first = self.first;
        let newest = self.failed.len().saturating_sub(NEWEST);
        let mut at = 0;
        self.failed.retain(|FailedCommands { stamps, .. }| {
            at += 1;
            let next = before.partition_point(|(held, _)| held.end() < stamps.start());
            let held = before.get(next).is_some_and(|(held, _)| held.start() <= stamps.end());
            held || at > newest || *stamps.end() >= first
        });
        self.kept = self.len();
    }
}

#[cfg(all(test, not(fencepost_loom)))]
mod complete_tests {
    use super::*;
    use crate::device::{KeptResources, Lane, LaneValue, Recorder, SubmitFailure};
    use crate::memory::uses::Policy;
    use crate::record::cpu::cpu_device::CpuDevice;
    use crate::record::cpu::cpu_recorder as cpu;
    use crate::record::cpu::cpu_recorder::SimulatorOptions;
    use crate::runtime::context_threads::ContextThreads;
    use crate::scheduler::test_engine::{enqueue, finish, queue};
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::{Duration, Instant};

    /// The driver's ticks, and their number when a batch dropped its resources: `u32::MAX` before that.
    #[derive(Clone)]
    struct Ticks {
        device: Arc<CpuDevice>,
        dropped_after: Arc<AtomicU32>,
    }

    impl Ticks {
        fn count(&self) -> u32 {
            self.device.ticks.load(Ordering::SeqCst)
        }

        /// Waits until there are more ticks than `before` returns. Returns `false` if `limit` passed first.
        fn wait(&self, limit: Duration, before: impl Fn() -> u32) -> bool {
            let end = Instant::now() + limit;
            while self.count() <= before() && Instant::now() < end {
                std::thread::yield_now();
            }
            self.count() > before()
        }
    }

    /// A resource of a batch. Its drop takes so long that the lane thread polls meanwhile.
    struct Kept(Ticks);

    impl Drop for Kept {
        fn drop(&mut self) {
            let before = self.0.count();
            self.0.wait(Duration::from_millis(50), || before);
            self.0.dropped_after.store(self.0.count(), Ordering::SeqCst);
        }
    }

    struct Keeping(Box<dyn Recorder>, Ticks);

    impl Recorder for Keeping {
        fn submit(
            &mut self,
            steps: &Arc<Vec<Step>>,
            waits: &[LaneValue],
            signal: TimelineValue,
        ) -> Result<KeptResources, SubmitFailure> {
            self.0.submit(steps, waits, signal)?;
            Ok(Some(Box::new(Kept(self.1.clone()))))
        }
    }

    #[test]
    fn the_driver_ticks_after_the_resources_of_a_batch_are_dropped() {
        let (device, lanes) = cpu::open(&SimulatorOptions::default());
        let ticks = Ticks { device: device.clone(), dropped_after: Arc::new(AtomicU32::new(u32::MAX)) };
        let keeping = |lane: Lane| Lane { recorder: Box::new(Keeping(lane.recorder, ticks.clone())), ..lane };
        let lanes = lanes.into_iter().map(keeping).collect();
        let engine = Engine::new(device, lanes, Policy::Ordered, true);
        let threads = ContextThreads::start(&engine);
        finish(&engine, enqueue(&engine, queue(&engine)));
        let dropped_after = || ticks.dropped_after.load(Ordering::SeqCst);
        assert!(ticks.wait(Duration::from_secs(10), dropped_after), "the driver did not tick after the drop");
        threads.end(&engine, &Arc::default());
    }
}

#[cfg(test)]
mod failed_batch_tests {
    use super::*;
    use crate::error::{CommandKind, ErrorDetail};
    use crate::memory::read_slot::ReadSlot;
    use crate::scheduler::test_engine::{
        block, engine, enqueue_work, fill, finish, graph_plan, here, node, queue, queues, span,
    };
    use crate::scheduler::wakers::Deadline;
    use crate::work::graph::plan::PlanParts;
    use crate::work::graph::run::{GraphRun, GraphStep};

    /// Plans up to `point`, and lets the device refuse a step of the batch. `before` says if the batch had already been
    /// refused once.
    fn refuse(engine: &Engine, point: Point, step: usize, before: bool) {
        let mut state = engine.lock();
        state.plan([point], Priority::Normal);
        let mut batch = state.lanes[0].take(Priority::Normal).expect("the batch is planned");
        batch.refused = before;
        state.lanes[0].token = true;
        drop(state);
        let steps = Arc::new(std::mem::take(&mut batch.steps));
        let object = "a step".into();
        let message = "refused by the test".into();
        let failure = SubmitFailure {
            step: Some(step),
            error: ErrorDetail::Device { object, message }.into(),
            lost: false,
        };
        engine.fail_batch(0, batch, steps, failure);
    }

    #[test]
    fn r01_a_queue_fails_alone_but_all_queues_fail_with_the_contexts_own_work() {
        for (step, failed) in [(0, [true; 3]), (1, [false, true, false])] {
            let engine = engine(false);
            let [one, two] = queues(&engine);
            let array = block();
            let slots = [Slot::CONTEXT, one, two];
            let points = slots.map(|slot| enqueue_work(&engine, slot, fill(&array)));
            refuse(&engine, points[1], step, false);
            let state = engine.lock();
            assert_eq!(slots.map(|slot| state.queue(slot).error.is_some()), failed, "step {step}");
        }
    }

    #[test]
    fn d07_a_command_of_the_context_that_fails_alone_fails_no_queue() {
        let engine = engine(false);
        let slot = queue(&engine);
        let array = block();
        let points = [Slot::CONTEXT, slot].map(|slot| enqueue_work(&engine, slot, fill(&array)));
        engine.lock().plan(points, Priority::Normal);
        engine.submit_one(0);
        let error = Error::from(ErrorDetail::Busy { array: "x".into() });
        engine.lock().fail_alone(Slot::CONTEXT, points[0].stamp, &error);
        finish(&engine, points[1]);
        let outcome = engine.wait(points[0], Deadline::after(None));
        assert!(outcome.is_err_and(|found| found.is(&error)));
        finish(&engine, enqueue_work(&engine, slot, fill(&array)));
        assert!(engine.take_context_error().is_some_and(|found| found.is(&error)));
        assert!(engine.take_context_error().is_none());
    }

    #[test]
    fn r01_a_refused_part_of_a_graph_has_the_outputs_of_its_own_nodes() {
        let read = |output: u32| {
            let work = Work::Read { src: span(&block()), slot: ReadSlot::new() };
            let node = node(work, CommandKind::Read);
            node.with_command(Arc::new(node.command.with_output(output)))
        };
        let nodes = [0, 1, 2].map(read).into();
        let plan = graph_plan(PlanParts { calls: Vec::from([1]), ..PlanParts::of_one_queue(nodes) });
        let outputs = (0..3).map(|_| ReadSlot::new()).collect();
        let run = GraphRun::new(plan, outputs, Vec::new(), here());
        let place = |slot: &Arc<ReadSlot>| run.outputs.iter().position(|known| Arc::ptr_eq(known, slot));
        let of = |segment: u32| -> Vec<_> {
            let step = GraphStep { run: run.clone(), segment: Some(segment) };
            step.outputs().map(place).collect()
        };
        assert_eq!([of(0), of(1)], [vec![Some(0)], vec![Some(1), Some(2)]]);
    }
}

#[cfg(test)]
mod failure_history_tests;
