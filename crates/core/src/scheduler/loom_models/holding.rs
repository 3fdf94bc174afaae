//! Checks that a queue held by the host continues after its release.

use crate::error::Kind;
use crate::memory::block::Block;
use crate::memory::host_access::HostUseKind;
use crate::scheduler::deadline::Deadline;
use crate::scheduler::engine::Engine;
use crate::scheduler::host_guard::HostGuard;
use crate::scheduler::loom_models::{
    Model, block, enqueue, enqueue_wait, enqueue_work, explore, here, join, wait,
};
use crate::scheduler::signaller::Signaller;
use crate::work::span::{Pattern, Span};
use crate::work::step::Work;
use fencepost_sync::{Point, Slot};
use std::sync::Arc;

#[test]
fn a_signal_is_not_lost_while_the_queue_is_being_held() {
    explore(|| {
        let model = Model::quick(1);
        let queue = model.queue();
        let lane = model.lane_thread(0);
        let gate = Signaller::new(&model.engine, "gate");
        model.engine.enqueue_user_wait(queue, gate.state().clone(), here()).expect("nothing has failed");
        enqueue(&model.engine, queue);
        assert_eq!(model.world.steps(), 0);
        gate.signal();
        model.world.wait_for(1);
        model.stop([lane]);
    });
}

#[test]
fn a_signal_releases_a_waiter_on_another_lane() {
    explore(|| {
        let model = Model::quick(2);
        let (gated, other) = (model.queue(), model.queue());
        let gate = Signaller::new(&model.engine, "gate");
        model.engine.enqueue_user_wait(gated, gate.state().clone(), here()).expect("nothing has failed");
        let served = enqueue(&model.engine, gated);
        enqueue_wait(&model.engine, other, served);
        let end = enqueue(&model.engine, other);
        let lane = model.lane_thread(1);
        let signaller = model.thread(move |_| gate.signal());
        wait(&model.engine, end).expect("the work is done");
        join([signaller]);
        model.stop([lane]);
    });
}

#[test]
fn an_abandoned_event_fails_its_queue_and_ends_the_wait() {
    explore(|| {
        let model = Model::quick(1);
        let queue = model.queue();
        let lane = model.lane_thread(0);
        let gate = Signaller::new(&model.engine, "gate");
        model.engine.enqueue_user_wait(queue, gate.state().clone(), here()).expect("nothing has failed");
        let (point, _) = model.engine.marker(queue);
        let last = model.thread(move |_| drop(gate));
        let error = wait(&model.engine, point).expect_err("the event is abandoned");
        assert!(matches!(error.kind(), Kind::Abandoned { .. }), "{error}");
        join([last]);
        model.stop([lane]);
    });
}

#[test]
fn work_continues_after_the_host_access_to_its_bytes_ends() {
    explore(|| {
        let model = Model::quick(1);
        let (queue, block) = (model.queue(), block());
        let lane = model.lane_thread(0);
        let access = host_access(&model.engine, &block);
        fill(&model, queue, &block);
        assert_eq!(model.world.steps(), 0);
        let host = model.thread(move |_| drop(access));
        model.world.wait_for(1);
        join([host]);
        model.stop([lane]);
    });
}

#[test]
fn a_host_access_waits_for_earlier_work_and_holds_later_work() {
    explore(|| {
        let model = Model::quick(1);
        let (queue, block) = (model.queue(), block());
        let lane = model.lane_thread(0);
        fill(&model, queue, &block);
        let access = host_access(&model.engine, &block);
        let later = fill(&model, queue, &block);
        assert_eq!(model.world.steps(), 1);
        drop(access);
        wait(&model.engine, later).expect("the work is done");
        model.stop([lane]);
    });
}

#[test]
fn two_host_writes_of_one_block_run_one_after_the_other() {
    explore(|| {
        let model = Model::quick(1);
        let (block, engine) = (block(), model.engine.clone());
        let same = block.clone();
        let other = model.thread(move |_| drop(host_access(&engine, &same)));
        drop(host_access(&model.engine, &block));
        join([other]);
    });
}

fn host_access(engine: &Arc<Engine>, block: &Arc<Block>) -> HostGuard {
    let access = engine.host_access(&whole(block), HostUseKind::Write, Deadline::after(None));
    access.expect("the device is there").expect("a wait without limit has an end")
}

fn fill(model: &Model, queue: Slot, block: &Arc<Block>) -> Point {
    enqueue_work(&model.engine, queue, Work::Fill { dst: whole(block), pattern: Pattern::ZERO })
}

fn whole(block: &Arc<Block>) -> Span {
    Span { block: block.clone(), offset: 0, size: block.size }
}
