//! Q04, Q15: flush, finish, and the ends of queues and contexts.

use crate::common::kernels::Mix;
use crate::common::{Case, Subject, case};
use fencepost::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;

pub fn cases() -> Vec<Case> {
    vec![
        case("q04_flush_starts_the_work_and_nothing_else_is_needed", flush_starts),
        case("q04_finish_waits_for_everything_before_it", finish_waits),
        case("q04_finish_waits_for_its_own_queue_only", finish_is_of_one_queue),
        case("q15_dropping_a_queue_loses_none_of_its_work", drop_queue),
        case("q15_dropping_a_held_queue_loses_none_of_its_work", drop_held_queue),
        case("q15_dropping_the_last_handle_waits_and_ends_the_threads", drop_context),
        case("q15_an_array_or_a_queue_keeps_its_context_going", arrays_are_handles),
        case("q15_a_context_ends_although_a_queue_waits_for_what_nobody_signals", drop_abandoned),
        case("q15_the_last_handle_may_go_in_a_host_callback", drop_in_callback),
    ]
}

const N: usize = 200;

fn flush_starts(subject: &Subject) {
    let ctx = subject.ctx();
    let (queue, (sender, receiver)) = (ctx.queue("main"), channel());
    let mut x = ctx.zeros([N]).unwrap();
    queue.fill(&mut x, 1_u32).unwrap();
    queue.callback(move || sender.send("ran").unwrap()).unwrap();
    queue.flush().unwrap();
    assert_eq!(receiver.recv(), Ok("ran"));
}

fn finish_waits(subject: &Subject) {
    let ctx = subject.ctx();
    let (queue, ran) = (ctx.queue("main"), Arc::new(AtomicU32::new(0)));
    let mut x = ctx.zeros([N]).unwrap();
    for turn in 1..=10 {
        let ran = ran.clone();
        queue.fill(&mut x, turn).unwrap();
        queue.callback(move || ran.store(turn, Ordering::SeqCst)).unwrap();
    }
    queue.finish().wait().unwrap();
    assert_eq!(ran.load(Ordering::SeqCst), 10);
    assert!(queue.marker().is_complete().unwrap());
}

fn finish_is_of_one_queue(subject: &Subject) {
    let ctx = subject.ctx();
    let (held, free, gate) = (ctx.queue("held"), ctx.queue("free"), ctx.user_event("gate"));
    let (mut x, mut y) = (ctx.zeros([N]).unwrap(), ctx.zeros([N]).unwrap());
    held.wait_for(&gate.event()).unwrap();
    held.fill(&mut x, 1_u32).unwrap();
    held.flush().unwrap();
    free.fill(&mut y, 2_u32).unwrap();
    free.finish().wait().unwrap();
    assert!(!held.is_complete().unwrap());
    gate.signal();
    held.finish().wait().unwrap();
    assert_eq!(free.read(&x).wait().unwrap(), [1; N]);
}

/// Enqueues 50 launches on a new queue, and gives their end.
fn enqueue_some(ctx: &Context, queue: &CommandQueue, y: &mut DeviceArray<u32>) -> Event {
    let mix = ctx.kernel::<Mix>().unwrap();
    let x = ctx.full([N], 1_u32).unwrap();
    for _ in 0..50 {
        queue.launch(&mix, Grid::threads([N]), Mix { a: 1, b: 1, x: &x, y }).unwrap();
    }
    queue.marker()
}

fn drop_queue(subject: &Subject) {
    for policy in [Policy::Ordered, Policy::Unchecked] {
        let ctx = subject.ctx_with(policy);
        let mut y = ctx.zeros([N]).unwrap();
        let queue = ctx.queue("short");
        let end = enqueue_some(&ctx, &queue, &mut y);
        drop(queue);
        end.wait().unwrap();
        assert_eq!(ctx.queue("late").read(&y).wait().unwrap(), [100; N]);
    }
}

fn drop_held_queue(subject: &Subject) {
    let ctx = subject.ctx();
    let mut y = ctx.zeros([N]).unwrap();
    let (queue, gate) = (ctx.queue("short"), ctx.user_event("gate"));
    queue.wait_for(&gate.event()).unwrap();
    let end = enqueue_some(&ctx, &queue, &mut y);
    drop(queue);
    // Queues made now must not be taken for it.
    let others: Vec<CommandQueue> = (0..5).map(|i| ctx.queue(&format!("other {i}"))).collect();
    assert!(!end.is_complete().unwrap());
    gate.signal();
    assert_eq!(others[4].read(&y).wait().unwrap(), [100; N]);
    end.wait().unwrap();
}

fn drop_context(subject: &Subject) {
    let ctx = subject.ctx();
    let (watch, ran) = (ctx.watch(), Arc::new(AtomicU32::new(0)));
    let mut y = ctx.zeros([N]).unwrap();
    let queue = ctx.queue("short");
    enqueue_some(&ctx, &queue, &mut y);
    let counter = ran.clone();
    queue.callback(move || _ = counter.fetch_add(1, Ordering::SeqCst)).unwrap();
    drop((y, queue, ctx));
    assert_eq!(ran.load(Ordering::SeqCst), 1, "what was enqueued has run");
    assert!(watch.state_dump().is_none(), "the threads have ended");
}

fn arrays_are_handles(subject: &Subject) {
    let ctx = subject.ctx();
    let watch = ctx.watch();
    let x = ctx.full([N], 4_u32).unwrap();
    let queue = ctx.queue("main");
    drop(ctx);
    let pending = queue.read(&x);
    drop((x, queue));
    assert!(watch.state_dump().is_some());
    assert_eq!(pending.wait().unwrap(), [4; N]);
    assert!(watch.state_dump().is_none());
}

fn drop_abandoned(subject: &Subject) {
    let ctx = subject.ctx();
    let (watch, queue, gate) = (ctx.watch(), ctx.queue("held"), ctx.user_event("gate"));
    let mut x = ctx.zeros([N]).unwrap();
    queue.wait_for(&gate.event()).unwrap();
    queue.fill(&mut x, 1_u32).unwrap();
    queue.flush().unwrap();
    drop((x, queue, ctx));
    assert!(watch.state_dump().is_some(), "who may signal is a handle too");
    drop(gate);
    assert!(watch.state_dump().is_none());
}

fn drop_in_callback(subject: &Subject) {
    let ctx = subject.ctx();
    let (watch, queue, gate) = (ctx.watch(), ctx.queue("main"), ctx.user_event("gate"));
    let mut x = ctx.zeros([N]).unwrap();
    queue.wait_for(&gate.event()).unwrap();
    let last = ctx.clone();
    queue.callback(move || drop(last)).unwrap();
    queue.fill(&mut x, 1_u32).unwrap();
    drop((x, queue, ctx));
    gate.signal();
    drop(gate);
    while watch.state_dump().is_some() {
        std::thread::yield_now();
    }
}
