//! G04 and G10: replays as commands of queues, and the memory of graphs.

use crate::common::kernels::Mix;
use crate::common::{Calls, Case, Subject, assert_error, case};
use crate::graphs::temporaries::has_returned;
use fencepost::ErrorDetail;
use fencepost::prelude::*;
use std::time::Duration;
use web_time::Instant;

pub fn cases() -> Vec<Case> {
    vec![
        case("g04_a_hundred_replays_on_four_queues_count_exactly", hundred_replays),
        case("g04_replays_of_one_graph_are_ordered_on_its_own_memory", own_memory),
        case("g04_events_order_the_replays_of_two_graphs", two_graphs),
        case("g04_a_replay_follows_the_policy", policy),
        case("g04_another_queue_comes_after_the_last_of_several_replays", last_replay),
        case("g10_a_graph_keeps_the_memory_of_dropped_arrays", dropped_arrays),
        case("g10_a_graph_may_be_dropped_in_flight", dropped_in_flight),
        case("g10_zeros_in_a_capture_clear_in_each_replay", zeros_each_time),
        case("g10_the_memory_of_a_graph_returns_to_the_pool", memory_returns),
        case("g10_a_context_may_be_dropped_while_a_replay_is_in_flight", dropped_context),
    ]
}

const N: usize = 256;

fn hundred_replays(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let one = queue.full([N], 1_u32).unwrap();
    let mut count = ctx.zeros::<u32, 1>([N]).unwrap();
    let (graph, ()) = queue.graph_of(|c| c.mix(1, 0, &one, &mut count));
    let queues: Vec<CommandQueue> = (0..4).map(|at| ctx.queue(&format!("queue {at}"))).collect();
    let mut expected = 0;
    for at in 0..100 {
        queues[at % 4].replay(&graph).unwrap();
        expected = Mix::of(1, 0, 1, expected);
    }
    assert_eq!(queue.read(&count).wait().unwrap(), [expected; N]);
}

fn last_replay(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let one = queue.full([N], 1_u32).unwrap();
    let [mut count, mut copy] = [(); 2].map(|()| ctx.zeros::<u32, 1>([N]).unwrap());
    let (graph, ()) = queue.graph_of(|c| c.mix(3, 1, &one, &mut count));
    let other = ctx.queue("other");
    let mut expected = 0;
    for _ in 0..3 {
        let gate = queue.hold();
        for _ in 0..4 {
            queue.replay(&graph).unwrap();
            expected = Mix::of(3, 1, 1, expected);
        }
        other.copy(&count, &mut copy).unwrap();
        queue.replay(&graph).unwrap();
        gate.signal();
        assert_eq!(other.read(&copy).wait().unwrap(), [expected; N]);
        expected = Mix::of(3, 1, 1, expected);
    }
    assert_eq!(queue.read(&count).wait().unwrap(), [expected; N]);
}

fn own_memory(subject: &Subject) {
    // Not even `Unchecked` lets two replays use the memory of their graph at once.
    let (ctx, queue) = subject.with_queue_under(Policy::Unchecked, "main");
    let one = queue.full([N], 1_u32).unwrap();
    queue.finish().wait().unwrap();
    let (graph, out) = queue.graph_of(|c| {
        let mut own = c.zeros::<u32, 1>([N])?;
        for _ in 0..8 {
            c.mix(3, 1, &one, &mut own)?;
        }
        c.read_as("own", &own)
    });
    let expected = (0..8).fold(0, |y, _| Mix::of(3, 1, 1, y));
    let queues = [ctx.queue("one"), ctx.queue("two")];
    let runs: Vec<_> = (0..10).map(|at| queues[at % 2].replay(&graph).unwrap()).collect();
    for run in runs {
        assert_eq!(run.read(&out).unwrap().wait().unwrap(), [expected; N]);
    }
}

fn two_graphs(subject: &Subject) {
    let ctx = subject.ctx_with(Policy::Unchecked);
    let one = ctx.queue("one");
    let two = ctx.queue("two");
    let [mut x, mut y] = [(); 2].map(|()| ctx.zeros::<u32, 1>([N]).unwrap());
    let (fill, ()) = one.capture(|c| c.fill(&mut x, 7)).unwrap();
    let (copy, ()) = two.capture(|c| c.copy(&x, &mut y)).unwrap();
    for _ in 0..5 {
        one.fill(&mut x, 0).unwrap();
        let filled = one.replay(&fill).unwrap();
        two.wait_for(filled.event()).unwrap();
        let copied = two.replay(&copy).unwrap();
        one.wait_for(copied.event()).unwrap();
        assert_eq!(two.read(&y).wait().unwrap(), [7; N]);
    }
}

