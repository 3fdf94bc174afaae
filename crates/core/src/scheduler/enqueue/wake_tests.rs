use super::*;
use crate::scheduler::test_engine::{engine, enqueue, queue};

/// Returns the lane whose thread is woken for a queue while that thread sleeps.
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
