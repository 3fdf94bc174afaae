//! Checks that a context observes the end of the work that it awaits in another context.

use crate::error::{ErrorDetail, Result};
use crate::scheduler::loom_models::ContextThread::{Completer, Lane};
use crate::scheduler::loom_models::{BY_HAND, Model, QUICK, Setup, explore};
use crate::scheduler::relay::{Relay, RelaySource, SignalledBy, Signaller};
use crate::scheduler::test_engine::finish;
use fencepost_sync::prim::{Mutex, lock};
use fencepost_sync::{Point, Slot};
use std::sync::Arc;
use std::task::{Poll, Waker};

#[test]
fn a_waiter_drives_the_other_context() {
    explore_two(QUICK, |near, far| {
        let (held, served) = after(&near, &far);
        start_waiter(&far, served);
        near.finish(held);
    });
}

#[test]
fn a_completion_elsewhere_is_not_lost_while_the_queue_is_being_held() {
    explore_two(QUICK, |near, far| {
        near.start(Lane(0));
        let (_, served) = after(&near, &far);
        start_waiter(&far, served);
        near.world.wait_for(1);
    });
}

#[test]
fn work_after_another_context_is_submitted_without_a_waiter() {
    explore_two(QUICK.with(&[Lane(0), Completer(0)]), |near, far| {
        near.start(Lane(0));
        after(&near, &far);
        near.world.wait_for(1);
    });
}

#[test]
fn on_one_device_work_is_submitted_after_incomplete_work() {
    explore(|| {
        let far = BY_HAND.model();
        let near = QUICK.with(&[Lane(0)]).model_on(far.engine.device.clone());
        let (_, served) = after(&near, &far);
        start_waiter(&far, served);
        near.world.wait_for(1);
        drop(near);
        far.world.work_through(1);
        far.join();
        assert!(!far.engine.lock().waiters.wakers.has_submission_wakers());
    });
}

#[test]
fn on_one_device_a_wait_for_a_point_that_is_never_submitted_ends() {
    explore(|| {
        let far = QUICK.model();
        let near = QUICK.model_on(far.engine.device.clone());
        let held = far.queue();
        let queue = near.queue();
        let gate = far.hold(held);
        let end = far.engine.lock().queue(held).end(held);
        wait_across((&near, queue), at(&far, end));
        let end = near.enqueue(queue);
        far.thread(move |_| gate.signal());
        near.finish(end);
        far.join();
        assert!(!far.engine.lock().waiters.wakers.has_submission_wakers());
    });
}

#[test]
fn two_contexts_that_wait_for_each_other_in_turn_both_finish() {
    explore_two(QUICK, |near, far| {
        let ping = near.queue();
        let pong = far.queue();
        let served = near.enqueue(ping);
        wait_across((&far, pong), at(&near, served));
        let returned = far.enqueue(pong);
        wait_across((&near, ping), at(&far, returned));
        let end = near.enqueue(ping);
        start_waiter(&far, returned);
        near.finish(end);
        far.join();
        assert_eq!((near.world.steps(), far.world.steps()), (2, 1));
    });
}

#[test]
fn a_signal_in_another_context_releases_the_waiter() {
    explore_two(QUICK, |near, far| {
        let (gate, end) = gated(&near, &far);
        far.thread(move |_| gate.signal());
        near.finish(end);
    });
}

#[test]
fn an_event_abandoned_by_another_context_fails_the_waiter() {
    explore_two(QUICK, |near, far| {
        let (gate, end) = gated(&near, &far);
        far.thread(move |_| drop(gate));
        expect_failed(&near, end, |kind| matches!(kind, ErrorDetail::Abandoned { .. }));
    });
}

#[test]
fn a_device_loss_in_another_context_fails_the_waiter() {
    explore_two(BY_HAND, |near, far| {
        let (held, _) = after(&near, &far);
        far.lose();
        expect_failed(&near, held, |kind| matches!(kind, ErrorDetail::DeviceLost { .. }));
    });
}

