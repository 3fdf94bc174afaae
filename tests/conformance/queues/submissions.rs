//! Q17: the submission of everything up to a point, which a program awaits before it presents a frame.

use crate::common::busy::{Setup, Verb, each_returns};
use crate::common::kernels::{Mix, mix};
use crate::common::program::Program;
use crate::common::thread;
use crate::common::{
    BY_TURNS, Calls, Case, NO_BLOCKING, NO_DEVICE, ONE_THREAD, Subject, assert_error, case, dump, hold, raw,
};
use fencepost::prelude::*;
use std::time::Duration;

const IN_SUBMIT: &str = "the driver may execute work inside the submit call";

pub fn cases() -> Vec<Case> {
    vec![
        case("q17_when_a_submission_is_reached_the_driver_has_the_work", given_to_the_driver),
        case("q17_a_submission_is_reached_while_the_work_has_not_run", before_the_work)
            .not_simulated_in_a_page(NO_BLOCKING)
            .asynchronous(IN_SUBMIT),
        case("q17_without_threads_a_wait_for_a_submission_executes_nothing", executes_nothing)
            .not_in_a_page(BY_TURNS)
            .cpu_only("a device executes submitted work by itself"),
        case("q17_submitted_work_runs_without_another_call", runs_by_itself),
        case("q17_a_submission_is_reached_only_after_the_host_releases_the_work", held_back)
            .not_in_a_page(ONE_THREAD),
        case("q17_an_event_without_work_is_submitted_and_a_user_event_only_when_signalled", without_work),
        case("q17_the_submission_of_failed_or_captured_work_is_an_error", refused),
        case("q17_a_submission_is_no_order_for_the_checked_policy", orders_nothing),
        case("q17_commands_that_the_program_submits_afterwards_see_the_results", own_commands)
            .gpu_only(NO_DEVICE),
    ]
}

const N: usize = 100;
const LONG: Duration = Duration::from_secs(50);

