//! Q16: a queue that never waits starves no other, and the backlog of a context has a limit.

use crate::common::thread;
use crate::common::{BY_TURNS, Case, ONE_THREAD, Subject, case, dump, hold, queues};
use fencepost::prelude::*;
use fencepost::{BacklogLimit, ErrorDetail, SimulatorOptions};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

pub fn cases() -> Vec<Case> {
    vec![
        case("q16_the_arrays_of_a_waiting_thread_overtake_those_of_others", arrays).not_in_a_page(BY_TURNS),
        case("q16_a_thread_that_waits_goes_on_beside_one_that_never_does", beside).not_in_a_page(ONE_THREAD),
        case("q16_unflushed_work_runs_while_another_queue_always_has_a_read_in_flight", unflushed),
        case("q16_a_call_waits_for_room_in_a_full_backlog", room),
        case("q16_a_call_waits_for_room_in_a_context_without_threads", alone)
            .cpu_only("the case makes its own context"),
        case("q16_a_call_waits_for_room_after_the_first_call_of_a_verb", compiles),
        case("q16_a_call_waits_for_room_after_a_copy_of_another_context", elsewhere),
        case("q16_a_full_backlog_that_the_program_holds_up_is_an_error", held),
        case("q16_the_memory_of_waiting_conditions_counts_towards_the_backlog", conditions),
        case("q16_a_call_after_a_loop_with_much_memory_does_not_wait_for_its_end", endless)
            .not_in_a_page(ONE_THREAD),
        case("q16_a_host_callback_gets_an_error_from_a_full_backlog", callback),
    ]
}

const N: usize = 64;

/// Nothing but the calls of this test plans or submits, so the counts do not depend on time.
fn arrays(subject: &Subject) {
    let ctx = subject.without_threads();
    let [noise, queue] = queues(&ctx, ["noise", "waits"]);
    let count = 250;
    let mut made = Vec::new();
    for at in 0..count {
        let x = ctx.full([N], at).unwrap();
        noise.copy(&x, &mut ctx.zeros::<u32, 1>([N]).unwrap()).unwrap();
        made.push(x);
    }
    for round in 0..3 {
        let x = ctx.full([N], 7 + round).unwrap();
        let mut y = ctx.zeros::<u32, 1>([N]).unwrap();
        queue.copy(&x, &mut y).unwrap();
        assert_eq!(queue.read(&y).wait().unwrap(), [7 + round; N]);
    }
    // A wait also plans some commands of other queues, but does not wait for them.
    let left = dump::pending(&ctx, "context");
    assert!(left > 100, "{left} arrays of the others are left");
    ctx.synchronize().wait().unwrap();
    for (at, x) in made.iter().enumerate().step_by(97) {
        assert_eq!(noise.read(x).wait().unwrap(), [at as u32; N]);
    }
}

/// Each round of the waiting thread ends while the other thread continues without waits.
fn beside(subject: &Subject) {
    let ctx = subject.limited(BacklogLimit::default().commands(200));
    let queue = ctx.queue("waits");
    let stop = AtomicBool::new(false);
    let rounds = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            let noise = ctx.queue("noise");
            while !stop.load(Ordering::Relaxed) {
                let x = ctx.full([N], 77_u32).unwrap();
                noise.copy(&x, &mut ctx.zeros::<u32, 1>([N]).unwrap()).unwrap();
                rounds.fetch_add(1, Ordering::Relaxed);
            }
        });
        dump::until(|| rounds.load(Ordering::Relaxed) > 50);
        for round in 0..5 {
            let x = ctx.full([N], round).unwrap();
            let mut y = ctx.zeros::<u32, 1>([N]).unwrap();
            queue.copy(&x, &mut y).unwrap();
            assert_eq!(queue.read(&y).wait().unwrap(), [round; N]);
        }
        stop.store(true, Ordering::Relaxed);
    });
    ctx.synchronize().wait().unwrap();
}

/// Nothing flushes or awaits the work. Only its callback ends the reads.
fn unflushed(subject: &Subject) {
    let (ctx, [reads, other]) = subject.with_queues(["reads", "unflushed"]);
    let x = reads.full([N], 1_u32).unwrap();
    let mut y = ctx.zeros::<u32, 1>([N]).unwrap();
    ctx.synchronize().wait().unwrap();
    let ran = Arc::new(AtomicBool::new(false));
    let runs = ran.clone();
    let mut read = reads.read(&x);
    reads.flush().unwrap();
    other.fill(&mut y, 2).unwrap();
    other.callback(move || runs.store(true, Ordering::Relaxed)).unwrap();
    while !ran.load(Ordering::Relaxed) {
        let next = reads.read(&x);
        reads.flush().unwrap();
        assert_eq!(read.wait().unwrap(), [1; N]);
        thread::yield_now(); // a page plans unflushed work only when its event loop runs
        read = next;
    }
    assert_eq!(read.wait().unwrap(), [1; N]);
}

