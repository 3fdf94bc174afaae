//! Q04, Q07: flushes and waits for all queues of a context, and waits for all contexts of the process.

use crate::common::early_results::{self, RUNS};
use crate::common::{Case, NO_DEVICE, Subject, assert_error, case, dump, hold, queues, raw};
use fencepost::prelude::*;
use fencepost::{AdoptOptions, ErrorDetail, synchronize_all};
use std::sync::mpsc::channel;
use std::time::Duration;

pub fn cases() -> Vec<Case> {
    vec![
        case("q04_flushing_the_context_starts_the_work_of_all_queues_together", together),
        case("q07_synchronize_waits_for_all_queues_and_flushes_them", all_queues),
        case("q07_synchronize_submits_the_work_of_all_queues_before_any_wait", flushes),
        case("q07_synchronize_does_not_wait_for_later_work", not_later),
        case("q07_synchronize_does_not_wait_for_a_later_kernel", kernel_after).on_devices(RUNS).host_side(),
        case("q07_synchronize_waits_for_the_work_of_a_dropped_queue", gone),
        case("q07_synchronize_returns_the_first_error_and_waits_for_all_other_queues", errors),
        case("q07_synchronize_orders_all_work_before_later_calls", known),
        case("q07_a_synchronize_that_has_timed_out_orders_nothing", not_known),
        case("q07_synchronize_in_a_callback_returns_would_deadlock_at_once", would_deadlock),
        case("q07_synchronize_all_waits_for_every_context", every_context),
        case("q07_synchronize_all_keeps_no_context_alive", weak),
        case("q07_synchronize_waits_for_the_owner_of_an_adopted_device", owner).gpu_only(NO_DEVICE),
        case("q07_synchronizing_an_idle_context_is_no_error", idle),
    ]
}

const N: usize = 300;

fn together(subject: &Subject) {
    let ctx = subject.without_threads();
    let queues = [0, 1, 2].map(|at| ctx.queue(&format!("queue {at}")));
    let mut arrays = [0; 3].map(|_| ctx.zeros([N]).unwrap());
    ctx.synchronize().wait().unwrap();
    let profiler = ctx.profile();
    for (queue, x) in queues.iter().zip(&mut arrays) {
        queue.fill(x, 7_u32).unwrap();
    }
    let before = dump::submitted(&ctx);
    ctx.flush().unwrap();
    assert_eq!(dump::submitted(&ctx), before + 1, "the flush has made one submission");
    let profile = profiler.finish().wait().unwrap();
    let batches: Vec<_> = profile.rows.iter().map(|row| row.batch).collect();
    assert_eq!(batches, [Some(0); 3], "the work of all queues is in one batch");
}

fn all_queues(subject: &Subject) {
    let ctx = subject.ctx();
    let queues = [0, 1, 2].map(|at| ctx.queue(&format!("queue {at}")));
    let mut arrays = [0; 3].map(|_| ctx.zeros([N]).unwrap());
    let gate = hold(&queues[1]);
    for (queue, x) in queues.iter().zip(&mut arrays) {
        queue.fill(x, 7_u32).unwrap();
    }
    let mut all = ctx.synchronize();
    // The other queues are done, so only the held queue is left.
    [0, 2].iter().for_each(|at| queues[*at].finish().wait().unwrap());
    assert!(all.wait_timeout(Duration::ZERO).unwrap().is_none());
    assert!(dump::is_held(&ctx, "queue 1"));
    gate.signal();
    all.wait().unwrap();
    assert!(queues.iter().all(|queue| queue.marker().is_complete().unwrap()));
    queues.iter().zip(&mut arrays).for_each(|(queue, x)| queue.fill(x, 8).unwrap());
    crate::common::block_on(ctx.synchronize()).unwrap();
    assert!(queues.iter().all(|queue| queue.marker().is_complete().unwrap()));
}

