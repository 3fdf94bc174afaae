//! The scheduler's state of one command queue.

use crate::error::Error;
use crate::memory::block::BlockId;
use crate::scheduler::batch::{ChunkedList, Command, Op};
use crate::scheduler::complete::FailureHistory;
use crate::scheduler::queues::Priority;
use crate::scheduler::times::QueueTiming;
use crate::work::kernel_launch::Launch;
use crate::work::step::Work;
use fencepost_sync::{Clock, HoldId, Point, Seq, Slot, Stamp};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use std::cell::Cell;
use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Number of pending commands at which a queue is planned before the program requests it.
const URGENT_COMMANDS: usize = 16;

/// Number of last segments that are searched before a batch that makes an array is listed again.
const MADE_TOGETHER: usize = 4;

/// Reason why the front command of a queue cannot be planned.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum HoldReason {
    /// The queue waits for a user event that has not ended.
    User(HoldId),
    /// The queue waits for a host callback that has not run.
    Callback(HoldId),
    /// The host accesses the bytes of a block that the front command uses.
    Host(BlockId),
    /// The front command is a callback, and earlier work of the queue is not complete.
    Drain(Slot),
    /// The queue waits for a chunk of a loop, after which the loop may go on.
    Loop(HoldId),
}

/// Amount of work that is enqueued but not planned.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Backlog {
    pub(crate) commands: usize,
    pub(crate) bytes: u64,
}

/// A run of commands in a queue that are planned but not known to be complete.
struct QueueSegment {
    /// Stamp of the last command of the run.
    last: Stamp,
    /// Batch that contains the run, or that the run waits for.
    seq: Seq,
}

/// State of one queue. The state of a closed queue stays until another queue takes the slot.
#[derive(Default)]
pub(crate) struct QueueState {
    /// `true` while [`Queues`](crate::scheduler::queues::Queues) must update its indexes for this queue.
    pub(crate) touched: Cell<bool>,
    pub(crate) label: Arc<str>,
    pub(crate) lane: usize,
    pub(crate) priority: Priority,
    pub(crate) pending: ChunkedList<Command>,
    /// Number of pending commands that depend on the host: callbacks and waits for user events.
    host_commands: usize,
    /// Number of pending commands that may stop later ones: waits, callbacks, replays and loops.
    stops: usize,
    /// Bytes of memory that the pending commands hold.
    pending_bytes: u64,
    /// Pending commands up to this stamp have failed: `born <= failed_upto <= enqueued`. Planning drops them, except
    /// waits for other queues.
    failed_upto: Stamp,
    pub(crate) hold: Option<HoldReason>,
    /// Ranges of cancelled commands that planning has not reached, in ascending order, each with its error.
    cancelled: Vec<(RangeInclusive<Stamp>, Error)>,
    /// First failure since the program last took the error. Every call that enqueues returns it.
    pub(crate) error: Option<Error>,
    /// Points that come before the next command.
    pub(crate) clock: Clock,
    /// Number of waits since unneeded entries were last removed from `clock`.
    pub(crate) learned: usize,
    /// Times of the queue's commands, if the queue is timed.
    pub(crate) timing: Option<Box<QueueTiming>>,
    /// Stamp of the queue's creation. Earlier commands belong to earlier queues of the slot.
    pub(crate) born: Stamp,
    /// `true` while a handle of the queue exists.
    pub(crate) open: bool,
    /// `true` if a new queue can take the slot, because this one is closed and has no incomplete command.
    pub(crate) free: bool,
    /// `true` while the queue has only the waits from its creation, and no command waits for the queue.
    pub(crate) unused: bool,
    /// `true` for a queue that the context makes for one command, and which comes after only what that command needs.
    pub(crate) helper: bool,
    /// Stamp of the last command that the program requested with a flush or a wait.
    requested: Stamp,
    /// Stamp of the last command. The stamps of a queue only grow.
    enqueued: Stamp,
    /// Stamp of the last command that is planned: `completed <= planned <= enqueued`.
    planned: Stamp,
    /// Stamp up to which every command is complete: `born <= completed`.
    completed: Stamp,
    /// Runs in the order of their stamps. The last one ends at `planned`. If there are none, `completed` equals
    /// `planned`.
    segments: VecDeque<QueueSegment>,
    /// Last incomplete batch with work of this queue. One of the segments names it.
    last_work: Option<Seq>,
    /// Batch that must complete before a waiting caller plans more of this queue, which limits how far waits plan ahead
    /// of the device.
    pub(crate) ahead: Option<Seq>,
    /// For each other queue, the stamp up to which this queue follows it. The batches of those queues up to that stamp
    /// are among `segments` or complete.
    after: SmallVec<[(Slot, Stamp); 4]>,
    pub(crate) failures: FailureHistory,
}

