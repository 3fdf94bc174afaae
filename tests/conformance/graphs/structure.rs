//! G02: the shapes of graphs: roots, forks, empty graphs, host callbacks, graphs inside graphs.

use crate::common::kernels::{Mix, tick};
use crate::common::{Calls, Case, Subject, assert_error, assert_says, case};
use fencepost::prelude::*;
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub fn cases() -> Vec<Case> {
    vec![
        case("g02_a_graph_has_several_roots_and_ends", several_roots),
        case("g02_functions_of_the_host_may_be_first_last_and_next_to_each_other", host_functions),
        case("g02_empty_queues_and_empty_graphs_order_others", empty),
        case("g02_a_graph_is_a_child_of_two_parents_and_runs_alone", two_parents),
        case("g02_the_outputs_of_two_copies_of_a_child_are_those_of_the_last", child_twice),
        case("g02_graphs_nest_three_deep", nested),
        case("g02_graphs_with_a_common_child_take_turns_in_a_capture", common_child),
        case("g04_a_replay_waits_for_a_graph_that_has_the_same_child", turns_of_children),
        case("g02_a_child_on_a_fork_comes_after_its_fork_only", child_on_a_fork),
        case("g02_the_queues_of_a_diamond_run_in_the_order_of_its_edges", diamond),
        case("g02_a_long_chain_of_nodes_runs_in_order", long_chain),
        case("g02_an_event_is_recorded_again_inside_a_capture", recorded_again),
    ]
}

const N: usize = 64;

fn several_roots(subject: &Subject) {
    let (ctx, queue) = subject.with_queue_under(Policy::Unchecked, "main");
    let arrays: Vec<DeviceArray<u32>> = (0..5).map(|_| ctx.zeros([N]).unwrap()).collect();
    ctx.synchronize().wait().unwrap();
    let (graph, ()) = queue.graph_of(|c| {
        let forks: Vec<_> = (0..5).map(|at| c.fork(&format!("root {at}"))).collect();
        for ((fork, array), value) in forks.iter().zip(&arrays).zip(1..) {
            fork.fill(&mut array.clone(), value)?;
        }
        forks.iter().try_for_each(|fork| c.wait_for(fork))
    });
    for _ in 0..3 {
        arrays.iter().for_each(|array| queue.fill(&mut array.clone(), 0).unwrap());
        queue.replay(&graph).unwrap();
        for (array, value) in arrays.iter().zip(1..) {
            assert_eq!(queue.read(array).wait().unwrap(), [value; N]);
        }
    }
}

fn host_functions(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let log = Arc::new(Mutex::new(Vec::new()));
    let note = |name: &'static str, look: Event| {
        let log = log.clone();
        move || log.lock().unwrap().push((name, look.is_complete().unwrap()))
    };
    let mut x = ctx.zeros::<u32, 1>([N]).unwrap();
    queue.finish().wait().unwrap();
    let before = queue.marker();
    let (graph, ()) = queue.graph_of(|c| {
        c.host(note("first", before.clone()))?;
        c.fill(&mut x, 1)?;
        c.host(note("middle", before.clone()))?;
        c.host(note("next", before.clone()))?;
        c.fill(&mut x, 2)?;
        c.host(note("last", before.clone()))
    });
    for round in 1..4 {
        let run = queue.replay(&graph).unwrap();
        run.wait().unwrap();
        let names: Vec<_> = log.lock().unwrap().iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["first", "middle", "next", "last"].repeat(round));
        assert!(log.lock().unwrap().iter().all(|(_, done)| *done));
        assert_eq!(queue.read(&x).wait().unwrap(), [2; N]);
    }
    // A graph of callbacks only.
    let (alone, ()) = queue.capture(|c| c.host(note("alone", before.clone()))).unwrap();
    queue.replay(&alone).unwrap().wait().unwrap();
    assert_eq!(log.lock().unwrap().last().unwrap().0, "alone");
    // The callbacks of a child run at its place, once for each of its copies.
    log.lock().unwrap().clear();
    let (parent, ()) = queue.graph_of(|c| {
        c.replay(&alone)?;
        c.fill(&mut x, 5)?;
        c.replay(&graph)?;
        c.replay(&alone).map(drop)
    });
    queue.replay(&parent).unwrap().wait().unwrap();
    let names: Vec<_> = log.lock().unwrap().iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["alone", "first", "middle", "next", "last", "alone"]);
}

fn empty(subject: &Subject) {
    let (ctx, queue) = subject.with_queue_under(Policy::Unchecked, "main");
    let [mut x, mut y] = [(); 2].map(|()| ctx.zeros::<u32, 1>([N]).unwrap());
    ctx.synchronize().wait().unwrap();
    let (nothing, ()) = queue.capture(|_| Ok(())).unwrap();
    let (graph, ()) = queue.graph_of(|c| {
        // The order goes through a queue without work, a child without nodes, and an empty launch.
        let first = c.fork("first");
        let between = c.fork("between");
        let last = c.fork("last");
        first.fill(&mut x, 6)?;
        between.wait_for(&first)?;
        between.replay(&nothing)?;
        between.fill(&mut x.slice(3..3)?, 9)?;
        last.wait_for(&between.marker())?;
        last.copy(&x, &mut y)?;
        c.wait_for(&last)
    });
    for _ in 0..5 {
        queue.fill(&mut x, 0).unwrap();
        queue.replay(&nothing).unwrap();
        assert_eq!(queue.read_after(&graph, &y), [6; N]);
    }
}

