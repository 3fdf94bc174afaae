//! G04 and G10: replays in flight, with other commands, on several queues and threads.

use crate::common::kernels::Mix;
use crate::common::thread;
use crate::common::{Calls, Case, ONE_THREAD, Subject, case};
use crate::graphs::temporaries::has_returned;
use fencepost::prelude::*;
use fencepost::{Graph, Priority, QueueOptions};
use std::sync::mpsc::channel;

pub fn cases() -> Vec<Case> {
    vec![
        case("g04_eager_commands_between_replays_keep_the_order_of_the_queue", interleaved),
        case("g04_replays_from_eight_threads_count_exactly", eight_threads).not_in_a_page(ONE_THREAD),
        case("g04_a_held_replay_runs_after_the_signal", held),
        case("g04_callbacks_around_replays_see_their_work_complete", callbacks),
        case("g04_priorities_of_the_queue_change_no_result_of_a_replay", priorities),
        case("g04_graphs_and_queues_meet_at_a_barrier", barrier),
        case("g04_the_memory_of_two_graphs_is_apart", two_graphs),
        case("g04_a_replay_on_a_dropped_queue_completes", dropped_queue),
        case("g04_replays_that_are_awaited_complete", awaited),
        case("g10_a_graph_dropped_during_another_capture_does_no_harm", dropped_during_a_capture),
        case("g10_graphs_arrays_and_runs_are_dropped_in_any_order", dropped_in_any_order),
        case("g10_outputs_of_many_runs_outlive_the_graph", outputs_outlive),
    ]
}

const N: usize = 64;

/// Returns a graph that computes `y = 3 * y + 1` through its own memory.
fn step(queue: &CommandQueue, y: &DeviceArray<u32>) -> Graph {
    let captured = queue.capture(|c| {
        let mut own = c.zeros::<u32, 1>([N])?;
        c.copy(y, &mut own)?;
        let one = c.full([N], 1_u32)?;
        c.mix(3, 0, &one, &mut own)?;
        c.copy(&own, &mut y.clone())
    });
    captured.unwrap().0
}

pub(super) fn stepped(y: u32) -> u32 {
    y.wrapping_mul(3).wrapping_add(1)
}

fn interleaved(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let other = ctx.queue("other");
    let two = ctx.full([N], 2_u32).unwrap();
    let y = ctx.zeros::<u32, 1>([N]).unwrap();
    let graph = step(&queue, &y);
    let mut right = 0;
    for round in 0..20 {
        let on = if round % 3 == 0 { &other } else { &queue };
        on.replay(&graph).unwrap();
        let on = if round % 2 == 0 { &other } else { &queue };
        on.mix(5, round, &two, &mut y.clone()).unwrap();
        right = Mix::of(5, round, 2, stepped(right));
        if round % 5 == 4 {
            assert_eq!(other.read(&y).wait().unwrap(), [right; N]);
        }
    }
    assert_eq!(queue.read(&y).wait().unwrap(), [right; N]);
}

fn eight_threads(subject: &Subject) {
    let ctx = subject.ctx();
    let main = ctx.queue("main");
    let y = ctx.zeros::<u32, 1>([N]).unwrap();
    let graph = step(&main, &y);
    let queues: Vec<_> = (0..4).map(|at| ctx.queue(&format!("queue {at}"))).collect();
    thread::scope(|scope| {
        for at in 0..8 {
            let queue = &queues[at % 4];
            let graph = graph.clone();
            let main = &main;
            let y = &y;
            scope.spawn(move || {
                for round in 0..10 {
                    queue.replay(&graph).unwrap();
                    // Captures run at the same time as the replays of other threads.
                    if round % 5 == at % 5 {
                        let (child, ()) = main.capture(|c| c.fill(&mut y.clone(), 0)).unwrap();
                        drop(child);
                    }
                }
            });
        }
    });
    let right = (0..80).fold(0, |y, _| stepped(y));
    assert_eq!(main.read(&y).wait().unwrap(), [right; N]);
}

