//! G03: the effect of every verb on a captured queue, which works afterwards.

use crate::common::kernels::{Mix, mix_by_text};
use crate::common::{Calls, Case, NO_UNWINDING, ONE_THREAD, Subject, assert_error, case};
use crate::graphs::temporaries::has_returned;
use crate::graphs::verb_table::{Behaviour, Call, FirstOf, N, Objects, Phases, Verb, events, table};
use fencepost::prelude::*;
use fencepost::{Capture, Error, ErrorDetail, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};

pub fn cases() -> Vec<Case> {
    vec![
        case("g03_each_verb_is_captured_or_refused_on_a_captured_queue", on_a_capture),
        case("g03_each_verb_is_captured_or_refused_on_a_forked_queue", on_a_fork),
        case("g03_each_verb_is_captured_or_refused_in_a_body", in_a_body),
        case("g07_each_verb_is_captured_or_refused_on_a_queue_of_another_context", on_another_context),
        case("g03_a_refused_verb_is_refused_under_checked_too", under_checked).host_side(),
        case("g03_calls_that_need_an_event_now_are_refused", events_inside),
        case("g03_verbs_of_the_context_run_during_a_capture", of_the_context),
        case("g03_a_panic_in_a_capture_leaves_the_queue_working", panics).not_in_a_page(NO_UNWINDING),
        case("g03_an_error_in_a_capture_leaves_the_queue_working", fails),
        case("g03_a_scope_of_a_captured_queue_captures", scopes),
        case("g03_two_captures_at_once_are_apart", at_once).not_in_a_page(ONE_THREAD),
    ]
}

fn objects(ctx: Context, other: Context) -> (Objects, CommandQueue) {
    let queue = ctx.queue("main");
    let [x, two] = [7_u32, 2].map(|value| queue.full([N], value).unwrap());
    let child = queue.capture(|c| c.fill(&mut x.clone(), 9)).unwrap().0;
    let up = ctx.pinned([N]).unwrap();
    let outside = queue.marker();
    let mix = ctx.kernel::<Mix>().unwrap();
    let mixed = mix_by_text(&ctx).unwrap();
    let returns = ctx.kernel::<FirstOf>().unwrap();
    let phases = ctx.kernel::<Phases>().unwrap();
    (Objects { ctx, other, x, two, mix, mixed, returns, phases, child, up, outside }, queue)
}

/// Captured queue on which a verb is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum On {
    Capture,
    Fork,
    /// A queue in another context than the captured queue.
    OtherContext,
}

/// Calls a verb inside a capture.
fn call(on: On, verb: &Verb, objects: &Objects, c: &Capture) -> Result<()> {
    match (verb.call, on) {
        (Call::Capture(call), On::OtherContext) => {
            let side = c.fork_on(&objects.ctx, "side")?;
            let result = call(objects, &c.on(&side)?);
            c.wait_for(&side)?;
            result
        }
        (Call::Capture(call), _) => call(objects, c),
        (Call::Queue(call), On::Capture) => call(objects, c),
        (Call::Queue(call), On::Fork | On::OtherContext) => {
            let side = match on {
                On::OtherContext => c.fork_on(&objects.ctx, "side")?,
                _ => c.fork("side"),
            };
            let result = call(objects, &side);
            // Joining a queue with a refused call is not a second error.
            c.wait_for(&side)?;
            result
        }
    }
}

/// Checks that the error names the verb and its line.
fn check_refusal(verb: &Verb, error: &Error, next: Option<&Verb>) {
    let ErrorDetail::Captured { call, location, remedy, .. } = error.detail() else {
        panic!("`{}` ends with: {error}", verb.name)
    };
    assert_eq!(*call, verb.name, "{error}");
    let last = next.map_or(u32::MAX, |next| next.at.line());
    let entry = verb.at.line()..last.max(verb.at.line() + 1);
    assert!(location.file() == verb.at.file() && entry.contains(&location.line()), "{}: {error}", verb.name);
    assert!(!remedy.is_empty(), "{error}");
}

