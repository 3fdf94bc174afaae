//! The wakers of a context, by the condition that they wait for. Also the blocked callers, which park until other
//! threads make progress. S is the state lock.
//!
//! Tasks poll again when the hold of the queue that they wait for changes. Waits limit how far they plan ahead of the
//! device.

use crate::error::Result;
use crate::scheduler::batch::BatchStatus;
use crate::scheduler::callbacks::forget_polls_of;
use crate::scheduler::engine::{Engine, SLICE};
use crate::scheduler::plan::PlanRest;
use crate::scheduler::plan::open_batch::DueCommands;
use crate::scheduler::queue::{HoldReason, PointProgress};
use crate::scheduler::queues::{Priority, Queues};
use crate::scheduler::state::State;
use crate::scheduler::wait::{TargetState, WaitTarget};
use fencepost_sync::prim::{Condvar, MutexGuard, sleep_for};
use fencepost_sync::{HoldId, Point, Seq, Slot, Stamp};
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeBounds;
use std::sync::{Arc, Weak};
use std::task::Waker;
use std::time::Duration;
use web_time::Instant;

/// Number of times that callers may plan their own queues before requested commands of other queues are planned too.
const MOST_OWN_PLANNINGS: u32 = 1;

/// Condition under which a waker is called. The tables rely on the order of the variants: completions come before
/// submissions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum WakeCondition {
    /// A queue has reached a point.
    Point(Slot, Stamp),
    /// A batch is complete.
    Batch(Seq),
    /// A user event has ended.
    User(HoldId),
    /// A point has been submitted.
    Submitted(Slot, Stamp),
}

impl WakeCondition {
    /// The smallest condition.
    const FIRST: WakeCondition = WakeCondition::Point(Slot(0), Stamp(0));
    const FIRST_SUBMITTED: WakeCondition = WakeCondition::Submitted(Slot(0), Stamp(0));

    pub(crate) fn point(point: Point) -> Self {
        WakeCondition::Point(point.slot, point.stamp)
    }

    pub(crate) fn submitted(point: Point) -> Self {
        WakeCondition::Submitted(point.slot, point.stamp)
    }
}

/// Identity of a waker: its data pointer, because the address of its vtable is not unique.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct WakerName(usize);

impl WakerName {
    const LOWEST: WakerName = WakerName(0);
    const HIGHEST: WakerName = WakerName(usize::MAX);

    /// Returns the name, or `None` for the no-op waker.
    fn of(waker: &Waker) -> Option<Self> {
        Some(Self(waker.data() as usize)).filter(|name| *name != Self::LOWEST)
    }
}

/// The wakers of a context. A waker is registered at most once for each condition. All its registrations are removed
/// together.
///
/// No method here runs user code: all wakers belong to a [`TaskWaker`](fencepost_sync::TaskWaker), a relay or a chunked
/// loop, and removed wakers are dropped outside S.
#[derive(Default)]
pub(crate) struct Wakers {
    registered: BTreeMap<(WakeCondition, WakerName), Waker>,
    /// The keys of `registered`, sorted by waker.
    conditions: BTreeSet<(WakerName, WakeCondition)>,
    /// For each waker, the other contexts that it is also registered with, because this context waits for them.
    forwarded: BTreeMap<WakerName, Vec<Weak<Engine>>>,
}

impl Wakers {
    /// Registers `waker` for `condition`. Ignores the no-op waker.
    pub(crate) fn register(&mut self, condition: WakeCondition, waker: &Waker) {
        if let Some(name) = WakerName::of(waker)
            && self.conditions.insert((name, condition))
        {
            self.registered.insert((condition, name), waker.clone());
        }
        debug_assert_eq!(self.registered.len(), self.conditions.len(), "bug: a registration has no waker");
    }

