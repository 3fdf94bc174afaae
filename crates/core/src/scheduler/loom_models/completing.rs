//! Checks that each completion reaches every thread and task that waits for it.

use crate::scheduler::engine::Engine;
use crate::scheduler::loom_models::ContextThread::{Callbacks, Completer, Lane};
use crate::scheduler::loom_models::{BY_HAND, Model, QUICK};
use crate::scheduler::queue::PointProgress;
use crate::scheduler::test_engine::enqueue_callback;
use crate::scheduler::wait::Caller;
use fencepost_sync::Slot;
use fencepost_sync::prim::{Condvar, Mutex, lock, sleep};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

#[test]
fn a_waiter_and_the_completer_both_observe_the_completion() {
    BY_HAND.with(&[Completer(0)]).explore(|model, queue| {
        let world = model.world.clone();
        model.thread(move |_| world.work_through(2));
        for _ in 0..2 {
            let point = model.enqueue(queue);
            model.finish(point);
        }
    });
}

#[test]
fn a_future_is_woken() {
    QUICK.with(&[Lane(0), Completer(0)]).explore(|model, queue| {
        let point = model.enqueue(queue);
        let task_waker = Arc::new(ParkedTask::default());
        while model.engine.poll(point, &Waker::from(task_waker.clone())).is_none() {
            task_waker.sleep();
        }
    });
}

#[test]
fn a_callback_runs_after_earlier_commands_and_before_later_ones() {
    QUICK.with(&[Completer(0), Callbacks]).explore(|model, queue| {
        model.enqueue(queue);
        let world = model.world.clone();
        let seen = Arc::new(AtomicUsize::new(0));
        let note = seen.clone();
        enqueue_callback(&model.engine, queue, move || note.store(world.steps(), Ordering::SeqCst));
        let after = model.enqueue(queue);
        model.engine.flush(queue, Caller::Waits).expect("nothing has failed");
        model.finish(after);
        assert_eq!((seen.load(Ordering::SeqCst), model.world.steps()), (1, 2));
    });
}

#[test]
fn a_callback_runs_without_a_waiter() {
    QUICK.with(&[Lane(0), Completer(0)]).explore(|model, queue| run_a_callback(model, queue, |_| ()));
}

#[test]
fn a_callback_runs_if_the_caller_flushes_for_a_wait_and_does_not_wait() {
    QUICK.with(&[Lane(0), Completer(0)]).explore(|model, queue| {
        run_a_callback(model, queue, |engine| {
            engine.flush(queue, Caller::Waits).expect("nothing has failed");
        });
    });
}

fn run_a_callback(model: &Model, queue: Slot, start: impl FnOnce(&Engine)) {
    model.enqueue(queue);
    let engine = model.engine.clone();
    enqueue_callback(&model.engine, queue, move || engine.lock().closing = true);
    start(&model.engine);
    // The callback sets `closing`, so this call returns only after the callback has run.
    model.engine.callback_thread();
}

#[test]
fn closing_a_context_waits_for_its_work_and_ends_its_threads() {
    QUICK.with(&[Lane(0), Completer(0), Callbacks]).explore(|model, queue| {
        let end = model.enqueue(queue);
        model.engine.close();
        model.join_ended();
        assert_eq!(model.engine.lock().reached(end), PointProgress::Done);
    });
}

/// A task whose thread sleeps until the waker is called. Each sleep needs a new call.
#[derive(Default)]
struct ParkedTask {
    rung: Mutex<bool>,
    ring: Condvar,
}

impl ParkedTask {
    fn sleep(&self) {
        let mut rung = lock(&self.rung);
        while !std::mem::take(&mut *rung) {
            rung = sleep(&self.ring, rung);
        }
    }
}

impl Wake for ParkedTask {
    fn wake(self: Arc<Self>) {
        *lock(&self.rung) = true;
        self.ring.notify_all();
    }
}
