//! The times of replays: those that a profile notes, and those of timed markers.

use crate::scheduler::engine::Engine;
use crate::scheduler::ordering::admission::Admission;
use crate::scheduler::profile_log::{NotedCommand, NotedNode, ProfileEvent};
use crate::scheduler::state::State;
use crate::work::graph_data::graph_run::GraphStep;
use crate::work::graph_data::run_times::RunTimes;
use crate::work::step::Work;
use fencepost_sync::Stamp;

impl Engine {
    /// Makes the times of a replay whose nodes are timed: all of them while the context is profiled, and otherwise the
    /// timed markers. The times of other replays do not exist.
    pub(crate) fn time_replay(&self, state: &mut State, by: Admission, whole: &GraphStep) {
        let (plan, clocked) = (&whole.run.plan, self.device.caps().timestamps);
        let noting = state.is_noting();
        if noting || (clocked && plan.has_times) {
            let is_timed = |at: u32| noting || plan.command(at).is_timed_marker();
            let nodes = 0..plan.nodes.len() as u32;
            let slots = nodes.map(|at| is_timed(at).then(Default::default)).collect();
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
            let time = times.and_then(|times| times.slots[at as usize].clone());
            if command.is_timed_marker() {
                continue;
            }
            let kernel =
                if let Work::Launch(launch) = &command.work { Some(&launch.kernel().name) } else { None };
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
