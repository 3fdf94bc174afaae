//! Tests that the planner closes batches so that no later command delays a result.

use crate::scheduler::lanes::Plannable;
use crate::scheduler::plan::plan_tests::*;

#[test]
fn e02_a_batch_ends_before_a_command_that_would_make_its_results_late() {
    for long in [f32::INFINITY, 0.5, 1.1 * BOUND] {
        let cut = |works: &[fn(&Arc<Block>) -> Work]| cut(&paced(long), works, ..);
        assert_eq!(
            cut(&[fill, fill, launch]),
            [2, 1],
            "{long} s: the long launch does not make the fills late"
        );
        assert_eq!(
            cut(&[launch, fill, fill]),
            [3],
            "{long} s: short commands make the launch only a little late"
        );
        assert_eq!(cut(&[launch, launch, fill, launch]), [1, 2, 1], "{long} s");
    }
}

#[test]
fn e02_short_commands_share_a_batch_until_they_take_long_together() {
    let launches: Vec<fn(&Arc<Block>) -> Work> = vec![launch; 10];
    assert_eq!(cut(&paced(0.3 * BOUND), &launches, ..), [3, 3, 3, 1]);
    assert_eq!(cut(&paced(0.0), &launches, ..), [10]);
}

#[test]
fn e02_a_handle_does_not_change_the_batches() {
    let launches: Vec<fn(&Arc<Block>) -> Work> = vec![launch; 30];
    for marked in [0..0, 4..5, 29..30] {
        assert_eq!(cut(&paced(0.3 * BOUND), &launches, marked), [3; 10]);
    }
}

#[test]
fn e02_long_commands_of_several_queues_share_no_batch() {
    let engine = paced(0.5);
    let slots: [Slot; 3] = queues(&engine);
    let ends = slots.map(|slot| enqueue_work(&engine, slot, launch(&block())));
    assert_eq!(planned(&engine, ends), [1, 1, 1]);
}

#[test]
fn e02_a_short_command_comes_before_another_queues_long_one_and_shares_no_batch_with_it() {
    for short_first in [false, true] {
        let engine = paced(0.5);
        let [long, short] = queues(&engine);
        let mut works = [(long, launch as fn(&Arc<Block>) -> Work), (short, fill)];
        if short_first {
            works.reverse();
        }
        let ends = works.map(|(slot, work)| enqueue_work(&engine, slot, work(&block())));
        let first = ends.into_iter().find(|end| end.slot == short).expect("a short command");
        let mut state = plan(&engine, ends);
        assert_eq!(lengths(&mut state), [1, 1]);
        assert_eq!(firsts(&mut state)[0], first.stamp);
    }
}

#[test]
fn e02_short_commands_of_many_queues_share_a_batch_until_they_take_long_together() {
    let engine = paced(0.3 * BOUND);
    let slots: Vec<Slot> = (0..45).map(|_| queue(&engine)).collect();
    let ends: Vec<Point> = slots.iter().map(|&slot| enqueue_work(&engine, slot, launch(&block()))).collect();
    assert_eq!(planned(&engine, ends), [3; 15]);
}

/// In the same batch, a long command of another queue would delay the result after the first command.
#[test]
fn e02_a_long_command_with_a_short_one_after_it_shares_no_batch_with_another_long_one() {
    let engine = paced(0.5);
    let [first, after, other] = queues(&engine);
    let long = enqueue_work(&engine, first, launch(&block()));
    enqueue_wait(&engine, after, long);
    let short = enqueue(&engine, after);
    let last = enqueue_work(&engine, other, launch(&block()));
    assert_eq!(planned(&engine, [long, last, short]), [2, 1]);
}

/// Plans a long command, and then a short one on another queue. Returns the first command of each batch.
fn planned_after_a_long_one(wait: bool) -> (Vec<Stamp>, [Point; 2]) {
    let engine = paced(0.5);
    let [first, second] = queues(&engine);
    let long = enqueue_work(&engine, first, launch(&block()));
    engine.lock().plan([long], Priority::Normal);
    if wait {
        enqueue_wait(&engine, second, long);
    }
    let short = enqueue(&engine, second);
    let mut state = engine.lock();
    assert_eq!(state.plannable(0, Priority::Normal), Plannable::Short);
    assert!(state.plan_short([short], Priority::Normal));
    (firsts(&mut state), [long, short])
}

#[test]
fn e02_a_short_command_passes_a_long_one_that_is_not_submitted() {
    let (firsts, [long, short]) = planned_after_a_long_one(false);
    assert_eq!(firsts, [short.stamp, long.stamp]);
}

#[test]
fn e02_a_short_command_does_not_pass_the_long_one_that_it_waits_for() {
    let (firsts, [long, short]) = planned_after_a_long_one(true);
    assert_eq!(firsts, [long.stamp, short.stamp]);
}

#[test]
fn e02_a_planning_of_short_commands_leaves_long_ones_and_those_after_them() {
    let engine = paced(0.5);
    let [first, second] = queues(&engine);
    let long = enqueue_work(&engine, first, launch(&block()));
    enqueue_wait(&engine, second, long);
    let short = enqueue(&engine, second);
    let mut state = engine.lock();
    assert!(!state.plan_short([long, short], Priority::Normal));
    assert_eq!([long, short].map(|end| state.reached(end)), [PointProgress::Unplanned; 2]);
}

