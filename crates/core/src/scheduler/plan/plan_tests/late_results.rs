//! Tests how the planner closes batches so that no later command delays an awaited result. A result is awaited if the
//! program may be waiting for it.

use crate::scheduler::plan::plan_tests::*;
use crate::scheduler::wakers::WakeCondition as Awaited;

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
fn e02_a_batch_may_be_longer_up_to_the_first_awaited_point() {
    let launches: Vec<fn(&Arc<Block>) -> Work> = vec![launch; 30];
    let cut = |marked: std::ops::Range<usize>| cut(&paced(0.3 * BOUND), &launches, marked);
    assert_eq!(cut(0..0), [13, 13, 4]);
    assert_eq!(cut(29..30), [13, 13, 4], "the last point is not late");
    assert_eq!(cut(4..5), [5, 13, 12], "later commands would make the point late");
    assert_eq!(cut(1..2), [3, 13, 13, 1], "the point may be a little late");
    assert_eq!(cut(14..16), [13, 3, 13, 1], "the point behind the first one may be late");
}

/// Makes the program await a result that a long batch would delay.
type MakeAwaited = fn(&Engine, Slot, Point);

#[test]
fn e02_a_batch_is_not_longer_if_another_result_is_awaited() {
    let urgent: MakeAwaited = |engine, _, _| _ = queue_of(engine, Priority::High);
    let read: MakeAwaited = |engine, slot, _| {
        let read = Work::Read { src: span(&block()), slot: ReadSlot::new() };
        enqueue_work(engine, slot, read);
    };
    let awaited: MakeAwaited =
        |engine, _, first| engine.lock().wakers.register(Awaited::point(first), &TestTask::new().1);
    let behind: MakeAwaited = |engine, _, first| {
        let other = queue(engine);
        enqueue_wait(engine, other, first);
        let read = Work::Read { src: span(&block()), slot: ReadSlot::new() };
        enqueue_work(engine, other, read);
    };
    let cases: [(MakeAwaited, &[usize]); 4] =
        [(urgent, &[3, 3, 3]), (read, &[3, 3, 3]), (awaited, &[3, 6]), (behind, &[3, 3, 3])];
    for (at, (make_awaited, expected)) in cases.into_iter().enumerate() {
        let engine = paced(0.3 * BOUND);
        let slot = queue(&engine);
        let points = enqueue_many(&engine, slot, 9, launch);
        make_awaited(&engine, slot, points[0]);
        assert_eq!(planned(&engine, [points[8]]), expected, "case {at}");
    }
}

#[test]
fn e02_long_commands_of_several_queues_share_a_batch_unless_a_result_is_awaited() {
    for awaited in [false, true] {
        let engine = paced(0.5);
        let slots: [Slot; 3] = queues(&engine);
        let ends = slots.map(|slot| enqueue_work(&engine, slot, launch(&block())));
        let _handle = awaited.then(|| engine.marker(slots[1]));
        let expected: &[usize] = if awaited { &[1, 1, 1] } else { &[3] };
        assert_eq!(planned(&engine, ends), expected, "awaited: {awaited}");
    }
}

#[test]
fn e02_an_awaited_short_result_shares_no_batch_with_another_queues_long_command() {
    for (awaited, expected) in [(false, vec![2]), (true, vec![1, 1])] {
        let engine = paced(0.5);
        let [long, short] = queues(&engine);
        let ends = [(long, launch as fn(&Arc<Block>) -> Work), (short, fill)]
            .map(|(slot, work)| enqueue_work(&engine, slot, work(&block())));
        let _handle = awaited.then(|| engine.marker(short));
        let mut state = plan(&engine, ends);
        assert_eq!(lengths(&mut state), expected);
        let first = if awaited { ends[1] } else { ends[0] };
        let in_front = firsts(&mut state)[0];
        assert!(!awaited || in_front == first.stamp);
    }
}

