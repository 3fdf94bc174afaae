//! Q04, Q15: flush, finish, and the ends of queues and contexts.

use crate::common::counted::Counted;
use crate::common::early_results::{self, RUNS};
use crate::common::kernels::mix;
use crate::common::program::Program;
use crate::common::thread;
use crate::common::{
    Case, NO_DEVICE, NO_WAIT_AT_DROP, ONE_THREAD, Subject, assert_ended, case, dump, hold, queues, received,
};
use fencepost::prelude::*;
use fencepost::{Capture, ContextWatch};
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::task::{Context as Task, Wake, Waker};
use std::time::Duration;

pub fn cases() -> Vec<Case> {
    vec![
        case("q04_without_threads_a_flush_and_nothing_else_starts_the_work", flush_starts),
        case("q04_a_flush_submits_the_awaited_work_of_other_queues", flush_submits_both),
        case("q04_the_owner_of_a_device_reads_the_results_of_a_flush", owner_finds).gpu_only(NO_DEVICE),
        case("q04_with_threads_a_flush_is_enough_for_a_callback_to_run", flush_with_threads),
        case("q04_finish_waits_for_everything_before_it", finish_waits),
        case("q04_finish_waits_for_its_own_queue_only", finish_is_of_one_queue),
        case("q04_finish_does_not_wait_for_a_later_kernel", finish_before_a_kernel)
            .on_devices(RUNS)
            .host_side(),
        case("q04_finish_does_not_wait_for_a_kernel_of_another_queue", finish_beside_a_kernel)
            .on_devices(RUNS)
            .host_side(),
        case("q15_dropping_a_queue_loses_none_of_its_work", drop_queue),
        case("q15_dropping_a_held_queue_loses_none_of_its_work", drop_held_queue),
        case("q15_dropping_the_last_handle_waits_and_ends_the_threads", drop_context)
            .not_in_a_page(NO_WAIT_AT_DROP),
        case("q15_the_work_of_a_dropped_context_is_done_and_the_context_ends", work_goes_on),
        case("q15_an_array_or_a_queue_keeps_its_context_alive", arrays_are_handles),
        case("q15_a_context_ends_though_a_queue_waits_for_an_abandoned_event", drop_abandoned),
        case("q15_the_last_handle_may_be_dropped_in_a_host_callback", drop_in_callback),
        case("q15_callbacks_of_two_contexts_may_drop_the_last_handles_of_each_other", drop_each_other)
            .not_in_a_page(ONE_THREAD),
        case("q15_calls_work_in_destructors_at_the_end_of_a_thread", calls_at_the_end_of_a_thread)
            .vulkan_only("wgpu polls GL, and its own thread locals are gone then"),
        case("q15_the_last_handle_may_be_dropped_in_a_destructor_at_the_end_of_a_thread", end_of_thread)
            .native_only(DROPS_WGPU),
        case("q15_a_destructor_at_the_end_of_a_thread_may_wait_for_a_context_just_opened", just_opened)
            .native_only(DROPS_WGPU),
        case("q15_a_wait_for_a_kernel_at_the_end_of_a_thread_ends_with_it_or_an_error", kernels_at_the_end)
            .native_only(DROPS_WGPU),
        case("q15_a_context_opened_at_the_end_of_a_thread_works_or_is_lost", opened_at_the_end)
            .native_only(DROPS_WGPU),
    ]
}

const N: usize = 200;
const DROPS_WGPU: &str = "wgpu with debug assertions panics if its objects are dropped there";

/// Uses a context without threads, which submits only in calls that flush or wait.
fn flush_starts(subject: &Subject) {
    let counted = Counted::new(subject);
    let ctx = &counted.ctx;
    let ran = Arc::new(AtomicU32::new(0));
    let queue = ctx.queue("main");
    let mut x = ctx.zeros([N]).unwrap();
    queue.finish().wait().unwrap();
    for turn in 1..=3 {
        let before = counted.submissions();
        let counter = ran.clone();
        queue.callback(move || counter.store(turn, Ordering::SeqCst)).unwrap();
        queue.fill(&mut x, turn).unwrap();
        assert_eq!(counted.submissions(), before, "the fill was submitted before the flush");
        assert_eq!(ran.load(Ordering::SeqCst), turn - 1, "the callback ran before the flush");
        queue.flush().unwrap();
        assert_eq!(ran.load(Ordering::SeqCst), turn, "the flush ran the callback");
        queue.flush().unwrap();
        assert!(counted.submissions() > before, "the flush submitted the fill after the callback");
        assert_eq!(queue.read(&x).wait().unwrap(), [turn; N]);
    }
}

