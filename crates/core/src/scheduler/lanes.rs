//! Lanes, and the submission of batches to them. A lane is a hardware queue. Only this file calls `Recorder::submit`. S
//! is the state lock; the token of a lane is the right to submit to it.
//!
//! A hardware queue executes submissions in order. So a wait of another context on the same hardware queue may already
//! end when its point is submitted, and not only when it is complete.

use crate::device::{CostModel, LaneValue};
use crate::error::ErrorDetail;
use crate::scheduler::batch::{Batch, BatchStatus, SubmittedBatch};
use crate::scheduler::costs::{CommandCosts, ExpectedCost};
use crate::scheduler::engine::Engine;
use crate::scheduler::plan::open_batch::DueCommands;
use crate::scheduler::queue::PointProgress;
use crate::scheduler::queues::Priority;
use crate::scheduler::state::State;
use crate::scheduler::threads::ThreadWakeups;
use crate::scheduler::wakers::WakeCondition;
use fencepost_sync::prim::{MutexGuard, lock};
use fencepost_sync::{Point, Seq, Stamp, Timeline, TimelineValue};
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

/// Normal maximum of submissions in flight: one runs and one waits. Meanwhile later commands *gather*: while a planned
/// batch of their priority is unsubmitted, they stay unplanned, and afterwards share the next batch. Each submission
/// costs time, and planning them earlier would not start any of them earlier.
const SUBMISSIONS_IN_FLIGHT: u64 = 2;
/// Maximum of submissions in flight if the next batch was cut from a larger plan. Such batches are short, so the device
/// needs more of them in advance, and no more commands would join them anyway.
const CUT_SUBMISSIONS_IN_FLIGHT: u64 = 8;
/// Maximum number of consecutive plans of higher priority while a batch of lower priority waits. Then the waiting batch
/// is submitted.
const STARVATION: u32 = 8;

/// Maximum number of short batches that wait for submission while a long one waits too. Further short commands gather.
const SHORT_AHEAD: usize = 8;
/// Maximum number of consecutive batches that overtake older ones because callers wait for them. Then the oldest batch
/// is submitted.
const OVERTAKEN: u32 = 4;

/// The commands of a priority that may be planned while earlier batches wait for submission.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Plannable {
    /// All commands, because no batch waits.
    All,
    /// Only short commands, which pass the waiting long batch.
    Short,
    /// No commands.
    Nothing,
}

/// Sleep state of a lane thread, which decides what work must notify the thread.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum ThreadRest {
    /// The thread runs, and will search for work before it parks.
    #[default]
    Awake,
    /// The thread searches for work at its next tick, so only urgent work notifies it.
    Ticking,
    /// The thread parks until it is notified.
    Asleep,
    /// The thread parks until it is notified or until it is time to poll for device loss.
    PollingForLoss,
}

impl ThreadRest {
    /// Returns `true` if the thread would not find work soon without a notification.
    pub(crate) fn is_deep(self) -> bool {
        self == Self::Asleep || self == Self::PollingForLoss
    }
}

/// Bookkeeping of a lane.
#[derive(Default)]
pub(crate) struct LaneState {
    /// Planned batches of each priority, in order of submission. Their status is `Ready`.
    pub(crate) ready: [VecDeque<Batch>; 3],
    /// `true` while a thread submits on the lane. At most one batch of the lane has the status `Encoding`.
    pub(crate) token: bool,
    pub(crate) timeline: Timeline,
    /// Batches in flight, oldest first, one for each value in flight. Unless the device is lost, their number is
    /// `timeline.in_flight()`.
    pub(crate) submitted: VecDeque<SubmittedBatch>,
    /// Sleep state of the lane thread.
    pub(crate) rest: ThreadRest,
    /// `true` while the completer of the lane sleeps.
    pub(crate) idle: bool,
    /// `true` if the driver may still hold resources of dropped objects.
    pub(crate) needs_cleanup: bool,
    /// Number of watchers: callers that poll the lane's fence, now or soon, and process the completed batches
    /// themselves. Meanwhile the completer sleeps.
    pub(crate) watchers: u32,
    /// Number of consecutive plans submitted while a batch of lower priority waited. A plan that was cut into several
    /// batches counts once.
    streak: u32,
    /// `true` if a list may have a batch before older ones: because a caller waits for it, or because it is short and
    /// the others are long. `false` if no batch is ready.
    pub(crate) mixed: bool,
    /// For each priority, the number of consecutive submitted batches that overtook an older batch of that priority.
    overtaken: [u32; 3],
    /// Number of times that callers have planned their own queues since the lane's queues were last planned.
    pub(crate) own_plannings: u32,
    /// Estimated times of the lane's commands.
    pub(crate) costs: CommandCosts,
    /// `true` if the lane has a thread, which later submits the batches that cannot be submitted at once.
    pub(crate) has_thread: bool,
    /// `true` if no thread can read the fence while another one submits. Then at most one batch is in flight.
    pub(crate) executes_in_submit: bool,
    /// Time at which a completion on the lane was last seen.
    pub(crate) last_finish: Option<web_time::Instant>,
}