    /// Records that `waker` is also registered with another context.
    pub(crate) fn forward_waker(&mut self, waker: &Waker, to: &Arc<Engine>) {
        let Some(name) = WakerName::of(waker) else { return };
        let known = self.forwarded.entry(name).or_default();
        if !known.iter().any(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(to))) {
            known.push(Arc::downgrade(to));
        }
    }

    /// Removes all registrations of a waker. Returns the wakers to drop, and the other contexts that the waker is
    /// registered with.
    pub(crate) fn remove(&mut self, waker: &Waker) -> (Vec<Waker>, Vec<Weak<Engine>>) {
        let Some(name) = WakerName::of(waker) else { return Default::default() };
        let conditions = self.conditions.range((name, WakeCondition::FIRST)..).take_while(|at| at.0 == name);
        let at: Vec<WakeCondition> = conditions.map(|at| at.1).collect();
        let removed = at.into_iter().filter_map(|condition| self.take_one(condition, name)).collect();
        (removed, self.forwarded.remove(&name).unwrap_or_default())
    }

    /// Removes and returns the wakers of one condition.
    pub(crate) fn take(&mut self, condition: WakeCondition) -> Vec<Waker> {
        self.take_within((condition, WakerName::LOWEST)..=(condition, WakerName::HIGHEST))
    }

    /// Removes and returns the wakers of a queue's points up to `upto`.
    pub(crate) fn take_upto(&mut self, slot: Slot, upto: Stamp) -> Vec<Waker> {
        let last = (WakeCondition::Point(slot, upto), WakerName::HIGHEST);
        self.take_within((WakeCondition::Point(slot, Stamp(0)), WakerName::LOWEST)..=last)
    }

    /// Removes and returns the wakers of the points that their queues have reached.
    pub(crate) fn take_reached(&mut self, completed: impl Fn(Slot) -> Stamp) -> Vec<Waker> {
        let mut taken = Vec::new();
        let mut from = Slot(0);
        while let Some(slot) = self.first_slot(from) {
            taken.append(&mut self.take_upto(slot, completed(slot)));
            from = Slot(slot.0 + 1);
        }
        taken
    }

    fn first_slot(&self, from: Slot) -> Option<Slot> {
        match self.registered.range((WakeCondition::Point(from, Stamp(0)), WakerName::LOWEST)..).next()?.0.0 {
            WakeCondition::Point(slot, _) => Some(slot),
            _ => None,
        }
    }

    /// Removes and returns the wakers that wait for the submission of a point that `due` accepts.
    pub(crate) fn take_submitted(&mut self, due: impl Fn(Point) -> bool) -> Vec<Waker> {
        let waiting =
            self.registered.range((WakeCondition::FIRST_SUBMITTED, WakerName::LOWEST)..).map(|(&at, _)| at);
        let is_due = |condition| match condition {
            WakeCondition::Submitted(slot, stamp) => due(Point { slot, stamp }),
            _ => false,
        };
        let at: Vec<(WakeCondition, WakerName)> =
            waiting.filter(|&(condition, _)| is_due(condition)).collect();
        at.into_iter().filter_map(|(condition, name)| self.take_one(condition, name)).collect()
    }

    /// Returns `true` if a waker waits for a submission.
    pub(crate) fn has_submission_wakers(&self) -> bool {
        self.registered
            .last_key_value()
            .is_some_and(|((condition, _), _)| *condition >= WakeCondition::FIRST_SUBMITTED)
    }

    /// Returns `true` if a waker waits for a condition other than a submission.
    pub(crate) fn has_completion_wakers(&self) -> bool {
        self.registered
            .first_key_value()
            .is_some_and(|((condition, _), _)| *condition < WakeCondition::FIRST_SUBMITTED)
    }

    /// Removes and returns the wakers that wait for a condition other than a submission.
    pub(crate) fn take_completion_wakers(&mut self) -> Vec<Waker> {
        self.take_within(..(WakeCondition::FIRST_SUBMITTED, WakerName::LOWEST))
    }

    /// Removes and returns all wakers.
    pub(crate) fn take_all(&mut self) -> Vec<Waker> {
        self.take_within(..)
    }

    /// Returns the number of registrations.
    pub(crate) fn len(&self) -> usize {
        self.registered.len()
    }

    fn take_within(&mut self, range: impl RangeBounds<(WakeCondition, WakerName)>) -> Vec<Waker> {
        let at: Vec<(WakeCondition, WakerName)> = self.registered.range(range).map(|(&at, _)| at).collect();
        at.into_iter().filter_map(|(condition, name)| self.take_one(condition, name)).collect()
    }

    fn take_one(&mut self, condition: WakeCondition, name: WakerName) -> Option<Waker> {
        self.conditions.remove(&(name, condition));
        let waker = self.registered.remove(&(condition, name));
        debug_assert_eq!(self.registered.len(), self.conditions.len(), "bug: a registration has no waker");
        waker
    }
}

