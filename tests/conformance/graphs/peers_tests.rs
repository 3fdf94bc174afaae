//! G02 to G10: requirements of the tests of other systems, which `docs/peers-tests.md` lists.

use crate::common::kernels::{Iota, Mix};
use crate::common::thread;
use crate::common::{Calls, Case, ONE_THREAD, Subject, case};
use crate::graphs::control::iterations_of;
use crate::graphs::temporaries::has_returned;
use fencepost::graph::Loop;
use fencepost::prelude::*;
use fencepost::{Bound, Graph, Output, Result};

pub fn cases() -> Vec<Case> {
    vec![
        case("g02_workgroup_counts_come_from_uploads_fills_and_launches_of_the_graph", counts),
        case("g02_what_the_program_decides_is_decided_at_the_capture", frozen),
        case("g04_two_hundred_replays_follow_each_other_without_a_wait", rapid),
        case("g04_an_array_is_made_bound_and_dropped_in_each_round", cycle),
        case("g05_a_held_replay_keeps_its_bindings_and_values", held),
        case("g05_eight_threads_edit_their_own_handles_of_a_graph", edits_of_threads)
            .not_in_a_page(ONE_THREAD),
        case("g06_loops_follow_each_other_with_work_before_between_and_after", siblings),
        case("g06_the_two_halves_count_in_turn_for_one_loop", alternating),
        case("g10_a_graph_is_dropped_while_either_half_of_a_condition_executes", halves_dropped),
    ]
}

const N: usize = 64;

/// Captures `y = a y + x + b` with the input `x` and the value `b`, and returns `y` as an output.
fn mixing(queue: &CommandQueue, x: &DeviceArray<u32>) -> (Graph, Output<u32>) {
    queue.graph_of(|c| {
        let x = c.input("x", x)?;
        let b = c.value("b", 1_u32)?;
        let mut y = c.full([N], 2_u32)?;
        c.mix(3, b.get(), &x, &mut y)?;
        c.parameter("b", &b)?;
        c.label_node("mix")?;
        c.read_as("y", &y)
    })
}

/// Adds `b` to each element of `y`.
fn add(queue: &CommandQueue, y: &DeviceArray<u32>, b: u32, nothing: &DeviceArray<u32>) -> Result<()> {
    queue.mix(1, b, &nothing.slice(0..y.len())?, &mut y.clone())
}

fn counts(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let iota = ctx.kernel::<Iota>().unwrap();
    let group = iota.workgroup()[0] as usize;
    let outs: Vec<DeviceArray<u32>> = (0..3).map(|_| ctx.zeros([12 * group]).unwrap()).collect();
    let (graph, ()) = queue.graph_of(|c| {
        let counts = c.zeros::<u32, 1>([9])?;
        c.upload(&[2_u32, 1, 1], &mut counts.slice(0..3)?)?;
        c.fill(&mut counts.slice(3..6)?, 2)?;
        // The launch writes 1, 2 and 3.
        let mut written = c.zeros::<u32, 1>([3])?;
        c.launch(&iota, Grid::threads([3]), Iota { start: 1, step: 1, out: &mut written })?;
        for (at, out) in outs.iter().enumerate() {
            c.fill(&mut out.clone(), 0)?;
            let grid = if at < 2 { Grid::indirect(&counts, 3 * at) } else { Grid::indirect(&written, 0) };
            c.launch(&iota, grid, Iota { start: 1, step: 0, out: &mut out.clone() })?;
        }
        Ok(())
    });
    for _ in 0..2 {
        queue.replay(&graph).unwrap();
        for (out, groups) in outs.iter().zip([2, 8, 6]) {
            let found = queue.read(out).wait().unwrap();
            assert_eq!(found.iter().filter(|&&n| n == 1).count(), groups * group);
        }
    }
}

