//! A batch that the planner adds commands to: the levels, the dependencies and the expected times of its steps.

use crate::memory::block::Block;
use crate::memory::read_slot::{ReadParts, ReadSlot, ReadState};
use crate::scheduler::command::Timed;
use crate::scheduler::command_costs::{ExpectedCost, transfer};
use crate::work::kernel_launch::Launch;
use crate::work::span::{Span, Touch};
use crate::work::step::{Step, Work};
use crate::work::time_slot::TimeSlot;
use fencepost_sync::{Point, Seq, Slot, Stamp};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::Arc;

/// Number of queues of a batch that are searched one by one, before a map is used.
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
    /// Expected end of the queue's last step, in seconds after the start of the batch. Before the first step: the
    /// earliest start of that step.
    end: f32,
    /// Stamp of the queue's first command in the batch.
    first: Option<Stamp>,
}

/// A batch that the planner still adds steps to.
pub(crate) struct OpenBatch {
    pub(crate) seq: Seq,
    /// Largest allowed delay of a result in the batch, in seconds. A batch completes as a whole, so its later commands
    /// delay its earlier results.
    pub(crate) bound: f32,
    pub(crate) steps: Vec<Step>,
    /// Batches that must be submitted before this one.
    pub(crate) deps: SmallVec<[Seq; 4]>,
    frontiers: Vec<(Slot, QueueFrontier)>,
    /// Indexes of the frontiers after the first [`NEAR`].
    places: FxHashMap<Slot, usize>,
    /// Lowest level of a step after the context commands, which fill new arrays. 0 if the batch has no context
    /// commands.
    base: u32,
    /// Expected ends of the steps: `ends.len() == steps.len()` until the batch is closed.
    ends: Vec<f32>,
    /// Expected end of the context commands.
    base_end: f32,
    /// Total seconds of all commands that delay a result in the batch, over all queues, because some devices run one
    /// command at a time. A long command that no command precedes delays no earlier result and is left out.
    busy: f32,
    /// Expected time of the whole batch. Unknown if the cost of a step is unknown.
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

    /// Orders every later step after the steps so far, which are the context commands. A queue without a step may
    /// already have a frontier: it waits for a read that completes with the context commands.
    pub(crate) fn end_context_commands(&mut self) {
        self.base = self.frontiers.iter().map(|(_, frontier)| frontier.level).max().unwrap_or(0);
        self.base_end = self.ends.iter().copied().fold(0.0, f32::max);
        for (_, frontier) in &mut self.frontiers {
            frontier.level = self.base;
            frontier.end = frontier.end.max(self.base_end);
        }
    }

    /// Returns the seconds by which a result in the batch is delayed if a command of `cost` seconds joins the batch.
    pub(crate) fn late(&self, cost: f32) -> f32 {
        self.busy + cost
    }

    pub(crate) fn frontier(&mut self, slot: Slot) -> &mut QueueFrontier {
        let at = self.place(slot);
        &mut self.frontiers[at].1
    }

    /// Returns the index of a queue's frontier, which is created if needed.
    fn place(&mut self, slot: Slot) -> usize {
        self.find(slot).unwrap_or_else(|| {
            let frontier = QueueFrontier { level: self.base, end: self.base_end, ..QueueFrontier::default() };
            let at = self.frontiers.len();
            self.frontiers.push((slot, frontier));
            if at >= NEAR {
                self.places.insert(slot, at);
            }
            at
        })
    }

    fn find(&self, slot: Slot) -> Option<usize> {
        let near = self.frontiers.iter().take(NEAR).position(|(known, _)| *known == slot);
        near.or_else(|| self.places.get(&slot).copied())
    }

    /// Orders the next step of `slot` after the last step of `other`.
    pub(crate) fn follow_last(&mut self, slot: Slot, other: Slot) {
        let (last, level) = (self.frontier(other).last, self.frontier(other).level);
        let frontier = self.frontier(slot);
        frontier.after.extend(last.filter(|last| !frontier.after.contains(last)));
        frontier.level = frontier.level.max(level);
    }

    /// Returns the steps that a queue follows if it waits for `point`, and the level after those steps.
    pub(crate) fn before(&mut self, point: Point) -> (SmallVec<[u32; 2]>, u32) {
        let frontier = self.frontier(point.slot);
        if !frontier.after.is_empty() {
            // The queue of `point` has waited for steps since its last step, so a queue that waits for it follows those
            // steps too.
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
            // The steps that the queue waits for before its next step are listed in that step.
            after.extend(next.after.iter().copied());
            level = level.max(next.level);
        }
        (after, level)
    }

    /// Adds one step at the end of its queue's frontier. An infinite cost is unknown and counts as 0 seconds.
    fn push(&mut self, slot: Slot, stamp: Stamp, work: Work, cost: f32) {
        let place = self.place(slot);
        let Self { frontiers, ends, expected, steps, bound, base, busy, .. } = self;
        let (_, frontier) = &mut frontiers[place];
        let at = steps.len() as u32;
        let alone = *base == 0 && frontier.last.is_none() && frontier.after.is_empty();
        let known = if cost == f32::INFINITY { 0.0 } else { cost };
        let end = start(frontier, ends) + known;
        *busy += if alone && cost > *bound { 0.0 } else { known };
        expected.seconds = expected.seconds.max(end);
        expected.unknown |= cost == f32::INFINITY;
        let (after, level) = (std::mem::take(&mut frontier.after), frontier.level);
        frontier.last = Some(at);
        frontier.end = end;
        frontier.first.get_or_insert(stamp);
        frontier.level += work.depth();
        ends.push(end);
        steps.push(Step { slot, stamp, level, after, work });
        debug_assert_eq!(ends.len(), steps.len(), "bug: a step has no expected end");
    }

