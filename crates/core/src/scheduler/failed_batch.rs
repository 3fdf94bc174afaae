//! Failures of batches that the device refused. A failure ends only the queue whose command was refused; the rest
//! of the batch is submitted again.

use crate::device::recorder::Failure;
use crate::error::{Error, Kind};
use crate::scheduler::batch::{Batch, Status};
use crate::scheduler::command::{Command, Op};
use crate::scheduler::engine::Engine;
use crate::scheduler::priority::Priority;
use crate::scheduler::state::State;
use crate::work::step::{Step, Work};
use fencepost_kernels::report;
use fencepost_sync::{Point, Seq, Slot, Stamp};
use smallvec::SmallVec;
use std::sync::Arc;

impl Engine {
    /// Fails the queue whose command could not be encoded, and puts the commands of the other queues back to be
    /// submitted. The submission has taken `steps` from `batch`. All queues in the batch fail if the failure names no
    /// command, or if the batch was refused before.
    ///
    /// A removed command is replaced by [`Work::Nothing`], since other commands may depend on the waits at that
    /// position.
    pub(crate) fn fail_batch(&self, lane: usize, batch: Batch, steps: Arc<Vec<Step>>, failure: Failure) {
        if failure.lost {
            let reason = match failure.error.kind() {
                Kind::DeviceLost { reason, .. } => reason.clone(),
                _ => failure.error.to_string(),
            };
            self.lose(&reason);
            std::mem::forget(steps);
            return;
        }
        // The recorder has dropped its reference, so this is the only one.
        let Ok(mut steps) = Arc::try_unwrap(steps) else {
            panic!("bug: a recorder kept a batch that it refused")
        };
        steps.iter().for_each(unstage);
        let blamed =
            failure.step.filter(|_| !batch.refused).and_then(|at| steps.get(at)).map(|step| step.slot);
        let mut state = self.lock();
        state.lanes[lane].token = false;
        for (slot, first) in state.with_followers(firsts(&steps, blamed)) {
            state.fail_queue(slot, first, failure.error.clone());
            state.after.dropped.extend(undo(&mut steps, slot, first));
        }
        if batch.refused || steps.iter().all(|step| matches!(step.work, Work::Nothing)) {
            state.remove_unsubmitted(lane, batch.seq, &batch.deps);
        } else {
            state.batches.set(batch.seq, Status::Ready(Priority::High));
            let steps = std::mem::take(&mut steps);
            let again = Batch { steps, cut: false, refused: true, ..batch };
            state.lanes[lane].list(Priority::High).push_front(again);
        }
        self.unlock(state);
        drop(steps);
    }
}

/// Returns the queues that fail, each with its first command in the batch.
fn firsts(steps: &[Step], blamed: Option<Slot>) -> Vec<(Slot, Stamp)> {
    let mut firsts: Vec<(Slot, Stamp)> = Vec::new();
    // Timestamps are not work of the queue.
    let is_timestamp = |step: &Step| matches!(step.work, Work::Start(_) | Work::End(_));
    for step in steps.iter().filter(|step| step.is_own() && !is_timestamp(step)) {
        if blamed.is_none_or(|slot| slot == step.slot) && !firsts.iter().any(|(slot, _)| *slot == step.slot) {
            firsts.push((step.slot, step.stamp));
        }
    }
    firsts
}

/// Replaces the work of `slot` from `first` on by [`Work::Nothing`], and returns that work.
fn undo(steps: &mut [Step], slot: Slot, first: Stamp) -> Vec<Command> {
    let hit = |step: &&mut Step| step.slot == slot && step.stamp >= first && step.is_own();
    let take = |step: &mut Step| {
        if let Work::Start(time) = &step.work {
            time.forget(); // the recorder may have assigned a place to its ticks
        }
        if let Work::Graph(graph) = &step.work {
            graph.forget_times();
        }
        let work = std::mem::replace(&mut step.work, Work::Nothing);
        Command { stamp: step.stamp, op: Op::Work(work) }
    };
    steps.iter_mut().filter(hit).map(take).collect()
}

