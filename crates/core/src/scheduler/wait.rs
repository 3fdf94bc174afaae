//! Waits, which block until a point, a batch or an event is done; and flushes and polls, which start and advance that
//! work. A blocked caller repeatedly chooses and takes a step. S is the state lock.
//!
//! A wait fails if a function that receives printed lines keeps it from ever ending.

#[cfg(test)]
mod task_tests;
#[cfg(test)]
mod wait_tests;

use crate::device::checks::{FunctionWait, is_set};
use crate::error::{Error, ErrorDetail, Result};
use crate::memory::read_slot::MessageSource;
use crate::scheduler::batch::BatchStatus;
use crate::scheduler::callbacks::Blocked;
use crate::scheduler::engine::{Engine, SLICE};
use crate::scheduler::plan::PlanRest;
use crate::scheduler::plan::open_batch::DueCommands;
use crate::scheduler::queue::{HoldReason, PointProgress};
use crate::scheduler::queues::Priority;
use crate::scheduler::relay::{Relay, SignalledBy, UserSignal};
use crate::scheduler::state::State;
use crate::scheduler::threads::{
    SignallingMark, ThreadWakeups, is_inside_callback, replace_lane_thread, replace_lane_thread_in_task,
};
use crate::scheduler::wakers::{Deadline, WakeCondition};
use fencepost_sync::loader::holds_loader_lock;
use fencepost_sync::prim::{MutexGuard, lock};
use fencepost_sync::{Clock, HoldId, Point, Seq, Slot, TimelineValue};
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

/// Progress of what a wait waits for.
pub(crate) enum TargetState {
    /// The target has ended with this result.
    Done(Result<()>),
    /// The target is planned, but this batch must still complete, or be submitted if the target is a submission.
    In(Seq),
    /// The target is not planned, or is an event that is not signalled.
    Unplanned,
}

/// Maximum number of steps in a batch that a waiting caller encodes itself, so that encoding takes negligible time.
const SMALL_BATCH: usize = 64;

impl State {
    pub(crate) fn target_state(&self, target: WaitTarget<'_>) -> TargetState {
        if let Some(forked) =
            self.lost.as_ref().filter(|lost| matches!(lost.detail(), ErrorDetail::Forked { .. }))
        {
            return TargetState::Done(Err(forked.clone()));
        }
        match target {
            WaitTarget::Batch(seq) if self.batches.is_done(seq) => TargetState::Done(Ok(())),
            WaitTarget::Batch(seq) => TargetState::In(seq),
            WaitTarget::Point(point) | WaitTarget::Submitted(point) => match self.reached(point) {
                PointProgress::Done => TargetState::Done(self.queue(point.slot).result(point.stamp)),
                PointProgress::Planned(_) if target.is_submission() && self.lost.is_none() => {
                    self.unsubmitted_before(point).map_or(TargetState::Done(Ok(())), TargetState::In)
                }
                PointProgress::Planned(seq) => TargetState::In(seq),
                PointProgress::Unplanned => TargetState::Unplanned,
            },
            WaitTarget::User(event) => event.result().map_or(TargetState::Unplanned, TargetState::Done),
        }
    }

    /// Returns the relay that will release the queue of an unplanned point, if another context holds that queue.
    pub(crate) fn held_by(&self, point: Point) -> Option<Arc<Relay>> {
        // The queue may be held only because it waits for another held queue, so the wait for the event may be at the
        // front of any queue.
        let Some(HoldReason::User(hold)) = self.queue(point.slot).hold else { return None };
        let waits = self.reached(point) == PointProgress::Unplanned;
        Relay::of(self.queues.held_event(hold).filter(|_| waits)?)
    }

    /// Marks every command up to `point` as requested, and plans them unless the lane thread will do so. Returns `true`
    /// if this call has planned them.
    fn plan_up_to(&mut self, point: Point) -> bool {
        if self.lost.is_some() || self.reached(point) != PointProgress::Unplanned {
            return false;
        }
        self.queue_mut(point.slot).request(point.stamp);
        if self.will_be_planned(point.slot) {
            return false;
        }
        let lane = self.queue(point.slot).lane;
        let priority = self.queue(point.slot).priority;
        self.plan([point], priority);
        if self.lanes[lane].has_thread {
            self.note_own_planning(point.slot);
        }
        true
    }

