//! A batch under construction.

use crate::memory::block::Block;
use crate::memory::read_slot::{ReadParts, ReadSlot, ReadState};
use crate::scheduler::command::Timed;
use crate::scheduler::command_costs::{ExpectedCost, transfer};
use crate::work::kernel_launch::Launch;
use crate::work::span::{Span, Touch};
use crate::work::step::{Step, Work};
use fencepost_sync::{Point, Seq, Slot, Stamp};
use smallvec::SmallVec;
use std::sync::Arc;

/// How many times longer a batch may be as long as nothing in it is looked for.
pub(crate) const STRETCH: f32 = 4.0;

/// What the next step of a queue comes after, inside an open batch.
#[derive(Default)]
pub(crate) struct QueueFrontier {
    last: Option<u32>,
    pub(crate) after: SmallVec<[u32; 2]>,
    pub(crate) level: u32,
    /// When the last step is expected to be done, or what comes before the first: seconds after the start of the batch.
    end: f32,
    /// The queue's first command in the batch.
    first: Option<Stamp>,
}

/// A batch under construction.
pub(crate) struct OpenBatch {
    pub(crate) seq: Seq,
    /// Seconds by which a result in it may be late.
    bound: f32,
    pub(crate) steps: Vec<Step>,
    pub(crate) deps: SmallVec<[Seq; 4]>,
    frontiers: Vec<(Slot, QueueFrontier)>,
    /// The lowest level of a queue's steps: 1 behind the context's own.
    base: u32,
    /// For each step, when it is expected to be done.
    ends: Vec<f32>,
    /// The end of the context's own commands.
    base_end: f32,
    /// Seconds of all commands that make a result in it late, whatever their queues: some devices do one after the other. A
    /// long command that comes first makes nothing late.
    busy: f32,
    /// The end of all steps, and whether one of them was never seen before.
    pub(crate) expected: ExpectedCost,
    /// Whether it gives the host something that the program looks at.
    pub(crate) gives: bool,
    /// The queue that it begins with, if nothing of others is looked for, and the first point of it that is.
    pub(crate) calm: Option<(Slot, Stamp)>,
    /// Blocks written here that the host reads now and then.
    publish: Vec<Arc<Block>>,
}

impl OpenBatch {
    pub(crate) fn new(seq: Seq, bound: f32) -> Self {
        let (steps, deps, frontiers, ends, publish, expected) = Default::default();
        let (base, base_end, busy, gives, calm) = (0, 0.0, 0.0, false, None);
        Self {
            seq,
            bound,
            steps,
            deps,
            frontiers,
            base,
            ends,
            base_end,
            busy,
            expected,
            gives,
            calm,
            publish,
        }
    }

    /// Each queue in it, with its first command there.
    pub(crate) fn firsts(&self) -> impl Iterator<Item = (Slot, Stamp)> {
        self.frontiers.iter().filter_map(|(slot, frontier)| Some((*slot, frontier.first?)))
    }

    /// Everything from now on comes behind what is in it: the context's own commands.
    pub(crate) fn come_behind(&mut self) {
        self.base = self.frontiers.iter().map(|(_, frontier)| frontier.level).max().unwrap_or(0);
        self.base_end = self.ends.iter().copied().fold(0.0, f32::max);
    }

    /// Whether nothing in it comes before the next command of `slot`.
    pub(crate) fn is_first(&self, slot: Slot) -> bool {
        self.base == 0 && self.known(slot).is_none_or(|at| at.last.is_none() && at.after.is_empty())
    }

    /// By how much a command that takes `cost` seconds would be late, or make late what is in the batch.
    pub(crate) fn late(&self, cost: f32) -> f32 {
        self.busy + cost
    }

    /// How late a command may be, or make what is in the batch: up to the first point that is looked for nothing is made late.
    pub(crate) fn limit(&self, slot: Slot, stamp: Stamp) -> f32 {
        let calm = self.calm.is_some_and(|(first, upto)| first == slot && stamp <= upto) && !self.gives;
        if calm { STRETCH * self.bound } else { self.bound }
    }

    fn known(&self, slot: Slot) -> Option<&QueueFrontier> {
        self.frontiers.iter().find(|(known, _)| *known == slot).map(|(_, frontier)| frontier)
    }

    pub(crate) fn frontier(&mut self, slot: Slot) -> &mut QueueFrontier {
        let at = self.place(slot);
        &mut self.frontiers[at].1
    }

    /// Where the frontier of a queue is, from now on.
    fn place(&mut self, slot: Slot) -> usize {
        self.frontiers.iter().position(|(known, _)| *known == slot).unwrap_or_else(|| {
            let frontier = QueueFrontier { level: self.base, end: self.base_end, ..QueueFrontier::default() };
            self.frontiers.push((slot, frontier));
            self.frontiers.len() - 1
        })
    }

