//! From queues to batches.

use super::batch::{Batch, Seq, Status};
use super::queue::{Hold, Priority, Reached};
use super::state::State;
use crate::command::{Launch, Op, Span, Step, Timed, Touch, Work};
use crate::event::Point;
use crate::memory::{Block, HostUse, Parts, Place, ReadSlot};
use fencepost_sync::{Slot, Stamp};
use smallvec::SmallVec;
use std::sync::Arc;
use std::task::Waker;

/// Steps of the largest batch: what comes later is encoded while this one runs.
const LARGEST: usize = 4096;
/// Seconds that a batch should take at most while more urgent work may come.
const SLICE: f64 = 1e-3;

/// A queue that should be planned up to a stamp.
#[derive(Clone, Copy)]
struct Goal {
    slot: Slot,
    upto: Stamp,
    /// Whether the goal below it on the stack needs it.
    needed: bool,
}

/// What came of a look at the front of a queue.
enum Next {
    Again,
    Reached,
    Needs(Point),
    Held(Hold),
}

/// What the next step of a queue comes after, inside an open batch.
#[derive(Default)]
struct Frontier {
    last: Option<u32>,
    after: SmallVec<[u32; 2]>,
    level: u32,
}

/// A batch under construction.
struct Open {
    seq: Seq,
    steps: Vec<Step>,
    deps: SmallVec<[Seq; 4]>,
    frontiers: Vec<(Slot, Frontier)>,
    /// The lowest level of a queue's steps: 1 behind the context's own.
    base: u32,
    /// Blocks written here that the host reads now and then.
    publish: Vec<Arc<Block>>,
}

/// One planning. Batches stay open until it ends.
struct Planner<'s> {
    state: &'s mut State,
    priority: Priority,
    open: Vec<Option<Open>>,
    /// Steps of the largest batch, lane by lane.
    largest: Vec<usize>,
    /// The queue whose command came last, and the open batch that has all it depends on.
    joined: Option<(Slot, Seq)>,
}

impl State {
    /// Plans the queues in `roots` up to their stamps, with all that they wait for, into batches of `priority`.
    ///
    /// Waits refer to smaller stamps only, so the stack of goals cannot grow for ever. A queue that waits for the
    /// host is held, and with it every queue that needed it here.
    pub(crate) fn plan(&mut self, roots: impl IntoIterator<Item = Point>, priority: Priority) {
        let open = self.lanes.iter().map(|_| None).collect();
        let largest = (0..self.lanes.len()).map(|lane| self.largest(lane, priority)).collect();
        let mut planner = Planner { state: self, priority, open, largest, joined: None };
        planner.drain_context();
        for root in roots {
            planner.state.queue_mut(root.slot).ask(root.stamp);
            planner.reach(Goal { slot: root.slot, upto: root.stamp, needed: false });
        }
        for lane in 0..planner.open.len() {
            planner.close(lane);
        }
        self.collect_wakers();
    }

    /// Plans everything that can be planned of the queues on `lane`, one priority a batch.
    pub(crate) fn plan_lane(&mut self, lane: usize) {
        for priority in Priority::ORDER {
            let queues = self.slots().skip(1).filter(|&slot| {
                let q = self.queue(slot);
                q.lane == lane && q.priority == priority && q.hold.is_none() && !q.pending.is_empty()
            });
            let roots: Vec<Point> = queues.map(|slot| self.queue(slot).end(slot)).collect();
            if !roots.is_empty() {
                self.plan(roots, priority);
            }
        }
    }

    /// Whether a queue more urgent than `priority` exists.
    pub(crate) fn urgent_above(&self, priority: Priority) -> bool {
        self.queues.iter().skip(1).any(|q| q.open && q.priority > priority)
    }

    fn largest(&self, lane: usize, priority: Priority) -> usize {
        let seconds = self.lanes[lane].step_seconds;
        if seconds == 0.0 || !self.urgent_above(priority) {
            return LARGEST;
        }
        ((SLICE / seconds) as usize).clamp(1, LARGEST)
    }
}

