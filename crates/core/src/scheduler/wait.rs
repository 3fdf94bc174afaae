//! The only calls that block.

use crate::error::{Error, Result};
use crate::scheduler::batch::Status;
use crate::scheduler::callback_cycles::Blocked;
use crate::scheduler::command::Op;
use crate::scheduler::deadline::Deadline;
use crate::scheduler::engine::Engine;
use crate::scheduler::plan::{DueCommands, PlanRest};
use crate::scheduler::priority::Priority;
use crate::scheduler::queue_state::{Hold, Reached};
use crate::scheduler::relay::Relay;
use crate::scheduler::state::{AfterUnlock, State};
use crate::scheduler::thread_posts::{replace_lane_thread, replace_lane_thread_in_task};
use crate::scheduler::user_signal::UserSignal;
use crate::scheduler::wakers::WakeCondition;
use fencepost_sync::prim::MutexGuard;
use fencepost_sync::{Clock, HoldId, Point, Seq, Slot, Value};
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

pub(crate) mod plan_ahead;

/// What a wait is for.
#[derive(Clone, Copy)]
pub(crate) enum WaitTarget {
    Point(Point),
    Batch(Seq),
}

/// Where that is.
enum TargetState {
    Done(Result<()>),
    In(Seq),
    Unplanned,
}

/// What a waiter does next.
enum WaitStep {
    /// The device has it: wait natively, on this very thread.
    Native(usize, Value),
    /// It is planned, and nothing stands before it: submit it on this very thread.
    Submit(usize),
    /// Another context has to move first.
    Elsewhere(Arc<Relay>),
    /// Somebody else has to move first.
    Sleep,
}

/// The longest wait in one piece of a context without threads.
const PATIENCE: Duration = Duration::from_secs(10);

/// Steps of a batch that a caller may encode itself in a time that nobody notices.
const FEW: usize = 64;

impl State {
    fn find(&self, target: WaitTarget) -> TargetState {
        match target {
            WaitTarget::Batch(seq) if self.batches.is_done(seq) => TargetState::Done(Ok(())),
            WaitTarget::Batch(seq) => TargetState::In(seq),
            WaitTarget::Point(point) => match self.reached(point) {
                Reached::Done => TargetState::Done(self.queue(point.slot).result(point.stamp)),
                Reached::Planned(seq) => TargetState::In(seq),
                Reached::Unplanned => TargetState::Unplanned,
            },
        }
    }

    /// What to do about something that cannot be planned yet.
    fn elsewhere(&self, target: WaitTarget) -> WaitStep {
        let relay = if let WaitTarget::Point(point) = target { self.held_by(point) } else { None };
        relay.map_or(WaitStep::Sleep, WaitStep::Elsewhere)
    }

    pub(crate) fn held_by(&self, point: Point) -> Option<Arc<Relay>> {
        let Some(Hold::User(hold)) = self.queue(point.slot).hold else { return None };
        let held = self.queues.iter().filter_map(|queue| queue.pending.front());
        held.filter(|_| self.reached(point) == Reached::Unplanned).find_map(|front| match &front.op {
            Op::WaitUser(event) if event.hold == hold => Relay::of(event),
            _ => None,
        })
    }

    /// Has `waker` called when `point` is done.
    fn register_waker(&mut self, point: Point, waker: &Waker) {
        self.wakers.register(WakeCondition::point(point), waker);
    }

    /// Has `waker` called when batch `seq` is done.
    fn register_batch_waker(&mut self, seq: Seq, waker: &Waker) {
        self.wakers.register(WakeCondition::Batch(seq), waker);
    }

    /// Whether a lane is idle and has a batch that depends on submitted ones only.
    fn can_submit(&self, lane: usize) -> bool {
        let at = &self.lanes[lane];
        at.timeline.in_flight() == 0 && !at.token && self.choose(lane).is_some()
    }

    /// Whether no queue is more urgent than another, so that nobody overtakes and batches may be as large as they come.
    pub(crate) fn one_priority(&self) -> bool {
        let mut open = self.queues.iter().skip(1).filter(|queue| queue.open).map(|queue| queue.priority);
        open.next().is_none_or(|first| open.all(|other| other == first))
    }