fn policy(subject: &Subject) {
    let ctx = subject.ctx_with(Policy::Checked);
    let one = ctx.queue("one");
    let two = ctx.queue("two");
    let mut x = ctx.zeros::<u32, 1>([N]).unwrap();
    let (graph, ()) = one.capture(|c| c.fill(&mut x, 7)).unwrap();
    one.fill(&mut x, 1).unwrap();
    let error = assert_error!(two.replay(&graph), ErrorDetail::Hazard { .. });
    assert!(error.to_string().contains("graph `one` on queue `two`"), "{error}");
    two.wait_for(&one).unwrap();
    assert_eq!(two.read_after(&graph, &x), [7; N]);
    // Two unordered captured queues are a hazard in the capture.
    let hazard = one.capture(|c| {
        let side = c.fork("side");
        c.fill(&mut x, 1)?;
        side.fill(&mut x, 2)?;
        c.wait_for(&side)
    });
    let error = hazard.unwrap_err();
    let ErrorDetail::Hazard { earlier, later, .. } = error.detail() else { panic!("{error}") };
    assert_eq!((&*earlier.queue, &*later.queue), ("one", "side"));
}

fn dropped_arrays(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let mut y = ctx.zeros::<u32, 1>([N]).unwrap();
    let x = queue.full([N], 5_u32).unwrap();
    let (graph, ()) = queue.capture(|c| c.copy(&x, &mut y)).unwrap();
    drop(x);
    // The pool does not give the memory of `x` to other arrays.
    let others: Vec<_> = (0..8).map(|value| queue.full([N], value).unwrap()).collect();
    assert_eq!(queue.read_after(&graph, &y), [5; N]);
    drop(others);
    let others: Vec<_> = (0..8).map(|value| queue.full([N], value).unwrap()).collect();
    assert_eq!(queue.read_after(&graph, &y), [5; N]);
    drop(others);
}

fn dropped_in_flight(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let mut y = ctx.zeros::<u32, 1>([N]).unwrap();
    let x = queue.full([N], 1_u32).unwrap();
    let (graph, out) = queue.graph_of(|c| {
        let mut own = c.zeros::<u32, 1>([N])?;
        c.copy(&x, &mut own)?;
        c.mix(2, 3, &own, &mut y)?;
        c.read_as("own", &own)
    });
    let run = queue.replay(&graph).unwrap();
    drop(graph);
    drop(x);
    let others: Vec<_> = (0..8).map(|value| queue.full([N], value).unwrap()).collect();
    assert_eq!(queue.read(&y).wait().unwrap(), [Mix::of(2, 3, 1, 0); N]);
    assert_eq!(run.read(&out).unwrap().wait().unwrap(), [1; N]);
    drop(others);
}

fn zeros_each_time(subject: &Subject) {
    let queue = subject.ctx().queue("main");
    let one = queue.full([N], 1_u32).unwrap();
    let (graph, out) = queue.graph_of(|c| {
        let mut own = c.zeros::<u32, 1>([N])?;
        c.mix(1, 4, &one, &mut own)?;
        c.read_as("own", &own)
    });
    for _ in 0..3 {
        assert_eq!(queue.output_of(&graph, &out), [Mix::of(1, 4, 1, 0); N]);
    }
}

fn memory_returns(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let before = ctx.pool().stats().used;
    let x = ctx.zeros::<u32, 1>([N]).unwrap();
    let (graph, own) = queue.graph_of(|c| {
        let own = c.zeros::<u32, 1>([4 * N])?;
        c.copy(&x, &mut own.slice(0..N)?)?;
        Ok(own)
    });
    queue.replay(&graph).unwrap();
    drop((x, own));
    let kept = ctx.pool().stats().used;
    assert!(kept >= before + 5 * 4 * N as u64, "{kept} {before}");
    let run = queue.replay(&graph).unwrap();
    drop(graph);
    run.wait().unwrap();
    drop(run);
    queue.finish().wait().unwrap();
    has_returned(&ctx, before);
}

fn dropped_context(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let watch = ctx.diagnostics().watch();
    let (graph, _) = queue.capture(|c| c.zeros::<u32, 1>([N])).unwrap();
    for _ in 0..10 {
        queue.replay(&graph).unwrap();
    }
    drop(graph);
    drop(queue);
    drop(ctx);
    let end = Instant::now() + Duration::from_secs(30);
    while watch.lives() {
        assert!(Instant::now() < end, "the context did not end");
        crate::common::sleep(Duration::from_millis(1));
    }
}
