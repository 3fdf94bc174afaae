//! G10: arrays that a capture makes and drops give their memory to later arrays of the same capture.

use crate::common::kernels::Mix;
use crate::common::{Calls, Case, Subject, case};
use fencepost::prelude::*;
use fencepost::{Capture, Result};
use std::time::Duration;
use web_time::Instant;

pub fn cases() -> Vec<Case> {
    vec![
        case("g10_three_temporaries_in_a_row_take_the_memory_of_one", in_a_row),
        case("g10_two_forks_do_not_share_the_memory_of_temporaries", on_forks),
        case("g10_a_joined_queue_takes_the_memory_of_the_forks_temporaries", after_a_join),
        case("g10_a_temporary_with_other_users_keeps_its_memory", other_users),
        case("g10_temporaries_that_share_memory_have_right_results", results),
        case("g10_reused_memory_is_ordered_on_every_queue", on_another_queue),
        case("g10_a_helper_that_makes_arrays_works_in_a_body", in_bodies),
        case("g10_an_array_of_a_body_outlives_the_body_and_the_graph", after_a_body),
    ]
}

const N: usize = 1024;
const BYTES: u64 = 4 * N as u64;

/// Waits until a context uses as many bytes as before a graph. The last replay is dropped on a thread of the context.
pub fn has_returned(ctx: &Context, before: u64) {
    ctx.synchronize().wait().unwrap();
    returned(ctx, before);
}

/// Waits until a context uses as many bytes as before, without waiting for its work.
pub fn returned(ctx: &Context, before: u64) {
    let end = Instant::now() + Duration::from_secs(20);
    while ctx.pool().stats().used != before {
        let used = ctx.pool().stats().used;
        assert!(Instant::now() < end, "the memory of the graph does not return: {used} bytes, not {before}");
        crate::common::sleep(Duration::from_millis(1));
    }
}

/// Returns the number of bytes that a graph captured from `f` keeps.
fn kept(ctx: &Context, queue: &CommandQueue, f: impl FnOnce(&Capture) -> Result<()>) -> u64 {
    ctx.synchronize().wait().unwrap();
    let before = ctx.pool().stats().used;
    let (graph, ()) = queue.capture(f).unwrap();
    let kept = ctx.pool().stats().used - before;
    for _ in 0..3 {
        queue.replay(&graph).unwrap();
    }
    drop(graph);
    queue.finish().wait().unwrap();
    has_returned(ctx, before);
    kept
}

fn in_a_row(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let mut y = ctx.zeros::<u32, 1>([N]).unwrap();
    let temporaries = |c: &Capture, y: &mut DeviceArray<u32>| -> Result<()> {
        for value in 0..3 {
            let own = c.full([N], value)?;
            c.copy(&own, y)?;
        }
        Ok(())
    };
    assert_eq!(kept(&ctx, &queue, |c| temporaries(c, &mut y)), BYTES);
    // Arrays that live at the same time have separate memory.
    let together = kept(&ctx, &queue, |c| {
        let all: Vec<_> = (0..3).map(|value| c.full([N], value)).collect::<Result<_>>()?;
        all.iter().try_for_each(|own| c.copy(own, &mut y))
    });
    assert_eq!(together, 3 * BYTES);
    // An array of another size needs other memory.
    let sizes = kept(&ctx, &queue, |c| (1..4).try_for_each(|many| c.zeros::<u32, 1>([many * N]).map(drop)));
    assert_eq!(sizes, 6 * BYTES);
}

fn on_forks(subject: &Subject) {
    let (ctx, queue) = subject.with_queue_under(Policy::Unchecked, "main");
    let [mut y, mut z] = [(); 2].map(|()| ctx.zeros::<u32, 1>([N]).unwrap());
    ctx.synchronize().wait().unwrap();
    let apart = kept(&ctx, &queue, |c| {
        let side = c.fork("side");
        let own = c.full([N], 1_u32)?;
        c.copy(&own, &mut y)?;
        drop(own);
        // `side` is not ordered after the uses of `own`.
        let other = side.full([N], 2_u32)?;
        side.copy(&other, &mut z)?;
        c.wait_for(&side)
    });
    assert_eq!(apart, 2 * BYTES);
}

