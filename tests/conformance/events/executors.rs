//! E05: events and late results can be awaited on any executor.

use crate::common::thread;
use crate::common::{Case, ONE_THREAD, Subject, case, hold, received};
use std::future::Future;
use std::pin::Pin;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context as Task, Wake, Waker};

pub fn cases() -> Vec<Case> {
    vec![
        case("e05_an_event_can_be_awaited", awaited).not_in_a_page(ONE_THREAD),
        case("e05_many_tasks_of_one_executor_make_progress", many_tasks),
        case("e05_a_task_may_move_between_threads_and_wakers", moved).not_in_a_page(ONE_THREAD),
        case("e05_a_future_that_is_dropped_cancels_nothing", dropped),
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
        let at = received(&woken);
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
