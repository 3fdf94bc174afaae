//! M09: copies between arrays of other contexts, on a queue of a third context.

use crate::common::partners::{counted, partners};
use crate::common::{Calls, Case, Subject, assert_error, assert_says, case};
use fencepost::prelude::*;
use fencepost::{ErrorDetail, Shape, region};
use std::time::Duration;

pub fn cases() -> Vec<Case> {
    vec![
        case("m09_a_queue_of_a_third_context_copies_between_two_and_within_one", exact),
        case("m09_a_copy_by_a_third_context_is_ordered_in_its_queue_and_in_both_contexts", ordered),
        case("m09_a_copy_by_a_third_context_is_no_hazard", checked),
        case("m09_a_failed_copy_by_a_third_context_is_the_error_of_its_queue", fails),
        case("m09_a_wrong_copy_by_a_third_context_is_refused_and_the_queue_works_on", refused),
        case("m09_the_source_may_be_dropped_while_a_third_context_copies", dropped),
    ]
}

/// Number of elements of an array that is larger than one piece.
const LARGE: usize = 1_200_003;

fn exact(s: &Subject) {
    for (name, other) in partners(s, Policy::Ordered) {
        let own = s.ctx();
        let third = s.ctx();
        let queue = third.queue("third");
        for n in [1, 1000, LARGE] {
            let x = own.array(&counted(n, 3)).unwrap();
            let mut y = other.zeros([n]).unwrap();
            let mut back = own.zeros([n]).unwrap();
            queue.copy(&x, &mut y).unwrap();
            queue.copy(&y, &mut back).unwrap();
            let mut again = own.zeros([n]).unwrap();
            queue.copy(&back, &mut again).unwrap();
            queue.finish().wait().unwrap();
            for (ctx, array) in [(&other, &y), (&own, &back), (&own, &again)] {
                assert!(ctx.queue("reader").read(array).wait().unwrap() == counted(n, 3), "{name}, {n}");
            }
        }
        let table = own.array(&counted(12, 0)).unwrap().reshape([3, 4]).unwrap();
        let mut column = other.zeros::<u32, 1>([3]).unwrap();
        queue.copy_region(&table, region![.., 1], &mut column, region![..]).unwrap();
        assert_eq!(other.current_queue().read(&column).wait().unwrap(), [7, 35, 63], "{name}");
        let mut padded = other.zeros::<u32, 1>(Shape::padded([3], [8])).unwrap();
        queue.copy(&column, &mut padded).unwrap();
        assert_eq!(other.current_queue().read(&padded).wait().unwrap(), [7, 35, 63], "{name}");
    }
}

fn ordered(s: &Subject) {
    for (name, other) in partners(s, Policy::Ordered) {
        let own = s.ctx();
        let third = s.ctx();
        let queue = third.queue("third");
        let a = own.queue("a");
        let b = other.queue("b");
        let mut x = own.zeros([LARGE]).unwrap();
        let mut y = other.zeros([LARGE]).unwrap();
        a.fill(&mut x, 4_u32).unwrap();
        let gate = queue.hold();
        queue.copy(&x, &mut y).unwrap();
        a.fill(&mut x, 5).unwrap();
        let mut read = b.read(&y);
        let early = read.wait_timeout(Duration::ZERO).unwrap();
        assert!(early.is_none(), "{name}: the copy is held, and so is the read that comes after it");
        gate.signal();
        assert!(read.wait().unwrap() == [4; LARGE], "{name}");
        // The finish comes after the copy in the queue, so the copy is done when it completes.
        queue.copy(&x, &mut y).unwrap();
        queue.finish().wait().unwrap();
        assert!(y.map_read().wait().unwrap().iter().all(|&y| y == 5), "{name}");
    }
}

fn checked(s: &Subject) {
    for (name, other) in partners(s, Policy::Checked) {
        let own = s.ctx_with(Policy::Checked);
        let third = s.ctx_with(Policy::Checked);
        let queue = third.queue("third");
        let writer = own.queue("writer");
        let reader = other.queue("reader");
        let mut x = own.zeros([1000]).unwrap();
        let mut y = other.zeros([1000]).unwrap();
        let mut beside = own.zeros([1000]).unwrap();
        for turn in 0..5_u32 {
            writer.fill(&mut x, turn).unwrap();
            queue.copy(&x, &mut y).unwrap();
            queue.copy(&x, &mut beside).unwrap();
            assert!(reader.read(&y).wait().unwrap() == [turn; 1000], "{name}");
            assert!(writer.read(&beside).wait().unwrap() == [turn; 1000], "{name}");
        }
    }
}

fn fails(s: &Subject) {
    for (name, other) in partners(s, Policy::Ordered) {
        let own = s.ctx();
        let third = s.ctx();
        let lost = s.losing(0);
        let queue = third.queue("third");
        let mut x = lost.zeros::<u32, 1>([1000]).unwrap();
        let mut y = other.zeros([1000]).unwrap();
        lost.queue("fill").fill(&mut x, 1).unwrap();
        let done = queue.copy(&x, &mut y).and_then(|()| queue.finish().wait());
        assert_error!(done, ErrorDetail::OtherContext { .. }, "{name}");
        queue.take_error();
        let z = own.full([1000], 1_u32).unwrap();
        queue.copy(&z, &mut y).unwrap();
        queue.finish().wait().unwrap();
        assert_eq!(other.to_vec(&y).unwrap(), [1; 1000], "{name}");
    }
}

fn refused(s: &Subject) {
    let own = s.ctx();
    let other = s.ctx();
    let third = s.ctx();
    let queue = third.queue("third");
    let x = own.full([8], 1_u32).unwrap();
    let mut y = other.zeros::<u32, 1>([9]).unwrap();
    assert_error!(queue.copy(&x, &mut y), ErrorDetail::Shape { .. });
    let map = x.map_write().wait().unwrap();
    assert_says(queue.copy(&x, &mut y.slice(0..8).unwrap()), "is mapped");
    drop(map);
    queue.copy(&x, &mut y.slice(1..9).unwrap()).unwrap();
    queue.finish().wait().unwrap();
    assert_eq!(other.to_vec(&y).unwrap(), [0, 1, 1, 1, 1, 1, 1, 1, 1]);
    queue.wait_for(&third.user_event("abandoned").event()).unwrap();
    queue.finish().wait().unwrap_err();
    assert!(queue.copy(&x, &mut y.slice(1..9).unwrap()).is_err(), "the queue returns its sticky error first");
}

fn dropped(s: &Subject) {
    for (name, other) in partners(s, Policy::Ordered) {
        let own = s.ctx();
        let third = s.ctx();
        let reader = other.queue("reader");
        let x = own.array(&counted(LARGE, 8)).unwrap();
        let mut y = other.zeros([LARGE]).unwrap();
        third.queue("third").copy(&x, &mut y).unwrap();
        drop((own, x));
        assert!(reader.read(&y).wait().unwrap() == counted(LARGE, 8), "{name}");
    }
}
