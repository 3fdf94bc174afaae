//! Checks that a wait returns the error when the device is lost.

use crate::error::Kind;
use crate::scheduler::loom_models::{Model, enqueue, enqueue_wait, explore, here, join, wait};

#[test]
fn a_wait_ends_when_the_device_is_lost() {
    explore(|| {
        let model = Model::by_hand(1);
        let queue = model.queue();
        let threads = [model.lane_thread(0), model.completer(0)];
        let world = model.world.clone();
        let driver = model.thread(move |_| world.lose());
        let point = enqueue(&model.engine, queue);
        expect_lost(wait(&model.engine, point));
        join([driver]);
        join(threads);
    });
}

#[test]
fn a_wait_for_another_lane_ends_when_the_device_is_lost() {
    explore(|| {
        let model = Model::by_hand(2);
        let (first, second) = (model.queue(), model.queue());
        let served = enqueue(&model.engine, first);
        enqueue_wait(&model.engine, second, served);
        let end = enqueue(&model.engine, second);
        let world = model.world.clone();
        let driver = model.thread(move |_| world.lose());
        let other = model.thread(move |engine| expect_lost(wait(engine, served)));
        expect_lost(wait(&model.engine, end));
        join([driver, other]);
    });
}

#[test]
fn a_wait_during_a_loss_ends_with_success_or_device_lost() {
    explore(|| {
        let model = Model::quick(1);
        let queue = model.queue();
        let lane = model.lane_thread(0);
        let point = enqueue(&model.engine, queue);
        let world = model.world.clone();
        let driver = model.thread(move |_| world.lose());
        if let Err(error) = wait(&model.engine, point) {
            assert!(matches!(error.kind(), Kind::DeviceLost { .. }), "{error}");
        }
        join([driver]);
        model.stop([lane]);
    });
}

#[test]
fn a_wait_for_the_host_ends_with_device_lost_when_the_device_is_lost() {
    explore(|| {
        let model = Model::by_hand(1);
        let (queue, gated) = (model.queue(), model.queue());
        let gate = crate::scheduler::signaller::Signaller::new(&model.engine, "gate");
        model.engine.enqueue_user_wait(gated, gate.state().clone(), here()).expect("nothing has failed");
        let behind = enqueue(&model.engine, gated);
        let running = enqueue(&model.engine, queue);
        let world = model.world.clone();
        let driver = model.thread(move |_| world.lose());
        let other = model.thread(move |engine| expect_lost(wait(engine, running)));
        expect_lost(wait(&model.engine, behind));
        join([driver, other]);
    });
}

fn expect_lost(result: crate::error::Result<()>) {
    let error = result.expect_err("the device is lost before it completes a command");
    assert!(matches!(error.kind(), Kind::DeviceLost { .. }), "{error}");
}
