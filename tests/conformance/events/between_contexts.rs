//! E07: queues of one context that wait for events of another.

use crate::common::full::full;
use crate::common::partners::{self, partners, without_threads};
use crate::common::{Case, ONE_THREAD, Subject, assert_error, case, dump, hold, queues};
use fencepost::testing::CpuFaults;
use fencepost::{CommandQueue, Context, ErrorDetail, Policy, SimulatorOptions};
use std::sync::mpsc::channel;

pub fn cases() -> Vec<Case> {
    vec![
        case("e07_a_queue_waits_for_an_event_of_any_other_context", waits),
        case("e07_a_wait_for_another_context_holds_up_no_other_queue", others_go_on),
        case("e07_a_wait_for_another_context_submits_nothing_there", submits_nothing),
        case("e07_waiting_for_a_queue_starts_the_work_of_the_other_context", starts),
        case("e07_flushing_a_queue_starts_the_work_of_the_other_context", flushes),
        case("e07_awaiting_or_polling_a_queue_starts_the_work_of_the_other_context", starts_for_executors),
        case("e07_a_queue_waits_for_all_of_a_queue_of_another_context", for_a_queue),
        case("e07_a_queue_waits_for_a_user_event_of_another_context", user_events).not_in_a_page(ONE_THREAD),
        case("e07_recording_again_does_not_move_a_wait_of_another_context", recorded_again),
        case("e07_an_unrecorded_foreign_event_is_no_wait_and_cannot_be_recorded", unrecorded),
        case("e07_a_failure_of_another_context_is_the_error_other_context_and_the_queue_works_on", failures),
        case("e07_the_loss_of_another_device_is_the_error_other_context_and_the_queue_works_on", lost),
        case("e07_the_loss_of_the_waiting_device_fails_no_queue_of_the_source", lost_here),
        case("e07_a_callback_that_waits_for_a_context_that_waits_for_it_would_deadlock", would_deadlock),
        case("e07_contexts_that_wait_for_each_other_may_be_dropped", dropped),
        case("e07_a_chain_of_hundreds_of_waits_ends", long_chain),
        case("e07_a_wait_runs_the_signalling_callback_of_a_context_without_threads", signalled_in_callback),
        case("e07_random_waits_between_contexts_without_threads_end", threadless),
    ]
}

const N: usize = 64;

/// Calls `each` with a context of the subject and a context of each partner, in both directions. All pairs share the
/// context of the subject; in the full suite each pair has its own.
fn each_pair(s: &Subject, each: impl Fn(&str, &Context, &Context)) {
    if full() {
        return partners::each_pair(s, each);
    }
    let own = s.ctx();
    let others = partners(s, Policy::Ordered);
    for (name, other) in &others {
        each(&format!("{} and {name}", s.name()), &own, other);
    }
    for (name, other) in &others[1..] {
        each(&format!("{name} and {}", s.name()), other, &own);
    }
}

/// Makes a queue `from` of a context, and a queue `to` of a context that waits for it.
pub(super) fn from_to(source: &Context, waiter: &Context) -> [CommandQueue; 2] {
    [source.queue("from"), waiter.queue("to")]
}

fn waits(s: &Subject) {
    each_pair(s, waits_between);
    if full() {
        partners::every_pair(s, waits_between);
    }
}

fn waits_between(names: &str, source: &Context, waiter: &Context) {
    let [from, to] = from_to(source, waiter);
    let mut x = source.zeros([N]).unwrap();
    let mut y = waiter.zeros([N]).unwrap();
    let gate = hold(&from);
    from.fill(&mut x, 1_u32).unwrap();
    let filled = from.marker();
    to.fill(&mut y, 1_u32).unwrap();
    let before = to.marker();
    to.wait_for(&filled).unwrap();
    to.fill(&mut y, 2).unwrap();
    before.wait().unwrap();
    assert!(!to.marker().is_complete().unwrap(), "{names}");
    assert!(!filled.is_complete().unwrap(), "{names}");
    gate.signal();
    assert_eq!(to.read(&y).wait().unwrap(), [2; N], "{names}");
    assert!(filled.is_complete().unwrap(), "{names}: the wait was over too early");
    assert_eq!(from.read(&x).wait().unwrap(), [1; N], "{names}");
}

fn others_go_on(s: &Subject) {
    each_pair(s, |names, source, waiter| {
        let from = source.queue("from");
        let [to, here] = queues(waiter, ["to", "here"]);
        let there = source.queue("there");
        let gate = hold(&from);
        to.wait_for(&from.marker()).unwrap();
        to.flush().unwrap();
        for round in 0..5_u32 {
            for queue in [&here, &there] {
                let x = queue.full([N], round).unwrap();
                assert_eq!(queue.read(&x).wait().unwrap(), [round; N], "{names}");
            }
        }
        assert!(!to.marker().is_complete().unwrap(), "{names}");
        gate.signal();
        to.finish().wait().unwrap();
    });
}