/// Progress of a point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PointProgress {
    Done,
    /// The point completes with this batch or later. Earlier batches of the queue may complete after this one.
    Planned(Seq),
    Unplanned,
}

impl QueueState {
    /// Returns a queue made at the stamp `stamp`.
    pub(crate) fn new(label: Arc<str>, lane: usize, priority: Priority, clock: Clock, stamp: Stamp) -> Self {
        Self {
            label,
            lane,
            priority,
            clock,
            failed_upto: stamp,
            born: stamp,
            open: true,
            requested: stamp,
            enqueued: stamp,
            planned: stamp,
            completed: stamp,
            ..Self::default()
        }
    }

    /// Returns the stamp of the last command.
    pub(crate) fn enqueued(&self) -> Stamp {
        self.enqueued
    }

    pub(crate) fn planned(&self) -> Stamp {
        self.planned
    }

    /// Returns the amount of work that is enqueued but not planned.
    #[inline]
    pub(crate) fn backlog(&self) -> Backlog {
        Backlog { commands: self.pending.len(), bytes: self.pending_bytes }
    }

    /// Removes the work of the pending command with this stamp, to plan it [early](Op::Early) in batch `seq`. Returns
    /// `None` if the command was already planned early, or has failed.
    pub(crate) fn take_early(&mut self, stamp: Stamp, seq: Seq) -> Option<Op> {
        let failed_upto = self.failed_upto;
        let command = self.pending.first_from_mut(|command| command.stamp < stamp)?;
        let is_work = matches!(command.op, Op::Work(_) | Op::Timed(_));
        if command.stamp != stamp || stamp <= failed_upto || !is_work {
            return None;
        }
        let op = std::mem::replace(&mut command.op, Op::Early(seq));
        self.pending_bytes -= op.held_bytes();
        Some(op)
    }

    /// Returns the first pending command from `stamp` on.
    pub(crate) fn pending_from(&mut self, stamp: Stamp) -> Option<&Command> {
        self.pending.first_from_mut(|command| command.stamp < stamp).map(|command| &*command)
    }

    /// Records that the next command comes after batch `seq`.
    pub(crate) fn follow_batch(&mut self, seq: Seq) {
        if !self.segments.iter().rev().take(MADE_TOGETHER).any(|segment| segment.seq == seq) {
            self.segments.push_back(QueueSegment { last: self.planned, seq });
        }
        self.debug_check();
    }

    pub(crate) fn completed(&self) -> Stamp {
        self.completed
    }

    /// Records that the program requests every command up to `stamp`.
    pub(crate) fn request(&mut self, stamp: Stamp) {
        self.requested = self.requested.max(stamp);
    }

    /// Records that the program, or a call that waits for room, requests all commands.
    pub(crate) fn request_all(&mut self) {
        self.request(self.enqueued());
    }

    /// Returns `true` if all commands up to `stamp` were requested.
    pub(crate) fn has_requested(&self, stamp: Stamp) -> bool {
        self.requested >= stamp
    }

    /// Returns `true` if the program requested the front command, or if at least [`URGENT_COMMANDS`] commands are
    /// pending.
    pub(crate) fn urgent(&self) -> bool {
        self.pending.len() >= URGENT_COMMANDS || self.is_requested()
    }