/// Checks that the queue works, and that another capture works.
fn check_queue(objects: &Objects, queue: &CommandQueue, after: &str) {
    let mut x = objects.x.clone();
    queue.fill(&mut x, 3).unwrap();
    let (graph, ()) = queue.capture(|c| c.fill(&mut x, 4)).unwrap();
    assert_eq!(queue.read(&objects.x).wait().unwrap(), [3; N], "after `{after}`");
    assert_eq!(queue.read_after(&graph, &objects.x), [4; N], "after `{after}`");
    assert!(queue.take_error().is_none(), "after `{after}`");
}

fn refuses(on: On, verb: &Verb, next: Option<&Verb>, objects: &Objects, queue: &CommandQueue) {
    let first = objects.other.queue("first");
    let queue = if on == On::OtherContext { &first } else { queue };
    // The capture fails with the error, no matter if the closure returns it or drops it.
    let returned = queue.capture(|c| call(on, verb, objects, c)).map(drop).unwrap_err();
    check_refusal(verb, &returned, next);
    let dropped = queue.capture(|c| {
        drop(call(on, verb, objects, c));
        if on == On::OtherContext { Ok(()) } else { c.fill(&mut objects.x.clone(), 100) }
    });
    check_refusal(verb, &dropped.map(drop).unwrap_err(), next);
}

fn captures(on: On, verb: &Verb, objects: &Objects, queue: &CommandQueue) {
    let mut x = objects.x.clone();
    queue.fill(&mut x, 7).unwrap();
    // A graph can be replayed only on a queue of the context that captured it.
    let first = objects.other.queue("first");
    let by = if on == On::OtherContext { &first } else { queue };
    let captured = by.capture(|c| call(on, verb, objects, c));
    let (graph, ()) = captured.unwrap_or_else(|error| panic!("`{}`, {on:?}: {error}", verb.name));
    assert_eq!(queue.read(&x).wait().unwrap(), [7; N], "the capture of `{}` executes it", verb.name);
    let adds = verb.behaviour != Behaviour::NoNode;
    assert_eq!(graph.nodes() > 0, adds, "`{}`: {graph:?}", verb.name);
    by.replay(&graph).unwrap();
    let found = queue.read(&x).wait().unwrap();
    assert_eq!(found != [7; N], verb.behaviour == Behaviour::Writes, "`{}`: {found:?}", verb.name);
}

fn each(on: On, verbs: &[Verb], objects: &Objects, queue: &CommandQueue) {
    for (at, verb) in verbs.iter().enumerate() {
        match verb.behaviour {
            Behaviour::Refused => refuses(on, verb, verbs.get(at + 1), objects, queue),
            _ => captures(on, verb, objects, queue),
        }
        check_queue(objects, queue, verb.name);
    }
}

fn on_a_capture(subject: &Subject) {
    let (objects, queue) = objects(subject.ctx(), subject.ctx());
    each(On::Capture, &table(), &objects, &queue);
}

fn on_a_fork(subject: &Subject) {
    let (objects, queue) = objects(subject.ctx(), subject.ctx());
    let verbs: Vec<Verb> = table().into_iter().filter(|verb| matches!(verb.call, Call::Queue(_))).collect();
    each(On::Fork, &verbs, &objects, &queue);
}

/// Verbs that a capture takes and a body refuses.
const REFUSED_IN_A_BODY: [&str; 9] = [
    // A body cannot read to the host or run host callbacks.
    "read_as",
    "host",
    // A body copies from and to no pinned array.
    "upload a slice of a pinned array",
    "download",
    "download_region",
    // A body cannot declare inputs and values, which belong to the graph.
    "input",
    "value",
    "parameter",
    // A body contains work of only one context.
    "fork_on",
];