/// Checks that the wait submits nothing. The waiting context has no threads, because one of them would start the
/// awaited work.
fn submits_nothing(s: &Subject) {
    let source = without_threads(s, 1, Policy::Ordered);
    let from = source.queue("from");
    let waiter = s.without_threads();
    let (to, (ran, runs)) = (waiter.queue("to"), channel());
    from.callback(move || ran.send(()).unwrap()).unwrap();
    to.wait_for(&from.marker()).unwrap();
    assert!(runs.try_recv().is_err(), "the wait ran the work");
    to.finish().wait().unwrap();
    assert!(runs.try_recv().is_ok());
}

fn starts(s: &Subject) {
    each_pair(s, |names, source, waiter| {
        let [from, to] = from_to(source, waiter);
        for round in 0..5_u32 {
            let x = from.full([N], round).unwrap();
            let filled = from.marker();
            to.wait_for(&filled).unwrap();
            to.finish().wait().unwrap();
            assert!(filled.is_complete().unwrap(), "{names}");
            assert_eq!(from.read(&x).wait().unwrap(), [round; N], "{names}");
        }
    });
}

/// Checks that the flush submits the work of the other context. Neither context has threads, so only the flush makes
/// progress.
fn flushes(s: &Subject) {
    let cpu = |seed| without_threads(s, seed, Policy::Ordered);
    for [source, waiter] in [[cpu(1), s.without_threads()], [s.without_threads(), cpu(2)]] {
        let (from, to, (ran, runs)) = (source.queue("from"), waiter.queue("to"), channel());
        let mut x = source.zeros([N]).unwrap();
        source.synchronize().wait().unwrap();
        let before = dump::submitted(&source);
        from.fill(&mut x, 1_u32).unwrap();
        to.wait_for(&from.marker()).unwrap();
        assert_eq!(dump::submitted(&source), before, "the wait submitted the work");
        to.flush().unwrap();
        assert!(dump::submitted(&source) > before, "the flush left the work unsubmitted");
        from.finish().wait().unwrap();
        from.callback(move || ran.send(()).unwrap()).unwrap();
        to.wait_for(&from.marker()).unwrap();
        assert!(runs.try_recv().is_err(), "the wait ran the callback");
        to.flush().unwrap();
        assert!(runs.try_recv().is_ok(), "the flush did not run the callback");
        to.finish().wait().unwrap();
    }
}

fn starts_for_executors(s: &Subject) {
    each_pair(s, |names, source, waiter| {
        let [from, to] = from_to(source, waiter);
        let mut x = from.full([N], 1_u32).unwrap();
        to.wait_for(&from.marker()).unwrap();
        crate::common::block_on(to.finish()).unwrap();
        from.fill(&mut x, 2).unwrap();
        let filled = from.marker();
        to.wait_for(&filled).unwrap();
        dump::until(|| to.marker().is_complete().unwrap());
        assert!(filled.is_complete().unwrap(), "{names}");
        // A wait that times out loses nothing.
        let gate = hold(&from);
        to.wait_for(&from.marker()).unwrap();
        let mut done = to.finish();
        assert!(done.wait_timeout(std::time::Duration::from_millis(1)).unwrap().is_none(), "{names}");
        assert!(dump::holds(waiter, &to), "{names}");
        gate.signal();
        crate::common::block_on(done).unwrap();
    });
}

fn for_a_queue(s: &Subject) {
    each_pair(s, |names, source, waiter| {
        let [from, to] = from_to(source, waiter);
        let gate = hold(&from);
        let x = from.full([N], 3_u32).unwrap();
        let filled = from.marker();
        to.wait_for(&from).unwrap();
        to.wait_for(&from).unwrap();
        gate.signal();
        to.finish().wait().unwrap();
        assert!(filled.is_complete().unwrap(), "{names}");
        assert_eq!(from.read(&x).wait().unwrap(), [3; N]);
    });
}

fn user_events(s: &Subject) {
    each_pair(s, |names, source, waiter| {
        let to = waiter.queue("to");
        let gate = source.user_event("gate");
        to.wait_for(&gate.event()).unwrap();
        let x = to.full([N], 1_u32).unwrap();
        assert!(!to.marker().is_complete().unwrap(), "{names}");
        let read = to.read(&x);
        crate::common::thread::scope(|scope| {
            scope.spawn(|| gate.signal());
            assert_eq!(read.wait().unwrap(), [1; N], "{names}");
        });
        to.wait_for(&gate.event()).unwrap();
        to.finish().wait().unwrap();
    });
}