    /// Moves a batch that is not submitted, with its dependencies, to the front of its list, and raises it to at least
    /// normal priority.
    fn lift(&mut self, seq: Seq) {
        self.raise_priority(seq, Priority::Normal);
        self.move_to_front(seq);
    }

    /// Returns `true` if the lane thread will plan a queue, because an unsubmitted batch of its lane and priority is
    /// already planned. If the queue can pass that batch, the thread plans it at once. Returns `false` for the context
    /// queue, which the caller plans itself.
    fn will_be_planned(&self, slot: Slot) -> bool {
        let queue = self.queue(slot);
        let lane = &self.lanes[queue.lane];
        lane.has_thread && slot != Slot::CONTEXT && !lane.ready[queue.priority as usize].is_empty()
    }

    /// Returns `true` if a caller may submit the next batch of a queue's lane and priority itself: nothing is in
    /// flight on the lane, and the batch is small.
    fn has_quick_batch(&self, slot: Slot) -> bool {
        let queue = self.queue(slot);
        let front = self.lanes[queue.lane].ready[queue.priority as usize].front();
        self.can_submit(queue.lane) && front.is_some_and(|batch| batch.steps.len() <= SMALL_BATCH)
    }

    /// Returns `true` if a lane has nothing in flight and a batch that can be submitted now.
    pub(crate) fn can_submit(&self, lane: usize) -> bool {
        let at = &self.lanes[lane];
        at.timeline.in_flight() == 0 && !at.token && self.choose(lane).is_some()
    }

    /// Checks that this thread is not inside a function that receives printed lines and that the target waits for.
    ///
    /// # Errors
    /// `WaitInPrint`.
    pub(crate) fn check_print(&self, target: WaitTarget<'_>) -> Result<()> {
        if !self.deliveries.are_here() {
            return Ok(());
        }
        Err(ErrorDetail::WaitInPrint { awaited: awaited(self, target) }.into())
    }

    /// Returns an error if a target waits for the compilation of a kernel, and this thread keeps the compiler's thread
    /// from starting.
    fn uncompiled(&self, target: WaitTarget<'_>) -> Option<Error> {
        let point = target.point().filter(|_| holds_loader_lock())?;
        let Some(HoldReason::User(hold)) = self.queue(point.slot).hold else { return None };
        let waits = self.reached(point) == PointProgress::Unplanned;
        let event = self.queues.held_event(hold).filter(|_| waits)?;
        let compiles = event.signalled_by() == SignalledBy::OwnThread;
        compiles.then(|| Error::no_thread_starts(format!("a kernel of {}", awaited(self, target))))
    }

    /// Returns `true` if a target waits for the messages of a launch, even if only through an earlier callback.
    fn awaits_messages(&self, target: WaitTarget<'_>) -> bool {
        let batch = match (self.target_state(target), target.point()) {
            (TargetState::In(seq), _) => Some(seq),
            (TargetState::Unplanned, Some(point)) => match self.queue(point.slot).hold {
                Some(HoldReason::Drain(slot)) => self.queue(slot).first_batch(),
                _ => None,
            },
            _ => None,
        };
        batch.is_some_and(|seq| self.batches.status(seq) == BatchStatus::Delivery)
    }
}

impl Engine {
    /// Blocks until `point` is complete. Returns `false` if the deadline passes first.
    ///
    /// The call plans and submits the commands that the point needs. From time to time it also plans requested commands
    /// of other queues, so that repeated waits do not starve them.
    pub(crate) fn wait(&self, point: Point, deadline: Deadline) -> Result<bool> {
        self.wait_for(WaitTarget::Point(point), deadline)
    }

