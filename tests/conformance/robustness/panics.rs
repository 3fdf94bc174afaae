//! Q05, Q15, E05, R01, R03: user code that panics on a thread of a context, devices lost while in use, contexts without
//! threads, and short-lived queues.

use crate::common::full::full;
use crate::common::{Case, NO_UNWINDING, Subject, case, hold};
use fencepost::prelude::*;
use fencepost::{ErrorDetail, HostBuffer};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::task::{Context as Task, Wake, Waker};

pub fn cases() -> Vec<Case> {
    vec![
        case("r01_a_context_works_on_after_a_destructor_panics", destructor).not_in_a_page(NO_UNWINDING),
        case("r01_a_context_works_on_after_a_waker_panics", waker).not_in_a_page(NO_UNWINDING),
        case("r01_a_host_function_that_panics_fails_its_queue_and_not_the_device", host_function)
            .not_in_a_page(NO_UNWINDING)
            .cpu_only("kernels of real devices cannot panic"),
        case("r03_a_device_that_is_destroyed_ends_every_wait", destroyed)
            .gpu_only("the CPU recorder's device cannot be destroyed"),
        case("q05_without_threads_polling_a_user_event_runs_its_signalling_callback", asking_without_threads),
        case("e05_without_threads_an_await_runs_the_work", without_threads),
        case("q15_many_short_lived_queues_lose_no_work", short_lived),
    ]
}

/// Checks that the context still runs work, with a wait for the work and without one.
fn works_on(ctx: &Context, queue: &CommandQueue) {
    let (sender, receiver) = channel();
    let mut x = ctx.zeros([4]).unwrap();
    queue.fill(&mut x, 3).unwrap();
    queue.callback(move || sender.send(()).unwrap()).unwrap();
    crate::common::received(&receiver);
    assert_eq!(queue.read(&x).wait().unwrap(), [3_u32; 4]);
}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        std::panic::resume_unwind(Box::new("on purpose"));
    }
}

impl Wake for Bomb {
    fn wake(self: Arc<Self>) {
        std::mem::forget(self);
        std::panic::resume_unwind(Box::new("on purpose"));
    }
}

fn destructor(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("failing");
    let gate = hold(&queue);
    let bomb = Bomb;
    queue.callback(move || drop(bomb)).unwrap();
    let done = queue.finish();
    drop(gate);
    assert!(matches!(done.wait().unwrap_err().detail(), ErrorDetail::Abandoned { .. }));
    queue.take_error().unwrap();
    works_on(&ctx, &queue);
}

fn waker(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("awaited");
    let gate = hold(&queue);
    let mut x = ctx.zeros([4]).unwrap();
    queue.fill(&mut x, 1_u32).unwrap();
    let mut done = queue.finish();
    let bomb = Waker::from(Arc::new(Bomb));
    assert!(Pin::new(&mut done).poll(&mut Task::from_waker(&bomb)).is_pending());
    gate.signal();
    works_on(&ctx, &queue);
    drop(done);
    std::mem::forget(bomb);
}

fn host_function(subject: &Subject) {
    let ctx = subject.ctx();
    let bad = |_: [u32; 3], _: [u32; 3], _: &[u8], buffers: &mut [HostBuffer<'_>]| {
        let end = buffers[0].bytes().len();
        buffers[0].bytes_mut()[end] = 1;
    };
    ctx.host_kernel("bad", Arc::new(bad)).unwrap();
    let text = "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(1) fn bad() { out[0] = 1u; }";
    let kernel = ctx.kernel_from(text, "bad").unwrap();
    let queue = ctx.queue("q");
    let mut out = ctx.zeros::<u32, 1>([1]).unwrap();
    queue.launch_dyn(&kernel, Grid::groups([1]), args![out = &mut out]).unwrap();
    let error = queue.finish().wait().unwrap_err();
    let is_named = |kernel: &str, problem: &str| kernel == "bad" && problem.contains("index out of bounds");
    assert!(
        matches!(error.detail(), ErrorDetail::LaunchFailed { kernel, problem, .. } if is_named(kernel, problem)),
        "{error}"
    );
    assert!(queue.take_error().is_some());
    queue.fill(&mut out, 5).unwrap();
    assert_eq!(queue.read(&out).wait().unwrap(), [5]);
}

fn destroyed(subject: &Subject) {
    for _ in 0..4 {
        let (ctx, queue) = subject.with_queue("q");
        let mut x = ctx.zeros([64]).unwrap();
        queue.fill(&mut x, 6_u32).unwrap();
        ctx.wgpu().unwrap().0.destroy();
        // A read of earlier work may succeed. If it does not, its only error is the loss.
        match queue.read(&x).wait() {
            Ok(found) => assert_eq!(found, [6; 64]),
            Err(error) => assert!(matches!(error.detail(), ErrorDetail::DeviceLost { .. }), "{error}"),
        }
    }
}

fn without_threads(subject: &Subject) {
    let ctx = subject.without_threads();
    let queue = ctx.queue("q");
    let gate = ctx.user_event("gate");
    let mut x = ctx.zeros([4]).unwrap();
    for value in 0..50_u32 {
        queue.fill(&mut x, value).unwrap();
    }
    assert_eq!(crate::common::block_on(queue.read(&x)).unwrap(), [49; 4]);
    let event = gate.event();
    queue.callback(move || gate.signal()).unwrap();
    event.wait().unwrap();
}

fn asking_without_threads(subject: &Subject) {
    let ctx = subject.without_threads();
    let queue = ctx.queue("q");
    let gate = ctx.user_event("gate");
    let event = gate.event();
    queue.callback(move || gate.signal()).unwrap();
    while !event.is_complete().unwrap() {}
}

/// Makes many more queues than there are batches, so that work of several queues is planned together.
fn short_lived(subject: &Subject) {
    let ctx = subject.ctx();
    let mut x = ctx.zeros([4]).unwrap();
    let queues = if full() { 1500 } else { 300 };
    for value in 1..=queues {
        ctx.queue("short-lived").fill(&mut x, value).unwrap();
    }
    assert_eq!(ctx.queue("last").read(&x).wait().unwrap(), [queues; 4]);
}