    /// The steps that whatever waits for `point` comes after, and the level behind them.
    pub(crate) fn before(&mut self, point: Point) -> (SmallVec<[u32; 2]>, u32) {
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
        (frontier.last, frontier.end) = (Some(at), end);
        frontier.first.get_or_insert(stamp);
        frontier.level += 1;
        ends.push(end);
        steps.push(Step { slot, stamp, level, after, work });
    }

    /// Adds a command. A read of memory that the host reaches copies nothing; a writer first saves what such reads
    /// have not fetched yet.
    pub(crate) fn add(&mut self, slot: Slot, stamp: Stamp, work: Work, cost: f32) {
        if let Work::Read { src, slot: read } = &work {
            if src.block.direct() {
                keep_in_place(src, read);
                src.block.order().visible = true;
                self.push(slot, stamp, Work::Publish(src.block.clone()), 0.0);
                return;
            }
            read.set(ReadState::Staging);
        }
        for touch in work.touches().filter(|touch| touch.write) {
            self.write(slot, stamp, &touch);
        }
        self.push(slot, stamp, work, cost);
    }

    /// As [`add`](Self::add), with what the clock shows before and after, on one level: nothing comes between.
    #[cold]
    pub(crate) fn add_timed(&mut self, slot: Slot, stamp: Stamp, timed: Timed, cost: f32) {
        let Timed { work, time, clocked } = timed;
        time.plan(self.seq);
        if !clocked {
            return self.add(slot, stamp, work, cost);
        }
        // What has to be saved first is no part of it.
        for touch in work.touches().filter(|touch| touch.write) {
            self.write(slot, stamp, &touch);
        }
        let level = self.frontier(slot).level;
        for (work, cost) in [(Work::Start(time.clone()), 0.0), (work, cost), (Work::End(time), 0.0)] {
            self.frontier(slot).level = level;
            self.add(slot, stamp, work, cost);
        }
    }

    /// As [`add`](Self::add), for thousands of launches behind a command of their own queue, with the cost of each.
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
                self.go_on(place, level, end);
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
        self.go_on(place, level, end);
    }

    /// Has the next step of the queue whose frontier is at `place` come behind the last step of all.
    fn go_on(&mut self, place: usize, level: u32, end: f32) {
        let frontier = &mut self.frontiers[place].1;
        frontier.last = self.steps.len().checked_sub(1).map(|at| at as u32);
        (frontier.level, frontier.end) = (level, end);
        self.expected.seconds = self.expected.seconds.max(end);
    }

    /// Notes a write: what the host sees of the block is old now, and what reads have left there has to be saved.
    fn write(&mut self, slot: Slot, stamp: Stamp, touch: &Touch<'_>) {
        if is_read(touch) {
            let mut order = touch.block.order();
            let (publish, left) = (order.host_reads, order.take_lazy(&touch.range));
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
        left: ReadParts,
    ) {
        if publish && !self.publish.iter().any(|known| known.id == block.id) {
            self.publish.push(block.clone());
        }
        for (range, read) in left {
            read.save_in(self.seq);
            let (offset, size) = (range.start, range.end - range.start);
            let work = Work::Read { src: Span { block: block.clone(), offset, size }, slot: read };
            let cost = transfer(&work);
            self.push(slot, stamp, work, cost);
        }
    }

    /// Makes what was written, and is read by the host now and then, visible to it: no later read needs a
    /// submission of its own.
    pub(crate) fn publish_all(&mut self) {
        let level = self.steps.iter().map(|step| step.level + 1).max().unwrap_or(0);
        for block in std::mem::take(&mut self.publish) {
            let mut order = block.order();
            if std::mem::replace(&mut order.visible, true) {
                continue;
            }
            drop(order);
            let (slot, stamp, after) = (Slot::CONTEXT, Stamp(u64::MAX), SmallVec::new());
            self.steps.push(Step { slot, stamp, level, after, work: Work::Publish(block) });
        }
    }
}

/// Notes that what the host sees of a block is old now; whether the host reads there, or has left reads there.
#[inline]
fn is_read(touch: &Touch<'_>) -> bool {
    let mut order = touch.block.order();
    order.visible = false;
    order.host_reads || !order.lazy.is_empty()
}

/// When the next step of a queue starts.
#[inline]
fn start(frontier: &QueueFrontier, ends: &[f32]) -> f32 {
    frontier.after.iter().map(|&at| ends[at as usize]).fold(frontier.end, f32::max)
}

/// Leaves a read to the call that waits for it, if the bytes can be reached where they are and are visible to the host
/// without a submission.
pub(crate) fn read_in_place(src: &Span, read: &Arc<ReadSlot>) -> bool {
    if matches!(read.place(), ReadState::Dropped) {
        return true;
    }
    let ready = src.block.direct() && src.block.order().visible;
    if ready {
        keep_in_place(src, read);
    }
    ready
}

/// From now on the planning of a writer of these bytes saves them first.
fn keep_in_place(src: &Span, read: &Arc<ReadSlot>) {
    let mut order = src.block.order();
    order.host_reads = true;
    order.lazy.push((src.range(), read.clone()));
    read.set(ReadState::Lazy);
}
