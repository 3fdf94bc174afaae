//! Covers the requirements of the tests of GsTaichi, and of its successor Quadrants, that no test of a rule covers:
//! docs/testing.md has the table.

use crate::common::kernels::Mix;
use crate::common::{Case, Subject, case};
use fencepost::prelude::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("gstaichi_the_default_queue_waits_and_is_awaited_as_any_queue", default_queue),
        case("gstaichi_slow_kernels_on_two_queues_and_events_give_their_sum", slow_kernels),
        case("gstaichi_loops_of_parallel_branches_run_in_order_and_join", branches),
    ]
}

const N: usize = 1000;

fn default_queue(subject: &Subject) {
    let ctx = subject.ctx_with(Policy::Unchecked);
    let (default, queue, gate) = (ctx.default_queue(), ctx.queue("other"), ctx.user_event("gate"));
    let (mut x, mut y) = (ctx.zeros([N]).unwrap(), ctx.zeros([N]).unwrap());
    queue.wait_for(&gate.event()).unwrap();
    queue.fill(&mut x, 4_u32).unwrap();
    // The default queue does not wait for other queues unless it is told to.
    assert_eq!(default.read(&x).wait().unwrap(), [0; N]);
    default.wait_for(&queue.marker()).unwrap();
    default.copy(&x, &mut y).unwrap();
    queue.wait_for(&ctx.default_queue().marker()).unwrap();
    let read = queue.read(&y);
    gate.signal();
    assert_eq!(read.wait().unwrap(), [4; N]);
}

/// Fills an array with 5 on one queue and another with 7 on a second, each after slow work; a third queue adds them.
fn slow_kernels(subject: &Subject) {
    let ctx = subject.ctx_with(Policy::Unchecked);
    let queues = ["one", "two", "three"].map(|label| ctx.queue(label));
    let mix = ctx.kernel::<Mix>().unwrap();
    let [mut x, mut y] = [0; 2].map(|_| ctx.zeros([N]).unwrap());
    for (queue, array, value) in [(&queues[0], &mut x, 5_u32), (&queues[1], &mut y, 7)] {
        subject.spin(&ctx, queue, 20);
        queue.fill(array, value).unwrap();
        queues[2].wait_for(&queue.marker()).unwrap();
    }
    queues[2].launch(&mix, Grid::threads([N]), Mix { a: 1, b: 0, x: &x, y: &mut y }).unwrap();
    assert_eq!(queues[2].read(&y).wait().unwrap(), [12; N]);
}

/// Runs two loops on each branch, the second on the results of the first; the launch behind the joins sees both
/// branches.
fn branches(subject: &Subject) {
    let ctx = subject.ctx_with(Policy::Unchecked);
    let (queue, mix) = (ctx.queue("main"), ctx.kernel::<Mix>().unwrap());
    let ones = ctx.full([N], 1_u32).unwrap();
    let mut arrays = [0; 2].map(|_| queue.zeros([N]).unwrap());
    for (at, y) in arrays.iter_mut().enumerate() {
        let branch = queue.fork(&format!("branch {at}"));
        for a in [1, 10] {
            for _ in 0..3 {
                branch.launch(&mix, Grid::threads([N]), Mix { a, b: at as u32, x: &ones, y }).unwrap();
            }
        }
        queue.wait_for_queue(&branch).unwrap();
    }
    let [x, y] = &mut arrays;
    queue.launch(&mix, Grid::threads([N]), Mix { a: 1, b: 0, x, y }).unwrap();
    // Branch 0 computes 3 in its first loop and 31, 311, 3111 in its second; branch 1 computes 6 and then 62, 622,
    // 6222.
    assert_eq!(queue.read(y).wait().unwrap(), [3111 + 6222; N]);
}
