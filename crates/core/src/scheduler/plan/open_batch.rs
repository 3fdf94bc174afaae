//! Open batches, to which the planner adds commands: the levels, dependencies and expected times of their steps. Also
//! the choice of the commands that are due on a lane, and the order of the planned batches.
//!
//! A *context command* fills an array that the context makes. It waits for nothing, and later commands of any queue may
//! need it without a wait. While few are pending, a context command is planned before the first command with a later
//! stamp; a short one even earlier, with the next batch. While many are pending, only those that a command needs are
//! planned before it, so that the arrays of one thread do not wait for those of another. The block of an array records
//! the context commands that use it.
//!
//! A chunk of a loop is always the last work in its batch, so that its end is known as early as possible.

use crate::memory::block::Block;
use crate::memory::read_slot::{ReadParts, ReadSlot, ReadState};
use crate::scheduler::batch::{BatchState, BatchStatus, Op, Timed};
use crate::scheduler::costs::{ExpectedCost, transfer};
use crate::scheduler::lanes::Plannable;
use crate::scheduler::plan::{FrontStep, LARGEST_BATCH, PlanGoal, Planner, host_conflict};
use crate::scheduler::queue::HoldReason;
use crate::scheduler::queues::Priority;
use crate::scheduler::replays::LoopStep;
use crate::scheduler::state::State;
use crate::scheduler::wakers::WakeCondition;
use crate::work::kernel_launch::Launch;
use crate::work::step::{BlockAccess, Span, Step, Work};
use crate::work::time_slot::TimeSlot;
use fencepost_sync::{Point, Seq, Slot, Stamp};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::sync::Arc;

/// Number of queues in a batch that are searched linearly, before a map is used.
const NEAR: usize = 8;

/// End of a queue's steps in an open batch. The next step of the queue follows it.
#[derive(Default)]
pub(crate) struct QueueFrontier {
    /// Index of the queue's last step in the batch.
    last: Option<u32>,
    /// Steps of other queues that the next step follows, because the queue waits for them.
    pub(crate) after: SmallVec<[u32; 2]>,
    /// Level of the next step.
    pub(crate) level: u32,
    /// Expected end of the queue's last step, in seconds after the start of the batch. Before the queue's first step,
    /// it is the earliest start of that step.
    end: f32,
    /// Stamp of the queue's first command in the batch.
    first: Option<Stamp>,
}

/// A batch that the planner is still adding steps to.
pub(crate) struct OpenBatch {
    pub(crate) seq: Seq,
    /// Largest allowed delay of a result in the batch, in seconds. A batch completes as a whole, so later commands
    /// delay earlier results.
    pub(crate) bound: f32,
    pub(crate) steps: Vec<Step>,
    /// Batches that must be submitted before this one.
    pub(crate) deps: SmallVec<[Seq; 4]>,
    frontiers: Vec<(Slot, QueueFrontier)>,
    /// Indexes of the frontiers beyond the first [`NEAR`].
    places: FxHashMap<Slot, usize>,
    /// Lowest level after the context commands, which fill new arrays; 0 if the batch has none.
    base: u32,
    /// Expected end of each step: until the batch is closed, `ends.len() == steps.len()`.
    ends: Vec<f32>,
    /// Expected end of the context commands.
    base_end: f32,
    /// Total seconds of all commands that delay a result in the batch. Includes all queues, because some devices run
    /// one command at a time. A long command at the start is left out, because it delays no earlier result.
    busy: f32,
    /// Expected time of the whole batch; unknown if the cost of any step is unknown.
    pub(crate) expected: ExpectedCost,
}

impl OpenBatch {
    pub(crate) fn new(seq: Seq, bound: f32) -> Self {
        Self {
            seq,
            bound,
            steps: Vec::new(),
            deps: SmallVec::new(),
            frontiers: Vec::new(),
            places: FxHashMap::default(),
            base: 0,
            ends: Vec::new(),
            base_end: 0.0,
            busy: 0.0,
            expected: ExpectedCost::default(),
        }
    }