impl Planner<'_> {
    fn reach(&mut self, root: Goal) {
        let mut stack = vec![root];
        while let Some(&goal) = stack.last() {
            match self.look(goal) {
                Next::Again => {}
                Next::Reached => {
                    stack.pop();
                }
                Next::Needs(point) => stack.push(Goal { slot: point.slot, upto: point.stamp, needed: true }),
                Next::Held(hold) => self.hold(&mut stack, hold),
            }
        }
    }

    /// Holds the queue on top, and every one below that needs it. All are let go together and looked at again.
    fn hold(&mut self, stack: &mut Vec<Goal>, hold: Hold) {
        while let Some(goal) = stack.pop() {
            self.state.queue_mut(goal.slot).hold.get_or_insert(hold);
            if !goal.needed {
                break;
            }
        }
    }

    fn look(&mut self, goal: Goal) -> Next {
        let host_uses = self.state.host_uses;
        let queue = self.state.queue_mut(goal.slot);
        let Some(front) = queue.pending.front_mut().filter(|front| front.stamp <= goal.upto) else {
            return Next::Reached;
        };
        if let Some(hold) = queue.hold {
            return Next::Held(hold);
        }
        match &mut front.op {
            Op::Wait(point) => {
                let point = *point;
                self.wait(goal.slot, point)
            }
            Op::WaitUser(event) => match event.result() {
                None => {
                    // Another context is to signal it: that is asked to, once S is released.
                    let (hold, relay) = (Hold::User(event.hold), event.relay());
                    self.state.after.wakers.extend(relay.map(Waker::from));
                    Next::Held(hold)
                }
                Some(Ok(())) if event.is_sent() => {
                    front.op = Op::Work(Work::Behind);
                    Next::Again
                }
                Some(Ok(())) => self.skip(goal.slot),
                Some(Err(error)) => {
                    let stamp = front.stamp;
                    self.state.fail_queue(goal.slot, stamp, error);
                    Next::Again
                }
            },
            Op::Callback(_) => self.call(goal.slot),
            Op::Called(id) => Next::Held(Hold::Callback(*id)),
            Op::Work(Work::Read { src, slot: read }) if read_in_place(src, read) => self.leave(goal.slot),
            Op::Work(work) => {
                let hold = host_conflict(host_uses, work);
                self.take(goal, hold)
            }
            Op::Timed(timed) => {
                let hold = host_conflict(host_uses, &timed.work);
                self.take(goal, hold)
            }
        }
    }

    /// Takes the work in front into a batch, and the launches behind it, unless the host is at its bytes.
    fn take(&mut self, goal: Goal, hold: Option<Hold>) -> Next {
        if let Some(hold) = hold {
            return Next::Held(hold);
        }
        self.append(goal.slot);
        if self.state.host_uses == 0 {
            self.append_launches(goal);
        }
        Next::Again
    }

    fn skip(&mut self, slot: Slot) -> Next {
        self.state.after.moved = true;
        self.state.queue_mut(slot).pop(None);
        Next::Again
    }

    /// Takes a read that stays in place: it is done with what is before it, and with the context's own commands.
    fn leave(&mut self, slot: Slot) -> Next {
        let seqs = self.open_before(self.state.queue(State::CONTEXT).end(State::CONTEXT), Stamp(0));
        self.pop_behind(slot, &seqs);
        Next::Again
    }

    /// The batches that have to be done before `point` is, and did not have to be before `since` was.
    fn open_before(&self, point: Point, since: Stamp) -> SmallVec<[Seq; 4]> {
        let open = |seq: &Seq| !self.state.batches.is_done(*seq);
        self.state.queue(point.slot).batches_before(point.stamp, since).filter(open).collect()
    }

    /// Takes the front of `slot`, which is done when all of `seqs` are.
    fn pop_behind(&mut self, slot: Slot, seqs: &[Seq]) {
        seqs.iter().for_each(|&seq| self.state.batches.watch(seq, slot));
        (self.joined, self.state.after.moved) = (None, true);
        self.state.queue_mut(slot).pop_wait(seqs);
    }

    fn wait(&mut self, slot: Slot, point: Point) -> Next {
        match self.state.reached(point) {
            Reached::Unplanned => return Next::Needs(point),
            Reached::Done => return self.skip(slot),
            Reached::Planned(_) => {
                let since = self.state.queue_mut(slot).come_after(point);
                let seqs = self.open_before(point, since);
                seqs.iter().for_each(|&seq| self.edge(slot, point, seq));
                self.pop_behind(slot, &seqs);
            }
        }
        Next::Again
    }

    /// Notes that what `slot` does next comes after `point`, if that is in an open batch: the steps of `slot` in the
    /// same batch do, and those of whoever waits for `slot` there. The batches are ordered by [`Planner::depend`].
    fn edge(&mut self, slot: Slot, point: Point, seq: Seq) {
        let Some(open) = self.open.iter_mut().flatten().find(|open| open.seq == seq) else { return };
        let (after, level) = open.before(point);
        let mut all = std::mem::take(&mut open.frontier(slot).after);
        all.extend(after);
        // Of one queue the last step stands for all: queues that wait for each other in turn double nothing.
        all.sort_unstable_by_key(|&at| (open.steps[at as usize].slot, std::cmp::Reverse(at)));
        all.dedup_by_key(|at| open.steps[*at as usize].slot);
        let frontier = open.frontier(slot);
        frontier.after = all;
        frontier.level = frontier.level.max(level);
    }

    /// Hands the callback in front over once everything before it is done.
    fn call(&mut self, slot: Slot) -> Next {
        if !self.state.queue(slot).drained() {
            return Next::Held(Hold::Drain(slot));
        }
        let id = self.state.new_hold();
        let queue = self.state.queue_mut(slot);
        queue.hold = Some(Hold::Callback(id));
        let front = queue.pending.front_mut().map(|front| std::mem::replace(&mut front.op, Op::Called(id)));
        if let Some(Op::Callback(run)) = front {
            self.state.calls.push_back((id, slot, run));
        }
        Next::Held(Hold::Callback(id))
    }

    /// The context's own commands go first: they never wait, and come before every later use on any queue.
    fn drain_context(&mut self) {
        let mut any = false;
        while !self.state.queue(State::CONTEXT).pending.is_empty() {
            self.append(State::CONTEXT);
            any = true;
        }
        if let Some(open) = self.open[0].as_mut().filter(|_| any) {
            open.base = open.frontiers.iter().map(|(_, frontier)| frontier.level).max().unwrap_or(0);
        }
    }

    /// Moves the command in front of `slot` into the open batch of its lane.
    fn append(&mut self, slot: Slot) {
        let lane = self.state.queue(slot).lane;
        let full = self.open[lane].as_ref().is_some_and(|open| open.steps.len() >= self.largest[lane]);
        let alone = self.state.queue(slot).goes_alone();
        if (full || alone) && slot != State::CONTEXT {
            self.close(lane);
        }
        let seq = self.join(slot, lane);
        let Some(command) = self.state.queue_mut(slot).pop_work(seq) else { return };
        let Some(open) = self.open[lane].as_mut() else { return };
        match command.op {
            Op::Work(work) => open.add(slot, command.stamp, work),
            Op::Timed(timed) => open.add_timed(slot, command.stamp, *timed),
            _ => {}
        }
        if alone {
            self.close(lane);
        }
    }

    /// Moves the launches that follow in the queue into the same batch: behind a command of their own queue they need
    /// no look of their own.
    fn append_launches(&mut self, goal: Goal) {
        let queue = &mut self.state.queues[goal.slot.0 as usize];
        let Some(open) = self.open[queue.lane].as_mut() else { return };
        let room = self.largest[queue.lane].saturating_sub(open.steps.len());
        let launches = queue.pop_launches(goal.upto, room, open.seq);
        open.steps.reserve(launches.len());
        for (stamp, launch) in launches {
            launch.into_iter().for_each(|launch| open.add_launch(goal.slot, stamp, launch));
        }
    }

    /// The open batch of `lane`, with all that the next command of `slot` depends on. Between two commands of one queue
    /// without a wait nothing comes to that.
    fn join(&mut self, slot: Slot, lane: usize) -> Seq {
        if let (Some((last, seq)), Some(open)) = (self.joined, &self.open[lane])
            && last == slot
            && seq == open.seq
        {
            return seq;
        }
        self.depend(slot, lane);
        let seq = self.open_batch(lane);
        self.state.batches.watch(seq, slot);
        (self.joined, self.state.after.moved) = (Some((slot, seq)), true);
        seq
    }

    fn open_batch(&mut self, lane: usize) -> Seq {
        let batches = &mut self.state.batches;
        self.open[lane].get_or_insert_with(|| Open::new(batches.open(lane))).seq
    }

    /// Puts behind the open batch of `lane` everything that `slot` planned before or waits for in other batches.
    ///
    /// An open batch never depends on an open one: one of another lane is closed first. So what a batch depends on
    /// was closed before it was, and no cycle can be built.
    fn depend(&mut self, slot: Slot, lane: usize) {
        let state = &*self.state;
        let follows = |seq: &Seq| self.must_follow(*seq, lane);
        let mut deps: SmallVec<[Seq; 4]> = state.queue(State::CONTEXT).batches().filter(follows).collect();
        if self.open.len() == 1 {
            // On one lane the order of submissions is all, and what comes after a batch comes after all before that.
            deps.extend(state.queue(slot).batches_since_work().filter(follows));
        } else {
            deps.extend(state.queue(slot).batches().filter(follows));
        }
        for &seq in &deps {
            let open = |open: &Option<Open>| open.as_ref().is_some_and(|open| open.seq == seq);
            if let Some(other) = self.open.iter().position(open) {
                self.close(other);
            }
        }
        if deps.is_empty() {
            return;
        }
        self.open_batch(lane);
        if let Some(open) = &mut self.open[lane] {
            open.deps.extend(deps);
            open.deps.sort_unstable();
            open.deps.dedup();
        }
    }

    /// Whether a batch of `lane` has to be told of `seq`: within a lane only until that is submitted.
    fn must_follow(&self, seq: Seq, lane: usize) -> bool {
        let Some(info) = self.state.batches.get(seq) else { return false };
        match info.status {
            Status::Done => false,
            Status::Submitted(_) => info.lane != lane,
            Status::Open => info.lane != lane,
            Status::Ready(_) | Status::Encoding => true,
        }
    }

    /// Puts the open batch of `lane` into the list of its priority, and what it depends on before it.
    fn close(&mut self, lane: usize) {
        let Some(mut open) = self.open[lane].take() else { return };
        open.publish_all();
        for &seq in &open.deps {
            self.state.lift(seq, self.priority);
        }
        self.state.batches.set(open.seq, Status::Ready(self.priority));
        let batch = Batch { seq: open.seq, steps: open.steps, deps: open.deps, refused: false };
        self.state.lanes[lane].list(self.priority).push_back(batch);
    }
}

