//! The times of replays, for profiles and for timed markers.

use crate::scheduler::engine::Engine;
use crate::scheduler::ordering::admission::Admission;
use crate::scheduler::profile_log::{NotedCommand, NotedNode, ProfileEvent};
use crate::scheduler::state::State;
use crate::work::graph_data::graph_run::GraphStep;
use crate::work::graph_data::run_times::{NodeTimes, RunTimes};
use crate::work::step::Work;
use fencepost_sync::Stamp;

impl Engine {
    /// Creates the times of a replay: of all nodes while the context is profiled, and otherwise of the timed markers.
    /// Without either, a replay has no times.
    pub(crate) fn time_replay(&self, state: &mut State, by: Admission, whole: &GraphStep) {
        let (plan, clocked) = (&whole.run.plan, self.device.caps().timestamps);
        let noting = state.is_noting();
        if noting || (clocked && !plan.timed_markers.is_empty()) {
            let slots = match noting {
                true => NodeTimes::of_all(plan.nodes.len()),
                false => NodeTimes::of_some(&plan.timed_markers),
            };
            let stamp = state.next_stamp();
            let queue = state.queue(by.slot);
            let times = RunTimes { queue: queue.label.clone(), lane: queue.lane, stamp, clocked, slots };
            let fresh = whole.run.times.set(times).is_ok();
            debug_assert!(fresh, "bug: a run is enqueued twice");
        }
    }
}

impl State {
    /// Adds a part of a replay to the end of a queue. The part is timed if its nodes are.
    pub(crate) fn push_replay(&mut self, by: Admission, stamp: Stamp, step: GraphStep) {
        if step.run.times.get().is_none() {
            return self.push_stamped(by, stamp, Work::Graph(Box::new(step)));
        }
        self.push_timed(by, stamp, Work::Graph(Box::new(step.clone())));
        if self.is_noting() {
            self.note_nodes(by, stamp, &step);
        }
    }

    /// Notes the nodes of a part of a replay, after the replay itself.
    fn note_nodes(&mut self, by: Admission, stamp: Stamp, step: &GraphStep) {
        let (plan, times) = (&step.run.plan, step.run.times.get());
        for at in step.nodes() {
            let node = &plan.nodes[at as usize];
            let command = &*node.command;
            let time = times.and_then(|times| times.slots.of_node(at).cloned());
            if command.is_timed_marker() {
                continue;
            }
            let kernel =
                if let Work::Launch(launch) = &command.work { Some(&launch.kernel().label) } else { None };
            let noted = NotedCommand {
                what: command.what,
                kernel: command.label.as_ref().or(kernel).cloned(),
                bytes: command.work.bytes(),
                time,
            };
            let queue = plan.queues[node.queue as usize].clone();
            self.note(by.slot, command.at, stamp, || ProfileEvent::Node(NotedNode { command: noted, queue }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::site::CommandKind;
    use crate::scheduler::profile_log::ProfileLog;
    use crate::scheduler::test_engine::{block, engine, fill, here, queue};
    use crate::work::graph_data::graph_node::{GraphNode, NodeCommand};
    use crate::work::graph_data::graph_order::MissingOrder;
    use crate::work::graph_data::graph_plan::{GraphPlan, PlanParts};
    use crate::work::graph_data::graph_run::GraphRun;
    use smallvec::SmallVec;
    use std::sync::{Arc, OnceLock};

    /// Enqueues a replay of fills with a timed marker after the first one. Returns the number of its slots for times.
    fn slots(engine: &Engine, fills: usize) -> usize {
        let block = block();
        let node = |work| {
            let what = CommandKind::Inspect;
            let command =
                NodeCommand { work, what, at: here(), label: None, output: None, values: SmallVec::new() };
            GraphNode { queue: 0, after: SmallVec::new(), command: Arc::new(command), gate: None }
        };
        let mut nodes: Vec<GraphNode> = (0..fills).map(|_| node(fill(&block))).collect();
        nodes.insert(1, node(Work::Nothing));
        let plan = Arc::new(
            GraphPlan::new(PlanParts::of_one_queue(nodes), MissingOrder::Add)
                .expect("one queue has no conflict"),
        );
        let (outputs, uploads, times) = (Vec::new(), Vec::new(), OnceLock::new());
        let run = Arc::new(GraphRun { plan, outputs, uploads, times, at: here() });
        let slot = queue(engine);
        let by = Admission { slot, what: CommandKind::Replay(engine.new_kernel("graph").0), at: here() };
        engine.enqueue_replay(by, &run, Vec::new(), &[], Vec::new()).expect("the queue has not failed");
        run.times.get().map_or(0, |times| times.slots.len())
    }

    #[test]
    fn t04_a_replay_has_times_of_its_timed_markers_alone_unless_it_is_profiled() {
        let engine = engine(false);
        assert_eq!((slots(&engine, 1), slots(&engine, 1000)), (1, 1));
        engine.lock().log = Some(Box::new(ProfileLog { profilers: 1, readers: 1, ..ProfileLog::default() }));
        assert_eq!(slots(&engine, 1000), 1001);
    }
}