fn after_a_join(subject: &Subject) {
    let (ctx, queue) = subject.with_queue_under(Policy::Unchecked, "main");
    let mut y = ctx.zeros::<u32, 1>([N]).unwrap();
    ctx.synchronize().wait().unwrap();
    let shared = kept(&ctx, &queue, |c| {
        let side = c.fork("side");
        let own = side.full([N], 1_u32)?;
        side.copy(&own, &mut y)?;
        drop(own);
        c.wait_for(&side)?;
        let own = c.full([N], 2_u32)?;
        c.copy(&own, &mut y)?;
        drop(own);
        let later = c.fork("later");
        let own = later.full([N], 3_u32)?;
        later.copy(&own, &mut y)?;
        c.wait_for(&later)
    });
    assert_eq!(shared, BYTES);
    assert_eq!(queue.read(&y).wait().unwrap(), [3; N]);
}

fn other_users(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let other = ctx.queue("other");
    let mut y = ctx.zeros::<u32, 1>([N]).unwrap();
    // A slice keeps the array alive.
    let sliced = kept(&ctx, &queue, |c| {
        let own = c.full([N], 1_u32)?;
        let part = own.slice(0..N / 2)?;
        drop(own);
        c.full([N], 2_u32).map(drop)?;
        c.copy(&part, &mut y.slice(0..N / 2)?)
    });
    assert_eq!(sliced, 2 * BYTES);
    // A graph that was captured meanwhile uses the first array.
    let mut inner = None;
    let with_child = kept(&ctx, &queue, |c| {
        let mut own = c.full([N], 1_u32)?;
        inner = Some(other.capture(|d| d.fill(&mut own, 9))?.0);
        drop(own);
        let second = c.full([N], 2_u32)?;
        other.replay(inner.as_ref().expect("captured"))?;
        c.copy(&second, &mut y)?;
        inner = None;
        Ok(())
    });
    assert_eq!(with_child, 2 * BYTES);
    assert_eq!(queue.read(&y).wait().unwrap(), [2; N]);
    // A command outside of the capture uses the first array.
    let with_eager = kept(&ctx, &queue, |c| {
        let mut own = c.full([N], 1_u32)?;
        other.fill(&mut own, 9)?;
        drop(own);
        let second = c.full([N], 2_u32)?;
        c.copy(&second, &mut y)
    });
    assert_eq!(with_eager, 2 * BYTES);
}

fn results(subject: &Subject) {
    // Only the order of the capture keeps the temporaries apart.
    let (ctx, queue) = subject.with_queue_under(Policy::Unchecked, "main");
    let x = ctx.full([N], 3_u32).unwrap();
    ctx.synchronize().wait().unwrap();
    let chain = |on: &CommandQueue, a: u32| -> Result<DeviceArray<u32>> {
        let mut last = on.full([N], a)?;
        for b in 0..6 {
            let mut next = on.full([N], b)?;
            on.mix(a, 1, &last, &mut next)?;
            on.mix(1, b, &x, &mut next)?;
            last = next;
        }
        Ok(last)
    };
    let right = |a: u32| (0..6).fold(a, |last, b| Mix::of(1, b, 3, Mix::of(a, 1, last, b)));
    let (graph, outputs) = queue.graph_of(|c| {
        let forks: Vec<_> = (0..4).map(|at| c.fork(&format!("fork {at}"))).collect();
        let ends = forks.iter().zip(2..).map(|(fork, a)| chain(fork, a)).collect::<Result<Vec<_>>>()?;
        forks.iter().try_for_each(|fork| c.wait_for(fork))?;
        let own = chain(c, 9)?;
        let outputs =
            ends.iter().chain([&own]).zip(0..).map(|(end, at)| c.read_as(&format!("end {at}"), end));
        outputs.collect::<Result<Vec<_>>>()
    });
    for _ in 0..10 {
        let run = queue.replay(&graph).unwrap();
        for (output, a) in outputs.iter().zip([2, 3, 4, 5, 9]) {
            assert_eq!(run.read(output).unwrap().wait().unwrap(), [right(a); N]);
        }
    }
}

fn on_another_queue(subject: &Subject) {
    for policy in [Policy::Unchecked, Policy::Checked, Policy::Ordered] {
        let (ctx, queue) = subject.with_queue_under(policy, "main");
        let [mut y, mut z] = [(); 2].map(|()| ctx.zeros::<u32, 1>([N]).unwrap());
        ctx.synchronize().wait().unwrap();
        let (graph, ()) = queue.graph_of(|c| {
            let side = c.fork("side");
            let own = c.full([N], 1_u32)?;
            c.copy(&own, &mut y)?;
            drop(own);
            // The array gets the memory of `own`, and its first use is on a queue that does not wait for `c`.
            let mut own = c.empty::<u32, 1>([N])?;
            side.fill(&mut own, 2)?;
            side.copy(&own, &mut z)?;
            c.wait_for(&side)
        });
        for _ in 0..10 {
            assert_eq!(queue.read_after(&graph, &y), [1; N]);
            assert_eq!(queue.read(&z).wait().unwrap(), [2; N]);
        }
    }
}

