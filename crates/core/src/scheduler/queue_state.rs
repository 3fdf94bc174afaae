//! One command queue as the scheduler sees it.

use crate::error::Error;
use crate::memory::heap::BlockId;
use crate::scheduler::chunked_list::ChunkedList;
use crate::scheduler::command::{Command, Op};
use crate::scheduler::failure_history::FailureHistory;
use crate::scheduler::handle_points::{HandlePoints, PointHistory};
use crate::scheduler::priority::Priority;
use crate::scheduler::queue_timing::QueueTiming;
use crate::work::kernel_launch::Launch;
use crate::work::step::Work;
use fencepost_sync::{Clock, HoldId, Point, Seq, Slot, Stamp};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::sync::Arc;

/// Commands of a queue that are worth starting before the program asks for them.
const MANY: usize = 16;

/// Why nothing more of a queue can be planned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hold {
    /// A user event that is not signalled.
    User(HoldId),
    /// A host callback that has not run.
    Callback(HoldId),
    /// The host is at the bytes of a block.
    Host(BlockId),
    /// The front is a callback, and work before it is still running.
    Drain(Slot),
}

/// A stretch of a queue's commands that is planned and not known to be done.
struct Segment {
    last: Stamp,
    /// The batch that it, or what it waits for, is in.
    seq: Seq,
}

/// The scheduler's side of a queue. A slot that is free keeps its numbers.
pub(crate) struct QueueState {
    pub(crate) label: Arc<str>,
    pub(crate) lane: usize,
    pub(crate) priority: Priority,
    pub(crate) pending: ChunkedList<Command>,
    /// How many pending commands give the host something.
    gives: usize,
    /// Up to here what is pending has failed: planning drops it, but for waits for other queues.
    dead: Stamp,
    pub(crate) hold: Option<Hold>,
    pub(crate) error: Option<Error>,
    /// What its next command is ordered after.
    pub(crate) clock: Clock,
    /// The waits since those entries of its clock were dropped that matter no more.
    pub(crate) learned: usize,
    /// The times of its commands, if it is timed.
    pub(crate) timing: Option<Box<QueueTiming>>,
    /// Everything up to here is none of its work.
    pub(crate) born: Stamp,
    /// Whether a handle exists.
    pub(crate) open: bool,
    /// Whether the slot can be given to a new queue.
    pub(crate) free: bool,
    /// Whether it has nothing but the waits it was made with, and nothing waits for a point of it.
    pub(crate) unused: bool,
    /// Whether it is the context's own, made for one command: it comes after nothing but what that needs.
    pub(crate) helper: bool,
    /// The last command that the program has asked for.
    asked: Stamp,
    enqueued: Stamp,
    planned: Stamp,
    completed: Stamp,
    segments: VecDeque<Segment>,
    /// The last batch with work of its own, unless that is done.
    own: Option<Seq>,
    /// The batch that is to be done before a caller that waits plans more.
    pub(crate) ahead: Option<Seq>,
    /// The ends that handles stand for, of what is not planned.
    awaited: HandlePoints,
    /// How far it is known to come after other queues: their batches up to there are among its segments, or done.
    behind: SmallVec<[(Slot, Stamp); 4]>,
    pub(crate) failures: FailureHistory,
}

/// How far a point is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reached {
    Done,
    /// In this batch, or behind it; batches before it may take longer.
    Planned(Seq),
    Unplanned,
}

impl QueueState {
    /// A queue born at `stamp`: everything enqueued before is none of its work.
    pub(crate) fn new(label: Arc<str>, lane: usize, priority: Priority, clock: Clock, stamp: Stamp) -> Self {
        Self {
            label,
            lane,
            priority,
            pending: ChunkedList::default(),
            gives: 0,
            dead: stamp,
            hold: None,
            error: None,
            clock,
            learned: 0,
            timing: None,
            born: stamp,
            open: true,
            free: false,
            unused: false,
            helper: false,
            asked: stamp,
            enqueued: stamp,
            planned: stamp,
            completed: stamp,
            segments: VecDeque::new(),
            own: None,
            ahead: None,
            awaited: HandlePoints::default(),
            behind: SmallVec::new(),
            failures: FailureHistory::default(),
        }
    }

