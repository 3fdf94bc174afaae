//! Makes and drops queues, contexts and events, and makes queues fail.

use crate::common::Subject;
use crate::heap;
use crate::retained::{retains_nothing, tables};
use crate::{Case, rounds};
use fencepost::prelude::*;
use fencepost::{ErrorDetail, Policy};

pub(crate) const CASES: &[Case] = &[
    ("r01_a_queue_that_fails_often_keeps_the_errors_of_its_live_events", failures),
    ("e01_markers_stay_small_after_many_queues", markers),
    ("e07_a_failed_queue_retains_nothing_in_contexts_it_waited_for", failed_across),
    ("p02_a_queue_that_waited_for_many_queues_stays_ordered_after_them", many),
    ("dropped_queues_and_contexts_retain_no_memory", made),
    ("waits_between_queues_retain_no_memory", waits),
];

/// Makes a queue fail, with an event that is dropped before it is signalled.
fn fail(ctx: &Context, queue: &CommandQueue) {
    queue.wait_for(&ctx.user_event("abandoned").event()).unwrap();
    let error = queue.finish().wait().unwrap_err();
    assert!(matches!(error.detail(), ErrorDetail::Abandoned { .. }), "{error}");
}

fn failures(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("queue");
    fail(&ctx, &queue);
    let first = queue.marker();
    queue.take_error().unwrap();
    retains_nothing("a failure", &ctx, 4000, |_| {
        fail(&ctx, &queue);
        queue.take_error().unwrap();
        queue.finish().wait().unwrap();
    });
    assert!(
        matches!(first.wait().unwrap_err().detail(), ErrorDetail::Abandoned { .. }),
        "the event of the first failure"
    );
    let mut events = Vec::new();
    for round in 0..200 {
        events.push((queue.marker(), false));
        fail(&ctx, &queue);
        if round % 2 == 0 {
            events.push((queue.marker(), true));
        }
        queue.take_error().unwrap();
    }
    for (at, (event, failed)) in events.iter().enumerate() {
        assert_eq!(event.is_complete().is_err(), *failed, "event {at}");
    }
}

fn failed_across(subject: &Subject) {
    let contexts = [subject.ctx(), subject.ctx()];
    let queue = contexts[0].queue("queue");
    let gate = contexts[1].user_event("open");
    let far = contexts[1].queue("held");
    far.wait_for(&gate.event()).unwrap();
    retains_nothing("a failure", &contexts[1], 2000, |_| {
        let abandoned = contexts[0].user_event("abandoned");
        queue.wait_for(&abandoned.event()).unwrap();
        queue.wait_for(&[gate.event(), far.marker()]).unwrap();
        drop(abandoned);
        assert!(queue.finish().wait().is_err() && queue.take_error().is_some());
    });
    queue.wait_for(&gate.event()).unwrap();
    gate.signal();
    queue.finish().wait().unwrap();
}

/// Maximum number of bytes per marker. The markers belong to one queue; other queues have been made and dropped before.
const MARKER: isize = 512;

fn markers(subject: &Subject) {
    for policy in [Policy::Ordered, Policy::Checked] {
        let ctx = subject.ctx_with(policy);
        let queue = ctx.queue("queue");
        let side = ctx.queue("side");
        let count = 1000;
        let others: Vec<CommandQueue> = (0..400).map(|at| ctx.queue(&format!("other {at}"))).collect();
        for other in &others {
            other.callback(|| ()).unwrap();
            queue.wait_for(other).unwrap();
        }
        queue.finish().wait().unwrap();
        drop(others);
        let mut kept = Vec::with_capacity(3 * count);
        let before = heap::bytes();
        kept.resize_with(count, || queue.marker());
        let each = (heap::bytes() - before) / count as isize;
        assert!(each <= MARKER, "{policy:?}: {each} bytes a marker");
        let learn = || {
            side.callback(|| ()).unwrap();
            side.finish().wait().unwrap();
            queue.wait_for(&side).unwrap();
            queue.marker()
        };
        (0..150).for_each(|_| drop(learn())); // unused entries are dropped at intervals
        let before_these = heap::bytes();
        kept.extend((0..50).map(|_| learn()));
        let each = (heap::bytes() - before_these) / 50;
        assert!(each <= 2 * MARKER, "{policy:?}: {each} bytes a marker of a queue that waits for new work");
        ctx.synchronize().wait().unwrap();
        let late = ctx.queue("late");
        queue.wait_for(&late).unwrap();
        assert!(tables(&ctx)[2] < 40, "{policy:?}: entries of clocks: {:?}", tables(&ctx));
        kept.extend((0..count).map(|_| late.marker()));
        let each = (heap::bytes() - before) / kept.len() as isize;
        assert!(each <= 2 * MARKER, "{policy:?}: {each} bytes a marker of a new queue");
    }
}

