//! G01 to G03: what a capture takes, and what it refuses.

use crate::common::kernels::Mix;
use crate::common::{Calls, Case, Subject, assert_error, case};
use fencepost::prelude::*;
use fencepost::{Download, ErrorDetail, HostArray, Upload};

pub fn cases() -> Vec<Case> {
    vec![
        case("g01_a_capture_executes_nothing", executes_nothing),
        case("g01_a_replay_reads_the_present_bytes", present_bytes),
        case("g02_a_graph_has_launches_copies_fills_and_uploads", every_kind),
        case("g02_forked_queues_of_a_capture_are_joined", forked),
        case("g02_an_event_inside_a_capture_orders_two_queues", event_inside),
        case("g02_a_function_of_the_host_runs_in_each_replay", host_function),
        case("g02_an_empty_graph_is_an_event", empty_graph),
        case("g02_a_graph_inside_a_capture_is_a_child", child),
        case("g03_a_refused_call_ends_the_capture_and_the_queue_works", refused),
        case("g03_an_unjoined_queue_is_an_error", unjoined),
        case("g03_a_captured_queue_ends_with_its_capture", ended),
        case("g03_an_event_of_a_capture_cannot_be_waited_for", captured_event),
    ]
}

const N: usize = 256;

fn executes_nothing(subject: &Subject) {
    let queue = subject.ctx().queue("main");
    let [x, mut y] = [3_u32, 5].map(|value| queue.full([N], value).unwrap());
    let (graph, ()) = queue.graph_of(|c| c.mix(2, 1, &x, &mut y));
    assert_eq!(graph.nodes(), 1);
    assert_eq!(queue.read(&y).wait().unwrap(), [5; N]);
    queue.replay(&graph).unwrap();
    let once = Mix::of(2, 1, 3, 5);
    assert_eq!(queue.read(&y).wait().unwrap(), [once; N]);
}

fn present_bytes(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let mut x = queue.full([N], 1_u32).unwrap();
    let mut y = ctx.zeros([N]).unwrap();
    let (graph, ()) = queue.capture(|c| c.copy(&x, &mut y)).unwrap();
    for value in [7, 8, 9] {
        queue.fill(&mut x, value).unwrap();
        assert_eq!(queue.read_after(&graph, &y), [value; N]);
    }
}

fn every_kind(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let mut pinned: HostArray<u32, Upload> = ctx.pinned([N]).unwrap();
    let mut back: HostArray<u32, Download> = ctx.pinned([N]).unwrap();
    let bytes: Vec<u32> = (0..N as u32).collect();
    let (graph, (sum, whole)) = queue.graph_of(|c| {
        let from_host = c.array(&bytes)?;
        let mut from_pinned = c.zeros::<u32, 1>([N])?;
        c.upload(&pinned, &mut from_pinned)?;
        let mut y = c.full([N], 1_u32)?;
        c.mix(1, 0, &from_host, &mut y)?;
        c.mix(1, 0, &from_pinned, &mut y)?;
        let square = y.reshape([16, 16])?;
        let mut part = c.zeros::<u32, 2>([4, 4])?;
        c.copy_region(&square, region![2..6, 3..7], &mut part, region![])?;
        Ok((c.read_as("part", &part)?, c.read_as("whole", &y)?))
    });
    for round in 1..4 {
        pinned.host_mut().unwrap().fill(round);
        let run = queue.replay(&graph).unwrap();
        let y: Vec<u32> =
            bytes.iter().map(|&from_host| Mix::of(1, 0, round, Mix::of(1, 0, from_host, 1))).collect();
        assert_eq!(run.read(&whole).unwrap().wait().unwrap(), y);
        let part: Vec<u32> = (2..6).flat_map(|row| y[row * 16 + 3..row * 16 + 7].to_vec()).collect();
        assert_eq!(run.read(&sum).unwrap().wait().unwrap(), part);
    }
    let y = queue.full([N], 4_u32).unwrap();
    let (graph, ()) = queue.capture(|c| c.download(&y, &mut back)).unwrap();
    queue.replay(&graph).unwrap();
    assert_eq!(back.host().unwrap().to_vec(), [4; N]);
}

fn forked(subject: &Subject) {
    let queue = subject.ctx().queue("main");
    let x = queue.full([N], 2_u32).unwrap();
    let (graph, out) = queue.graph_of(|c| {
        let mut parts = Vec::new();
        let forks: Vec<_> = (0..3).map(|at| c.fork(&format!("fork {at}"))).collect();
        for (at, fork) in forks.iter().enumerate() {
            let mut y = fork.zeros::<u32, 1>([N])?;
            fork.mix(at as u32 + 1, 1, &x, &mut y)?;
            parts.push(y);
        }
        let mut sum = c.zeros::<u32, 1>([N])?;
        for (fork, part) in forks.iter().zip(&parts) {
            c.wait_for(fork)?;
            c.mix(1, 0, part, &mut sum)?;
        }
        c.read_as("sum", &sum)
    });
    let parts = (1..4).map(|a| Mix::of(a, 1, 2, 0));
    let sum = parts.fold(0, |sum, part| Mix::of(1, 0, part, sum));
    for _ in 0..3 {
        assert_eq!(queue.output_of(&graph, &out), [sum; N]);
    }
}

