//! Tests of when a task is woken, on an engine whose threads never run. All work happens inside the test's calls.

use crate::memory::uses::Policy;
use crate::record::cpu::cpu_recorder as cpu;
use crate::record::cpu::cpu_recorder::SimulatorOptions;
use crate::runtime::context_threads::ContextThreads;
use crate::scheduler::queues::Priority;
use crate::scheduler::relay::{RelaySource, SignalledBy, Signaller};
use crate::scheduler::test_engine::{
    TestTask, block, engine, enqueue, enqueue_callback, enqueue_work, fill, finish, hold, queue,
    reached_by_planning, span,
};
use crate::scheduler::wait::wait_tests::TURNS;
use crate::scheduler::wait::*;
use fencepost_sync::prim::{Mutex, lock};
use std::sync::Weak;
use std::sync::mpsc::{Sender, channel};
use std::task::Wake;

#[test]
fn e05_a_requested_context_command_is_planned_after_a_planned_batch() {
    type Ask = fn(&Engine, Point);
    let asks: [Ask; 3] = [
        |engine, point| assert!(engine.poll(point, Waker::noop()).is_none()),
        |engine, point| assert!(!engine.is_complete(point, &Clock::default()).expect("nothing has failed")),
        |engine, point| engine.submit_up_to(engine.lock(), point, Caller::Continues),
    ];
    for (at, request) in asks.into_iter().enumerate() {
        let engine = engine(true);
        let planned = enqueue(&engine, queue(&engine));
        engine.lock().plan([planned], Priority::Normal);
        let own = enqueue(&engine, Slot::CONTEXT);
        request(&engine, own);
        assert_ne!(engine.lock().reached(own), PointProgress::Unplanned, "case {at}");
    }
}

fn plan_all(engine: &Engine) {
    let mut state = engine.lock();
    state.plan_lane(0, DueCommands::All);
    engine.unlock(state);
}

/// Polls a point as a task does that polls again only after it is woken.
fn poll_to_the_end(engine: &Engine, point: Point) {
    let (task, waker) = TestTask::new();
    while engine.poll(point, &waker).is_none() {
        assert!(task.woken() > 0, "the task is never woken");
    }
}

/// Makes the next work of a queue wait for a point of another context.
fn wait_across(engine: &Arc<Engine>, slot: Slot, far: &Arc<Engine>, point: Point) {
    let source = RelaySource::Point(Arc::downgrade(far), point, far.stretch_of(point));
    Relay::attach(engine, hold(engine, slot), source, None);
}

#[test]
fn e07_a_task_is_woken_when_a_context_without_threads_holds_its_queue() {
    for held_first in [false, true] {
        let near = engine(true);
        let far = engine(false);
        let served = enqueue(&far, queue(&far));
        let slot = queue(&near);
        let gate = held_first.then(|| hold(&near, slot));
        if !held_first {
            // While a planned batch is unsubmitted, the lane thread plans the queue.
            let planned = enqueue(&near, queue(&near));
            near.lock().plan([planned], Priority::Normal);
        }
        wait_across(&near, slot, &far, served);
        let point = enqueue(&near, slot);
        let (task, waker) = TestTask::new();
        assert!(near.poll(point, &waker).is_none());
        task.woken();
        if let Some(gate) = gate {
            gate.signal();
        }
        while near.submit_one(0) {}
        plan_all(&near);
        assert!(task.woken() > 0, "held at first: {held_first}");
        // Each turn does the work of the lane thread and of the completer.
        for _ in 0..TURNS {
            plan_all(&near);
            while near.submit_one(0) {}
            near.poll_lane(0);
            if near.poll(point, &waker).is_some() {
                break;
            }
        }
        assert_eq!(near.lock().reached(point), PointProgress::Done);
    }
}

#[test]
fn e05_without_threads_a_task_sees_an_event_signalled_by_a_callback_after_work() {
    let engine = engine(false);
    let slot = queue(&engine);
    let gate = Signaller::new(&engine, "gate", SignalledBy::Program);
    let event = gate.state().clone();
    (0..64).for_each(|_| _ = enqueue(&engine, slot)); // more commands than one turn completes
    enqueue_callback(&engine, slot, move || gate.signal());
    let (task, waker) = TestTask::new();
    while engine.poll_unflushed(WaitTarget::User(&event), &waker).is_none() {
        assert!(task.woken() > 0, "the task is never woken");
    }
}

#[test]
fn e05_without_threads_a_task_is_woken_when_the_signalling_callback_is_released() {
    let engine = engine(false);
    let slot = queue(&engine);
    let gate = hold(&engine, slot);
    let signalled = Signaller::new(&engine, "signalled", SignalledBy::Program);
    let event = signalled.state().clone();
    enqueue_callback(&engine, slot, move || signalled.signal());
    let (task, waker) = TestTask::new();
    assert!(engine.poll_unflushed(WaitTarget::User(&event), &waker).is_none());
    assert_eq!(task.woken(), 0);
    gate.signal();
    assert!(task.woken() > 0);
    assert!(engine.poll_unflushed(WaitTarget::User(&event), &waker).is_none() && event.result().is_some());
}