    /// Returns each queue of the batch with the stamp of its first command in the batch.
    pub(crate) fn firsts(&self) -> impl Iterator<Item = (Slot, Stamp)> {
        self.frontiers.iter().filter_map(|(slot, frontier)| Some((*slot, frontier.first?)))
    }

    /// Orders every later step after the steps so far, which are the context commands. A queue without steps may
    /// already have a frontier, because it waits for a read that completes with the context commands.
    pub(crate) fn end_context_commands(&mut self) {
        self.base = self.frontiers.iter().map(|(_, frontier)| frontier.level).max().unwrap_or(0);
        self.base_end = self.ends.iter().copied().fold(0.0, f32::max);
        for (_, frontier) in &mut self.frontiers {
            frontier.level = self.base;
            frontier.end = frontier.end.max(self.base_end);
        }
    }

    /// Returns by how many seconds a result in the batch is delayed if a command of `cost` seconds joins the batch.
    pub(crate) fn delay_with(&self, cost: f32) -> f32 {
        self.busy + cost
    }

    pub(crate) fn frontier(&mut self, slot: Slot) -> &mut QueueFrontier {
        let at = self.frontier_index(slot);
        &mut self.frontiers[at].1
    }

    /// Returns the index of a queue's frontier, which is created on demand.
    fn frontier_index(&mut self, slot: Slot) -> usize {
        self.known_frontier_index(slot).unwrap_or_else(|| {
            let frontier = QueueFrontier { level: self.base, end: self.base_end, ..QueueFrontier::default() };
            let at = self.frontiers.len();
            self.frontiers.push((slot, frontier));
            if at >= NEAR {
                self.places.insert(slot, at);
            }
            at
        })
    }

    fn known_frontier_index(&self, slot: Slot) -> Option<usize> {
        let near = self.frontiers.iter().take(NEAR).position(|(known, _)| *known == slot);
        near.or_else(|| self.places.get(&slot).copied())
    }

    /// Orders the next step of `slot` after the last step of `other`.
    pub(crate) fn follow_last(&mut self, slot: Slot, other: Slot) {
        let last = self.frontier(other).last;
        let level = self.frontier(other).level;
        let frontier = self.frontier(slot);
        frontier.after.extend(last.filter(|last| !frontier.after.contains(last)));
        frontier.level = frontier.level.max(level);
    }

    /// Returns the steps that a queue must follow if it waits for `point`, and the level after those steps.
    pub(crate) fn steps_before(&mut self, point: Point) -> (SmallVec<[u32; 2]>, u32) {
        let frontier = self.frontier(point.slot);
        if !frontier.after.is_empty() {
            // The queue of `point` has waited for other steps since its last step, so the waiting queue follows them
            // too.
            return (frontier.after.iter().copied().chain(frontier.last).collect(), frontier.level);
        }
        if let Some(last) = frontier.last
            && self.steps[last as usize].stamp <= point.stamp
        {
            let step = &self.steps[last as usize];
            return (SmallVec::from_slice(&[last]), step.level + step.work.depth());
        }
        let last = self.steps.iter().rposition(|step| step.slot == point.slot && step.stamp <= point.stamp);
        // The steps of one queue are in order, so the search for the next step starts after the last one.
        let from = last.map_or(0, |last| last + 1);
        let next =
            self.steps[from..].iter().position(|step| step.slot == point.slot && step.stamp > point.stamp);
        let mut after: SmallVec<[u32; 2]> = last.iter().map(|&at| at as u32).collect();
        let mut level = last.map_or(0, |at| self.steps[at].level + self.steps[at].work.depth());
        if let Some(next) = next.map(|at| &self.steps[from + at]) {
            // Steps that the queue waits for are listed in its next step.
            after.extend(next.after.iter().copied());
            level = level.max(next.level);
        }
        (after, level)
    }