impl LaneState {
    pub(crate) fn new(cost_model: CostModel) -> Self {
        Self { costs: CommandCosts::new(cost_model), ..Self::default() }
    }

    pub(crate) fn list(&mut self, priority: Priority) -> &mut VecDeque<Batch> {
        &mut self.ready[priority as usize]
    }

    /// Adds a planned batch to the list of its priority. If `passes` is `true`, a short batch passes the long batches
    /// at the end of the list, except those that it depends on.
    pub(crate) fn add(&mut self, batch: Batch, priority: Priority, passes: bool) {
        let bound = self.costs.bound;
        let passes = passes && batch.expected.is_short(bound);
        let list = self.list(priority);
        let passed = list.iter().rev().take_while(|other| {
            passes && !other.expected.is_short(bound) && !batch.deps.contains(&other.seq)
        });
        let passed = passed.count();
        list.insert(list.len() - passed, batch);
        self.mixed |= passed > 0;
    }

    /// Returns which commands of `priority` may be planned now. The others gather: they stay pending, and later share a
    /// batch. They lose no time, because their batch would have to wait for a planned batch anyway.
    pub(crate) fn plannable(&self, priority: Priority) -> Plannable {
        let list = &self.ready[priority as usize];
        let is_short = |batch: &Batch| batch.expected.is_short(self.costs.bound);
        match list.front() {
            None => Plannable::All,
            Some(front)
                if !is_short(front) && list.iter().filter(|batch| is_short(batch)).count() < SHORT_AHEAD =>
            {
                Plannable::Short
            }
            Some(_) => Plannable::Nothing,
        }
    }

    /// Returns `true` if there is a planned batch that is not yet submitted.
    pub(crate) fn has_ready(&self) -> bool {
        self.ready.iter().any(|list| !list.is_empty())
    }

    /// Returns the number of planned batches.
    pub(crate) fn ready_len(&self) -> usize {
        self.ready.iter().map(VecDeque::len).sum()
    }

    /// Returns `true` if the lane may take another submission now. With `urgent`, a batch of higher priority may come
    /// at any time. Then the lane takes one submission at a time, so that this batch waits for at most one other.
    pub(crate) fn has_room(&self, urgent: bool) -> bool {
        let is_single = urgent || self.executes_in_submit;
        self.timeline.in_flight() < if is_single { 1 } else { SUBMISSIONS_IN_FLIGHT }
    }

    /// Returns `true` if the lane may take the front batch of `priority` now. If that batch was cut from a larger plan,
    /// a few more batches may be in flight than otherwise.
    pub(crate) fn has_room_for(&self, priority: Priority, urgent: bool) -> bool {
        let cut = self.ready[priority as usize].front().is_some_and(|batch| batch.cut);
        self.has_room(urgent) || (cut && !urgent && !self.executes_in_submit && self.has_little())
    }

    /// Returns `true` if the lane may take another short batch. Fewer than [`CUT_SUBMISSIONS_IN_FLIGHT`] batches must
    /// be in flight. If a lane thread can submit more later, these batches must also be expected to end soon.
    fn has_little(&self) -> bool {
        let of = |cost: ExpectedCost| if cost.unknown { f32::INFINITY } else { cost.seconds };
        let seconds = || self.submitted.iter().map(|batch| of(batch.expected)).sum::<f32>();
        let soon = || seconds() <= CUT_SUBMISSIONS_IN_FLIGHT as f32 * self.costs.bound;
        self.timeline.in_flight() < CUT_SUBMISSIONS_IN_FLIGHT && (!self.has_thread || soon())
    }

