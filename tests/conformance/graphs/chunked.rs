//! G06: loops that are submitted in chunks.

use crate::common::counted::Counted;
use crate::common::full::full;
use crate::common::{Calls, Case, NO_BLOCKING, Subject, assert_error, case, dump};
use crate::graphs::control::{Setup, ended, iterations_of};
use crate::graphs::faults::is_refused;
use fencepost::graph::Loop;
use fencepost::prelude::*;
use fencepost::profile::{Activity, Row};
use fencepost::testing::CpuFaults;
use fencepost::{
    Bound, Capture, ErrorDetail, EventOptions, Priority, QueueOptions, Result, SimulatorOptions,
};
use std::sync::mpsc::channel;

pub fn cases() -> Vec<Case> {
    let faults = "only the CPU recorder injects faults";
    vec![
        case("g06_chunked_loops_end_after_any_number_of_iterations", every_length),
        case("g06_chunked_loops_say_exactly_if_their_bound_ended_them", bounds),
        case("g06_chunked_repeats_compare_the_count_with_all_past_iterations", changing_count),
        case("g06_chunked_loops_have_more_iterations_than_a_graph_has_dispatches", many),
        case("g06_chunked_loops_equal_unrolled_loops_and_a_host_that_reads_the_condition", same_results),
        case("g06_chunked_loops_stand_between_other_nodes_of_a_graph", among_nodes),
        case("g06_chunked_loops_work_outside_of_a_capture", outside),
        case("g06_chunked_loops_on_two_queues_go_on_side_by_side", two_queues),
        case("g06_chunked_loops_go_on_when_no_call_waits", unattended),
        case("g06_chunked_loops_go_on_in_a_context_without_threads", without_threads),
        case("g06_chunked_loops_complete_for_a_callback_that_waits_for_them", callback_waits)
            .not_in_a_page(NO_BLOCKING),
        case("g06_chunked_loops_are_submitted_at_most_one_chunk_too_far", submissions),
        case("g06_chunked_loops_complete_after_everything_is_dropped", dropped),
        case("g06_chunked_loops_of_a_child_graph_keep_their_chunks", child),
        case("g06_chunked_loops_are_refused_in_bodies", nested),
        case("g06_chunked_loops_change_with_an_edit_between_replays", edited),
        case("g06_chunked_loops_follow_priorities_and_policies", queues),
        case("g06_chunked_loops_have_times_and_rows_of_a_profile", times),
        case("g06_chunked_loops_are_in_dumps_and_statistics", dumps),
        case("g06_chunked_loops_stand_between_launches_that_are_recorded_once", native),
        case("g06_chunked_loops_fail_with_their_queue", refused).cpu_only(faults),
        case("g06_chunked_loops_end_with_a_lost_device", lost).cpu_only(faults),
    ]
}

/// Captures a loop that decrements `left` and increments `count` until `left` is 0.
fn countdown(
    c: &CommandQueue,
    s: &Setup,
    bound: u32,
    left: &DeviceArray<u32>,
    count: &DeviceArray<u32>,
) -> Result<Loop> {
    c.while_(left, Bound::Chunked(bound), |body| s.step(body, left, count))
}

fn every_length(subject: &Subject) {
    let s = Setup::new(subject);
    let [left, count] = s.words([0, 0]);
    let (graph, steps) = s.queue.capture(|c| countdown(c, &s, 1000, &left, &count)).unwrap();
    for length in [0, 1, 2, 3, 4, 5, 11, 12, 13, 28, 29, 61] {
        s.set(&left, length);
        s.set(&count, 0);
        let run = s.queue.replay(&graph).unwrap();
        assert_eq!(s.read(&count), [length]);
        assert_eq!(ended(&run, &steps), (length, false), "{length}");
    }
    let (graph, steps) =
        s.queue.graph_of(|c| c.do_while(&left, Bound::Chunked(100), |body| s.step(body, &left, &count)));
    for length in [1, 4, 5, 12] {
        s.set(&left, length);
        assert_eq!(iterations_of(&s.queue.replay(&graph).unwrap(), &steps), length);
    }
    // The first iteration executes before the condition is read, and wraps it around to the largest number.
    assert_error!(s.queue.do_while(&left, Bound::Chunked(0), |_| Ok(())), ErrorDetail::Graph { .. });
}

