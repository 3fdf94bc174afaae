//! Moves commands from queues into batches. A planning starts from *roots*, the points that its caller wants planned,
//! and follows the waits of their queues. S is the state lock.

use crate::memory::block::HostUse;
use crate::scheduler::batch::{Batch, BatchStatus, Op};
use crate::scheduler::costs::CostKind;
use crate::scheduler::plan::open_batch::{OpenBatch, read_in_place};
use crate::scheduler::queue::{HoldReason, PointProgress};
use crate::scheduler::queues::Priority;
use crate::scheduler::state::State;
use crate::work::kernel_launch::Launch;
use crate::work::step::Work;
use fencepost_sync::{Point, Seq, Slot, Stamp};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use std::task::Waker;

/// Maximum number of steps in a batch and of commands in a planning. Later commands are encoded while that batch runs.
const LARGEST_BATCH: usize = 4096;
/// Maximum number of batches with commands of unknown cost in a planning. Measuring them improves the next planning.
const MOST_UNSEEN: usize = 8;
/// Maximum number of cuts in a planning. A cut closes the open batches early, so that the results in them are not late.
const MOST_CUTS: usize = 16;

/// Maximum number of commands that a round refuses because its batch is full. The planner does not stop at the first,
/// because a smaller command of a later queue may still fit.
const MOST_REFUSED: usize = 256;

/// A queue, and the stamp up to which the planner plans it.
#[derive(Clone, Copy)]
struct PlanGoal {
    slot: Slot,
    upto: Stamp,
    /// `true` if the goal below on the stack waits for this one.
    needed: bool,
}

/// A round of planning, which fills at most one batch on each lane.
///
/// A command is *long* if it is expected to take longer than the bound of the lane, or if it was never measured.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PlanRound {
    /// Short commands of all roots, as long as together they take no longer than the bound.
    Short,
    /// One long command, then the short commands after it.
    Long,
}

/// Result of an attempt to plan the front command of a queue.
enum FrontStep {
    /// The front has changed, so try again.
    Again,
    /// Everything up to the goal is planned.
    Planned,
    /// The front command waits for this point, which must be planned first.
    Needs(Point),
    /// The front command cannot be planned before this hold is released.
    Held(HoldReason),
    /// The open batches must be closed before the command is planned.
    Later,
}

/// The part of the roots that a planning leaves for later.
#[derive(Default)]
pub(crate) struct PlanRest {
    /// Roots that are not planned up to their stamps. They are marked as requested.
    pub(crate) roots: Vec<Point>,
    /// Batch that must complete before the rest is planned, if any. Until then the device has enough work, and
    /// measuring that batch improves the estimates for the rest.
    pub(crate) after: Option<Seq>,
}

/// Findings of earlier plannings of a context, for use in later plannings.
#[derive(Default)]
pub(crate) struct Plannings {
    /// Number of steps of all plannings.
    #[cfg(test)]
    pub(crate) steps: u64,
    /// `true` if short commands have passed a long one and the planning ended before it. The next planning takes the
    /// long command first, so that it does not starve.
    long_is_due: bool,
    /// Last stamp when a search found no short command that could pass a long batch. Until another command is enqueued
    /// or a queue is released, searching again is useless.
    short_sought: Option<Stamp>,
}

impl Plannings {
    /// Records if a search for short commands has planned any. `last` is the last stamp.
    fn note_search(&mut self, any: bool, last: Stamp) {
        self.short_sought = (!any).then_some(last);
    }

    /// Forgets the result of the last search for short commands, because a queue was released.
    pub(crate) fn forget_search(&mut self) {
        self.short_sought = None;
    }

    /// Returns `true` if a search found no short command when `last` was the last stamp.
    pub(crate) fn found_no_short(&self, last: Stamp) -> bool {
        self.short_sought == Some(last)
    }
}