    /// Adds one step at the end of its queue's frontier. An infinite cost means an unknown one and counts as 0 seconds.
    fn push(&mut self, slot: Slot, stamp: Stamp, work: Work, cost: f32) {
        let place = self.frontier_index(slot);
        let Self { frontiers, ends, expected, steps, bound, base, busy, .. } = self;
        let (_, frontier) = &mut frontiers[place];
        let at = steps.len() as u32;
        let alone = *base == 0 && frontier.last.is_none() && frontier.after.is_empty();
        let known = if cost == f32::INFINITY { 0.0 } else { cost };
        let end = start(frontier, ends) + known;
        *busy += if alone && cost > *bound { 0.0 } else { known };
        expected.seconds = expected.seconds.max(end);
        expected.unknown |= cost == f32::INFINITY;
        let after = std::mem::take(&mut frontier.after);
        let level = frontier.level;
        frontier.last = Some(at);
        frontier.end = end;
        frontier.first.get_or_insert(stamp);
        frontier.level += work.depth();
        ends.push(end);
        steps.push(Step { slot, stamp, level, after, work });
        debug_assert_eq!(ends.len(), steps.len(), "bug: a step has no expected end");
    }

    /// Adds a command. A read of host-accessible memory copies nothing: the host later fetches the bytes in place.
    /// Before a writer, steps are added that save the bytes not yet fetched.
    pub(crate) fn add(&mut self, slot: Slot, stamp: Stamp, work: Work, cost: f32) {
        if let Work::Read { src, slot: read } = &work {
            if src.block.direct() && read.messages().is_none() {
                keep_in_place(src, read);
                return;
            }
            read.set(ReadState::Staging);
        }
        for touch in work.touches().filter(|touch| touch.write) {
            self.prepare_write(slot, stamp, &touch);
        }
        self.push(slot, stamp, work, cost);
    }

    /// Adds a command with a timestamp before and after it. All three steps share one level, so no other step runs
    /// between them.
    #[cold]
    pub(crate) fn add_timed(&mut self, slot: Slot, stamp: Stamp, timed: Timed, cost: f32) {
        let Timed { work, time, clocked } = timed;
        time.plan(self.seq);
        if let Work::Graph(graph) = &work {
            graph.plan_times(self.seq);
        }
        if !clocked {
            return self.add(slot, stamp, work, cost);
        }
        // Saving bytes for earlier reads must not count as measured time.
        for touch in work.touches().filter(|touch| touch.write) {
            self.prepare_write(slot, stamp, &touch);
        }
        let level = self.frontier(slot).level;
        let last = level + work.depth() - 1;
        let start = (level, Work::Start(time.clone()), 0.0);
        for (level, work, cost) in [start, (level, work, cost), (last, Work::End(time), 0.0)] {
            self.frontier(slot).level = level;
            self.add(slot, stamp, work, cost);
        }
    }

    /// Adds the works of one command, each with the cost `each`. `time` receives their total time.
    pub(crate) fn add_together(
        &mut self,
        slot: Slot,
        stamp: Stamp,
        works: Vec<Work>,
        each: f32,
        time: Option<Arc<TimeSlot>>,
    ) {
        if let Some(time) = &time {
            for touch in works.iter().flat_map(|work| work.touches()).filter(|touch| touch.write) {
                self.prepare_write(slot, stamp, &touch);
            }
            let level = self.frontier(slot).level;
            self.push(slot, stamp, Work::Start(time.clone()), 0.0);
            self.frontier(slot).level = level;
        }
        for work in works {
            self.add(slot, stamp, work, each);
        }
        if let Some(time) = time {
            let after = self.frontier(slot).level;
            self.frontier(slot).level = after - 1;
            self.push(slot, stamp, Work::End(time), 0.0);
        }
    }

    /// Adds a read that copies its bytes to staging memory even if the host could access them in place. Used if a later
    /// writer is planned before the host fetches the bytes.
    pub(crate) fn add_staged_read(&mut self, slot: Slot, stamp: Stamp, src: Span, read: Arc<ReadSlot>) {
        read.set(ReadState::Staging);
        let work = Work::Read { src, slot: read };
        let cost = transfer(&work);
        self.push(slot, stamp, work, cost);
    }