fn bounds(subject: &Subject) {
    let s = Setup::new(subject);
    for bound in [0, 1, 4, 5, 12, 13] {
        let [left, count] = s.words([0, 0]);
        let (graph, steps) = s.queue.graph_of(|c| {
            let first = countdown(c, &s, bound, &left, &count)?;
            Ok([first, c.repeat(&count, Bound::Chunked(bound), |_| Ok(()))?])
        });
        for length in [bound.saturating_sub(1), bound, bound + 1] {
            s.set(&left, length);
            // The count of the second loop: the iterations of the first loop, plus `more`.
            let more = u32::from(length > bound);
            s.set(&count, more);
            let run = s.queue.replay(&graph).unwrap();
            for steps in &steps {
                let expected = (length.min(bound), length > bound);
                assert_eq!(ended(&run, steps), expected, "bound {bound}, length {length}");
            }
            assert_eq!(s.read(&left), [length.saturating_sub(bound)]);
        }
    }
}

fn changing_count(subject: &Subject) {
    let s = Setup::new(subject);
    for start in [0_u32, 1, 9, 40] {
        let count = s.word(start);
        let lower = |body: &Capture| s.lower(body, &count);
        let steps = s.queue.repeat(&count, Bound::Chunked(u32::MAX), lower).unwrap();
        // Iteration k executes if the count, start - k, is above k.
        assert_eq!(iterations_of(steps.replay().unwrap(), &steps), start.div_ceil(2));
    }
    for start in [-3_i32, 0, 6, 13] {
        let count = s.queue.full([1], start).unwrap();
        let steps = s.queue.repeat(&count, Bound::Chunked(50), |_| Ok(())).unwrap();
        assert_eq!(ended(steps.replay().unwrap(), &steps), (start.max(0) as u32, false));
    }
    // The body increments the count, so that only the bound ends the loop.
    let count = s.word(1);
    let steps = s.queue.repeat(&count, Bound::Chunked(33), |body| s.raise(body, &count)).unwrap();
    assert_eq!(ended(steps.replay().unwrap(), &steps), (33, true));
    assert_eq!(s.read(&count), [34]);
}

fn many(subject: &Subject) {
    let s = Setup::new(subject);
    // One place (in the full suite, all places) runs more iterations than a graph may have dispatches.
    let is_long = subject.place().name() == "cpu_1" || (subject.is_cpu() && full());
    let length = if is_long { 66_000 } else { 300 };
    let [count, total] = s.words([length, 0]);
    let body = |body: &Capture| s.raise(body, &total);
    let steps = s.queue.repeat(&count, Bound::Chunked(u32::MAX), body).unwrap();
    assert_eq!(iterations_of(steps.replay().unwrap(), &steps), length);
    assert_eq!(s.read(&total), [length]);
}