/// State of one planning. Batches stay open until it ends or makes a cut.
struct Planner<'s> {
    state: &'s mut State,
    priority: Priority,
    open: Vec<Option<OpenBatch>>,
    round: PlanRound,
    /// Number of commands taken so far.
    taken: usize,
    /// Number of cuts so far: the open batches were closed although commands remained to be planned.
    cuts: usize,
    /// Number of commands of this round that did not fit into the batch.
    refused: usize,
    /// `false` if long commands must stay pending, because an unsubmitted batch already has one.
    takes_long: bool,
    /// `true` if a long command was left for later.
    left_long: bool,
    /// `true` if a long command was taken.
    took_long: bool,
    /// Closed batches with commands of unknown cost.
    unseen: SmallVec<[Seq; MOST_UNSEEN]>,
    /// Batch that was closed after half of the allowed cuts. The rest is planned once this batch completes; by then the
    /// device still has the batches of the second half, so it does not run out of work.
    middle: Option<Seq>,
    /// Estimated times of the launches that are being moved, kept to reuse the allocation.
    costs: Vec<f32>,
    /// Queues whose front command cannot be planned in this round. Without this set, each queue in a chain of waits
    /// would walk the whole chain.
    later: FxHashSet<Slot>,
    /// Queue of the last moved command, and the open batch that already has all dependencies of that queue.
    joined: Option<(Slot, Seq)>,
}

impl State {
    /// Plans the queues in `roots` up to their stamps, with all their dependencies, into batches of `priority`. One
    /// call plans at most [`LARGEST_BATCH`] commands, which bounds how long S is held, and at most [`MOST_UNSEEN`]
    /// batches of unknown cost.
    ///
    /// A wait refers only to a smaller stamp, so the stack of goals is finite. A queue that waits for the host is held,
    /// and so is every queue on the stack that waits for that queue.
    pub(crate) fn plan(&mut self, roots: impl IntoIterator<Item = Point>, priority: Priority) -> PlanRest {
        self.plan_rounds(roots, priority, true)
    }

    /// Plans the short commands of `roots` that depend on no unplanned long command. Returns `false` if there are none.
    pub(crate) fn plan_short(&mut self, roots: impl IntoIterator<Item = Point>, priority: Priority) -> bool {
        let before = self.batches.opened();
        self.plan_rounds(roots, priority, false);
        self.batches.opened() > before
    }

    fn plan_rounds(
        &mut self,
        roots: impl IntoIterator<Item = Point>,
        priority: Priority,
        takes_long: bool,
    ) -> PlanRest {
        let open = self.lanes.iter().map(|_| None).collect();
        let mut planner = Planner {
            state: self,
            priority,
            open,
            round: PlanRound::Short,
            taken: 0,
            cuts: 0,
            refused: 0,
            takes_long,
            left_long: false,
            took_long: false,
            unseen: SmallVec::new(),
            middle: None,
            costs: Vec::new(),
            later: FxHashSet::default(),
            joined: None,
        };
        let mut roots: Vec<Point> = roots.into_iter().collect();
        for root in &roots {
            // Check first, because a mutable borrow would make the indexes update this queue.
            if !planner.state.queue(root.slot).has_requested(root.stamp) {
                planner.state.queue_mut(root.slot).request(root.stamp);
            }
        }
        // Older commands are planned first. The root of the context queue comes last, because the other roots plan the
        // context commands that they need.
        let age = |root: &Point| {
            let front = planner.state.queue(root.slot).pending.front();
            (root.slot == Slot::CONTEXT, front.map(|front| front.stamp))
        };
        if roots.len() > LARGEST_BATCH {
            // The younger roots are marked as requested, so the threads will plan them later.
            roots.select_nth_unstable_by_key(LARGEST_BATCH, age);
            roots.truncate(LARGEST_BATCH);
        }
        roots.sort_by_cached_key(age);
        let rest = planner.rounds(roots);
        self.collect_wakers();
        rest
    }
}