    /// Adds launches, often thousands, each with its cost. They follow a command of their own queue in this batch, so
    /// they need no other dependency.
    #[inline]
    pub(crate) fn add_launches(
        &mut self,
        slot: Slot,
        launches: impl Iterator<Item = (Stamp, Option<Box<Launch>>)>,
        costs: &[f32],
    ) {
        if costs.is_empty() {
            return;
        }
        let place = self.frontier_index(slot);
        self.steps.reserve(costs.len());
        self.ends.reserve(costs.len());
        let QueueFrontier { mut level, mut end, .. } = self.frontiers[place].1;
        for ((stamp, launch), &cost) in launches.zip(costs) {
            let Some(launch) = launch else { continue };
            if launch.touches().any(|touch| touch.write && is_read(&touch)) {
                self.set_frontier(place, level, end);
                for touch in launch.touches().filter(|touch| touch.write) {
                    self.prepare_write(slot, stamp, &touch);
                }
                QueueFrontier { level, end, .. } = self.frontiers[place].1;
            }
            end += cost;
            self.busy += cost;
            self.ends.push(end);
            self.steps.push(Step { slot, stamp, level, after: SmallVec::new(), work: Work::Launch(launch) });
            level += 1;
        }
        self.set_frontier(place, level, end);
    }

    /// Orders the next step of the queue with the frontier at `place` after the last step of the batch.
    fn set_frontier(&mut self, place: usize, level: u32, end: f32) {
        let frontier = &mut self.frontiers[place].1;
        frontier.last = self.steps.len().checked_sub(1).map(|at| at as u32);
        frontier.level = level;
        frontier.end = end;
        self.expected.seconds = self.expected.seconds.max(end);
    }

    /// Prepares a write. Before it, steps save the bytes of lazy reads that the host has not yet fetched from the
    /// block.
    fn prepare_write(&mut self, slot: Slot, stamp: Stamp, touch: &BlockAccess<'_>) {
        if is_read(touch) {
            let left = touch.block.order().take_lazy(&touch.range);
            self.save_reads(slot, stamp, touch.block, left);
        }
    }

    /// Adds the steps that save `left`, the parts of lazy reads that a write is about to change.
    #[cold]
    fn save_reads(&mut self, slot: Slot, stamp: Stamp, block: &Arc<Block>, left: ReadParts) {
        for (range, read) in left {
            read.save_in(self.seq);
            let offset = range.start;
            let size = range.end - range.start;
            let work = Work::Read { src: Span { block: block.clone(), offset, size }, slot: read };
            let cost = transfer(&work);
            self.push(slot, stamp, work, cost);
        }
    }
}

/// Returns `true` if the block holds bytes of a lazy read that the host has not yet fetched.
#[inline]
fn is_read(touch: &BlockAccess<'_>) -> bool {
    !touch.block.order().lazy.is_empty()
}

/// Returns the expected start of the next step of a queue.
#[inline]
fn start(frontier: &QueueFrontier, ends: &[f32]) -> f32 {
    frontier.after.iter().map(|&at| ends[at as usize]).fold(frontier.end, f32::max)
}

/// Leaves a read in place if the host can access the bytes; the call that waits for the read fetches them. Returns
/// `true` if the read needs no step, for this reason or because the program has dropped it.
pub(crate) fn read_in_place(src: &Span, read: &Arc<ReadSlot>) -> bool {
    if matches!(read.state(), ReadState::Dropped) {
        return true;
    }
    let ready = src.block.direct() && read.messages().is_none();
    if ready {
        keep_in_place(src, read);
    }
    ready
}

/// Registers a read as lazy: the bytes stay in the block until the host fetches them, or until planning a later writer
/// saves them.
fn keep_in_place(src: &Span, read: &Arc<ReadSlot>) {
    let mut order = src.block.order();
    order.lazy.push((src.range(), read.clone()));
    read.set(ReadState::Lazy);
}

/// Maximum number of context commands in one planning, which holds the state lock S. Each takes the planner as long as
/// several launches.
pub(crate) const MOST_CONTEXT_COMMANDS: usize = 512;

/// Up to this many pending context commands, each command comes after all earlier context commands.
pub(crate) const FEW_CONTEXT_COMMANDS: usize = 128;