#[test]
fn e02_short_commands_of_many_queues_share_a_batch_until_they_take_long_together() {
    for (awaited, expected) in [(false, vec![48]), (true, vec![3; 16])] {
        let engine = paced(0.3 * BOUND);
        let slots: Vec<Slot> = (0..48).map(|_| queue(&engine)).collect();
        let ends: Vec<Point> =
            slots.iter().map(|&slot| enqueue_work(&engine, slot, launch(&block()))).collect();
        let _handles: Vec<_> = slots.iter().filter(|_| awaited).map(|&slot| engine.marker(slot)).collect();
        assert_eq!(planned(&engine, ends), expected, "awaited: {awaited}");
    }
}

/// A long command of another queue in the same batch would delay the result behind the first command.
#[test]
fn e02_a_long_command_with_an_awaited_result_behind_it_has_its_own_batch() {
    for awaited in [false, true] {
        let engine = paced(0.5);
        let [first, behind, other] = queues(&engine);
        let long = enqueue_work(&engine, first, launch(&block()));
        enqueue_wait(&engine, behind, long);
        let short = enqueue(&engine, behind);
        let last = enqueue_work(&engine, other, launch(&block()));
        let _handle = awaited.then(|| engine.marker(behind));
        let mut state = plan(&engine, [long, last, short]);
        let expected: &[usize] = if awaited { &[2, 1] } else { &[3] };
        let mut lengths = lengths(&mut state);
        lengths.sort_unstable_by_key(|&length| std::cmp::Reverse(length));
        assert_eq!(lengths, expected, "awaited: {awaited}");
    }
}

#[test]
fn e02_a_download_counts_as_awaited_behind_any_number_of_commands() {
    let engine = paced(0.5);
    let [slot, other] = queues(&engine);
    (0..20).for_each(|_| _ = enqueue(&engine, slot));
    let download =
        enqueue_work(&engine, slot, Work::Copy { src: span(&block()), dst: span(&block_in(Heap::Download)) });
    let long = enqueue_work(&engine, other, launch(&block()));
    assert_eq!(planned(&engine, [long, download]), [21, 1]);
}

#[test]
fn e01_context_commands_behind_a_point_stay_pending() {
    let engine = engine(1);
    let slot = queue(&engine);
    let before = enqueue(&engine, Slot::CONTEXT);
    let point = enqueue(&engine, slot);
    let behind = enqueue(&engine, Slot::CONTEXT);
    let mut state = plan(&engine, [point]);
    assert_eq!(firsts(&mut state), [before.stamp]);
    assert_eq!(lengths(&mut state), [2]);
    assert_eq!(state.reached(behind), PointProgress::Unplanned);
    state.plan([behind], Priority::Normal);
    assert_eq!(lengths(&mut state), [2, 1]);
}

#[test]
fn e02_the_oldest_command_of_queues_planned_together_comes_first() {
    let engine = paced(0.5);
    let slots: [Slot; 3] = queues(&engine);
    let ends = [1, 2, 0].map(|at: usize| enqueue_work(&engine, slots[at], launch(&block())));
    let _handles = ends.map(|end| engine.marker(end.slot));
    let mut state = plan(&engine, [ends[2], ends[1], ends[0]]);
    assert_eq!(firsts(&mut state), ends.map(|end| end.stamp));
}

#[test]
fn e02_commands_that_a_map_waits_for_count_as_awaited() {
    for (mapped, expected) in [(false, vec![2]), (true, vec![1, 1])] {
        let engine = paced(0.5);
        let [long, short] = queues(&engine);
        let block = block();
        let ends = [(long, launch(&crate::scheduler::plan::plan_tests::block())), (short, fill(&block))]
            .map(|(slot, work)| enqueue_work(&engine, slot, work));
        let _past = mapped.then(|| engine.await_uses(&span(&block), false));
        assert_eq!(planned(&engine, ends), expected, "mapped: {mapped}");
    }
}

#[test]
fn e02_commands_behind_those_that_a_map_waits_for_do_not_count_as_awaited() {
    let engine = paced(0.3 * BOUND);
    let (slot, block) = (queue(&engine), block());
    enqueue_work(&engine, slot, fill(&block));
    let ends: Vec<Point> = (0..9)
        .map(|_| enqueue_work(&engine, slot, launch(&crate::scheduler::plan::plan_tests::block())))
        .collect();
    let _past = engine.await_uses(&span(&block), false);
    assert_eq!(planned(&engine, [ends[8]]), [4, 6]);
}
