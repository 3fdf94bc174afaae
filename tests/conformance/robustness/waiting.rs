//! R01: mistakes with waits, callbacks, user events and sticky errors.

use super::table::{Mistake, check, mistakes};
use crate::common::{Case, NO_UNWINDING, Subject, case, hold, received};
use fencepost::{ErrorDetail, Policy};
use std::sync::mpsc::channel;
use std::time::Duration;

pub fn cases() -> Vec<Case> {
    vec![
        case("r01_mistakes_with_waits_have_their_errors", |s| check(s, Policy::Ordered, WAITS)),
        case("r01_a_panic_of_a_callback_has_its_error", |s| check(s, Policy::Ordered, PANICS))
            .not_in_a_page(NO_UNWINDING),
        case("r01_mistakes_with_order_have_their_errors", |s| check(s, Policy::Checked, HAZARDS)),
        case("r01_an_error_stays_until_it_is_taken", stays).not_in_a_page(NO_UNWINDING),
        case("r01_an_abandoned_event_fails_the_queue_that_waits_for_it_and_no_other", abandoned),
    ]
}

fn abandoned_kind(kind: &ErrorDetail) -> bool {
    matches!(kind, ErrorDetail::Abandoned { event } if event == "gate")
}

const LONG: Duration = Duration::from_secs(20);

const WAITS: &[Mistake] = mistakes![
    "a result taken twice": |b| {
        let mut pending = b.queue.read(&b.x);
        pending.wait_timeout(LONG)?;
        pending.wait()
    } => Pending(_),
    "a finish taken twice": |b| {
        let mut pending = b.queue.finish();
        pending.wait_timeout(LONG)?;
        pending.wait_timeout(LONG)
    } => Pending(_),
    "an error taken twice": |b| {
        let mut pending = b.x.slice(0..1)?.map_write();
        let map = b.x.map_read().wait()?;
        let first = pending.wait_timeout(LONG).map(|_| ());
        drop(map);
        if first.is_err() { pending.wait().map(|_| ()) } else { first }
    } => Pending(_),
    "a wait for an abandoned event": |b| {
        let event = b.ctx.user_event("gate").event();
        event.wait()
    } => Abandoned { event } if event == "gate",
    "a poll of an abandoned event": |b| {
        let event = b.ctx.user_event("gate").event();
        event.is_complete()
    } => Abandoned { event } if event == "gate",
    "a queue after an abandoned event": |b| {
        let queue = b.ctx.queue("held");
        queue.wait_for(&b.ctx.user_event("gate").event())?;
        queue.finish().wait()
    } => Abandoned { event } if event == "gate",
    "a read after an abandoned event": |b| {
        let queue = b.ctx.queue("held");
        queue.wait_for(&b.ctx.user_event("gate").event())?;
        queue.read(&b.x).wait()
    } => Abandoned { event } if event == "gate",
    "a wait in a callback for later work": |b| {
        let queue = b.ctx.queue("called");
        let (own, (sender, receiver)) = (queue.clone(), channel());
        queue.callback(move || {
            let event =
                own.fill(&mut own.zeros::<u32, 1>([4]).expect("memory"), 1).map(|()| own.marker());
            sender.send(event.and_then(|event| event.wait())).expect("the test receives the result");
        })?;
        queue.flush()?;
        received(&receiver)
    } => WouldDeadlock { queue, callbacks } if queue == "called" && *callbacks == ["called"],
];

const PANICS: &[Mistake] = mistakes![
    "a callback that panics": |b| {
        let queue = b.ctx.queue("called");
        queue.callback(|| std::panic::resume_unwind(Box::new("on purpose")))?;
        queue.finish().wait()
    } => CallbackPanicked { queue, .. } if queue == "called",
];

const HAZARDS: &[Mistake] = mistakes![
    "a missing wait": |b| {
        let other = b.ctx.queue("other");
        let mut x = b.ctx.zeros::<u32, 1>([4])?;
        b.queue.fill(&mut x, 1)?;
        other.fill(&mut x, 2)
    } => Hazard { .. },
];

fn stays(s: &Subject) {
    let (ctx, queue) = s.with_queue("failing");
    let other = ctx.queue("other");
    let mut x = ctx.full([8], 1_u32).unwrap();
    let gate = hold(&queue);
    queue.callback(|| std::panic::resume_unwind(Box::new("on purpose"))).unwrap();
    queue.fill(&mut x, 2).unwrap();
    let late = queue.finish();
    gate.signal();
    late.wait().unwrap_err();
    let failed = |result: Result<(), fencepost::Error>| {
        result.is_err_and(|error| matches!(error.detail(), ErrorDetail::CallbackPanicked { .. }))
    };
    for _ in 0..2 {
        assert!(failed(queue.fill(&mut x, 3)), "fill");
        assert!(failed(queue.upload(&[3; 8], &mut x)), "upload");
        assert!(failed(queue.read(&x).wait().map(|_| ())), "read");
        assert!(failed(queue.zeros::<u32, 1>([8]).map(|_| ())), "zeros");
        assert!(failed(queue.flush()), "flush");
        assert!(failed(queue.finish().wait()), "finish");
        assert!(failed(queue.callback(|| ())), "callback");
        assert!(failed(queue.wait_for(&other.marker())), "wait_for");
        assert!(failed(queue.marker().is_complete().map(|_| ())), "is_complete");
    }
    assert_eq!(
        other.read(&x).wait().unwrap(),
        [1; 8],
        "the failed work was not done, and the other queue works"
    );
    assert!(matches!(queue.take_error().unwrap().detail(), ErrorDetail::CallbackPanicked { .. }));
    assert!(queue.take_error().is_none());
    queue.fill(&mut x, 4).unwrap();
    assert_eq!(queue.read(&x).wait().unwrap(), [4; 8]);
}

fn abandoned(s: &Subject) {
    let ctx = s.ctx();
    let queues = ["one", "two", "three"].map(|label| ctx.queue(label));
    let [one, two, three] = &queues;
    let mut x = ctx.full([8], 1_u32).unwrap();
    let mut y = ctx.full([8], 1_u32).unwrap();
    let gate = hold(one);
    one.fill(&mut x, 2).unwrap();
    two.wait_for(one).unwrap();
    two.fill(&mut y, 3).unwrap();
    let first = one.finish();
    let second = two.finish();
    let event = gate.event();
    drop(gate.clone());
    assert!(!event.is_complete().unwrap(), "a clone can still signal the event");
    drop(gate);
    assert!(abandoned_kind(first.wait().unwrap_err().detail()));
    second.wait().unwrap();
    assert_eq!(three.read(&y).wait().unwrap(), [3; 8], "a wait for a queue asks for order only");
    assert_eq!(three.read(&x).wait().unwrap(), [1; 8]);
    assert!(one.take_error().is_some() && two.take_error().is_none());
}
