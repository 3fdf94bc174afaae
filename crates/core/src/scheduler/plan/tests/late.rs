//! Where batches end so that no result in them is late.

use super::*;

#[test]
fn e02_a_batch_ends_before_a_command_that_would_make_what_is_in_it_late() {
    for long in [f32::INFINITY, 0.5, 1.1 * BOUND] {
        assert_eq!(cut(&paced(long), &[fill, fill, launch]), [2, 1], "{long} s: the fills are not late");
        assert_eq!(
            cut(&paced(long), &[launch, fill, fill]),
            [3],
            "{long} s: what is short makes it little late"
        );
        assert_eq!(cut(&paced(long), &[launch, launch, fill, launch]), [1, 2, 1], "{long} s");
    }
}

#[test]
fn e02_short_commands_share_a_batch_until_they_take_long_together() {
    let launches: Vec<fn(&Arc<Block>) -> Work> = vec![launch; 10];
    assert_eq!(cut(&paced(0.3 * BOUND), &launches), [3, 3, 3, 1]);
    assert_eq!(cut(&paced(0.0), &launches), [10]);
}

#[test]
fn e02_long_commands_of_several_queues_share_a_batch_unless_a_result_is_looked_for() {
    for looked_for in [false, true] {
        let engine = paced(0.5);
        let slots = [(); 3].map(|()| queue(&engine, Priority::Normal));
        let ends = slots.map(|slot| enqueue(&engine, slot, launch(&block())));
        let _handle = looked_for.then(|| engine.marker(slots[1]));
        let mut state = engine.lock();
        state.plan(ends, Priority::Normal);
        let expected: &[usize] = if looked_for { &[1, 1, 1] } else { &[3] };
        assert_eq!(lengths(&mut state, 0, Priority::Normal), expected, "looked for: {looked_for}");
    }
}

#[test]
fn e02_a_short_result_that_is_looked_for_is_not_beside_a_long_command_of_another_queue() {
    for (looked_for, expected) in [(false, vec![2]), (true, vec![1, 1])] {
        let engine = paced(0.5);
        let [long, short] = [(); 2].map(|()| queue(&engine, Priority::Normal));
        let ends = [(long, launch as fn(&Arc<Block>) -> Work), (short, fill)]
            .map(|(slot, work)| enqueue(&engine, slot, work(&block())));
        let _handle = looked_for.then(|| engine.marker(short));
        let mut state = engine.lock();
        state.plan(ends, Priority::Normal);
        assert_eq!(lengths(&mut state, 0, Priority::Normal), expected);
        let first = if looked_for { ends[1] } else { ends[0] };
        let in_front = firsts(&mut state, 0, Priority::Normal)[0];
        assert!(!looked_for || in_front == first.stamp);
    }
}

#[test]
fn e02_short_commands_of_many_queues_share_a_batch_until_they_take_long_together() {
    for (looked_for, expected) in [(false, vec![48]), (true, vec![3; 16])] {
        let engine = paced(0.3 * BOUND);
        let slots: Vec<Slot> = (0..48).map(|_| queue(&engine, Priority::Normal)).collect();
        let ends: Vec<Point> = slots.iter().map(|&slot| enqueue(&engine, slot, launch(&block()))).collect();
        let _handles: Vec<_> = slots.iter().filter(|_| looked_for).map(|&slot| engine.marker(slot)).collect();
        let mut state = engine.lock();
        state.plan(ends, Priority::Normal);
        assert_eq!(lengths(&mut state, 0, Priority::Normal), expected, "looked for: {looked_for}");
    }
}

/// Another queue's long command would make late what waits for the first one.
#[test]
fn e02_a_long_command_runs_beside_no_other_if_a_result_behind_it_is_looked_for() {
    for looked_for in [false, true] {
        let engine = paced(0.5);
        let [first, behind, other] = [(); 3].map(|()| queue(&engine, Priority::Normal));
        let long = enqueue(&engine, first, launch(&block()));
        wait_for(&engine, behind, long);
        let short = enqueue(&engine, behind, fill(&block()));
        let last = enqueue(&engine, other, launch(&block()));
        let _handle = looked_for.then(|| engine.marker(behind));
        let mut state = engine.lock();
        state.plan([long, last, short], Priority::Normal);
        let expected: &[usize] = if looked_for { &[2, 1] } else { &[3] };
        let mut lengths = lengths(&mut state, 0, Priority::Normal);
        lengths.sort_unstable_by_key(|&length| std::cmp::Reverse(length));
        assert_eq!(lengths, expected, "looked for: {looked_for}");
    }
}

#[test]
fn e02_bytes_that_the_host_gets_are_looked_for_however_many_commands_come_before_them() {
    let host = || Arc::new(Block::new(BlockId::next(), Heap::Download, 64, Memory::Host(Cells::zeroed(64))));
    let engine = paced(0.5);
    let [slot, other] = [(); 2].map(|()| queue(&engine, Priority::Normal));
    (0..20).for_each(|_| _ = enqueue(&engine, slot, fill(&block())));
    let download = enqueue(&engine, slot, Work::Copy { src: span(&block()), dst: span(&host()) });
    let long = enqueue(&engine, other, launch(&block()));
    let mut state = engine.lock();
    state.plan([long, download], Priority::Normal);
    assert_eq!(lengths(&mut state, 0, Priority::Normal), [21, 1]);
}

#[test]
fn e01_the_contexts_own_commands_behind_a_point_stay_pending() {
    let engine = engine(1);
    let slot = queue(&engine, Priority::Normal);
    let before = enqueue(&engine, State::CONTEXT, fill(&block()));
    let point = enqueue(&engine, slot, fill(&block()));
    let behind = enqueue(&engine, State::CONTEXT, fill(&block()));
    let mut state = engine.lock();
    state.plan([point], Priority::Normal);
    assert_eq!(firsts(&mut state, 0, Priority::Normal), [before.stamp]);
    assert_eq!(lengths(&mut state, 0, Priority::Normal), [2]);
    assert_eq!(state.reached(behind), Reached::Unplanned);
    state.plan([behind], Priority::Normal);
    assert_eq!(lengths(&mut state, 0, Priority::Normal), [2, 1]);
}

#[test]
fn e02_of_queues_that_are_planned_together_the_oldest_command_comes_first() {
    let engine = paced(0.5);
    let slots = [(); 3].map(|()| queue(&engine, Priority::Normal));
    let ends = [1, 2, 0].map(|at: usize| enqueue(&engine, slots[at], launch(&block())));
    let _handles = ends.map(|end| engine.marker(end.slot));
    let mut state = engine.lock();
    state.plan([ends[2], ends[1], ends[0]], Priority::Normal);
    assert_eq!(firsts(&mut state, 0, Priority::Normal), ends.map(|end| end.stamp));
}

#[test]
fn e02_what_a_map_waits_for_is_looked_for() {
    for (mapped, expected) in [(false, vec![2]), (true, vec![1, 1])] {
        let engine = paced(0.5);
        let [long, short] = [(); 2].map(|()| queue(&engine, Priority::Normal));
        let block = block();
        let ends = [(long, launch(&super::block())), (short, fill(&block))]
            .map(|(slot, work)| enqueue(&engine, slot, work));
        let _past = mapped.then(|| engine.look_for_uses(&span(&block), false));
        let mut state = engine.lock();
        state.plan(ends, Priority::Normal);
        assert_eq!(lengths(&mut state, 0, Priority::Normal), expected, "mapped: {mapped}");
    }
}