/// Limit of the expected time of a chunk with several parts, as a multiple of the bound of rule E02. While there is a
/// queue of higher priority, the limit is the bound itself.
const LONGEST_CHUNK: f32 = 10.0;

impl Planner<'_> {
    /// Begins the batch with the context commands up to the last of `roots`, if there are few of them. Stops before
    /// they would delay later commands by more than the bound of the lane.
    pub(crate) fn begin_with_context_commands(&mut self, roots: &[Point]) {
        if let Some(upto) = roots.iter().map(|root| root.stamp).max()
            && self.has_only_context_commands()
        {
            self.skip_early_commands();
            if self.has_few_context_commands() {
                self.drain_context_commands(upto, self.state.lanes[0].costs.bound, 0);
            }
        }
    }

    /// Plans the context commands up to a stamp. Returns [`FrontStep::Later`] while an open batch contains other
    /// commands, because that batch is closed first: its results need none of these context commands.
    pub(crate) fn plan_context_commands(&mut self, upto: Stamp) -> FrontStep {
        if self.state.queues.first_context_command() > upto {
            return FrontStep::Planned;
        }
        if !self.has_only_context_commands() {
            return FrontStep::Later;
        }
        self.skip_early_commands();
        if self.has_few_context_commands() {
            self.drain_context_commands(upto, f32::INFINITY, 0);
            return FrontStep::Again;
        }
        // If there are many, they are planned like the commands of any other queue.
        let cost = self.cost(Slot::CONTEXT);
        if !self.fits(Slot::CONTEXT, cost) {
            return FrontStep::Later;
        }
        self.append(Slot::CONTEXT, cost);
        let Some(open) = self.open[0].as_mut() else { return FrontStep::Again };
        open.end_context_commands();
        let left = open.bound - open.delay_with(0.0);
        self.skip_early_commands();
        self.drain_context_commands(upto, left, 1);
        FrontStep::Again
    }

    /// Plans the context commands that must precede the front command of a queue, which has this stamp: all earlier
    /// ones if there are few, else only those that the command needs. Returns `None` once they are planned, or else the
    /// planner's next step.
    pub(crate) fn plan_context_commands_of(&mut self, slot: Slot, stamp: Stamp) -> Option<FrontStep> {
        if self.has_few_context_commands() {
            return Some(self.plan_context_commands(stamp));
        }
        let mut made: SmallVec<[Arc<Block>; 4]> = SmallVec::new();
        let mut add = |block: &Arc<Block>| {
            if block.order().made.is_some() && !made.iter().any(|known| known.id == block.id) {
                made.push(block.clone());
            }
        };
        let of_loop;
        let work = match &self.state.queue(slot).pending.front()?.op {
            Op::Work(work) => work,
            Op::Timed(timed) => &timed.work,
            Op::Loop(run) => {
                of_loop = run.work();
                &of_loop
            }
            // A wait needs no array, but a host callback may use any array.
            Op::Wait(_) | Op::WaitUser(_) => return None,
            _ => return Some(self.plan_context_commands(stamp)),
        };
        work.touches().for_each(|touch| add(touch.block));
        if let Work::Graph(part) = work {
            part.tables().into_iter().flatten().for_each(add);
        }
        made.iter().find_map(|block| self.plan_uses_of(slot, block, stamp))
    }

    /// Plans the context commands before `upto` that use a block, and those that these depend on, before the next
    /// command of `slot`. Returns `Some` if one of them cannot be planned now.
    fn plan_uses_of(&mut self, slot: Slot, block: &Arc<Block>, upto: Stamp) -> Option<FrontStep> {
        let planned = self.state.queue(Slot::CONTEXT).planned();
        let (first, last) = block.order().made.filter(|&(_, last)| last > planned)?;
        let mut from = first;
        while let Some(command) = self.state.queue_mut(Slot::CONTEXT).pending_from(from)
            && command.stamp <= last
            && command.stamp < upto
        {
            let stamp = command.stamp;
            from = Stamp(stamp.0 + 1);
            let work = match &command.op {
                &Op::Early(seq) => {
                    self.follow_context(slot, seq);
                    continue;
                }
                Op::Work(work) => work,
                Op::Timed(timed) => &timed.work,
                _ => continue,
            };
            if !work.touches().any(|touch| touch.block.id == block.id) {
                continue;
            }
            // The context command itself comes after earlier uses of its other blocks.
            let others: SmallVec<[Arc<Block>; 2]> = work
                .touches()
                .filter(|touch| touch.block.id != block.id)
                .map(|touch| touch.block.clone())
                .collect();
            let cost = self.cost_of_context_command(stamp);
            if let Some(step) = others.iter().find_map(|other| self.plan_uses_of(slot, other, stamp)) {
                return Some(step);
            }
            if !self.fits(Slot::CONTEXT, cost) {
                return Some(FrontStep::Later);
            }
            self.append_early(slot, stamp, cost);
        }
        None
    }

    /// Returns the estimate, in seconds, for a pending context command.
    fn cost_of_context_command(&mut self, stamp: Stamp) -> f32 {
        let State { queues, lanes, .. } = &mut *self.state;
        let costs = &mut lanes[queues[Slot::CONTEXT].lane].costs;
        match queues[Slot::CONTEXT].pending_from(stamp).map(|command| &command.op) {
            Some(Op::Work(work)) => costs.of_work(work),
            Some(Op::Timed(timed)) => costs.of_work(&timed.work),
            _ => 0.0,
        }
    }

    /// Moves a context command into the open batch, before the next command of `slot`.
    fn append_early(&mut self, slot: Slot, stamp: Stamp, cost: f32) {
        let lane = self.state.queue(Slot::CONTEXT).lane;
        let is_start = self.has_only_context_commands();
        let seq = self.join_batch(Slot::CONTEXT, lane);
        let Some(op) = self.state.queue_mut(Slot::CONTEXT).take_early(stamp, seq) else { return };
        self.taken += 1;
        self.state.after.planned_any = true;
        // The context command may depend on others that were planned early for this queue.
        self.add_dependencies(slot, lane);
        let Some(open) = self.open[lane].as_mut() else { return };
        match op {
            Op::Work(work) => open.add(Slot::CONTEXT, stamp, work, cost),
            Op::Timed(timed) => open.add_timed(Slot::CONTEXT, stamp, *timed, cost),
            _ => {}
        }
        if is_start {
            open.end_context_commands();
        }
        self.follow_context(slot, seq);
    }

    /// Orders the next command of `slot` after the context commands in batch `seq`.
    fn follow_context(&mut self, slot: Slot, seq: Seq) {
        if self.state.batches.is_done(seq) {
            return;
        }
        if let Some(open) = self.open.iter_mut().flatten().find(|open| open.seq == seq) {
            open.follow_last(slot, Slot::CONTEXT);
        }
        self.state.batches.watch(seq, slot);
        self.state.queue_mut(slot).follow_batch(seq);
        self.joined = None;
    }

    /// Removes the context commands at the front that were planned early. Must not be called while an open batch has
    /// commands of the program, because their order after a context command is known only as long as that command is
    /// listed.
    fn skip_early_commands(&mut self) {
        while let Some(&Op::Early(seq)) =
            self.state.queue(Slot::CONTEXT).pending.front().map(|front| &front.op)
        {
            let seqs: SmallVec<[_; 1]> =
                Some(seq).filter(|&seq| !self.state.batches.is_done(seq)).into_iter().collect();
            self.state.queue_mut(Slot::CONTEXT).pop_wait(&seqs);
            self.state.after.planned_any = true;
        }
    }

    fn has_few_context_commands(&self) -> bool {
        self.state.queue(Slot::CONTEXT).pending.len() <= FEW_CONTEXT_COMMANDS
    }

    /// Returns `true` if the open batches contain only context commands.
    fn has_only_context_commands(&self) -> bool {
        self.open.iter().flatten().all(|open| open.firsts().all(|(slot, _)| slot == Slot::CONTEXT))
    }

    /// Moves context commands up to a stamp into the open batch of their lane, at most `seconds` of work in total.
    /// `count` is the number taken so far in this step.
    fn drain_context_commands(&mut self, upto: Stamp, seconds: f32, mut count: usize) {
        let mut left = seconds;
        while self.taken < LARGEST_BATCH && self.state.queues.first_context_command() <= upto {
            if self.state.queue(Slot::CONTEXT).front_has_failed() {
                self.discard_failed(PlanGoal { slot: Slot::CONTEXT, upto, needed: false });
                continue;
            }
            let cost = self.cost(Slot::CONTEXT);
            left -= cost;
            if left < 0.0 {
                break;
            }
            self.append(Slot::CONTEXT, cost);
            self.skip_early_commands();
            count += 1;
            if count >= MOST_CONTEXT_COMMANDS {
                self.taken = self.taken.max(LARGEST_BATCH); // the rest is planned later: other threads need S
                break;
            }
        }
        if let Some(open) = self.open[0].as_mut().filter(|_| count > 0) {
            open.end_context_commands();
        }
    }

    /// Plans the next chunk of the loop at the front of a queue, or removes the loop if it has ended.
    pub(super) fn plan_loop(&mut self, goal: PlanGoal) -> FrontStep {
        let host_uses = self.state.memory.host_uses;
        let ending = self.state.loops.ending;
        let limit = self.state.loops.limit;
        let Some((stamp, run)) = self.state.queue_mut(goal.slot).front_loop_mut() else {
            return FrontStep::Planned;
        };
        let (most, work) = match run.next() {
            LoopStep::Ended => {
                run.end_time();
                return self.skip_front(goal.slot);
            }
            LoopStep::Held(hold) => return FrontStep::Held(HoldReason::Loop(hold)),
            LoopStep::Chunk(most) => match run.stop(ending, limit) {
                Some(error) => {
                    self.state.fail_queue(goal.slot, stamp, error);
                    return FrontStep::Again;
                }
                None => (most, run.work()),
            },
        };
        if let Some(hold) = host_conflict(host_uses, &work) {
            return FrontStep::Held(hold);
        }
        let lane = self.state.queue(goal.slot).lane;
        let each = self.state.lanes[lane].costs.of_work(&work);
        let factor = if self.state.queues.any_above(self.priority) { 1.0 } else { LONGEST_CHUNK };
        let longest = factor * self.state.lanes[lane].costs.bound;
        let is_long = each.is_finite() && each * most as f32 > longest;
        let parts = if is_long { ((longest / each) as u32).clamp(1, most) } else { most };
        if !self.fits(goal.slot, each * parts as f32) {
            return FrontStep::Later;
        }
        if self.open[lane].as_ref().is_some_and(|open| open.steps.len() >= LARGEST_BATCH) {
            self.close(lane);
        }
        let seq = self.join_batch(goal.slot, lane);
        self.taken += parts as usize;
        let Some((_, run)) = self.state.queue_mut(goal.slot).front_loop_mut() else {
            return FrontStep::Planned;
        };
        let hold = run.hold;
        let time = run.time_chunk(seq);
        let read = run.add_chunk(seq, parts);
        let waker = run.waker().clone();
        let works = (0..parts).map(|_| run.work()).collect();
        let time = time.and_then(|(time, clocked)| clocked.then_some(time));
        if let Some(open) = self.open[lane].as_mut() {
            open.add_together(goal.slot, stamp, works, each, time);
            if let Some((src, slot)) = &read {
                open.add_staged_read(goal.slot, stamp, src.clone(), slot.clone());
            }
        }
        if read.is_some() {
            self.state.loops.add(goal.slot, hold);
            self.state.waiters.wakers.register(WakeCondition::Batch(seq), &waker);
        }
        self.state.queue_mut(goal.slot).note_part(seq);
        self.close(lane);
        FrontStep::Again
    }
}

