use super::*;
use crate::error::CommandKind;
use crate::scheduler::test_engine::{block, engine, enqueue, fill, here, queue};
use crate::work::graph::nodes::{GraphNode, NodeCommand};
use crate::work::graph::order::MissingOrder;
use crate::work::graph::plan::{GraphPlan, PlanParts};
use crate::work::graph::run::{GraphRun, GraphStep};
use std::sync::OnceLock;

/// Returns a replay of fills of one block.
fn replay(fills: usize) -> GraphStep {
    let block = block();
    let node = |_| {
        let work = fill(&block);
        let what = CommandKind::Fill;
        let command =
            NodeCommand { work, what, at: here(), label: None, output: None, values: SmallVec::new() };
        GraphNode { queue: 0, after: SmallVec::new(), command: Arc::new(command), gate: None }
    };
    let parts = PlanParts::of_one_queue((0..fills).map(node).collect());
    let plan = Arc::new(GraphPlan::new(parts, MissingOrder::Add).expect("one queue has no conflict"));
    let run = GraphRun { plan, outputs: Vec::new(), uploads: Vec::new(), times: OnceLock::new(), at: here() };
    GraphStep { run: Arc::new(run), segment: None }
}

/// Returns `true` if the lane thread should submit a replay of this many fills before its next tick.
fn is_urgent(fills: usize) -> bool {
    let engine = engine(false);
    let slot = queue(&engine);
    let by = Admission { slot, what: CommandKind::Replay(engine.new_kernel("graph").0), at: here() };
    let ops = vec![Op::Work(Work::Graph(Box::new(replay(fills))))];
    engine.enqueue_all(by, &[], ops).expect("the queue has not failed");
    engine.lock().queue(slot).urgent()
}

#[test]
fn a_replay_of_a_hundred_nodes_is_submitted_without_a_flush_before_the_next_tick() {
    assert!(is_urgent(100));
}

#[test]
fn a_short_replay_waits_for_more_commands_of_its_batch() {
    assert!(!is_urgent(99));
}

/// Returns the lane whose sleeping thread must be woken for a queue.
fn woken(engine: &Engine, slot: Slot) -> Option<usize> {
    let mut state = engine.lock();
    state.lanes[0].rest = ThreadRest::Asleep;
    state.sleeper(slot)
}

#[test]
fn a_pending_command_wakes_a_sleeping_lane_thread() {
    let engine = engine(true);
    let slot = queue(&engine);
    enqueue(&engine, slot);
    assert_eq!(woken(&engine, slot), Some(0));
}

#[test]
fn a_queue_without_pending_commands_wakes_no_lane_thread() {
    let engine = engine(true);
    let slot = queue(&engine);
    assert_eq!(woken(&engine, slot), None);
}