    /// Whether a caller may submit the next batch of a lane itself: nothing is running, and it is small.
    fn quick(&mut self, lane: usize, priority: Priority) -> bool {
        let can = self.can_submit(lane);
        can && self.lanes[lane].list(priority).front().is_some_and(|batch| batch.steps.len() <= FEW)
    }
}

impl Engine {
    /// Blocks until `point` is done; `false` if the deadline came first.
    ///
    /// Plans and submits what it needs, and no more.
    pub(crate) fn wait(&self, point: Point, deadline: Deadline) -> Result<bool> {
        self.wait_for(WaitTarget::Point(point), deadline)
    }

    /// Blocks until batch `seq` is done; `false` if the deadline came first.
    pub(crate) fn wait_batch(&self, seq: Seq, deadline: Deadline) -> Result<bool> {
        self.wait_for(WaitTarget::Batch(seq), deadline)
    }

    fn wait_for(&self, target: WaitTarget, deadline: Deadline) -> Result<bool> {
        // Even a wait of no time takes one turn: asked again and again, it ends.
        let (mut turned, mut blocked, mut planned) = (false, None, PlanRest::default());
        let _waits = crate::scheduler::thread_state::Signals::set(false);
        replace_lane_thread();
        loop {
            let mut state = self.lock();
            if let Some(result) = self.over(&mut state, target, &mut planned) {
                self.unlock(state);
                return result.map(|()| true);
            }
            if turned && deadline.over() {
                self.unlock(state);
                if !self.threads {
                    self.poll_loss(); // nobody else does
                }
                return Ok(false);
            }
            if crate::scheduler::thread_state::inside() {
                self.unlock(state);
                self.check_wait(target, deadline, &mut blocked)?;
                state = self.lock();
            }
            let make_progress = match state.find(target) {
                TargetState::Done(_) => {
                    self.unlock(state);
                    continue;
                }
                TargetState::In(seq) => self.turn_for(&mut state, seq),
                TargetState::Unplanned => match planned.after {
                    Some(seq) => self.turn_for(&mut state, seq),
                    None if planned.roots.is_empty() => state.elsewhere(target),
                    None => {
                        self.unlock(state);
                        self.let_others();
                        turned = true;
                        continue;
                    }
                },
            };
            self.take_turn(state, make_progress, deadline)?;
            turned = true;
        }
    }

    /// The result of what is waited for, if it has one; else plans it, as far as what was `planned` before allows.
    fn over(&self, state: &mut State, target: WaitTarget, planned: &mut PlanRest) -> Option<Result<()>> {
        if let TargetState::Done(result) = state.find(target) {
            return Some(result);
        }
        if let Err(lost) = state.lost() {
            return Some(Err(lost));
        }
        state.plan_target(target, planned);
        None
    }

    /// Refuses a wait in a callback that could never end; notes one that may, for the callbacks of other threads.
    fn check_wait(
        &self,
        target: WaitTarget,
        deadline: Deadline,
        blocked: &mut Option<Blocked>,
    ) -> Result<()> {
        let WaitTarget::Point(point) = target else { return Ok(()) };
        if deadline.is_endless() {
            blocked.get_or_insert_with(|| Blocked::note(self, point)).renew(self, point);
        }
        self.check_cycles(point)
    }

    /// What to do for a planned batch. Waiting for a queue of low priority lifts what it waits for.
    fn turn_for(&self, state: &mut State, seq: Seq) -> WaitStep {
        let Some(lane) = state.batches.get(seq).map(|info| info.lane) else { return WaitStep::Sleep };
        match state.batches.status(seq) {
            Status::Submitted(value) => WaitStep::Native(lane, value),
            Status::Ready(_) => {
                state.lift(seq, Priority::Normal);
                state.hurry(seq);
                // What it depends on may lie on another lane, and comes first.
                let mut lanes = std::iter::once(lane).chain(0..self.lanes.len());
                let own = lanes.find(|&lane| self.lanes[lane].async_submit && state.can_submit(lane));
                own.map_or(WaitStep::Sleep, WaitStep::Submit)
            }
            _ => WaitStep::Sleep,
        }
    }

