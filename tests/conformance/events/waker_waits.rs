//! E05: wakers that wait for results, and tasks that are polled in a wake-up.

use crate::common::{Case, Subject, case};
use fencepost::{CommandQueue, Context, DeviceArray, SimulatorOptions};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::task::{Context as Task, Wake, Waker};

pub fn cases() -> Vec<Case> {
    vec![
        case("e05_a_waker_may_block_on_a_result", |s| waits_in_wakers(s, &BLOCKING)),
        case("e05_a_waker_may_await_a_result", |s| waits_in_wakers(s, &AWAITING)),
        case("e05_a_waker_may_wait_for_another_context_that_waits_for_this_one", across),
        case("e05_a_task_that_is_polled_inside_signal_may_await_callbacks", |s| {
            inside_a_signal(&s.ctx());
            inside_a_signal(&s.without_threads());
        }),
    ]
}

const N: usize = 64;

/// A waker that calls a function at the first wake-up.
struct Does(Mutex<Option<Box<dyn FnOnce() + Send>>>);

impl Wake for Does {
    fn wake(self: Arc<Self>) {
        let does = self.0.lock().unwrap().take();
        if let Some(does) = does {
            does();
        }
    }
}

/// Calls `does` in a waker, on the thread that completes some work, and waits until the call has returned.
fn in_a_waker(ctx: &Context, does: impl FnOnce() + Send + 'static) {
    let (queue, gate, (sender, ended)) = (ctx.queue("woken"), ctx.user_event("gate"), channel());
    let mut x = ctx.zeros([N]).unwrap();
    queue.wait_for(&gate.event()).unwrap();
    queue.fill(&mut x, 1_u32).unwrap();
    let mut end = queue.finish();
    let does = Box::new(move || {
        does();
        sender.send(()).unwrap();
    });
    let waker = Waker::from(Arc::new(Does(Mutex::new(Some(does)))));
    assert!(Pin::new(&mut end).poll(&mut Task::from_waker(&waker)).is_pending());
    gate.signal();
    ended.recv().unwrap();
    end.wait().unwrap();
}

/// A wait for work that the waker enqueues.
type Waits = fn(&Context, &CommandQueue, &DeviceArray<u32>);

const BLOCKING: [Waits; 5] = [
    |_, queue, _| queue.finish().wait().unwrap(),
    |_, queue, _| queue.marker().wait().unwrap(),
    |_, queue, x| assert_eq!(queue.read(x).wait().unwrap(), [7; N]),
    |_, _, x| assert_eq!(x.map_read().wait().unwrap()[..], [7; N]),
    |ctx, _, _| ctx.synchronize().wait().unwrap(),
];

const AWAITING: [Waits; 5] = [
    |_, queue, _| crate::common::block_on(queue.finish()).unwrap(),
    |_, queue, _| crate::common::block_on(queue.marker().done()).unwrap(),
    |_, queue, x| assert_eq!(crate::common::block_on(queue.read(x)).unwrap(), [7; N]),
    |_, _, x| assert_eq!(crate::common::block_on(x.map_read()).unwrap()[..], [7; N]),
    |ctx, _, _| crate::common::block_on(ctx.synchronize()).unwrap(),
];

fn waits_in_wakers(s: &Subject, ways: &'static [Waits]) {
    let ctx = s.ctx();
    for round in 0..40 {
        let inside = ctx.clone();
        let way = ways[round % ways.len()];
        in_a_waker(&ctx, move || {
            let queue = inside.queue("waited for");
            let x = queue.full([N], 7).unwrap();
            way(&inside, &queue, &x);
        });
    }
}

/// The waker waits for a second context, whose work waits for the context on whose thread the waker runs.
fn across(s: &Subject) {
    let ctx = s.ctx();
    let other = Context::simulated(SimulatorOptions::default());
    for round in 0..20 {
        let inside = ctx.clone();
        let other = other.clone();
        in_a_waker(&ctx, move || {
            let near = inside.queue("near");
            let far = other.queue("far");
            let mut x = near.full([N], 7_u32).unwrap();
            far.wait_for(&near).unwrap();
            near.fill(&mut x, 8).unwrap();
            let end = far.finish();
            if round % 2 == 0 { end.wait().unwrap() } else { crate::common::block_on(end).unwrap() }
        });
    }
}

/// A waker that polls its task during the wake-up, and again if another wake-up comes during the poll.
struct Inline {
    task: Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>,
    wakes: AtomicU32,
}

impl Wake for Inline {
    fn wake(self: Arc<Self>) {
        if self.wakes.fetch_add(1, Ordering::AcqRel) > 0 {
            return;
        }
        let waker = Waker::from(self.clone());
        loop {
            let seen = self.wakes.load(Ordering::Acquire);
            let mut task = self.task.lock().unwrap();
            if task.as_mut().is_some_and(|task| task.as_mut().poll(&mut Task::from_waker(&waker)).is_ready())
            {
                *task = None;
            }
            drop(task);
            if self.wakes.compare_exchange(seen, 0, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                return;
            }
        }
    }
}

/// Has the signalling thread poll a task, which then awaits a callback of the same context.
fn inside_a_signal(ctx: &Context) {
    let (gate, (sender, ended)) = (ctx.user_event("gate"), channel());
    let opened = gate.event();
    let inside = ctx.clone();
    let task = async move {
        opened.await.unwrap();
        let queue = inside.queue("inside");
        queue.callback(|| ()).unwrap();
        queue.finish().await.unwrap();
        sender.send(()).unwrap();
    };
    let task = Arc::new(Inline { task: Mutex::new(Some(Box::pin(task))), wakes: AtomicU32::new(0) });
    task.wake();
    gate.signal();
    ended.recv().unwrap();
}
