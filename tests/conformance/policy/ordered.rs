//! P01: under `Ordered`, an unsynchronised program is right. P07: a context with one queue adds no waits and does no
//! comparisons.

use crate::common::kernels::{Mix, mix};
use crate::common::{Case, Subject, case, dump, hold};
use fencepost::prelude::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("p01_a_queue_reads_the_writes_of_another_without_any_wait", writer_and_reader),
        case("p01_a_writer_waits_for_the_readers_of_other_queues", readers_and_writer),
        case("p01_many_queues_give_the_results_of_one", many_queues),
        case("p01_maps_are_in_the_order_of_the_calls", maps_take_their_place),
        case("p07_one_queue_enqueues_no_wait", one_queue),
        case("p07_one_queue_compares_no_command_with_earlier_uses", no_looks),
        case("p07_a_second_queue_costs_only_the_waits_it_needs", two_queues),
    ]
}

const N: usize = 1000;

fn writer_and_reader(s: &Subject) {
    let (ctx, [one, two]) = s.with_queues(["one", "two"]);
    let _compiled = ctx.kernel::<Mix>().unwrap(); // before the first spin
    for round in 0..5 {
        let x = ctx.full([N], round).unwrap();
        let [mut y, mut z] = [0; 2].map(|_| ctx.zeros([N]).unwrap());
        s.spin(&ctx, &one, 10);
        mix(&one, 1, 7, &x, &mut y);
        mix(&two, 1, 100, &y, &mut z);
        assert_eq!(two.read(&z).wait().unwrap(), [107 + round; N]);
    }
}

fn readers_and_writer(s: &Subject) {
    let (ctx, [one, two, three]) = s.with_queues(["one", "two", "three"]);
    let mut x = ctx.full([N], 1_u32).unwrap();
    let [mut y, mut z] = [0; 2].map(|_| ctx.zeros([N]).unwrap());
    let gate = hold(&one);
    one.copy(&x, &mut y).unwrap();
    two.copy(&x, &mut z).unwrap();
    three.fill(&mut x, 2).unwrap();
    three.flush().unwrap();
    assert!(!three.marker().is_complete().unwrap(), "the reader on `one` has not run");
    assert_eq!(two.read(&z).wait().unwrap(), [1; N]);
    gate.signal();
    assert_eq!(three.read(&x).wait().unwrap(), [2; N]);
    assert_eq!(three.read(&y).wait().unwrap(), [1; N]);
}

/// Runs the same random program on one queue and on four.
fn many_queues(s: &Subject) {
    let results = [1, 4].map(|queues| {
        let ctx = s.ctx();
        let queues: Vec<_> = (0..queues).map(|i| ctx.queue(&format!("queue {i}"))).collect();
        let mut arrays: Vec<_> = (0..4_u32).map(|i| ctx.full([N], i).unwrap()).collect();
        let mut rng = fastrand::Rng::with_seed(11);
        for _ in 0..60 {
            let from = rng.usize(..4);
            let to = rng.usize(..4);
            let a = rng.u32(1..9);
            let which = rng.usize(..64);
            let queue = &queues[which % queues.len()];
            if from == to {
                queue.fill(&mut arrays[to], a).unwrap();
            } else {
                let x = arrays[from].clone();
                let y = &mut arrays[to];
                mix(queue, a, 1, &x, y);
            }
        }
        let reads: Vec<_> = arrays.iter().map(|array| queues[0].read(array)).collect();
        reads.into_iter().map(|read| read.wait().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(results[0], results[1]);
}

fn maps_take_their_place(s: &Subject) {
    let (ctx, [one, two]) = s.with_queues(["one", "two"]);
    let [mut x, mut y] = [0; 2].map(|_| ctx.zeros([N]).unwrap());
    for round in 1..6_u32 {
        one.fill(&mut x, round).unwrap();
        x.map_write().wait().unwrap()[0] = 1000;
        two.copy(&x, &mut y).unwrap();
        assert_eq!(y.map_read().wait().unwrap()[..2], [1000, round]);
    }
}

fn one_queue(s: &Subject) {
    for policy in [Policy::Ordered, Policy::Checked] {
        let (ctx, [queue]) = s.with_queues_under(policy, ["only"]);
        let x = queue.full([N], 1).unwrap();
        let mut y = queue.zeros([N]).unwrap();
        let mut z = y.clone();
        let before = dump::enqueued(&ctx, "only");
        for _ in 0..50 {
            mix(&queue, 1, 0, &x, &mut y);
            queue.fill(&mut z, 3).unwrap();
        }
        assert_eq!(
            dump::enqueued(&ctx, "only") - before,
            100,
            "the context enqueues the commands and nothing else, {policy:?}"
        );
        assert_eq!(queue.read(&y).wait().unwrap(), [3; N]);
    }
}

/// Returns the number of commands that the context has compared with earlier uses so far, from the state dump.
fn compared(ctx: &Context) -> u64 {
    let dump = ctx.diagnostics().state_dump();
    let line = dump.lines().find(|line| line.starts_with("policy ")).expect("the dump says the policy");
    let count = line.split(", ").find_map(|part| part.strip_suffix(" commands compared with earlier uses"));
    count.and_then(|count| count.parse().ok()).expect("the dump says how many")
}

fn no_looks(s: &Subject) {
    for policy in [Policy::Ordered, Policy::Checked, Policy::Unchecked] {
        let (ctx, [queue]) = s.with_queues_under(policy, ["only"]);
        let x = ctx.full([N], 1).unwrap();
        let work = |queue: &CommandQueue| {
            let mut y = queue.zeros([N]).unwrap();
            mix(queue, 1, 0, &x, &mut y);
            let mut z = queue.empty([N]).unwrap();
            queue.copy(&y, &mut z).unwrap();
            queue.upload(&[2; N], &mut y).unwrap();
            assert_eq!(queue.read(&z).wait().unwrap(), [1; N], "{policy:?}");
        };
        work(&queue);
        assert_eq!(compared(&ctx), 0, "{policy:?}: one queue is in order by itself");
        let other = ctx.queue("other");
        work(&other);
        let looks = compared(&ctx);
        assert_eq!(looks >= 4, policy != Policy::Unchecked, "{policy:?}: {looks}");
    }
}

fn two_queues(s: &Subject) {
    let (ctx, [one, two]) = s.with_queues(["one", "two"]);
    let [mut x, mut y] = [0; 2].map(|_| ctx.zeros([N]).unwrap());
    let gate = hold(&one);
    let before = dump::enqueued(&ctx, "one");
    for value in 0..20_u32 {
        one.fill(&mut x, value).unwrap();
        two.fill(&mut y, value).unwrap();
    }
    assert_eq!(dump::enqueued(&ctx, "two") - before, 40, "different arrays need no wait");
    two.copy(&x, &mut y).unwrap();
    two.copy(&x, &mut y).unwrap();
    assert_eq!(dump::enqueued(&ctx, "two") - before, 43, "one wait and two copies are enqueued");
    gate.signal();
    assert_eq!(two.read(&y).wait().unwrap(), [19; N]);
}
