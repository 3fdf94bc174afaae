//! What a context waits for of another one is heard of, however that ends.

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
fn whoever_waits_gets_the_other_context_on() {
    explore_two(Model::quick, |near, far| {
        let (held, served) = behind(&near, &far);
        let other = waiter(&far, served);
        wait(&near.engine, held).expect("the work is done");
        join([other]);
    });
}

#[test]
fn an_arrival_is_not_missed_by_who_is_about_to_hold_the_queue() {
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
fn work_behind_another_context_is_submitted_though_nobody_waits() {
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
fn on_one_device_work_is_submitted_behind_what_is_not_done() {
    explore(|| {
        let far = Model::by_hand(1);
        let near = far.beside();
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
fn on_one_device_what_is_never_submitted_is_over_too() {
    explore(|| {
        let far = Model::quick(1);
        let near = far.beside();
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
fn a_signal_in_another_context_reaches_who_waits_behind_it() {
    explore_two(Model::quick, |near, far| {
        let (gate, end) = gated(&near, &far);
        let signaller = far.thread(move |_| gate.signal());
        wait(&near.engine, end).expect("the work is done");
        join([signaller]);
    });
}

#[test]
fn a_gate_that_another_context_drops_fails_who_waits_behind_it() {
    explore_two(Model::quick, |near, far| {
        let (gate, end) = gated(&near, &far);
        let last = far.thread(move |_| drop(gate));
        expect_failed(&near, end, |kind| matches!(kind, Kind::Abandoned { .. }));
        join([last]);
    });
}

#[test]
fn a_loss_over_there_fails_who_waits_here() {
    explore_two(Model::by_hand, |near, far| {
        let (held, _) = behind(&near, &far);
        let world = far.world.clone();
        let driver = far.thread(move |_| world.lose());
        expect_failed(&near, held, |kind| matches!(kind, Kind::DeviceLost { .. }));
        join([driver]);
    });
}

#[test]
fn the_end_of_a_context_whose_device_is_gone_fails_who_waits_here() {
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
fn a_loss_here_ends_a_wait_for_there_once_that_moves() {
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
fn the_end_of_a_context_that_is_waited_for_does_its_work_first() {
    explore_two(Model::quick, |near, far| {
        let (held, _) = behind(&near, &far);
        let last = thread::spawn(move || far.engine.close());
        wait(&near.engine, held).expect("the work is done");
        join([last]);
    });
}

#[test]
fn the_end_of_a_context_that_waits_comes_after_the_wait() {
    explore_two(Model::quick, |near, far| {
        let (_, served) = behind(&near, &far);
        let other = waiter(&far, served);
        near.engine.close();
        assert_eq!((near.world.steps(), far.world.steps()), (1, 1));
        join([other]);
    });
}

#[test]
fn what_has_to_be_done_between_arrival_and_signal_is_not_missed() {
    explore_two(Model::quick, |near, far| {
        let lane = near.lane_thread(0);
        let (queue, bytes) = (near.queue(), Arc::new(Mutex::new(Bytes::default())));
        let (served, wanted) = (enqueue(&far.engine, far.queue()), bytes.clone());
        let then = Box::new(move |waker: &Waker| lock(&wanted).ask(waker));
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

/// Explores what a context does that waits for another one, which `far` makes with one lane.
fn explore_two(far: fn(usize) -> Model, act: fn(Model, Model)) {
    explore(move || act(Model::quick(1), far(1)));
}

/// A thread of a context that waits for work of it.
fn waiter(model: &Model, point: Point) -> thread::JoinHandle<()> {
    model.thread(move |engine| wait(engine, point).expect("the work is done"))
}

/// Has one command of a queue of `near` wait for a gate of `far`: that, and the point behind the command.
fn gated(near: &Model, far: &Model) -> (Signaller, Point) {
    let (queue, gate) = (near.queue(), Signaller::new(&far.engine, "gate"));
    wait_across((near, queue), RelaySource::User(Arc::downgrade(&far.engine), gate.state().clone()));
    (gate, enqueue(&near.engine, queue))
}

/// Has one command of a queue of `near` wait for one of `far`: the point behind each.
fn behind(near: &Model, far: &Model) -> (Point, Point) {
    let (queue, served) = (near.queue(), enqueue(&far.engine, far.queue()));
    wait_across((near, queue), at(far, served));
    (enqueue(&near.engine, queue), served)
}

fn at(model: &Model, point: Point) -> RelaySource {
    RelaySource::Point(Arc::downgrade(&model.engine), point, model.engine.stretch_of(point))
}

/// Enqueues a wait for something of another context.
fn wait_across((near, queue): (&Model, Slot), origin: RelaySource) {
    Relay::attach(&near.engine, hold(near, queue), origin, None);
}

/// Has a queue wait for somebody's signal.
fn hold(near: &Model, queue: Slot) -> Signaller {
    let signaller = Signaller::new(&near.engine, "far");
    near.engine.enqueue_user_wait(queue, signaller.state().clone(), here()).expect("nothing has failed");
    signaller
}

/// Waits for work that fails for a reason of the other context.
fn expect_failed(near: &Model, point: Point, reason: fn(&Kind) -> bool) {
    let error = wait(&near.engine, point).expect_err("what it waits for never comes");
    let Kind::OtherContext { error: inner, .. } = error.kind() else { panic!("{error}") };
    assert!(reason(inner.kind()), "{error}");
}

/// Whether bytes are there, and who asks.
#[derive(Default)]
struct Bytes {
    here: bool,
    asks: Option<Waker>,
}

impl Bytes {
    fn ask(&mut self, waker: &Waker) -> Poll<Result<()>> {
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
