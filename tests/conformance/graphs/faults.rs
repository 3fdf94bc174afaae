//! R01, D03 and M10 for graphs: replays on a device that refuses submissions, is lost, or runs out of memory.

use crate::common::kernels::Mix;
use crate::common::{Calls, Case, Subject, assert_error, case};
use crate::graphs::temporaries::has_returned;
use fencepost::prelude::*;
use fencepost::testing::CpuFaults;
use fencepost::{Error, ErrorDetail, Graph, Output, Replay, Result, SimulatorOptions};

pub fn cases() -> Vec<Case> {
    let reason = "only the CPU recorder injects these faults";
    vec![
        case("r01_a_refused_replay_fails_its_queue_and_the_graph_stays_usable", refused).cpu_only(reason),
        case("r01_a_replay_whose_queue_failed_before_is_not_enqueued", failed_before).cpu_only(reason),
        case("d03_a_loss_ends_every_wait_for_a_replay", lost).cpu_only(reason),
        case("m10_a_capture_without_memory_is_an_error_and_the_queue_works", no_memory_to_capture)
            .cpu_only(reason),
        case("m10_a_replay_without_memory_is_an_error_and_the_graph_stays_usable", no_memory_to_replay)
            .cpu_only(reason),
    ]
}

const N: usize = 64;
/// Maximum number of attempts of a call that may be refused, but must succeed in the end.
const PATIENCE: usize = 300;

/// Returns the detail of an error, or of the error of a node.
fn cause(error: &Error) -> &ErrorDetail {
    match error.detail() {
        ErrorDetail::GraphNode { error, .. } => cause(error),
        detail => detail,
    }
}

pub(super) fn is_refused(error: &Error) -> bool {
    let by_faults = "by `CpuFaults::refusals`";
    matches!(cause(error), ErrorDetail::Device { message, .. } if message.contains(by_faults))
}

fn is_lost(error: &Error) -> bool {
    matches!(cause(error), ErrorDetail::DeviceLost { .. })
}

fn is_without_memory(error: &Error) -> bool {
    matches!(cause(error), ErrorDetail::OutOfMemory { .. })
}

/// Repeats an attempt until it is not hit by a fault. The errors of the queue and of the context are taken after each.
fn at_last<T>(ctx: &Context, queue: &CommandQueue, mut attempt: impl FnMut() -> Result<T>) -> T {
    for _ in 0..PATIENCE {
        match attempt() {
            Ok(done) => return done,
            Err(error) => assert!(is_refused(&error), "{error}"),
        }
        queue.take_error();
        while ctx.take_error().is_some() {}
    }
    panic!("still refused after {PATIENCE} times")
}

/// A graph with two outputs, one of them before a host callback.
struct Subgraph {
    graph: Graph,
    first: Output<u32>,
    second: Output<u32>,
}

const FIRST: u32 = 7;

/// Captures a graph of two forks with its own memory.
fn capture(ctx: &Context, queue: &CommandQueue) -> Result<Subgraph> {
    let mix = ctx.kernel::<Mix>()?;
    let (graph, (first, second)) = queue.capture(|c| {
        let side = c.fork("side");
        let own = side.full([N], FIRST)?;
        let mut sum = c.full([N], 1_u32)?;
        c.wait_for(&side)?;
        let first = c.read_as("first", &own)?;
        c.host(|| ())?;
        c.launch(&mix, Grid::threads([N]), Mix { a: 3, b: 2, x: &own, y: &mut sum })?;
        Ok((first, c.read_as("second", &sum)?))
    })?;
    Ok(Subgraph { graph, first, second })
}

/// Reads both outputs. Each result must be right or an error.
fn outputs(of: &Subgraph, run: &Replay, allowed: fn(&Error) -> bool) -> bool {
    let right = [(&of.first, FIRST), (&of.second, Mix::of(3, 2, FIRST, 1))];
    let results = right.map(|(output, expected)| match run.read(output).and_then(Pending::wait) {
        Ok(found) => {
            assert_eq!(found, [expected; N]);
            true
        }
        Err(error) => {
            assert!(allowed(&error), "{error}");
            false
        }
    });
    // Both outputs belong to one replay, which succeeds or fails as a whole. A loss may come between the two reads.
    let [first, second] = results;
    assert!(
        first == second
            || (first && run.wait().and(run.read(&of.first).map(drop)).is_err_and(|e| is_lost(&e)))
    );
    first && second
}

fn refused(subject: &Subject) {
    let mut right = 0;
    let mut failed = 0;
    for seed in 0..60 {
        let cpu = SimulatorOptions::default().seed(seed).lanes(1 + seed as usize % 3);
        let faults = CpuFaults { refusals: 0.3, ..CpuFaults::default() };
        let ctx = subject.faulty(cpu, faults);
        let queues: Vec<_> = (0..3).map(|at| ctx.queue(&format!("queue {at}"))).collect();
        let of = at_last(&ctx, &queues[0], || capture(&ctx, &queues[0]));
        let mut x = at_last(&ctx, &queues[0], || {
            let x = ctx.zeros::<u32, 1>([N])?;
            queues[0].finish().wait()?;
            Ok(x)
        });
        for round in 0..4 {
            // Plain work of other queues shares the batches of the replays.
            drop(queues[2].fill(&mut x, round));
            let runs: Vec<_> = queues[..2].iter().map(|queue| queue.replay(&of.graph)).collect();
            for (run, queue) in runs.into_iter().zip(&queues) {
                let done = match run {
                    Ok(run) => outputs(&of, &run, is_refused),
                    Err(error) => {
                        assert!(is_refused(&error), "{error}");
                        false
                    }
                };
                assert!(done || queue.take_error().is_some_and(|error| is_refused(&error)));
                if done { right += 1 } else { failed += 1 }
            }
            queues.iter().for_each(|queue| drop(queue.take_error()));
            while ctx.take_error().is_some() {}
        }
        at_last(&ctx, &queues[1], || {
            let run = queues[1].replay(&of.graph)?;
            run.read(&of.first)?.wait()?;
            run.wait()
        });
    }
    assert!(right > 30 && failed > 30, "{right} replays succeed, {failed} fail");
}

