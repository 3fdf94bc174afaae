//! M01, M04, P05: `get` and `set` of single elements, and `to_vec`, `display` and `ones` of whole arrays.

use crate::common::{Calls, Case, ONE_THREAD, Subject, assert_error, assert_says, case};
use fencepost::interface::Number;
use fencepost::prelude::*;
use fencepost::{ErrorDetail, Shape};
use std::fmt::Debug;

pub fn cases() -> Vec<Case> {
    vec![
        case("m01_ones_take_every_type_of_number_and_arrays_as_shapes_keep_their_padding", ones),
        case("m04_get_and_set_use_the_element_at_their_index", get_and_set),
        case("m04_get_and_set_run_in_the_order_of_their_queue", in_order),
        case("m04_setting_an_element_of_one_or_two_bytes_leaves_its_neighbours", small),
        case("m04_an_index_out_of_bounds_is_refused_and_changes_nothing", outside),
        case("p05_to_vec_and_display_show_the_last_writes_of_any_queue", last_writes),
        case("p05_to_vec_waits_only_for_the_writers_of_its_bytes", nothing_else),
        case("p05_unchecked_to_vec_comes_after_all_queues", unchecked),
        case("p05_to_vec_and_display_are_right_while_other_threads_use_the_array", at_once)
            .not_in_a_page(ONE_THREAD),
        case("p05_to_vec_does_not_return_the_error_of_another_queue", errors_stay),
    ]
}

fn ones(s: &Subject) {
    fn of<T: Number + Debug + PartialEq>(ctx: &Context, queue: &CommandQueue) {
        let all = [ctx.full([3, 5], T::ONE).unwrap(), queue.full([3, 5], T::ONE).unwrap()];
        let like = [ctx.full(&all[0], T::ONE).unwrap(), queue.full(&all[1], T::ONE).unwrap()];
        for x in all.iter().chain(&like) {
            assert_eq!(queue.read(x).wait().unwrap(), [T::ONE; 15]);
        }
    }
    let (ctx, queue) = s.with_queue("q");
    of::<f32>(&ctx, &queue);
    of::<u32>(&ctx, &queue);
    of::<i32>(&ctx, &queue);
    of::<u8>(&ctx, &queue);
    of::<i16>(&ctx, &queue);
    of::<u64>(&ctx, &queue);
    of::<f64>(&ctx, &queue);
    let padded = ctx.zeros::<u32, 2>(Shape::padded([2, 3], [4, 8])).unwrap();
    let likes =
        [queue.full(&padded, 1_u32), ctx.full(&padded, 1), queue.zeros(&padded), queue.empty(&padded)];
    for (like, value) in likes.into_iter().zip([Some(1), Some(1), Some(0), None]) {
        let like = like.unwrap();
        assert_eq!((like.shape(), like.padded_shape()), ([2, 3], [4, 8]));
        let found = queue.read(&like).wait().unwrap();
        assert!(value.is_none_or(|value| found == [value; 6]));
    }
}

fn get_and_set(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let padded = ctx.zeros::<u32, 3>(Shape::padded([2, 3, 5], [3, 4, 8])).unwrap();
    for mut x in [ctx.zeros::<u32, 3>([2, 3, 5]).unwrap(), padded] {
        queue.set(&mut x, [1, 2, 3], 77).unwrap();
        queue.set(&mut x, [0, 0, 4], 55).unwrap();
        assert_eq!(queue.get(&x, [1, 2, 3]).wait().unwrap(), 77);
        assert_eq!(ctx.current_queue().get(&x, [0, 0, 4]).wait().unwrap(), 55);
        let mut expected = [0; 30];
        (expected[28], expected[4]) = (77, 55);
        assert_eq!(queue.read(&x).wait().unwrap(), expected);
        let part = x.slice(1..2).unwrap();
        let found = queue.get(&part, [0, 2, 3]).wait().unwrap();
        assert_eq!(found, 77, "an index counts from the start of the slice");
    }
    let mut number = ctx.zeros::<f32, 0>([]).unwrap();
    ctx.current_queue().set(&mut number, [], 2.5).unwrap();
    assert_eq!(queue.get(&number, []).wait().unwrap(), 2.5);
}

fn in_order(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut x = ctx.zeros::<u32, 1>([100]).unwrap();
    let mut found = Vec::new();
    for turn in 0..50 {
        queue.fill(&mut x, turn).unwrap();
        queue.set(&mut x, [7], 1000 + turn).unwrap();
        found.push((queue.get(&x, [7]), queue.get(&x, [8])));
    }
    for (turn, (changed, beside)) in (0..).zip(found) {
        assert_eq!((changed.wait().unwrap(), crate::common::block_on(beside).unwrap()), (1000 + turn, turn));
    }
}

fn small(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut bytes = ctx.array(&(0..11).collect::<Vec<u8>>()).unwrap();
    let mut halves = ctx.array(&(0..11).collect::<Vec<i16>>()).unwrap();
    for at in [0_u8, 1, 6, 10] {
        let index = [usize::from(at)];
        queue.set(&mut bytes, index, 200 + at).unwrap();
        queue.set(&mut halves, index, -300 - i16::from(at)).unwrap();
        assert_eq!(queue.get(&bytes, index).wait().unwrap(), 200 + at);
        assert_eq!(queue.get(&halves, index).wait().unwrap(), -300 - i16::from(at));
    }
    assert_eq!(queue.read(&bytes).wait().unwrap(), [200, 201, 2, 3, 4, 5, 206, 7, 8, 9, 210]);
    assert_eq!(queue.read(&halves).wait().unwrap(), [-300, -301, 2, 3, 4, 5, -306, 7, 8, 9, -310]);
}

