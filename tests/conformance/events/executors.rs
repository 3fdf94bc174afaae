//! E05: events and late results can be awaited on any executor.

use crate::common::thread;
use crate::common::{Case, Subject, case, hold};
use fencepost::{CommandQueue, Context, DeviceArray, SimulatorOptions};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context as Task, Wake, Waker};

pub fn cases() -> Vec<Case> {
    vec![
        case("e05_an_event_can_be_awaited", awaited),
        case("e05_many_tasks_of_one_executor_make_progress", many_tasks),
        case("e05_a_task_may_move_between_threads_and_wakers", moved),
        case("e05_a_future_that_is_dropped_cancels_nothing", dropped),
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

fn awaited(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let mut x = ctx.zeros([N]).unwrap();
    let gate = hold(&queue);
    queue.fill(&mut x, 1_u32).unwrap();
    let marker = queue.marker();
    let read = queue.read(&x);
    let signaller = thread::spawn(move || gate.signal());
    crate::common::block_on(async {
        marker.clone().await.unwrap();
        assert!(marker.is_complete().unwrap());
        assert_eq!(read.await.unwrap(), [1; N]);
        queue.finish().await.unwrap();
    });
    signaller.join().unwrap();
}

type Future0 = Pin<Box<dyn Future<Output = ()>>>;

/// Waker of task number `task` of a small executor.
struct Number {
    task: usize,
    ready: Mutex<Sender<usize>>,
}

impl Wake for Number {
    fn wake(self: Arc<Self>) {
        // The executor may have ended, which closes the channel.
        let _ = self.ready.lock().unwrap().send(self.task);
    }
}

/// Runs tasks, and polls a task only after its wake-up, so that a lost wake-up would be a hang.
fn run(mut tasks: Vec<Option<Future0>>) {
    let (ready, woken) = channel();
    let wakers: Vec<Waker> = (0..tasks.len())
        .map(|task| Waker::from(Arc::new(Number { task, ready: Mutex::new(ready.clone()) })))
        .collect();
    (0..tasks.len()).for_each(|task| ready.send(task).unwrap());
    let mut left = tasks.len();
    while left > 0 {
        let at = woken.recv().unwrap();
        let Some(task) = &mut tasks[at] else { continue };
        if task.as_mut().poll(&mut Task::from_waker(&wakers[at])).is_ready() {
            tasks[at] = None;
            left -= 1;
        }
    }
}

fn many_tasks(subject: &Subject) {
    let ctx = subject.ctx();
    let task = |i: u32| -> Option<Future0> {
        let ctx = ctx.clone();
        Some(Box::pin(async move {
            let queue = ctx.queue(&format!("task {i}"));
            let mut x = ctx.zeros([N]).unwrap();
            for turn in 0..20 {
                queue.fill(&mut x, i + turn).unwrap();
                queue.marker().await.unwrap();
                assert_eq!(queue.read(&x).await.unwrap(), [i + turn; N]);
            }
        }))
    };
    run((0..10).map(task).collect());
}

fn moved(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let mut x = ctx.zeros([N]).unwrap();
    let gate = hold(&queue);
    queue.fill(&mut x, 4_u32).unwrap();
    let mut read = queue.read(&x);
    let first = Pin::new(&mut read).poll(&mut Task::from_waker(Waker::noop()));
    assert!(first.is_pending());
    let other = thread::spawn(move || crate::common::block_on(read));
    gate.signal();
    assert_eq!(other.join().unwrap().unwrap(), [4; N]);
}

fn dropped(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let mut x = ctx.zeros([N]).unwrap();
    let gate = hold(&queue);
    queue.fill(&mut x, 5_u32).unwrap();
    let mut read = queue.read(&x);
    let mut done = queue.marker().done();
    assert!(Pin::new(&mut read).poll(&mut Task::from_waker(Waker::noop())).is_pending());
    assert!(Pin::new(&mut done).poll(&mut Task::from_waker(Waker::noop())).is_pending());
    drop((read, done));
    gate.signal();
    assert_eq!(queue.read(&x).wait().unwrap(), [5; N]);
}

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