fn held(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("held");
    let free = ctx.queue("free");
    let [y, z] = [(); 2].map(|()| ctx.zeros::<u32, 1>([N]).unwrap());
    let held = step(&queue, &y);
    let other = step(&queue, &z);
    queue.finish().wait().unwrap();
    let gate = queue.hold();
    let runs: Vec<_> = (0..3).map(|_| queue.replay(&held).unwrap()).collect();
    // Another graph runs meanwhile.
    free.replay(&other).unwrap().wait().unwrap();
    assert!(runs.iter().all(|run| !run.event().is_complete().unwrap()));
    gate.signal();
    runs.iter().for_each(|run| run.wait().unwrap());
    assert_eq!(queue.read(&y).wait().unwrap(), [(0..3).fold(0, |y, _| stepped(y)); N]);
    assert_eq!(queue.read(&z).wait().unwrap(), [1; N]);
}

fn callbacks(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let y = ctx.zeros::<u32, 1>([N]).unwrap();
    let graph = step(&queue, &y);
    let (sender, receiver) = channel();
    let mut runs = Vec::new();
    for round in 0..5 {
        let run = queue.replay(&graph).unwrap();
        let sender = sender.clone();
        let looked = run.clone();
        queue.callback(move || sender.send((round, looked.event().is_complete().unwrap())).unwrap()).unwrap();
        runs.push(run);
    }
    queue.finish().wait().unwrap();
    assert!(receiver.try_iter().eq((0..5).map(|round| (round, true))));
    assert_eq!(queue.read(&y).wait().unwrap(), [(0..5).fold(0, |y, _| stepped(y)); N]);
}

fn priorities(subject: &Subject) {
    let ctx = subject.ctx();
    let make = |priority| ctx.queue_with(QueueOptions::default().priority(priority));
    let queues = [Priority::Low, Priority::Normal, Priority::High].map(make);
    let y = ctx.zeros::<u32, 1>([N]).unwrap();
    let graph = step(&queues[0], &y);
    (0..30).for_each(|at| drop(queues[at % 3].replay(&graph).unwrap()));
    assert_eq!(queues[2].read(&y).wait().unwrap(), [(0..30).fold(0, |y, _| stepped(y)); N]);
}

fn barrier(subject: &Subject) {
    let ctx = subject.ctx_with(Policy::Unchecked);
    let queues: Vec<_> = (0..3).map(|at| ctx.queue(&format!("queue {at}"))).collect();
    let arrays: Vec<DeviceArray<u32>> = (0..3).map(|_| ctx.zeros([N]).unwrap()).collect();
    let sums: Vec<DeviceArray<u32>> = (0..3).map(|_| ctx.zeros([N]).unwrap()).collect();
    ctx.synchronize().wait().unwrap();
    let fills: Vec<_> = (0..3)
        .map(|at| queues[at].capture(|c| c.fill(&mut arrays[at].clone(), at as u32 + 1)).unwrap().0)
        .collect();
    let copies: Vec<_> = (0..3)
        .map(|at| queues[at].capture(|c| c.copy(&arrays[(at + 1) % 3], &mut sums[at].clone())).unwrap().0)
        .collect();
    for _ in 0..5 {
        for (queue, array) in queues.iter().zip(&arrays) {
            queue.fill(&mut array.clone(), 0).unwrap();
        }
        let first: Vec<_> = (0..3).map(|at| queues[at].replay(&fills[at]).unwrap()).collect();
        let events: Vec<Event> = first.iter().map(|run| run.event().clone()).collect();
        queues.iter().for_each(|queue| queue.wait_for(&events).unwrap());
        let second: Vec<_> = (0..3).map(|at| queues[at].replay(&copies[at]).unwrap()).collect();
        let events: Vec<Event> = second.iter().map(|run| run.event().clone()).collect();
        queues.iter().for_each(|queue| queue.wait_for(&events).unwrap());
        for (at, sum) in sums.iter().enumerate() {
            assert_eq!(queues[0].read(sum).wait().unwrap(), [(at as u32 + 1) % 3 + 1; N]);
        }
    }
}

fn two_graphs(subject: &Subject) {
    let ctx = subject.ctx_with(Policy::Unchecked);
    let queues = [ctx.queue("one"), ctx.queue("two")];
    let arrays: [DeviceArray<u32>; 2] = [ctx.zeros([N]).unwrap(), ctx.zeros([N]).unwrap()];
    ctx.synchronize().wait().unwrap();
    let graphs: Vec<_> = queues.iter().zip(&arrays).map(|(queue, array)| step(queue, array)).collect();
    for at in 0..40 {
        queues[at % 2].replay(&graphs[at % 2]).unwrap();
    }
    for (queue, array) in queues.iter().zip(&arrays) {
        assert_eq!(queue.read(array).wait().unwrap(), [(0..20).fold(0, |y, _| stepped(y)); N]);
    }
}