    /// Returns `true` if the program requested the front command.
    pub(crate) fn is_requested(&self) -> bool {
        self.pending.front().is_some_and(|front| front.stamp <= self.requested)
    }

    /// Returns the last point that the program requested.
    pub(crate) fn end_of_requested(&self, slot: Slot) -> Point {
        Point { slot, stamp: self.requested.min(self.enqueued) }
    }

    /// Returns `true` if the front command needs a separate batch.
    pub(crate) fn front_needs_own_batch(&self) -> bool {
        self.pending.front().is_some_and(|front| matches!(front.op, Op::Work(Work::WgpuCommands(_))))
    }

    /// Returns `true` if every planned command is complete.
    pub(crate) fn is_drained(&self) -> bool {
        self.segments.is_empty()
    }

    /// Returns `true` if the queue has no incomplete command.
    pub(crate) fn is_finished(&self) -> bool {
        self.pending.is_empty() && self.segments.is_empty()
    }

    /// Takes over the slot of a closed queue. Its failures stay available to the handles that refer to it.
    pub(crate) fn inherit_failures(&mut self, gone: &mut QueueState) {
        self.failures = std::mem::take(&mut gone.failures);
        self.failures.begin(self.born);
    }

    /// Records that a command waits for this queue.
    pub(crate) fn note_use(&mut self) {
        self.unused = false;
    }

    /// Returns `true` if nothing depends on the waits of this queue: it has no work, no command waits for it, and the
    /// program has no handle of any of its points.
    pub(crate) fn is_unused(&self) -> bool {
        self.unused && !self.failures.is_watched()
    }

    /// Removes the waits of a closed queue, provided that nothing depends on them and none is planned.
    pub(crate) fn forget_waits(&mut self) {
        if self.is_unused() && self.segments.is_empty() {
            self.pending = ChunkedList::default();
            self.host_commands = 0;
            self.stops = 0;
            self.pending_bytes = 0;
            self.planned = self.enqueued;
            self.completed = self.enqueued;
            self.debug_check();
        }
    }

    /// Removes the unplanned commands after the loss of the device.
    pub(crate) fn take_pending(&mut self) -> ChunkedList<Command> {
        self.host_commands = 0;
        self.stops = 0;
        self.pending_bytes = 0;
        std::mem::take(&mut self.pending)
    }

    /// Replaces the front command, a wait on the host for another context, by a wait on the device.
    pub(crate) fn wait_on_device(&mut self) {
        if let Some(front) = self.pending.front_mut() {
            self.host_commands -= usize::from(front.op.is_of_host());
            self.stops -= usize::from(front.op.may_stop());
            front.op = Op::Work(Work::QueueFence);
        }
    }

    /// Returns `true` if the queue needs only the device to continue: it waits for no callback and no user event.
    pub(crate) fn has_device_work_only(&self) -> bool {
        self.hold.is_none() && self.host_commands == 0
    }

    /// Returns `true` if a pending command may stop later ones.
    pub(crate) fn may_stop(&self) -> bool {
        self.stops > 0
    }

    /// Checks the order of the stamps.
    fn debug_check(&self) {
        debug_assert!(self.born <= self.completed, "bug: a command of an earlier queue is not complete");
        debug_assert!(self.completed <= self.planned, "bug: a command is complete before it is planned");
        debug_assert!(self.planned <= self.enqueued, "bug: a command is planned before it is enqueued");
        let last = self.segments.back().map_or(self.completed, |segment| segment.last);
        debug_assert_eq!(last, self.planned, "bug: the segments do not end at the last planned command");
    }

    #[inline]
    pub(crate) fn push(&mut self, command: Command) {
        debug_assert!(self.enqueued < command.stamp, "bug: the stamps of a queue only grow");
        self.unused = false;
        self.enqueued = command.stamp;
        self.host_commands += usize::from(command.op.is_of_host());
        self.stops += usize::from(command.op.may_stop());
        self.pending_bytes += command.op.held_bytes();
        self.pending.push_back(command);
    }