    /// The stamp of its last command.
    pub(crate) fn enqueued(&self) -> Stamp {
        self.enqueued
    }

    pub(crate) fn completed(&self) -> Stamp {
        self.completed
    }

    /// Notes that the program asks for everything up to `stamp`.
    pub(crate) fn ask(&mut self, stamp: Stamp) {
        self.asked = self.asked.max(stamp);
    }

    /// Whether the program has asked for what is in front, or so much is pending that it is time to start.
    pub(crate) fn urgent(&self) -> bool {
        self.pending.len() >= MANY || self.is_asked()
    }

    /// Whether the program has asked for the command in front.
    pub(crate) fn is_asked(&self) -> bool {
        self.pending.front().is_some_and(|front| front.stamp <= self.asked)
    }

    /// The last point that the program has asked for.
    pub(crate) fn end_of_asked(&self, slot: Slot) -> Point {
        Point { slot, stamp: self.asked.min(self.enqueued) }
    }

    /// Whether the command in front makes a batch of its own.
    pub(crate) fn goes_alone(&self) -> bool {
        self.pending.front().is_some_and(|front| matches!(front.op, Op::Work(Work::WgpuCommands(_))))
    }

    /// Notes that a handle stands for the end of what is enqueued, as long as `past` lives.
    pub(crate) fn look_for_end(&mut self, past: &Arc<PointHistory>) {
        self.await_result(self.enqueued, past);
    }

    /// Notes that a handle stands for a point, as long as `past` lives.
    pub(crate) fn await_result(&mut self, stamp: Stamp, past: &Arc<PointHistory>) {
        if stamp > self.planned {
            self.awaited.add(stamp, past);
        } else {
            self.awaited.sweep();
        }
    }

    /// Whether the program has a handle of a point from `first` on, or something pending gives the host what it looks at.
    pub(crate) fn has_handles(&self, first: Stamp) -> bool {
        self.gives() || self.first_handle(first).is_some()
    }

    /// Whether something pending gives the host what it looks at.
    pub(crate) fn gives(&self) -> bool {
        self.gives > 0
    }

    /// The first point from `first` on of which the program has a handle.
    pub(crate) fn first_handle(&self, first: Stamp) -> Option<Stamp> {
        self.awaited.first(first)
    }

    /// Whether everything that was planned is done.
    pub(crate) fn drained(&self) -> bool {
        self.segments.is_empty()
    }

    /// Whether it has no work left at all.
    pub(crate) fn spent(&self) -> bool {
        self.pending.is_empty() && self.segments.is_empty()
    }

    /// Takes the slot of a queue that is gone. Whatever still asks for the failures of that one gets them.
    pub(crate) fn succeed(&mut self, gone: &mut QueueState) {
        self.failures = std::mem::take(&mut gone.failures);
        self.failures.begin(self.born);
    }

    /// Notes that something waits for a point of it.
    pub(crate) fn note_use(&mut self) {
        self.unused = false;
    }

    /// Whether nothing has to come after what it waits for: neither work of its own nor a point that is waited for, or of which
    /// the program has a handle.
    pub(crate) fn is_unused(&self) -> bool {
        self.unused && self.first_handle(Stamp(0)).is_none()
    }