fn flush_submits_both(subject: &Subject) {
    let ctx = subject.without_threads();
    let [first, second] = queues(&ctx, ["first", "second"]);
    let mut arrays = [0; 2].map(|_| ctx.zeros([N]).unwrap());
    ctx.synchronize().wait().unwrap();
    let before = dump::submitted(&ctx);
    first.fill(&mut arrays[0], 1_u32).unwrap();
    second.wait_for(&first).unwrap();
    second.fill(&mut arrays[1], 2).unwrap();
    assert_eq!([&first, &second].map(|queue| dump::pending(&ctx, &queue.options().label)), [1, 2]);
    second.flush().unwrap();
    assert_eq!([&first, &second].map(|queue| dump::pending(&ctx, &queue.options().label)), [0, 0]);
    assert!(dump::submitted(&ctx) > before, "the work of both queues is planned and not submitted");
    assert_eq!(second.read(&arrays[0]).wait().unwrap(), [1; N]);
}

/// Reads the buffer with wgpu. Such a read comes after the submissions of a flush, and waits for no other work.
fn owner_finds(subject: &Subject) {
    let ctx = subject.without_threads();
    let program = Program::of(&ctx);
    let queue = ctx.queue("main");
    let buffer = program.buffer(N);
    program.submit(&[7; N], &buffer);
    let mut x = ctx.array_on::<u32, 1>(&buffer, [N]).unwrap();
    queue.fill(&mut x, 8).unwrap();
    assert_eq!(program.read(&buffer, N), [7; N], "the fill is not submitted before the flush");
    queue.flush().unwrap();
    assert_eq!(program.read(&buffer, N), [8; N], "the fill is submitted by the flush");
}

fn flush_with_threads(subject: &Subject) {
    let ctx = subject.ctx();
    let (queue, (sender, receiver)) = (ctx.queue("main"), channel());
    let mut x = ctx.zeros([N]).unwrap();
    queue.fill(&mut x, 1_u32).unwrap();
    queue.callback(move || sender.send("ran").unwrap()).unwrap();
    queue.flush().unwrap();
    assert_eq!(received(&receiver), "ran");
}

fn finish_waits(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let ran = Arc::new(AtomicU32::new(0));
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
    let (ctx, [held, free]) = subject.with_queues(["held", "free"]);
    let [mut x, mut y] = [0; 2].map(|_| ctx.zeros([N]).unwrap());
    let gate = hold(&held);
    held.fill(&mut x, 1_u32).unwrap();
    held.flush().unwrap();
    free.fill(&mut y, 2_u32).unwrap();
    free.finish().wait().unwrap();
    assert!(!held.marker().is_complete().unwrap());
    gate.signal();
    held.finish().wait().unwrap();
    assert_eq!(free.read(&x).wait().unwrap(), [1; N]);
}

const FINISH: [(&str, early_results::Way); 1] = [("the end of the queue", |at| {
    let end = at.queue.finish();
    Box::new(move || end.wait().unwrap())
})];

fn finish_before_a_kernel(subject: &Subject) {
    early_results::on_its_queue(subject, &FINISH);
}

fn finish_beside_a_kernel(subject: &Subject) {
    early_results::on_another_queue(subject, &FINISH);
    early_results::after_the_start(subject, &FINISH);
}