    /// Returns the priority whose front batch is submitted next, among the batches that `can_go` accepts.
    pub(crate) fn choose(&self, can_go: impl Fn(&Batch) -> bool) -> Option<Priority> {
        let front = |priority: &Priority| self.ready[*priority as usize].front().is_some_and(&can_go);
        let best = Priority::ORDER.into_iter().find(front)?;
        let starved = Priority::ORDER.into_iter().rev().find(front).filter(|low| *low < best);
        if self.streak >= STARVATION { starved.or(Some(best)) } else { Some(best) }
    }

    /// Removes and returns the front batch of `priority`.
    pub(crate) fn take(&mut self, priority: Priority) -> Option<Batch> {
        let lower_waits =
            Priority::ORDER.into_iter().any(|p| p < priority && !self.ready[p as usize].is_empty());
        let batch = self.list(priority).pop_front()?;
        self.mixed &= self.has_ready();
        let overtakes = self.mixed && self.list(priority).iter().any(|other| other.seq < batch.seq);
        let overtaken = &mut self.overtaken[priority as usize];
        *overtaken = if overtakes { *overtaken + 1 } else { 0 };
        // A plan counts once, even if it was cut into several batches.
        self.streak = if lower_waits { self.streak + u32::from(!batch.cut) } else { 0 };
        Some(batch)
    }

    /// Moves the oldest batch that `can_go` accepts to the front of its list, if batches of that list were overtaken
    /// [`OVERTAKEN`] times.
    pub(crate) fn promote_overtaken(&mut self, can_go: impl Fn(&Batch) -> bool) {
        if self.overtaken.iter().all(|&overtaken| overtaken < OVERTAKEN) {
            return;
        }
        for (list, _) in self.ready.iter_mut().zip(self.overtaken).filter(|(_, often)| *often >= OVERTAKEN) {
            let ready = list.iter().enumerate().filter(|(_, batch)| can_go(batch));
            let oldest = ready.min_by_key(|(_, batch)| batch.seq).map(|(at, _)| at);
            if let Some(batch) = oldest.and_then(|at| list.remove(at)) {
                list.push_front(batch);
            }
        }
    }

    /// Returns `true` if a batch is in flight and no caller polls the lane's fence. In that case the completer must
    /// wait for the fence.
    pub(crate) fn is_unwatched(&self) -> bool {
        self.timeline.in_flight() > 0 && self.watchers == 0
    }

    /// Learns from completed batches how long commands take. The time is measured from the submission of the first one,
    /// or from the previous completion on the lane if that was later.
    pub(crate) fn learn(&mut self, done: &[SubmittedBatch]) {
        let Some(first) = done.first() else { return };
        let now = web_time::Instant::now();
        let start =
            self.last_finish.replace(now).map_or(first.submitted_at, |last| last.max(first.submitted_at));
        let expected = done.iter().fold(ExpectedCost::default(), |all, batch| all.plus(batch.expected));
        let steps = done.iter().flat_map(|batch| batch.steps.iter());
        self.costs.learn(steps, expected, (now - start).as_secs_f32());
    }

    /// Checks that there is one batch for each value in flight.
    pub(crate) fn debug_check(&self) {
        let batches = self.submitted.len() as u64;
        debug_assert_eq!(batches, self.timeline.in_flight(), "bug: a value of the lane has no batch");
    }

    /// Returns the planned batches of all priorities.
    pub(crate) fn planned(&mut self) -> impl Iterator<Item = &mut Batch> {
        self.ready.iter_mut().flatten()
    }

    /// Removes and returns the planned batches and the batches in flight.
    pub(crate) fn take_all(&mut self) -> (Vec<Batch>, VecDeque<SubmittedBatch>) {
        (self.ready.iter_mut().flat_map(std::mem::take).collect(), std::mem::take(&mut self.submitted))
    }
}

impl State {
    /// Returns the first batch that a planned point waits for and that is not submitted.
    pub(crate) fn unsubmitted_before(&self, point: Point) -> Option<Seq> {
        let mut batches = self.queue(point.slot).batches_before(point.stamp, Stamp(0)).map(|(_, seq)| seq);
        batches.find(|&seq| !self.batches.is_submitted(seq))
    }

