//! The data that the state lock S guards, and its text dump.

use crate::device::CostModel;
use crate::device::adapter::AdapterInfo;
use crate::error::{Error, Result};
use crate::memory::uses::{BlockUse, Policy};
use crate::scheduler::batch::{Batches, Command, Op};
use crate::scheduler::callbacks::Callbacks;
use crate::scheduler::costs::KernelNames;
use crate::scheduler::engine::Engine;
use crate::scheduler::enqueue::BacklogRoom;
use crate::scheduler::host_guard::ContextMemory;
use crate::scheduler::lanes::{LaneState, Plannable};
use crate::scheduler::messages::Deliveries;
use crate::scheduler::plan::Plannings;
use crate::scheduler::queue::{HoldReason, PointProgress, QueueState};
use crate::scheduler::queues::{Priority, Queues};
use crate::scheduler::replays::ContextLoops;
use crate::scheduler::times::{ContextNotes, QueueTiming};
use crate::scheduler::wakers::{Waiters, WakeCondition};
use crate::work::step::Work;
use fencepost_profile::WaitCause;
use fencepost_sync::{Clock, HoldId, Point, Seq, Slot, Stamp};
use std::fmt::Write;
use std::panic::Location;
use std::sync::Arc;
use std::task::Waker;

/// Actions that must run after S is released: drops of arrays and calls of wakers.
#[derive(Default)]
pub(crate) struct AfterUnlock {
    pub(crate) dropped: Vec<Command>,
    pub(crate) wakers: Vec<Waker>,
    /// Times of closed queues, so that their memory is freed outside S.
    pub(crate) times: Vec<QueueTiming>,
    /// `true` if planning removed a command from a queue. A batch or another queue may now be able to continue, so
    /// releasing S notifies other threads.
    pub(crate) planned_any: bool,
}

impl AfterUnlock {
    /// Returns `true` if there is user code to run.
    pub(crate) fn has_code(&self) -> bool {
        !self.dropped.is_empty() || !self.wakers.is_empty()
    }

    /// Returns `true` if no action is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.dropped.is_empty() && self.wakers.is_empty() && self.times.is_empty() && !self.planned_any
    }
}

/// Maximum number of queue ends that a new queue waits for itself. If there are more, a helper queue waits for them.
const MOST_ENDS: usize = 16;

/// Bookkeeping of a context.
///
/// Each part is a struct with its own invariants and methods. `State` has only the methods that concern several parts.
#[derive(Default)]
pub(crate) struct State {
    /// Last stamp of the context. No queue has a larger one.
    stamp: Stamp,
    /// Number of the newest hold.
    holds: u64,
    policy: Policy,
    /// Queues by slot. The first is the context's own, which is never closed.
    pub(crate) queues: Queues,
    pub(crate) lanes: Vec<LaneState>,
    pub(crate) batches: Batches,
    pub(crate) memory: ContextMemory,
    pub(crate) plannings: Plannings,
    pub(crate) loops: ContextLoops,
    pub(crate) room: BacklogRoom,
    pub(crate) callbacks: Callbacks,
    pub(crate) waiters: Waiters,
    /// Actions that run once S is released.
    pub(crate) after: AfterUnlock,
    pub(crate) notes: ContextNotes,
    pub(crate) kernels: KernelNames,
    /// Messages of kernels that the host has not received.
    pub(crate) deliveries: Deliveries,
    /// Work that the program knows to be complete. It never covers work that is not done.
    pub(crate) host_clock: Clock,
    /// `Some` once the device is lost. From then on the state has no work and no wakers, and the device is not called.
    pub(crate) lost: Option<Error>,
    /// First error that occurred in a `Drop`.
    pub(crate) drop_error: Option<Error>,
    /// `true` once the last handle is gone. The threads end after the remaining work is complete.
    pub(crate) closing: bool,
}

impl State {
    pub(crate) fn new(lanes: impl Iterator<Item = CostModel>, policy: Policy) -> Self {
        let own = QueueState::new("context".into(), 0, Priority::Normal, Clock::default(), Stamp(0));
        let mut queues = Queues::default();
        queues.push(own);
        Self { queues, lanes: lanes.map(LaneState::new).collect(), policy, ..Self::default() }
    }

    pub(crate) fn policy(&self) -> Policy {
        self.policy
    }

    pub(crate) fn queue(&self, slot: Slot) -> &QueueState {
        &self.queues[slot]
    }

