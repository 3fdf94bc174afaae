//! Tests of the planning of context commands.

use crate::scheduler::plan::plan_tests::*;

/// Enqueues a short command of `slot`, a long context command, and a command of `later` that may need the context
/// command. Returns their points.
fn around_a_long_context_command(engine: &Engine, [slot, later]: [Slot; 2]) -> [Point; 3] {
    let before = enqueue(engine, slot);
    let own = enqueue_work(engine, Slot::CONTEXT, launch(&block()));
    [before, own, enqueue(engine, later)]
}

#[test]
fn e01_a_long_context_command_is_planned_between_earlier_and_later_commands() {
    // The cases: one queue; two queues in either order; and, as in a flush of all queues, a root for the context
    // commands too.
    for (later, swap, all) in [(0, false, false), (1, false, false), (1, true, false), (1, true, true)] {
        let engine = paced(0.5);
        let slots: [Slot; 2] = queues(&engine);
        let [before, own, after] = around_a_long_context_command(&engine, [slots[0], slots[later]]);
        let mut roots = vec![before, after];
        roots.extend(all.then_some(own));
        if swap {
            roots.reverse();
        }
        let mut state = engine.lock();
        assert!(state.plan(roots, Priority::Normal).roots.is_empty());
        let stamps: Vec<Stamp> = firsts(&mut state).into_iter().collect();
        let at = |point: Point| stamps.iter().position(|stamp| *stamp == point.stamp);
        assert!(at(before) < at(own) && at(own).is_some(), "{later} {swap} {all}: {stamps:?}");
        assert!(at(own) < at(after) || at(after).is_none(), "{later} {swap} {all}: {stamps:?}");
    }
}

#[test]
fn m01_launches_planned_together_end_before_a_context_command() {
    let engine = paced(0.0);
    engine.lock().lanes[0].costs.expect(&fill(&block()), 0.5);
    let slot = queue(&engine);
    let block = block();
    let launches = || [(); 3].map(|()| enqueue_work(&engine, slot, launch(&block)));
    launches();
    let own = enqueue_work(&engine, Slot::CONTEXT, fill(&block));
    let [_, _, after] = launches();
    let mut state = engine.lock();
    assert!(state.plan([after], Priority::Normal).roots.is_empty());
    assert_eq!(lengths(&mut state), [3, 4]);
    assert_eq!(firsts(&mut state)[1], own.stamp);
}

#[test]
fn e01_context_commands_that_take_no_time_share_the_first_batch() {
    let engine = paced(0.0);
    let slots: [Slot; 2] = queues(&engine);
    let [before, _, after] = around_a_long_context_command(&engine, slots);
    let mut state = engine.lock();
    assert!(state.plan([before, after], Priority::Normal).roots.is_empty());
    assert_eq!(lengths(&mut state), [3]);
}

/// A read in place completes with the first context command, so the queue that waits for the read joins the batch of
/// that command before the planner takes the second context command.
#[test]
fn e01_a_command_after_a_read_in_place_comes_after_a_later_context_command() {
    let engine = paced(f32::INFINITY);
    let ([reader, after], block) = (queues(&engine), block());
    enqueue(&engine, Slot::CONTEXT);
    let read = enqueue_work(&engine, reader, Work::Read { src: span(&block), slot: ReadSlot::new() });
    enqueue_wait(&engine, after, read);
    let second = enqueue_work(&engine, Slot::CONTEXT, launch(&block));
    let end = enqueue(&engine, after);
    let mut state = plan(&engine, [end]);
    let steps = &state.lanes[0].list(Priority::Normal)[0].steps;
    let level = |point: Point| steps.iter().find(|step| step.stamp == point.stamp).map(|step| step.level);
    let [second, end] = [second, end].map(level);
    drop(state);
    assert!(second.is_some() && second < end, "{second:?}, {end:?}");
}

fn enqueue_for_context(engine: &Engine, count: usize) {
    for _ in 0..count {
        enqueue(engine, Slot::CONTEXT);
    }
}

#[test]
fn q10_one_planning_takes_a_limited_number_of_context_commands() {
    let engine = paced(0.0);
    engine.lock().lanes[0].costs.expect(&fill(&block()), 0.0);
    let slot = queue(&engine);
    enqueue_for_context(&engine, 3 * MOST_CONTEXT_COMMANDS - 1);
    let made = block();
    let end = enqueue_work(&engine, Slot::CONTEXT, fill(&made));
    enqueue_work(&engine, slot, fill(&made));
    let mut state = engine.lock();
    for left in [2 * MOST_CONTEXT_COMMANDS, MOST_CONTEXT_COMMANDS, 0] {
        assert!(state.queues.context_commands_are_due() || left == 0, "{left} commands are left");
        drop(state.plan([end], Priority::Normal));
        assert_eq!(state.queue(Slot::CONTEXT).pending.len(), left);
    }
    assert_eq!(state.queue(slot).pending.len(), 1);
}

#[test]
fn q16_a_command_takes_along_only_the_arrays_that_it_needs() {
    let engine = paced(0.0);
    engine.lock().lanes[0].costs.expect(&fill(&block()), 0.0);
    let ([slot, other], many) = (queues(&engine), 4 * MOST_CONTEXT_COMMANDS);
    enqueue_for_context(&engine, many);
    let made = block();
    let own = [0; 2].map(|_| enqueue_work(&engine, Slot::CONTEXT, fill(&made)));
    enqueue_for_context(&engine, many);
    let before = enqueue(&engine, slot);
    let end = enqueue_work(&engine, slot, fill(&made));
    let mut state = plan(&engine, [end]);
    let left = state.queue(Slot::CONTEXT).pending.len();
    assert!(left >= 2 * many, "{left} context commands are left");
    // Both fills of the array come before the command, on lower levels.
    let steps = &state.lanes[0].list(Priority::Normal)[0].steps;
    let level = |point: Point| steps.iter().find(|step| step.stamp == point.stamp).map(|step| step.level);
    let levels = [own[0], own[1], end].map(level);
    assert!(
        level(before).is_some() && levels.iter().all(Option::is_some) && levels.is_sorted_by(|a, b| a < b),
        "{levels:?}"
    );
    drop(state);
    // Another queue that uses the array comes after the batch of its fill.
    let later = enqueue_work(&engine, other, fill(&made));
    let state = plan(&engine, [later]);
    let of = |point| batch_of(&state, point);
    assert!(of(end) < of(later));
    assert!(state.queue(other).batches().any(|seq| seq == of(end)), "the batch of the fill comes first");
    drop(state);
    let end = engine.lock().queue(Slot::CONTEXT).end(Slot::CONTEXT);
    finish(&engine, end);
    assert!(engine.lock().queue(Slot::CONTEXT).pending.is_empty());
}

#[test]
fn q10_many_context_commands_are_planned_although_no_command_needs_them() {
    let engine = paced(0.0);
    enqueue_for_context(&engine, MOST_CONTEXT_COMMANDS);
    let mut state = engine.lock();
    assert!(state.something_for(0));
    state.plan_lane(0, DueCommands::All);
    assert!(state.queue(Slot::CONTEXT).pending.is_empty());
}
