//! P02: the error that `Checked` returns for a missing wait, which does not depend on the device.

use super::checked::{self, Verb};
use crate::common::kernels::Saxpy;
use crate::common::{Case, Subject, assert_error, case, queues};
use fencepost::prelude::*;
use std::sync::mpsc::channel;

pub fn cases() -> Vec<Case> {
    vec![
        case("p02_the_error_of_a_missing_wait_names_both_uses_the_bytes_and_the_call_to_add", message),
        case("p02_messages_use_the_name_of_the_array", named),
        case("p02_every_pair_of_verbs_with_a_writer_is_a_hazard", pairs),
        case("p02_a_hazard_does_not_depend_on_the_progress_of_the_device", however_far),
        case("p02_a_hazard_is_the_same_after_the_device_has_done_the_work", long_done),
        case("p02_a_refused_call_enqueues_nothing", enqueues_nothing),
        case("p02_a_refused_replay_orders_nothing", refused_replay),
        case("p02_the_call_in_the_message_removes_the_hazard", remedy),
        case("p02_a_queue_knows_all_the_queues_that_it_has_waited_for", many_waits),
    ]
}

/// Launches on two queues without an order between them; returns the lines of both launches, the label of `y`, and the
/// error of the second launch.
fn unsynchronised(ctx: &Context, one: &CommandQueue, two: &CommandQueue) -> ([u32; 2], String, Error) {
    let saxpy = ctx.kernel::<Saxpy<f32>>().unwrap();
    let x = ctx.full([1000], 1.0).unwrap();
    let [mut y, mut z] = [0; 2].map(|_| ctx.zeros([1000]).unwrap());
    let line = line!() + 1;
    one.launch(&saxpy, Grid::threads([1000]), Saxpy { a: 1.0, x: &x, y: &mut y }).unwrap();
    let error = two.launch(&saxpy, Grid::threads([1000]), Saxpy { a: 2.0, x: &y, y: &mut z }).unwrap_err();
    ([line, line + 1], y.label().to_owned(), error)
}

/// Names two arrays in turn; the second gets the memory of the first.
fn named(s: &Subject) {
    let (ctx, [one, two]) = s.with_queues_under(Policy::Checked, ["one", "two"]);
    for name in ["speeds", "places"] {
        let mut x = ctx.zeros::<f32, 1>([1000]).unwrap().named(name).named("second");
        one.fill(&mut x.slice(10..20).unwrap(), 1.0).unwrap();
        let error = two.fill(&mut x, 2.0).unwrap_err();
        let ErrorDetail::Hazard { array, .. } = error.detail() else { panic!("{error}") };
        assert_eq!((&**array, x.label()), (name, name), "{error}");
        assert!(x.slice(0..2000).unwrap_err().to_string().contains(&format!("array `{name}`")));
        ctx.synchronize().wait().unwrap();
    }
    let without = ctx.zeros::<f32, 1>([1000]).unwrap();
    let label = without.label();
    assert!(label.starts_with("f32 [1000], line ") && label.ends_with(" of hazards.rs"), "{label}");
}

fn message(s: &Subject) {
    let (ctx, [one, two]) = s.with_queues_under(Policy::Checked, ["stream 1", "stream 2"]);
    let ([first, second], label, error) = unsynchronised(&ctx, &one, &two);
    let ErrorDetail::Hazard { array, range, earlier, later, access, later_access, wait, gone: false } =
        error.detail()
    else {
        panic!("{error}")
    };
    assert_eq!((array.as_str(), range.clone()), (label.as_str(), 0..4000));
    assert_eq!([*access, *later_access], ["write", "read"]);
    assert_eq!((&*earlier.queue, earlier.command.as_str()), ("stream 1", "kernel `saxpy`"));
    assert_eq!((&*later.queue, later.command.as_str()), ("stream 2", "kernel `saxpy`"));
    assert_eq!([earlier.location.line(), later.location.line()], [first, second]);
    assert!(earlier.location.file().ends_with("hazards.rs") && later.location.file().ends_with("hazards.rs"));
    assert!(wait.contains("wait_for") && wait.contains("stream 1") && wait.contains("stream 2"), "{wait}");
    let place = |at: &std::panic::Location<'_>| format!("{}:{}:{}", file!(), at.line(), at.column());
    let expected = format!(
        "nothing orders two uses of bytes 0..4000 of array `{label}`\n  \
           earlier: write by kernel `saxpy` on queue `stream 1` at {}\n  \
           later:   read by kernel `saxpy` on queue `stream 2` at {}\n  \
           help:    add `stream 2.wait_for(&stream 1)?` before the later use",
        place(earlier.location),
        place(later.location),
    );
    assert_eq!(error.to_string(), expected);
}

/// Two queues, and an array that the first queue has used.
struct Used<'a> {
    bench: &'a checked::Bench,
    one: CommandQueue,
    two: CommandQueue,
    x: DeviceArray<u32>,
}