    pub(crate) fn queue_mut(&mut self, slot: Slot) -> &mut QueueState {
        &mut self.queues[slot]
    }

    /// Returns the stamp of the last enqueued command.
    pub(crate) fn last_stamp(&self) -> Stamp {
        self.stamp
    }

    pub(crate) fn next_stamp(&mut self) -> Stamp {
        self.stamp.0 += 1;
        self.stamp
    }

    pub(crate) fn new_hold(&mut self) -> HoldId {
        self.holds += 1;
        HoldId(self.holds)
    }

    /// Makes a queue that follows everything enqueued so far.
    pub(crate) fn new_queue(
        &mut self,
        label: Arc<str>,
        priority: Priority,
        lane: usize,
        at: &'static Location<'static>,
    ) -> Slot {
        let (clock, mut born_after) = self.ends_of_all_queues();
        if born_after.len() > MOST_ENDS {
            // A helper queue waits for all of them, because otherwise each new queue would have to.
            let all = self.new_helper("(ends of queues)".into(), Priority::Normal, lane);
            for point in born_after {
                self.push_wait(all, point, WaitCause::QueueCreation, at);
            }
            let queue = self.queue_mut(all);
            queue.open = false;
            queue.clock = clock.clone();
            queue.request_all();
            born_after = vec![queue.end(all)];
        }
        // With a new stamp, clocks that cover the slot's previous queue do not cover this one.
        let stamp = self.next_stamp();
        let queue = QueueState::new(label, lane, priority, clock, stamp);
        let slot = self.queues.add(queue);
        for point in born_after {
            self.push_wait(slot, point, WaitCause::QueueCreation, at);
        }
        self.queue_mut(slot).unused = true;
        slot
    }

    /// Makes a queue of the context for one command. It comes after only what that command needs.
    pub(crate) fn new_helper(&mut self, label: Arc<str>, priority: Priority, lane: usize) -> Slot {
        let stamp = self.next_stamp();
        let mut queue = QueueState::new(label, lane, priority, Clock::default(), stamp);
        queue.helper = true;
        self.queues.add(queue)
    }

    /// Returns a clock that covers everything enqueued, and the points that one must wait for to come after all of it.
    /// Points that other points already come after are left out, and so are unused queues, because the queues that they
    /// wait for are included.
    fn ends_of_all_queues(&self) -> (Clock, Vec<Point>) {
        let mut waited = Clock::default();
        let mut points = Vec::new();
        self.queues.newest_first(|slot, last| {
            let queue = self.queue(slot);
            let end = self.queue(slot).end(slot);
            if !queue.is_unused()
                && !waited.covers(slot, end.stamp)
                && self.reached(end) != PointProgress::Done
            {
                waited.join(&queue.clock);
                points.push(end);
            }
            waited.all() < last
        });
        (Clock::after_all(self.stamp), points)
    }

    /// Marks the slot of a queue as free if the queue is closed and its work is complete.
    pub(crate) fn free_slot(&mut self, slot: Slot) {
        let queue = self.queue(slot);
        if slot != Slot::CONTEXT && !queue.open && !queue.free && queue.is_finished() {
            let queue = self.queue_mut(slot);
            queue.free = true;
            let timing = queue.timing.take().map(|timing| *timing);
            self.after.times.extend(timing);
        }
    }

    /// Returns the progress of a point. If the point is planned, returns an unfinished batch that the point waits for.
    pub(crate) fn reached(&self, point: Point) -> PointProgress {
        let queue = self.queue(point.slot);
        match queue.reached(point.stamp) {
            // The last batch that the point waits for is done, but batches may complete in any order: the first one
            // that is not done still delays the point.
            PointProgress::Planned(seq) if self.batches.is_done(seq) => {
                let open =
                    queue.batches_before(point.stamp, Stamp(0)).find(|&(_, seq)| !self.batches.is_done(seq));
                PointProgress::Planned(open.map_or(seq, |(_, seq)| seq))
            }
            reached => reached,
        }
    }

    /// Returns `true` if no batch is planned or in flight, and no callback and no message is due. Unplanned commands do
    /// not count, so both this and [`can_make_progress`](Self::can_make_progress) can be true.
    pub(crate) fn nothing_in_flight(&self) -> bool {
        let idle = |lane: &LaneState| lane.timeline.in_flight() == 0 && !lane.has_ready();
        !self.callbacks.are_due() && !self.deliveries.are_due(&self.queues) && self.lanes.iter().all(idle)
    }