fn same_results(subject: &Subject) {
    let s = Setup::new(subject);
    for (length, inner) in [(7, 3), (21, 2)] {
        let run = |bound: Bound| {
            let [left, x, y, odd, twice] = s.words([length, 1, 2, 0, inner]);
            let mut rounds = None;
            let steps = s.queue.while_(&left, bound, |body| {
                s.lower(body, &left)?;
                s.add(body, &x, 3)?;
                body.if_else(&odd, |b| s.lower(b, &odd), |b| s.raise(b, &odd))?;
                body.if_(&odd, |b| s.add(b, &y, 5))?;
                rounds = Some(body.repeat(&twice, Bound::AtMost(4), |b| s.raise(b, &y))?);
                body.copy(&y, &mut x.clone())
            });
            let steps = steps.unwrap();
            let replay = steps.replay().unwrap();
            let counts = [&steps, rounds.as_ref().unwrap()].map(|of| iterations_of(replay, of));
            (counts, s.read(&x), s.read(&y), s.read(&odd))
        };
        let (counts, x, ..) = run(Bound::Chunked(1000));
        assert_eq!(counts, [length, length * inner], "the loops inside count all their iterations");
        assert_eq!(run(Bound::Chunked(1000)), run(Bound::AtMost(30)));
        // Host loop that reads the condition.
        let mut left = length;
        let mut y = 2;
        let mut odd = 0;
        while left != 0 {
            (left, odd) = (left - 1, 1 - odd);
            y += 5 * odd + inner;
        }
        assert_eq!(x, [y]);
    }
}

fn among_nodes(subject: &Subject) {
    let s = Setup::new(subject);
    let (sent, seen) = channel();
    let [left, again, count] = s.words([0, 0, 0]);
    let (graph, (loops, between, end)) = s.queue.graph_of(|c| {
        c.fill(&mut left.clone(), 9)?;
        c.fill(&mut count.clone(), 0)?;
        let first = countdown(c, &s, 100, &left, &count)?;
        let between = c.read_as("between", &count)?;
        c.host(move || sent.send(1).unwrap())?;
        c.copy(&count, &mut again.clone())?;
        // Two forks with one loop each; the loops share no words.
        let side = c.fork("side");
        let second = countdown(&side, &s, 100, &again, &count)?;
        let third = c.while_(&left, Bound::Chunked(3), |body| s.lower(body, &left))?;
        c.wait_for(&side)?;
        s.raise(c, &count)?;
        Ok(([first, second, third], between, c.read_as("end", &count)?))
    });
    for round in 1..4 {
        let run = s.queue.replay(&graph).unwrap();
        assert_eq!(run.read(&between).unwrap().wait().unwrap(), [9]);
        assert_eq!(run.read(&end).unwrap().wait().unwrap(), [19]);
        assert_eq!(loops.each_ref().map(|of| iterations_of(&run, of)), [9, 9, 0]);
        assert_eq!(s.read(&count), [19]);
        assert_eq!(seen.try_iter().count(), 1, "round {round}");
    }
}

fn outside(subject: &Subject) {
    let s = Setup::new(subject);
    let [left, count, after] = s.words([17, 0, 0]);
    let before = s.queue.marker();
    let steps = countdown(&s.queue, &s, 1 << 20, &left, &count).unwrap();
    s.queue.copy(&count, &mut after.clone()).unwrap();
    assert_eq!(s.read(&after), [17]);
    assert!(before.is_complete().unwrap());
    assert_eq!(iterations_of(steps.replay().unwrap(), &steps), 17);
}

fn two_queues(subject: &Subject) {
    let s = Setup::new(subject);
    let other = s.ctx.queue("other");
    let arrays = [40, 30].map(|length| (s.word(length), s.word(0)));
    let sum = s.word(5);
    s.queue.finish().wait().unwrap();
    let runs: Vec<_> = [&s.queue, &other]
        .into_iter()
        .zip(&arrays)
        .map(|(queue, (left, count))| countdown(queue, &s, 100, left, count).unwrap())
        .collect();
    // The other queue waits for a loop of this queue, and for its own.
    other.wait_for(&s.queue.marker()).unwrap();
    other.copy(&arrays[0].1, &mut sum.clone()).unwrap();
    assert_eq!(other.read(&sum).wait().unwrap(), [40]);
    let counts = runs.iter().map(|run| iterations_of(run.replay().unwrap(), run));
    assert_eq!(counts.collect::<Vec<_>>(), [40, 30]);
    assert_eq!(arrays.each_ref().map(|(_, count)| s.read(count)[0]), [40, 30]);
}

