//! Checks that a wait returns the error when the device is lost.

use crate::error::ErrorDetail;
use crate::scheduler::loom_models::ContextThread::{Completer, Lane};
use crate::scheduler::loom_models::{BY_HAND, QUICK, wait};

#[test]
fn a_wait_ends_when_the_device_is_lost() {
    BY_HAND.with(&[Lane(0), Completer(0)]).explore(|model, queue| {
        model.lose();
        let point = model.enqueue(queue);
        expect_lost(model.wait(point));
        model.join_ended();
    });
}

#[test]
fn a_wait_for_another_lane_ends_when_the_device_is_lost() {
    BY_HAND.lanes(2).explore(|model, first| {
        let second = model.queue();
        let served = model.enqueue(first);
        let end = model.enqueue_after(second, served);
        model.lose();
        model.thread(move |engine| expect_lost(wait(engine, served)));
        expect_lost(model.wait(end));
    });
}

#[test]
fn a_wait_during_a_loss_ends_with_success_or_device_lost() {
    QUICK.with(&[Lane(0)]).explore(|model, queue| {
        let point = model.enqueue(queue);
        model.lose();
        if let Err(error) = model.wait(point) {
            assert!(matches!(error.detail(), ErrorDetail::DeviceLost { .. }), "{error}");
        }
    });
}

#[test]
fn a_wait_for_the_host_ends_with_device_lost_when_the_device_is_lost() {
    BY_HAND.explore(|model, queue| {
        let gated = model.queue();
        let _gate = model.hold(gated);
        let after = model.enqueue(gated);
        let running = model.enqueue(queue);
        model.lose();
        model.thread(move |engine| expect_lost(wait(engine, running)));
        expect_lost(model.wait(after));
        model.join();
    });
}

fn expect_lost(result: crate::error::Result<()>) {
    let error = result.expect_err("the device is lost before it completes a command");
    assert!(matches!(error.detail(), ErrorDetail::DeviceLost { .. }), "{error}");
}
