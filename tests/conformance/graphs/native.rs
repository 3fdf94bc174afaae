//! G04: replays whose launches were recorded once behave like replays that record them each time. On software drivers,
//! a missing barrier before such launches changes no result, but the validation layer reports it.

use crate::common::kernels::Mix;
use crate::common::{Calls, Case, Subject, case};
use crate::graphs::temporaries::has_returned;
use fencepost::graph::ReplayForm;
use fencepost::prelude::*;
use fencepost::testing;
use fencepost::{Capture, Graph, QueueOptions};

pub fn cases() -> Vec<Case> {
    vec![
        case("g04_a_native_replay_equals_an_encoded_one", same_results),
        case("g04_the_second_replay_is_native_where_the_device_can_do_that", second_is_native),
        case("g04_the_statistics_tell_which_launches_are_recorded_once", form_of_a_loop),
        case("g04_other_values_of_a_replay_keep_its_launches_recorded_once", values),
        case("g04_native_replays_come_between_eager_commands_on_the_same_arrays", between_eager_commands),
        case("g04_two_native_replays_are_in_flight_at_once", two_in_flight),
        case("g04_native_replays_on_several_queues_are_ordered", several_queues),
        case("g04_the_host_reads_what_a_native_replay_wrote", host_reads),
        case("g04_a_native_replay_has_parts_that_are_recorded_each_time", mixed_parts),
        case("g04_a_native_replay_is_timed", timed),
        case("g10_a_natively_replayed_graph_may_be_dropped_in_flight", dropped_in_flight),
        case("g10_the_arrays_of_a_natively_replayed_graph_are_reused", arrays_reused),
        case("g10_a_context_ends_as_soon_as_its_native_replays_are_complete", context_ends),
    ]
}

const N: usize = 256;

/// Opens a context that records launches once in graphs with at least this number of launches.
fn open(subject: &Subject, native_from: usize) -> (Context, CommandQueue) {
    let ctx = subject.switched(|switches| switches.native_replay_from = native_from);
    let queue = ctx.queue("main");
    (ctx, queue)
}

/// Three arrays, and a graph of launches that depend on each other through them.
struct Chain {
    arrays: [DeviceArray<u32>; 3],
    graph: Graph,
    /// Value of each element of the arrays, as the calls so far make it.
    values: [u32; 3],
}

const LAUNCHES: usize = 24;

impl Chain {
    fn new(queue: &CommandQueue) -> Self {
        let values = [1, 2, 3];
        let mut arrays = values.map(|value| queue.full([N], value).unwrap());
        let (graph, ()) = queue.graph_of(|c| {
            for at in 0..LAUNCHES {
                let (x, y) = neighbours(&mut arrays, at);
                c.mix(3, at as u32, x, y)?;
            }
            Ok(())
        });
        Self { arrays, graph, values }
    }

    /// Replays the graph, and computes its effect on plain values.
    fn replay(&mut self, queue: &CommandQueue) {
        queue.replay(&self.graph).unwrap();
        let values = &mut self.values;
        for at in 0..LAUNCHES {
            values[(at + 1) % 3] = Mix::of(3, at as u32, values[at % 3], values[(at + 1) % 3]);
        }
    }

    fn check(&self, queue: &CommandQueue) {
        for (array, value) in self.arrays.iter().zip(self.values) {
            assert_eq!(queue.read(array).wait().unwrap(), [value; N]);
        }
    }
}

/// Returns two neighbouring arrays, for a launch that reads the first and writes the second.
fn neighbours(arrays: &mut [DeviceArray<u32>; 3], at: usize) -> (&DeviceArray<u32>, &mut DeviceArray<u32>) {
    let [one, two, three] = arrays;
    match at % 3 {
        0 => (one, two),
        1 => (two, three),
        _ => (three, one),
    }
}

fn same_results(subject: &Subject) {
    for native_from in [1, usize::MAX] {
        let (_ctx, queue) = open(subject, native_from);
        let mut chain = Chain::new(&queue);
        (0..100).for_each(|_| chain.replay(&queue));
        chain.check(&queue);
    }
}

fn second_is_native(subject: &Subject) {
    let (ctx, queue) = open(subject, 1);
    let chain = Chain::new(&queue);
    let form = chain.graph.statistics().replay;
    let mut counts = Vec::new();
    for _ in 0..4 {
        queue.replay(&chain.graph).unwrap();
        queue.finish().wait().unwrap();
        counts.push(testing::native_bodies(&ctx));
    }
    let is_direct = subject.place().is_vulkan() && ctx.diagnostics().state_dump().contains("recorder direct");
    if is_direct {
        assert_eq!(form, ReplayForm::Native { launches: LAUNCHES });
    }
    assert_eq!(counts, if is_direct { [0, 1, 2, 3] } else { [0; 4] }, "{form}");
    // A graph below the limit is recorded at each replay.
    let (ctx, queue) = open(subject, LAUNCHES + 1);
    let chain = Chain::new(&queue);
    (0..4).for_each(|_| drop(queue.replay(&chain.graph).unwrap()));
    queue.finish().wait().unwrap();
    assert!(matches!(chain.graph.statistics().replay, ReplayForm::Encoded { .. }));
    assert_eq!(testing::native_bodies(&ctx), 0);
}