#[test]
fn e05_without_threads_a_task_is_woken_when_another_thread_releases_its_queue() {
    type Hold = fn(&Arc<Engine>, Slot) -> Box<dyn FnOnce()>;
    let holds: [Hold; 2] = [
        |engine, slot| {
            // This thread runs the callback instead of the callback thread.
            enqueue_callback(engine, slot, || ());
            let mut state = engine.lock();
            state.plan_lane(0, DueCommands::All);
            let (id, slot, run) = state.callbacks.next_due().expect("the callback is due");
            engine.unlock(state);
            let engine = engine.clone();
            Box::new(move || drop(engine.run_callback(engine.lock(), id, slot, run)))
        },
        |engine, slot| {
            let block = block();
            let access = engine.try_overwrite(&span(&block));
            let access = access.expect("nothing has failed").expect("no command uses the block");
            enqueue_work(engine, slot, fill(&block));
            Box::new(move || drop(access))
        },
    ];
    for (at, hold) in holds.into_iter().enumerate() {
        let engine = engine(false);
        let slot = queue(&engine);
        let let_go = hold(&engine, slot);
        let point = enqueue(&engine, slot);
        let (task, waker) = TestTask::new();
        assert!(engine.poll(point, &waker).is_none());
        assert_eq!(task.woken(), 0, "case {at}");
        let_go();
        assert!(task.woken() > 0, "case {at}");
        poll_to_the_end(&engine, point);
    }
}

#[test]
fn e05_without_threads_a_task_polls_again_while_another_thread_submits() {
    let engine = engine(false);
    let point = enqueue(&engine, queue(&engine));
    engine.lock().lanes[0].token = true;
    let (task, waker) = TestTask::new();
    assert!(engine.poll(point, &waker).is_none());
    assert!(task.woken() > 0);
    engine.lock().lanes[0].token = false;
    poll_to_the_end(&engine, point);
}

/// A waker that waits for a point when it is called.
struct Waiting(Weak<Engine>, Mutex<Option<Point>>, Sender<Result<bool>>);

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        let point = lock(&self.1).take();
        if let (Some(engine), Some(point)) = (self.0.upgrade(), point) {
            let waited = engine.wait(point, Deadline::after(None));
            self.2.send(waited).expect("the test receives the result");
        }
    }
}

#[test]
fn e05_a_waker_may_wait_on_a_lane_thread() {
    let (device, mut lanes) = cpu::open(&SimulatorOptions::default());
    lanes.iter_mut().for_each(|lane| lane.async_submit = false);
    let engine = Engine::new(device, lanes, Policy::Unchecked, true);
    let (slot, there) = reached_by_planning(&engine);
    let after = queue(&engine);
    enqueue(&engine, after);
    enqueue_callback(&engine, after, || ());
    let wanted = enqueue(&engine, after);
    let (sender, told) = channel();
    let waiting = Waiting(Arc::downgrade(&engine), Mutex::new(Some(wanted)), sender);
    assert!(engine.register_waker(WaitTarget::Point(there), &Waker::from(Arc::new(waiting))).is_none());
    enqueue(&engine, slot);
    engine.flush(slot, Caller::Continues).expect("nothing has failed");
    let threads = ContextThreads::start(&engine);
    assert!(told.recv().expect("the waker sends its result").expect("nothing has failed"));
    threads.end(&engine, &Arc::default());
}

#[test]
fn e09_a_signal_runs_no_callback_of_a_context_without_threads() {
    let near = engine(true);
    let far = engine(false);
    let slot = queue(&far);
    let gate = hold(&far, slot);
    let (sender, ran) = channel();
    enqueue_callback(&far, slot, move || sender.send(()).expect("the test receives the message"));
    let served = enqueue(&far, slot);
    let held = queue(&near);
    wait_across(&near, held, &far, served);
    let point = enqueue(&near, held);
    let threads = ContextThreads::start(&near);
    let (_, waker) = TestTask::new();
    assert!(near.poll(point, &waker).is_none()); // this starts the work of the other context
    gate.signal();
    assert!(ran.try_recv().is_err(), "the callback may wait for work after the signal");
    finish(&near, point);
    ran.recv().expect("the callback ran");
    threads.end(&near, &Arc::default());
}

#[test]
fn e07_a_lane_thread_runs_no_callback_of_a_context_without_threads() {
    let near = engine(true);
    let far = engine(false);
    let slot = queue(&far);
    let (sender, ran) = channel();
    enqueue_callback(&far, slot, move || {
        sender.send(std::thread::current().name().map(str::to_owned)).expect("the test receives the message")
    });
    let served = enqueue(&far, slot);
    let (task, waker) = TestTask::new();
    assert!(far.register_waker(WaitTarget::Point(served), &waker).is_none());
    let held = queue(&near);
    wait_across(&near, held, &far, served);
    let point = enqueue(&near, held);
    let threads = ContextThreads::start(&near);
    near.flush(held, Caller::Continues).expect("nothing has failed");
    // The lane thread drives the other context up to the callback.
    while task.woken() == 0 {
        std::thread::yield_now();
    }
    assert!(ran.try_recv().is_err());
    finish(&near, point);
    assert_eq!(ran.recv().expect("the callback ran"), std::thread::current().name().map(str::to_owned));
    threads.end(&near, &Arc::default());
}