/// Callers and tasks that wait for the context.
///
/// A caller is in `parked` or counts in `asleep` only while it sleeps. If it waits for a planned batch, it is in
/// `parked` and sleeps on its own condition variable; otherwise it sleeps on that of the context. A queue has at most
/// one entry in `repolls`.
#[derive(Default)]
pub(crate) struct Waiters {
    /// Number of callers that are parked until something makes progress.
    pub(crate) asleep: u32,
    /// Callers that are parked until a planned batch is done. Not counted in `asleep`.
    pub(crate) parked: Vec<ParkedCaller>,
    /// Queues that tasks wait for, each with its current hold. When the hold changes, the tasks poll again.
    repolls: Vec<(Slot, Option<HoldReason>)>,
    /// Registered wakers.
    pub(crate) wakers: Wakers,
}

impl Waiters {
    /// Records the hold of a queue that tasks wait for. They poll again when the hold changes.
    fn note_hold(&mut self, slot: Slot, hold: Option<HoldReason>) {
        match self.repolls.iter_mut().find(|(of, _)| *of == slot) {
            Some((_, seen)) => *seen = hold,
            None => self.repolls.push((slot, hold)),
        }
    }

    /// Moves the wakers of the tasks that must poll again to `due`.
    pub(crate) fn collect_repolls(&mut self, queues: &Queues, due: &mut Vec<Waker>) {
        if self.repolls.is_empty() {
            return;
        }
        for (slot, seen) in std::mem::take(&mut self.repolls) {
            let queue = &queues[slot];
            match queue.hold {
                Some(HoldReason::User(_) | HoldReason::Callback(_)) if queue.hold != seen => {
                    let wakers = self.wakers.take_upto(slot, Stamp(u64::MAX));
                    due.extend(wakers);
                }
                None if queue.pending.is_empty() => {}
                _ => self.repolls.push((slot, seen)),
            }
        }
    }
}

impl State {
    /// Registers the queue of `point`. Tasks that wait for the queue poll again when planning changes its hold, because
    /// they may have to act on the new hold: to drive another context without threads, or to run a callback on their
    /// own thread.
    pub(crate) fn register_repoll(&mut self, point: Point) {
        if self.reached(point) != PointProgress::Unplanned {
            return;
        }
        self.waiters.note_hold(point.slot, self.queues[point.slot].hold);
    }

    /// Returns the condition variables of the parked callers that can go on, and marks these callers as notified.
    ///
    /// For each idle lane that can submit a batch, one caller can go on: the one that waits for this batch, or else any
    /// other, because callers can submit each other's batches.
    pub(crate) fn due_callers(&mut self) -> SmallVec<[Arc<Condvar>; 2]> {
        let mut due = SmallVec::new();
        if self.waiters.parked.is_empty() {
            return due;
        }
        let mut parked = std::mem::take(&mut self.waiters.parked);
        let mut notify = |caller: &mut ParkedCaller| {
            caller.notified = true;
            due.push(caller.wakeup.clone());
        };
        let waiting = |caller: &&mut ParkedCaller| !caller.notified;
        parked.iter_mut().filter(waiting).filter(|caller| self.can_go_on(caller)).for_each(&mut notify);
        for next in (0..self.lanes.len()).filter_map(|lane| self.next_on_idle(lane)) {
            let own = parked.iter().position(|caller| caller.seq == next);
            let submitter = match own {
                Some(own) => parked.get_mut(own),
                None => parked.iter_mut().find(waiting),
            };
            submitter.filter(waiting).into_iter().for_each(&mut notify);
        }
        self.waiters.parked = parked;
        due
    }

    /// Returns `true` if a parked caller's target no longer waits for the batch, or the caller can wait for the fence
    /// itself.
    fn can_go_on(&self, caller: &ParkedCaller) -> bool {
        let waits = match caller.point.map(|point| self.reached(point)) {
            None => !self.batches.is_done(caller.seq),
            Some(progress) => progress == PointProgress::Planned(caller.seq),
        };
        !waits || self.finished() || matches!(self.batches.status(caller.seq), BatchStatus::Submitted(_))
    }

    /// Returns the batch that a lane with nothing in flight submits next.
    fn next_on_idle(&self, lane: usize) -> Option<Seq> {
        let priority = self.choose(lane).filter(|_| self.can_submit(lane))?;
        self.lanes[lane].ready[priority as usize].front().map(|batch| batch.seq)
    }