fn failed_before(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let failing = ctx.queue("failing");
    let mut x = ctx.zeros::<u32, 1>([N]).unwrap();
    let (graph, ()) = queue.capture(|c| c.fill(&mut x, 5)).unwrap();
    failing.wait_for(&ctx.user_event("abandoned").event()).unwrap();
    let run = failing.replay(&graph).unwrap();
    for error in [run.wait().unwrap_err(), failing.replay(&graph).unwrap_err()] {
        assert!(matches!(error.detail(), ErrorDetail::Abandoned { .. }), "{error}");
    }
    // A queue with an error captures nothing. The graph stays usable on another queue, and on this one.
    assert_error!(failing.capture(|c| c.fill(&mut x, 6)), ErrorDetail::Abandoned { .. });
    assert_eq!(queue.read(&x).wait().unwrap(), [0; N]);
    assert_eq!(queue.read_after(&graph, &x), [5; N]);
    failing.take_error().unwrap();
    queue.fill(&mut x, 0).unwrap();
    assert_eq!(failing.read_after(&graph, &x), [5; N]);
}

fn lost(subject: &Subject) {
    for steps in 0..40 {
        let cpu = SimulatorOptions::default().seed(steps).lanes(1 + steps as usize % 3);
        let faults = CpuFaults { lost_after: Some(steps), ..CpuFaults::default() };
        let ctx = subject.faulty(cpu, faults);
        let queues = [ctx.queue("one"), ctx.queue("two")];
        let of = match capture(&ctx, &queues[0]) {
            Ok(of) => of,
            Err(error) => {
                assert!(is_lost(&error), "{error}");
                continue;
            }
        };
        let runs: Vec<_> = (0..8).map(|at| queues[at % 2].replay(&of.graph)).collect();
        let mut was_lost = false;
        for run in &runs {
            match run {
                Ok(run) => {
                    let done = outputs(&of, run, is_lost);
                    assert!(!done || !was_lost, "a replay succeeds after a loss");
                    was_lost |= !done;
                    // The loss may come between the end of the replay and the read.
                    assert!(!done || run.wait().is_ok());
                }
                Err(error) => {
                    assert!(is_lost(error), "{error}");
                    was_lost = true;
                }
            }
        }
        if was_lost {
            let again = queues[1].replay(&of.graph).map(drop).unwrap_err();
            assert!(is_lost(&again), "{again}");
            let again = queues[1].capture(|_| Ok(())).map(drop).unwrap_err();
            assert!(is_lost(&again), "{again}");
        }
        // The drops are safe in either order.
        if steps % 2 == 0 {
            drop(of);
            drop(runs);
        } else {
            drop(runs);
            drop(queues);
            drop(ctx);
            drop(of);
        }
    }
}

fn no_memory_to_capture(subject: &Subject) {
    let ctx = subject.simulated(SimulatorOptions::default().memory(64 << 10));
    let queue = ctx.queue("main");
    let mut x = ctx.zeros::<u32, 1>([N]).unwrap();
    let before = ctx.pool().stats().used;
    for round in 0..20 {
        let error = queue
            .capture(|c| {
                let small = c.zeros::<u32, 1>([1000])?;
                c.copy(&small.slice(0..N)?, &mut x)?;
                c.zeros::<u32, 1>([100_000]).map(drop)
            })
            .unwrap_err();
        assert!(is_without_memory(&error), "{error}");
        has_returned(&ctx, before);
        // The memory of the failed capture is available for the next one.
        let (graph, own) = queue.graph_of(|c| {
            let own = c.full([10_000], round)?;
            c.copy(&own.slice(0..N)?, &mut x)?;
            Ok(own)
        });
        queue.replay(&graph).unwrap();
        drop(own);
        assert_eq!(queue.read(&x).wait().unwrap(), [round; N]);
        drop(graph);
    }
}

fn no_memory_to_replay(subject: &Subject) {
    let mut outcomes = [0, 0];
    for memory in (1..40).map(|at| at * 512) {
        let ctx = subject.simulated(SimulatorOptions::default().memory(memory).seed(memory));
        let queue = ctx.queue("main");
        let of = match capture(&ctx, &queue) {
            Ok(of) => of,
            Err(error) => {
                assert!(is_without_memory(&error), "{error}");
                continue;
            }
        };
        // The host keeps the outputs of several runs, so their memory adds up.
        let runs: Vec<_> = (0..12).map(|_| queue.replay(&of.graph)).collect();
        for run in &runs {
            let done = match run {
                Ok(run) => outputs(&of, run, is_without_memory),
                Err(error) => {
                    assert!(is_without_memory(error), "{error}");
                    false
                }
            };
            outcomes[usize::from(done)] += 1;
        }
        drop(runs);
        queue.take_error();
        let run = queue.replay(&of.graph).unwrap();
        if !outputs(&of, &run, is_without_memory) {
            queue.take_error().unwrap();
        }
    }
    assert!(outcomes[1] > 0, "{outcomes:?}");
}