fn unattended(subject: &Subject) {
    let s = Setup::new(subject);
    let [left, count] = s.words([30, 0]);
    countdown(&s.queue, &s, 1000, &left, &count).unwrap();
    s.queue.flush().unwrap();
    dump::until_done(&s.ctx, "main");
    assert_eq!(s.read(&count), [30]);
    // Even without a flush, the threads plan the commands after a while.
    let left = s.word(13);
    countdown(&s.queue, &s, 1000, &left, &count).unwrap();
    dump::until_done(&s.ctx, "main");
    assert_eq!(s.read(&count), [43]);
}

fn without_threads(subject: &Subject) {
    let s = Setup::on(subject.without_threads());
    let [left, count] = s.words([0, 0]);
    let (graph, steps) = s.queue.capture(|c| countdown(c, &s, 1000, &left, &count)).unwrap();
    let start = || {
        s.set(&left, 30);
        s.queue.replay(&graph).unwrap()
    };
    let run = start();
    // The CPU recorder executes nothing before a call polls, so the dump shows that the queue is held back.
    s.queue.flush().unwrap();
    let text = s.ctx.diagnostics().state_dump();
    if subject.is_cpu() {
        assert!(text.contains("loop of graph `main`, "), "{text}");
        assert!(text.contains(", held: a chunk of a loop is not complete"), "{text}");
    }
    run.wait().unwrap();
    assert_eq!(iterations_of(&run, &steps), 30);
    let run = start();
    dump::until(|| run.event().is_complete().unwrap());
    let run = start();
    crate::common::block_on(run.event().done()).unwrap();
    start();
    s.queue.finish().wait().unwrap();
    start();
    let other = s.ctx.queue("other");
    assert_eq!(other.read(&count).wait().unwrap(), [150]);
    start();
    s.ctx.synchronize().wait().unwrap();
    assert_eq!(s.read(&count), [180]);
}

fn callback_waits(subject: &Subject) {
    for ctx in [subject.ctx(), subject.without_threads()] {
        let s = Setup::on(ctx);
        let other = s.ctx.queue("other");
        let [left, count] = s.words([40, 0]);
        let run = countdown(&s.queue, &s, 1000, &left, &count).unwrap();
        let (sent, seen) = channel();
        let steps = run.clone();
        let counts = move || sent.send(iterations_of(steps.replay().unwrap(), &steps)).unwrap();
        other.callback(counts).unwrap();
        other.finish().wait().unwrap();
        assert_eq!(seen.try_iter().collect::<Vec<_>>(), [40]);
        // A callback after the loop cannot wait for itself, but it sees the loop complete.
        let (sent, seen) = channel();
        let loop_run = run.replay().unwrap().clone();
        s.queue.callback(move || sent.send(loop_run.event().is_complete().unwrap()).unwrap()).unwrap();
        s.queue.finish().wait().unwrap();
        assert_eq!(seen.try_iter().collect::<Vec<_>>(), [true]);
    }
}

fn submissions(subject: &Subject) {
    let counted = Counted::new(subject);
    let s = Setup::on(counted.ctx.clone());
    let [left, count] = s.words([0, 0]);
    for (bound, length, expected) in
        [(4, 9, 2), (12, 9, 3), (1000, 0, 3), (1000, 4, 3), (1000, 5, 4), (1000, 13, 5)]
    {
        let (graph, steps) = s.queue.capture(|c| countdown(c, &s, bound, &left, &count)).unwrap();
        s.set(&left, length);
        s.queue.finish().wait().unwrap();
        let before = counted.submissions();
        let run = s.queue.replay(&graph).unwrap();
        assert_eq!(iterations_of(&run, &steps), length.min(bound));
        let made = counted.submissions() - before;
        // On a device, long commands make chunks shorter, and commands of unknown cost get separate chunks.
        let most = if subject.is_cpu() { expected } else { u64::from(length.div_ceil(4).max(1)) + 3 };
        assert!(made <= most, "{made} submissions for {length} iterations of at most {bound}");
        assert!(made >= expected.min(3), "{made} submissions for {length} iterations of at most {bound}");
    }
}