    /// Blocks until `target` is complete. Returns `false` if the deadline passes first.
    pub(crate) fn wait_for(&self, target: WaitTarget<'_>, deadline: Deadline) -> Result<bool> {
        // The first turn ignores the deadline, so that repeated waits with a zero limit make progress.
        let mut stepped = false;
        let mut blocked = None;
        let mut planned = PlanRest::default();
        // Record of this wait, if this thread is executing a host function.
        let mut function = None;
        // This wait may be inside user code that a signal of this thread called, and may need a callback. So clear the
        // signalling mark, under which a thread runs no callbacks.
        let _mark = SignallingMark::set(false);
        // If a destructor or waker of the program waits on a lane thread, another thread must submit the work of that
        // lane.
        replace_lane_thread();
        loop {
            let mut state = self.lock();
            if let Some(result) = self.result_or_plan(&mut state, target, &mut planned) {
                self.unlock(state);
                return result.map(|()| true);
            }
            if stepped && deadline.has_passed() {
                self.unlock(state);
                if !self.threads {
                    self.poll_loss(); // there is no other thread to poll
                }
                return Ok(false);
            }
            let is_own = !matches!(target, WaitTarget::User(_));
            if is_own && function.is_none() {
                function = self.begin_function_wait(deadline);
                if function.is_none() {
                    let error = wait_in_kernel(&state, target);
                    self.unlock(state);
                    return Err(error);
                }
            }
            if is_inside_callback() {
                self.unlock(state);
                // Release S first: the check takes the S of other contexts, and no thread may hold two of them.
                self.check_wait(target, deadline, &mut blocked)?;
                state = self.lock();
            }
            state.report_guards();
            if deadline.is_endless()
                && let Some(error) = self.endless_wait_error(&state, target)
            {
                self.unlock(state);
                return Err(error);
            }
            let step = match state.target_state(target) {
                TargetState::Done(_) => {
                    self.unlock(state);
                    continue;
                }
                TargetState::In(seq) => self.next_step(&mut state, seq),
                TargetState::Unplanned => match planned.after {
                    Some(seq) => self.next_step(&mut state, seq),
                    None if planned.roots.is_empty() => self.step_of_unplanned(&mut state, target),
                    None => {
                        self.unlock(state);
                        // One planning takes a limited number of commands; the next turn plans more. In between, other
                        // threads can take S.
                        self.yield_lock();
                        stepped = true;
                        continue;
                    }
                },
            };
            self.take_step(state, step, deadline, target)?;
            stepped = true;
        }
    }

    /// Returns `true` if this thread is executing a host function for the device.
    pub(crate) fn is_in_function(&self) -> bool {
        self.device.number_for_functions().is_some_and(is_set)
    }

    /// Records that this thread waits for the device, if it is executing a host function. Returns `None` if the wait
    /// can never end.
    fn begin_function_wait(&self, deadline: Deadline) -> Option<FunctionWait> {
        let begin = |device| FunctionWait::begin(device, deadline.is_endless());
        self.device.number_for_functions().map_or_else(|| Some(FunctionWait::default()), begin)
    }

    /// Returns the result of the target, or the loss of the device. If there is neither, plans the target, unless a
    /// batch of the last planning must complete first. Stores what is left to plan in `planned`.
    fn result_or_plan(
        &self,
        state: &mut State,
        target: WaitTarget<'_>,
        planned: &mut PlanRest,
    ) -> Option<Result<()>> {
        if let TargetState::Done(result) = state.target_state(target) {
            return Some(result);
        }
        if let Err(lost) = state.check_not_lost() {
            return Some(Err(lost));
        }
        state.plan_target(target, planned);
        None
    }

    /// Returns an error if this wait is in a callback and could never end. Records an unlimited wait in `blocked`, so
    /// that callbacks on other threads detect cycles through it.
    fn check_wait(
        &self,
        target: WaitTarget<'_>,
        deadline: Deadline,
        blocked: &mut Option<Blocked>,
    ) -> Result<()> {
        self.lock().check_print(target)?;
        let Some(point) = target.point() else { return Ok(()) };
        if deadline.is_endless() {
            blocked.get_or_insert_with(|| Blocked::note(self, point)).renew(self, point);
        }
        self.check_cycles(point)
    }