impl State {
    /// Moves a batch, and what it depends on, up to `priority`: whoever waits for it is that urgent.
    pub(crate) fn lift(&mut self, seq: Seq, priority: Priority) {
        let Some(info) = self.batches.get(seq) else { return };
        let (lane, Status::Ready(from)) = (info.lane, info.status) else { return };
        if from >= priority {
            return;
        }
        let list = self.lanes[lane].list(from);
        let Some(batch) = list.iter().position(|batch| batch.seq == seq).and_then(|at| list.remove(at))
        else {
            return;
        };
        for &dep in &batch.deps {
            self.lift(dep, priority);
        }
        self.batches.set(seq, Status::Ready(priority));
        self.lanes[lane].list(priority).push_back(batch);
    }
}

impl Open {
    fn new(seq: Seq) -> Self {
        let (steps, deps, frontiers) = (Vec::new(), SmallVec::new(), Vec::new());
        Self { seq, steps, deps, frontiers, base: 0, publish: Vec::new() }
    }

    fn frontier(&mut self, slot: Slot) -> &mut Frontier {
        let at = self.frontiers.iter().position(|(s, _)| *s == slot).unwrap_or_else(|| {
            self.frontiers.push((slot, Frontier { level: self.base, ..Frontier::default() }));
            self.frontiers.len() - 1
        });
        &mut self.frontiers[at].1
    }