/// Changes variables, branches, slices and shapes of the caller after the capture.
fn frozen(subject: &Subject) {
    let (_ctx, queue) = subject.with_queue("main");
    let mut x = queue.full([N], 1_u32).unwrap();
    let mut scale = 5_u32;
    let mut branch = true;
    let mut part = 0..8;
    let mut bytes = vec![7_u32; 8];
    let (graph, ()) = queue.graph_of(|c| {
        c.fill(&mut x, scale)?;
        if branch {
            c.upload(&bytes, &mut x.slice(part.clone())?)?;
        }
        Ok(())
    });
    let first = x.clone();
    (scale, branch, part) = (9, false, 8..16);
    bytes.fill(scale);
    x = queue.full([N], 2_u32).unwrap(); // the graph keeps the array of the capture
    for _ in 0..2 {
        queue.fill(&mut first.clone(), 0).unwrap();
        queue.replay(&graph).unwrap();
        let mut right = [5; N];
        right[..8].fill(7);
        assert_eq!(queue.read(&first).wait().unwrap(), right, "{branch} {part:?}");
        assert_eq!(queue.read(&x).wait().unwrap(), [2; N]);
    }
}

fn rapid(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let [nothing, y] = [(); 2].map(|()| ctx.zeros::<u32, 1>([N]).unwrap());
    let (graph, ()) = queue.capture(|c| add(c, &y, 1, &nothing)).unwrap();
    for _ in 0..200 {
        queue.replay(&graph).unwrap();
        queue.flush().unwrap();
    }
    assert_eq!(queue.read(&y).wait().unwrap(), [200; N]);
}

fn cycle(subject: &Subject) {
    let queue = subject.ctx().queue("main");
    let (graph, shown) = mixing(&queue, &queue.full([N], 0_u32).unwrap());
    let mut runs = Vec::new();
    for round in 0..30_u32 {
        let x = queue.full([N], round).unwrap();
        runs.push(queue.replay(&graph.with().input("x", &x).unwrap()).unwrap());
        drop(x); // the next array may take the memory, after the replay
    }
    for (round, run) in (0_u32..).zip(&runs) {
        assert_eq!(run.read(&shown).unwrap().wait().unwrap(), [Mix::of(3, 1, round, 2); N]);
    }
}

fn held(subject: &Subject) {
    let queue = subject.ctx().queue("main");
    let arrays = [10, 20].map(|value| queue.full([N], value).unwrap());
    let (mut graph, shown) = mixing(&queue, &arrays[0]);
    queue.finish().wait().unwrap();
    let gate = queue.hold();
    let bound = graph.with().input("x", &arrays[1]).unwrap().value("b", 100_u32).unwrap();
    let runs = [queue.replay(&graph).unwrap(), queue.replay(&bound).unwrap()];
    let again = bound.value("b", 200_u32).unwrap();
    let third = queue.replay(&again).unwrap();
    graph.edit().unwrap().input("x", &arrays[1]).unwrap().value("b", 5_u32).unwrap().apply().unwrap();
    let fourth = queue.replay(&graph).unwrap();
    drop((graph, arrays));
    gate.signal();
    let right = [(10, 1), (20, 100), (20, 200), (20, 5)];
    for (run, (x, b)) in runs.iter().chain([&third, &fourth]).zip(right) {
        assert_eq!(run.read(&shown).unwrap().wait().unwrap(), [Mix::of(3, b, x, 2); N]);
    }
}

fn edits_of_threads(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let default = queue.full([N], 1_u32).unwrap();
    let (graph, shown) = mixing(&queue, &default);
    let queues: Vec<_> = (0..4).map(|at| ctx.queue(&format!("queue {at}"))).collect();
    thread::scope(|scope| {
        for at in 0..8_u32 {
            let mut own = graph.clone();
            let shown = &shown;
            let queue = &queues[at as usize % 4];
            scope.spawn(move || {
                for round in 0..5 {
                    let x = queue.full([N], 10 * at + round).unwrap();
                    own.edit().unwrap().input("x", &x).unwrap().value("b", round).unwrap().apply().unwrap();
                    let run = queue.replay(&own).unwrap();
                    let right = Mix::of(3, round, 10 * at + round, 2);
                    assert_eq!(run.read(shown).unwrap().wait().unwrap(), [right; N]);
                }
            });
        }
    });
    // The caller's handle still has the graph as captured.
    assert_eq!(queue.output_of(&graph, &shown), [Mix::of(3, 1, 1, 2); N]);
}

