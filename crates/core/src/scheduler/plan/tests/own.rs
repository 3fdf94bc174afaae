//! Where the context's own commands are planned.

use crate::scheduler::plan::tests::*;

/// A short command of `slot`, a long own one, and a command of `later` that may need that one.
fn around_a_long_own_command(engine: &Engine, [slot, later]: [Slot; 2]) -> [Point; 3] {
    let before = enqueue(engine, slot, fill(&block()));
    let own = enqueue(engine, Slot::CONTEXT, launch(&block()));
    [before, own, enqueue(engine, later, fill(&block()))]
}

#[test]
fn e01_a_long_own_command_comes_behind_what_was_enqueued_before_it_and_before_what_comes_later() {
    // One queue; two queues in either order; with the end of the own commands asked for too, as by a flush of everything.
    for (later, swap, all) in [(0, false, false), (1, false, false), (1, true, false), (1, true, true)] {
        let engine = paced(0.5);
        let slots = [(); 2].map(|()| queue(&engine, Priority::Normal));
        let [before, own, behind] = around_a_long_own_command(&engine, [slots[0], slots[later]]);
        let mut roots = vec![before, behind];
        roots.extend(all.then_some(own));
        if swap {
            roots.reverse();
        }
        let mut state = engine.lock();
        assert!(state.plan(roots, Priority::Normal).roots.is_empty());
        let stamps: Vec<Stamp> = firsts(&mut state, 0, Priority::Normal).into_iter().collect();
        let at = |point: Point| stamps.iter().position(|stamp| *stamp == point.stamp);
        assert!(at(before) < at(own) && at(own).is_some(), "{later} {swap} {all}: {stamps:?}");
        assert!(at(own) < at(behind) || at(behind).is_none(), "{later} {swap} {all}: {stamps:?}");
    }
}

#[test]
fn m01_launches_that_are_taken_together_end_where_an_own_command_comes() {
    let engine = paced(0.0);
    engine.lock().lanes[0].costs.expect(&fill(&block()), 0.5);
    let (slot, block) = (queue(&engine, Priority::Normal), block());
    let launches = || [(); 3].map(|()| enqueue(&engine, slot, launch(&block)));
    launches();
    let own = enqueue(&engine, Slot::CONTEXT, fill(&block));
    let [_, _, behind] = launches();
    let mut state = engine.lock();
    assert!(state.plan([behind], Priority::Normal).roots.is_empty());
    assert_eq!(lengths(&mut state, 0, Priority::Normal), [3, 4]);
    assert_eq!(firsts(&mut state, 0, Priority::Normal)[1], own.stamp);
}

#[test]
fn e01_own_commands_that_take_no_time_share_the_first_batch_whatever_their_place() {
    let engine = paced(0.0);
    let slots = [(); 2].map(|()| queue(&engine, Priority::Normal));
    let [before, _, behind] = around_a_long_own_command(&engine, slots);
    let mut state = engine.lock();
    assert!(state.plan([before, behind], Priority::Normal).roots.is_empty());
    assert_eq!(lengths(&mut state, 0, Priority::Normal), [3]);
}

fn enqueue_for_context(engine: &Engine, count: usize) {
    for _ in 0..count {
        enqueue(engine, Slot::CONTEXT, fill(&block()));
    }
}

#[test]
fn q10_a_planning_takes_so_many_own_commands_and_no_more() {
    let engine = paced(0.0);
    engine.lock().lanes[0].costs.expect(&fill(&block()), 0.0);
    let slot = queue(&engine, Priority::Normal);
    enqueue_for_context(&engine, 3 * MOST);
    let end = enqueue(&engine, slot, fill(&block()));
    let mut state = engine.lock();
    for left in [2 * MOST, MOST, 0] {
        assert!(state.context_commands_are_due() || left == 0, "{left} are left");
        drop(state.plan([end], Priority::Normal));
        assert_eq!(state.queue(Slot::CONTEXT).pending.len(), left);
    }
    drop(state.plan([end], Priority::Normal));
    assert!(state.queue(slot).pending.is_empty());
}

#[test]
fn q10_many_own_commands_are_planned_though_nothing_needs_them() {
    let engine = paced(0.0);
    enqueue_for_context(&engine, MOST);
    let mut state = engine.lock();
    assert!(state.something_for(0));
    state.plan_lane(0, DueCommands::All);
    assert!(state.queue(Slot::CONTEXT).pending.is_empty());
}
