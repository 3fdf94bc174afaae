//! R08: user code that uses the context while the library runs it: loggers, destructors, wakers, payloads of panics.

use crate::common::{Case, NO_UNWINDING, Subject, assert_error, case, dump, hold, logger};
use fencepost::prelude::*;
use fencepost::print::PrintTo;
use fencepost::{ErrorDetail, ErrorKind, HostBuffer, PrintOptions, ShaderSource};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context as Task, Waker};

pub fn cases() -> Vec<Case> {
    vec![
        case("r08_a_logger_may_use_the_context", logger_uses).not_in_a_page(NO_UNWINDING),
        case("r08_a_logger_that_waits_for_a_waiting_thread_holds_nothing_up", logger_waits)
            .not_in_a_page(NO_UNWINDING),
        case("r08_destructors_of_captured_values_may_use_the_context", captured).not_in_a_page(NO_UNWINDING),
        case("r08_the_destructor_of_a_replaced_host_kernel_may_use_the_context", host_kernels)
            .host_code_only("only the CPU runs host functions as kernels"),
        case("r08_wakers_may_use_the_context_when_they_are_cloned_woken_and_dropped", wakers),
        case("r08_the_payload_of_a_panic_may_use_the_context_and_panic", payloads)
            .not_in_a_page(NO_UNWINDING),
    ]
}

const ADDS: &str = "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
    @compute @workgroup_size(4) fn adds(@builtin(local_invocation_index) i: u32) { x[i] += 1u; }";

/// Number of calls of [`User::run`].
#[derive(Default)]
struct Calls(AtomicU32);

/// User code that makes calls that are allowed everywhere, and waits for its own work.
#[derive(Clone)]
struct User {
    context: Weak<Context>,
    /// Made before everything that may call the code, because a queue comes after everything enqueued before it.
    queue: CommandQueue,
    calls: Arc<Calls>,
}

impl User {
    fn of(context: &Arc<Context>) -> Self {
        let queue = context.queue("inside");
        let context = Arc::downgrade(context);
        Self { context, queue, calls: Arc::default() }
    }

    fn calls(&self) -> u32 {
        self.calls.0.load(Ordering::SeqCst)
    }

    /// Waits until the code has run for the `count`th time. A thread of the library may run it after the call that
    /// causes it.
    fn is_called(&self, count: u32) {
        dump::until(|| self.calls() >= count);
        assert_eq!(self.calls(), count);
    }

    fn run(&self) {
        let Some(ctx) = self.context.upgrade() else { return };
        let queue = &self.queue;
        drop(ctx.queue("made inside"));
        let kernel = ctx.kernel_from(ADDS, "adds").unwrap();
        let mut x = queue.zeros::<u32, 1>([4]).unwrap();
        queue.launch_dyn(&kernel, Grid::groups([1]), args![x = &mut x]).unwrap();
        let event = ctx.user_event("inside");
        queue.wait_for(&event.event()).unwrap();
        event.signal();
        queue.flush().unwrap();
        let (graph, ()) = queue.capture(|queue| queue.fill(&mut x, 5)).unwrap();
        queue.replay(&graph).unwrap();
        match queue.read(&x).wait() {
            // A turn of a page cannot block.
            Err(error) if cfg!(target_arch = "wasm32") => assert_eq!(error.kind(), ErrorKind::WouldBlock),
            result => assert_eq!(result.unwrap(), [5; 4]),
        }
        queue.marker().is_complete().unwrap();
        drop((x, graph, kernel));
        assert!(!ctx.diagnostics().state_dump().is_empty());
        let _ = ctx.pool().stats();
        self.calls.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// User code that runs when it is dropped.
struct Dropped(User);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.run();
    }
}

fn contexts(s: &Subject) -> [Arc<Context>; 2] {
    [s.ctx(), s.without_threads()].map(Arc::new)
}

/// Fails a queue.
fn fail(queue: &CommandQueue) {
    queue.callback(|| resume_unwind(Box::new("on purpose"))).unwrap();
    assert_error!(queue.finish().wait(), ErrorDetail::CallbackPanicked { .. });
    queue.take_error();
}

fn logger_uses(s: &Subject) {
    for ctx in contexts(s) {
        let user = User::of(&ctx);
        let (sender, logged) = channel();
        let label = format!("the queue of {}, {}", s.name(), ctx.diagnostics().state_dump().len());
        let by_logger = user.clone();
        let of_queue = label.clone();
        let receiving = logger::receive(move |text| {
            if text.contains(&of_queue) {
                by_logger.run();
                sender.send(()).unwrap();
            }
        });
        fail(&ctx.queue(&label));
        logged.recv().unwrap();
        user.is_called(1);
        drop(receiving);
    }
}

fn logger_waits(s: &Subject) {
    let ctx = s.ctx();
    let failing = ctx.queue(&format!("the failing queue of {}", s.name()));
    let queue = ctx.queue("q");
    let label = failing.options().label.to_owned();
    let (begun, has_begun) = channel();
    let (release, released) = channel::<()>();
    let released = Mutex::new(released);
    let receiving = logger::receive(move |text| {
        if text.contains(&label) {
            begun.send(()).unwrap();
            let _ = released.lock().unwrap().recv();
        }
    });
    fail(&failing);
    has_begun.recv().unwrap();
    // The logger waits for this thread, but this thread never waits for the logger.
    User::of(&Arc::new(ctx.clone())).run();
    let mut x = ctx.full([4], 3_u32).unwrap();
    let (sender, called) = channel();
    queue.callback(move || sender.send(()).unwrap()).unwrap();
    queue.fill(&mut x, 4).unwrap();
    called.recv().unwrap();
    assert_eq!(crate::common::block_on(queue.read(&x)).unwrap(), [4; 4]);
    fail(&ctx.queue("fails too"));
    drop((x, queue, failing, ctx));
    drop(release);
    drop(receiving);
}

