//! Q02, Q03: the order inside a queue, and the order between queues.

use crate::common::kernels::{Mix, mix};
use crate::common::{Case, Subject, case, hold};
use fencepost::prelude::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("q02_launches_copies_fills_and_uploads_run_in_the_order_of_enqueueing", one_queue),
        case("q02_a_read_returns_the_bytes_of_its_place_in_the_queue", reads_between),
        case("q03_two_queues_are_unordered_under_unchecked", unordered),
        case("q03_the_policy_orders_two_queues_that_share_an_array", ordered_by_policy),
        case("q03_an_event_orders_two_queues", ordered_by_event),
        case("q03_a_new_queue_comes_after_everything_enqueued_before_it", born_after),
        case("q03_the_default_queue_waits_and_is_awaited_as_any_queue", default_queue),
        case("q03_a_queue_adds_the_results_of_slow_work_of_two_queues", slow_kernels),
    ]
}

const N: usize = 300;

fn one_queue(subject: &Subject) {
    for policy in [Policy::Ordered, Policy::Unchecked] {
        let (_ctx, [queue]) = subject.with_queues_under(policy, ["one"]);
        let mut x = queue.array(&[1_u32; N]).unwrap();
        let mut y = queue.full([N], 2_u32).unwrap();
        let mut host_x = [1_u32; N];
        let mut host_y = [2_u32; N];
        for turn in 0..40_u32 {
            mix(&queue, 3, turn, &x, &mut y);
            for (y, x) in host_y.iter_mut().zip(host_x) {
                *y = Mix::of(3, turn, x, *y);
            }
            let part = turn as usize..turn as usize + 20;
            match turn % 4 {
                0 => {
                    queue.copy(&y, &mut x).unwrap();
                    host_x = host_y;
                }
                1 => {
                    queue.fill(&mut y.slice(part.clone()).unwrap(), turn).unwrap();
                    host_y[part].fill(turn);
                }
                2 => {
                    queue.upload(&[turn; 20], &mut x.slice(part.clone()).unwrap()).unwrap();
                    host_x[part].fill(turn);
                }
                _ => queue.flush().unwrap(),
            }
        }
        assert_eq!(queue.read(&y).wait().unwrap(), host_y);
        assert_eq!(queue.read(&x).wait().unwrap(), host_x);
    }
}

fn reads_between(subject: &Subject) {
    let (_ctx, queue) = subject.with_queue("one");
    let x = queue.full([N], 1_u32).unwrap();
    let mut y = queue.zeros([N]).unwrap();
    let mut reads = Vec::new();
    for turn in 0..20 {
        mix(&queue, 1, turn, &x, &mut y);
        reads.push(queue.read(&y));
    }
    // The last read is waited for first; each read has the bytes at its place in the queue.
    for (turn, read) in (0..20).zip(reads).rev() {
        assert_eq!(read.wait().unwrap(), [turn + 1 + turn * (turn + 1) / 2; N], "read {turn}");
    }
}

fn unordered(subject: &Subject) {
    let (ctx, [first, second]) = subject.with_queues_under(Policy::Unchecked, ["first", "second"]);
    let mut x = ctx.zeros([N]).unwrap();
    let gate = hold(&first);
    first.fill(&mut x, 1_u32).unwrap();
    first.flush().unwrap();
    second.fill(&mut x, 2).unwrap();
    assert_eq!(second.read(&x).wait().unwrap(), [2; N]);
    assert!(!first.marker().is_complete().unwrap());
    gate.signal();
    assert_eq!(first.read(&x).wait().unwrap(), [1; N]);
}

fn ordered_by_policy(subject: &Subject) {
    let (ctx, [first, second]) = subject.with_queues(["first", "second"]);
    let mut x = ctx.zeros([N]).unwrap();
    let gate = hold(&first);
    first.fill(&mut x, 1_u32).unwrap();
    second.fill(&mut x, 2).unwrap();
    second.flush().unwrap();
    assert!(!second.marker().is_complete().unwrap());
    gate.signal();
    assert_eq!(second.read(&x).wait().unwrap(), [2; N]);
}

fn ordered_by_event(subject: &Subject) {
    let (ctx, [first, second]) = subject.with_queues_under(Policy::Unchecked, ["first", "second"]);
    let mut x = ctx.zeros([N]).unwrap();
    let gate = hold(&first);
    first.fill(&mut x, 1_u32).unwrap();
    second.wait_for(&first.marker()).unwrap();
    second.fill(&mut x, 2).unwrap();
    assert!(!second.marker().is_complete().unwrap());
    gate.signal();
    assert_eq!(second.read(&x).wait().unwrap(), [2; N]);
}

fn born_after(subject: &Subject) {
    let (ctx, [first]) = subject.with_queues_under(Policy::Unchecked, ["first"]);
    let mut x = ctx.zeros([N]).unwrap();
    let gate = hold(&first);
    first.fill(&mut x, 1_u32).unwrap();
    let second = ctx.queue("second");
    second.fill(&mut x, 2).unwrap();
    assert!(!second.marker().is_complete().unwrap());
    gate.signal();
    assert_eq!(second.read(&x).wait().unwrap(), [2; N]);
    // Later work of the first queue does not come before the second queue.
    let late = ctx.user_event("late");
    first.wait_for(&late.event()).unwrap();
    first.fill(&mut x, 3).unwrap();
    second.finish().wait().unwrap();
    late.signal();
}

/// Follows `event_synchronization` and `default_stream_kernel` of Quadrants.
fn default_queue(subject: &Subject) {
    let ctx = subject.ctx_with(Policy::Unchecked);
    let default = ctx.default_queue();
    let queue = ctx.queue("other");
    let [mut x, mut y] = [0; 2].map(|_| ctx.zeros([N]).unwrap());
    let gate = hold(&queue);
    queue.fill(&mut x, 4_u32).unwrap();
    // The default queue waits for other queues only if told to.
    assert_eq!(default.read(&x).wait().unwrap(), [0; N]);
    default.wait_for(&queue.marker()).unwrap();
    default.copy(&x, &mut y).unwrap();
    queue.wait_for(&ctx.default_queue().marker()).unwrap();
    let read = queue.read(&y);
    gate.signal();
    assert_eq!(read.wait().unwrap(), [4; N]);
}

/// Fills an array with 5 on one queue and another with 7 on a second, each after slow work; a third queue adds them.
///
/// Follows `concurrent_streams_with_events` of Quadrants, without its speed-up.
fn slow_kernels(subject: &Subject) {
    let ctx = subject.ctx_with(Policy::Unchecked);
    let queues = ["one", "two", "three"].map(|label| ctx.queue(label));
    let _compiled = ctx.kernel::<Mix>().unwrap(); // a compilation after the spins could outlast them
    let [mut x, mut y] = [0; 2].map(|_| ctx.zeros([N]).unwrap());
    for (queue, array, value) in [(&queues[0], &mut x, 5_u32), (&queues[1], &mut y, 7)] {
        subject.spin(&ctx, queue, 20);
        queue.fill(array, value).unwrap();
        queues[2].wait_for(&queue.marker()).unwrap();
    }
    mix(&queues[2], 1, 0, &x, &mut y);
    assert_eq!(queues[2].read(&y).wait().unwrap(), [12; N]);
}