/// Checks that a queue's clock stays correct when entries are dropped. The clock must keep the entries of dropped
/// queues, and of queues whose completion the host does not know.
fn many(subject: &Subject) {
    let ctx = subject.ctx_with(Policy::Checked);
    let [queue, stranger] = ["queue", "stranger"].map(|label| ctx.queue(label));
    let others: Vec<CommandQueue> = (0..60).map(|at| ctx.queue(&format!("other {at}"))).collect();
    let make = |(at, other): (usize, &CommandQueue)| other.full([4], at as u32).unwrap();
    let mut arrays: Vec<DeviceArray<u32>> = others.iter().enumerate().map(make).collect();
    others.iter().for_each(|other| queue.wait_for(other).unwrap());
    for (at, other) in others.into_iter().enumerate() {
        if at % 3 == 0 {
            other.finish().wait().unwrap();
        }
        if at % 2 == 0 {
            drop(other);
        } else {
            queue.wait_for(&other).unwrap();
        }
    }
    for (at, array) in arrays.iter_mut().enumerate() {
        let refused = stranger.fill(array, 7);
        assert_eq!(refused.is_ok(), at % 3 == 0, "array {at}: the host was told of every third queue");
        if refused.is_ok() {
            queue.wait_for(&stranger).unwrap();
        }
        queue.fill(array, 8).unwrap();
    }
    queue.finish().wait().unwrap();
}

fn made(subject: &Subject) {
    let ctx = subject.ctx();
    retains_nothing("a queue", &ctx, 2000, |_| drop(ctx.queue("short")));
    retains_nothing("a queue that works", &ctx, rounds(subject, 500, 100), |_| {
        let queue = ctx.queue("short");
        drop(queue.array(&[1_u32; 64]).unwrap());
        queue.finish().wait().unwrap();
    });
    retains_nothing("many queues at once", &ctx, 24, |_| {
        let queues: Vec<CommandQueue> = (0..40).map(|_| ctx.queue("short")).collect();
        queues.windows(2).for_each(|pair| pair[1].wait_for(&pair[0]).unwrap());
    });
    retains_nothing("an event of the host", &ctx, 2000, |_| {
        let gate = ctx.user_event("gate");
        gate.signal();
        gate.event().wait().unwrap();
    });
    retains_nothing("a context", &ctx, rounds(subject, 80, 8), |_| {
        let ctx = subject.ctx();
        ctx.queue("queue").make_current();
        ctx.current_queue().array(&[1_u32; 64]).unwrap();
        ctx.synchronize().wait().unwrap();
        drop(ctx);
        subject.leaks(); // the watchdog's list
    });
}

fn waits(subject: &Subject) {
    for policy in [Policy::Ordered, Policy::Checked] {
        let ctx = subject.ctx_with(policy);
        let [a, b] = ["a", "b"].map(|label| ctx.queue(label));
        let mut x = a.array(&[1_u32; 64]).unwrap();
        let mut y = b.array(&[2_u32; 64]).unwrap();
        let [turn, back] = [ctx.event(), ctx.event()];
        retains_nothing(&format!("{policy:?}: two queues in turn"), &ctx, rounds(subject, 1000, 160), |at| {
            a.fill(&mut x, at as u32).unwrap();
            turn.record(&a).unwrap();
            b.wait_for(&turn).unwrap();
            b.copy(&x, &mut y).unwrap();
            back.record(&b).unwrap();
            a.wait_for(&back).unwrap();
            a.finish().wait().unwrap();
        });
        assert!(tables(&ctx)[2] < 40, "entries of clocks: {:?}", tables(&ctx));
    }
}