#[test]
fn closing_a_context_with_a_lost_device_fails_the_waiter_in_another() {
    explore_two(BY_HAND, |near, far| {
        let (held, _) = after(&near, &far);
        near.thread(move |_| {
            far.world.lose();
            far.engine.close();
        });
        let gone = |kind: &ErrorDetail| {
            matches!(kind, ErrorDetail::DeviceLost { .. } | ErrorDetail::Abandoned { .. })
        };
        expect_failed(&near, held, gone);
    });
}

#[test]
fn a_device_loss_ends_a_wait_for_another_context_once_that_progresses() {
    explore_two(BY_HAND, |near, far| {
        let (held, _) = after(&near, &far);
        let here = near.world.clone();
        let there = far.world.clone();
        far.thread(move |_| {
            here.lose();
            there.work_through(1);
        });
        if let Err(error) = near.wait(held) {
            assert!(matches!(error.detail(), ErrorDetail::DeviceLost { .. }), "{error}");
        }
    });
}

#[test]
fn closing_an_awaited_context_completes_its_work_first() {
    explore_two(QUICK, |near, far| {
        let (held, _) = after(&near, &far);
        near.thread(move |_| far.engine.close());
        near.finish(held);
    });
}

#[test]
fn closing_a_waiting_context_completes_the_wait_first() {
    explore_two(QUICK, |near, far| {
        let (_, served) = after(&near, &far);
        start_waiter(&far, served);
        near.engine.close();
        assert_eq!((near.world.steps(), far.world.steps()), (1, 1));
    });
}

#[test]
fn a_relay_runs_its_step_between_arrival_and_signal() {
    explore_two(QUICK, |near, far| {
        near.start(Lane(0));
        let queue = near.queue();
        let bytes = Arc::new(Mutex::new(Bytes::default()));
        let served = far.enqueue(far.queue());
        let wanted = bytes.clone();
        let then = Box::new(move |waker: &Waker| lock(&wanted).request(waker));
        Relay::attach(&near.engine, near.hold(queue), at(&far, served), Some(then));
        near.enqueue(queue);
        far.thread(move |_| {
            let asks = lock(&bytes).come();
            if let Some(waker) = asks {
                waker.wake();
            }
        });
        far.finish(served);
        near.world.wait_for(1);
    });
}

/// Explores `act` with two contexts. The first waits for the second; `far` describes the second.
fn explore_two(far: Setup, act: fn(Model, Model)) {
    explore(move || act(QUICK.model(), far.model()));
}

/// Starts a thread of the program that waits for a point of this context.
fn start_waiter(model: &Model, point: Point) {
    model.thread(move |engine| finish(engine, point));
}

/// Enqueues a command on `near` that waits for an event of `far`. Returns the event's signaller and the command's
/// point.
fn gated(near: &Model, far: &Model) -> (Signaller, Point) {
    let queue = near.queue();
    let gate = Signaller::new(&far.engine, "gate", SignalledBy::Program);
    wait_across((near, queue), RelaySource::User(Arc::downgrade(&far.engine), gate.state().clone()));
    (gate, near.enqueue(queue))
}

/// Makes one command of a queue of `near` wait for a command of `far`. Returns the points of the waiting and the
/// awaited command.
fn after(near: &Model, far: &Model) -> (Point, Point) {
    let queue = near.queue();
    let served = far.enqueue(far.queue());
    wait_across((near, queue), at(far, served));
    (near.enqueue(queue), served)
}

/// Returns a point as the source of a relay.
fn at(model: &Model, point: Point) -> RelaySource {
    RelaySource::Point(Arc::downgrade(&model.engine), point, model.engine.stretch_of(point))
}

/// Holds a queue until a source of another context is reached.
fn wait_across((near, queue): (&Model, Slot), origin: RelaySource) {
    Relay::attach(&near.engine, near.hold(queue), origin, None);
}

/// Waits for work that fails because of the other context.
fn expect_failed(near: &Model, point: Point, reason: fn(&ErrorDetail) -> bool) {
    let error = near.wait(point).expect_err("the source fails");
    let ErrorDetail::OtherContext { error: inner, .. } = error.detail() else { panic!("{error}") };
    assert!(reason(inner.detail()), "{error}");
}

/// Bytes that arrive later, and the waker that waits for them.
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
