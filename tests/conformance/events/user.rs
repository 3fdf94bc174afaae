//! E09: events that the host signals.

use crate::common::{Case, Subject, case};
use fencepost::Kind;
use std::thread;

pub fn cases() -> Vec<Case> {
    vec![
        case("e09_work_waits_until_the_host_signals", waits),
        case("e09_a_wait_for_a_user_event_holds_up_no_other_queue", others_go_on),
        case("e09_a_wait_that_is_enqueued_after_the_signal_ends", signalled_before),
        case("e09_dropping_the_last_signaller_abandons_the_event", abandoned),
        case("e09_a_clone_of_the_signaller_can_signal_after_the_first_is_dropped", clones),
        case("e09_several_threads_may_wait_for_one_signal", many_waiters),
    ]
}

const N: usize = 64;

fn waits(subject: &Subject) {
    let ctx = subject.ctx();
    let (queue, gate) = (ctx.queue("main"), ctx.user_event("gate"));
    let mut x = ctx.zeros([N]).unwrap();
    queue.fill(&mut x, 1_u32).unwrap();
    let before = queue.marker();
    queue.wait_for(&gate.event()).unwrap();
    queue.fill(&mut x, 2).unwrap();
    before.wait().unwrap();
    assert!(!queue.is_complete().unwrap());
    let read = queue.read(&x);
    thread::scope(|scope| {
        scope.spawn(|| gate.signal());
        assert_eq!(read.wait().unwrap(), [2; N]);
    });
    gate.signal();
}

fn others_go_on(subject: &Subject) {
    let ctx = subject.ctx();
    let (held, gate) = (ctx.queue("held"), ctx.user_event("gate"));
    let mut x = ctx.zeros([N]).unwrap();
    // These queues are made before the held work, as a new queue waits for everything enqueued before it.
    let (other, third) = (ctx.queue("other"), ctx.queue("third"));
    held.wait_for(&gate.event()).unwrap();
    held.fill(&mut x, 1_u32).unwrap();
    held.flush().unwrap();
    for round in 0..20_u32 {
        let mut y = other.full([N], round).unwrap();
        third.wait_for_queue(&other).unwrap();
        third.fill(&mut y.slice(0..1).unwrap(), 99).unwrap();
        third.callback(|| ()).unwrap();
        other.wait_for_queue(&third).unwrap();
        let read = other.read(&y).wait().unwrap();
        assert_eq!((read[0], &read[1..]), (99, &[round; N - 1][..]));
        other.fill(&mut y, 0).unwrap();
    }
    assert!(!held.is_complete().unwrap());
    gate.signal();
    assert_eq!(held.read(&x).wait().unwrap(), [1; N]);
}

fn signalled_before(subject: &Subject) {
    let ctx = subject.ctx();
    let (queue, gate) = (ctx.queue("main"), ctx.user_event("gate"));
    let event = gate.event();
    gate.signal();
    drop(gate);
    assert!(event.is_complete().unwrap());
    queue.wait_for(&event).unwrap();
    let x = queue.full([N], 3_u32).unwrap();
    assert_eq!(queue.read(&x).wait().unwrap(), [3; N]);
}

fn abandoned(subject: &Subject) {
    let ctx = subject.ctx();
    let (queue, next, other) = (ctx.queue("main"), ctx.queue("next"), ctx.queue("other"));
    let (gate, mut x) = (ctx.user_event("gate"), ctx.zeros([N]).unwrap());
    let event = gate.event();
    queue.wait_for(&event).unwrap();
    queue.fill(&mut x, 1_u32).unwrap();
    let behind = queue.marker();
    next.wait_for(&behind).unwrap();
    let read = queue.read(&x);
    drop(gate);
    for error in [event.wait().unwrap_err(), behind.wait().unwrap_err(), read.wait().unwrap_err()] {
        assert!(matches!(error.kind(), Kind::Abandoned { event } if event == "gate"), "{error}");
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
    let ctx = subject.ctx();
    let (queue, gate) = (ctx.queue("main"), ctx.user_event("gate"));
    queue.wait_for(&gate.event()).unwrap();
    let clone = gate.clone();
    drop(gate);
    assert!(!queue.is_complete().unwrap());
    clone.signal();
    queue.finish().wait().unwrap();
}

fn many_waiters(subject: &Subject) {
    let ctx = subject.ctx();
    let gate = ctx.user_event("gate");
    thread::scope(|scope| {
        for i in 0..5_u32 {
            let (ctx, event) = (&ctx, gate.event());
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
