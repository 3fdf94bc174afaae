//! Polls futures many times, and drops futures before they are ready.

use crate::Case;
use crate::common::Subject;
use crate::retained::{retains_nothing, tables};
use fencepost::prelude::*;
use fencepost::{Pending, UserEvent};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Task, Wake, Waker};
use std::time::Duration;

pub(crate) const CASES: &[Case] = &[
    ("e05_a_polled_future_keeps_one_waker", polled),
    ("e05_a_dropped_future_keeps_no_waker", dropped),
    ("e07_a_future_on_another_context_keeps_one_waker_per_context", across),
    ("q06_a_wait_that_times_out_retains_no_memory", timed_out),
];

/// Number of polls. It is the same for the CPU recorder and for devices, because nothing is submitted.
const POLLS: usize = 10_000;

/// The waker of a new task for each poll, as a `select!` in a loop makes.
struct Nothing;

impl Wake for Nothing {
    fn wake(self: Arc<Self>) {}
}

fn poll<T: Unpin>(future: &mut Pending<T>) {
    let waker = Waker::from(Arc::new(Nothing));
    assert!(Pin::new(future).poll(&mut Task::from_waker(&waker)).is_pending());
}

/// A queue that waits for an unsignalled user event.
struct Held {
    gate: UserEvent,
    queue: CommandQueue,
    array: DeviceArray<u32>,
}

impl Held {
    fn new(ctx: &Context) -> Self {
        let queue = ctx.queue("held");
        let gate = ctx.user_event("gate");
        let mut array = queue.array(&[1_u32; 64]).unwrap();
        queue.finish().wait().unwrap();
        queue.wait_for(&gate.event()).unwrap();
        queue.fill(&mut array, 7).unwrap();
        Self { gate, queue, array }
    }
}

fn polled(subject: &Subject) {
    let ctx = subject.ctx();
    let held = Held::new(&ctx);
    let mut event = held.gate.event().done();
    let mut end = held.queue.finish();
    let mut all = ctx.synchronize();
    let mut read = held.queue.read(&held.array);
    let mut map = held.array.map_read();
    retains_nothing("an event of the host", &ctx, POLLS, |_| poll(&mut event));
    retains_nothing("the end of a queue", &ctx, POLLS, |_| poll(&mut end));
    retains_nothing("all queues", &ctx, POLLS, |_| poll(&mut all));
    retains_nothing("a read", &ctx, POLLS, |_| poll(&mut read));
    retains_nothing("a map", &ctx, POLLS, |_| poll(&mut map));
    assert!(tables(&ctx)[0] < 20, "wakers: {:?}", tables(&ctx));
    held.gate.signal();
    pollster::block_on(async {
        event.await.unwrap();
        end.await.unwrap();
        all.await.unwrap();
        assert_eq!(read.await.unwrap()[0], 7);
        assert_eq!(map.await.unwrap()[0], 7);
    });
}

fn dropped(subject: &Subject) {
    let ctx = subject.ctx();
    let held = Held::new(&ctx);
    let event = held.gate.event();
    retains_nothing("an event of the host", &ctx, POLLS, |_| poll(&mut event.done()));
    retains_nothing("the end of a queue", &ctx, POLLS, |_| poll(&mut held.queue.finish()));
    retains_nothing("all queues", &ctx, POLLS, |_| poll(&mut ctx.synchronize()));
    retains_nothing("a map", &ctx, POLLS, |_| poll(&mut held.array.map_read()));
    assert_eq!(tables(&ctx)[0], 0, "wakers");
    held.gate.signal();
    held.queue.finish().wait().unwrap();
}

fn across(subject: &Subject) {
    let contexts = [subject.ctx(), subject.ctx()];
    let held = Held::new(&contexts[1]);
    let near = contexts[0].queue("near");
    near.wait_for(&held.queue).unwrap();
    let mut future = near.finish();
    retains_nothing("polled", &contexts[1], POLLS, |_| poll(&mut future));
    retains_nothing("dropped", &contexts[1], POLLS, |_| poll(&mut near.finish()));
    drop(future);
    let wakers = contexts.each_ref().map(|ctx| tables(ctx)[0]);
    assert!(wakers[0] == 0 && wakers[1] <= 2, "besides the wait itself: {wakers:?}");
    held.gate.signal();
    near.finish().wait().unwrap();
}

fn timed_out(subject: &Subject) {
    let ctx = subject.ctx();
    let held = Held::new(&ctx);
    let mut end = held.queue.finish();
    retains_nothing("a wait", &ctx, POLLS, |_| assert!(end.wait_timeout(Duration::ZERO).unwrap().is_none()));
    retains_nothing("a new wait", &ctx, POLLS, |_| {
        assert!(held.queue.finish().wait_timeout(Duration::ZERO).unwrap().is_none());
    });
    retains_nothing("a look", &ctx, POLLS, |_| assert!(!held.queue.marker().is_complete().unwrap()));
    held.gate.signal();
    end.wait().unwrap();
}