fn two_parents(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let one = ctx.full([N], 1_u32).unwrap();
    let [mut count, mut y] = [(); 2].map(|()| ctx.zeros::<u32, 1>([N]).unwrap());
    // The child has its own memory.
    let (child, own) = queue.graph_of(|c| {
        let mut own = c.zeros::<u32, 1>([N])?;
        c.copy(&count, &mut own)?;
        c.mix(1, 0, &one, &mut own)?;
        c.copy(&own, &mut count)?;
        c.read_as("own", &own)
    });
    let (first, ()) = queue.capture(|c| c.replay(&child).map(drop)).unwrap();
    let (second, ()) = queue.graph_of(|c| {
        c.replay(&child)?;
        c.copy(&count, &mut y)?;
        c.replay(&child).map(drop)
    });
    let other = ctx.queue("other");
    let mut right = 0;
    for _ in 0..3 {
        queue.replay(&first).unwrap();
        other.replay(&second).unwrap();
        let alone = queue.replay(&child).unwrap();
        right += 4;
        assert_eq!(alone.read(&own).unwrap().wait().unwrap(), [right; N]);
    }
    assert_eq!(queue.read(&count).wait().unwrap(), [right; N]);
    assert_eq!(queue.read(&y).wait().unwrap(), [right - 2; N]);
    // The parents keep the child's memory.
    drop(child);
    assert_eq!(other.output_of(&second, &own), [right + 2; N]);
}

fn child_twice(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let x = ctx.zeros::<u32, 1>([N]).unwrap();
    let (child, shown) = queue.capture(|c| c.read_as("x", &x)).unwrap();
    let (graph, after) = queue.graph_of(|c| {
        c.fill(&mut x.clone(), 1)?;
        c.replay(&child)?;
        c.fill(&mut x.clone(), 2)?;
        c.replay(&child)?;
        c.fill(&mut x.clone(), 3)?;
        c.read_as("after", &x)
    });
    let run = queue.replay(&graph).unwrap();
    assert_eq!(run.read(&shown).unwrap().wait().unwrap(), [2; N]);
    assert_eq!(run.read(&after).unwrap().wait().unwrap(), [3; N]);
    // An output belongs to its graph.
    assert_says(queue.replay(&child).unwrap().read(&after), "after");
}

fn nested(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let one = ctx.full([N], 1_u32).unwrap();
    let mut y = ctx.zeros::<u32, 1>([N]).unwrap();
    let (mut graph, ()) = queue.graph_of(|c| c.mix(2, 0, &one, &mut y));
    for _ in 0..3 {
        (graph, _) = queue.graph_of(|c| {
            c.replay(&graph)?;
            c.replay(&graph).map(drop)
        });
    }
    assert_eq!(graph.nodes(), 8);
    queue.replay(&graph).unwrap();
    let right = (0..8).fold(0, |y, _| Mix::of(2, 0, 1, y));
    assert_eq!(queue.read(&y).wait().unwrap(), [right; N]);
}

/// Captures `y += 1` through memory of the graph, and two graphs that replay that one: the second in a condition.
fn with_common_child(ctx: &Context, queue: &CommandQueue, y: &DeviceArray<u32>) -> [Graph; 2] {
    let one = ctx.full([N], 1_u32).unwrap();
    let (child, ()) = queue.graph_of(|c| {
        let mut own = c.zeros::<u32, 1>([N])?;
        c.copy(y, &mut own)?;
        c.mix(1, 0, &one, &mut own)?;
        c.copy(&own, &mut y.clone())
    });
    let go = ctx.full([1], 1_u32).unwrap();
    let first = queue.capture(|c| c.replay(&child).map(drop)).unwrap().0;
    let second = queue.capture(|c| c.if_(&go, |body| body.replay(&child).map(drop))).unwrap().0;
    [first, second]
}

/// Replays two graphs with a common child on unordered forks. If the replays did not take turns, under `Unchecked` both
/// would use the child's memory at once.
fn common_child(subject: &Subject) {
    let (ctx, queue) = subject.with_queue_under(Policy::Unchecked, "main");
    let mut y = ctx.zeros::<u32, 1>([N]).unwrap();
    let [first, second] = with_common_child(&ctx, &queue, &y);
    let both = queue.capture(|c| {
        let sides = [c.fork("one side"), c.fork("other side")];
        sides[0].replay(&second)?;
        sides[1].replay(&first)?;
        c.wait_for(&[sides[0].marker(), sides[1].marker()])
    });
    let both = both.unwrap().0;
    let levels = |graph: &Graph| graph.statistics().levels;
    assert!(levels(&both) >= levels(&second) + levels(&first), "{}", both.to_text());
    for round in 1..4 {
        assert_eq!(queue.read_after(&both, &y), [2 * round; N]);
    }
    queue.fill(&mut y, 0).unwrap();
}