/// Waits for an event that a callback signals. The callback's context has no threads, so the waiter has to run the
/// callback.
fn signalled_in_callback(s: &Subject) {
    for awaited in [false, true] {
        let source = without_threads(s, 2, Policy::Ordered);
        let waiter = s.ctx();
        let [from, to] = from_to(&source, &waiter);
        let gate = source.user_event("gate");
        to.wait_for(&gate.event()).unwrap();
        let x = to.full([N], 1_u32).unwrap();
        from.callback(move || gate.signal()).unwrap();
        let read = to.read(&x);
        let found = if awaited { crate::common::block_on(read) } else { read.wait() };
        assert_eq!(found.unwrap(), [1; N]);
    }
}

fn recorded_again(s: &Subject) {
    each_pair(s, |names, source, waiter| {
        let [from, to] = from_to(source, waiter);
        let event = source.event();
        event.record(&from).unwrap();
        to.wait_for(&event).unwrap();
        let gate = hold(&from);
        event.record(&from).unwrap();
        to.finish().wait().unwrap();
        assert!(!event.is_complete().unwrap(), "{names}");
        gate.signal();
        event.wait().unwrap();
    });
}

fn unrecorded(s: &Subject) {
    for (name, other) in partners(s, Policy::Ordered) {
        let queue = s.ctx().queue("main");
        let event = other.event();
        queue.wait_for(&event).unwrap();
        queue.finish().wait().unwrap();
        assert_error!(event.record(&queue), ErrorDetail::ForeignContext { .. }, "{name}");
        assert!(event.is_complete().unwrap(), "the event stays unrecorded");
    }
}

/// Checks that a queue has failed with the error of an awaited event of another context, and that it works again
/// afterwards.
fn fails_and_works_on(to: &CommandQueue, is_cause: impl Fn(&ErrorDetail) -> bool) {
    let error = to.finish().wait().unwrap_err();
    let ErrorDetail::OtherContext { object, error: cause } = error.detail() else { panic!("{error}") };
    assert!(object.contains('`') && is_cause(cause.detail()), "{error}");
    assert!(to.flush().is_err());
    assert!(to.take_error().is_some());
    let x = to.full([N], 9_u32).unwrap();
    assert_eq!(to.read(&x).wait().unwrap(), [9; N]);
}

fn failures(s: &Subject) {
    each_pair(s, |names, source, waiter| {
        let [from, to] = from_to(source, waiter);
        let gate = hold(&from);
        to.wait_for(&from.marker()).unwrap();
        let after = to.marker();
        drop(gate);
        fails_and_works_on(&to, |cause| matches!(cause, ErrorDetail::Abandoned { event } if event == "gate"));
        assert!(after.wait().is_err(), "{names}");
        // This wait is enqueued after the failure.
        to.wait_for(&from.marker()).unwrap();
        fails_and_works_on(&to, |cause| matches!(cause, ErrorDetail::Abandoned { .. }));
        let user = source.user_event("user");
        to.wait_for(&user.event()).unwrap();
        drop(user);
        fails_and_works_on(&to, |cause| matches!(cause, ErrorDetail::Abandoned { event } if event == "user"));
    });
}

/// Returns a context on the CPU recorder that loses its device at the first step.
fn doomed(s: &Subject, threads: bool) -> Context {
    let faults = CpuFaults { lost_after: Some(0), ..CpuFaults::default() };
    s.on_cpu(SimulatorOptions::default().threads(threads), faults, Policy::Ordered)
}

fn lost(s: &Subject) {
    for threads in [true, false] {
        let source = doomed(s, threads);
        let waiter = s.ctx();
        let [from, to] = from_to(&source, &waiter);
        let mut x = source.zeros::<u32, 1>([N]).unwrap();
        from.fill(&mut x, 1).unwrap();
        to.wait_for(&from.marker()).unwrap();
        fails_and_works_on(&to, |cause| matches!(cause, ErrorDetail::DeviceLost { .. }));
        to.wait_for(&from.marker()).unwrap();
        fails_and_works_on(&to, |cause| matches!(cause, ErrorDetail::DeviceLost { .. }));
    }
}

fn lost_here(s: &Subject) {
    for threads in [true, false] {
        let source = s.ctx();
        let waiter = doomed(s, threads);
        let [from, to] = from_to(&source, &waiter);
        let mut x = source.zeros([N]).unwrap();
        let mut y = waiter.zeros([N]).unwrap();
        let gate = hold(&from);
        from.fill(&mut x, 1_u32).unwrap();
        to.wait_for(&from.marker()).unwrap();
        let other = waiter.queue_with(Default::default());
        other.take_error();
        to.fill(&mut y, 1_u32).unwrap();
        let lose = waiter.full([N], 1_u32).and_then(|z| waiter.default_queue().read(&z).wait());
        drop(lose);
        gate.signal();
        assert!(to.finish().wait().is_err());
        assert_eq!(from.read(&x).wait().unwrap(), [1; N]);
    }
}