fn flushes(subject: &Subject) {
    let ctx = subject.without_threads();
    let queues = [0, 1, 2].map(|at| ctx.queue(&format!("queue {at}")));
    let mut arrays = [0; 3].map(|_| ctx.zeros([N]).unwrap());
    ctx.synchronize().wait().unwrap();
    for (queue, x) in queues.iter().zip(&mut arrays) {
        queue.fill(x, 7_u32).unwrap();
    }
    let before = dump::submitted(&ctx);
    let pending = || queues.each_ref().map(|queue| dump::pending(&ctx, &queue.options().label));
    assert_eq!(pending(), [1; 3]);
    let all = ctx.synchronize();
    assert_eq!(pending(), [0; 3]);
    assert!(dump::submitted(&ctx) > before);
    all.wait().unwrap();
}

fn not_later(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let mut x = ctx.full([N], 1_u32).unwrap();
    let all = ctx.synchronize();
    let gate = hold(&queue);
    queue.fill(&mut x, 2).unwrap();
    all.wait().unwrap();
    gate.signal();
    assert_eq!(queue.read(&x).wait().unwrap(), [2; N]);
}

fn kernel_after(subject: &Subject) {
    early_results::on_its_queue(
        subject,
        &[("the end of a context", |at| {
            let all = at.ctx.synchronize();
            Box::new(move || all.wait().unwrap())
        })],
    );
}

fn gone(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("short-lived");
    let mut x = ctx.zeros([N]).unwrap();
    ctx.synchronize().wait().unwrap();
    let gate = hold(&queue);
    queue.fill(&mut x, 3_u32).unwrap();
    let end = queue.marker();
    drop(queue);
    let mut all = ctx.synchronize();
    // Everything else is done, so only the dropped queue is left.
    assert!(all.wait_timeout(Duration::ZERO).unwrap().is_none());
    assert!(dump::is_held(&ctx, "short-lived"));
    gate.signal();
    all.wait().unwrap();
    assert!(end.is_complete().unwrap());
}

fn errors(subject: &Subject) {
    let (ctx, [first, second, third]) = subject.with_queues(["first", "second", "third"]);
    for (queue, label) in [(&third, "for the third"), (&first, "for the first")] {
        queue.wait_for(&ctx.user_event(label).event()).unwrap();
    }
    let gate = hold(&second);
    second.fill(&mut ctx.zeros::<u32, 1>([N]).unwrap(), 1).unwrap();
    let mut all = ctx.synchronize();
    [&first, &third].iter().for_each(|queue| _ = queue.finish().wait().unwrap_err());
    assert!(
        all.wait_timeout(Duration::ZERO).unwrap().is_none(),
        "the result still waits for the second queue"
    );
    assert!(dump::is_held(&ctx, "second"));
    gate.signal();
    assert_error!(all.wait(), ErrorDetail::Abandoned { event } if event == "for the first");
    assert!(second.marker().is_complete().unwrap());
    first.take_error().unwrap();
    third.take_error().unwrap();
    ctx.synchronize().wait().unwrap();
}

fn known(subject: &Subject) {
    let (ctx, [one, two, gone]) = subject.with_queues_under(Policy::Checked, ["one", "two", "gone"]);
    let [mut x, mut y] = [0; 2].map(|_| ctx.zeros([N]).unwrap());
    one.fill(&mut x, 1_u32).unwrap();
    gone.fill(&mut y, 1_u32).unwrap();
    drop(gone);
    // The work is done, but no call has told the host.
    ["one", "gone"].iter().for_each(|label| dump::until_done(&ctx, label));
    assert!(two.fill(&mut x, 2).is_err() && two.fill(&mut y, 2).is_err());
    ctx.synchronize().wait().unwrap();
    two.fill(&mut x, 2).unwrap();
    two.fill(&mut y, 2).unwrap();
    assert_eq!(two.read(&y).wait().unwrap(), [2; N]);
}