fn event_inside(subject: &Subject) {
    let (ctx, queue) = subject.with_queue_under(Policy::Unchecked, "main");
    let [mut x, mut y] = [(); 2].map(|()| ctx.zeros::<u32, 1>([N]).unwrap());
    let (graph, ()) = queue.graph_of(|c| {
        let side = c.fork("side");
        c.fill(&mut x, 9)?;
        let filled = c.marker();
        side.wait_for(&filled)?;
        side.copy(&x, &mut y)?;
        c.wait_for(&side)
    });
    for _ in 0..3 {
        queue.fill(&mut x, 0).unwrap();
        assert_eq!(queue.read_after(&graph, &y), [9; N]);
    }
}

fn host_function(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let (sender, receiver) = std::sync::mpsc::channel();
    let mut x = ctx.zeros::<u32, 1>([N]).unwrap();
    let mut host: HostArray<u32, Upload> = ctx.pinned([N]).unwrap();
    host.host_mut().unwrap().fill(0);
    let mut calls = 0;
    let (graph, ()) = queue.graph_of(|c| {
        c.fill(&mut x, 1)?;
        c.host(move || {
            calls += 1;
            sender.send(calls).unwrap();
        })?;
        c.fill(&mut x, 2)
    });
    for _ in 0..3 {
        queue.replay(&graph).unwrap();
    }
    assert_eq!(queue.read(&x).wait().unwrap(), [2; N]);
    assert_eq!(receiver.try_iter().collect::<Vec<i32>>(), [1, 2, 3]);
}

fn empty_graph(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let mut x = ctx.zeros::<u32, 1>([N]).unwrap();
    let (graph, ()) = queue.capture(|_| Ok(())).unwrap();
    queue.fill(&mut x, 3).unwrap();
    let run = queue.replay(&graph).unwrap();
    run.wait().unwrap();
    assert!(queue.marker().is_complete().unwrap());
    assert_eq!(graph.nodes(), 0);
}

fn child(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let x = queue.full([N], 1_u32).unwrap();
    let mut y = ctx.zeros::<u32, 1>([N]).unwrap();
    let (step, own) = queue.graph_of(|c| {
        let side = c.fork("side");
        let mut own = side.zeros::<u32, 1>([N])?;
        side.copy(&x, &mut own)?;
        c.wait_for(&side)?;
        c.mix(3, 2, &own, &mut y)?;
        c.read_as("own", &own)
    });
    let (graph, ()) = queue.graph_of(|c| {
        for _ in 0..4 {
            c.replay(&step)?;
        }
        Ok(())
    });
    assert_eq!(graph.nodes(), 4 * step.nodes());
    let run = queue.replay(&graph).unwrap();
    let expected = (0..4).fold(0, |y, _| Mix::of(3, 2, 1, y));
    assert_eq!(queue.read(&y).wait().unwrap(), [expected; N]);
    assert_eq!(run.read(&own).unwrap().wait().unwrap(), [1; N]);
}

fn refused(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let mut x = ctx.zeros::<u32, 1>([N]).unwrap();
    for round in 0..3 {
        // The caller ignores the result of the call, but the capture still fails with it.
        let captured = queue.capture(|c| {
            c.fill(&mut x, 7)?;
            drop(c.read(&x).wait());
            Ok(())
        });
        let error = assert_error!(captured, ErrorDetail::Captured { call: "read", .. });
        assert!(error.to_string().contains(file!()), "{error}");
        queue.fill(&mut x, round).unwrap();
        assert_eq!(queue.read(&x).wait().unwrap(), [round; N]);
        let (graph, ()) = queue.capture(|c| c.fill(&mut x, 100)).unwrap();
        assert_eq!(queue.read_after(&graph, &x), [100; N]);
    }
}

fn unjoined(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let mut x = ctx.zeros::<u32, 1>([N]).unwrap();
    let captured = queue.capture(|c| c.fork("side").fill(&mut x, 7));
    assert_error!(captured, ErrorDetail::Unjoined { queue, .. } if queue == "side");
    queue.fill(&mut x, 1).unwrap();
    assert_eq!(queue.read(&x).wait().unwrap(), [1; N]);
}

fn ended(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let mut x = ctx.zeros::<u32, 1>([N]).unwrap();
    let (graph, kept) = queue.capture(|c| Ok(c.fork("kept"))).unwrap();
    assert_error!(kept.fill(&mut x, 7), ErrorDetail::CaptureEnded { .. });
    assert_error!(kept.fork("again").fill(&mut x, 7), ErrorDetail::CaptureEnded { .. });
    assert_eq!(queue.read_after(&graph, &x), [0; N]);
}

fn captured_event(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let mut x = ctx.zeros::<u32, 1>([N]).unwrap();
    let other = ctx.queue("other");
    let (graph, event) = queue.graph_of(|c| {
        c.fill(&mut x, 7)?;
        Ok(c.marker())
    });
    for error in [event.wait().unwrap_err(), other.wait_for(&event).unwrap_err()] {
        assert!(matches!(error.detail(), ErrorDetail::Captured { .. }), "{error}");
    }
    assert_eq!(queue.read_after(&graph, &x), [7; N]);
    // An event from outside cannot be waited for inside.
    let outside = other.marker();
    assert_error!(queue.capture(|c| c.wait_for(&outside)), ErrorDetail::Captured { call: "wait_for", .. });
}
