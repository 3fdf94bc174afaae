//! Q05, Q06: polls, and waits with a limit.

use crate::common::busy::{Setup, Verb, each_returns};
use crate::common::early_results::{self, RUNS};
use crate::common::kernels::mix;
use crate::common::{Case, Subject, assert_error, case, dump, hold};
use fencepost::{CommandQueue, Context, DeviceArray, ErrorDetail, Pending};
use std::time::Duration;

pub fn cases() -> Vec<Case> {
    vec![
        case("q05_is_complete_flushes_so_that_polling_ends", polling_ends),
        case("q05_is_complete_of_a_held_queue_is_false", held_is_false),
        case("q05_a_queue_without_work_is_complete", empty_is_complete),
        case("q05_a_queue_is_complete_while_a_kernel_of_another_queue_runs", complete_beside_a_kernel)
            .on_devices(RUNS)
            .host_side(),
        case("q05_is_complete_returns_the_error_of_failed_work", failed_returns_its_error),
        case("q06_after_a_timeout_the_same_pending_can_be_waited_for", timeout_and_again),
        case("q06_a_wait_with_a_timeout_ends_in_time_after_a_busy_kernel", timeout_when_busy)
            .gpu_only("on the CPU recorder the waiting thread runs the work"),
        case("q06_repeated_waits_of_no_time_end", no_time_ends),
        case("q06_a_wait_of_no_time_does_the_work_of_a_context_without_threads", no_time_without_threads),
        case("q05_an_event_and_its_queue_are_incomplete_until_the_work_of_each_turn_is_over", each_turn),
        case("q05_an_event_and_its_queue_are_complete_only_after_a_running_kernel", running)
            .on_devices(RUNS)
            .host_side(),
    ]
}

const N: usize = 100;

fn polling_ends(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let mut x = ctx.zeros([N]).unwrap();
    for turn in 0..5_u32 {
        queue.fill(&mut x, turn).unwrap();
        dump::until(|| queue.marker().is_complete().unwrap());
        queue.fill(&mut x, turn + 100).unwrap();
        let event = queue.marker();
        dump::until(|| event.is_complete().unwrap());
        assert_eq!(queue.read(&x).wait().unwrap(), [turn + 100; N]);
    }
}

fn held_is_false(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("held");
    let mut x = ctx.zeros([N]).unwrap();
    let before = queue.marker();
    let gate = hold(&queue);
    queue.fill(&mut x, 1_u32).unwrap();
    let after = queue.marker();
    for _ in 0..100 {
        assert!(!queue.marker().is_complete().unwrap() && !after.is_complete().unwrap());
        assert!(!gate.event().is_complete().unwrap());
    }
    assert!(before.is_complete().unwrap());
    gate.signal();
    dump::until(|| queue.marker().is_complete().unwrap());
    assert!(after.is_complete().unwrap() && gate.event().is_complete().unwrap());
}

fn empty_is_complete(subject: &Subject) {
    let queue = subject.ctx().queue("empty");
    assert!(queue.marker().is_complete().unwrap());
    assert!(queue.marker().is_complete().unwrap(), "a second poll");
    queue.finish().wait().unwrap();
}

fn complete_beside_a_kernel(subject: &Subject) {
    const POLL: [(&str, early_results::Way); 1] = [("a queue that is polled", |at| {
        let queue = at.queue;
        Box::new(move || dump::until(|| queue.marker().is_complete().unwrap()))
    })];
    early_results::on_another_queue(subject, &POLL);
    early_results::after_the_start(subject, &POLL);
}

fn failed_returns_its_error(subject: &Subject) {
    let (_ctx, queue) = subject.with_queue("held");
    let gate = hold(&queue);
    let after = queue.marker();
    drop(gate);
    let error = loop {
        match after.is_complete() {
            Ok(done) => assert!(!done),
            Err(error) => break error,
        }
    };
    assert!(matches!(error.detail(), ErrorDetail::Abandoned { event } if event == "gate"), "{error}");
    assert_error!(queue.marker().is_complete(), ErrorDetail::Abandoned { .. });
}

fn timeout_and_again(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("held");
    let mut x = ctx.zeros([N]).unwrap();
    let gate = hold(&queue);
    queue.fill(&mut x, 6_u32).unwrap();
    let mut read = queue.read(&x);
    let mut finished = queue.finish();
    let mut end = queue.marker().done();
    let mut signalled = gate.event().done();
    for limit in [0, 0, 1].map(Duration::from_millis) {
        assert!(read.wait_timeout(limit).unwrap().is_none());
        assert!(finished.wait_timeout(limit).unwrap().is_none());
        assert!(end.wait_timeout(limit).unwrap().is_none());
        assert!(signalled.wait_timeout(limit).unwrap().is_none());
        assert!(dump::is_held(&ctx, "held"), "the held work was started");
    }
    gate.signal();
    assert_eq!(read.wait_timeout(Duration::from_secs(50)).unwrap().unwrap(), [6; N]);
    finished.wait().unwrap();
    end.wait().unwrap();
    signalled.wait().unwrap();
    assert_eq!(queue.read(&x).wait().unwrap(), [6; N]);
}