    fn take_turn(
        &self,
        mut state: MutexGuard<'_, State>,
        make_progress: WaitStep,
        deadline: Deadline,
    ) -> Result<()> {
        let slice = deadline.slice();
        match make_progress {
            // That may take long, or wait for this lane itself.
            WaitStep::Native(..) if state.after.has_code() => self.unlock(state),
            WaitStep::Native(lane, value) => {
                // Only what comes next can be watched: nobody would notice what ends before it.
                let next = Value(state.lanes[lane].timeline.completed().0 + 1);
                let watch = u32::from(value == next);
                state.lanes[lane].watchers += watch;
                self.unlock_quietly(state);
                self.wait_watched(lane, value, slice, watch);
                self.notify_due_threads();
            }
            WaitStep::Elsewhere(relay) => {
                self.unlock(state);
                relay.wait(slice)?;
            }
            WaitStep::Submit(lane) if self.threads => drop(self.submit_watched(state, lane)),
            _ if self.threads || !state.busy() => {
                let after = std::mem::take(&mut state.after);
                if after.is_empty() {
                    let wakeups = state.wakeups().without_callers();
                    self.notify(&wakeups);
                    self.park(state, slice);
                } else {
                    state.after = after;
                    self.unlock(state);
                }
            }
            _ => {
                self.unlock(state);
                // Nobody else does anything meanwhile, and how long this thread sleeps on a busy machine must change
                // nothing.
                self.make_progress(deadline.left().min(PATIENCE));
            }
        }
        Ok(())
    }

    /// Submits the next batch of a lane for a caller who is about to wait for it. If it does not, the completer takes
    /// over: at once, or when the thread of the lane looks round.
    fn submit_soon_waited(&self, state: MutexGuard<'_, State>, lane: usize) {
        let state = self.submit_watched(state, lane);
        if state.lanes[lane].rest.is_deep() {
            self.unlock(state);
        }
    }

    /// Submits the next batch of a lane for a caller who looks for the end of it himself: nobody else is woken for
    /// that.
    fn submit_watched<'a>(&'a self, state: MutexGuard<'a, State>, lane: usize) -> MutexGuard<'a, State> {
        self.unlock_quietly(state);
        self.pump_watched(lane);
        self.lock()
    }

    fn unlock_quietly(&self, mut state: MutexGuard<'_, State>) {
        let AfterUnlock { dropped, wakers, times, .. } = std::mem::take(&mut state.after);
        drop(state);
        drop(times);
        crate::scheduler::deferred_calls::drop_all(dropped);
        crate::scheduler::deferred_calls::wake_all(wakers);
    }

    /// Starts everything enqueued on a queue, with all that it waits for.
    pub(crate) fn flush(&self, slot: Slot) -> Result<()> {
        let state = self.lock();
        state.check(slot)?;
        self.start(state, slot);
        Ok(())
    }

    /// Has everything on a queue planned, and releases S.
    pub(crate) fn start(&self, mut state: MutexGuard<'_, State>, slot: Slot) {
        let end = state.queue(slot).end(slot);
        if self.threads && state.one_priority() {
            state.queue_mut(slot).ask(end.stamp);
            self.notify_lane(state, slot); // the lane's thread plans it: what came together makes one batch
        } else {
            self.flush_to(state, end);
        }
    }

    /// As [`flush`](Self::flush), on this very thread if the lane is idle and the work little: whoever asks for the
    /// end of it is about to wait.
    pub(crate) fn flush_soon(&self, slot: Slot) -> Result<()> {
        let mut state = self.lock();
        state.check(slot)?;
        let queue = state.queue(slot);
        let (end, lane, priority) = (queue.end(slot), queue.lane, queue.priority);
        if self.threads && self.lanes[lane].async_submit && !self.will_be_planned(&mut state, slot) {
            state.plan([end], priority);
            state.pass_over(slot);
            if state.quick(lane, priority) {
                self.submit_soon_waited(state, lane);
                return Ok(());
            }
        }
        self.flush_to(state, end);
        Ok(())
    }