/// Enqueues 50 launches, and returns the marker after them.
fn enqueue_some(ctx: &Context, queue: &CommandQueue, y: &mut DeviceArray<u32>) -> Event {
    let x = ctx.full([N], 1_u32).unwrap();
    for _ in 0..50 {
        mix(queue, 1, 1, &x, y);
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
    let queue = ctx.queue("short");
    let gate = hold(&queue);
    let end = enqueue_some(&ctx, &queue, &mut y);
    drop(queue);
    // The new queues must not be mistaken for the dropped queue.
    let others: Vec<CommandQueue> = (0..5).map(|i| ctx.queue(&format!("other {i}"))).collect();
    assert!(!end.is_complete().unwrap());
    gate.signal();
    assert_eq!(others[4].read(&y).wait().unwrap(), [100; N]);
    end.wait().unwrap();
}

fn drop_context(subject: &Subject) {
    for with_waker in [false, true] {
        let ctx = subject.ctx();
        let watch = ctx.diagnostics().watch();
        let ran = Arc::new(AtomicU32::new(0));
        let threads = Threads::of(&ctx);
        let mut y = ctx.zeros([N]).unwrap();
        let queue = ctx.queue("short");
        if with_waker {
            woken(&ctx, &queue, &threads);
        } else {
            let of_callbacks = threads.clone();
            queue.callback(move || of_callbacks.enter()).unwrap();
        }
        enqueue_some(&ctx, &queue, &mut y);
        let counter = ran.clone();
        queue.callback(move || _ = counter.fetch_add(1, Ordering::SeqCst)).unwrap();
        drop((y, queue, ctx));
        let ended = threads.ended.load(Ordering::SeqCst);
        threads.returned.store(true, Ordering::SeqCst);
        assert_eq!(ran.load(Ordering::SeqCst), 1, "the enqueued callback has run");
        assert!(watch.state_dump().is_none(), "the threads hold the context no longer");
        assert_eq!(threads.entered.load(Ordering::SeqCst), 1, "user code ran on one thread of the context");
        assert_eq!(ended, 1, "the drop returned before the thread had ended");
    }
}

/// Calls [`Threads::enter`] on the thread of the context that notices the end of some work.
fn woken(ctx: &Context, queue: &CommandQueue, threads: &Threads) {
    let mut x = ctx.zeros([N]).unwrap();
    let gate = hold(queue);
    queue.fill(&mut x, 1_u32).unwrap();
    let mut end = queue.finish();
    let waker = Waker::from(Arc::new(threads.clone()));
    assert!(Pin::new(&mut end).poll(&mut Task::from_waker(&waker)).is_pending());
    gate.signal();
    dump::until(|| threads.entered.load(Ordering::SeqCst) > 0);
}

/// Count of the threads of a context that run user code; it also delays the ends of these threads.
#[derive(Clone)]
struct Threads {
    watch: ContextWatch,
    entered: Arc<AtomicU32>,
    ended: Arc<AtomicU32>,
    /// `true` once the drop of the context has returned.
    returned: Arc<AtomicBool>,
}

/// A guard that is dropped at the end of its thread.
struct Last(Threads);

thread_local! {
    static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
}

impl Threads {
    fn of(ctx: &Context) -> Self {
        let entered = Arc::default();
        let ended = Arc::default();
        let returned = Arc::default();
        Self { watch: ctx.diagnostics().watch(), entered, ended, returned }
    }

    /// Counts the start and the end of this thread, if it is a thread of a context.
    fn enter(&self) {
        let own = thread::current().name().is_some_and(|name| name.starts_with("fencepost "));
        LAST.with_borrow_mut(|last| {
            if own && last.is_none() {
                self.entered.fetch_add(1, Ordering::SeqCst);
                *last = Some(Last(self.clone()));
            }
        });
    }
}

impl Wake for Threads {
    fn wake(self: Arc<Self>) {
        self.enter();
    }
}

impl Drop for Last {
    /// Delays the end of the thread. While a drop of the context waits for the thread, the context still exists. If the
    /// context is gone, no drop waits, and the thread ends only after the drop has returned.
    fn drop(&mut self) {
        let Threads { watch, ended, returned, .. } = &self.0;
        crate::common::sleep(Duration::from_millis(20));
        while watch.state_dump().is_none() && !returned.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        ended.fetch_add(1, Ordering::SeqCst);
    }
}

/// Drops the last handle of a context with work of two queues, of which one waits for the other; nothing is flushed.
fn work_goes_on(subject: &Subject) {
    let (ctx, [first, second]) = subject.with_queues(["first", "second"]);
    let watch = ctx.diagnostics().watch();
    let (sender, receiver) = channel();
    let mut x = ctx.zeros([N]).unwrap();
    enqueue_some(&ctx, &first, &mut x);
    second.wait_for(&first).unwrap();
    enqueue_some(&ctx, &second, &mut x);
    second.callback(move || sender.send("ran").unwrap()).unwrap();
    drop((x, first, second, ctx));
    assert_eq!(received(&receiver), "ran");
    assert_ended(&watch);
}

fn arrays_are_handles(subject: &Subject) {
    let ctx = subject.ctx();
    let watch = ctx.diagnostics().watch();
    let x = ctx.full([N], 4_u32).unwrap();
    let queue = ctx.queue("main");
    drop(ctx);
    let pending = queue.read(&x);
    drop((x, queue));
    assert!(watch.state_dump().is_some());
    assert_eq!(pending.wait().unwrap(), [4; N]);
    assert_ended(&watch);
}

fn drop_abandoned(subject: &Subject) {
    let ctx = subject.ctx();
    let watch = ctx.diagnostics().watch();
    let queue = ctx.queue("held");
    let mut x = ctx.zeros([N]).unwrap();
    let gate = hold(&queue);
    queue.fill(&mut x, 1_u32).unwrap();
    queue.flush().unwrap();
    drop((x, queue, ctx));
    assert!(watch.state_dump().is_some(), "a signaller is a handle of the context too");
    drop(gate);
    assert_ended(&watch);
}

fn drop_in_callback(subject: &Subject) {
    let ctx = subject.ctx();
    let watch = ctx.diagnostics().watch();
    let queue = ctx.queue("main");
    let mut x = ctx.zeros([N]).unwrap();
    let gate = hold(&queue);
    let last = ctx.clone();
    queue.callback(move || drop(last)).unwrap();
    queue.fill(&mut x, 1_u32).unwrap();
    drop((x, queue, ctx));
    gate.signal();
    drop(gate);
    dump::until(|| watch.state_dump().is_none());
}

/// Both callbacks run before either of them drops a handle.
fn drop_each_other(subject: &Subject) {
    let contexts = [subject.ctx(), subject.ctx()];
    let watches = contexts.each_ref().map(|ctx| ctx.diagnostics().watch());
    let queues = contexts.each_ref().map(|ctx| ctx.queue("main"));
    let both = Arc::new(Barrier::new(3));
    for (at, queue) in queues.iter().enumerate() {
        let other = contexts[1 - at].clone();
        let both = both.clone();
        let drops = move || {
            both.wait();
            both.wait();
            drop(other);
        };
        queue.callback(drops).unwrap();
        queue.flush().unwrap();
    }
    both.wait();
    drop((queues, contexts));
    both.wait();
    dump::until(|| watches.iter().all(|watch| watch.state_dump().is_none()));
}

/// A value that calls a function when it is dropped.
struct AtDrop(Option<Box<dyn FnOnce()>>);

impl Drop for AtDrop {
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(|run| run());
    }
}