    /// Returns `true` if everything up to `point` was submitted, but is not yet known to be complete.
    fn is_submitted(&self, point: Point) -> bool {
        matches!(self.reached(point), PointProgress::Planned(_)) && self.unsubmitted_before(point).is_none()
    }

    /// Removes and returns the wakers whose point was submitted, or is done.
    #[cold]
    pub(crate) fn take_submitted(&mut self) -> Vec<Waker> {
        let mut wakers = std::mem::take(&mut self.waiters.wakers);
        let due =
            wakers.take_submitted(|at| self.reached(at) == PointProgress::Done || self.is_submitted(at));
        self.waiters.wakers = wakers;
        due
    }

    /// Returns the priority whose front batch can now be submitted on a lane.
    pub(crate) fn choose(&self, lane: usize) -> Option<Priority> {
        let at = &self.lanes[lane];
        let submitted = |batch: &Batch| batch.deps.iter().all(|&seq| self.batches.is_submitted(seq));
        let priority = at.choose(submitted)?;
        at.has_room_for(priority, self.queues.any_above(priority)).then_some(priority)
    }

    /// Takes the token of a lane and its next batch, with the batch's value and device waits.
    ///
    /// All dependencies of the batch have been submitted. So there is an order of all submissions in which each waits
    /// only for earlier ones, and no deadlock is possible.
    fn next_batch(&mut self, lane: usize) -> Option<SubmittingBatch> {
        if self.lost.is_some() || self.lanes[lane].token {
            return None;
        }
        let Self { lanes, batches, .. } = &mut *self;
        lanes[lane].promote_overtaken(|batch| batch.deps.iter().all(|&seq| batches.is_submitted(seq)));
        let priority = self.choose(lane)?;
        let batch = self.lanes[lane].take(priority)?;
        self.lanes[lane].token = true;
        self.batches.set(batch.seq, BatchStatus::Encoding);
        let waits = self.batches.device_waits(lane, &batch);
        let value = self.lanes[lane].timeline.pending();
        let at = self.notes.profile.as_ref().map(|_| web_time::Instant::now());
        Some(SubmittingBatch { batch, waits, value, at })
    }
}

impl Engine {
    /// Returns `true` if both contexts submit to the same hardware queue, which executes their submissions in order.
    pub(crate) fn shares_queue(&self, other: &Engine) -> bool {
        let own = self.device.hardware();
        Arc::ptr_eq(&self.device, &other.device) || own.is_some() && own == other.device.hardware()
    }

    /// Returns `true` if everything up to `point` was submitted. Otherwise registers `waker` for the submission. The
    /// caller waits for the completion with another waker, which may be woken first.
    pub(crate) fn register_submitted_waker(&self, point: Point, waker: &Waker) -> bool {
        let mut state = self.lock();
        let submitted = state.is_submitted(point);
        if !submitted && state.reached(point) != PointProgress::Done {
            state.waiters.wakers.register(WakeCondition::submitted(point), waker);
        }
        submitted
    }

