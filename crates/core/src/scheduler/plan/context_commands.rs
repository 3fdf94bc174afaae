//! Plans the context commands, which fill the arrays that the context makes.
//!
//! A context command waits for nothing, and a later command of any queue may need it without a wait. While few are
//! pending, the planner plans a context command before the first command with a later stamp, and a short one even
//! earlier, with the next batch. While many are pending, a command takes along only those that it needs, ahead of all
//! others, so that the arrays of one thread do not wait for the arrays of another. The block of an array records the
//! context commands that use it.
use crate::memory::block::Block;
use crate::scheduler::command::Op;
use crate::scheduler::plan::{FrontStep, LARGEST_BATCH, PlanGoal, Planner};
use crate::scheduler::state::State;
use crate::work::step::Work;
use fencepost_sync::{Point, Seq, Slot, Stamp};
use smallvec::SmallVec;
use std::sync::Arc;

/// Most context commands of one planning, which holds the state lock (S). Each costs the planner as much as several
/// launches.
pub(crate) const MOST_CONTEXT_COMMANDS: usize = 512;

/// With at most this many pending context commands, each command comes after all earlier context commands.
pub(crate) const FEW_CONTEXT_COMMANDS: usize = 128;

impl State {
    /// Returns `true` if the thread of a lane plans the context commands now.
    pub(crate) fn plans_context_on(&self, lane: usize) -> bool {
        let queue = self.queue(Slot::CONTEXT);
        !queue.pending.is_empty()
            && queue.lane == lane
            && queue.hold.is_none()
            && self.context_commands_are_due()
    }

    /// Returns `true` if the threads plan the context commands although no other command needs them: the program
    /// requested them, or at least [`MOST_CONTEXT_COMMANDS`] are pending.
    pub(crate) fn context_commands_are_due(&self) -> bool {
        let queue = self.queue(Slot::CONTEXT);
        queue.is_requested() || queue.pending.len() >= MOST_CONTEXT_COMMANDS
    }
}

impl Planner<'_> {
    /// Puts the context commands up to the last of `roots` first in the batch, if they are few, as long as they delay
    /// no later command by more than the bound of the lane.
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

    /// Plans the context commands up to a stamp. While an open batch contains other commands, returns
    /// [`FrontStep::Later`]: that batch ends first because its results need no context command.
    pub(crate) fn plan_context_commands(&mut self, upto: Stamp) -> FrontStep {
        if self.state.first_context_command() > upto {
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
        // If there are many, they are planned like the commands of any queue.
        let cost = self.cost(Slot::CONTEXT);
        if !self.fits(Slot::CONTEXT, cost) {
            return FrontStep::Later;
        }
        self.append(Slot::CONTEXT, cost);
        let Some(open) = self.open[0].as_mut() else { return FrontStep::Again };
        open.end_context_commands();
        let left = open.bound - open.late(0.0);
        self.skip_early_commands();
        self.drain_context_commands(upto, left, 1);
        FrontStep::Again
    }

    /// Plans the context commands that must precede the front command of a queue, which has this stamp: all of them if
    /// they are few, else only those that it needs. Returns `None` if they are planned, and otherwise the next step.
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
            // A wait needs no array. A host callback may use any array.
            Op::Wait(_) | Op::WaitUser(_) => return None,
            _ => return Some(self.plan_context_commands(stamp)),
        };
        work.touches().for_each(|touch| add(touch.block));
        if let Work::Graph(part) = work {
            part.tables().into_iter().flatten().for_each(add);
        }
        made.iter().find_map(|block| self.plan_uses_of(slot, block, stamp))
    }

    /// Plans the context commands before `upto` that use a block, and the context commands that these come after,
    /// before the next command of `slot`. Returns `Some` if one of them cannot be planned now.
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
            // The command comes after the earlier uses of its other blocks.
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

    /// Returns the expected seconds of a pending context command.
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
        let (lane, is_start) = (self.state.queue(Slot::CONTEXT).lane, self.has_only_context_commands());
        let seq = self.join_batch(Slot::CONTEXT, lane);
        let Some(op) = self.state.queue_mut(Slot::CONTEXT).take_early(stamp, seq) else { return };
        self.taken += 1;
        self.state.after.planned_any = true;
        // It may come after context commands that were planned early for this queue.
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

    /// Removes the context commands at the front that are planned already. Only called while no open batch has commands
    /// of the program: in such a batch, their order after a context command is kept only as long as that command is
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

    /// Moves context commands up to a stamp into the open batch of their lane, at most `seconds` of work in total. This
    /// step has taken `count` of them so far.
    fn drain_context_commands(&mut self, upto: Stamp, seconds: f32, mut count: usize) {
        let mut left = seconds;
        while self.taken < LARGEST_BATCH && self.state.first_context_command() <= upto {
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
                self.taken = self.taken.max(LARGEST_BATCH); // the rest is planned after other threads could take S
                break;
            }
        }
        if let Some(open) = self.open[0].as_mut().filter(|_| count > 0) {
            open.end_context_commands();
        }
    }
}
