//! Checks that a context observes the end of the work that it waits for in another context.

use crate::error::{Kind, Result};
use crate::scheduler::loom_models::{Model, enqueue, explore, here, join, wait};
use crate::scheduler::relay::{Relay, RelaySource};
use crate::scheduler::signaller::Signaller;
use fencepost_sync::prim::{Mutex, lock};
use fencepost_sync::{Point, Slot};
use loom::thread;
use std::sync::Arc;
use std::task::{Poll, Waker};

#[test]
fn a_waiter_drives_the_other_context() {
    explore_two(Model::quick, |near, far| {
        let (held, served) = behind(&near, &far);
        let other = waiter(&far, served);
        wait(&near.engine, held).expect("the work is done");
        join([other]);
    });
}

#[test]
fn a_completion_elsewhere_is_not_lost_while_the_queue_is_being_held() {
    explore_two(Model::quick, |near, far| {
        let lane = near.lane_thread(0);
        let (_, served) = behind(&near, &far);
        let other = waiter(&far, served);
        near.world.wait_for(1);
        join([other]);
        near.stop([lane]);
    });
}

#[test]
fn work_behind_another_context_is_submitted_without_a_waiter() {
    explore_two(Model::quick, |near, far| {
        let lane = near.lane_thread(0);
        let threads = [far.lane_thread(0), far.completer(0)];
        behind(&near, &far);
        near.world.wait_for(1);
        near.stop([lane]);
        far.stop(threads);
    });
}

#[test]
fn on_one_device_work_is_submitted_behind_incomplete_work() {
    explore(|| {
        let far = Model::by_hand(1);
        let near = far.sharing_device();
        let lane = near.lane_thread(0);
        let (_, served) = behind(&near, &far);
        let other = waiter(&far, served);
        near.world.wait_for(1);
        near.stop([lane]);
        far.world.work_through(1);
        join([other]);
        assert!(!far.engine.lock().wakers.await_submissions());
    });
}

#[test]
fn on_one_device_a_wait_for_a_point_that_is_never_submitted_ends() {
    explore(|| {
        let far = Model::quick(1);
        let near = far.sharing_device();
        let (held, queue) = (far.queue(), near.queue());
        let gate = hold(&far, held);
        let end = far.engine.lock().queue(held).end(held);
        wait_across((&near, queue), at(&far, end));
        let end = enqueue(&near.engine, queue);
        let signaller = far.thread(move |_| gate.signal());
        wait(&near.engine, end).expect("the work is done");
        join([signaller]);
        assert!(!far.engine.lock().wakers.await_submissions());
    });
}

#[test]
fn two_contexts_that_wait_for_each_other_in_turn_both_finish() {
    explore_two(Model::quick, |near, far| {
        let (ping, pong) = (near.queue(), far.queue());
        let served = enqueue(&near.engine, ping);
        wait_across((&far, pong), at(&near, served));
        let returned = enqueue(&far.engine, pong);
        wait_across((&near, ping), at(&far, returned));
        let end = enqueue(&near.engine, ping);
        let other = waiter(&far, returned);
        wait(&near.engine, end).expect("the work is done");
        join([other]);
        assert_eq!((near.world.steps(), far.world.steps()), (2, 1));
    });
}

#[test]
fn a_signal_in_another_context_releases_the_waiter() {
    explore_two(Model::quick, |near, far| {
        let (gate, end) = gated(&near, &far);
        let signaller = far.thread(move |_| gate.signal());
        wait(&near.engine, end).expect("the work is done");
        join([signaller]);
    });
}

#[test]
fn an_event_abandoned_by_another_context_fails_the_waiter() {
    explore_two(Model::quick, |near, far| {
        let (gate, end) = gated(&near, &far);
        let last = far.thread(move |_| drop(gate));
        expect_failed(&near, end, |kind| matches!(kind, Kind::Abandoned { .. }));
        join([last]);
    });
}

#[test]
fn a_device_loss_in_another_context_fails_the_waiter() {
    explore_two(Model::by_hand, |near, far| {
        let (held, _) = behind(&near, &far);
        let world = far.world.clone();
        let driver = far.thread(move |_| world.lose());
        expect_failed(&near, held, |kind| matches!(kind, Kind::DeviceLost { .. }));
        join([driver]);
    });
}

#[test]
fn closing_a_context_with_a_lost_device_fails_the_waiter_in_another() {
    explore_two(Model::by_hand, |near, far| {
        let (held, _) = behind(&near, &far);
        let last = thread::spawn(move || {
            far.world.lose();
            far.engine.close();
        });
        let gone = |kind: &Kind| matches!(kind, Kind::DeviceLost { .. } | Kind::Abandoned { .. });
        expect_failed(&near, held, gone);
        join([last]);
    });
}