fn would_deadlock(s: &Subject) {
    each_pair(s, |names, source, waiter| {
        let [from, to] = from_to(source, waiter);
        let (sender, receiver) = channel();
        let (later, asked) = channel::<fencepost::Event>();
        from.callback(move || {
            let after = asked.recv().unwrap();
            sender.send(after.wait().map_err(|error| error.to_string())).unwrap();
        })
        .unwrap();
        to.wait_for(&from.marker()).unwrap();
        later.send(to.marker()).unwrap();
        from.flush().unwrap();
        to.finish().wait().unwrap();
        let said = crate::common::received(&receiver).unwrap_err();
        assert!(said.contains("can never end"), "{names}: {said}");
    });
}

fn dropped(s: &Subject) {
    // The contexts wait for each other, and the caller drops both.
    partners::each_pair(s, |_, source, waiter| {
        let [from, to] = from_to(source, waiter);
        let mut x = source.zeros([N]).unwrap();
        let mut y = waiter.zeros([N]).unwrap();
        for round in 0..5_u32 {
            from.fill(&mut x, round).unwrap();
            to.wait_for(&from.marker()).unwrap();
            to.fill(&mut y, round).unwrap();
            from.wait_for(&to.marker()).unwrap();
        }
    });
    // The waiting context is dropped first; afterwards this thread signals the awaited event.
    for (name, other) in partners(s, Policy::Ordered) {
        let (sender, receiver) = channel();
        let gate = other.user_event("gate");
        let (ctx, to) = s.with_queue("to");
        to.wait_for(&gate.event()).unwrap();
        to.callback(move || sender.send(()).unwrap()).unwrap();
        drop((to, ctx));
        assert!(receiver.try_recv().is_err(), "{name}");
        gate.signal();
        crate::common::received(&receiver);
    }
}

fn long_chain(s: &Subject) {
    each_pair(s, |names, one, two| {
        let a = one.queue("a");
        let b = two.queue("b");
        for _ in 0..100 {
            b.wait_for(&a.marker()).unwrap();
            b.callback(|| ()).unwrap();
            a.wait_for(&b.marker()).unwrap();
            a.callback(|| ()).unwrap();
        }
        a.finish().wait().unwrap();
        assert!(b.marker().is_complete().unwrap(), "{names}");
    });
    // 150 queues wait for each other in a chain, and all of them are held back at once.
    let one = s.ctx();
    let two = without_threads(s, 2, Policy::Ordered);
    let mut queues = vec![one.queue("first")];
    let gate = hold(&queues[0]);
    for at in 1..150 {
        let ctx = if at % 2 == 0 { &one } else { &two };
        let queue = ctx.queue_with(Default::default());
        queue.wait_for(&queues[at - 1]).unwrap();
        queues.push(queue);
    }
    let last = queues.last().unwrap().finish();
    gate.signal();
    last.wait().unwrap();
}

/// Enqueues random waits between three contexts without threads, one of which is the subject's own.
fn threadless(s: &Subject) {
    let own = (!s.is_cpu()).then(|| s.without_threads());
    for seed in 0..20 {
        let mut contexts: Vec<Context> =
            (0..3).map(|at| without_threads(s, 3 * seed + at, Policy::Ordered)).collect();
        if let Some(own) = &own {
            contexts[seed as usize % 3] = own.clone();
        }
        let queues: Vec<CommandQueue> = contexts.iter().map(|ctx| ctx.queue("q")).collect();
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut done = [0_u32; 3];
        let arrays: Vec<_> = contexts.iter().map(|ctx| ctx.zeros::<u32, 1>([N]).unwrap()).collect();
        for round in 1..=30 {
            let to = rng.usize(..3);
            let from = rng.usize(..3);
            queues[to].wait_for(&queues[from].marker()).unwrap();
            queues[to].fill(&mut arrays[to].clone(), round).unwrap();
            done[to] = round;
        }
        let last = rng.usize(..3);
        if rng.bool() {
            queues[last].finish().wait().unwrap();
        } else {
            crate::common::block_on(queues[last].finish()).unwrap();
        }
        assert!(
            dump::has_noticed_the_end(&contexts[last], "q"),
            "seed {seed}: {}",
            contexts[last].diagnostics().state_dump()
        );
        for at in 0..3 {
            assert_eq!(queues[at].read(&arrays[at]).wait().unwrap(), [done[at]; N], "seed {seed}");
        }
    }
}