fn dropped(subject: &Subject) {
    let s = Setup::new(subject);
    let [left, count] = s.words([0, 0]);
    for round in 1..4 {
        let queue = s.ctx.queue("short-lived");
        let (graph, _) = queue.capture(|c| countdown(c, &s, 1000, &left, &count)).unwrap();
        queue.fill(&mut left.clone(), 40).unwrap();
        let run = queue.replay(&graph).unwrap();
        match round {
            1 => drop((run, graph, queue)),
            2 => drop((queue, run, graph)),
            _ => drop((graph, queue, run)),
        }
        assert_eq!(s.ctx.queue("reader").read(&count).wait().unwrap(), [40 * round]);
    }
    // The drop of the context waits for the loop.
    let (sent, seen) = channel();
    let ctx = subject.ctx();
    {
        let s = Setup::on(ctx);
        let [left, count] = s.words([40, 0]);
        let steps = countdown(&s.queue, &s, 1000, &left, &count).unwrap();
        s.queue.callback(move || sent.send(()).unwrap()).unwrap();
        drop(steps);
    }
    crate::common::received(&seen);
}

fn child(subject: &Subject) {
    let s = Setup::new(subject);
    let [left, count] = s.words([0, 0]);
    let (part, steps) = s.queue.capture(|c| countdown(c, &s, 20, &left, &count)).unwrap();
    let (graph, own) = s.queue.graph_of(|c| {
        let own = c.repeat(&left, Bound::Chunked(2), |body| s.raise(body, &count))?;
        c.replay(&part)?;
        c.fill(&mut left.clone(), 7)?;
        c.replay(&part)?;
        Ok(own)
    });
    drop(part);
    for round in 1..3 {
        s.set(&left, 13);
        let run = s.queue.replay(&graph).unwrap();
        assert_eq!([&own, &steps].map(|of| ended(&run, of)), [(2, true), (20, false)]);
        assert_eq!(s.read(&count), [22 * round]);
    }
}