/// Resets a read, or the reads of a part of a graph, whose staging memory was assigned by the refused submission.
fn unstage(step: &Step) {
    match &step.work {
        Work::Read { slot, .. } => slot.unstage(),
        Work::Graph(graph) => graph.unstage(),
        _ => {}
    }
}

impl Engine {
    /// Takes the errors that no queue of the program returns: of a drop, of the context's own work, or of a dropped queue. Returns one
    /// of the first two kinds; only maps and the like return the last.
    pub(crate) fn take_context_error(&self) -> Option<Error> {
        let mut state = self.lock();
        for slot in state.queues.slots() {
            let is_gone = slot == Slot::CONTEXT || !state.queue(slot).open;
            if !state.queue(slot).failures.is_empty() {
                state.queue_mut(slot).failures.take_earlier(is_gone);
            }
        }
        let dropped = state.drop_error.take();
        dropped.or_else(|| state.queue_mut(Slot::CONTEXT).error.take())
    }

    /// Takes the error of a queue. The commands and markers from now on form a new *stretch* of the queue, which
    /// the error does not affect.
    pub(crate) fn take_queue_error(&self, slot: Slot) -> Option<Error> {
        let mut state = self.lock();
        let error = state.queue_mut(slot).error.take()?;
        let stamp = state.next_stamp();
        state.queue_mut(slot).failures.take(stamp);
        // A marker names the last command, so the stretch needs a command at once. This wait is always complete.
        state.queue_mut(slot).push(Command { stamp, op: Op::Wait(Point::START) });
        state.queue_mut(slot).end_times();
        Some(error)
    }
}

impl State {
    /// Returns `firsts`, extended by the queues that fail with them, each with its first failed command. If the
    /// context's own work has failed, every queue with later commands fails, because those commands may use its result.
    fn with_followers(&self, mut firsts: Vec<(Slot, Stamp)>) -> Vec<(Slot, Stamp)> {
        let Some((_, own)) = firsts.iter_mut().find(|(slot, _)| *slot == Slot::CONTEXT) else {
            return firsts;
        };
        // The command may have overtaken others, which fail with it.
        *own = (*own).min(self.first_context_command());
        let own = *own;
        let blamed: Vec<Slot> = firsts.iter().map(|&(slot, _)| slot).collect();
        for slot in self.slots().filter(|slot| !blamed.contains(slot)) {
            let queue = self.queue(slot);
            if queue.end(slot).stamp > own {
                let pending = queue.pending.front().map(|command| command.stamp);
                firsts.push((slot, pending.map_or(own, |first| first.min(own))));
            }
        }
        firsts
    }

    /// Fails a queue from `first` on with a sticky error. Waits for this queue still end, since they only ask for
    /// order.
    pub(crate) fn fail_queue(&mut self, slot: Slot, first: Stamp, error: Error) {
        report!(Error, "queue `{}` failed: {error}", self.queue(slot).label);
        let held = self.queue(slot).hold;
        self.queue_mut(slot).fail(first, error);
        for batch in self.lanes.iter_mut().flat_map(|lane| lane.planned()) {
            self.after.dropped.extend(undo(&mut batch.steps, slot, first));
        }
        if let Some(held) = held {
            // Other queues have the same hold if they only wait for this queue. Without that hold, planning
            // examines those queues again.
            self.release(held);
        }
    }