thread_local! {
    static AT_END: RefCell<Option<AtDrop>> = const { RefCell::new(None) };
}

/// Calls `run` when this thread ends.
fn at_end(run: impl FnOnce() + 'static) {
    AT_END.with(|last| last.replace(Some(AtDrop(Some(Box::new(run))))));
}

fn calls_at_the_end_of_a_thread(subject: &Subject) {
    let ctx = subject.ctx();
    at_the_end_of_a_thread(ctx.clone());
    ctx.synchronize().wait().unwrap();
}

fn end_of_thread(subject: &Subject) {
    at_the_end_of_a_thread(subject.ctx());
}

fn at_the_end_of_a_thread(ctx: Context) {
    if std::env::var("FENCEPOST_RECORDER").is_ok_and(|recorder| recorder != "direct") {
        return; // the other recorders call wgpu, which panics in such a destructor, so each call is an error
    }
    let (sender, receiver) = channel();
    let thread = thread::spawn(move || {
        AT_END.with(|last| drop(last.take())); // its destructor is registered first, so it runs last
        let queue = ctx.queue("main");
        let mut x = queue.full([4], 1_u32).unwrap();
        assert_eq!(queue.read(&x).wait().unwrap(), [1; 4]);
        let run = move || {
            let capture = |c: &Capture| c.fill(&mut x, 3);
            let (graph, ()) = queue.capture(capture).unwrap();
            queue.replay(&graph).unwrap().wait().unwrap();
            queue.marker().wait().unwrap();
            queue.finish().wait().unwrap();
            ctx.synchronize().wait().unwrap();
            drop((graph, queue, ctx));
            sender.send(()).unwrap();
        };
        at_end(run);
    });
    thread.join().unwrap();
    receiver.recv().expect("the destructor has run to its end");
}