impl Planner<'_> {
    /// Plans in rounds until every root is reached or held, or a limit is met.
    fn rounds(&mut self, roots: Vec<Point>) -> PlanRest {
        if self.takes_long && self.state.plannings.long_is_due {
            self.round = PlanRound::Long;
        }
        let rest = self.rounds_to_a_limit(roots);
        if self.took_long {
            self.state.plannings.long_is_due = false;
        } else if self.left_long && self.takes_long && !rest.roots.is_empty() {
            self.state.plannings.long_is_due = true;
        }
        rest
    }

    fn rounds_to_a_limit(&mut self, mut roots: Vec<Point>) -> PlanRest {
        let mut empty_rounds = 0;
        loop {
            if self.round == PlanRound::Short && self.state.queues.has_context_commands() {
                self.begin_with_context_commands(&roots);
            }
            let took_long = std::mem::take(&mut self.took_long);
            self.refused = 0;
            roots.retain(|root| {
                let goal = PlanGoal { slot: root.slot, upto: root.stamp, needed: false };
                self.refused >= MOST_REFUSED || !self.reach(goal)
            });
            let is_empty = self.open.iter().all(Option::is_none);
            self.later.clear();
            (0..self.open.len()).for_each(|lane| self.close(lane));
            if roots.is_empty() {
                self.took_long |= took_long;
                return PlanRest::default();
            }
            // A round for long commands that took only context commands is repeated.
            let again = self.round == PlanRound::Long && !is_empty && !self.took_long;
            self.round = match self.round {
                PlanRound::Short if is_empty && self.takes_long => PlanRound::Long,
                PlanRound::Long if again => PlanRound::Long,
                _ => PlanRound::Short,
            };
            self.took_long |= took_long;
            empty_rounds = if is_empty { empty_rounds + 1 } else { 0 };
            self.cuts += usize::from(!is_empty);
            if self.unseen.len() >= MOST_UNSEEN {
                return PlanRest { roots, after: self.unseen.first().copied() };
            }
            if self.taken >= LARGEST_BATCH || self.cuts >= MOST_CUTS {
                return PlanRest { roots, after: self.middle };
            }
            if empty_rounds > usize::from(self.takes_long) {
                // Every root is held or waits for a held queue. When a hold is released, the root is planned again.
                return PlanRest::default();
            }
        }
    }

    /// Plans a queue up to a stamp, with all its dependencies. Returns `true` if the stamp is reached or the queue is
    /// held, so that this planning can do nothing more for it.
    fn reach(&mut self, root: PlanGoal) -> bool {
        if self.later.contains(&root.slot) {
            return false;
        }
        let mut stack = vec![root];
        while let Some(&goal) = stack.last() {
            match self.step(goal) {
                FrontStep::Later => return self.leave(&stack),
                FrontStep::Needs(point) if self.later.contains(&point.slot) => return self.leave(&stack),
                FrontStep::Again => {}
                FrontStep::Planned => {
                    stack.pop();
                }
                FrontStep::Needs(point) => {
                    stack.push(PlanGoal { slot: point.slot, upto: point.stamp, needed: true })
                }
                FrontStep::Held(hold) => self.hold(&mut stack, hold),
            }
        }
        true
    }

    /// Leaves all queues on the stack for the next round, because they wait for the top one. Returns `false`.
    fn leave(&mut self, stack: &[PlanGoal]) -> bool {
        self.later.extend(stack.iter().map(|goal| goal.slot));
        false
    }

    /// Holds the queue on top of the stack, and every queue below that waits for it. All get the same hold, so that one
    /// release ends it for all, and each is planned again.
    fn hold(&mut self, stack: &mut Vec<PlanGoal>, hold: HoldReason) {
        while let Some(goal) = stack.pop() {
            self.state.queue_mut(goal.slot).hold.get_or_insert(hold);
            if !goal.needed {
                break;
            }
        }
    }

    /// Plans the front command of a queue if it can be planned.
    fn step(&mut self, goal: PlanGoal) -> FrontStep {
        #[cfg(test)]
        {
            self.state.plannings.steps += 1;
        }
        if self.taken >= LARGEST_BATCH {
            return FrontStep::Later;
        }
        if goal.slot == Slot::CONTEXT {
            return self.plan_context_commands(goal.upto);
        }
        let host_uses = self.state.memory.host_uses;
        let first_context = self.state.queues.first_context_command();
        let queue = self.state.queue_mut(goal.slot);
        if queue.pending.front().is_none_or(|front| front.stamp > goal.upto) {
            return FrontStep::Planned;
        }
        if let Some(hold) = queue.hold {
            return FrontStep::Held(hold);
        }
        if queue.has_cancelled() {
            queue.fail_cancelled();
        }
        let has_failed = queue.front_has_failed();
        let Some(front) = queue.pending.front_mut() else { return FrontStep::Planned };
        // The command may use an array that an earlier context command fills. This holds even for a failed command,
        // because later commands are ordered after its uses of the array.
        let stamp = front.stamp;
        if first_context < stamp
            && let Some(step) = self.plan_context_commands_of(goal.slot, stamp)
        {
            return step;
        }
        if has_failed {
            return self.discard_failed(goal);
        }
        let Some(front) = self.state.queue_mut(goal.slot).pending.front_mut() else {
            return FrontStep::Planned;
        };
        match &mut front.op {
            Op::Wait(point) => {
                let point = *point;
                self.plan_wait(goal.slot, point)
            }
            Op::WaitUser(event) => match event.result() {
                None => {
                    // The relay is woken after S is released. It polls the context that signals the event.
                    let hold = HoldReason::User(event.hold);
                    let relay = event.source();
                    self.state.after.wakers.extend(relay.map(Waker::from));
                    FrontStep::Held(hold)
                }
                Some(Ok(())) if event.is_submitted() => {
                    self.state.queue_mut(goal.slot).wait_on_device();
                    FrontStep::Again
                }
                Some(Ok(())) => self.skip_front(goal.slot),
                Some(Err(error)) => {
                    let stamp = front.stamp;
                    self.state.fail_queue(goal.slot, stamp, error);
                    FrontStep::Again
                }
            },
            Op::Early(_) => unreachable!("bug: a queue of the program has a context command"),
            Op::Callback(_) => self.start_callback(goal.slot),
            Op::DueCallback(id) => FrontStep::Held(HoldReason::Callback(*id)),
            Op::Loop(_) => self.plan_loop(goal),
            Op::Work(Work::Read { src, slot: read }) if read_in_place(src, read) => {
                self.plan_read_in_place(goal.slot)
            }
            Op::Work(work) => {
                let hold = host_conflict(host_uses, work);
                self.move_front(goal, hold)
            }
            Op::Timed(timed) => {
                let hold = host_conflict(host_uses, &timed.work);
                self.move_front(goal, hold)
            }
        }
    }

    /// Returns the estimate, in seconds, for the command at the front of a queue.
    fn cost(&mut self, slot: Slot) -> f32 {
        let State { queues, lanes, .. } = &mut *self.state;
        let queue = &queues[slot];
        let costs = &mut lanes[queue.lane].costs;
        match queue.pending.front().map(|front| &front.op) {
            Some(Op::Work(work)) => costs.of_work(work),
            Some(Op::Timed(timed)) => costs.of_work(&timed.work),
            _ => 0.0,
        }
    }

    /// Returns `true` if a command of `cost` seconds may join the open batch of its lane in this round: it must not
    /// make a result in the batch late. If a short command does not fit, closes the batch, provided that the limits
    /// allow another batch.
    fn fits(&mut self, slot: Slot, cost: f32) -> bool {
        let lane = self.state.queue(slot).lane;
        let is_long = cost > self.state.lanes[lane].costs.bound;
        let is_full = || self.open[lane].as_ref().is_some_and(|open| open.delay_with(cost) > open.bound);
        if !is_long && self.round == PlanRound::Short && self.has_cuts() && is_full() {
            self.close(lane);
            self.cuts += 1;
        }
        let fits = match &self.open[lane] {
            Some(open) => open.delay_with(cost) <= open.bound,
            None => is_long == (self.round == PlanRound::Long),
        };
        self.took_long |= fits && is_long;
        self.left_long |= !fits && is_long;
        // A round for short commands continues after long ones, because later commands may be short. Another lane may
        // also have room.
        let ends_round = self.round == PlanRound::Long || !is_long;
        let is_refused = !fits && ends_round && self.open[lane].is_some() && self.open.len() == 1;
        self.refused += usize::from(is_refused);
        fits
    }

    /// Returns `true` if another cut is allowed in the middle of a round.
    fn has_cuts(&self) -> bool {
        self.cuts + 1 < MOST_CUTS && self.unseen.len() + 1 < MOST_UNSEEN
    }

    /// Moves the front command and the launches after it into a batch. With a `hold`, the host is accessing the bytes
    /// of the command, and the queue is held instead.
    fn move_front(&mut self, goal: PlanGoal, hold: Option<HoldReason>) -> FrontStep {
        if let Some(hold) = hold {
            return FrontStep::Held(hold);
        }
        let cost = self.cost(goal.slot);
        if !self.fits(goal.slot, cost) {
            return FrontStep::Later;
        }
        self.append(goal.slot, cost);
        // The following launches are moved together, without checking for each one if the host accesses its bytes.
        if self.state.memory.host_uses == 0 {
            self.append_launches(goal);
        }
        FrontStep::Again
    }

    /// Removes the front command, which needs no step in a batch: it completes with the commands before it.
    fn skip_front(&mut self, slot: Slot) -> FrontStep {
        self.state.after.planned_any = true;
        self.taken += 1;
        let skipped = self.state.queue_mut(slot).pop(None);
        // The command is dropped after S is released.
        self.state.after.dropped.extend(skipped.filter(|skipped| !matches!(skipped.op, Op::Wait(_))));
        self.free_if_closed(slot);
        FrontStep::Again
    }

    /// Removes the failed commands at the front, up to the next context command. They complete after the planned
    /// context commands. They are dropped after S is released, because dropping an array takes S.
    fn discard_failed(&mut self, goal: PlanGoal) -> FrontStep {
        let slot = goal.slot;
        let mut upto = goal.upto;
        if slot != Slot::CONTEXT {
            let front = self.state.queue(slot).pending.front().map_or(Stamp(0), |front| front.stamp);
            let next_context = self.state.queues.first_context_command();
            upto = upto.min(front.max(Stamp(next_context.0.saturating_sub(1))));
            for seq in self.open_before(self.state.queue(Slot::CONTEXT).end(Slot::CONTEXT), Stamp(0)) {
                self.state.batches.watch(seq, slot);
                self.state.queue_mut(slot).follow_batch(seq);
            }
        }
        let room = LARGEST_BATCH.saturating_sub(self.taken).max(1);
        let failed_upto = self.state.queue_mut(slot).pop_failed(upto, room);
        self.taken += failed_upto.len();
        self.state.after.planned_any = true;
        self.state.after.dropped.extend(failed_upto);
        self.free_if_closed(goal.slot);
        FrontStep::Again
    }

    /// Frees the slot of a closed queue that has no work left. The commands just removed are in no batch, so no
    /// completion will free the slot.
    fn free_if_closed(&mut self, slot: Slot) {
        self.state.free_slot(slot);
    }

    /// Plans a read that needs no step in a batch, because its bytes stay in place. It completes with the commands
    /// before it and with the planned context commands.
    fn plan_read_in_place(&mut self, slot: Slot) -> FrontStep {
        let seqs = self.open_before(self.state.queue(Slot::CONTEXT).end(Slot::CONTEXT), Stamp(0));
        self.pop_after(slot, &seqs);
        FrontStep::Again
    }

    /// Returns the incomplete batches before `point`, except those before `since`. Batches of one lane complete in
    /// order, so batches before the last one with work are left out, unless they are deliveries.
    fn open_before(&self, point: Point, since: Stamp) -> SmallVec<[Seq; 4]> {
        let queue = self.state.queue(point.slot);
        let first = if self.open.len() == 1 { queue.first_since_work(point.stamp) } else { 0 };
        let open = |(at, seq): (usize, Seq)| match self.state.batches.status(seq) {
            BatchStatus::Done => None,
            BatchStatus::Delivery => Some(seq), // no batch follows it
            _ => (at >= first).then_some(seq),
        };
        queue.batches_before(point.stamp, since).filter_map(open).collect()
    }

    /// Removes the front command of `slot`, which completes when all of `seqs` are complete.
    fn pop_after(&mut self, slot: Slot, seqs: &[Seq]) {
        #[cfg(test)]
        {
            self.state.plannings.steps += seqs.len() as u64;
        }
        seqs.iter().for_each(|&seq| self.state.batches.watch(seq, slot));
        self.joined = None;
        self.state.after.planned_any = true;
        self.taken += 1;
        self.state.queue_mut(slot).pop_wait(seqs);
        self.free_if_closed(slot);
    }

    /// Plans a wait of `slot` for `point`, or requests the planning of `point` first.
    fn plan_wait(&mut self, slot: Slot, point: Point) -> FrontStep {
        match self.state.reached(point) {
            PointProgress::Unplanned => return FrontStep::Needs(point),
            PointProgress::Done => return self.skip_front(slot),
            PointProgress::Planned(_) => {
                let since = self.state.queue_mut(slot).follow(point);
                let seqs = self.open_before(point, since);
                seqs.iter().for_each(|&seq| self.add_edge(slot, point, seq));
                self.pop_after(slot, &seqs);
            }
        }
        FrontStep::Again
    }

    /// Records that the next step of `slot` follows `point`, if `point` is in an open batch. All later steps of `slot`
    /// in that batch then follow it too, and so do the steps of queues that wait for `slot` there. The order of batches
    /// is up to [`Planner::add_dependencies`].
    fn add_edge(&mut self, slot: Slot, point: Point, seq: Seq) {
        let Some(open) = self.open.iter_mut().flatten().find(|open| open.seq == seq) else { return };
        let (after, level) = open.steps_before(point);
        let mut all = std::mem::take(&mut open.frontier(slot).after);
        all.extend(after);
        // Only the last step of each queue is kept, because it implies the earlier ones. Otherwise two queues that
        // alternately wait for each other would add more and more steps.
        all.sort_unstable_by_key(|&at| (open.steps[at as usize].slot, std::cmp::Reverse(at)));
        all.dedup_by_key(|at| open.steps[*at as usize].slot);
        let frontier = open.frontier(slot);
        frontier.after = all;
        frontier.level = frontier.level.max(level);
    }

    /// Hands the callback at the front to the callback thread if all earlier commands of the queue are complete.
    fn start_callback(&mut self, slot: Slot) -> FrontStep {
        if !self.state.queue(slot).is_drained() {
            return FrontStep::Held(HoldReason::Drain(slot));
        }
        let id = self.state.new_hold();
        let queue = self.state.queue_mut(slot);
        queue.hold = Some(HoldReason::Callback(id));
        let front =
            queue.pending.front_mut().map(|front| std::mem::replace(&mut front.op, Op::DueCallback(id)));
        if let Some(Op::Callback(run)) = front {
            self.state.callbacks.add(id, slot, run);
            self.state.after.planned_any = true;
        }
        FrontStep::Held(HoldReason::Callback(id))
    }

    /// Moves the front command of `slot`, which takes `cost` seconds, into the open batch of its lane.
    fn append(&mut self, slot: Slot, cost: f32) {
        let queue = self.state.queue(slot);
        let lane = queue.lane;
        let alone = queue.front_needs_own_batch();
        let full = self.open[lane].as_ref().is_some_and(|open| open.steps.len() >= LARGEST_BATCH);
        if (full || alone) && slot != Slot::CONTEXT {
            self.close(lane);
        }
        let seq = self.join_batch(slot, lane);
        self.taken += 1;
        let Some(command) = self.state.pop_work(slot, seq) else { return };
        let Some(open) = self.open[lane].as_mut() else { return };
        match command.op {
            Op::Work(work) => open.add(slot, command.stamp, work, cost),
            Op::Timed(timed) => open.add_timed(slot, command.stamp, *timed, cost),
            _ => {}
        }
        if alone {
            self.close(lane);
        }
    }

    /// Moves the launches at the front into the same batch, as long as they make no result in it late. They follow a
    /// command of their own queue there, so no dependencies need to be checked.
    fn append_launches(&mut self, goal: PlanGoal) {
        let first_context = self.state.queues.first_context_command();
        let State { queues, lanes, .. } = &mut *self.state;
        let queue = &mut queues[goal.slot];
        let Some(open) = self.open[queue.lane].as_mut() else { return };
        let is_due = |stamp: Stamp| stamp <= goal.upto && stamp < first_context;
        let costs = &lanes[queue.lane].costs;
        let room = LARGEST_BATCH.saturating_sub(open.steps.len().max(self.taken));
        let mut late = open.delay_with(0.0);
        let mut last: Option<(&Launch, Option<&CostKind>)> = None;
        self.costs.clear();
        for command in
            queue.pending.first_chunk().iter().take(room).take_while(|command| is_due(command.stamp))
        {
            let Op::Work(Work::Launch(launch)) = &command.op else { break };
            // Programs often enqueue thousands of equal launches in a row.
            let same = last.filter(|(last, _)| launch.is_like(last));
            let kind = same.map_or_else(|| costs.kind(launch), |(_, kind)| kind);
            let cost = costs.of_launch(launch, kind);
            late += cost;
            if late > open.bound {
                break;
            }
            self.costs.push(cost);
            last = Some((launch, kind));
        }
        self.taken += self.costs.len();
        open.add_launches(goal.slot, queue.pop_launches(self.costs.len(), open.seq), &self.costs);
    }

    /// Adds every dependency of the next command of `slot` to the open batch of `lane`, and returns that batch. If the
    /// previous command came from the same queue without a wait in between, the batch already has them.
    fn join_batch(&mut self, slot: Slot, lane: usize) -> Seq {
        if let (Some((last, seq)), Some(open)) = (self.joined, &self.open[lane])
            && last == slot
            && seq == open.seq
        {
            return seq;
        }
        self.add_dependencies(slot, lane);
        let seq = self.open_batch(lane);
        self.state.batches.watch(seq, slot);
        self.joined = Some((slot, seq));
        self.state.after.planned_any = true;
        seq
    }

    fn open_batch(&mut self, lane: usize) -> Seq {
        let State { batches, lanes, .. } = &mut *self.state;
        self.open[lane].get_or_insert_with(|| OpenBatch::new(batches.open(lane), lanes[lane].costs.bound)).seq
    }

    /// Makes the open batch of `lane` depend on every other batch that contains commands of `slot` or of the
    /// context queue, or that `slot` waits for.
    ///
    /// An open batch never depends on another open batch, because open batches of other lanes are closed first. So
    /// every dependency of a batch was closed before that batch, and no cycles can arise.
    fn add_dependencies(&mut self, slot: Slot, lane: usize) {
        let state = &*self.state;
        let follows = |seq: &Seq| self.must_follow(*seq, lane);
        let mut deps: SmallVec<[Seq; 4]> = state.queue(Slot::CONTEXT).batches().filter(follows).collect();
        if self.open.len() == 1 {
            // Batches of one lane run in submission order, so a batch also follows the dependencies of its
            // dependencies.
            deps.extend(state.queue(slot).batches_since_work().filter(follows));
        } else {
            deps.extend(state.queue(slot).batches().filter(follows));
        }
        for &seq in &deps {
            let open = |open: &Option<OpenBatch>| open.as_ref().is_some_and(|open| open.seq == seq);
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

    /// Returns `true` if a batch of `lane` must list `seq` as a dependency. A submitted batch of the same lane need not
    /// be listed, because lanes run their submissions in order.
    fn must_follow(&self, seq: Seq, lane: usize) -> bool {
        let Some(info) = self.state.batches.get(seq) else { return false };
        match info.status {
            BatchStatus::Done | BatchStatus::Delivery => false,
            BatchStatus::Submitted(_) => info.lane != lane,
            BatchStatus::Open => info.lane != lane,
            BatchStatus::Ready(_) | BatchStatus::Encoding => true,
        }
    }

    /// Closes the open batch of `lane`: raises its dependencies to its priority, and adds it to the list of that
    /// priority.
    fn close(&mut self, lane: usize) {
        let Some(open) = self.open[lane].take() else { return };
        for &seq in &open.deps {
            self.state.raise_priority(seq, self.priority);
        }
        self.state.batches.set(open.seq, BatchStatus::Ready(self.priority));
        let OpenBatch { seq, steps, deps, expected, .. } = open;
        self.unseen.extend(expected.unknown.then_some(seq));
        if self.cuts == MOST_CUTS / 2 {
            self.middle = Some(seq);
        }
        let batch = Batch { seq, steps, deps, expected, cut: self.cuts > 0, refused: false };
        // A batch of another lane may depend on a batch that this one would pass.
        let state = &*self.state;
        let here = |&seq: &Seq| state.batches.get(seq).is_none_or(|info| info.lane == lane);
        let passes = batch.deps.iter().all(|seq| here(seq) || state.batches.is_submitted(*seq));
        self.state.lanes[lane].add(batch, self.priority, passes);
    }
}

/// Returns the hold for a command that must wait because the host accesses its bytes.
fn host_conflict(host_uses: u32, work: &Work) -> Option<HoldReason> {
    if host_uses == 0 {
        return None;
    }
    work.touches().find_map(|touch| {
        let order = touch.block.order();
        let busy = order.host == HostUse::Writing || (touch.write && order.readers > 0);
        busy.then_some(HoldReason::Host(touch.block.id))
    })
}

pub(crate) mod open_batch;
#[cfg(test)]
mod plan_tests;