/// Replays with another value each time. Launches with the value come before, between and after long runs of launches
/// without it.
fn values(subject: &Subject) {
    let (ctx, queue) = open(subject, LAUNCHES);
    let [x, y] = [1_u32, 0].map(|value| queue.full([N], value).unwrap());
    let runs =
        [(true, 3), (false, LAUNCHES), (true, 1), (false, 2), (true, 2), (false, LAUNCHES + 1), (true, 1)];
    let (graph, ()) = queue.graph_of(|c| {
        let k = c.value("k", 1_u32)?;
        for (holds, launches) in runs {
            for b in 0..launches as u32 {
                c.mix(3, b, &x, &mut y.clone())?;
                if holds {
                    c.parameter("a", &k)?;
                }
            }
        }
        Ok(())
    });
    let form = graph.statistics().replay;
    let mut expected = 0;
    for k in 0..8 {
        let before = testing::native_bodies(&ctx);
        queue.replay(&graph.with().value("k", k).unwrap()).unwrap();
        queue.finish().wait().unwrap();
        for (holds, launches) in runs {
            let a = if holds { k } else { 3 };
            expected = (0..launches as u32).fold(expected, |y, b| Mix::of(a, b, 1, y));
        }
        assert_eq!(queue.read(&y).wait().unwrap(), [expected; N]);
        let bodies = testing::native_bodies(&ctx) - before;
        match form {
            ReplayForm::Native { launches } => {
                assert_eq!(launches, 2 * LAUNCHES + 1);
                assert_eq!(bodies, if k == 0 { 0 } else { 2 });
            }
            _ => assert_eq!(bodies, 0),
        }
    }
}

/// Counts the launches of a graph that are recorded once: those before a loop, but none in its body.
fn form_of_a_loop(subject: &Subject) {
    let (ctx, queue) = open(subject, LAUNCHES);
    let [x, y] = [(); 2].map(|()| ctx.zeros::<u32, 1>([N]).unwrap());
    let launch = |c: &Capture, times: usize| (0..times).try_for_each(|_| c.mix(1, 1, &x, &mut y.clone()));
    let go = ctx.full([1], 1_u32).unwrap();
    let body = |b: &Capture| launch(b, LAUNCHES);
    let (graph, _) = queue.graph_of(|c| {
        launch(c, LAUNCHES)?;
        c.while_(&go, Bound::AtMost(3), body)
    });
    let (alone, _) = queue.capture(|c| c.while_(&go, Bound::AtMost(3), body)).unwrap();
    let statistics = graph.statistics();
    let gates = 4;
    assert_eq!(statistics.gated_dispatches, 3 * LAUNCHES as u64 + gates);
    assert!(matches!(alone.statistics().replay, ReplayForm::Encoded { .. }), "{}", alone.statistics());
    if let ReplayForm::Native { launches } = statistics.replay {
        assert_eq!(launches, LAUNCHES);
    }
    for graph in [&graph, &alone] {
        let before = testing::native_bodies(&ctx);
        for _ in 0..3 {
            queue.replay(graph).unwrap();
            queue.finish().wait().unwrap();
        }
        let is_native = matches!(graph.statistics().replay, ReplayForm::Native { .. });
        assert_eq!(testing::native_bodies(&ctx) - before, if is_native { 2 } else { 0 });
    }
    assert_eq!(queue.read(&y).wait().unwrap(), [(3 * 4 + 3 * 3) * LAUNCHES as u32; N]);
}

fn between_eager_commands(subject: &Subject) {
    let (_ctx, queue) = open(subject, 1);
    let mut chain = Chain::new(&queue);
    let mut after = queue.full([N], 0_u32).unwrap();
    let mut result = 0;
    for round in 0..20_u32 {
        // A launch, a copy and a fill write arrays that the replay reads; a launch and a copy read arrays that it
        // wrote.
        let [one, two, three] = &mut chain.arrays;
        let values = &mut chain.values;
        queue.mix(5, round, two, one).unwrap();
        values[0] = Mix::of(5, round, values[1], values[0]);
        queue.copy(one, two).unwrap();
        values[1] = values[0];
        if round % 3 == 0 {
            queue.fill(three, round).unwrap();
            values[2] = round;
        }
        chain.replay(&queue);
        queue.mix(7, 1, &chain.arrays[0], &mut after).unwrap();
        result = Mix::of(7, 1, chain.values[0], result);
        chain.replay(&queue);
        queue.upload(&[round; N], &mut chain.arrays[2]).unwrap();
        chain.values[2] = round;
    }
    chain.check(&queue);
    assert_eq!(queue.read(&after).wait().unwrap(), [result; N]);
}

fn two_in_flight(subject: &Subject) {
    let (_ctx, queue) = open(subject, 1);
    let mut chain = Chain::new(&queue);
    for _ in 0..30 {
        // Each flush submits a batch, and the second batch comes while the first one is in flight.
        for _ in 0..2 {
            chain.replay(&queue);
            queue.flush().unwrap();
        }
    }
    chain.check(&queue);
}