    /// The steps that whatever waits for `point` comes after, and the level behind them.
    fn before(&mut self, point: Point) -> (SmallVec<[u32; 2]>, u32) {
        let frontier = self.frontier(point.slot);
        if !frontier.after.is_empty() {
            // The queue itself waits for something since its last step: all of that.
            return (frontier.after.iter().copied().chain(frontier.last).collect(), frontier.level);
        }
        let last = self.steps.iter().rposition(|step| step.slot == point.slot && step.stamp <= point.stamp);
        // The steps of one queue are in order: the next one is behind the last.
        let from = last.map_or(0, |last| last + 1);
        let next =
            self.steps[from..].iter().position(|step| step.slot == point.slot && step.stamp > point.stamp);
        let mut after: SmallVec<[u32; 2]> = last.iter().map(|&at| at as u32).collect();
        let mut level = last.map_or(0, |at| self.steps[at].level + 1);
        if let Some(next) = next.map(|at| &self.steps[from + at]) {
            // What the queue waited for at the point shows in its next step only.
            after.extend(next.after.iter().copied());
            level = level.max(next.level);
        }
        (after, level)
    }

    #[inline]
    fn push(&mut self, slot: Slot, stamp: Stamp, work: Work) {
        let at = self.steps.len() as u32;
        let frontier = self.frontier(slot);
        let (after, level) = (std::mem::take(&mut frontier.after), frontier.level);
        frontier.last = Some(at);
        frontier.level += 1;
        self.steps.push(Step { slot, stamp, level, after, work });
    }