fn dropped_queue(subject: &Subject) {
    let ctx = subject.ctx();
    let y = ctx.zeros::<u32, 1>([N]).unwrap();
    let graph = step(&ctx.queue("capturing"), &y);
    let runs: Vec<_> = (0..5).map(|at| ctx.queue(&format!("queue {at}")).replay(&graph).unwrap()).collect();
    runs.iter().for_each(|run| run.wait().unwrap());
    assert_eq!(ctx.to_vec(&y).unwrap(), [(0..5).fold(0, |y, _| stepped(y)); N]);
}

fn awaited(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let y = ctx.zeros::<u32, 1>([N]).unwrap();
    let (graph, shown) = queue.graph_of(|c| {
        c.fill(&mut y.clone(), 4)?;
        c.read_as("y", &y)
    });
    crate::common::block_on(async {
        let run = queue.replay(&graph).unwrap();
        run.event().clone().await.unwrap();
        assert_eq!(run.read(&shown).unwrap().await.unwrap(), [4; N]);
        // An output is read several times.
        assert_eq!(run.read(&shown).unwrap().await.unwrap(), [4; N]);
    });
}

fn dropped_during_a_capture(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let other = ctx.queue("other");
    let y = ctx.zeros::<u32, 1>([N]).unwrap();
    let first = step(&queue, &y);
    let in_flight = step(&queue, &y);
    let run = other.replay(&in_flight).unwrap();
    let (second, ()) = queue.graph_of(|c| {
        let mut own = c.zeros::<u32, 1>([N])?;
        drop(first);
        drop(in_flight);
        // Arrays made now may get the memory of the dropped graphs.
        let more: Vec<_> = (0..4).map(|value| other.full([N], value).unwrap()).collect();
        c.copy(&y, &mut own)?;
        drop(more);
        c.copy(&own, &mut y.clone())?;
        c.fill(&mut y.slice(0..1)?, 9)
    });
    run.wait().unwrap();
    queue.replay(&second).unwrap();
    let found = queue.read(&y).wait().unwrap();
    assert_eq!((found[0], &found[1..]), (9, &[1; N - 1][..]));
}

fn dropped_in_any_order(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    ctx.synchronize().wait().unwrap();
    let before = ctx.pool().stats().used;
    // Permutations of four handles, as digits.
    let orders = (0..256).map(|n| [n & 3, n >> 2 & 3, n >> 4 & 3, n >> 6 & 3]);
    for order in orders.filter(|order| (0..4).all(|at| order.contains(&at))) {
        let x = queue.full([N], 5_u32).unwrap();
        let (graph, (own, shown)) = queue.graph_of(|c| {
            let mut own = c.zeros::<u32, 1>([N])?;
            c.copy(&x, &mut own)?;
            let shown = c.read_as("own", &own)?;
            Ok((own, shown))
        });
        let run = queue.replay(&graph).unwrap();
        let pending = run.read(&shown).unwrap();
        let mut handles: [Option<Box<dyn std::any::Any>>; 4] =
            [Some(Box::new(x)), Some(Box::new(graph)), Some(Box::new(own)), Some(Box::new(run))];
        for at in order {
            handles[at] = None;
        }
        assert_eq!(pending.wait().unwrap(), [5; N]);
    }
    queue.finish().wait().unwrap();
    has_returned(&ctx, before);
}

fn outputs_outlive(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let mut x = ctx.zeros::<u32, 1>([N]).unwrap();
    let (graph, shown) = queue.capture(|c| c.read_as("x", &x)).unwrap();
    let mut pending = Vec::new();
    for round in 0..20 {
        queue.fill(&mut x, round).unwrap();
        let run = queue.replay(&graph).unwrap();
        if round % 2 == 0 {
            pending.push((round, run.read(&shown).unwrap()));
        }
    }
    drop(graph);
    drop(x);
    for (round, output) in pending {
        assert_eq!(output.wait().unwrap(), [round; N]);
    }
}