/// Name of a way to wait, and the wait.
type Way = (&'static str, fn(Pending<()>));

const WAYS: [Way; 4] = [
    ("a wait", |submitted| submitted.wait().unwrap()),
    ("a wait with a limit", |mut submitted| assert!(submitted.wait_timeout(LONG).unwrap().is_some())),
    ("polls", |mut submitted| while submitted.wait_timeout(Duration::ZERO).unwrap().is_none() {}),
    ("an await", |submitted| crate::common::block_on(submitted).unwrap()),
];

fn given_to_the_driver(subject: &Subject) {
    for ctx in [subject.ctx(), subject.without_threads()] {
        let queue = ctx.queue("main");
        let ones = ctx.full([N], 1_u32).unwrap();
        let mut y = ctx.zeros([N]).unwrap();
        mix(&queue, 1, 0, &ones, &mut y);
        queue.finish().wait().unwrap();
        let mut expected = 1;
        for (turn, (name, wait)) in (0..).zip(WAYS) {
            let before = dump::submitted(&ctx);
            mix(&queue, 3, turn, &ones, &mut y);
            expected = Mix::of(3, turn, 1, expected);
            wait(queue.marker().submitted());
            assert!(dump::submitted(&ctx) > before, "{name} returned before the submission");
            assert_eq!(dump::pending(&ctx, "main"), 0, "{name}");
        }
        assert_eq!(queue.read(&y).wait().unwrap(), [expected; N]);
    }
}

/// A fill after the work of a busy device, and a queue that only waits for it.
struct Behind {
    queue: CommandQueue,
    other: CommandQueue,
    x: DeviceArray<u32>,
    filled: Option<Event>,
    /// `true` once the fill was complete after one of the calls.
    ran: bool,
}

impl Behind {
    /// Waits for a submission, and notes if the fill has run.
    fn wait(&mut self, event: &Event, wait: fn(Pending<()>)) {
        wait(event.submitted());
        self.ran |= event.is_complete().unwrap();
    }

    fn wait_for_fill(&mut self, wait: fn(Pending<()>)) {
        let filled = self.filled.clone().expect("the fill is enqueued first");
        self.wait(&filled, wait);
    }
}

const VERBS: &[Verb<Behind>] = &[
    ("fill", |b| {
        b.queue.fill(&mut b.x, 8).unwrap();
        b.filled = Some(b.queue.marker());
    }),
    (WAYS[0].0, |b| b.wait_for_fill(WAYS[0].1)),
    (WAYS[1].0, |b| b.wait_for_fill(WAYS[1].1)),
    (WAYS[2].0, |b| b.wait_for_fill(WAYS[2].1)),
    (WAYS[3].0, |b| b.wait_for_fill(WAYS[3].1)),
    ("a wait for a queue that only waits for the first", |b| {
        b.other.wait_for(&b.queue).unwrap();
        let end = b.other.marker();
        b.wait(&end, WAYS[0].1);
    }),
    ("an await of a queue that only waits for the first", |b| {
        b.other.wait_for(&b.queue).unwrap();
        let end = b.other.marker();
        b.wait(&end, WAYS[3].1);
    }),
];

fn before_the_work(subject: &Subject) {
    let make = || {
        let (ctx, [busy, other]) = subject.with_queues(["busy", "other"]);
        let x = ctx.zeros([N]).unwrap();
        let things = Behind { queue: busy.clone(), other, x, filled: None, ran: false };
        Setup { ctx, busy, things }
    };
    each_returns(subject, make, VERBS, |behind| {
        assert!(!behind.ran, "the work was complete while the device was busy with earlier work");
        assert_eq!(behind.other.read(&behind.x).wait().unwrap(), [8; N]);
    });
}

fn executes_nothing(subject: &Subject) {
    let ctx = subject.without_threads();
    let queue = ctx.queue("main");
    let mut x = ctx.zeros([N]).unwrap();
    queue.finish().wait().unwrap();
    let before = (dump::submitted(&ctx), dump::completed(&ctx));
    queue.fill(&mut x, 5_u32).unwrap();
    queue.marker().submitted().wait().unwrap();
    assert!(dump::submitted(&ctx) > before.0);
    assert_eq!(dump::completed(&ctx), before.1);
    assert_eq!(queue.read(&x).wait().unwrap(), [5; N]);
}

fn runs_by_itself(subject: &Subject) {
    for (name, wait) in WAYS {
        let (ctx, queue) = subject.with_queue("main");
        let mut x = ctx.zeros([N]).unwrap();
        queue.fill(&mut x, 5_u32).unwrap();
        let submitted = queue.marker().submitted();
        wait(submitted);
        dump::until_done(&ctx, "main"); // only reads the state
        assert_eq!(queue.read(&x).wait().unwrap(), [5; N], "{name}");
    }
}

fn held_back(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("held");
    let mut x = ctx.zeros([N]).unwrap();
    let gate = hold(&queue);
    queue.fill(&mut x, 6_u32).unwrap();
    let mut submitted = queue.marker().submitted();
    for limit in [0, 0, 1].map(Duration::from_millis) {
        assert!(submitted.wait_timeout(limit).unwrap().is_none());
        assert!(dump::is_held(&ctx, "held"), "the held work was started");
    }
    let awaited = queue.marker().submitted();
    let task = thread::spawn(move || crate::common::block_on(awaited));
    gate.signal();
    submitted.wait().unwrap();
    task.join().unwrap().unwrap();
    assert_eq!(queue.read(&x).wait().unwrap(), [6; N]);
}

fn without_work(subject: &Subject) {
    let ctx = subject.ctx();
    ctx.event().submitted().wait().unwrap();
    ctx.queue("empty").marker().submitted().wait().unwrap();
    let gate = ctx.user_event("gate");
    let mut signalled = gate.event().submitted();
    assert!(signalled.wait_timeout(Duration::ZERO).unwrap().is_none());
    gate.signal();
    signalled.wait().unwrap();
}

fn refused(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let mut x = ctx.zeros([N]).unwrap();
    let gate = hold(&queue);
    queue.fill(&mut x, 1_u32).unwrap();
    let after = queue.marker();
    drop(gate);
    assert_error!(after.submitted().wait(), ErrorDetail::Abandoned { event } if event == "gate");
    assert_error!(crate::common::block_on(queue.marker().submitted()), ErrorDetail::Abandoned { .. });
    queue.take_error().expect("the queue has failed");
    let captured = queue.capture(|c| c.marker().submitted().wait());
    assert_error!(captured, ErrorDetail::Captured { call: "Event::submitted", .. });
    let (graph, ()) = queue.graph_of(|c| c.fill(&mut x, 2));
    queue.replay(&graph).unwrap().event().submitted().wait().unwrap();
    assert_eq!(queue.read(&x).wait().unwrap(), [2; N]);
}

fn orders_nothing(subject: &Subject) {
    let (ctx, [first, second]) = subject.with_queues_under(Policy::Checked, ["first", "second"]);
    let mut x = ctx.zeros([N]).unwrap();
    first.fill(&mut x, 1_u32).unwrap();
    first.marker().submitted().wait().unwrap();
    assert_error!(second.fill(&mut x, 2), ErrorDetail::Hazard { .. });
    first.marker().wait().unwrap();
    second.fill(&mut x, 2).unwrap();
    assert_eq!(second.read(&x).wait().unwrap(), [2; N]);
}

/// Reads the buffer with wgpu after each submission, as a render pass of the program would.
fn own_commands(subject: &Subject) {
    let ctx = subject.adopt(raw::open(subject), AdoptOptions::default());
    let program = Program::of(&ctx);
    let queue = ctx.queue("main");
    let buffer = program.buffer(N);
    program.submit(&[0; N], &buffer);
    let ones = ctx.full([N], 1_u32).unwrap();
    let mut y = ctx.array_on::<u32, 1>(&buffer, [N]).unwrap();
    let mut expected = 0;
    for turn in 0..20 {
        mix(&queue, 3, turn, &ones, &mut y);
        expected = Mix::of(3, turn, 1, expected);
        queue.marker().submitted().wait().unwrap();
        assert_eq!(program.read(&buffer, N), [expected; N], "turn {turn}");
    }
}