fn in_a_body(subject: &Subject) {
    let (objects, queue) = objects(subject.ctx(), subject.ctx());
    let x = &objects.x;
    let yes = objects.two.slice(0..1).unwrap();
    for verb in table() {
        queue.fill(&mut x.clone(), 7).unwrap();
        let captured = queue.capture(|c| c.if_(&yes, |body| call(On::Capture, &verb, &objects, body)));
        let refused = verb.behaviour == Behaviour::Refused || REFUSED_IN_A_BODY.contains(&verb.name);
        match captured {
            Ok((graph, ())) => {
                assert!(!refused, "a body takes `{}`", verb.name);
                let found = queue.read(x).wait().unwrap();
                assert_eq!(found, [7; N], "the capture of `{}` executes it", verb.name);
                queue.replay(&graph).unwrap();
                let changed = queue.read(x).wait().unwrap() != [7; N];
                assert_eq!(changed, verb.behaviour == Behaviour::Writes, "`{}`", verb.name);
            }
            Err(error) => {
                assert!(refused, "a body refuses `{}`: {error}", verb.name);
                let ErrorDetail::Captured { location, remedy, .. } = error.detail() else {
                    panic!("`{}` ends with: {error}", verb.name)
                };
                assert_eq!((location.file(), remedy.is_empty()), (verb.at.file(), false), "{error}");
                let dropped = queue.capture(|c| {
                    let refused = |body: &Capture| call(On::Capture, &verb, &objects, body).or(Ok(()));
                    drop(c.if_(&yes, refused));
                    c.fill(&mut x.clone(), 100)
                });
                assert_error!(dropped, ErrorDetail::Captured { .. }, "{error}");
            }
        }
        check_queue(&objects, &queue, verb.name);
    }
}

/// Calls the verbs of the table on a queue of the objects' context, in captures of another context.
fn on_another_context(subject: &Subject) {
    let (objects, queue) = objects(subject.ctx(), subject.ctx());
    let gated = ["if_", "if_else", "while_", "do_while", "repeat"];
    let verbs: Vec<Verb> = table()
        .into_iter()
        .filter(|verb| verb.name != "label_loop") // there is no loop to label
        .map(|verb| match gated.contains(&verb.name) {
            // A graph with a condition or a loop contains work of only one context.
            true => Verb { behaviour: Behaviour::Refused, ..verb },
            false => verb,
        })
        .collect();
    each(On::OtherContext, &verbs, &objects, &queue);
}

fn under_checked(subject: &Subject) {
    let (objects, queue) = objects(subject.ctx_with(Policy::Checked), subject.ctx());
    let all = table();
    for (at, verb) in all.iter().enumerate().filter(|(_, verb)| verb.behaviour == Behaviour::Refused) {
        refuses(On::Fork, verb, all.get(at + 1), &objects, &queue);
        check_queue(&objects, &queue, verb.name);
    }
}

fn events_inside(subject: &Subject) {
    let (objects, queue) = objects(subject.ctx(), subject.ctx());
    each(On::Capture, &events(), &objects, &queue);
    each(On::Fork, &events(), &objects, &queue);
}

fn of_the_context(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let other = ctx.queue("other");
    let mut y = ctx.zeros::<u32, 1>([N]).unwrap();
    let (graph, x) = queue.graph_of(|c| {
        let mut x = ctx.full([N], 6_u32)?;
        // These calls run immediately, and are not nodes.
        assert_eq!(ctx.to_vec(&x)?, [6; N]);
        assert!(ctx.display(&x)?.to_string().starts_with("[6"));
        assert_eq!(x.map_read().wait()?[..], [6; N]);
        other.fill(&mut x, 8)?;
        assert_eq!(other.read(&x).wait()?, [8; N]);
        queue.fill(&mut y, 1)?;
        queue.finish().wait()?;
        c.copy(&x, &mut y)?;
        Ok(x)
    });
    assert_eq!(graph.nodes(), 1);
    assert_eq!(queue.read(&y).wait().unwrap(), [1; N]);
    assert_eq!(queue.read_after(&graph, &y), [8; N]);
    assert_eq!(queue.read(&x).wait().unwrap(), [8; N]);
}

