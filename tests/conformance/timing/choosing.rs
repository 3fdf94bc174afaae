//! T01: timing is chosen queue by queue, and changes no result.

use super::timed;
use crate::common::kernels::{Iota, Mix, mix};
use crate::common::{Case, Subject, case};
use fencepost::prelude::*;
use fencepost::{CommandQueue, ErrorDetail, QueueOptions};

pub fn cases() -> Vec<Case> {
    vec![
        case("t01_timing_is_chosen_queue_by_queue", queue_by_queue),
        case("t01_a_timed_queue_gives_the_results_of_any_queue", same_results),
        case("t01_timed_and_untimed_queues_work_together", together),
        case("t01_thousands_of_commands_are_timed", thousands),
    ]
}

const N: usize = 1000;

fn queue_by_queue(subject: &Subject) {
    let (ctx, plain) = subject.with_queue("plain");
    let watched = timed(&ctx, "watched");
    assert!(
        !plain.options().timing && !ctx.default_queue().options().timing && !QueueOptions::default().timing
    );
    for (queue, is_timed) in [(&plain, false), (&watched, true)] {
        assert_eq!(queue.fork("fork").options().timing, is_timed);
        let start = queue.marker();
        queue.full([N], 1_u32).unwrap();
        match queue.marker().seconds_since(&start).wait() {
            Ok(_) => assert!(is_timed),
            Err(error) => {
                assert!(!is_timed && matches!(error.detail(), ErrorDetail::Untimed { .. }), "{error}")
            }
        }
    }
}

/// Uses every verb, and returns the bytes of the reads.
pub(super) fn exercise(ctx: &Context, queue: &CommandQueue) -> Vec<Vec<u32>> {
    let iota = ctx.kernel::<Iota>().unwrap();
    let elements: Vec<u32> = (0..N as u32).collect();
    let x = queue.array(&elements).unwrap();
    let mut y = queue.zeros([N]).unwrap();
    let mut z = queue.full([N], 7_u32).unwrap();
    mix(queue, 3, 1, &x, &mut y);
    let early = queue.read(&y);
    queue.launch(&iota, Grid::groups([0]), Iota { start: 1, step: 1, out: &mut y }).unwrap();
    queue.copy(&x, &mut z).unwrap();
    queue.copy(&z.slice(0..512).unwrap(), &mut z.slice(256..768).unwrap()).unwrap();
    mix(queue, 5, 2, &z, &mut y);
    queue.fill(&mut z, 9).unwrap();
    drop(queue.read(&z));
    queue.upload(&elements[..], &mut z).unwrap();
    let late = [queue.read(&y), queue.read(&z)];
    [early].into_iter().chain(late).map(|read| read.wait().unwrap()).collect()
}

fn same_results(subject: &Subject) {
    let ctx = subject.ctx();
    let expected = exercise(&ctx, &ctx.queue("plain"));
    assert_eq!(expected[0][9], Mix::of(3, 1, 9, 0));
    for turn in 0..3 {
        assert_eq!(exercise(&ctx, &timed(&ctx, "watched")), expected, "turn {turn}");
    }
}

fn together(subject: &Subject) {
    let ctx = subject.ctx();
    let queues = [timed(&ctx, "watched"), ctx.queue("plain"), timed(&ctx, "watched too")];
    let x = queues[0].array(&[3_u32; N]).unwrap();
    let mut y = ctx.zeros([N]).unwrap();
    let mut expected = 0;
    let start = queues[0].marker();
    for turn in 0..60_u32 {
        let queue = &queues[turn as usize % 3];
        mix(queue, 5, turn, &x, &mut y);
        let mut side = queue.full([N], turn).unwrap();
        mix(queue, 1, 0, &x, &mut side);
        expected = Mix::of(5, turn, 3, expected);
    }
    assert_eq!(queues[1].read(&y).wait().unwrap(), [expected; N]);
    assert!(queues[0].marker().seconds_since(&start).wait().unwrap() > 0.0);
}

/// Times more commands than fit into a recorder's page of queries.
fn thousands(subject: &Subject) {
    let ctx = subject.ctx();
    let queue = timed(&ctx, "watched");
    let x = queue.array(&[1_u32; 4]).unwrap();
    let mut y = queue.zeros([4]).unwrap();
    let count = if subject.is_cpu() { 300 } else { 1400 };
    let mut markers = vec![queue.marker()];
    for _ in 0..count {
        mix(&queue, 1, 0, &x, &mut y);
        markers.push(queue.marker());
    }
    assert_eq!(queue.read(&y).wait().unwrap(), [count; 4]);
    let mut sum = 0.0;
    for pair in markers.windows(2) {
        let seconds = pair[1].seconds_since(&pair[0]).wait().unwrap();
        assert!(seconds >= 0.0, "{seconds}");
        sum += seconds;
    }
    let all = markers[count as usize].seconds_since(&markers[0]).wait().unwrap();
    assert!(all > 0.0 && (sum - all).abs() <= all * 1e-6, "{sum} {all}");
}