    /// Removes the front command, which is now planned. It completes with batch `seq`, or if that is `None`, with the
    /// commands before it.
    pub(crate) fn pop(&mut self, seq: Option<Seq>) -> Option<Command> {
        let command = self.pending.pop_front()?;
        self.host_commands -= usize::from(command.op.is_of_host());
        self.stops -= usize::from(command.op.may_stop());
        self.pending_bytes -= command.op.held_bytes();
        self.advance_plan(command.stamp, seq);
        Some(command)
    }

    /// Removes the front command, which is work of this queue in batch `seq`.
    pub(crate) fn pop_work(&mut self, seq: Seq) -> Option<Command> {
        self.last_work = Some(seq);
        self.pop(Some(seq))
    }

    /// Removes the front command, which is work in batch `seq` but completes with the later batch `delivery`.
    pub(crate) fn pop_delivered(&mut self, seq: Seq, delivery: Seq) -> Option<Command> {
        self.note_part(seq);
        self.pop(Some(delivery))
    }

    /// Returns the first batch that is not known to be complete.
    pub(crate) fn first_batch(&self) -> Option<Seq> {
        self.segments.front().map(|segment| segment.seq)
    }

    /// Records that batch `seq` contains a part of the front command, while the command itself stays pending.
    pub(crate) fn note_part(&mut self, seq: Seq) {
        self.last_work = Some(seq);
        if self.segments.back().is_none_or(|last| last.seq != seq) {
            self.segments.push_back(QueueSegment { last: self.planned, seq });
        }
        self.debug_check();
    }

    /// Removes the first `count` commands, which are launches and are now planned. They complete with batch `seq`.
    pub(crate) fn pop_launches(
        &mut self,
        count: usize,
        seq: Seq,
    ) -> impl Iterator<Item = (Stamp, Option<Box<Launch>>)> {
        if let Some(last) = count.checked_sub(1) {
            self.last_work = Some(seq);
            let upto = self.pending.first_chunk()[last].stamp;
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
            (_, Some(seq)) => self.segments.push_back(QueueSegment { last: stamp, seq }),
        }
        self.debug_check();
    }

    /// Removes the front command, which is now planned. It completes once all of `seqs` and the commands before it are
    /// complete.
    pub(crate) fn pop_wait(&mut self, seqs: &[Seq]) {
        let Some((&last, others)) = seqs.split_last() else { return drop(self.pop(None)) };
        let known: FxHashSet<Seq> = if others.is_empty() { <_>::default() } else { self.batches().collect() };
        for &seq in others.iter().filter(|seq| !known.contains(seq)) {
            // This segment adds no command but only a batch to wait for, so it repeats the last command's stamp.
            self.segments.push_back(QueueSegment { last: self.planned, seq });
        }
        self.pop(Some(last));
    }

    /// Records a wait for `point`. Its batches must all be among the segments. Returns the stamp up to which this queue
    /// already came after the queue of `point`.
    pub(crate) fn follow(&mut self, point: Point) -> Stamp {
        match self.after.iter_mut().find(|(slot, _)| *slot == point.slot) {
            Some((_, stamp)) => std::mem::replace(stamp, point.stamp.max(*stamp)),
            None => {
                self.after.push((point.slot, point.stamp));
                Stamp(0)
            }
        }
    }

    /// Returns the progress of the point at `stamp`, as far as this queue knows it. The returned batch may be done
    /// although an earlier one is not.
    pub(crate) fn reached(&self, stamp: Stamp) -> PointProgress {
        if self.completed >= stamp {
            return PointProgress::Done;
        }
        if self.planned < stamp {
            return PointProgress::Unplanned;
        }
        let at = self.segments.partition_point(|segment| segment.last < stamp);
        PointProgress::Planned(self.segments[at].seq)
    }

    /// Returns the batches before `stamp`, except those before `since`, each with the number of its segment. They may
    /// complete in any order, because some are batches of other queues.
    pub(crate) fn batches_before(&self, stamp: Stamp, since: Stamp) -> impl Iterator<Item = (usize, Seq)> {
        let first = self.segments.partition_point(|segment| segment.last < since);
        let at = self.segments.partition_point(|segment| segment.last < stamp);
        self.segments.iter().enumerate().take(at + 1).skip(first).map(|(at, segment)| (at, segment.seq))
    }