    /// Adds a command. A read of memory that the host can access copies nothing, because the host fetches the bytes
    /// in place. Steps before a writer save the bytes that the host has not yet fetched.
    pub(crate) fn add(&mut self, slot: Slot, stamp: Stamp, work: Work, cost: f32) {
        if let Work::Read { src, slot: read } = &work {
            if src.block.direct() && read.messages().is_none() {
                keep_in_place(src, read);
                return;
            }
            read.set(ReadState::Staging);
        }
        for touch in work.touches().filter(|touch| touch.write) {
            self.write(slot, stamp, &touch);
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
        // Saving the bytes for earlier reads is not part of the measured time.
        for touch in work.touches().filter(|touch| touch.write) {
            self.write(slot, stamp, &touch);
        }
        let level = self.frontier(slot).level;
        let last = level + work.depth() - 1;
        let start = (level, Work::Start(time.clone()), 0.0);
        for (level, work, cost) in [start, (level, work, cost), (last, Work::End(time), 0.0)] {
            self.frontier(slot).level = level;
            self.add(slot, stamp, work, cost);
        }
    }

    /// Adds the works of one command, each with the cost `each`. `time` receives the time of all works together.
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
                self.write(slot, stamp, &touch);
            }
            let level = self.frontier(slot).level;
            self.push(slot, stamp, Work::Start(time.clone()), 0.0);
            self.frontier(slot).level = level;
        }
        for work in works {
            self.add(slot, stamp, work, each);
        }
        if let Some(time) = time {
            let behind = self.frontier(slot).level;
            self.frontier(slot).level = behind - 1;
            self.push(slot, stamp, Work::End(time), 0.0);
        }
    }

    /// Adds a read whose bytes this batch copies to staging memory, even if the host could access them in place: a
    /// later writer is planned before the host fetches them.
    pub(crate) fn add_staged_read(&mut self, slot: Slot, stamp: Stamp, src: Span, read: Arc<ReadSlot>) {
        read.set(ReadState::Staging);
        let work = Work::Read { src, slot: read };
        let cost = transfer(&work);
        self.push(slot, stamp, work, cost);
    }

    /// Adds launches, often thousands, with the cost of each. They follow a command of their own queue in this batch,
    /// so they need no other dependency.
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
        let place = self.place(slot);
        self.steps.reserve(costs.len());
        self.ends.reserve(costs.len());
        let QueueFrontier { mut level, mut end, .. } = self.frontiers[place].1;
        for ((stamp, launch), &cost) in launches.zip(costs) {
            let Some(launch) = launch else { continue };
            if launch.touches().any(|touch| touch.write && is_read(&touch)) {
                self.set_frontier(place, level, end);
                for touch in launch.touches().filter(|touch| touch.write) {
                    self.write(slot, stamp, &touch);
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

    /// Orders the next step of the queue whose frontier is at `place` after the last step of the batch.
    fn set_frontier(&mut self, place: usize, level: u32, end: f32) {
        let frontier = &mut self.frontiers[place].1;
        frontier.last = self.steps.len().checked_sub(1).map(|at| at as u32);
        frontier.level = level;
        frontier.end = end;
        self.expected.seconds = self.expected.seconds.max(end);
    }

    /// Prepares a write. Steps before it save the bytes of lazy reads, which the host has not yet fetched from the block.
    fn write(&mut self, slot: Slot, stamp: Stamp, touch: &Touch<'_>) {
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
            let (offset, size) = (range.start, range.end - range.start);
            let work = Work::Read { src: Span { block: block.clone(), offset, size }, slot: read };
            let cost = transfer(&work);
            self.push(slot, stamp, work, cost);
        }
    }
}

/// Returns `true` if the host has not yet fetched a lazy read from the block.
#[inline]
fn is_read(touch: &Touch<'_>) -> bool {
    !touch.block.order().lazy.is_empty()
}

/// Returns the expected start of the next step of a queue.
#[inline]
fn start(frontier: &QueueFrontier, ends: &[f32]) -> f32 {
    frontier.after.iter().map(|&at| ends[at as usize]).fold(frontier.end, f32::max)
}

/// Leaves a read in place if the host can access the bytes; the call that waits for the read then fetches them. Returns
/// `true` if the read needs no step, even if that is because the program has dropped it.
pub(crate) fn read_in_place(src: &Span, read: &Arc<ReadSlot>) -> bool {
    if matches!(read.place(), ReadState::Dropped) {
        return true;
    }
    let ready = src.block.direct() && read.messages().is_none();
    if ready {
        keep_in_place(src, read);
    }
    ready
}

/// Registers a read as lazy: the bytes stay in the block until the host fetches them. The plan of a later writer
/// saves them first.
fn keep_in_place(src: &Span, read: &Arc<ReadSlot>) {
    let mut order = src.block.order();
    order.lazy.push((src.range(), read.clone()));
    read.set(ReadState::Lazy);
}