    /// Returns `true` if `make_progress` has work to do: a batch is in flight, a callback or messages are due, or a
    /// lane can submit or plan something. Batches that wait for another thread do not count, so this is not the
    /// opposite of [`nothing_in_flight`](Self::nothing_in_flight).
    pub(crate) fn can_make_progress(&self) -> bool {
        let works = |lane: usize| self.lanes[lane].timeline.in_flight() > 0 || self.something_for(lane);
        self.callbacks.are_due() || self.deliveries.are_due(&self.queues) || (0..self.lanes.len()).any(works)
    }

    /// Returns `true` if no later use will need to wait for `earlier`. Under [`Policy::Checked`] only the host clock
    /// counts, because an error must not depend on the progress of the device.
    pub(crate) fn forgettable(&self, earlier: &BlockUse) -> bool {
        match self.policy {
            Policy::Checked => self.host_clock().covers(earlier.slot, earlier.stamp()),
            _ => self.queue(earlier.slot).completed() >= earlier.stamp(),
        }
    }

    /// Returns an error if a call may not enqueue on `slot`: the device is lost, the queue has failed, or the context
    /// queue has failed. If the context queue has failed, every call is refused, because later commands may use arrays
    /// that it did not fill.
    #[inline]
    pub(crate) fn check(&self, slot: Slot) -> Result<()> {
        let error = |slot: Slot| self.queue(slot).error.as_ref();
        match self.lost.as_ref().or_else(|| error(slot)).or_else(|| error(Slot::CONTEXT)) {
            None => Ok(()),
            Some(error) => Err(error.clone()),
        }
    }

    /// Ends a hold. Returns `true` if it held a queue.
    pub(crate) fn release(&mut self, hold: HoldReason) -> bool {
        let any = self.queues.release(hold);
        if any {
            self.plannings.forget_search();
        }
        any
    }

    /// Returns which commands of a priority the thread of a lane may plan now.
    pub(crate) fn plannable(&self, lane: usize, priority: Priority) -> Plannable {
        match self.lanes[lane].plannable(priority) {
            Plannable::Short if self.plannings.found_no_short(self.stamp) => Plannable::Nothing,
            plannable => plannable,
        }
    }

    /// Moves wakers to `after` that are due although no batch has completed: because planning has completed their
    /// point, the hold of their queue has changed, or their point was submitted.
    pub(crate) fn collect_wakers(&mut self) {
        let queues = &self.queues;
        self.waiters.collect_repolls(queues, &mut self.after.wakers);
        let reached = self.waiters.wakers.take_reached(|slot| queues[slot].completed());
        self.after.wakers.extend(reached);
        if self.waiters.wakers.has_submission_wakers() {
            let due = self.take_submitted();
            self.after.wakers.extend(due);
        }
    }

    /// Moves to `after` all wakers that wait for completions, so that their tasks poll again.
    pub(crate) fn wake_all_waiters(&mut self) {
        // Tasks may wait for an event that a callback signals, and that callback may now be able to run.
        self.after.wakers.extend(self.waiters.wakers.take_completion_wakers());
    }

    /// Records that a batch is complete, and updates its queues. Returns the wakers to call.
    pub(crate) fn complete_batch(&mut self, seq: Seq) -> Vec<Waker> {
        let slots = self.batches.finish(seq);
        let mut wakers = self.waiters.wakers.take(WakeCondition::Batch(seq));
        for slot in slots {
            let batches = &self.batches;
            let queue = &mut self.queues[slot];
            queue.advance_completed(|seq| batches.is_done(seq));
            wakers.extend(self.waiters.wakers.take_upto(slot, queue.completed()));
            if queue.is_drained() {
                self.release(HoldReason::Drain(slot));
            }
            self.free_slot(slot);
        }
        if self.waiters.wakers.has_submission_wakers() {
            wakers.extend(self.take_submitted());
        }
        self.batches.trim();
        wakers
    }

    /// Returns the sizes of the tables that can grow with the calls of a program: wakers, kept failures, clock entries,
    /// and names of kernels.
    fn kept(&self) -> (usize, usize, usize, usize) {
        let failures = self.queues.iter().map(|queue| queue.failures.len()).sum();
        let known =
            self.queues.iter().map(|queue| queue.clock.len()).sum::<usize>() + self.host_clock().len();
        (self.waiters.wakers.len(), failures, known, self.kernels.len())
    }
}