    /// Updates `completed` when batches are done.
    pub(crate) fn advance_completed(&mut self, done: impl Fn(Seq) -> bool) {
        while let Some(front) = self.segments.front() {
            if !done(front.seq) {
                break;
            }
            self.completed = front.last;
            if self.last_work == Some(front.seq) {
                self.last_work = None; // a later wait may name the same batch again
            }
            self.segments.pop_front();
        }
        self.debug_check();
    }

    /// Returns the batches with planned work or waits of this queue. The queue's next work comes after them.
    pub(crate) fn batches(&self) -> impl Iterator<Item = Seq> {
        self.segments.iter().map(|segment| segment.seq)
    }

    /// Returns the [`batches`](Self::batches) from the last one with work of this queue on. That batch itself comes
    /// after all earlier ones.
    pub(crate) fn batches_since_work(&self) -> impl Iterator<Item = Seq> {
        self.batches().skip(self.first_since_work(self.planned))
    }

    /// Returns the index of the first segment of the last batch with work of this queue, or 0 if `stamp` may come
    /// before that batch.
    pub(crate) fn first_since_work(&self, stamp: Stamp) -> usize {
        let is_last = |segment: &QueueSegment| Some(segment.seq) == self.last_work;
        if stamp < self.planned { 0 } else { self.segments.iter().position(is_last).unwrap_or(0) }
    }

    /// Fails the commands from `first` on. Planning [drops](Self::pop_failed) the pending commands in small portions.
    /// Waits for other queues remain, because other commands may rely on their order.
    pub(crate) fn fail(&mut self, first: Stamp, error: Error) {
        self.failures.fail(first..=self.enqueued, &error);
        self.error.get_or_insert(error);
        self.hold = None;
        self.failed_upto = self.enqueued;
    }

    /// Returns `true` if the front command has failed and is not a wait for another queue.
    pub(crate) fn front_has_failed(&self) -> bool {
        let failed_upto = |front: &Command| {
            front.stamp <= self.failed_upto && !matches!(front.op, Op::Wait(_) | Op::Early(_))
        };
        self.pending.front().is_some_and(failed_upto)
    }

    /// Cancels the commands from `first` up to the last one enqueued so far. They fail when planning reaches them.
    /// Later commands do not fail: they form a new stretch, which begins at the new stamp `next`.
    pub(crate) fn cancel(&mut self, first: Stamp, error: Error, next: Stamp) {
        // Commands are not cancelled twice.
        if !self.cancelled.iter().any(|(stamps, _)| stamps.contains(&first)) {
            self.cancel_range(first, &error);
        }
        self.failures.begin(next);
        // A marker names the last command, so the new stretch needs a first command at once. This wait is always
        // complete.
        self.push(Command { stamp: next, op: Op::Wait(Point::START) });
    }

    /// Cancels the commands from `first` on, except those already cancelled, which keep their errors.
    fn cancel_range(&mut self, first: Stamp, error: &Error) {
        let mut next = first;
        let later = self.cancelled.partition_point(|(stamps, _)| *stamps.end() < first);
        for (stamps, other) in self.cancelled.split_off(later) {
            if next < *stamps.start() {
                self.cancelled.push((next..=Stamp(stamps.start().0 - 1), error.clone()));
            }
            next = Stamp(stamps.end().0 + 1);
            self.cancelled.push((stamps, other));
        }
        if next <= self.enqueued {
            self.cancelled.push((next..=self.enqueued, error.clone()));
        }
    }

    /// Fails the commands of a cancelled range once planning reaches it, that is, once the front command is in it.
    #[cold]
    pub(crate) fn fail_cancelled(&mut self) {
        let Some(front) = self.pending.front().map(|front| front.stamp) else { return };
        while let Some((stamps, error)) = self.cancelled.first() {
            if front < *stamps.start() {
                return;
            }
            if front <= *stamps.end() {
                self.failures.cancel(front..=*stamps.end(), error);
                self.failed_upto = self.failed_upto.max(*stamps.end());
            }
            self.cancelled.remove(0);
        }
    }