fn siblings(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let nothing = ctx.zeros::<u32, 1>([N]).unwrap();
    let words: Vec<DeviceArray<u32>> = (0..3).map(|_| queue.full([1], 0_u32).unwrap()).collect();
    let [left, once, each] = &words[..] else { unreachable!() };
    let (graph, loops) = queue.graph_of(|c| {
        let mut loops: Vec<Loop> = Vec::new();
        for start in [3, 0, 2] {
            add(c, once, 1, &nothing)?;
            c.fill(&mut left.clone(), start)?;
            loops.push(c.while_(left, Bound::AtMost(4), |body| {
                add(body, each, 1, &nothing)?;
                add(body, left, u32::MAX, &nothing)
            })?);
        }
        add(c, once, 100, &nothing)?;
        Ok(loops)
    });
    for round in 1..4 {
        let run = queue.replay(&graph).unwrap();
        assert_eq!(queue.read(once).wait().unwrap(), [103 * round]);
        assert_eq!(queue.read(each).wait().unwrap(), [5 * round]);
        let counts = loops.iter().map(|of| iterations_of(&run, of));
        assert_eq!(counts.collect::<Vec<_>>(), [3, 0, 2]);
    }
}

/// Counts down one of two counters in each iteration, chosen by a flag on the device that each iteration flips.
fn alternating(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let nothing = ctx.zeros::<u32, 1>([N]).unwrap();
    let words: Vec<DeviceArray<u32>> = (0..4).map(|_| queue.full([1], 0_u32).unwrap()).collect();
    let [left, flag, first, second] = &words[..] else { unreachable!() };
    let (graph, rounds) = queue.graph_of(|c| {
        c.fill(&mut flag.clone(), 1)?;
        c.do_while(left, Bound::AtMost(9), |body| {
            body.if_else(
                flag,
                |body| {
                    add(body, first, 1, &nothing)?;
                    body.fill(&mut flag.clone(), 0)
                },
                |body| {
                    add(body, second, 1, &nothing)?;
                    body.fill(&mut flag.clone(), 1)
                },
            )?;
            add(body, left, u32::MAX, &nothing)
        })
    });
    let mut ones = 0;
    let mut twos = 0;
    for start in [5, 1, 8] {
        queue.fill(&mut left.clone(), start).unwrap();
        let run = queue.replay(&graph).unwrap();
        ones += start.div_ceil(2);
        twos += start / 2;
        assert_eq!(iterations_of(&run, &rounds), start);
        assert_eq!(queue.read(first).wait().unwrap(), [ones]);
        assert_eq!(queue.read(second).wait().unwrap(), [twos]);
    }
}

fn halves_dropped(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let flag = queue.full([1], 0_u32).unwrap();
    let y = queue.full([N], 0_u32).unwrap();
    ctx.synchronize().wait().unwrap();
    let before = ctx.pool().stats().used;
    for value in [0, 1, 2] {
        let (graph, shown) = queue.graph_of(|c| {
            let own = [c.full([N], 30_u32)?, c.full([N], 40_u32)?];
            let copy = |from: DeviceArray<u32>| {
                let mut y = y.clone();
                move |body: &fencepost::Capture| body.copy(&from, &mut y)
            };
            let [yes, no] = own;
            c.if_else(&flag, copy(yes), copy(no))?;
            c.read_as("y", &y)
        });
        queue.fill(&mut flag.clone(), value).unwrap();
        let run = queue.replay(&graph).unwrap();
        queue.flush().unwrap();
        drop(graph);
        // Arrays made now do not get the memory of the replay.
        let others: Vec<_> = (0..4).map(|other| ctx.queue("other").full([N], 90 + other).unwrap()).collect();
        let right = if value == 0 { 40 } else { 30 };
        assert_eq!(run.read(&shown).unwrap().wait().unwrap(), [right; N]);
        drop((run, others));
        has_returned(&ctx, before);
    }
}