    /// Starts everything enqueued on a queue, with all its dependencies.
    pub(crate) fn flush(&self, slot: Slot, caller: Caller) -> Result<()> {
        let state = self.lock();
        state.check(slot)?;
        self.flush_locked(state, slot, caller);
        Ok(())
    }

    /// Like [`flush`](Self::flush), even on a failed queue. Releases S.
    pub(crate) fn flush_locked<'a>(&'a self, mut state: MutexGuard<'a, State>, slot: Slot, caller: Caller) {
        let end = state.queue(slot).end(slot);
        if caller == Caller::Continues && self.device.postpones() && state.queues.have_device_work_only() {
            // The commands are planned later, together with commands of other queues: at the lane thread's next tick
            // or, without threads, at the next wait. The program sees no difference, because nothing on the host
            // depends on them.
            if !self.threads {
                state.queue_mut(slot).request(end.stamp);
            }
            self.unlock(state);
        } else if caller == Caller::Continues && self.threads && state.queues.one_priority() {
            state.queue_mut(slot).request(end.stamp);
            // The lane thread plans the queue, so that commands flushed together share a batch.
            self.notify_lane(state, slot);
        } else {
            self.submit_up_to(state, end, caller);
        }
    }

    /// Starts everything up to a point, with all its dependencies, and releases S. Plans the point on this thread,
    /// unless the lane thread will do so. If the caller waits and nothing is in flight on the lane, this thread also
    /// submits a small batch itself.
    pub(crate) fn submit_up_to<'a>(&'a self, mut state: MutexGuard<'a, State>, point: Point, caller: Caller) {
        let planned = state.plan_up_to(point);
        let lane = state.queue(point.slot).lane;
        let submits = planned && caller == Caller::Waits && self.threads && self.lanes[lane].async_submit;
        if submits && state.has_quick_batch(point.slot) {
            state = self.submit_watched(state, lane);
            if !state.lanes[lane].rest.is_deep() {
                // The caller will wait for the batch itself, so the completer is not notified. If the caller drops the
                // result instead, the lane thread notifies the completer at its next tick.
                return;
            }
        }
        self.unlock(state);
        if !self.threads {
            self.make_progress(Duration::ZERO);
        }
    }

    /// Returns `true` if a point is complete. Otherwise flushes it. Never blocks.
    pub(crate) fn is_complete(&self, point: Point, clock: &Clock) -> Result<bool> {
        let state = self.lock();
        if state.reached(point) != PointProgress::Done {
            state.check_not_lost()?;
            self.submit_up_to(state, point, Caller::Continues);
            self.poll_lanes();
            if let Some(relay) = self.held_by(point) {
                relay.poll(Waker::noop());
            }
        } else {
            drop(state);
        }
        let mut state = self.lock();
        if state.reached(point) != PointProgress::Done {
            state.report_guards();
            return state.check_not_lost().map(|()| false);
        }
        let answer = state.queue(point.slot).result(point.stamp);
        state.report_done(point, clock, &answer);
        answer.map(|()| true)
    }

    /// Returns the result of a point if it is complete. Otherwise flushes it and registers `waker` to be called on
    /// completion.
    pub(crate) fn poll(&self, point: Point, waker: &Waker) -> Option<Result<()>> {
        self.poll_stage(WaitTarget::Point(point), point, waker)
    }

    /// Like [`poll`](Self::poll), for the submission of everything up to a point.
    pub(crate) fn poll_submission(&self, point: Point, waker: &Waker) -> Option<Result<()>> {
        self.poll_stage(WaitTarget::Submitted(point), point, waker)
    }

    /// Polls for the completion or the submission of `point`, which `target` names.
    fn poll_stage(&self, target: WaitTarget<'_>, point: Point, waker: &Waker) -> Option<Result<()>> {
        let mut state = match self.registered(target, waker) {
            Ok(state) => state,
            Err(result) => return Some(result),
        };
        state.report_guards();
        if self.is_in_function() {
            let error = wait_in_kernel(&state, target);
            self.unlock(state);
            return Some(Err(error));
        }
        if let Some(error) = self.overdue_messages(&state, target) {
            self.unlock(state);
            return Some(Err(error));
        }
        if is_inside_callback() {
            return self.poll_inside(state, point, waker);
        }
        if polls_endlessly() {
            state.plan_up_to(point);
            if let TargetState::In(seq) = state.target_state(target)
                && let BatchStatus::Ready(_) = state.batches.status(seq)
            {
                state.lift(seq);
            }
        }
        self.submit_up_to(state, point, Caller::Continues);
        let mut state = self.lock();
        state.register_repoll(point);
        if polls_endlessly()
            && let Err(error) = state.check_guards(point)
        {
            self.unlock(state);
            return Some(Err(error));
        }
        drop(state);
        self.drive(point, waker).map(Err)
    }

    /// Advances the work before `point` if no thread does so: in another context that holds the queue of the point, or
    /// in this context if it has no threads. In that case, `waker` is called as long as work remains. Returns an error
    /// if the point can never be reached.
    ///
    /// # Errors
    /// Returns `WouldDeadlock` if the point comes after a callback that waits for this poll.
    pub(crate) fn drive(&self, point: Point, waker: &Waker) -> Option<Error> {
        if let Some(relay) = self.held_by(point) {
            return relay.poll(waker);
        }
        self.repoll(waker);
        None
    }

    /// Returns the result of a target if it has ended. Otherwise registers `waker` to be called when it ends.
    pub(crate) fn register_waker(&self, target: WaitTarget<'_>, waker: &Waker) -> Option<Result<()>> {
        self.registered(target, waker).err()
    }

    /// Registers `waker` for a target and returns S. If the target already has a result, or the device is lost, returns
    /// the result or the loss as `Err`.
    fn registered(&self, target: WaitTarget<'_>, waker: &Waker) -> Result<MutexGuard<'_, State>, Result<()>> {
        // The polling code may be a waker on a lane thread that then blocks until the target is done. So another thread
        // must take over that lane.
        replace_lane_thread_in_task();
        let mut state = self.lock();
        if let TargetState::Done(result) = state.target_state(target) {
            return Err(result);
        }
        state.check_not_lost().map_err(Err)?;
        state.waiters.wakers.register(target.wake_condition(), waker);
        if let WaitTarget::Submitted(point) = target {
            // A change of the queue's hold wakes only the tasks that wait for a point.
            state.waiters.wakers.register(WakeCondition::point(point), waker);
        }
        Ok(state)
    }

    /// Like [`poll`](Self::poll), for a batch or an event. Flushes nothing.
    pub(crate) fn poll_unflushed(&self, target: WaitTarget<'_>, waker: &Waker) -> Option<Result<()>> {
        let state = match self.registered(target, waker) {
            Ok(state) => state,
            Err(result) => return Some(result),
        };
        self.unlock(state);
        if !self.threads {
            self.make_progress(Duration::ZERO);
        }
        self.repoll(waker);
        None
    }

    /// Returns the relay that will release the queue of an unplanned point, if another context holds that queue.
    pub(crate) fn held_by(&self, point: Point) -> Option<Arc<Relay>> {
        self.lock().held_by(point)
    }

    /// Parks until a change is notified, for at most `limit`, if `hold` still holds a queue.
    pub(crate) fn park_while_held(&self, hold: HoldId, limit: Duration) {
        let state = self.lock();
        if !state.queues.held(HoldReason::User(hold)).is_empty() {
            self.park(state, limit);
        }
    }

    /// Wakes the task at once while work remains, in a context without threads, because there only polling makes
    /// progress. A taken token of a lane and a running delivery of messages count as work. Does nothing in a browser:
    /// there microtasks make progress, and a task that polls again at once would keep the device's messages from being
    /// processed.
    fn repoll(&self, waker: &Waker) {
        if self.threads || cfg!(target_arch = "wasm32") {
            return;
        }
        let state = self.lock();
        let submits = state.lanes.iter().any(|lane| lane.token);
        let busy = submits || state.can_make_progress() || state.deliveries.running.is_some();
        drop(state);
        if busy {
            waker.wake_by_ref();
        }
    }

    /// Returns the result of `event`, which belongs to this context, if it has ended. Otherwise registers `waker` for
    /// its end.
    pub(crate) fn register_signal_waker(&self, event: &UserSignal, waker: &Waker) -> Option<Result<()>> {
        let mut state = self.lock();
        let result = event.result();
        if result.is_none() {
            state.waiters.wakers.register(WakeCondition::User(event.hold), waker);
        }
        result
    }

    /// Returns `true` if a user event has ended. In a context without threads, also runs the due callbacks, because one
    /// of them may signal the event.
    pub(crate) fn is_signalled(&self, event: &UserSignal) -> Result<bool> {
        if event.result().is_none() {
            self.poll_lanes();
            if !self.threads {
                self.make_progress(Duration::ZERO);
            }
        }
        match event.result() {
            Some(result) => result.map(|()| true),
            None => self.lock().check_not_lost().map(|()| false),
        }
    }

    /// Plans the due commands of all lanes, runs the due callbacks and submits batches. Returns `true` if it ran or
    /// submitted anything.
    pub(crate) fn plan_and_submit(&self, due: DueCommands) -> bool {
        self.plan_then_submit(due).0
    }

    /// Like [`plan_and_submit`](Self::plan_and_submit). Also returns `true` if it planned anything: one planning takes a
    /// limited number of commands, and those that have failed are in no batch.
    fn plan_then_submit(&self, due: DueCommands) -> (bool, bool) {
        let mut state = self.lock();
        (0..self.lanes.len()).for_each(|lane| state.plan_lane(lane, due));
        let planned = state.after.planned_any;
        let mut any = if state.after.is_empty() && !state.callbacks.are_due() {
            drop(state);
            false
        } else {
            self.unlock(state);
            self.run_due_callbacks()
        };
        for lane in 0..self.lanes.len() {
            while self.submit_next(lane, self.lock(), Some(due)) {
                any = true;
            }
        }
        (any, planned)
    }

    /// Does one turn of the work of all threads, for contexts without threads. Requested commands come first; the
    /// others are planned once no batch is planned or in flight. Then waits for the oldest submission of each lane, for
    /// at most `limit`. Returns `true` if it planned, ran, submitted or completed anything.
    pub(crate) fn make_progress(&self, limit: Duration) -> bool {
        let completed = self.completions();
        let (mut any, mut planned) = self.plan_then_submit(DueCommands::Requested);
        if !any && self.lock().nothing_in_flight() {
            let (ran, more) = self.plan_then_submit(DueCommands::All);
            any = ran;
            planned |= more;
        }
        for lane in 0..self.lanes.len() {
            let oldest = {
                let state = self.lock();
                let timeline = state.lanes[lane].timeline;
                (timeline.in_flight() > 0).then(|| TimelineValue(timeline.completed().0 + 1))
            };
            match oldest {
                Some(value) => self.wait_native(lane, value, limit),
                None if !limit.is_zero() => self.poll_loss(),
                None => {}
            }
        }
        if !self.threads {
            any |= self.deliver_due();
        }
        any || planned || self.completions() != completed
    }

    /// Returns the number of completed submissions of all lanes.
    fn completions(&self) -> u64 {
        self.lock().lanes.iter().map(|lane| lane.timeline.completed().0).sum()
    }

    /// Returns the next step toward a target that cannot be planned yet.
    pub(crate) fn step_of_unplanned(&self, state: &mut State, target: WaitTarget<'_>) -> WaitStep {
        let Some(point) = target.point() else { return WaitStep::Sleep };
        match state.chunk_before(point) {
            Some(seq) if state.batches.is_done(seq) => WaitStep::ContinueLoop,
            Some(seq) => self.next_step(state, seq),
            None => state.held_by(point).map_or(WaitStep::Sleep, WaitStep::OtherContext),
        }
    }

    /// Returns the next step of a caller that waits for a planned batch. [Lifts](State::lift) a batch that is not
    /// submitted.
    pub(crate) fn next_step(&self, state: &mut State, seq: Seq) -> WaitStep {
        let Some(lane) = state.batches.get(seq).map(|info| info.lane) else { return WaitStep::Sleep };
        match state.batches.status(seq) {
            BatchStatus::Submitted(value) => WaitStep::Native(lane, value),
            BatchStatus::Ready(_) => {
                state.lift(seq);
                // If the batch depends on an unsubmitted batch of another lane, only that lane can submit now, so try
                // every lane.
                let mut lanes = std::iter::once(lane).chain(0..self.lanes.len());
                let ready_lane = lanes.find(|&lane| self.lanes[lane].async_submit && state.can_submit(lane));
                ready_lane.map_or(WaitStep::SleepFor(seq), WaitStep::Submit)
            }
            _ => WaitStep::SleepFor(seq),
        }
    }

    /// Takes the next step of a blocked caller, which takes at most one slice of time, and releases S.
    pub(crate) fn take_step(
        &self,
        mut state: MutexGuard<'_, State>,
        step: WaitStep,
        deadline: Deadline,
        target: WaitTarget<'_>,
    ) -> Result<()> {
        let slice = deadline.slice();
        match step {
            // Deferred user code must run before this caller becomes a watcher of the lane, because it may take long or
            // wait for this lane, and the completer sleeps while there is a watcher.
            WaitStep::Native(..) if state.after.has_code() => self.unlock(state),
            WaitStep::Native(lane, value) => {
                // A caller becomes a watcher only if it waits for the oldest submission. Otherwise no thread would
                // process the submissions before it, because the completer sleeps while there is a watcher.
                let next = TimelineValue(state.lanes[lane].timeline.completed().0 + 1);
                let watch = u32::from(value == next);
                state.lanes[lane].watchers += watch;
                self.unlock_with(state, &ThreadWakeups::default());
                if deadline.is_endless() {
                    self.lanes[lane].fence.execute_up_to(value);
                }
                self.wait_watched(lane, value, slice, watch);
                // The completion has already notified the parked callers.
                let mut state = self.lock();
                let wakeups = state.wakeups().without_callers();
                self.unlock_with(state, &wakeups);
            }
            WaitStep::OtherContext(relay) => {
                self.unlock(state);
                if deadline.is_endless() {
                    relay.check_guards()?;
                }
                relay.wait(slice)?;
            }
            WaitStep::ContinueLoop => {
                self.unlock(state);
                self.continue_loops();
            }
            WaitStep::Submit(lane) if self.threads && target.is_submission() => {
                // The caller does not wait for the batch to complete, so other threads must observe the completion.
                self.submit_next(lane, state, None);
            }
            WaitStep::Submit(lane) if self.threads => drop(self.submit_watched(state, lane)),
            step if self.threads || !state.can_make_progress() => {
                // The caller parks only if there are no deferred actions, because they may complete the target.
                let after = std::mem::take(&mut state.after);
                if after.is_empty() {
                    let wakeups = state.wakeups().without_callers();
                    self.notify(&wakeups);
                    match step {
                        WaitStep::SleepFor(seq) if self.threads => {
                            let point = target.point().filter(|_| !target.is_submission());
                            self.park_for(state, point, seq, slice);
                        }
                        _ => self.park(state, slice),
                    }
                } else {
                    state.after = after;
                    self.unlock(state);
                }
            }
            _ => {
                self.unlock(state);
                // In a context without threads, only callers make progress. A wait for a submission waits for the
                // device only if nothing could be submitted.
                if !target.is_submission() || !self.plan_and_submit(DueCommands::Requested) {
                    self.make_progress(deadline.left().min(target.longest_slice()));
                }
            }
        }
        Ok(())
    }

    /// Returns an error if a wait without a limit may never end: this thread holds a guard that holds back the target,
    /// or keeps a kernel from being compiled, or the function that receives printed lines takes too long.
    fn endless_wait_error(&self, state: &State, target: WaitTarget<'_>) -> Option<Error> {
        let guards = target.point().map_or(Ok(()), |point| state.check_guards(point));
        guards.err().or_else(|| state.uncompiled(target)).or_else(|| self.overdue_messages(state, target))
    }

    /// Returns an error if a target waits for messages, and the function that receives the lines takes so long that it
    /// may be waiting for this thread.
    pub(crate) fn overdue_messages(&self, state: &State, target: WaitTarget<'_>) -> Option<Error> {
        let running = state.deliveries.running.as_ref()?;
        let (limit, (receiver, remedy)) = {
            let options = lock(&self.print_options);
            (options.limit, options.to.receiver())
        };
        if !state.awaits_messages(target) || !running.is_older_than(limit) {
            return None;
        }
        let MessageSource { kernel, launch, .. } = &**running.read.messages()?;
        let awaited = awaited(state, target);
        let kernel = kernel.to_string();
        Some(ErrorDetail::PrintOverdue { awaited, receiver, remedy, kernel, launch, limit }.into())
    }
}

