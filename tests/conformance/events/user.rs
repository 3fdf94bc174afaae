//! E09: events that the host signals.

use crate::common::thread;
use crate::common::{Case, ONE_THREAD, Subject, case, hold, queues};
use fencepost::{ErrorDetail, Policy};

pub fn cases() -> Vec<Case> {
    vec![
        case("e09_work_waits_until_the_host_signals", waits).not_in_a_page(ONE_THREAD),
        case("e09_a_wait_for_a_user_event_holds_up_no_other_queue", others_go_on),
        case("e09_an_upload_after_an_event_changes_nothing_before_the_signal", upload),
        case("e09_an_upload_after_an_abandoned_event_changes_nothing", abandoned_upload),
        case("e09_a_wait_that_is_enqueued_after_the_signal_ends", signalled_before),
        case("e09_dropping_the_last_signaller_abandons_the_event", abandoned),
        case("e09_a_clone_of_the_signaller_can_signal_after_the_first_is_dropped", clones),
        case("e09_several_threads_may_wait_for_one_signal", many_waiters).not_in_a_page(ONE_THREAD),
    ]
}

const N: usize = 64;

fn waits(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let mut x = ctx.zeros([N]).unwrap();
    queue.fill(&mut x, 1_u32).unwrap();
    let before = queue.marker();
    let gate = hold(&queue);
    queue.fill(&mut x, 2).unwrap();
    before.wait().unwrap();
    assert!(!queue.marker().is_complete().unwrap());
    let read = queue.read(&x);
    thread::scope(|scope| {
        scope.spawn(|| gate.signal());
        assert_eq!(read.wait().unwrap(), [2; N]);
    });
    gate.signal();
}

fn others_go_on(subject: &Subject) {
    let (ctx, held) = subject.with_queue("held");
    let mut x = ctx.zeros([N]).unwrap();
    // These queues are made before the held work, because a new queue waits for everything enqueued before it.
    let [other, third] = queues(&ctx, ["other", "third"]);
    let gate = hold(&held);
    held.fill(&mut x, 1_u32).unwrap();
    held.flush().unwrap();
    for round in 0..20_u32 {
        let mut y = other.full([N], round).unwrap();
        third.wait_for(&other).unwrap();
        third.fill(&mut y.slice(0..1).unwrap(), 99).unwrap();
        third.callback(|| ()).unwrap();
        other.wait_for(&third).unwrap();
        let read = other.read(&y).wait().unwrap();
        assert_eq!((read[0], &read[1..]), (99, &[round; N - 1][..]));
        other.fill(&mut y, 0).unwrap();
    }
    assert!(!held.marker().is_complete().unwrap());
    gate.signal();
    assert_eq!(held.read(&x).wait().unwrap(), [1; N]);
}

/// The caller orders the read before the upload itself, with the signal.
fn upload(subject: &Subject) {
    let ctx = subject.ctx_with(Policy::Unchecked);
    let [held, between, other] = ["held", "between", "other"].map(|name| ctx.queue(name));
    for waits_itself in [true, false] {
        let gate = ctx.user_event("gate");
        let mut x = ctx.full([N], 1_u32).unwrap();
        ctx.synchronize().wait().unwrap();
        if waits_itself {
            held.wait_for(&gate.event()).unwrap();
        } else {
            between.wait_for(&gate.event()).unwrap();
            held.wait_for(&between).unwrap();
        }
        held.upload(&[5; N], &mut x).unwrap();
        held.upload(&[6; 3], &mut x.slice(2..5).unwrap()).unwrap();
        assert_eq!(other.read(&x).wait().unwrap(), [1; N], "waits itself: {waits_itself}");
        gate.signal();
        let read = held.read(&x).wait().unwrap();
        assert_eq!((&read[..2], &read[2..5], &read[5..]), (&[5; 2][..], &[6; 3][..], &[5; N - 5][..]));
    }
}

fn abandoned_upload(subject: &Subject) {
    let (ctx, [held, other]) = subject.with_queues(["held", "other"]);
    let [mut x, mut y] = [1_u32, 1].map(|value| ctx.full([N], value).unwrap());
    ctx.synchronize().wait().unwrap();
    let gate = hold(&held);
    held.upload(&[5; N], &mut x).unwrap();
    let marker = held.marker();
    drop(gate);
    assert!(matches!(marker.wait().unwrap_err().detail(), ErrorDetail::Abandoned { .. }));
    assert_eq!(other.read(&x).wait().unwrap(), [1; N]);
    // A replay that waits for an event is cancelled, and the commands after it too.
    let held = ctx.queue("next");
    let gate = hold(&held);
    let (graph, ()) = held.capture(|c| c.fill(&mut y.slice(0..8)?, 9)).unwrap();
    let run = held.replay(&graph).unwrap();
    held.upload(&[5; N], &mut y).unwrap();
    run.cancel().unwrap();
    gate.signal();
    assert!(matches!(run.wait().unwrap_err().detail(), ErrorDetail::Cancelled { .. }));
    assert_eq!(other.read(&y).wait().unwrap(), [1; N]);
}

fn signalled_before(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let gate = ctx.user_event("gate");
    let event = gate.event();
    gate.signal();
    drop(gate);
    assert!(event.is_complete().unwrap());
    queue.wait_for(&event).unwrap();
    let x = queue.full([N], 3_u32).unwrap();
    assert_eq!(queue.read(&x).wait().unwrap(), [3; N]);
}

fn abandoned(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let [next, other] = queues(&ctx, ["next", "other"]);
    let gate = ctx.user_event("gate");
    let mut x = ctx.zeros([N]).unwrap();
    let event = gate.event();
    queue.wait_for(&event).unwrap();
    queue.fill(&mut x, 1_u32).unwrap();
    let after = queue.marker();
    next.wait_for(&after).unwrap();
    let read = queue.read(&x);
    drop(gate);
    for error in [event.wait().unwrap_err(), after.wait().unwrap_err(), read.wait().unwrap_err()] {
        assert!(matches!(error.detail(), ErrorDetail::Abandoned { event } if event == "gate"), "{error}");
    }
    // A wait for a failed queue orders the work and returns no error.
    next.fill(&mut x, 7).unwrap();
    assert_eq!(next.read(&x).wait().unwrap(), [7; N]);
    other.finish().wait().unwrap();
    assert!(queue.fill(&mut x, 8).is_err());
    assert!(queue.take_error().is_some());
    queue.fill(&mut x, 9).unwrap();
    assert_eq!(queue.read(&x).wait().unwrap(), [9; N]);
}

fn clones(subject: &Subject) {
    let (_ctx, queue) = subject.with_queue("main");
    let gate = hold(&queue);
    let clone = gate.clone();
    drop(gate);
    assert!(!queue.marker().is_complete().unwrap());
    clone.signal();
    queue.finish().wait().unwrap();
}

fn many_waiters(subject: &Subject) {
    let ctx = subject.ctx();
    let gate = ctx.user_event("gate");
    thread::scope(|scope| {
        for i in 0..5_u32 {
            let ctx = &ctx;
            let event = gate.event();
            scope.spawn(move || {
                let queue = ctx.queue(&format!("queue {i}"));
                queue.wait_for(&event).unwrap();
                let x = queue.full([N], i).unwrap();
                event.wait().unwrap();
                assert_eq!(queue.read(&x).wait().unwrap(), [i; N]);
            });
        }
        gate.signal();
    });
}