fn not_known(subject: &Subject) {
    let (ctx, [one, two, held]) = subject.with_queues_under(Policy::Checked, ["one", "two", "held"]);
    let mut x = ctx.zeros([N]).unwrap();
    one.fill(&mut x, 1_u32).unwrap();
    let gate = hold(&held);
    held.callback(|| ()).unwrap();
    let mut all = ctx.synchronize();
    dump::until_done(&ctx, "one");
    assert!(all.wait_timeout(Duration::ZERO).unwrap().is_none());
    assert_error!(two.fill(&mut x, 2), ErrorDetail::Hazard { .. });
    gate.signal();
    all.wait().unwrap();
    two.fill(&mut x, 2).unwrap();
}

fn would_deadlock(subject: &Subject) {
    let ctx = subject.ctx();
    // This queue is made first, so it is polled first; it waits for an event that the callback is about to signal.
    let [held, queue] = queues(&ctx, ["held", "called"]);
    let gate = hold(&held);
    held.callback(|| ()).unwrap();
    let (own, (sender, receiver)) = (ctx.clone(), channel());
    queue
        .callback(move || {
            sender.send(own.synchronize().wait()).unwrap();
            sender.send(crate::common::block_on(own.synchronize())).unwrap();
            gate.signal();
        })
        .unwrap();
    queue.flush().unwrap();
    for way in ["blocking", "awaited"] {
        let error = crate::common::received(&receiver).expect_err(way);
        let refused = matches!(error.detail(), ErrorDetail::WouldDeadlock { queue, .. } if queue == "called");
        assert!(refused, "{way}: {error}");
    }
    ctx.synchronize().wait().unwrap();
}

fn every_context(subject: &Subject) {
    let contexts = [subject.ctx(), subject.ctx()];
    let gates = contexts.each_ref().map(|ctx| {
        let queue = ctx.queue("held");
        let gate = hold(&queue);
        queue.callback(|| ()).unwrap();
        (queue, gate)
    });
    let mut all = synchronize_all();
    for (queue, gate) in &gates {
        // The queues of the signalled gates are done, so only the next gate is left.
        assert!(all.wait_timeout(Duration::ZERO).unwrap().is_none());
        gate.signal();
        queue.finish().wait().unwrap();
    }
    all.wait().unwrap();
    assert!(gates.iter().all(|(queue, _)| queue.marker().is_complete().unwrap()));
    crate::common::block_on(synchronize_all()).unwrap();
}

fn weak(subject: &Subject) {
    let [ctx, other] = [0; 2].map(|_| subject.ctx());
    let watch = ctx.diagnostics().watch();
    synchronize_all().wait().unwrap();
    drop(ctx);
    // While they wait for all contexts, other tests of the process hold handles of every context.
    dump::until(|| watch.state_dump().is_none());
    synchronize_all().wait().unwrap();
    other.synchronize().wait().unwrap();
}

/// Makes the owner of the device a context without threads: its work is submitted when its flush returns.
fn owner(subject: &Subject) {
    let opened = raw::open(subject);
    let theirs = subject.adopt(opened.clone(), AdoptOptions::default().threads(false));
    let ours = subject.adopt(opened, AdoptOptions::default());
    let busy = theirs.queue("busy");
    for _ in 0..3 {
        subject.spin(&theirs, &busy, 40);
        let end = busy.marker();
        busy.flush().unwrap();
        ours.synchronize().wait().unwrap();
        assert!(end.is_complete().unwrap(), "the first poll finds the work complete");
    }
}

/// Follows Warp's `test_stream_synchronize_cpu`.
fn idle(subject: &Subject) {
    let ctx = subject.ctx();
    ctx.synchronize().wait().unwrap();
    ctx.default_queue().finish().wait().unwrap();
    ctx.event().wait().unwrap();
    ctx.current_queue().marker().wait().unwrap();
    ctx.synchronize().wait().unwrap();
}