    /// Plans the `due` commands of a lane and submits its next batch, outside S and under the lane's token. Returns
    /// `false` if no batch can be submitted.
    pub(crate) fn submit_next<'a>(
        &'a self,
        lane: usize,
        mut state: MutexGuard<'a, State>,
        due: Option<DueCommands>,
    ) -> bool {
        if let Some(due) = due {
            state.plan_lane(lane, due);
        }
        if !state.after.is_empty() {
            // The wakers run before the token is taken, because a waker may wait for the next batch.
            self.unlock(state);
            state = self.lock();
        }
        // A queue that has failed on the device submits nothing more.
        state = self.fail_executed(state);
        let submitting = state.next_batch(lane);
        drop(state);
        submitting.map(|submitting| self.submit(lane, submitting, false)).is_some()
    }

    /// Submits the next planned batch.
    #[cfg(test)]
    pub(crate) fn submit_one(&self, lane: usize) -> bool {
        self.submit_next(lane, self.lock(), None)
    }

    /// Submits the next batch of a lane, if possible, for a caller that then polls the fence itself. This saves waking
    /// the completer.
    pub(crate) fn submit_watched<'a>(
        &'a self,
        state: MutexGuard<'a, State>,
        lane: usize,
    ) -> MutexGuard<'a, State> {
        self.unlock_with(state, &ThreadWakeups::default());
        let submitting = self.lock().next_batch(lane);
        if let Some(submitting) = submitting {
            self.submit(lane, submitting, true);
        }
        self.lock()
    }

    /// Encodes and submits one batch outside S. If `watched` is true, the caller then polls the fence itself: the
    /// completer is not notified, and a CPU device is not started, because the caller executes the batch. If the caller
    /// does not wait after all, the completer starts the device.
    fn submit(&self, lane: usize, submitting: SubmittingBatch, watched: bool) {
        let SubmittingBatch { mut batch, waits, value, at } = submitting;
        let Batch { seq, expected, .. } = batch;
        let steps = Arc::new(std::mem::take(&mut batch.steps));
        let submitted_at = web_time::Instant::now();
        let submit = || lock(&self.lanes[lane].recorder).uncounted().submit(&steps, &waits, value);
        let outcome = submit().or_else(|failure| {
            // If memory is exhausted, releases free blocks and tries again.
            let again = matches!(failure.error.detail(), ErrorDetail::OutOfMemory { .. }) && self.trim() > 0;
            if again { submit() } else { Err(failure) }
        });
        match outcome {
            Ok(keep) => {
                if !watched {
                    self.lanes[lane].fence.start(value);
                }
                let mut state = self.lock();
                if state.lost.is_some() {
                    drop(state);
                    return std::mem::forget((steps, keep)); // the device may still use them
                }
                state.lanes[lane].token = false;
                state.lanes[lane].timeline.submit(value);
                state.lanes[lane].submitted.push_back(SubmittedBatch {
                    seq,
                    value,
                    steps,
                    keep,
                    expected,
                    submitted_at,
                });
                state.lanes[lane].debug_check();
                state.batches.set(seq, BatchStatus::Submitted(value));
                if state.waiters.wakers.has_submission_wakers() {
                    let due = state.take_submitted();
                    state.after.wakers.extend(due);
                }
                if let Some(at) = at {
                    state.notes.note_submit(seq, lane, at);
                }
                let is_over = state.lanes[lane].executes_in_submit;
                if watched && !state.after.has_code() {
                    self.unlock_watched(state, lane);
                } else {
                    self.unlock(state);
                }
                if is_over {
                    self.poll_lane(lane); // so that the next submission can follow at once
                }
            }
            Err(failure) => self.fail_batch(lane, batch, steps, failure),
        }
    }
}

/// A batch that is being submitted, under the lane's token.
struct SubmittingBatch {
    batch: Batch,
    /// Values of other lanes that the device waits for before it starts the batch.
    waits: Vec<LaneValue>,
    value: TimelineValue,
    /// Time at which the batch was taken, while a profiler records.
    at: Option<web_time::Instant>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(lane: &mut LaneState, priority: Priority, seqs: std::ops::Range<u64>) {
        for seq in seqs {
            lane.list(priority).push_back(Batch {
                seq: Seq(seq),
                steps: vec![],
                deps: Default::default(),
                expected: Default::default(),
                cut: false,
                refused: false,
            });
        }
    }

    #[test]
    fn high_priority_goes_first_and_low_priority_is_not_starved() {
        let mut lane = LaneState::default();
        fill(&mut lane, Priority::Low, 0..1);
        fill(&mut lane, Priority::High, 1..20);
        let mut order = Vec::new();
        while let Some(priority) = lane.choose(|_| true) {
            order.extend(lane.take(priority).map(|batch| batch.seq.0));
        }
        assert_eq!(order[..10], [1, 2, 3, 4, 5, 6, 7, 8, 0, 9]);
    }

    /// Returns the order of submission. At the start there are `old` batches of normal priority. Then, for each
    /// priority in `taken`, a batch of normal priority is added before the older ones, and a batch of that priority is
    /// submitted.
    fn submitted(old: u64, taken: &[Priority]) -> Vec<u64> {
        let mut lane = LaneState { mixed: true, ..LaneState::default() };
        fill(&mut lane, Priority::Normal, 0..old);
        let mut order = Vec::new();
        for seq in old..20 {
            fill(&mut lane, Priority::Normal, seq..seq + 1);
            lane.list(Priority::Normal).rotate_right(1);
            fill(&mut lane, Priority::High, 100 + seq..101 + seq);
            for &priority in taken {
                lane.promote_overtaken(|_| true);
                order.extend(lane.take(priority).map(|batch| batch.seq.0));
            }
        }
        order
    }