    /// Forgets the waits of a queue whose handle is gone, if nothing comes after them and none is planned.
    pub(crate) fn forget_waits(&mut self) {
        if self.is_unused() && self.segments.is_empty() {
            self.pending = ChunkedList::default();
            (self.planned, self.completed) = (self.enqueued, self.enqueued);
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, command: Command) {
        self.unused = false;
        self.enqueued = command.stamp;
        self.gives += usize::from(command.op.gives());
        self.pending.push_back(command);
    }

    /// Takes the front command into the plan: it is done when batch `seq` is, or when what is before it is.
    pub(crate) fn pop(&mut self, seq: Option<Seq>) -> Option<Command> {
        let command = self.pending.pop_front()?;
        self.gives -= usize::from(command.op.gives());
        self.advance_plan(command.stamp, seq);
        Some(command)
    }

    /// Takes the front command into batch `seq`, as work of its own.
    pub(crate) fn pop_work(&mut self, seq: Seq) -> Option<Command> {
        self.own = Some(seq);
        self.pop(Some(seq))
    }

    /// Takes the first `count` commands into the plan, which are launches: they are done when batch `seq` is.
    pub(crate) fn pop_launches(
        &mut self,
        count: usize,
        seq: Seq,
    ) -> impl Iterator<Item = (Stamp, Option<Box<Launch>>)> {
        if let Some(last) = count.checked_sub(1) {
            self.own = Some(seq);
            let upto = self.pending.piece()[last].stamp;
            self.advance_plan(upto, Some(seq));
        }
        self.pending.drain(count).map(|command| (command.stamp, command.launch()))
    }

    fn advance_plan(&mut self, stamp: Stamp, seq: Option<Seq>) {
        self.planned = stamp;
        match (self.segments.back_mut(), seq) {
            (None, None) => self.completed = stamp,
            (Some(last), None) => last.last = stamp,
            (Some(last), Some(seq)) if last.seq == seq => last.last = stamp,
            (_, Some(seq)) => self.segments.push_back(Segment { last: stamp, seq }),
        }
    }

    /// Takes the front command into the plan: it is done when all of `seqs`, and what is before it, are.
    pub(crate) fn pop_wait(&mut self, seqs: &[Seq]) {
        let Some((&last, others)) = seqs.split_last() else { return drop(self.pop(None)) };
        let known: FxHashSet<Seq> = if others.is_empty() { <_>::default() } else { self.batches().collect() };
        for &seq in others.iter().filter(|seq| !known.contains(seq)) {
            // None of the queue's own commands is done with it alone.
            self.segments.push_back(Segment { last: self.planned, seq });
        }
        self.pop(Some(last));
    }

    /// Notes a wait for `point`, all of whose batches are among the segments now; how far it had come after that queue
    /// before.
    pub(crate) fn come_after(&mut self, point: Point) -> Stamp {
        match self.behind.iter_mut().find(|(slot, _)| *slot == point.slot) {
            Some((_, stamp)) => std::mem::replace(stamp, point.stamp.max(*stamp)),
            None => {
                self.behind.push((point.slot, point.stamp));
                Stamp(0)
            }
        }
    }

    pub(crate) fn reached(&self, stamp: Stamp) -> Reached {
        if self.completed >= stamp {
            return Reached::Done;
        }
        if self.planned < stamp {
            return Reached::Unplanned;
        }
        let at = self.segments.partition_point(|segment| segment.last < stamp);
        Reached::Planned(self.segments[at].seq)
    }

    /// The batches that have to be done before `stamp` is, and did not have to be before `since` was. The last of them need
    /// not come after the others: what a queue waits for may be done before its own work is.
    pub(crate) fn batches_before(&self, stamp: Stamp, since: Stamp) -> impl Iterator<Item = Seq> {
        let first = self.segments.partition_point(|segment| segment.last < since);
        let at = self.segments.partition_point(|segment| segment.last < stamp);
        self.segments.iter().take(at + 1).skip(first).map(|segment| segment.seq)
    }

    /// Notes which stretches are done.
    pub(crate) fn settle(&mut self, done: impl Fn(Seq) -> bool) {
        while let Some(front) = self.segments.front() {
            if !done(front.seq) {
                break;
            }
            self.completed = front.last;
            if self.own == Some(front.seq) {
                self.own = None; // a wait may name the same batch again, further behind
            }
            self.segments.pop_front();
        }
        self.awaited.settle(self.completed);
    }

    /// The batches that its planned work, or a wait in it, is in: what it plans next comes after them.
    pub(crate) fn batches(&self) -> impl Iterator<Item = Seq> {
        self.segments.iter().map(|segment| segment.seq)
    }

    /// As [`batches`](Self::batches), from the first mention of the last one with work of its own on: that comes after all
    /// those before it.
    pub(crate) fn batches_since_work(&self) -> impl Iterator<Item = Seq> {
        let own = self.segments.iter().position(|segment| Some(segment.seq) == self.own);
        self.batches().skip(own.unwrap_or(0))
    }

    /// Ends the queue from `first` on. What is pending is [dropped](Self::pop_dead) piece by piece, however much it is; the
    /// waits for other queues stay, as something may count on the order that they give.
    pub(crate) fn fail(&mut self, first: Stamp, error: Error) {
        self.failures.fail(first..=self.enqueued, &error);
        self.error.get_or_insert(error);
        self.hold = None;
        self.dead = self.enqueued;
    }

    /// Whether the command in front has failed, and is no wait for another queue.
    pub(crate) fn front_is_dead(&self) -> bool {
        let dead = |front: &Command| front.stamp <= self.dead && !matches!(front.op, Op::Wait(_));
        self.pending.front().is_some_and(dead)
    }

    /// Takes the commands in front that [have failed](Self::front_is_dead), up to `upto` and `room` at most.
    pub(crate) fn pop_dead(&mut self, upto: Stamp, room: usize) -> Vec<Command> {
        let mut dead = Vec::new();
        while dead.len() < room
            && self.front_is_dead()
            && self.pending.front().is_some_and(|front| front.stamp <= upto)
        {
            dead.extend(self.pop(None));
        }
        dead
    }

    /// Has everything enqueued so far fail too, if the queue has an error that was not taken.
    pub(crate) fn stay_failed(&mut self) {
        if self.error.is_some() {
            self.failures.go_on(self.enqueued);
        }
    }

    /// Has this queue wait for all of `seqs` where it waits for `gone`, which is over before them.
    pub(crate) fn replace_batch(&mut self, gone: Seq, seqs: &[Seq]) -> bool {
        let Some(at) = self.segments.iter().position(|segment| segment.seq == gone) else { return false };
        let last = at.checked_sub(1).map_or(self.completed, |before| self.segments[before].last);
        for &seq in seqs {
            self.segments.insert(at, Segment { last, seq });
        }
        true
    }

    /// The error of a point that is done, if it has one.
    pub(crate) fn result(&self, stamp: Stamp) -> Result<(), Error> {
        self.failures.of(stamp).map_or(Ok(()), |error| Err(error.clone()))
    }

    /// The point of everything enqueued so far.
    pub(crate) fn end(&self, slot: Slot) -> Point {
        Point { slot, stamp: self.enqueued }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(commands: u64) -> QueueState {
        let mut queue = QueueState::new("q".into(), 0, Priority::Normal, Clock::default(), Stamp(0));
        for stamp in 1..=commands {
            queue.push(Command { stamp: Stamp(stamp), op: Op::Callback(Box::new(|| ())) });
        }
        queue
    }

    #[test]
    fn a_point_is_done_when_its_batch_is() {
        let mut q = queue(2);
        assert_eq!(q.reached(Stamp(1)), Reached::Unplanned);
        q.pop(Some(Seq(7)));
        assert_eq!(q.reached(Stamp(1)), Reached::Planned(Seq(7)));
        q.settle(|seq| seq == Seq(7));
        assert_eq!(q.reached(Stamp(1)), Reached::Done);
        assert_eq!(q.reached(Stamp(2)), Reached::Unplanned);
    }

    #[test]
    fn what_trails_a_batch_is_done_with_it() {
        let mut q = queue(2);
        q.pop(Some(Seq(7)));
        q.pop(None);
        assert_eq!(q.reached(Stamp(2)), Reached::Planned(Seq(7)));
        q.settle(|_| true);
        assert_eq!(q.completed(), Stamp(2));
    }

    #[test]
    fn a_failure_does_not_overtake_what_runs() {
        let mut q = queue(3);
        q.pop(Some(Seq(1)));
        q.fail(Stamp(2), crate::error::Kind::Busy { array: "x".into() }.into());
        assert_eq!(q.pop_dead(Stamp(3), 10).len(), 2);
        assert_eq!(q.reached(Stamp(3)), Reached::Planned(Seq(1)));
        q.settle(|_| true);
        assert!(q.result(Stamp(1)).is_ok() && q.result(Stamp(3)).is_err());
    }

    #[test]
    fn a_point_comes_after_the_batches_up_to_its_own() {
        let mut q = queue(3);
        for seq in [7, 8, 9] {
            q.pop_work(Seq(seq));
        }
        let before = |stamp, since| q.batches_before(Stamp(stamp), Stamp(since)).collect::<Vec<_>>();
        assert_eq!(before(1, 0), [Seq(7)]);
        assert_eq!(before(2, 0), [Seq(7), Seq(8)]);
        assert_eq!(before(3, 2), [Seq(8), Seq(9)]);
    }

    #[test]
    fn the_last_batch_with_work_and_what_is_waited_for_since_stand_for_all() {
        let mut q = queue(4);
        q.pop_work(Seq(1));
        q.pop_work(Seq(2));
        assert_eq!(q.batches_since_work().collect::<Vec<_>>(), [Seq(2)]);
        q.pop_wait(&[Seq(3), Seq(4)]);
        assert_eq!(q.batches_since_work().collect::<Vec<_>>(), [Seq(2), Seq(3), Seq(4)]);
        assert_eq!(q.reached(Stamp(3)), Reached::Planned(Seq(4)));
        q.settle(|seq| seq != Seq(3));
        assert_eq!(q.completed(), Stamp(2));
    }

    #[test]
    fn what_is_waited_for_behind_work_that_is_done_is_still_waited_for() {
        let mut q = queue(3);
        q.pop_work(Seq(5));
        q.pop_wait(&[Seq(4)]);
        q.pop_wait(&[Seq(5)]); // another queue's work in the same batch
        q.settle(|seq| seq == Seq(5));
        assert_eq!(q.batches_since_work().collect::<Vec<_>>(), [Seq(4), Seq(5)]);
    }

    #[test]
    fn how_far_a_queue_has_come_after_another_never_falls() {
        let mut q = queue(0);
        let came = [5, 3, 4, 6, 1].map(|stamp| q.come_after(Point { slot: Slot(2), stamp: Stamp(stamp) }).0);
        assert_eq!(came, [0, 5, 5, 5, 6]);
    }

    #[test]
    fn a_queue_that_fails_keeps_its_waits_and_its_error_and_is_not_held() {
        let mut q = queue(1);
        let waited = Point { slot: Slot(2), stamp: Stamp(1) };
        q.push(Command { stamp: Stamp(2), op: Op::Wait(waited) });
        q.hold = Some(Hold::User(HoldId(1)));
        q.push(Command { stamp: Stamp(3), op: Op::Callback(Box::new(|| ())) });
        q.fail(Stamp(1), crate::error::Kind::Busy { array: "x".into() }.into());
        assert!(q.error.is_some() && q.hold.is_none());
        assert_eq!((q.pop_dead(Stamp(9), 10).len(), q.front_is_dead()), (1, false));
        assert!(matches!(q.pending.front().map(|c| &c.op), Some(Op::Wait(point)) if *point == waited));
        q.pop_wait(&[]);
        assert_eq!(q.pop_dead(Stamp(2), 10).len(), 0, "no further than asked");
        assert_eq!((q.pop_dead(Stamp(9), 10).len(), q.spent()), (1, true));
        assert!(q.result(Stamp(1)).is_err() && q.result(Stamp(3)).is_err() && q.result(Stamp(4)).is_ok());
    }

    #[test]
    fn the_failures_of_a_queue_that_is_gone_are_known_to_the_next_one_in_its_slot() {
        let (mut gone, mut next) = (queue(1), queue(0));
        gone.fail(Stamp(1), crate::error::Kind::Busy { array: "x".into() }.into());
        next.succeed(&mut gone);
        assert!(next.result(Stamp(1)).is_err() && next.error.is_none());
    }

    #[test]
    fn what_stands_in_for_a_batch_that_is_gone_is_waited_for() {
        let mut q = queue(2);
        q.pop_work(Seq(1));
        q.pop_work(Seq(2));
        assert!(q.replace_batch(Seq(2), &[Seq(8), Seq(9)]) && !q.replace_batch(Seq(3), &[Seq(8)]));
        q.settle(|seq| seq.0 < 9);
        assert_eq!(q.completed(), Stamp(1));
        q.settle(|_| true);
        assert_eq!(q.completed(), Stamp(2));
    }
}