fn room(subject: &Subject) {
    let limit = 100;
    let ctx = subject.limited(BacklogLimit::default().commands(limit));
    let queue = ctx.queue("main");
    let mut x = ctx.zeros::<u32, 1>([N]).unwrap();
    for at in 0..600 {
        queue.fill(&mut x, at).unwrap();
        let pending = dump::pending(&ctx, "main");
        assert!(pending <= limit as u64 + 1, "{pending} commands wait");
    }
    assert_eq!(queue.read(&x).wait().unwrap(), [599; N]);
    // Arrays made by the context are limited too.
    let many: Vec<_> = (0..600_u32).map(|at| ctx.full([N], at).unwrap()).collect();
    let pending = dump::pending(&ctx, "context");
    assert!(pending <= limit as u64, "{pending} arrays wait");
    for (at, x) in many.iter().enumerate().step_by(97) {
        assert_eq!(queue.read(x).wait().unwrap(), [at as u32; N]);
    }
    // The bytes of uploads are limited too. A single upload may be larger.
    let ctx = subject.limited(BacklogLimit::default().bytes(1000));
    let queue = ctx.queue("main");
    let mut x = ctx.zeros::<u32, 1>([4096]).unwrap();
    for at in 0..50 {
        queue.fill(&mut x, 0).unwrap();
        queue.upload(&[at; 4096], &mut x).unwrap();
        let pending = dump::pending(&ctx, "main");
        assert!(pending <= 4, "{pending} commands wait");
    }
    assert_eq!(queue.read(&x).wait().unwrap(), [49; 4096]);
}

/// The call itself plans and submits.
fn alone(_: &Subject) {
    let backlog = BacklogLimit::default().commands(100);
    let ctx = Context::simulated(SimulatorOptions::default().backlog(backlog).threads(false));
    let queue = ctx.queue("main");
    let mut x = ctx.zeros::<u32, 1>([N]).unwrap();
    (0..600).for_each(|at| queue.fill(&mut x, at).unwrap());
    assert_eq!(queue.read(&x).wait().unwrap(), [599; N]);
}

/// A thread of the context compiles the kernels of the verb, and the queue waits for it.
fn compiles(subject: &Subject) {
    let ctx = subject.limited(BacklogLimit::default().commands(20));
    let queue = ctx.queue("main");
    let x = ctx.array(&[1_u32, 2, 4]).unwrap();
    let mut y = ctx.zeros::<u32, 1>([N]).unwrap();
    let sum = queue.value_of(|out| queue.sum(&x, out));
    (0..200).for_each(|at| queue.fill(&mut y, at).unwrap());
    assert_eq!(sum.wait().unwrap(), 7);
    assert_eq!(queue.read(&y).wait().unwrap(), [199; N]);
}

/// The other context reaches the copy by itself.
fn elsewhere(subject: &Subject) {
    let ctx = subject.limited(BacklogLimit::default().commands(20));
    let other = subject.ctx();
    let queue = ctx.queue("main");
    let mut x = other.zeros::<u32, 1>([N]).unwrap();
    let writer = other.queue("writer");
    subject.spin(&other, &writer, 50);
    writer.fill(&mut x, 7).unwrap();
    let [mut y, mut z] = [0; 2].map(|_| ctx.zeros::<u32, 1>([N]).unwrap());
    queue.copy(&x, &mut y).unwrap();
    (0..200).for_each(|at| queue.fill(&mut z, at).unwrap());
    assert_eq!(queue.read(&y).wait().unwrap(), [7; N]);
    assert_eq!(queue.read(&z).wait().unwrap(), [199; N]);
}