/// Otherwise the short batch, the long one and the batch between them would wait for each other on two lanes.
#[test]
fn e02_a_short_command_passes_no_long_one_on_which_it_depends_through_another_lane() {
    let engine = engine(2);
    let [first, other, last] = queues(&engine);
    let lanes = [first, other, last].map(|slot| engine.lock().queue(slot).lane);
    assert!(lanes[0] == lanes[2] && lanes[0] != lanes[1], "{lanes:?}");
    for lane in &mut engine.lock().lanes {
        lane.costs = CommandCosts::new(CostModel::Measured(CostModel::LATENESS));
    }
    let long = enqueue_work(&engine, first, launch(&block()));
    engine.lock().plan([long], Priority::Normal);
    enqueue_wait(&engine, other, long);
    let between = enqueue(&engine, other);
    engine.lock().plan([between], Priority::Normal);
    enqueue_wait(&engine, last, between);
    let short = enqueue(&engine, last);
    let mut state = engine.lock();
    state.plan([short], Priority::Normal);
    assert_eq!(firsts_of(&mut state, lanes[0], Priority::Normal), [long.stamp, short.stamp]);
}

/// If the lane thread searched again with nothing new, it would search for ever.
#[test]
fn e02_a_search_for_short_commands_is_repeated_after_the_next_command_or_release() {
    let engine = paced(0.5);
    let [first, second, third] = queues(&engine);
    let long = enqueue_work(&engine, first, launch(&block()));
    engine.lock().plan([long], Priority::Normal);
    enqueue_work(&engine, second, launch(&block()));
    let gate = hold(&engine, third);
    let after = enqueue(&engine, third);
    let search = || engine.lock().plan_lane(0, DueCommands::All);
    let plannable = || engine.lock().plannable(0, Priority::Normal);
    search();
    assert_eq!(plannable(), Plannable::Nothing);
    enqueue_work(&engine, first, launch(&block()));
    assert_eq!(plannable(), Plannable::Short);
    search();
    assert_eq!(plannable(), Plannable::Nothing);
    gate.signal();
    search();
    assert!(matches!(engine.lock().reached(after), PointProgress::Planned(_)));
}

#[test]
fn e02_a_search_that_finds_nothing_at_one_priority_goes_on_with_the_others() {
    let engine = paced(0.5);
    let slots = [Priority::High, Priority::Normal].map(|priority| queue_of(&engine, priority));
    let other = queue_of(&engine, Priority::Normal);
    for slot in slots {
        let long = enqueue_work(&engine, slot, launch(&block()));
        let priority = engine.lock().queue(slot).priority;
        engine.lock().plan([long], priority);
    }
    enqueue_work(&engine, slots[0], launch(&block()));
    let short = enqueue(&engine, other);
    engine.lock().plan_lane(0, DueCommands::All);
    assert!(matches!(engine.lock().reached(short), PointProgress::Planned(_)));
}

#[test]
fn q16_short_commands_pass_a_long_one_for_one_planning_at_most() {
    let engine = paced(0.5);
    let [long, short] = queues(&engine);
    let end = enqueue_work(&engine, long, launch(&block()));
    let seconds = CommandCosts::new(CostModel::Measured(CostModel::LATENESS)).of_work(&fill(&block()));
    let fills = (BOUND / seconds) as usize * 3 * MOST_CUTS;
    let last = *enqueue_many(&engine, short, fills, fill).last().expect("a fill");
    let mut state = engine.lock();
    let rest = state.plan([end, last], Priority::Normal);
    assert_eq!((state.reached(end), rest.roots.len()), (PointProgress::Unplanned, 2));
    state.plan(rest.roots, Priority::Normal);
    assert!(matches!(state.reached(end), PointProgress::Planned(_)));
    assert_eq!(state.reached(last), PointProgress::Unplanned);
}

#[test]
fn e01_context_commands_after_a_point_stay_pending() {
    let engine = engine(1);
    let slot = queue(&engine);
    let before = enqueue(&engine, Slot::CONTEXT);
    let point = enqueue(&engine, slot);
    let after = enqueue(&engine, Slot::CONTEXT);
    let mut state = plan(&engine, [point]);
    assert_eq!(firsts(&mut state), [before.stamp]);
    assert_eq!(lengths(&mut state), [2]);
    assert_eq!(state.reached(after), PointProgress::Unplanned);
    state.plan([after], Priority::Normal);
    assert_eq!(lengths(&mut state), [2, 1]);
}

#[test]
fn e02_the_oldest_command_of_queues_planned_together_comes_first() {
    let engine = paced(0.5);
    let slots: [Slot; 3] = queues(&engine);
    let ends = [1, 2, 0].map(|at: usize| enqueue_work(&engine, slots[at], launch(&block())));
    let mut state = plan(&engine, [ends[2], ends[1], ends[0]]);
    assert_eq!(firsts(&mut state), ends.map(|end| end.stamp));
}