fn captured(s: &Subject) {
    for ctx in contexts(s) {
        let user = User::of(&ctx);
        let queue = ctx.queue("q");
        let value = || Dropped(user.clone());
        let print = |value: Dropped| {
            let to = PrintTo::Function(Arc::new(move |_| _ = &value));
            ctx.set_print(PrintOptions::default().to(to));
        };
        print(value());
        print(value());
        ctx.set_print(PrintOptions::default());
        assert_eq!(user.calls(), 2, "functions for printed lines");
        let callback = |value: Dropped| queue.callback(move || _ = &value);
        callback(value()).unwrap();
        queue.finish().wait().unwrap();
        user.is_called(3);
        // The callbacks after a failed one are dropped.
        let gate = hold(&queue);
        callback(value()).unwrap();
        callback(value()).unwrap();
        let finish = queue.finish();
        drop(gate);
        assert!(matches!(finish.wait().unwrap_err().detail(), ErrorDetail::Abandoned { .. }));
        user.is_called(5);
        // A failed queue refuses callbacks.
        assert!(callback(value()).is_err());
        queue.take_error();
        assert_eq!(user.calls(), 6, "a refused callback");
        let held = value();
        let (graph, ()) = queue.capture(|queue| queue.host(move || _ = &held)).unwrap();
        queue.replay(&graph).unwrap();
        queue.finish().wait().unwrap();
        drop(graph);
        ctx.synchronize().wait().unwrap();
        let held = value();
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            queue.capture(|queue| -> fencepost::Result<()> {
                queue.host(move || _ = &held)?;
                resume_unwind(Box::new("on purpose"))
            })
        }));
        assert!(unwound.is_err());
        queue.finish().wait().unwrap();
        user.is_called(8); // functions in graphs
    }
}

fn host_kernels(s: &Subject) {
    for ctx in contexts(s) {
        let user = User::of(&ctx);
        for _ in 0..3 {
            let held = Dropped(user.clone());
            let run = move |_: [u32; 3], _: [u32; 3], _: &[u8], _: &mut [HostBuffer<'_>]| _ = &held;
            ctx.host_kernel("replaced", Arc::new(run)).unwrap();
        }
        assert_eq!(user.calls(), 2);
    }
}

/// A waker that runs user code whenever the library calls it.
fn waker(user: &User) -> Waker {
    struct Loud(User);
    impl std::task::Wake for Loud {
        fn wake(self: Arc<Self>) {
            self.0.run();
        }
    }
    impl Drop for Loud {
        fn drop(&mut self) {
            self.0.run();
        }
    }
    Waker::from(Arc::new(Loud(user.clone())))
}

fn wakers(s: &Subject) {
    for ctx in contexts(s) {
        let user = User::of(&ctx);
        let queue = ctx.queue("q");
        let event = ctx.user_event("e");
        queue.wait_for(&event.event()).unwrap();
        let mut x = ctx.zeros::<u32, 1>([4]).unwrap();
        queue.fill(&mut x, 2).unwrap();
        let later = ShaderSource::text("later.wgsl", format!("{ADDS} // {}", s.name()));
        let mut futures: Vec<Pin<Box<dyn Future<Output = bool>>>> = vec![
            Box::pin(async { event.event().done().await.is_ok() }),
            Box::pin(async { queue.read(&x).await.is_ok_and(|x| x == [2; 4]) }),
            Box::pin(async { queue.finish().await.is_ok() }),
            Box::pin(async { ctx.kernel_from_later(&later, "adds", &[]).await.is_ok() }),
        ];
        // Each poll brings another waker, which replaces the previous one.
        for _ in 0..3 {
            futures.retain_mut(|future| {
                let task = waker(&user);
                future.as_mut().poll(&mut Task::from_waker(&task)).is_pending()
            });
        }
        assert!(user.calls() >= 6, "the replaced wakers are dropped");
        drop(futures.pop());
        event.signal();
        queue.finish().wait().unwrap();
        drop(futures);
    }
}

fn payloads(s: &Subject) {
    for ctx in contexts(s) {
        let user = User::of(&ctx);
        let queue = ctx.queue("q");
        struct Loud(User);
        impl Drop for Loud {
            fn drop(&mut self) {
                self.0.run();
                if !crate::common::thread::panicking() {
                    resume_unwind(Box::new("the payload panics"));
                }
            }
        }
        let payload = Loud(user.clone());
        queue.callback(move || resume_unwind(Box::new(payload))).unwrap();
        assert_error!(queue.finish().wait(), ErrorDetail::CallbackPanicked { .. });
        queue.take_error();
        user.is_called(1);
        let mut x = ctx.zeros::<u32, 1>([4]).unwrap();
        queue.fill(&mut x, 3).unwrap();
        queue.callback(|| ()).unwrap();
        assert_eq!(queue.read(&x).wait().unwrap(), [3; 4]);
    }
}