fn panics(subject: &Subject) {
    let (objects, queue) = objects(subject.ctx(), subject.ctx());
    let mut kept = None;
    for round in 0..3 {
        let caught = catch_unwind(AssertUnwindSafe(|| {
            queue.capture(|c| -> Result<()> {
                let side = c.fork("side");
                let mut own = side.zeros::<u32, 1>([N])?;
                side.copy(&objects.two, &mut own)?;
                c.fill(&mut objects.x.clone(), 100)?;
                kept = Some((side, own));
                std::panic::resume_unwind(Box::new(round))
            })
        }));
        assert_eq!(caught.unwrap_err().downcast_ref::<i32>(), Some(&round));
        check_queue(&objects, &queue, "a panic");
        let (side, mut own) = kept.take().unwrap();
        assert_error!(side.fill(&mut own, 1), ErrorDetail::CaptureEnded { call: "fill", .. });
        // An array of the failed capture is an ordinary array.
        queue.fill(&mut own, 5).unwrap();
        assert_eq!(queue.read(&own).wait().unwrap(), [5; N]);
    }
}

fn fails(subject: &Subject) {
    let (objects, queue) = objects(subject.ctx(), subject.ctx());
    for _ in 0..3 {
        let short = objects.ctx.zeros::<u32, 1>([1]).unwrap();
        let mut x = objects.x.clone();
        let before = objects.ctx.pool().stats().used;
        let error = queue
            .capture(|c| {
                let own = c.zeros::<u32, 1>([N])?;
                c.copy(&own, &mut x)?;
                c.copy(&short, &mut x)
            })
            .unwrap_err();
        assert!(matches!(error.detail(), ErrorDetail::Shape { .. }), "{error}");
        has_returned(&objects.ctx, before);
        check_queue(&objects, &queue, "an error");
    }
}

fn scopes(subject: &Subject) {
    let (ctx, queue) = subject.with_queue_under(Policy::Unchecked, "main");
    let [mut x, mut y] = [(); 2].map(|()| ctx.zeros::<u32, 1>([N]).unwrap());
    queue.finish().wait().unwrap();
    let (graph, ()) = queue.graph_of(|c| {
        let side = c.fork("side");
        c.scope(|| {
            assert_eq!(ctx.current_queue().options().label, "main");
            ctx.current_queue().fill(&mut x, 4)?;
            // The entry orders `side` after the fill, as for queues outside of a capture.
            side.scope(|| ctx.current_queue().copy(&x, &mut y))
        })?;
        assert_eq!(ctx.current_queue().options().label, "default");
        c.wait_for(&side)
    });
    assert_eq!(queue.read(&y).wait().unwrap(), [0; N]);
    for _ in 0..5 {
        queue.fill(&mut x, 0).unwrap();
        assert_eq!(queue.read_after(&graph, &y), [4; N]);
    }
}

fn at_once(subject: &Subject) {
    let ctx = subject.ctx();
    let one = ctx.queue("one");
    let two = ctx.queue("two");
    let [x, y] = [(); 2].map(|()| ctx.zeros::<u32, 1>([N]).unwrap());
    // The inner capture is on another queue, so it is separate.
    let (outer, inner) = one.graph_of(|c| {
        c.fill(&mut x.clone(), 1)?;
        let (inner, ()) = two.capture(|d| d.fill(&mut y.clone(), 2))?;
        c.fill(&mut x.clone(), 3)?;
        Ok(inner)
    });
    assert_eq!((outer.nodes(), inner.nodes()), (2, 1));
    // An event of one capture is not an event of the other.
    let error = one.capture(|c| two.capture(|d| c.wait_for(d)).map(drop)).unwrap_err();
    assert!(matches!(error.detail(), ErrorDetail::Captured { call: "wait_for", .. }), "{error}");
    let graphs: Vec<_> = crate::common::thread::scope(|scope| {
        let capture = |queue: &CommandQueue, array: &DeviceArray<u32>, value: u32| {
            let queue = queue.clone();
            let mut array = array.clone();
            scope.spawn(move || {
                let capture = queue.capture(|c| (0..50).try_for_each(|_| c.fill(&mut array, value)));
                capture.unwrap().0
            })
        };
        let threads = [capture(&one, &x, 5), capture(&one, &y, 6), capture(&two, &y, 7)];
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for (graph, array, value) in [(0, &x, 5), (1, &y, 6), (2, &y, 7)] {
        assert_eq!(graphs[graph].nodes(), 50);
        assert_eq!(two.read_after(&graphs[graph], array), [value; N]);
    }
}