/// Calls `check` for every verb as the earlier use, already enqueued on one queue, with every verb as the later use.
fn each_pair(s: &Subject, check: impl Fn(Verb, Verb, &Used<'_>)) {
    let ctx = s.ctx_with(Policy::Checked);
    let bench = checked::Bench::new(s, &ctx);
    for earlier in Verb::ALL {
        for later in Verb::ALL {
            let [one, two] = queues(&ctx, ["one", "two"]);
            let used = Used { bench: &bench, one, two, x: ctx.zeros([64]).unwrap() };
            earlier.run(&bench, &used.one, &used.x).unwrap();
            check(earlier, later, &used);
        }
    }
}

fn pairs(s: &Subject) {
    each_pair(s, |earlier, later, used| {
        let found = later.run(used.bench, &used.two, &used.x);
        let readers = !earlier.writes() && !later.writes();
        if readers || earlier.tells_the_host() {
            found.unwrap_or_else(|error| panic!("{later:?} after {earlier:?}: {error}"));
            return;
        }
        let Err(error) = found else { panic!("{later:?} after {earlier:?} is accepted") };
        let ErrorDetail::Hazard { earlier: before, later: after, range, access, later_access, .. } =
            error.detail()
        else {
            panic!("{later:?} after {earlier:?}: {error}")
        };
        assert_eq!([&*before.command, &*after.command], [earlier.command(), later.command()], "{error}");
        let called = |verb: Verb| if verb.writes() { "write" } else { "read" };
        assert_eq!((range.clone(), *access, *later_access), (0..256, called(earlier), called(later)));
    });
}

/// Uses the array on a second queue while the first queue is held back, and while its work runs or is done.
fn however_far(s: &Subject) {
    let ctx = s.ctx_with(Policy::Checked);
    let bench = checked::Bench::new(s, &ctx);
    for verb in Verb::ALL {
        for round in 0..6 {
            let [one, two] = queues(&ctx, ["one", "two"]);
            let gate = ctx.user_event("gate");
            let mut x = ctx.zeros([64]).unwrap();
            if round % 2 == 1 {
                one.wait_for(&gate.event()).unwrap();
            }
            one.fill(&mut x, 1).unwrap();
            one.flush().unwrap();
            let error =
                verb.run(&bench, &two, &x).expect_err("no call has told the host that the fill is done");
            assert!(matches!(error.detail(), ErrorDetail::Hazard { .. }), "{verb:?}: {error}");
            gate.signal();
        }
    }
}

/// Waits until a callback shows that the device has done the work. The callback itself does not tell the host
/// that the work is done.
fn long_done(s: &Subject) {
    let ctx = s.ctx_with(Policy::Checked);
    let bench = checked::Bench::new(s, &ctx);
    for verb in Verb::ALL {
        let [one, two] = queues(&ctx, ["one", "two"]);
        let mut x = ctx.zeros([64]).unwrap();
        one.fill(&mut x, 1).unwrap();
        let (sender, receiver) = channel();
        one.callback(move || sender.send(()).unwrap()).unwrap();
        one.flush().unwrap();
        crate::common::received(&receiver);
        assert_error!(verb.run(&bench, &two, &x), ErrorDetail::Hazard { .. }, "{verb:?}");
        one.finish().wait().unwrap();
        verb.run(&bench, &two, &x).unwrap();
    }
}

fn enqueues_nothing(s: &Subject) {
    let ctx = s.ctx_with(Policy::Checked);
    let bench = checked::Bench::new(s, &ctx);
    for verb in Verb::ALL {
        let [one, two] = queues(&ctx, ["one", "two"]);
        let mut x = ctx.zeros([64]).unwrap();
        one.fill(&mut x, 5).unwrap();
        for _ in 0..3 {
            verb.run(&bench, &two, &x).unwrap_err();
        }
        assert!(two.marker().is_complete().unwrap() && two.take_error().is_none(), "{verb:?}");
        // A use left over from the refused call would make this fill a hazard.
        one.fill(&mut x, 6).unwrap();
        assert_eq!(one.read(&x).wait().unwrap(), [6; 64], "{verb:?}");
    }
}

/// A replay of a graph with its own memory waits for the previous one. A refused replay must leave no such wait.
fn refused_replay(s: &Subject) {
    let (ctx, [one, two]) = s.with_queues_under(Policy::Checked, ["one", "two"]);
    let [x, y] = [0; 2].map(|_| ctx.zeros::<u32, 1>([64]).unwrap());
    let captured = one.capture(|c| {
        let own = c.zeros::<u32, 1>([64])?;
        c.copy(&x, &mut own.clone())?;
        c.copy(&own, &mut y.clone())
    });
    let graph = captured.unwrap().0;
    one.replay(&graph).unwrap();
    one.fill(&mut y.clone(), 1).unwrap();
    for _ in 0..2 {
        let error = two.replay(&graph).unwrap_err();
        assert!(error.to_string().contains("earlier: write by a fill on queue `one`"), "{error}");
        let error = two.fill(&mut x.clone(), 2).unwrap_err();
        assert!(error.to_string().contains("earlier: read by graph `one` on queue `one`"), "{error}");
    }
    two.wait_for(&one).unwrap();
    two.replay(&graph).unwrap();
    two.fill(&mut x.clone(), 2).unwrap();
    assert_eq!(two.read(&y).wait().unwrap(), [0; 64]);
}

fn remedy(s: &Subject) {
    each_pair(s, |_, later, used| {
        used.two.wait_for(&used.one).unwrap();
        later.run(used.bench, &used.two, &used.x).unwrap();
    });
}

/// Waits for more queues than a queue records without pruning.
fn many_waits(s: &Subject) {
    let (ctx, [main]) = s.with_queues_under(Policy::Checked, ["main"]);
    // A queue comes after all work that was enqueued before it was made, so all queues are made first.
    let one = |at: u32| (ctx.queue(&format!("queue {at}")), ctx.zeros::<u32, 1>([4]).unwrap());
    let mut all: Vec<_> = (0..100).map(one).collect();
    for (queue, x) in &mut all {
        queue.fill(x, 1).unwrap();
        main.wait_for(queue).unwrap();
    }
    for (_, x) in &mut all {
        main.fill(x, 7).unwrap();
    }
    for (_, x) in &all {
        assert_eq!(main.read(x).wait().unwrap(), [7; 4]);
    }
}
