//! Q12: queues that are forked from a queue and joined with it.

use crate::common::kernels::mix;
use crate::common::{Case, Subject, case, dump, hold};
use fencepost::prelude::*;
use std::time::Duration;

pub fn cases() -> Vec<Case> {
    vec![
        case("q12_a_fork_comes_after_the_earlier_work_of_its_queue", fork),
        case("q12_a_join_waits_for_the_earlier_work_of_the_other_queue", join),
        case("q12_a_tree_of_forks_and_joins_gives_exact_values", tree),
        case("q12_loops_of_two_forks_run_in_order_and_join", branches),
    ]
}

const N: usize = 128;

fn fork(subject: &Subject) {
    let (ctx, [parent]) = subject.with_queues_under(Policy::Unchecked, ["parent"]);
    let mut x = ctx.zeros([N]).unwrap();
    let gate = hold(&parent);
    parent.fill(&mut x, 1_u32).unwrap();
    let child = parent.fork("child");
    assert_eq!(child.options().label, "child");
    let mut read = child.read(&x);
    assert!(read.wait_timeout(Duration::ZERO).unwrap().is_none());
    assert!(dump::is_held(&ctx, "child"));
    gate.signal();
    assert_eq!(read.wait().unwrap(), [1; N]);
}

fn join(subject: &Subject) {
    let (ctx, [parent]) = subject.with_queues_under(Policy::Unchecked, ["parent"]);
    let child = parent.fork("child");
    let mut x = ctx.zeros([N]).unwrap();
    let gate = hold(&child);
    child.fill(&mut x, 1_u32).unwrap();
    parent.wait_for(&child).unwrap();
    let later = ctx.user_event("later");
    child.wait_for(&later.event()).unwrap();
    child.fill(&mut x, 2).unwrap();
    child.flush().unwrap();
    assert!(!parent.marker().is_complete().unwrap());
    assert!(dump::holds(&ctx, &parent));
    gate.signal();
    assert_eq!(parent.read(&x).wait().unwrap(), [1; N]);
    later.signal();
    assert_eq!(child.read(&x).wait().unwrap(), [2; N]);
}

fn tree(subject: &Subject) {
    let (ctx, [root]) = subject.with_queues_under(Policy::Unchecked, ["root"]);
    let zero = ctx.zeros([N]).unwrap();
    let mut sum = ctx.full([N], 1_u32).unwrap();
    let mut expected = 1_u32;
    for round in 0..10 {
        let children: Vec<(CommandQueue, DeviceArray<u32>)> = (0..4_u32)
            .map(|i| {
                let child = root.fork(&format!("child {i}"));
                let mut own = ctx.empty([N]).unwrap();
                child.copy(&sum, &mut own).unwrap();
                mix(&child, i + 2, round, &zero, &mut own);
                (child, own)
            })
            .collect();
        let before = expected;
        children.iter().for_each(|(child, _)| root.wait_for(child).unwrap());
        for (i, (_, own)) in (0..4).zip(&children) {
            mix(&root, 3, 0, own, &mut sum);
            expected = expected.wrapping_mul(3).wrapping_add(before.wrapping_mul(i + 2).wrapping_add(round));
        }
    }
    assert_eq!(root.read(&sum).wait().unwrap(), [expected; N]);
}

/// Runs two loops on each branch, the second on the results of the first; the launch after the joins sees both
/// branches.
///
/// Follows `stream_parallel_multiple_loops_per_stream` of Quadrants.
fn branches(subject: &Subject) {
    let (ctx, [queue]) = subject.with_queues_under(Policy::Unchecked, ["main"]);
    let ones = ctx.full([N], 1_u32).unwrap();
    let mut arrays = [0; 2].map(|_| queue.zeros([N]).unwrap());
    for (at, y) in arrays.iter_mut().enumerate() {
        let branch = queue.fork(&format!("branch {at}"));
        for a in [1, 10] {
            for _ in 0..3 {
                mix(&branch, a, at as u32, &ones, y);
            }
        }
        queue.wait_for(&branch).unwrap();
    }
    let [x, y] = &mut arrays;
    mix(&queue, 1, 0, x, y);
    // Branch 0 computes 3 in its first loop and 31, 311, 3111 in its second; branch 1 computes 6 and then 62, 622,
    // 6222.
    assert_eq!(queue.read(y).wait().unwrap(), [3111 + 6222; N]);
}
