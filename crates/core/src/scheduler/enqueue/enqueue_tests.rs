use super::*;
use crate::error::CommandKind;
use crate::scheduler::test_engine::{
    block, engine, enqueue, fill, graph_plan, graph_run, here, node, queue, whole_graph,
};
use crate::work::graph::plan::PlanParts;

/// Returns `true` if the lane thread should submit a replay of this many fills before its next tick.
fn is_urgent(fills: usize) -> bool {
    let engine = engine(false);
    let slot = queue(&engine);
    let by = Admission { slot, what: CommandKind::Replay(engine.new_kernel("graph").0), at: here() };
    let block = block();
    let nodes = (0..fills).map(|_| node(fill(&block), CommandKind::Fill));
    let plan = graph_plan(PlanParts::of_one_queue(nodes.collect()));
    let ops = vec![Op::Work(whole_graph(graph_run(plan)))];
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