fn turns_of_children(subject: &Subject) {
    let (ctx, queue) = subject.with_queue_under(Policy::Unchecked, "main");
    let held = ctx.queue("held");
    let y = ctx.zeros::<u32, 1>([N]).unwrap();
    queue.finish().wait().unwrap();
    let [first, second] = with_common_child(&ctx, &queue, &y);
    let gate = held.hold();
    held.replay(&second).unwrap();
    let after = queue.replay(&first).unwrap();
    let mut waited = queue.finish();
    // A replay that did not wait for its turn would complete in this time.
    assert!(waited.wait_timeout(Duration::from_millis(50)).unwrap().is_none());
    assert!(!after.event().is_complete().unwrap());
    gate.signal();
    after.wait().unwrap();
    assert_eq!(queue.read(&y).wait().unwrap(), [2; N]);
}

fn child_on_a_fork(subject: &Subject) {
    let (ctx, queue) = subject.with_queue_under(Policy::Checked, "main");
    let [mut x, mut y] = [(); 2].map(|()| ctx.zeros::<u32, 1>([N]).unwrap());
    let (child, ()) = queue.capture(|c| c.copy(&x, &mut y)).unwrap();
    // The child is on a fork that does not wait for the fill.
    let error = queue.capture(|c| {
        let side = c.fork("side");
        c.fill(&mut x, 4)?;
        side.replay(&child)?;
        c.wait_for(&side)
    });
    assert_error!(error, fencepost::ErrorDetail::Hazard { .. });
    let (graph, ()) = queue.graph_of(|c| {
        let side = c.fork("side");
        c.fill(&mut x, 4)?;
        side.wait_for(c)?;
        side.replay(&child)?;
        c.wait_for(&side)?;
        c.fill(&mut y.slice(0..1)?, 5)
    });
    queue.replay(&graph).unwrap();
    let found = queue.read(&y).wait().unwrap();
    assert_eq!((found[0], &found[1..]), (5, &[4; N - 1][..]));
}

fn diamond(subject: &Subject) {
    let (ctx, queue) = subject.with_queue_under(Policy::Unchecked, "main");
    let tick = tick(&ctx);
    let mut clock = ctx.zeros::<u32, 1>([1]).unwrap();
    let ticks = ctx.zeros::<u32, 1>([8]).unwrap();
    ctx.synchronize().wait().unwrap();
    let note = |on: &CommandQueue, at: u32| {
        on.launch_dyn(
            &tick,
            Grid::groups([1]),
            args![at = at, clock = &mut clock.clone(), ticks = &mut ticks.clone()],
        )
    };
    let (graph, ()) = queue.graph_of(|c| {
        let left = c.fork("left");
        let right = c.fork("right");
        note(c, 0)?;
        left.wait_for(c)?;
        right.wait_for(c)?;
        for at in [1, 2, 3] {
            note(&left, at)?;
        }
        right.wait_for(&left)?;
        for at in [4, 5] {
            note(&right, at)?;
        }
        c.wait_for(&[left.marker(), right.marker()])?;
        note(c, 6)
    });
    for _ in 0..5 {
        queue.fill(&mut clock, 0).unwrap();
        assert_eq!(queue.read_after(&graph, &ticks), [1, 2, 3, 4, 5, 6, 7, 0]);
    }
}

fn long_chain(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let one = ctx.full([N], 1_u32).unwrap();
    let mut y = ctx.zeros::<u32, 1>([N]).unwrap();
    let (graph, ()) = queue.graph_of(|c| {
        for a in 0..2000 {
            c.mix(3, a, &one, &mut y)?;
        }
        Ok(())
    });
    let mut right = 0;
    for _ in 0..2 {
        queue.replay(&graph).unwrap();
        right = (0..2000).fold(right, |y, b| Mix::of(3, b, 1, y));
        assert_eq!(queue.read(&y).wait().unwrap(), [right; N]);
    }
}

fn recorded_again(subject: &Subject) {
    let (ctx, queue) = subject.with_queue_under(Policy::Unchecked, "main");
    let [mut x, mut y] = [(); 2].map(|()| ctx.zeros::<u32, 1>([N]).unwrap());
    ctx.synchronize().wait().unwrap();
    let event = ctx.event();
    let (graph, ()) = queue.graph_of(|c| {
        let side = c.fork("side");
        // An event that was never recorded has no effect on the order.
        side.wait_for(&event)?;
        event.record(c)?;
        c.fill(&mut x, 8)?;
        event.record(c)?;
        side.wait_for(&event)?;
        side.copy(&x, &mut y)?;
        c.wait_for(&side)
    });
    for _ in 0..5 {
        queue.fill(&mut x, 0).unwrap();
        assert_eq!(queue.read_after(&graph, &y), [8; N]);
    }
    // Recording the event outside the capture makes it an ordinary event again.
    assert!(event.wait().is_err());
    event.record(&queue).unwrap();
    event.wait().unwrap();
}