/// The commands of a lane that are to be planned.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum DueCommands {
    /// Commands that the program requested with a flush or a wait.
    Requested,
    /// All pending commands, so that they can share a batch.
    All,
    /// Requested commands of all queues except this one, even while planned batches wait for submission.
    RequestedExcept(Slot),
}

impl State {
    /// Plans the `due` commands of the queues on `lane`, with one priority in each batch, as far as
    /// [`plannable`](State::plannable) permits.
    pub(crate) fn plan_lane(&mut self, lane: usize, due: DueCommands) {
        let all = due == DueCommands::All;
        if !self.queues.can_plan_any(lane, !all) && !self.queues.plans_context_on(lane) {
            return;
        }
        let except = if let DueCommands::RequestedExcept(slot) = due { Some(slot) } else { None };
        let plannable = Priority::ORDER.map(|priority| match except {
            Some(_) => Plannable::All,
            None => self.plannable(lane, priority),
        });
        let mut any_short = None;
        for (priority, plannable) in Priority::ORDER.into_iter().zip(plannable) {
            if plannable == Plannable::Nothing {
                continue;
            }
            let mut slots = self.queues.to_plan(lane, priority, !all);
            if priority == self.queue(Slot::CONTEXT).priority && self.queues.plans_context_on(lane) {
                slots.push(Slot::CONTEXT);
            }
            if slots.is_empty() {
                continue;
            }
            let queues = slots.into_iter().map(|slot| (slot, self.queue(slot)));
            let roots: Vec<Point> = if all {
                queues.map(|(slot, q)| q.end(slot)).collect()
            } else {
                let queues = queues.filter(|(slot, q)| except != Some(*slot) && q.is_requested());
                queues.map(|(slot, q)| q.end_of_requested(slot)).collect()
            };
            if plannable == Plannable::Short {
                any_short = Some(self.plan_short(roots, priority) || any_short == Some(true));
            } else if !roots.is_empty() {
                self.plan(roots, priority);
                self.lanes[lane].own_plannings = 0;
            }
        }
        if let Some(any) = any_short {
            self.plannings.note_search(any, self.last_stamp());
        }
    }