#[test]
fn a_device_loss_ends_a_wait_for_another_context_once_that_progresses() {
    explore_two(Model::by_hand, |near, far| {
        let (held, _) = behind(&near, &far);
        let (here, there) = (near.world.clone(), far.world.clone());
        let driver = far.thread(move |_| {
            here.lose();
            there.work_through(1);
        });
        if let Err(error) = wait(&near.engine, held) {
            assert!(matches!(error.kind(), Kind::DeviceLost { .. }), "{error}");
        }
        join([driver]);
    });
}

#[test]
fn closing_an_awaited_context_completes_its_work_first() {
    explore_two(Model::quick, |near, far| {
        let (held, _) = behind(&near, &far);
        let last = thread::spawn(move || far.engine.close());
        wait(&near.engine, held).expect("the work is done");
        join([last]);
    });
}

#[test]
fn closing_a_waiting_context_completes_the_wait_first() {
    explore_two(Model::quick, |near, far| {
        let (_, served) = behind(&near, &far);
        let other = waiter(&far, served);
        near.engine.close();
        assert_eq!((near.world.steps(), far.world.steps()), (1, 1));
        join([other]);
    });
}

#[test]
fn a_relay_runs_its_step_between_arrival_and_signal() {
    explore_two(Model::quick, |near, far| {
        let lane = near.lane_thread(0);
        let (queue, bytes) = (near.queue(), Arc::new(Mutex::new(Bytes::default())));
        let (served, wanted) = (enqueue(&far.engine, far.queue()), bytes.clone());
        let then = Box::new(move |waker: &Waker| lock(&wanted).request(waker));
        Relay::attach(&near.engine, hold(&near, queue), at(&far, served), Some(then));
        enqueue(&near.engine, queue);
        let saver = far.thread(move |_| {
            let asks = lock(&bytes).come();
            asks.into_iter().for_each(Waker::wake);
        });
        wait(&far.engine, served).expect("the work is done");
        near.world.wait_for(1);
        join([saver]);
        near.stop([lane]);
    });
}

/// Explores a context that waits for another one, which `far` makes with one lane.
fn explore_two(far: fn(usize) -> Model, act: fn(Model, Model)) {
    explore(move || act(Model::quick(1), far(1)));
}

/// Starts a thread of a context that waits for work of that context.
fn waiter(model: &Model, point: Point) -> thread::JoinHandle<()> {
    model.thread(move |engine| wait(engine, point).expect("the work is done"))
}

/// Makes one command of a queue of `near` wait for an event of `far`. Returns the event's signaller and the point of
/// the command.
fn gated(near: &Model, far: &Model) -> (Signaller, Point) {
    let (queue, gate) = (near.queue(), Signaller::new(&far.engine, "gate"));
    wait_across((near, queue), RelaySource::User(Arc::downgrade(&far.engine), gate.state().clone()));
    (gate, enqueue(&near.engine, queue))
}

/// Makes one command of a queue of `near` wait for a command of `far`. Returns the points of the waiting and the
/// awaited command.
fn behind(near: &Model, far: &Model) -> (Point, Point) {
    let (queue, served) = (near.queue(), enqueue(&far.engine, far.queue()));
    wait_across((near, queue), at(far, served));
    (enqueue(&near.engine, queue), served)
}

fn at(model: &Model, point: Point) -> RelaySource {
    RelaySource::Point(Arc::downgrade(&model.engine), point, model.engine.stretch_of(point))
}

/// Enqueues a wait for a source of another context.
fn wait_across((near, queue): (&Model, Slot), origin: RelaySource) {
    Relay::attach(&near.engine, hold(near, queue), origin, None);
}

/// Makes a queue wait for a signal. Returns the signaller.
fn hold(near: &Model, queue: Slot) -> Signaller {
    let signaller = Signaller::new(&near.engine, "far");
    near.engine.enqueue_user_wait(queue, signaller.state().clone(), here()).expect("nothing has failed");
    signaller
}

/// Waits for work that fails because of the other context.
fn expect_failed(near: &Model, point: Point, reason: fn(&Kind) -> bool) {
    let error = wait(&near.engine, point).expect_err("the source fails");
    let Kind::OtherContext { error: inner, .. } = error.kind() else { panic!("{error}") };
    assert!(reason(inner.kind()), "{error}");
}

/// Holds the state of some bytes and the waker that waits for them.
#[derive(Default)]
struct Bytes {
    here: bool,
    asks: Option<Waker>,
}

impl Bytes {
    fn request(&mut self, waker: &Waker) -> Poll<Result<()>> {
        if self.here {
            return Poll::Ready(Ok(()));
        }
        self.asks = Some(waker.clone());
        Poll::Pending
    }

    fn come(&mut self) -> Option<Waker> {
        self.here = true;
        self.asks.take()
    }
}