    /// Plans the target of a wait if it is unplanned. Plans nothing if an earlier planning left the rest of the queue
    /// for after a batch that is still incomplete; `planned` then names that batch.
    pub(crate) fn plan_target(&mut self, target: WaitTarget<'_>, planned: &mut PlanRest) {
        if let (Some(point), TargetState::Unplanned) = (target.point(), self.target_state(target)) {
            // Without this check, repeated short waits would plan more than one long wait does.
            if let Some(seq) = self.queue(point.slot).ahead.filter(|&seq| !self.batches.is_done(seq)) {
                *planned = PlanRest { roots: vec![point], after: Some(seq) };
                return;
            }
            let priority = self.queue(point.slot).priority.max(Priority::Normal);
            *planned = self.plan([point], priority);
            self.queue_mut(point.slot).ahead = planned.after;
            self.note_own_planning(point.slot);
        }
    }

    /// Records that a caller has planned the queue that it waits for. Requested commands of other queues gather during
    /// at most [`MOST_OWN_PLANNINGS`] such plannings.
    pub(crate) fn note_own_planning(&mut self, slot: Slot) {
        let lane = self.queue(slot).lane;
        self.lanes[lane].own_plannings += 1;
        if self.lanes[lane].own_plannings > MOST_OWN_PLANNINGS {
            self.lanes[lane].own_plannings = 0;
            self.plan_lane(lane, DueCommands::RequestedExcept(slot));
        }
        debug_assert!(self.lanes[lane].own_plannings <= MOST_OWN_PLANNINGS);
    }
}

impl Engine {
    /// Like [`poll`](Self::poll), on a thread inside callbacks. Plans at once, because only planning reveals that the
    /// point comes after one of the callbacks.
    pub(crate) fn poll_inside(
        &self,
        mut state: MutexGuard<'_, State>,
        point: Point,
        waker: &Waker,
    ) -> Option<Result<()>> {
        if let Err(error) = state.check_print(WaitTarget::Point(point)) {
            self.unlock(state);
            return Some(Err(error));
        }
        let priority = state.queue(point.slot).priority;
        state.plan([point], priority);
        // Register before checking for callbacks, so that the task polls again if the hold changes after the check.
        state.register_repoll(point);
        self.unlock(state);
        if !self.threads {
            self.make_progress(Duration::ZERO);
        }
        let error = self.check_poll(point, waker).or_else(|| self.drive(point, waker));
        error.map(Err)
    }

    /// Removes `waker` from this context and from the contexts that it was forwarded to.
    pub(crate) fn forget(&self, waker: &Waker) {
        forget_polls_of(waker);
        let (removed, beyond) = self.lock().waiters.wakers.remove(waker);
        drop(removed);
        for engine in beyond.iter().filter_map(Weak::upgrade) {
            engine.forget(waker);
        }
    }

    /// Records that `waker`, which is registered here, is also registered with the other context `to`.
    pub(crate) fn forward_waker(&self, waker: &Waker, to: &Arc<Engine>) {
        self.lock().waiters.wakers.forward_waker(waker, to);
    }

    /// Parks until a change is notified. Polls for device loss if `limit` passes first. Does not park if `limit` is
    /// zero, because even the shortest park lasts for a tick of the system timer.
    pub(crate) fn park(&self, mut state: MutexGuard<'_, State>, limit: Duration) {
        let start = Instant::now();
        if !limit.is_zero() {
            state.waiters.asleep += 1;
            state = sleep_for(&self.done, state, limit);
            state.waiters.asleep -= 1;
        }
        drop(state);
        self.poll_loss_after(start, limit);
    }

    /// Like [`park`](Self::park), but also wakes when `point` no longer depends on batch `seq` (without a point, when
    /// the batch is done), or when this thread can submit a batch or wait for the fence.
    pub(crate) fn park_for(
        &self,
        mut state: MutexGuard<'_, State>,
        point: Option<Point>,
        seq: Seq,
        limit: Duration,
    ) {
        let start = Instant::now();
        if !limit.is_zero() {
            let wakeup = Arc::new(Condvar::new());
            state.waiters.parked.push(ParkedCaller { point, seq, wakeup: wakeup.clone(), notified: false });
            state = sleep_for(&wakeup, state, limit);
            state.waiters.parked.retain(|caller| !Arc::ptr_eq(&caller.wakeup, &wakeup));
        }
        drop(state);
        self.poll_loss_after(start, limit);
    }