    #[test]
    fn a_batch_is_submitted_after_it_was_overtaken_four_times() {
        let order = submitted(2, &[Priority::Normal]);
        assert_eq!(order[..10], [2, 3, 4, 5, 0, 7, 8, 9, 10, 1]);
    }

    /// A queue of high priority always has a batch, but overtakes no older batch of its own priority.
    #[test]
    fn batches_of_other_priorities_do_not_reset_the_count_of_overtaken_batches() {
        let order = submitted(1, &[Priority::High, Priority::Normal]);
        assert_eq!(order[..10], [101, 1, 102, 2, 103, 3, 104, 4, 105, 0]);
    }

    /// Adds batches with the given expected seconds, and returns the resulting order of the list.
    fn added(lane: &mut LaneState, batches: &[(f32, Option<u64>)]) -> Vec<u64> {
        for (at, &(seconds, dep)) in batches.iter().enumerate() {
            let batch = Batch {
                seq: Seq(at as u64),
                steps: vec![],
                deps: dep.into_iter().map(Seq).collect(),
                expected: ExpectedCost { seconds, unknown: seconds.is_infinite() },
                cut: false,
                refused: false,
            };
            lane.add(batch, Priority::Normal, true);
        }
        lane.list(Priority::Normal).iter().map(|batch| batch.seq.0).collect()
    }

    #[test]
    fn a_short_batch_passes_the_long_ones_on_which_it_does_not_depend() {
        let short = 1e-4;
        let long = 1.0;
        let unknown = f32::INFINITY;
        let order = |batches: &[(f32, Option<u64>)]| {
            added(&mut LaneState::new(CostModel::Measured(CostModel::LATENESS)), batches)
        };
        assert_eq!(order(&[(long, None), (unknown, None), (short, None), (short, None)]), [2, 3, 0, 1]);
        assert_eq!(order(&[(long, None), (long, None), (short, Some(0))]), [0, 2, 1]);
        assert_eq!(order(&[(long, None), (short, Some(0)), (long, None), (short, Some(1))]), [0, 1, 3, 2]);
        assert_eq!(order(&[(short, None), (long, None), (long, None)]), [0, 1, 2]);
    }

    #[test]
    fn short_commands_are_planned_while_a_long_batch_waits_and_gather_after_a_few_batches() {
        let mut lane = LaneState::new(CostModel::Measured(CostModel::LATENESS));
        assert_eq!(lane.plannable(Priority::Normal), Plannable::All);
        added(&mut lane, &[(1.0, None)]);
        assert_eq!(lane.plannable(Priority::Normal), Plannable::Short);
        added(&mut lane, &[(0.0, None)]);
        assert_eq!(lane.plannable(Priority::Normal), Plannable::Nothing, "a short batch is next");
        lane.list(Priority::Normal).rotate_left(1);
        for _ in 1..SHORT_AHEAD {
            assert_eq!(lane.plannable(Priority::Normal), Plannable::Short);
            added(&mut lane, &[(0.0, None)]);
            lane.list(Priority::Normal).make_contiguous().sort_by_key(|batch| batch.expected.seconds < 1.0);
        }
        assert_eq!(lane.plannable(Priority::Normal), Plannable::Nothing);
    }

    #[test]
    fn a_lane_that_executes_in_submit_takes_one_batch_at_a_time() {
        let mut lane = LaneState { executes_in_submit: true, ..LaneState::default() };
        assert!(lane.has_room(false));
        lane.timeline.submit(lane.timeline.pending());
        assert!(!lane.has_room(false));
        lane.executes_in_submit = false;
        assert!(lane.has_room(false) && !lane.has_room(true));
    }

    #[test]
    fn a_batch_that_cannot_be_submitted_does_not_block_other_priorities() {
        let mut lane = LaneState::default();
        fill(&mut lane, Priority::High, 0..1);
        fill(&mut lane, Priority::Low, 1..2);
        assert_eq!(lane.choose(|batch| batch.seq == Seq(1)), Some(Priority::Low));
    }
}