/// Enqueues the work of a helper, which makes arrays in each call.
fn help(queue: &CommandQueue, x: &mut DeviceArray<u32>) -> Result<()> {
    let list: Vec<u32> = (0..N as u32).collect();
    let mut fours = queue.zeros::<u32, 1>([N])?;
    let threes = queue.full([N], 3_u32)?;
    queue.mix(1, 1, &threes, &mut fours)?;
    let mut sums = queue.empty::<u32, 1>([N])?;
    queue.scan(&fours, &mut sums, Scan::inclusive(Operation::Sum))?;
    drop((threes, fours));
    let list = queue.array(&list)?;
    queue.mix(3, 0, &sums, x)?;
    queue.mix(1, 0, &list, x)
}

fn in_bodies(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let [mut looped, mut eager] = [(); 2].map(|()| queue.full([N], 1_u32).unwrap());
    let mut count = queue.full([1], 2_u32).unwrap();
    ctx.synchronize().wait().unwrap();
    let before = ctx.pool().stats().used;
    let times = count.clone();
    for bound in [Bound::AtMost(4), Bound::Chunked(100)] {
        let (graph, _) = queue.graph_of(|c| {
            c.repeat(&times, bound, |body| {
                let side = body.fork("side");
                help(&side, &mut looped)?;
                body.wait_for(&side)?;
                body.if_(&times, |body| help(body, &mut looped))
            })
        });
        for rounds in [2, 0, 3] {
            queue.fill(&mut count, rounds).unwrap();
            queue.replay(&graph).unwrap();
            (0..2 * rounds).for_each(|_| help(&queue, &mut eager).unwrap());
            let found = queue.read(&looped).wait().unwrap();
            assert!(found == queue.read(&eager).wait().unwrap(), "{rounds} rounds, {bound:?}");
        }
        drop(graph);
        has_returned(&ctx, before);
    }
    queue.repeat(&times, Bound::AtMost(4), |body| help(body, &mut looped)).unwrap();
    (0..3).for_each(|_| help(&queue, &mut eager).unwrap());
    assert!(queue.read(&looped).wait().unwrap() == queue.read(&eager).wait().unwrap());
    has_returned(&ctx, before);
    // A file has the arrays of the body too.
    let (graph, _) = queue.graph_of(|c| {
        let times = c.full([1], 2_u32)?;
        let mut own = c.full([N], 1_u32)?;
        c.repeat(&times, Bound::AtMost(4), |body| help(body, &mut own))?;
        c.read_as("own", &own)
    });
    let loaded = Graph::from_bytes(&ctx, &graph.to_bytes().unwrap()).unwrap();
    let output = loaded.output::<u32>("own").unwrap();
    queue.fill(&mut eager, 1).unwrap();
    (0..2).for_each(|_| help(&queue, &mut eager).unwrap());
    assert!(queue.output_of(&loaded, &output) == queue.read(&eager).wait().unwrap());
}

fn after_a_body(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let mut x = queue.full([N], 5_u32).unwrap();
    let mut y = queue.full([N], 0_u32).unwrap();
    let yes = queue.full([1], 1_u32).unwrap();
    // The graph gets memory with other bytes.
    drop([(); 3].map(|()| queue.full([N], 9_u32).unwrap()));
    ctx.synchronize().wait().unwrap();
    let before = ctx.pool().stats().used;
    let mut kept = None;
    let (graph, ()) = queue.graph_of(|c| {
        c.if_(&yes, |body| {
            let mut own = body.empty::<u32, 1>([N])?;
            body.copy(&x, &mut own)?;
            kept = Some(own);
            Ok(())
        })?;
        // A later array of the capture does not get the memory.
        let other = c.full([N], 7_u32)?;
        c.copy(&other, &mut y)
    });
    let kept = kept.expect("the body is captured");
    assert_eq!(queue.read(&kept).wait().unwrap(), [0; N], "before the first replay");
    assert_eq!(queue.read_after(&graph, &y), [7; N]);
    queue.fill(&mut x, 6).unwrap();
    assert_eq!(queue.read(&kept).wait().unwrap(), [5; N]);
    assert_eq!(queue.read_after(&graph, &kept), [6; N]);
    drop(graph);
    assert_eq!(queue.read(&kept).wait().unwrap(), [6; N], "the array is there without the graph");
    drop(kept);
    has_returned(&ctx, before);
}