    /// Removes a batch that was not submitted. The batches that depend on it inherit its dependencies. They also
    /// depend on the last submitted batch of its lane, which would have run before it.
    fn remove_unsubmitted(&mut self, lane: usize, seq: Seq, deps: &[Seq]) {
        let last = self.lanes[lane].submitted.back().map(|submitted| submitted.seq);
        let before: SmallVec<[Seq; 4]> =
            deps.iter().copied().chain(last).filter(|&dep| !self.batches.is_done(dep)).collect();
        for batch in
            self.lanes.iter_mut().flat_map(|lane| lane.planned()).filter(|batch| batch.deps.contains(&seq))
        {
            batch.deps.extend(before.iter().copied());
        }
        for at in self.slots() {
            if self.queue_mut(at).replace_batch(seq, &before) {
                before.iter().for_each(|&dep| self.batches.watch(dep, at));
            }
        }
        let wakers = self.complete_batch(seq);
        self.after.wakers.extend(wakers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;
    use crate::error::site::CommandKind;
    use crate::memory::read_slot::ReadSlot;
    use crate::scheduler::test_engine::{block, engine, enqueue_work, fill, here, queues, span};
    use crate::work::graph_data::graph_node::{GraphNode, NodeCommand};
    use crate::work::graph_data::graph_order::MissingOrder;
    use crate::work::graph_data::graph_plan::{GraphPlan, PlanParts};
    use crate::work::graph_data::graph_run::{GraphRun, GraphStep};

    /// Plans up to `point` and lets the device refuse a step of the batch. `before` is `true` if the batch was refused
    /// before.
    fn refuse(engine: &Engine, point: Point, step: usize, before: bool) {
        let mut state = engine.lock();
        state.plan([point], Priority::Normal);
        let mut batch = state.lanes[0].take(Priority::Normal).expect("the batch is planned");
        batch.refused = before;
        state.lanes[0].token = true;
        drop(state);
        let steps = Arc::new(std::mem::take(&mut batch.steps));
        let (object, message) = ("a step".into(), "refused by the test".into());
        let failure =
            Failure { step: Some(step), error: Kind::Device { object, message }.into(), lost: false };
        engine.fail_batch(0, batch, steps, failure);
    }

    #[test]
    fn r01_a_queue_fails_alone_but_all_queues_fail_with_the_contexts_own_work() {
        for (step, failed) in [(0, [true; 3]), (1, [false, true, false])] {
            let engine = engine(false);
            let [one, two] = queues(&engine);
            let array = block();
            let slots = [Slot::CONTEXT, one, two];
            let points = slots.map(|slot| enqueue_work(&engine, slot, fill(&array)));
            refuse(&engine, points[1], step, false);
            let state = engine.lock();
            assert_eq!(slots.map(|slot| state.queue(slot).error.is_some()), failed, "step {step}");
        }
    }

    #[test]
    fn r01_a_refused_part_of_a_graph_has_the_outputs_of_its_own_nodes() {
        let read = |output: u32| {
            let work = Work::Read { src: span(&block()), slot: ReadSlot::new() };
            let (what, output) = (CommandKind::Read, Some(output));
            let command =
                NodeCommand { work, what, at: here(), label: None, output, values: SmallVec::new() };
            GraphNode { queue: 0, after: SmallVec::new(), command: Arc::new(command), gate: None }
        };
        let nodes = [0, 1, 2].map(read).into();
        let parts = PlanParts { calls: Vec::from([1]), ..PlanParts::of_one_queue(nodes) };
        let plan = Arc::new(GraphPlan::new(parts, MissingOrder::Add).expect("reads do not conflict"));
        let outputs: Vec<_> = (0..3).map(|_| ReadSlot::new()).collect();
        let run =
            Arc::new(GraphRun { plan, outputs, uploads: Vec::new(), times: <_>::default(), at: here() });
        let place = |slot: &Arc<ReadSlot>| run.outputs.iter().position(|known| Arc::ptr_eq(known, slot));
        let of = |segment: u32| -> Vec<_> {
            let step = GraphStep { run: run.clone(), segment: Some(segment) };
            step.outputs().map(place).collect()
        };
        assert_eq!([of(0), of(1)], [vec![Some(0)], vec![Some(1), Some(2)]]);
    }
}