    /// Adds a command. A read of memory that the host reaches copies nothing; a writer first saves what such reads
    /// have not fetched yet.
    fn add(&mut self, slot: Slot, stamp: Stamp, work: Work) {
        if let Work::Read { src, slot: read } = &work {
            if src.block.direct() {
                keep_in_place(src, read);
                src.block.order().visible = true;
                self.push(slot, stamp, Work::Publish(src.block.clone()));
                return;
            }
            read.set(Place::Staging);
        }
        for touch in work.touches().filter(|touch| touch.write) {
            self.write(slot, stamp, &touch);
        }
        self.push(slot, stamp, work);
    }

    /// As [`add`](Self::add), with what the clock shows before and after, on one level: nothing comes between.
    #[cold]
    fn add_timed(&mut self, slot: Slot, stamp: Stamp, Timed { work, time, clocked }: Timed) {
        time.plan(self.seq);
        if !clocked {
            return self.add(slot, stamp, work);
        }
        // What has to be saved first is no part of it.
        for touch in work.touches().filter(|touch| touch.write) {
            self.write(slot, stamp, &touch);
        }
        let level = self.frontier(slot).level;
        for work in [Work::Start(time.clone()), work, Work::End(time)] {
            self.frontier(slot).level = level;
            self.add(slot, stamp, work);
        }
    }

    /// As [`add`](Self::add), for what comes by the thousand.
    #[inline]
    fn add_launch(&mut self, slot: Slot, stamp: Stamp, launch: Box<Launch>) {
        for touch in launch.touches().filter(|touch| touch.write) {
            self.write(slot, stamp, &touch);
        }
        self.push(slot, stamp, Work::Launch(launch));
    }

    /// Notes a write: what the host sees of the block is old now, and what reads have left there has to be saved.
    #[inline]
    fn write(&mut self, slot: Slot, stamp: Stamp, touch: &Touch<'_>) {
        let mut order = touch.block.order();
        order.visible = false;
        if order.host_reads || !order.lazy.is_empty() {
            let left = order.take_lazy(&touch.range);
            let publish = order.host_reads;
            drop(order);
            self.write_what_is_read(slot, stamp, touch.block, publish, left);
        }
    }

    #[cold]
    fn write_what_is_read(
        &mut self,
        slot: Slot,
        stamp: Stamp,
        block: &Arc<Block>,
        publish: bool,
        left: Parts,
    ) {
        if publish && !self.publish.iter().any(|known| known.id == block.id) {
            self.publish.push(block.clone());
        }
        for (range, read) in left {
            read.save_in(self.seq);
            let (offset, size) = (range.start, range.end - range.start);
            self.push(
                slot,
                stamp,
                Work::Read { src: Span { block: block.clone(), offset, size }, slot: read },
            );
        }
    }

    /// Makes what was written, and is read by the host now and then, visible to it: no later read needs a
    /// submission of its own.
    fn publish_all(&mut self) {
        let level = self.steps.iter().map(|step| step.level + 1).max().unwrap_or(0);
        for block in std::mem::take(&mut self.publish) {
            let mut order = block.order();
            if std::mem::replace(&mut order.visible, true) {
                continue;
            }
            drop(order);
            let (slot, stamp, after) = (State::CONTEXT, Stamp(u64::MAX), SmallVec::new());
            self.steps.push(Step { slot, stamp, level, after, work: Work::Publish(block) });
        }
    }
}

/// Leaves a read to whoever waits for it, if the bytes can be reached where they are and are visible to the host
/// without a submission.
fn read_in_place(src: &Span, read: &Arc<ReadSlot>) -> bool {
    if matches!(read.place(), Place::Dropped) {
        return true;
    }
    let ready = src.block.direct() && src.block.order().visible;
    if ready {
        keep_in_place(src, read);
    }
    ready
}

/// From now on whoever plans a writer of these bytes saves them first.
fn keep_in_place(src: &Span, read: &Arc<ReadSlot>) {
    let mut order = src.block.order();
    order.host_reads = true;
    order.lazy.push((src.range(), read.clone()));
    read.set(Place::Lazy);
}

/// What a command has to wait for because the host is at its bytes.
fn host_conflict(host_uses: u32, work: &Work) -> Option<Hold> {
    if host_uses == 0 {
        return None;
    }
    work.touches().find_map(|touch| {
        let order = touch.block.order();
        let busy = order.host == HostUse::Writing || (touch.write && order.readers > 0);
        busy.then_some(Hold::Host(touch.block.id))
    })
}

#[cfg(test)]
mod tests;