fn several_queues(subject: &Subject) {
    let (ctx, queue) = open(subject, 1);
    let mut chain = Chain::new(&queue);
    let mut other = Chain::new(&ctx.queue("other"));
    let queues: Vec<CommandQueue> = (0..3).map(|at| ctx.queue(&format!("queue {at}"))).collect();
    for at in 0..60 {
        chain.replay(&queues[at % 3]);
        if at % 2 == 0 {
            other.replay(&queues[(at + 1) % 3]);
        }
    }
    chain.check(&queue);
    other.check(&queue);
}

fn host_reads(subject: &Subject) {
    let (_ctx, queue) = open(subject, 1);
    let mut chain = Chain::new(&queue);
    for round in 0..10 {
        chain.replay(&queue);
        let lazy = queue.read(&chain.arrays[1]);
        let expected = chain.values[1];
        chain.replay(&queue);
        assert_eq!(lazy.wait().unwrap(), [expected; N]);
        assert_eq!(&*chain.arrays[0].map_read().wait().unwrap(), &[chain.values[0]; N][..]);
        chain.arrays[2].map_write().wait().unwrap().fill(round);
        chain.values[2] = round;
    }
    chain.check(&queue);
}

fn mixed_parts(subject: &Subject) {
    let (_ctx, queue) = open(subject, 1);
    let [mut x, mut y] = [1_u32, 2].map(|value| queue.full([N], value).unwrap());
    let (graph, out) = queue.graph_of(|c| {
        let mut own = c.zeros::<u32, 1>([N])?;
        c.mix(3, 1, &x, &mut y)?;
        c.mix(3, 2, &y, &mut x)?;
        c.copy(&x, &mut own)?;
        c.upload(&[9; N], &mut x)?;
        c.mix(2, 3, &x, &mut own)?;
        c.mix(2, 4, &own, &mut y)?;
        c.read_as("own", &own)
    });
    let mut of_x = 1;
    let mut of_y = 2;
    for _ in 0..10 {
        let run = queue.replay(&graph).unwrap();
        of_y = Mix::of(3, 1, of_x, of_y);
        of_x = Mix::of(3, 2, of_y, of_x);
        let own = Mix::of(2, 3, 9, of_x);
        of_x = 9;
        of_y = Mix::of(2, 4, own, of_y);
        assert_eq!(run.read(&out).unwrap().wait().unwrap(), [own; N]);
    }
    assert_eq!(queue.read(&x).wait().unwrap(), [of_x; N]);
    assert_eq!(queue.read(&y).wait().unwrap(), [of_y; N]);
}

fn timed(subject: &Subject) {
    let (ctx, _) = open(subject, 1);
    let queue = ctx.queue_with(QueueOptions::default().timing(true));
    let mut chain = Chain::new(&queue);
    (0..5).for_each(|_| chain.replay(&queue));
    chain.check(&queue);
}

fn dropped_in_flight(subject: &Subject) {
    let (ctx, queue) = open(subject, 1);
    for _ in 0..10 {
        let mut chain = Chain::new(&queue);
        for _ in 0..3 {
            chain.replay(&queue);
            queue.flush().unwrap();
        }
        let Chain { arrays, graph, values } = chain;
        drop(graph);
        let [one, two, three] = arrays;
        drop((two, three));
        assert_eq!(queue.read(&one).wait().unwrap(), [values[0]; N]);
    }
    let chain = Chain::new(&queue);
    (0..3).for_each(|_| drop(queue.replay(&chain.graph).unwrap()));
    queue.flush().unwrap();
    drop((chain, queue, ctx));
}

fn arrays_reused(subject: &Subject) {
    let (ctx, queue) = open(subject, 1);
    let before = ctx.pool().stats().used;
    for round in 0..10_u32 {
        let mut chain = Chain::new(&queue);
        (0..4).for_each(|_| chain.replay(&queue));
        chain.check(&queue);
        drop(chain);
        ctx.synchronize().wait().unwrap();
        has_returned(&ctx, before);
        ctx.pool().trim();
        // New arrays get the memory of the dropped ones, or memory that the device must zero.
        let zeros: Vec<_> = (0..6).map(|_| ctx.zeros::<u32, 1>([N]).unwrap()).collect();
        let full: Vec<_> = (0..6).map(|_| queue.full([N], round).unwrap()).collect();
        for (zeros, full) in zeros.iter().zip(&full) {
            assert_eq!(queue.read(zeros).wait().unwrap(), [0; N]);
            assert_eq!(queue.read(full).wait().unwrap(), [round; N]);
        }
    }
}

/// For a while after the end of a replay, a driver thread may still use the fence for which the replay has waited.
fn context_ends(subject: &Subject) {
    for _ in 0..40 {
        let (_ctx, queue) = open(subject, 1);
        let mut chain = Chain::new(&queue);
        (0..6).for_each(|_| chain.replay(&queue));
        queue.finish().wait().unwrap();
    }
}