    /// Moves a batch and its dependencies before all others, on every lane, because a caller waits for the batch.
    ///
    /// In each list, the needed batches come first and the others follow, both in their previous order. So each batch
    /// stays after its dependencies.
    pub(crate) fn move_to_front(&mut self, seq: Seq) {
        let Some(&BatchState { lane, status: BatchStatus::Ready(priority), .. }) = self.batches.get(seq)
        else {
            return;
        };
        if self.lanes[lane].list(priority).front().is_some_and(|front| front.seq == seq) {
            return;
        }
        let planned = self.lanes.iter().flat_map(|lane| lane.ready.iter().flatten());
        let planned: FxHashMap<Seq, &[Seq]> = planned.map(|batch| (batch.seq, &batch.deps[..])).collect();
        let mut needed = FxHashSet::default();
        let mut stack = vec![seq];
        while let Some(seq) = stack.pop() {
            if let Some(deps) = planned.get(&seq).filter(|_| needed.insert(seq)) {
                stack.extend_from_slice(deps);
            }
        }
        self.lanes.iter_mut().for_each(|lane| lane.mixed = true);
        for list in self.lanes.iter_mut().flat_map(|lane| &mut lane.ready) {
            list.make_contiguous().sort_by_key(|batch| !needed.contains(&batch.seq));
        }
    }

    /// Raises a batch and its dependencies to `priority`, the priority of a queue that waits for the batch. Does
    /// nothing if the batch already has at least this priority.
    pub(crate) fn raise_priority(&mut self, seq: Seq, priority: Priority) {
        let Some(info) = self.batches.get(seq) else { return };
        let (lane, BatchStatus::Ready(from)) = (info.lane, info.status) else { return };
        if from >= priority {
            return;
        }
        let list = self.lanes[lane].list(from);
        let Some(batch) = list.iter().position(|batch| batch.seq == seq).and_then(|at| list.remove(at))
        else {
            return;
        };
        for &dep in &batch.deps {
            self.raise_priority(dep, priority);
        }
        self.batches.set(seq, BatchStatus::Ready(priority));
        self.lanes[lane].list(priority).push_back(batch);
    }
}