fn held(subject: &Subject) {
    let limit = 100;
    let ctx = subject.limited(BacklogLimit::default().commands(limit));
    let [queue, other] = queues(&ctx, ["held", "other"]);
    let [mut x, mut y] = [0; 2].map(|_| ctx.zeros::<u32, 1>([N]).unwrap());
    let gate = hold(&queue);
    let mut taken = 0;
    let error = loop {
        match queue.fill(&mut x, taken) {
            Ok(()) => taken += 1,
            Err(error) => break error,
        }
        assert!(taken <= limit as u32, "{taken} commands wait for the event");
    };
    let ErrorDetail::Backlog { queue: name, most_commands, why, .. } = error.detail() else {
        panic!("{error}")
    };
    assert_eq!((name.as_str(), *most_commands), ("held", limit));
    assert_eq!(why, "the queue waits: a user event is not signalled");
    assert!(error.to_string().contains("ContextOptions::backlog"), "{error}");
    assert!(queue.take_error().is_none(), "the queue has not failed");
    // Another queue has little work, and continues.
    for round in 0..20 {
        other.fill(&mut y, round).unwrap();
        assert_eq!(other.read(&y).wait().unwrap(), [round; N]);
    }
    gate.signal();
    queue.fill(&mut x, 1234).unwrap();
    assert_eq!(queue.read(&x).wait().unwrap(), [1234; N]);
}

/// A copy within one array takes memory in a body. It belongs to the graph of the condition until the device has executed
/// the graph.
fn conditions(subject: &Subject) {
    let limit = 1 << 16;
    let ctx = subject.limited(BacklogLimit::default().bytes(limit));
    let queue = ctx.queue("held");
    let yes = queue.full([1], 1_u32).unwrap();
    let x = queue.array(&[0_u32, 1, 2, 3].repeat(1024)).unwrap();
    let shift = || queue.if_(&yes, |body| body.copy(&x.slice(0..4095)?, &mut x.slice(1..4096)?));
    ctx.synchronize().wait().unwrap();
    let before = ctx.pool().stats().used;
    let gate = hold(&queue);
    let mut taken = 0;
    let error = loop {
        match shift() {
            Ok(()) => taken += 1,
            Err(error) => break error,
        }
        assert!(taken <= 4, "the memory of {taken} conditions waits for the event");
    };
    assert!(matches!(error.detail(), ErrorDetail::Backlog { bytes, .. } if *bytes >= limit), "{error}");
    assert!(queue.take_error().is_none(), "the queue has not failed");
    gate.signal();
    shift().unwrap();
    let shifted = queue.read(&x).wait().unwrap();
    let expected = |at: usize| (at.saturating_sub(taken + 1) % 4) as u32;
    assert!((0..4096).all(|at| shifted[at] == expected(at)), "{taken} conditions: {:?}", &shifted[..20]);
    dump::until(|| ctx.pool().stats().used == before);
}

/// The memory of the loop exceeds the limit. If the call waits for the loop, another thread ends the loop.
fn endless(subject: &Subject) {
    let ctx = subject.limited(BacklogLimit::default().bytes(1 << 16));
    let queue = ctx.queue("main");
    let go_on = ctx.array(&[1_u32]).unwrap();
    let mut x = ctx.zeros::<u32, 1>([N]).unwrap();
    let steps = queue
        .while_(&go_on, Bound::Chunked(u32::MAX), |body| {
            drop(body.zeros::<u32, 1>([1 << 16])?);
            body.fill(&mut x, 7)
        })
        .unwrap();
    let run = steps.replay().expect("the queue is not captured").clone();
    let (tell, told) = std::sync::mpsc::channel();
    let ending = thread::spawn(move || {
        let is_early = told.recv_timeout(Duration::from_secs(20)).is_ok();
        run.cancel().unwrap();
        is_early
    });
    queue.fill(&mut x, 8).unwrap();
    _ = tell.send(());
    assert!(ending.join().unwrap(), "the call returns while the loop runs");
    queue.fill(&mut x, 9).unwrap();
    assert_eq!(queue.read(&x).wait().unwrap(), [9; N]);
}

fn callback(subject: &Subject) {
    let limit = 100;
    let ctx = subject.limited(BacklogLimit::default().commands(limit));
    let queue = ctx.queue("main");
    let x = ctx.zeros::<u32, 1>([N]).unwrap();
    let (sent, seen) = std::sync::mpsc::channel();
    let after = queue.clone();
    let mut target = x.clone();
    // The commands wait in the queue after this callback.
    let mut fills = move || (0..10_000).map(|at| after.fill(&mut target, at)).find_map(Result::err);
    queue.callback(move || sent.send(fills()).unwrap()).unwrap();
    queue.flush().unwrap();
    let error = crate::common::received(&seen).expect("the backlog is full");
    let ErrorDetail::Backlog { why, .. } = error.detail() else { panic!("{error}") };
    assert!(why.contains("a host callback must not block"), "{error}");
    queue.finish().wait().unwrap();
    drop(x);
}