/// Returns `true` in a poll of a blocking call without a time limit. Only in a page does a blocking call poll.
fn polls_endlessly() -> bool {
    #[cfg(target_arch = "wasm32")]
    let endless = fencepost_sync::page::is_endless();
    #[cfg(not(target_arch = "wasm32"))]
    let endless = false;
    endless
}

/// Returns the error of a wait inside a host function that the device executes.
#[cold]
fn wait_in_kernel(state: &State, target: WaitTarget<'_>) -> Error {
    ErrorDetail::WaitInKernel { awaited: awaited(state, target) }.into()
}

fn awaited(state: &State, target: WaitTarget<'_>) -> String {
    match target {
        WaitTarget::Point(point) | WaitTarget::Submitted(point) => {
            format!("queue `{}`", state.queues.name_of(point))
        }
        WaitTarget::Batch(_) => "a submission".into(),
        WaitTarget::User(_) => "a user event".into(),
    }
}

/// Next step of a blocked caller.
pub(crate) enum WaitStep {
    /// The batch of the target is submitted: the caller waits until this lane's fence reaches this value.
    Native(usize, TimelineValue),
    /// This lane has a batch that can be submitted, and the target may depend on it: the caller submits that batch.
    Submit(usize),
    /// Another context holds the queue of the target: the caller waits through this relay.
    OtherContext(Arc<Relay>),
    /// A chunk of a loop is complete, and the caller reads if the loop goes on.
    ContinueLoop,
    /// Another thread must first make progress with this batch: the caller parks until the batch is done.
    SleepFor(Seq),
    /// Another thread must first make progress: the caller parks. Without threads, the caller does their work instead.
    Sleep,
}