/// End of a queue, a read and an event.
type Results = (Pending<()>, Pending<Vec<u32>>, Pending<()>);

/// Late results, which wait for a busy kernel.
struct Waited {
    queue: CommandQueue,
    x: DeviceArray<u32>,
    late: Option<Results>,
    /// `true` once a wait has returned a result.
    early: bool,
}

impl Waited {
    fn late(&mut self) -> &mut Results {
        self.late.as_mut().expect("the results are enqueued first")
    }
}

const MILLISECOND: Duration = Duration::from_millis(1);

const WAITS: &[Verb<Waited>] = &[
    ("fill, finish, read, marker", |w| {
        w.queue.fill(&mut w.x, 8).unwrap();
        w.late = Some((w.queue.finish(), w.queue.read(&w.x), w.queue.marker().done()));
    }),
    ("wait for the end of a queue", |w| w.early |= w.late().0.wait_timeout(MILLISECOND).unwrap().is_some()),
    ("wait for a read", |w| w.early |= w.late().1.wait_timeout(MILLISECOND).unwrap().is_some()),
    ("wait for an event", |w| w.early |= w.late().2.wait_timeout(MILLISECOND).unwrap().is_some()),
    ("wait of no time", |w| w.early |= w.late().0.wait_timeout(Duration::ZERO).unwrap().is_some()),
];

fn timeout_when_busy(subject: &Subject) {
    let make = || {
        let (ctx, busy) = subject.with_queue("busy");
        let x = ctx.zeros([N]).unwrap();
        let things = Waited { queue: busy.clone(), x, late: None, early: false };
        Setup { ctx, busy, things }
    };
    each_returns(subject, make, WAITS, |waited| {
        assert!(!waited.early, "a wait gave a result while the device was busy");
        let (finished, read, end) = waited.late.unwrap();
        finished.wait().unwrap();
        assert_eq!(read.wait().unwrap(), [8; N]);
        end.wait().unwrap();
    });
}

/// Polls until there is a result, without waiting.
fn polled<T>(mut pending: Pending<T>) -> T {
    loop {
        if let Some(result) = pending.wait_timeout(Duration::ZERO).unwrap() {
            return result;
        }
    }
}

fn no_time_ends(subject: &Subject) {
    asked_of(&subject.ctx());
}

fn no_time_without_threads(subject: &Subject) {
    asked_of(&subject.without_threads());
}

/// Polls a read, the end of a queue, an event, a user event that a callback signals, and a map.
fn asked_of(ctx: &Context) {
    let queue = ctx.queue("main");
    let gate = ctx.user_event("gate");
    let mut x = ctx.zeros([N]).unwrap();
    queue.fill(&mut x, 3_u32).unwrap();
    assert_eq!(polled(queue.read(&x)), [3; N]);
    queue.fill(&mut x, 4).unwrap();
    polled(queue.finish());
    queue.fill(&mut x, 5).unwrap();
    polled(queue.marker().done());
    let event = gate.event();
    queue.callback(move || gate.signal()).unwrap();
    queue.flush().unwrap();
    polled(event.done());
    queue.fill(&mut x, 6).unwrap();
    assert_eq!(polled(x.map_read())[..], [6; N]);
}

/// Follows Warp's `test_stream_event_is_complete`, with a user event for its long kernel.
fn each_turn(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let event = ctx.event();
    assert!(queue.marker().is_complete().unwrap() && event.is_complete().unwrap());
    let [zero, mut x] = [0; 2].map(|_| ctx.zeros([N]).unwrap());
    for _ in 0..5 {
        let gate = hold(&queue);
        mix(&queue, 1, 1, &zero, &mut x);
        event.record(&queue).unwrap();
        assert!(!queue.marker().is_complete().unwrap() && !event.is_complete().unwrap());
        gate.signal();
        ctx.synchronize().wait().unwrap();
        assert!(queue.marker().is_complete().unwrap() && event.is_complete().unwrap());
    }
    assert_eq!(queue.read(&x).wait().unwrap(), [5; N]);
}

/// Follows Warp's `test_stream_event_is_complete`.
fn running(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let event = ctx.event();
    for _ in 0..3 {
        early_results::each_length("the answer that an event and its queue are incomplete", |milliseconds| {
            subject.spin(&ctx, &queue, milliseconds);
            event.record(&queue).unwrap();
            let incomplete = !queue.marker().is_complete().unwrap() && !event.is_complete().unwrap();
            event.wait().unwrap();
            assert!(queue.marker().is_complete().unwrap() && event.is_complete().unwrap());
            incomplete
        });
    }
}