    /// Whether the thread of a queue's lane plans it as soon as there is room: what is flushed behind a planned
    /// batch that is as urgent gathers, and becomes one batch instead of many. It never plans the context's own commands
    /// for themselves.
    fn will_be_planned(&self, state: &mut State, slot: Slot) -> bool {
        let queue = state.queue(slot);
        let (lane, priority) = (queue.lane, queue.priority);
        self.threads && slot != Slot::CONTEXT && !state.lanes[lane].list(priority).is_empty()
    }

    fn flush_to(&self, mut state: MutexGuard<'_, State>, point: Point) {
        state.queue_mut(point.slot).ask(point.stamp);
        if !self.will_be_planned(&mut state, point.slot) {
            let priority = state.queue(point.slot).priority;
            state.plan([point], priority);
            if self.threads {
                state.pass_over(point.slot);
            }
        }
        self.unlock(state);
        if !self.threads {
            self.make_progress(Duration::ZERO);
        }
    }

    /// Whether a point is done. Flushes first; never waits.
    pub(crate) fn is_complete(&self, point: Point, clock: &Clock) -> Result<bool> {
        let state = self.lock();
        if state.reached(point) != Reached::Done {
            state.lost()?;
            self.flush_to(state, point);
            self.poll_lanes();
            if let Some(relay) = self.held_by(point) {
                relay.poll(Waker::noop());
            }
        } else {
            drop(state);
        }
        let mut state = self.lock();
        if state.reached(point) != Reached::Done {
            return state.lost().map(|()| false);
        }
        let answer = state.queue(point.slot).result(point.stamp);
        state.report_done(point, clock, &answer);
        answer.map(|()| true)
    }

    /// The result of a point if it is done; else flushes it and has `waker` called when it is.
    pub(crate) fn poll(&self, point: Point, waker: &Waker) -> Option<Result<()>> {
        let state = match self.registered(point, waker) {
            Ok(state) => state,
            Err(over) => return Some(over),
        };
        if crate::scheduler::thread_state::inside() {
            return self.poll_inside(state, point, waker);
        }
        self.flush_to(state, point);
        self.lock().note_asking(point);
        self.get_on(point, waker).map(Err)
    }

    /// Gets on what `point` waits for where no thread does, and has `waker` called when to do so again.
    ///
    /// # Errors
    /// `WouldDeadlock`, inside callbacks.
    pub(crate) fn get_on(&self, point: Point, waker: &Waker) -> Option<Error> {
        if let Some(relay) = self.held_by(point) {
            return relay.poll(waker);
        }
        self.repoll(waker);
        None
    }

    /// As [`poll`](Self::poll), flushing nothing.
    pub(crate) fn register_waker(&self, point: Point, waker: &Waker) -> Option<Result<()>> {
        self.registered(point, waker).err()
    }