fn outside(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut x = ctx.zeros::<u32, 2>([2, 3]).unwrap().named("table");
    for (index, axis) in [([2, 0], 0), ([0, 3], 1), ([usize::MAX, 0], 0)] {
        let set = queue.set(&mut x, index, 1);
        assert_error!(set, ErrorDetail::RegionIndex { axis: found, .. } if *found == axis);
        assert_says(queue.get(&x, index).wait(), "array `table`");
    }
    assert_eq!(queue.read(&x).wait().unwrap(), [0; 6]);
    let elsewhere = s.ctx();
    assert_error!(elsewhere.to_vec(&x), ErrorDetail::ForeignContext { .. });
    assert_error!(elsewhere.display(&x), ErrorDetail::ForeignContext { .. });
}

fn last_writes(s: &Subject) {
    for policy in [Policy::Ordered, Policy::Checked, Policy::Unchecked] {
        let ctx = s.ctx_with(policy);
        let [a, b] = ["a", "b"].map(|label| ctx.queue(label));
        let mut x = ctx.zeros::<u32, 1>([4]).unwrap();
        let mut large = ctx.zeros::<u32, 2>([100, 100]).unwrap();
        for turn in 1..20 {
            let queue = if turn % 2 == 0 { &a } else { &b };
            queue.wait_for(if turn % 2 == 0 { &b } else { &a }).unwrap();
            queue.fill(&mut x, turn).unwrap();
            queue.fill(&mut large, turn).unwrap();
            assert_eq!(ctx.to_vec(&x).unwrap(), [turn; 4]);
            assert_eq!(ctx.display(&x).unwrap().to_string(), format!("[{turn}, {turn}, {turn}, {turn}]"));
            let shown = ctx.display(&large).unwrap().to_string();
            assert_eq!((shown.matches(&turn.to_string()).count(), shown.lines().count()), (36, 7), "{shown}");
        }
    }
}

fn nothing_else(s: &Subject) {
    let ctx = s.ctx();
    let held = ctx.queue("held");
    let queue = ctx.queue("q");
    let [mut x, mut other] = [(); 2].map(|()| ctx.zeros::<u32, 1>([64]).unwrap());
    queue.fill(&mut x, 3).unwrap();
    let gate = held.hold();
    held.fill(&mut other, 1).unwrap();
    held.flush().unwrap();
    assert_eq!(ctx.to_vec(&x).unwrap(), [3; 64]);
    assert_eq!(ctx.display(&x.slice(0..2).unwrap()).unwrap().to_string(), "[3, 3]");
    gate.signal();
    assert_eq!(ctx.to_vec(&other).unwrap(), [1; 64]);
}

/// Checks that `to_vec` comes after the pending work of all queues, although the policy adds no waits.
fn unchecked(s: &Subject) {
    let ctx = s.ctx_with(Policy::Unchecked);
    let queues: Vec<_> = (0..3).map(|at| ctx.queue(&format!("q{at}"))).collect();
    let mut x = ctx.zeros::<u32, 1>([64]).unwrap();
    for turn in 0..30 {
        queues[turn % 3].wait_for(&queues[(turn + 2) % 3]).unwrap();
        queues[turn % 3].fill(&mut x, turn as u32).unwrap();
        assert_eq!(ctx.to_vec(&x).unwrap(), [turn as u32; 64]);
    }
}

/// Calls `to_vec` and `display` on three threads while a fourth thread fills the array with the same value.
fn at_once(s: &Subject) {
    let ctx = s.ctx();
    let x = ctx.full([1003], 1_u8).unwrap();
    crate::common::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..20 {
                    assert_eq!(ctx.to_vec(&x).unwrap(), [1; 1003]);
                    let shown = ctx.display(&x).unwrap().to_string();
                    assert_eq!(shown, "[1, 1, 1, ..., 1, 1, 1]");
                }
            });
        }
        scope.spawn(|| {
            let queue = ctx.queue("writer");
            (0..20).for_each(|_| queue.fill(&mut x.clone(), 1).unwrap());
        });
    });
}

fn errors_stay(s: &Subject) {
    let ctx = s.ctx_with(Policy::Unchecked);
    let failed = ctx.queue("failed");
    let queue = ctx.queue("q");
    let x = ctx.full::<u32, 1>([64], 4).unwrap();
    let abandoned = ctx.user_event("abandoned");
    failed.wait_for(&abandoned.event()).unwrap();
    failed.fill(&mut ctx.zeros::<u32, 1>([4]).unwrap(), 1).unwrap();
    drop(abandoned);
    failed.finish().wait().unwrap_err();
    assert_eq!(ctx.to_vec(&x).unwrap(), [4; 64]);
    queue.finish().wait().unwrap();
    failed.take_error().expect("the failed queue keeps its error");
}