    fn poll_loss_after(&self, start: Instant, limit: Duration) {
        if start.elapsed() >= limit {
            self.poll_loss();
        }
    }
}

/// A parked caller, and what it waits for.
///
/// Each has a separate condition variable. Otherwise each completion would wake all of them, and all but one would park
/// again.
pub(crate) struct ParkedCaller {
    /// Point that the caller waits for; `None` if it waits for the batch itself.
    pub(crate) point: Option<Point>,
    /// Batch that the point waits for.
    pub(crate) seq: Seq,
    pub(crate) wakeup: Arc<Condvar>,
    /// `true` once the condition variable was notified.
    pub(crate) notified: bool,
}

/// Time at which a wait ends; `None` means no limit.
#[derive(Clone, Copy)]
pub(crate) struct Deadline(Option<Instant>);

impl Deadline {
    pub(crate) fn after(limit: Option<Duration>) -> Self {
        Self(limit.and_then(|limit| Instant::now().checked_add(limit)))
    }

    /// Returns a deadline that has already passed.
    pub(crate) fn now() -> Self {
        Self(Some(Instant::now()))
    }

    /// Returns the time that is left. Without a limit it is [`Duration::MAX`].
    pub(crate) fn left(self) -> Duration {
        self.0.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()))
    }

    /// Returns the time that is left, [`SLICE`] at most.
    pub(crate) fn slice(self) -> Duration {
        self.left().min(SLICE)
    }

    pub(crate) fn is_endless(self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn has_passed(self) -> bool {
        self.0.is_some_and(|end| Instant::now() >= end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::CostModel;
    use crate::scheduler::batch::Op;
    use crate::scheduler::costs::CommandCosts;
    use crate::scheduler::queues::Priority;
    use crate::scheduler::test_engine::{batch_of, complete_one, engine, enqueue, queue, queues};
    use crate::scheduler::wait::Caller;
    use fencepost_sync::{Clock, Slot};
    use std::cell::RefCell;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::task::Wake;

    #[derive(Default)]
    struct Count(AtomicU32);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn wakers<const N: usize>() -> [Waker; N] {
        [(); N].map(|()| Waker::from(Arc::<Count>::default()))
    }

    fn same(taken: &[Waker], expected: &[&Waker]) -> bool {
        taken.len() == expected.len()
            && expected.iter().all(|waker| taken.iter().any(|taken| taken.will_wake(waker)))
    }

    const CONDITIONS: [WakeCondition; 4] = [
        WakeCondition::Point(Slot(1), Stamp(5)),
        WakeCondition::Batch(Seq(0)),
        WakeCondition::User(HoldId(0)),
        WakeCondition::Submitted(Slot(1), Stamp(5)),
    ];

    #[test]
    fn a_waker_is_registered_once_for_each_condition() {
        let ([first, second], mut all) = (wakers(), Wakers::default());
        for condition in CONDITIONS {
            [&first, &second, &first, Waker::noop()]
                .into_iter()
                .for_each(|waker| all.register(condition, waker));
        }
        assert_eq!(all.len(), 8);
        for condition in CONDITIONS {
            assert!(same(&all.take(condition), &[&first, &second]), "{condition:?}");
        }
        assert!(all.registered.is_empty() && all.conditions.is_empty());
    }

    #[test]
    fn removing_a_waker_removes_all_its_registrations_and_no_other_waker() {
        let ([first, second], mut all) = (wakers(), Wakers::default());
        for condition in CONDITIONS {
            [&first, &second].into_iter().for_each(|waker| all.register(condition, waker));
        }
        assert!(same(&all.remove(&first).0, &[&first; 4]));
        assert!(all.remove(&first).0.is_empty());
        assert!(same(&all.take_all(), &[&second; 4]) && all.conditions.is_empty());
    }

    #[test]
    fn wakers_of_points_are_taken_per_queue_and_in_order() {
        let ([a, b, c, d], mut all) = (wakers(), Wakers::default());
        for (slot, stamp, waker) in [(1, 3, &a), (1, 4, &b), (2, 3, &c), (4, 9, &d)] {
            all.register(WakeCondition::Point(Slot(slot), Stamp(stamp)), waker);
        }
        assert!(same(&all.take_upto(Slot(1), Stamp(3)), &[&a]));
        let completed = |slot: Slot| Stamp(if slot == Slot(2) { 2 } else { 9 });
        assert!(same(&all.take_reached(completed), &[&b, &d]));
        assert_eq!(all.len(), 1);
    }

    #[test]
    fn wakers_of_completions_are_separate_from_wakers_of_submissions() {
        let ([a, b, c, d], mut all) = (wakers(), Wakers::default());
        all.register(CONDITIONS[3], &d);
        assert!(all.has_submission_wakers() && !all.has_completion_wakers());
        for (condition, waker) in CONDITIONS.into_iter().zip([&a, &b, &c]) {
            all.register(condition, waker);
        }
        assert!(all.has_completion_wakers());
        assert!(same(&all.take_completion_wakers(), &[&a, &b, &c]));
        assert!(all.take_submitted(|_| false).is_empty());
        assert!(same(&all.take_submitted(|point| point.stamp == Stamp(5)), &[&d]));
        assert!(!all.has_submission_wakers() && all.take_all().is_empty());
    }

    /// Plans one batch for each of three queues on one lane, and parks a caller for each batch.
    fn parked() -> Arc<Engine> {
        let engine = engine(false);
        let slots: [Slot; 3] = queues(&engine);
        for slot in slots {
            let point = enqueue(&engine, slot);
            let mut state = engine.lock();
            state.plan([point], Priority::Normal);
            let seq = batch_of(&state, point);
            let wakeup = Arc::new(Condvar::new());
            let point = (slot != slots[1]).then_some(point);
            state.waiters.parked.push(ParkedCaller { point, seq, wakeup, notified: false });
        }
        engine
    }

    fn notified(engine: &Engine) -> Vec<bool> {
        engine.lock().waiters.parked.iter().map(|caller| caller.notified).collect()
    }

    #[test]
    fn e02_a_parked_caller_is_notified_once_its_batch_can_be_submitted() {
        let engine = parked();
        assert_eq!(engine.lock().due_callers().len(), 1);
        assert_eq!(notified(&engine), [true, false, false]);
        engine.submit_one(0);
        assert_eq!(notified(&engine), [true, false, false], "the lane is busy");
        while engine.lock().lanes[0].timeline.in_flight() > 0 {
            engine.poll_lane(0);
        }
        assert_eq!(notified(&engine), [true, true, false]);
    }

    /// Callers can submit each other's batches, so they make progress without the threads of the context.
    #[test]
    fn e02_one_parked_caller_is_notified_if_a_batch_of_another_caller_can_be_submitted() {
        let engine = parked();
        engine.lock().waiters.parked.remove(0);
        assert_eq!(engine.lock().due_callers().len(), 1);
        assert_eq!(notified(&engine), [true, false]);
    }

    #[test]
    fn e02_a_parked_caller_is_notified_once_its_batch_is_submitted() {
        let engine = parked();
        (0..2).for_each(|_| assert!(engine.submit_one(0)));
        engine.notify_due_threads();
        assert_eq!(notified(&engine), [true, true, false]);
    }

    #[test]
    fn e02_a_parked_caller_is_notified_once_its_batch_is_done() {
        let engine = parked();
        let seqs: Vec<_> = engine.lock().waiters.parked.iter().map(|caller| caller.seq).collect();
        while seqs.iter().any(|&seq| !engine.lock().batches.is_done(seq)) {
            engine.lock().waiters.parked.iter_mut().for_each(|caller| caller.notified = false);
            engine.submit_one(0);
            engine.poll_lane(0);
        }
        let state = engine.lock();
        assert!(
            state.waiters.parked.last().is_some_and(|caller| caller.notified),
            "its batch is the last one"
        );
    }

    #[test]
    fn e02_the_loss_of_the_device_notifies_every_parked_caller() {
        let engine = parked();
        engine.lose("the test loses the device");
        assert_eq!(notified(&engine), [true; 3]);
    }

    /// Enqueues many long commands. Returns the last point of each queue.
    fn enqueue_long(engine: &Arc<Engine>, slots: &[Slot]) -> Vec<Point> {
        let many = |&slot: &Slot| (1..400).fold(enqueue(engine, slot), |_, _| enqueue(engine, slot));
        let ends = slots.iter().map(many).collect();
        let mut costs = CommandCosts::new(CostModel::Measured(CostModel::LATENESS));
        let mut state = engine.lock();
        if let Some(Op::Work(work)) = state.queue(slots[0]).pending.front().map(|front| &front.op) {
            costs.expect(work, 0.5);
        }
        state.lanes[0].costs = costs;
        ends
    }

    /// The scheduler often iterates over the planned batches, so a batch for each pending command would cost too much.
    #[test]
    fn q01_a_wait_plans_more_only_after_half_of_its_planned_batches_complete() {
        let engine = engine(false);
        let end = enqueue_long(&engine, &[queue(&engine)])[0];
        let mut state = engine.lock();
        let target = WaitTarget::Point(end);
        let mut planned = PlanRest::default();
        (0..4).for_each(|_| state.plan_target(target, &mut planned));
        let at_once = state.lanes[0].ready_len();
        assert!((2..100).contains(&at_once), "{at_once} batches");
        drop(state);
        let middle = planned.after.expect("the planning leaves commands for later");
        for _ in 0..at_once {
            complete_one(&engine);
            let mut state = engine.lock();
            let left = state.lanes[0].ready_len();
            state.plan_target(target, &mut planned);
            assert_eq!(
                state.lanes[0].ready_len() > left,
                state.batches.is_done(middle),
                "{left} batches are left"
            );
            if state.batches.is_done(middle) {
                assert!(left > 4, "the device has enough work until then");
                return;
            }
        }
        panic!("the middle batch never completes");
    }

    #[test]
    fn q01_repeated_short_waits_plan_no_more_than_one_long_wait() {
        let engine = engine(true);
        let ends = enqueue_long(&engine, &[queue(&engine)]);
        let mut state = engine.lock();
        state.plan_target(WaitTarget::Point(ends[0]), &mut PlanRest::default());
        let once = state.lanes[0].ready_len();
        let mut planned = PlanRest::default();
        state.plan_target(WaitTarget::Point(ends[0]), &mut planned);
        assert_eq!(state.lanes[0].ready_len(), once);
        assert!(
            planned.after.is_some_and(|seq| !state.batches.is_done(seq)),
            "the wait waits for that batch"
        );
    }

    #[test]
    fn e02_requested_commands_are_planned_despite_many_ready_batches() {
        let engine = engine(true);
        let other = queue(&engine);
        let slots = [(); 12].map(|()| queue(&engine));
        let requested = enqueue(&engine, other);
        let ends = enqueue_long(&engine, &slots);
        let target =
            |end: &Point| engine.lock().plan_target(WaitTarget::Point(*end), &mut PlanRest::default());
        ends[..10].iter().for_each(target);
        engine.flush(other, Caller::Continues).expect("nothing has failed");
        assert_eq!(engine.lock().reached(requested), PointProgress::Unplanned, "the command gathers");
        let ready = engine.lock().lanes[0].ready_len();
        assert!(ready > 100, "{ready} batches are ready");
        ends[10..].iter().for_each(target);
        assert!(matches!(engine.lock().reached(requested), PointProgress::Planned(_)));
    }

    /// Checks that a flushed queue is planned before the last commands of a long queue, even if a caller repeatedly
    /// requests the end of the long queue.
    fn passes_none_over(request: impl Fn(&Engine, Point)) {
        let engine = engine(true);
        let [long, other] = queues(&engine);
        let end = enqueue_long(&engine, &[long])[0];
        let _handle = engine.marker(long);
        request(&engine, end);
        let requested = enqueue(&engine, other);
        engine.flush(other, Caller::Continues).expect("nothing has failed");
        assert_eq!(engine.lock().reached(requested), PointProgress::Unplanned, "the command gathers");
        while engine.lock().reached(requested) == PointProgress::Unplanned {
            request(&engine, end);
            let left = engine.lock().queue(long).pending.len();
            assert!(left > 0, "the command is planned with the last ones of the long queue");
            engine.submit_one(0);
            engine.poll_lane(0);
        }
    }

    /// A waiting caller keeps the rest of its planning from one request to the next.
    #[test]
    fn e02_requested_commands_are_planned_while_a_caller_plans_its_own_queue() {
        let planned = RefCell::new(PlanRest::default());
        passes_none_over(|engine, end| {
            engine.lock().plan_target(WaitTarget::Point(end), &mut planned.borrow_mut());
        });
    }

    #[test]
    fn e02_requested_commands_are_planned_while_callers_poll_or_read_repeatedly() {
        passes_none_over(|engine, end| {
            let _ = engine.is_complete(end, &Clock::default());
        });
        passes_none_over(|engine, end| engine.flush(end.slot, Caller::Waits).expect("nothing has failed"));
    }
}