/// Waits in the destructor for a callback. On Windows, no thread of a context can start meanwhile.
fn just_opened(subject: &Subject) {
    let subject = subject.clone();
    let (sender, receiver) = channel();
    let thread = thread::spawn(move || {
        let ctx = subject.ctx();
        let queue = ctx.queue("main");
        let ran = Arc::new(AtomicBool::new(false));
        let called = ran.clone();
        let mut x = queue.full([N], 1_u32).unwrap();
        queue.callback(move || called.store(true, Ordering::SeqCst)).unwrap();
        queue.fill(&mut x, 2).unwrap();
        at_end(move || {
            queue.finish().wait().unwrap();
            assert!(ran.load(Ordering::SeqCst), "the callback comes before the end of the queue");
            drop((x, queue, ctx));
            sender.send(()).unwrap();
        });
    });
    thread.join().unwrap();
    receiver.recv().expect("the destructor has run to its end");
}

/// Waits for a verb whose kernel may still be compiling, and compiles a kernel. On Windows, no thread can start to
/// compile them while the destructor runs.
fn kernels_at_the_end(subject: &Subject) {
    const ONE: &str = "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
        @compute @workgroup_size(1) fn one() { x[0] = 1u; }";
    let subject = subject.clone();
    let (sender, receiver) = channel();
    let thread = thread::spawn(move || {
        let ctx = subject.ctx();
        let queue = ctx.queue("main");
        let x = queue.full([N], 3_u32).unwrap();
        let mut total = queue.zeros::<u32, 1>([1]).unwrap();
        queue.sum(&x, &mut total).unwrap();
        let read = queue.read(&total);
        at_end(move || {
            let total = read.wait();
            let kernel = ctx.kernel_from(ONE, "one").map(drop);
            drop((x, queue, ctx));
            sender.send((total, kernel)).unwrap();
        });
    });
    thread.join().unwrap();
    let (total, kernel) = receiver.recv().expect("the destructor has run to its end");
    if let Some(total) = made(total) {
        assert_eq!(total, [3 * N as u32]);
    }
    made(kernel);
}

/// Opens a context in the destructor. On Windows, its threads cannot start.
fn opened_at_the_end(subject: &Subject) {
    let subject = subject.clone();
    let (sender, receiver) = channel();
    let thread = thread::spawn(move || {
        at_end(move || {
            let ctx = subject.ctx();
            let queue = ctx.queue("main");
            let read = queue.full([N], 4_u32).and_then(|x| queue.read(&x).wait());
            drop((queue, ctx));
            sender.send(read).unwrap();
        });
    });
    thread.join().unwrap();
    if let Some(read) = made(receiver.recv().expect("the destructor has run to its end")) {
        assert_eq!(read, [4; N]);
    }
}

/// Returns the result of a call that needs a new thread; `None` if no thread could start.
fn made<T>(result: Result<T>) -> Option<T> {
    match result {
        Err(error) if cfg!(windows) && error.to_string().contains("the system's loader") => None,
        result => Some(result.unwrap()),
    }
}