    /// Returns `true` if planning has not yet reached a cancelled range of commands.
    #[inline]
    pub(crate) fn has_cancelled(&self) -> bool {
        !self.cancelled.is_empty()
    }

    /// Removes commands at the front that [have failed](Self::front_has_failed), up to `upto` and at most `room`.
    pub(crate) fn pop_failed(&mut self, upto: Stamp, room: usize) -> Vec<Command> {
        let mut failed_upto = Vec::new();
        while failed_upto.len() < room
            && self.front_has_failed()
            && self.pending.front().is_some_and(|front| front.stamp <= upto)
        {
            failed_upto.extend(self.pop(None));
        }
        failed_upto
    }

    /// Extends the last failure to everything enqueued so far, unless the program has taken the error of the queue.
    pub(crate) fn extend_failure(&mut self) {
        if self.error.is_some() {
            self.failures.extend_last(self.enqueued);
        }
    }

    /// Makes every command of this queue that completes with the batch `gone` also wait for all of `seqs`, because
    /// `gone` ends before them. Returns `true` if there is such a command.
    pub(crate) fn replace_batch(&mut self, gone: Seq, seqs: &[Seq]) -> bool {
        let Some(at) = self.segments.iter().position(|segment| segment.seq == gone) else { return false };
        let last = at.checked_sub(1).map_or(self.completed, |before| self.segments[before].last);
        for &seq in seqs {
            self.segments.insert(at, QueueSegment { last, seq });
        }
        true
    }

    /// Returns the result of a completed point.
    pub(crate) fn result(&self, stamp: Stamp) -> Result<(), Error> {
        self.failures.error_of(stamp).map_or(Ok(()), |error| Err(error.clone()))
    }

