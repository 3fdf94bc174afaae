//! How far a wait plans ahead of the device.

use super::tests::{engine, enqueue, queue};
use super::*;
use crate::lane::Pace;
use crate::scheduler::costs::Costs;

/// Whatever is planned is walked now and then, so there must not be a batch for each command that is pending.
#[test]
fn q01_a_wait_plans_more_only_once_half_of_what_it_planned_is_done() {
    let engine = engine(false);
    let slot = queue(&engine, Priority::Normal);
    let mut costs = Costs::new(Pace::Measured(Pace::LATENESS));
    let points: Vec<Point> = (0..400).map(|_| enqueue(&engine, slot)).collect();
    let mut state = engine.lock();
    if let Some(Op::Work(work)) = state.queue(slot).pending.front().map(|front| &front.op) {
        costs.expect(work, 0.5);
    }
    state.lanes[0].costs = costs;
    let (target, mut planned) = (Target::Point(points[399]), Rest::default());
    (0..4).for_each(|_| state.plan_target(target, &mut planned));
    let at_once = state.lanes[0].ready_len();
    assert!((2..100).contains(&at_once), "{at_once} batches");
    drop(state);
    let middle = planned.after.expect("there are many");
    for _ in 0..at_once {
        engine.pump(0);
        engine.look(0);
        let mut state = engine.lock();
        let left = state.lanes[0].ready_len();
        state.plan_target(target, &mut planned);
        assert_eq!(state.lanes[0].ready_len() > left, state.batches.is_done(middle), "{left} are left");
        if state.batches.is_done(middle) {
            assert!(left > 4, "the device has more until then");
            return;
        }
    }
    panic!("it is never done");
}