    /// Has `waker` called when a point is done, and gives S; its result, if it has one.
    fn registered(&self, point: Point, waker: &Waker) -> Result<MutexGuard<'_, State>, Result<()>> {
        replace_lane_thread_in_task();
        let mut state = self.lock();
        if state.reached(point) == Reached::Done {
            return Err(state.queue(point.slot).result(point.stamp));
        }
        state.lost().map_err(Err)?;
        state.register_waker(point, waker);
        Ok(state)
    }

    /// Starts everything up to a point, with all that it waits for.
    pub(crate) fn start_point(&self, point: Point) {
        let state = self.lock();
        if state.lost.is_none() && state.reached(point) == Reached::Unplanned {
            self.flush_to(state, point);
        } else if !self.threads {
            drop(state);
            self.make_progress(Duration::ZERO);
        }
    }

    /// The wait for another context that holds a point back, if it is one that does.
    pub(crate) fn held_by(&self, point: Point) -> Option<Arc<Relay>> {
        self.lock().held_by(point)
    }

    /// Sleeps until something has moved, if an event of the host holds a queue.
    pub(crate) fn park_while_held(&self, hold: HoldId, limit: Duration) {
        let state = self.lock();
        if state.queues.iter().any(|queue| queue.hold == Some(Hold::User(hold))) {
            self.park(state, limit);
        }
    }

    /// Without threads only a task that asks goes on: as long as there is something to do, or another thread submits, it
    /// asks again at once. In the browser microtasks go on, and a task that asked again at once would keep the device's
    /// answers out.
    fn repoll(&self, waker: &Waker) {
        if self.threads || cfg!(target_arch = "wasm32") {
            return;
        }
        let state = self.lock();
        let submits = state.lanes.iter().any(|lane| lane.token);
        let busy = submits || state.busy();
        drop(state);
        if busy {
            waker.wake_by_ref();
        }
    }

    /// How `event` ended, or that the device is lost; else has `waker` called when either is so.
    pub(crate) fn await_user(&self, event: &UserSignal, waker: &Waker) -> Option<Result<()>> {
        replace_lane_thread_in_task();
        let mut state = self.lock();
        if let Some(result) = event.result().or_else(|| state.lost().err().map(Err)) {
            return Some(result);
        }
        state.wakers.register(WakeCondition::User(event.hold), waker);
        self.unlock(state);
        if !self.threads {
            self.make_progress(Duration::ZERO);
        }
        self.repoll(waker);
        None
    }

    /// Has `waker` called when `event`, of this context, ends; how it did, if it did.
    pub(crate) fn register_signal_waker(&self, event: &UserSignal, waker: &Waker) -> Option<Result<()>> {
        let mut state = self.lock();
        let result = event.result();
        if result.is_none() {
            state.wakers.register(WakeCondition::User(event.hold), waker);
        }
        result
    }

    /// Whether an event of the host's is over. Gets a context without threads on, as a callback of it may signal it.
    pub(crate) fn is_signalled(&self, event: &UserSignal) -> Result<bool> {
        if event.result().is_none() {
            self.poll_lanes();
            if !self.threads {
                self.make_progress(Duration::ZERO);
            }
        }
        match event.result() {
            Some(result) => result.map(|()| true),
            None => self.lock().lost().map(|()| false),
        }
    }

    /// As [`poll_batch`](Self::poll_batch), getting nothing on.
    pub(crate) fn register_batch_waker(&self, seq: Seq, waker: &Waker) -> Result<bool> {
        let mut state = self.lock();
        let done = state.batches.is_done(seq);
        if !done {
            state.lost()?;
            state.register_batch_waker(seq, waker);
        }
        Ok(done)
    }

    /// Whether batch `seq` is done; else has `waker` called when it is.
    pub(crate) fn poll_batch(&self, seq: Seq, waker: &Waker) -> Result<bool> {
        replace_lane_thread_in_task();
        let mut state = self.lock();
        if state.batches.is_done(seq) {
            return Ok(true);
        }
        state.lost()?;
        state.register_batch_waker(seq, waker);
        drop(state);
        if !self.threads {
            self.make_progress(Duration::ZERO);
        }
        self.repoll(waker);
        Ok(false)
    }

    /// Plans what is due, runs the callbacks whose turn it is, and submits what can be, of all lanes; whether there was
    /// anything to run or to submit.
    fn plan_and_submit(&self, due: DueCommands) -> bool {
        let mut state = self.lock();
        (0..self.lanes.len()).for_each(|lane| state.plan_lane(lane, due));
        if state.after.is_empty() {
            drop(state);
        } else {
            self.unlock(state);
        }
        let mut any = self.run_calls();
        for lane in 0..self.lanes.len() {
            while self.submit_next(lane, self.lock(), Some(due)) {
                any = true;
            }
        }
        any
    }

    /// Does the work of all threads once, on this one: for contexts that have none. What the program has asked for comes
    /// first; the rest starts when there is nothing else.
    pub(crate) fn make_progress(&self, limit: Duration) {
        if !self.plan_and_submit(DueCommands::Asked) && self.lock().idle() {
            self.plan_and_submit(DueCommands::All);
        }
        for lane in 0..self.lanes.len() {
            let oldest = {
                let state = self.lock();
                let timeline = state.lanes[lane].timeline;
                (timeline.in_flight() > 0).then(|| Value(timeline.completed().0 + 1))
            };
            match oldest {
                Some(value) => self.wait_native(lane, value, limit),
                None if !limit.is_zero() => self.poll_loss(),
                None => {}
            }
        }
        #[cfg(target_arch = "wasm32")]
        self.schedule_more();
    }
}

#[cfg(test)]
mod tasks;
#[cfg(test)]
mod tests;
