//! Checks that each completion reaches every thread and task that waits for it.

use crate::scheduler::engine::Engine;
use crate::scheduler::loom_models::{Model, enqueue, explore, here, join, wait};
use crate::scheduler::queue_state::Reached;
use fencepost_sync::Slot;
use fencepost_sync::prim::{Condvar, Mutex, lock, sleep};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

#[test]
fn a_waiter_and_the_completer_both_observe_the_completion() {
    explore(|| {
        let model = Model::by_hand(1);
        let queue = model.queue();
        let completer = model.completer(0);
        let world = model.world.clone();
        let device = model.thread(move |_| world.work_through(2));
        for _ in 0..2 {
            let point = enqueue(&model.engine, queue);
            wait(&model.engine, point).expect("the work is done");
        }
        join([device]);
        model.stop([completer]);
    });
}

#[test]
fn a_future_is_woken() {
    explore(|| {
        let model = Model::quick(1);
        let queue = model.queue();
        let threads = [model.lane_thread(0), model.completer(0)];
        let point = enqueue(&model.engine, queue);
        let task_waker = Arc::new(TaskWaker::default());
        while model.engine.poll(point, &Waker::from(task_waker.clone())).is_none() {
            task_waker.sleep();
        }
        model.stop(threads);
    });
}

#[test]
fn a_callback_runs_after_earlier_commands_and_before_later_ones() {
    explore(|| {
        let model = Model::quick(1);
        let queue = model.queue();
        let threads = [model.completer(0), model.thread(|engine| engine.callback_thread())];
        enqueue(&model.engine, queue);
        let (world, seen) = (model.world.clone(), Arc::new(AtomicUsize::new(0)));
        let note = seen.clone();
        let callback = Box::new(move || note.store(world.steps(), Ordering::SeqCst));
        model.engine.enqueue_callback(queue, callback, here()).expect("nothing has failed");
        let behind = enqueue(&model.engine, queue);
        model.engine.flush_before_wait(queue).expect("nothing has failed");
        wait(&model.engine, behind).expect("the work is done");
        assert_eq!((seen.load(Ordering::SeqCst), model.world.steps()), (1, 2));
        model.stop(threads);
    });
}

#[test]
fn a_callback_runs_without_a_waiter() {
    explore(|| run_a_callback(|_, _| ()));
}

#[test]
fn a_callback_runs_if_the_caller_flushes_for_a_wait_and_does_not_wait() {
    explore(|| run_a_callback(|engine, queue| engine.flush_before_wait(queue).expect("nothing has failed")));
}

fn run_a_callback(start: impl FnOnce(&Engine, Slot)) {
    let model = Model::quick(1);
    let queue = model.queue();
    let threads = [model.lane_thread(0), model.completer(0)];
    enqueue(&model.engine, queue);
    let engine = model.engine.clone();
    let callback = Box::new(move || engine.lock().closing = true);
    model.engine.enqueue_callback(queue, callback, here()).expect("nothing has failed");
    start(&model.engine, queue);
    // The callback sets `closing`, so this call returns only after the callback ran.
    model.engine.callback_thread();
    model.stop(threads);
}

#[test]
fn closing_a_context_waits_for_its_work_and_ends_its_threads() {
    explore(|| {
        let model = Model::quick(1);
        let queue = model.queue();
        let threads =
            [model.lane_thread(0), model.completer(0), model.thread(|engine| engine.callback_thread())];
        let end = enqueue(&model.engine, queue);
        model.engine.close();
        join(threads);
        assert_eq!(model.engine.lock().reached(end), Reached::Done);
    });
}

/// Parks a thread until its waker is called, any number of times.
#[derive(Default)]
struct TaskWaker {
    rung: Mutex<bool>,
    ring: Condvar,
}

impl TaskWaker {
    fn sleep(&self) {
        let mut rung = lock(&self.rung);
        while !std::mem::take(&mut *rung) {
            rung = sleep(&self.ring, rung);
        }
    }
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        *lock(&self.rung) = true;
        self.ring.notify_all();
    }
}