fn nested(subject: &Subject) {
    let s = Setup::new(subject);
    let [left, count] = s.words([3, 0]);
    let (part, _) = s.queue.capture(|c| countdown(c, &s, 20, &left, &count)).unwrap();
    let inside = |body: &Capture| countdown(body, &s, 20, &left, &count).map(|_| ());
    let replays = |body: &Capture| body.replay(&part).map(|_| ());
    type Body<'a> = &'a dyn Fn(&Capture) -> Result<()>;
    let refused: [Body<'_>; 2] = [&inside, &replays];
    for body in refused {
        for captured in [true, false] {
            let error = match captured {
                true => s.queue.capture(|c| c.if_(&left, body)).unwrap_err(),
                false => s.queue.while_(&left, Bound::Chunked(9), body).unwrap_err(),
            };
            let ErrorDetail::Captured { call, remedy, .. } = error.detail() else { panic!("{error}") };
            let is_right = call.contains("loop with Bound::Chunked") && remedy.contains("`Bound::AtMost`");
            assert!(is_right, "{error}");
        }
    }
    s.queue.replay(&part).unwrap();
    assert_eq!(s.read(&count), [3]);
}

fn edited(subject: &Subject) {
    let s = Setup::new(subject);
    let [left, count] = s.words([6, 0]);
    let nothing = s.nothing.slice(0..1).unwrap();
    let other = s.word(0);
    let (mut graph, steps) = s.queue.graph_of(|c| {
        let step = c.value("step", 1_u32)?;
        let from = c.input("condition", &left)?;
        let steps = c.while_(&from, Bound::Chunked(100), |body| {
            s.lower(body, &left)?;
            body.mix(1, step.get(), &nothing, &mut count.clone())?;
            body.parameter("b", &step)?;
            body.label_node("add")
        })?;
        Ok(steps)
    });
    s.queue.replay(&graph).unwrap();
    assert_eq!(s.read(&count), [6]);
    s.set(&left, 9);
    let run = s.queue.replay(&graph.with().value("step", 10_u32).unwrap()).unwrap();
    // The edit does not touch the run in flight, which may not have planned its last chunks.
    graph.edit().unwrap().node("add").unwrap().argument("y", &other).unwrap().apply().unwrap();
    assert_eq!((iterations_of(&run, &steps), s.read(&count)), (9, vec![96]));
    s.set(&left, 5);
    let run = s.queue.replay(&graph).unwrap();
    assert_eq!((iterations_of(&run, &steps), s.read(&count), s.read(&other)), (5, vec![96], vec![5]));
    graph.edit().unwrap().node("add").unwrap().grid(Grid::threads([0])).unwrap().apply().unwrap();
    s.set(&left, 5);
    let run = s.queue.replay(&graph).unwrap();
    assert_eq!((iterations_of(&run, &steps), s.read(&other)), (5, vec![5]));
}

fn queues(subject: &Subject) {
    for policy in [Policy::Ordered, Policy::Checked] {
        let s = Setup::on(subject.ctx_with(policy));
        let options = |label: &str, priority| QueueOptions::default().label(label).priority(priority);
        let high = s.ctx.queue_with(options("high", Priority::High));
        let low = s.ctx.queue_with(options("low", Priority::Low));
        let [left, count, after] = s.words([50, 0, 0]);
        low.wait_for(&s.queue.marker()).unwrap();
        high.wait_for(&s.queue.marker()).unwrap();
        let steps = countdown(&low, &s, 1000, &left, &count).unwrap();
        if policy == Policy::Checked {
            assert_error!(high.copy(&count, &mut after.clone()), ErrorDetail::Hazard { .. });
            high.wait_for(steps.replay().unwrap().event()).unwrap();
        }
        high.copy(&count, &mut after.clone()).unwrap();
        assert_eq!(high.read(&after).wait().unwrap(), [50], "{policy:?}");
        assert_eq!(iterations_of(steps.replay().unwrap(), &steps), 50);
    }
}

fn times(subject: &Subject) {
    let s = Setup::new(subject);
    let timed = EventOptions::default().timing(true);
    let [left, count] = s.words([30, 0]);
    let profiler = s.ctx.profile();
    let start = s.queue.marker_with(timed);
    let steps = countdown(&s.queue, &s, 1000, &left, &count).unwrap();
    let end = s.queue.marker_with(timed);
    let profile = profiler.finish().wait().unwrap();
    assert_eq!(iterations_of(steps.replay().unwrap(), &steps), 30);
    let is_part = |row: &&Row| row.activity == Activity::Replay && row.replay.is_none();
    let replays: Vec<_> = profile.rows.iter().filter(is_part).collect();
    assert_eq!(replays.len(), 3, "the gate in front, the loop, and the read of the counters: {replays:?}");
    match end.seconds_since(&start).wait() {
        Ok(seconds) => {
            assert!(seconds > 0.0);
            let of = |at: usize| replays[at].time.expect("a device with a clock").seconds();
            assert!(replays.iter().all(|row| row.time.is_ok()), "{replays:?}");
            assert!(of(1) > 0.0 && of(1) <= seconds, "{} of {seconds}", of(1));
        }
        Err(error) => assert!(matches!(error.detail(), ErrorDetail::Untimed { .. }), "{error}"),
    }
}

fn dumps(subject: &Subject) {
    let s = Setup::new(subject);
    let [left, count] = s.words([3, 0]);
    let capture = |c: &Capture| {
        s.raise(c, &count)?;
        countdown(c, &s, 1000, &left, &count)?;
        s.raise(c, &count)
    };
    let [graph, same] = [(); 2].map(|()| s.queue.capture(capture).unwrap().0);
    // The nodes are a launch, the first gate, four iterations of a gate and two launches, a launch, and the read of the
    // counters.
    let statistics = graph.statistics();
    assert_eq!((statistics.nodes, statistics.launches, statistics.gates), (16, 10, 5));
    assert_eq!((statistics.gated_dispatches, statistics.levels, statistics.host_functions), (12, 17, 0));
    let text = graph.to_text();
    assert!(text.contains("loop: nodes 2 to 13 are 4 iterations of at most 1000"), "{text}");
    assert_eq!(text.lines().count(), 1 + 16 + 1, "{text}");
    assert_eq!(text, same.to_text());
    assert!(graph.to_dot().contains("4 iterations of at most 1000"));
    assert!(graph.to_svg().contains("4 iterations of at most 1000"));
    let huge = s.queue.capture(|c| {
        c.while_(&left, Bound::Chunked(9), |body| {
            body.repeat(&left, Bound::AtMost(20_000), |body| s.raise(body, &count)).map(|_| ())
        })
    });
    assert_error!(huge, ErrorDetail::GraphTooLong { call: "while_", .. });
}

fn native(subject: &Subject) {
    let s = Setup::on(subject.switched(|switches| switches.native_replay_from = 1));
    let [left, count] = s.words([0, 0]);
    let (graph, steps) = s.queue.graph_of(|c| {
        (0..5).try_for_each(|_| s.raise(c, &count))?;
        let steps = countdown(c, &s, 1000, &left, &count)?;
        (0..5).try_for_each(|_| s.raise(c, &count))?;
        Ok(steps)
    });
    for round in 1..5 {
        s.set(&left, 20);
        let run = s.queue.replay(&graph).unwrap();
        assert_eq!((s.read(&count), iterations_of(&run, &steps)), (vec![30 * round], 20));
    }
}

fn refused(subject: &Subject) {
    let mut right = 0;
    let mut failed = 0;
    for seed in 0..40 {
        let cpu = SimulatorOptions::default().seed(seed).lanes(1 + seed as usize % 2);
        let ctx =
            subject.faulty(cpu.threads(seed % 4 < 2), CpuFaults { refusals: 0.15, ..CpuFaults::default() });
        let queue = ctx.queue("main");
        let other = ctx.queue("other");
        let attempt = || -> Result<u32> {
            let left = queue.full([1], 25_u32)?;
            let zero = queue.zeros::<u32, 1>([1])?;
            let steps = queue
                .while_(&left, Bound::Chunked(100), |body| body.mix(1, u32::MAX, &zero, &mut left.clone()))?;
            steps.replay().unwrap().iterations(&steps)?.wait()
        };
        for _ in 0..6 {
            match attempt() {
                Ok(count) => {
                    assert_eq!(count, 25);
                    right += 1;
                }
                Err(error) => {
                    assert!(is_refused(&error), "{error}");
                    failed += 1;
                }
            }
            drop(other.marker().wait());
            [&queue, &other].iter().for_each(|queue| drop(queue.take_error()));
            while ctx.take_error().is_some() {}
        }
    }
    assert!(right > 20 && failed > 20, "{right} loops succeed, {failed} fail");
}

fn lost(subject: &Subject) {
    let mut ended = 0;
    for steps in (20..400).step_by(20) {
        let faults = CpuFaults { lost_after: Some(steps), ..CpuFaults::default() };
        let s = Setup::on(subject.faulty(SimulatorOptions::default().seed(steps), faults));
        let end = || -> Result<u32> {
            let left = s.queue.full([1], 90_u32)?;
            let count = s.queue.full([1], 0_u32)?;
            let steps = countdown(&s.queue, &s, 1000, &left, &count)?;
            steps.replay().unwrap().iterations(&steps)?.wait()
        };
        match end() {
            Ok(count) => assert_eq!(count, 90),
            Err(error) => {
                assert!(matches!(error.detail(), ErrorDetail::DeviceLost { .. }), "{error}");
                ended += 1;
            }
        }
    }
    assert!(ended > 5, "{ended} loops end with the device");
}