/// Maximum number of queues in a dump. Queues with work or an error come first.
const MOST_QUEUES: usize = 100;

impl Engine {
    /// Returns a description of the queues and lanes, one line each, with at most [`MOST_QUEUES`] queues.
    pub(crate) fn dump(&self, info: &AdapterInfo) -> String {
        let state = self.lock();
        let recorder = self.device.recorder();
        let policy = state.policy();
        let compared = state.notes.compared.get();
        let mut text = format!(
            "{info}\npolicy {policy:?}, {compared} commands compared with earlier uses, recorder {recorder}\n"
        );
        if let Some(lost) = &state.lost {
            let _ = writeln!(text, "lost: {lost}");
        }
        for (at, lane) in state.lanes.iter().enumerate() {
            let timeline = lane.timeline;
            let _ = writeln!(
                text,
                "lane {at}: completed {}, submitted {}, {} batches planned{}",
                timeline.completed(),
                timeline.submitted(),
                lane.ready_len(),
                if lane.token { ", submitting" } else { "" },
            );
        }
        let (wakers, failures, known, names) = state.kept();
        let _ = writeln!(
            text,
            "kept: {wakers} wakers, {failures} failures, {known} entries of clocks, {names} names of kernels"
        );
        let queues = || state.queues.iter().enumerate().filter(|(_, queue)| !queue.free);
        let is_idle = |queue: &QueueState| queue.is_finished() && queue.error.is_none();
        let all = queues().count();
        let mut listed: Vec<_> = queues().filter(|(_, queue)| !is_idle(queue)).take(MOST_QUEUES).collect();
        listed.extend(queues().filter(|(_, queue)| is_idle(queue)).take(MOST_QUEUES - listed.len()));
        listed.sort_unstable_by_key(|&(at, _)| at);
        for &(at, queue) in &listed {
            let _ = writeln!(text, "queue {at} `{}`: {}", queue.label, describe_queue(queue));
        }
        if listed.len() < all {
            let _ = writeln!(text, "{} more queues", all - listed.len());
        }
        text
    }
}

fn describe_queue(queue: &QueueState) -> String {
    let mut text = format!(
        "lane {}, {:?}, completed {} of {}, {} pending",
        queue.lane,
        queue.priority,
        queue.completed(),
        queue.enqueued(),
        queue.pending.len(),
    );
    if let Some(front) = queue.pending.front() {
        let _ = write!(text, ", next: {}", describe_op(&front.op));
    }
    if let Some(hold) = queue.hold {
        let _ = write!(text, ", held: {}", describe_hold(hold));
    }
    if let Some(error) = &queue.error {
        let _ = write!(text, ", failed: {error}");
    }
    text
}

fn describe_op(op: &Op) -> String {
    match op {
        Op::Work(work) => describe_work(work),
        Op::Timed(timed) => describe_work(&timed.work),
        Op::Wait(point) => format!("wait for queue {} at {}", point.slot.0, point.stamp),
        Op::Early(_) => "an array that is made".into(),
        Op::WaitUser(event) if event.source().is_some() => {
            format!("wait for {}, in another context", event.label())
        }
        Op::WaitUser(event) => format!("wait for user event `{}`", event.label()),
        Op::Callback(_) | Op::DueCallback(_) => "host callback".into(),
        Op::Loop(run) => run.describe(),
    }
}

fn describe_work(work: &Work) -> String {
    match work {
        Work::Launch(launch) => format!("launch of `{}`", launch.kernel().name),
        Work::Copy { .. } | Work::Region(_) => "copy".into(),
        Work::Fill { .. } => "fill".into(),
        Work::Upload { .. } => "upload".into(),
        Work::Read { .. } => "read".into(),
        Work::Graph(graph) => format!("replay of graph `{}`", graph.label()),
        Work::WgpuCommands(_) => "commands of the program".into(),
        Work::Gate(_) => "condition".into(),
        Work::Start(_) | Work::End(_) => "time".into(),
        Work::QueueFence => "wait for another context, on the device".into(),
        Work::Nothing => "nothing".into(),
    }
}

pub(crate) fn describe_hold(hold: HoldReason) -> &'static str {
    match hold {
        HoldReason::User(_) => "a user event is not signalled",
        HoldReason::Callback(_) => "a host callback has not run",
        HoldReason::Host(_) => "the host accesses an array",
        HoldReason::Drain(_) => "a host callback waits for earlier work",
        HoldReason::Loop(_) => "a chunk of a loop is not complete",
    }
}