    /// Returns the point of everything enqueued so far.
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
            queue.push(Command {
                stamp: Stamp(stamp),
                op: Op::Callback(crate::scheduler::batch::Callback::new(|| ())),
            });
        }
        queue
    }

    #[test]
    fn a_point_completes_with_its_batch() {
        let mut q = queue(2);
        assert_eq!(q.reached(Stamp(1)), PointProgress::Unplanned);
        q.pop(Some(Seq(7)));
        assert_eq!(q.reached(Stamp(1)), PointProgress::Planned(Seq(7)));
        q.advance_completed(|seq| seq == Seq(7));
        assert_eq!(q.reached(Stamp(1)), PointProgress::Done);
        assert_eq!(q.reached(Stamp(2)), PointProgress::Unplanned);
    }

    #[test]
    fn a_command_without_a_batch_completes_with_the_batch_before_it() {
        let mut q = queue(2);
        q.pop(Some(Seq(7)));
        q.pop(None);
        assert_eq!(q.reached(Stamp(2)), PointProgress::Planned(Seq(7)));
        q.advance_completed(|_| true);
        assert_eq!(q.completed(), Stamp(2));
    }

    #[test]
    fn failed_commands_complete_after_the_batch_in_flight_before_them() {
        let mut q = queue(3);
        q.pop(Some(Seq(1)));
        q.fail(Stamp(2), crate::error::ErrorDetail::Busy { array: "x".into() }.into());
        assert_eq!(q.pop_failed(Stamp(3), 10).len(), 2);
        assert_eq!(q.reached(Stamp(3)), PointProgress::Planned(Seq(1)));
        q.advance_completed(|_| true);
        assert!(q.result(Stamp(1)).is_ok() && q.result(Stamp(3)).is_err());
    }

    #[test]
    fn a_point_follows_the_batches_up_to_its_own() {
        let mut q = queue(3);
        for seq in [7, 8, 9] {
            q.pop_work(Seq(seq));
        }
        let before = |stamp, since| {
            q.batches_before(Stamp(stamp), Stamp(since)).map(|(_, seq)| seq).collect::<Vec<_>>()
        };
        assert_eq!(before(1, 0), [Seq(7)]);
        assert_eq!(before(2, 0), [Seq(7), Seq(8)]);
        assert_eq!(before(3, 2), [Seq(8), Seq(9)]);
    }

    #[test]
    fn the_last_batch_with_work_and_later_waits_imply_all_earlier_batches() {
        let mut q = queue(4);
        q.pop_work(Seq(1));
        q.pop_work(Seq(2));
        assert_eq!(q.batches_since_work().collect::<Vec<_>>(), [Seq(2)]);
        q.pop_wait(&[Seq(3), Seq(4)]);
        assert_eq!(q.batches_since_work().collect::<Vec<_>>(), [Seq(2), Seq(3), Seq(4)]);
        assert_eq!(q.reached(Stamp(3)), PointProgress::Planned(Seq(4)));
        q.advance_completed(|seq| seq != Seq(3));
        assert_eq!(q.completed(), Stamp(2));
    }

    #[test]
    fn a_wait_remains_after_the_work_before_it_completes() {
        let mut q = queue(3);
        q.pop_work(Seq(5));
        q.pop_wait(&[Seq(4)]);
        q.pop_wait(&[Seq(5)]); // another queue has work in the same batch
        q.advance_completed(|seq| seq == Seq(5));
        assert_eq!(q.batches_since_work().collect::<Vec<_>>(), [Seq(4), Seq(5)]);
    }

    #[test]
    fn the_stamp_up_to_which_a_queue_follows_another_never_decreases() {
        let mut q = queue(0);
        let came = [5, 3, 4, 6, 1].map(|stamp| q.follow(Point { slot: Slot(2), stamp: Stamp(stamp) }).0);
        assert_eq!(came, [0, 5, 5, 5, 6]);
    }

    #[test]
    fn a_failed_queue_keeps_its_waits_and_its_error_and_is_not_held() {
        let mut q = queue(1);
        let waited = Point { slot: Slot(2), stamp: Stamp(1) };
        q.push(Command { stamp: Stamp(2), op: Op::Wait(waited) });
        q.hold = Some(HoldReason::User(HoldId(1)));
        q.push(Command { stamp: Stamp(3), op: Op::Callback(crate::scheduler::batch::Callback::new(|| ())) });
        q.fail(Stamp(1), crate::error::ErrorDetail::Busy { array: "x".into() }.into());
        assert!(q.error.is_some() && q.hold.is_none());
        assert_eq!((q.pop_failed(Stamp(9), 10).len(), q.front_has_failed()), (1, false));
        assert!(matches!(q.pending.front().map(|c| &c.op), Some(Op::Wait(point)) if *point == waited));
        q.pop_wait(&[]);
        assert_eq!(q.pop_failed(Stamp(2), 10).len(), 0, "only commands up to the stamp are removed");
        assert_eq!((q.pop_failed(Stamp(9), 10).len(), q.is_finished()), (1, true));
        assert!(q.result(Stamp(1)).is_err() && q.result(Stamp(3)).is_err() && q.result(Stamp(4)).is_ok());
    }

    #[test]
    fn a_new_queue_keeps_the_failures_of_the_closed_queue_in_its_slot() {
        let mut gone = queue(1);
        let mut next = queue(0);
        gone.fail(Stamp(1), crate::error::ErrorDetail::Busy { array: "x".into() }.into());
        next.inherit_failures(&mut gone);
        assert!(next.result(Stamp(1)).is_err() && next.error.is_none());
    }

    #[test]
    fn a_queue_waits_for_the_batches_that_replace_a_removed_one() {
        let mut q = queue(2);
        q.pop_work(Seq(1));
        q.pop_work(Seq(2));
        assert!(q.replace_batch(Seq(2), &[Seq(8), Seq(9)]) && !q.replace_batch(Seq(3), &[Seq(8)]));
        q.advance_completed(|seq| seq.0 < 9);
        assert_eq!(q.completed(), Stamp(1));
        q.advance_completed(|_| true);
        assert_eq!(q.completed(), Stamp(2));
    }
}
