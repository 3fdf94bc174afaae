//! Checks that a queue which the host holds continues after the release.

use crate::error::ErrorDetail;
use crate::memory::block::{Block, HostUse};
use crate::memory::host_access::HostUseKind;
use crate::scheduler::engine::Engine;
use crate::scheduler::host_guard::{GuardOpening, HostGuard};
use crate::scheduler::loom_models::ContextThread::Lane;
use crate::scheduler::loom_models::{Model, QUICK};
use crate::scheduler::test_engine::{self, block, enqueue_work, here, span};
use crate::scheduler::wakers::Deadline;
use crate::work::step::Work;
use fencepost_sync::{Point, Slot};
use std::sync::Arc;

#[test]
fn a_signal_is_not_lost_while_the_queue_is_being_held() {
    QUICK.with(&[Lane(0)]).explore(|model, queue| {
        let gate = model.hold(queue);
        model.enqueue(queue);
        assert_eq!(model.world.steps(), 0);
        gate.signal();
        model.world.wait_for(1);
    });
}

#[test]
fn a_signal_releases_a_waiter_on_another_lane() {
    QUICK.lanes(2).explore(|model, gated| {
        let other = model.queue();
        let gate = model.hold(gated);
        let served = model.enqueue(gated);
        let end = model.enqueue_after(other, served);
        model.start(Lane(1));
        model.thread(move |_| gate.signal());
        model.finish(end);
    });
}

#[test]
fn an_abandoned_event_fails_its_queue_and_ends_the_wait() {
    QUICK.with(&[Lane(0)]).explore(|model, queue| {
        let gate = model.hold(queue);
        let (point, _) = model.engine.marker(queue);
        model.thread(move |_| drop(gate));
        let error = model.wait(point).expect_err("the event is abandoned");
        assert!(matches!(error.detail(), ErrorDetail::Abandoned { .. }), "{error}");
    });
}

#[test]
fn work_continues_after_the_host_access_to_its_bytes_ends() {
    QUICK.with(&[Lane(0)]).explore(|model, queue| {
        let block = block();
        let access = host_access(&model.engine, &block);
        fill(model, queue, &block);
        assert_eq!(model.world.steps(), 0);
        model.thread(move |_| drop(access));
        model.world.wait_for(1);
    });
}

#[test]
fn a_host_access_waits_for_earlier_work_and_holds_later_work() {
    QUICK.with(&[Lane(0)]).explore(|model, queue| {
        let block = block();
        fill(model, queue, &block);
        let access = host_access(&model.engine, &block);
        let later = fill(model, queue, &block);
        assert_eq!(model.world.steps(), 1);
        drop(access);
        model.finish(later);
    });
}

#[test]
fn two_host_writes_of_one_block_run_one_after_the_other() {
    QUICK.explore(|model, _| {
        let block = block();
        let engine = model.engine.clone();
        let same = block.clone();
        model.thread(move |_| drop(host_access(&engine, &same)));
        drop(host_access(&model.engine, &block));
    });
}

#[test]
fn work_that_reads_the_bytes_is_refused_once_a_guard_may_write_them() {
    QUICK.explore(|model, _| {
        let block = block();
        let engine = model.engine.clone();
        let same = block.clone();
        model.thread(move |_| {
            let opening = GuardOpening { array: &"array".into(), at: here() };
            let write = HostUseKind::Write;
            drop(engine.host_access(&span(&same), write, Deadline::after(None), Some(opening)));
        });
        let reads = Work::Copy { src: span(&block), dst: span(&test_engine::block()) };
        let state = model.engine.lock();
        if block.order().host == HostUse::Writing {
            assert!(state.memory.check_maps(&reads).is_err());
        }
    });
}

fn host_access(engine: &Arc<Engine>, block: &Arc<Block>) -> HostGuard {
    let access = engine.host_access(&span(block), HostUseKind::Write, Deadline::after(None), None);
    access.expect("the device is there").expect("a wait without limit has an end")
}

fn fill(model: &Model, queue: Slot, block: &Arc<Block>) -> Point {
    enqueue_work(&model.engine, queue, test_engine::fill(block))
}