/// Longest native wait for a point or a batch in a context without threads.
const LONGEST_WAIT_SLICE: Duration = Duration::from_secs(10);

/// Target of a wait.
#[derive(Clone, Copy)]
pub(crate) enum WaitTarget<'event> {
    Point(Point),
    /// The submission of everything up to a point.
    Submitted(Point),
    Batch(Seq),
    User(&'event UserSignal),
}

impl WaitTarget<'_> {
    /// Returns the longest native wait for this target in a context without threads. For an event it is short, because
    /// another thread may signal the event meanwhile. For other targets it is long, so that the outcome does not depend
    /// on how long a busy machine lets this thread sleep.
    pub(crate) fn longest_slice(self) -> Duration {
        if let WaitTarget::User(_) = self { SLICE } else { LONGEST_WAIT_SLICE }
    }

    /// Returns the point whose completion or submission is the target.
    pub(crate) fn point(self) -> Option<Point> {
        match self {
            WaitTarget::Point(point) | WaitTarget::Submitted(point) => Some(point),
            WaitTarget::Batch(_) | WaitTarget::User(_) => None,
        }
    }

    /// Returns `true` if the target ends before the device executes it.
    fn is_submission(self) -> bool {
        matches!(self, WaitTarget::Submitted(_))
    }

    /// Returns the condition on which a waker for this target is called.
    pub(crate) fn wake_condition(self) -> WakeCondition {
        match self {
            WaitTarget::Point(point) => WakeCondition::point(point),
            WaitTarget::Submitted(point) => WakeCondition::submitted(point),
            WaitTarget::Batch(seq) => WakeCondition::Batch(seq),
            WaitTarget::User(event) => WakeCondition::User(event.hold),
        }
    }
}

/// Next action of the caller of a flush. Only a thread that will wait may submit the batch itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller {
    Continues,
    Waits,
}
