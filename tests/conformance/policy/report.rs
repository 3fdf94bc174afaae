//! P06: the report lists the waits that the policy added and the waits that were not needed.

use crate::common::kernels::mix;
use crate::common::{Case, Subject, case, dump, hold, queues};
use fencepost::prelude::*;
use fencepost::waits::Already;
use std::time::Duration;

pub fn cases() -> Vec<Case> {
    vec![
        case("p06_an_added_wait_is_listed_with_both_lines_the_bytes_and_a_count", added),
        case("p06_every_added_wait_is_listed_and_no_other", every_one),
        case("p06_a_redundant_wait_is_listed_with_its_line_and_the_reason", redundant),
        case("p06_a_wait_that_orders_something_is_not_redundant", needed),
        case("p06_a_wait_that_only_brings_knowledge_is_not_redundant", needed_for_its_knowledge),
        case("p06_under_checked_and_unchecked_nothing_is_added", other_policies),
        case("p06_no_wait_is_recorded_unless_recording_is_on", off),
        case("p06_the_printed_report_shows_both_tables", table),
    ]
}

fn recording(s: &Subject, policy: Policy) -> (Context, CommandQueue, CommandQueue) {
    let ctx = s.ctx_with(policy);
    ctx.diagnostics().record_waits(true);
    let [one, two] = queues(&ctx, ["one", "two"]);
    (ctx, one, two)
}

fn added(s: &Subject) {
    let (ctx, one, two) = recording(s, Policy::Ordered);
    let [x, mut y] = [0; 2].map(|_| ctx.zeros([64]).unwrap());
    let mut lines = [0; 2];
    for turn in 0..5 {
        lines = [line!() + 1, line!() + 2];
        one.fill(&mut x.slice(16..64).unwrap(), turn).unwrap();
        mix(&two, 1, 0, &x, &mut y);
    }
    let report = ctx.diagnostics().wait_report();
    let [launch, fill] = report.added.as_slice() else { panic!("{report}") };
    assert_eq!((&*launch.later.queue, launch.later.command.as_str()), ("two", "kernel `mix`"));
    assert_eq!((&*launch.earlier.queue, launch.earlier.command.as_str()), ("one", "a fill"));
    assert_eq!([launch.earlier.location.line(), launch.later.location.line()], lines);
    assert!(launch.later.location.file().ends_with("report.rs"));
    assert_eq!((launch.array.as_str(), launch.range.clone()), (x.label(), 64..256));
    assert_eq!((launch.access, launch.count), ("write", 5));
    // In the other direction, each fill except the first waits for the launch that reads the bytes it overwrites.
    assert_eq!([&*fill.later.command, &*fill.earlier.command], ["a fill", "kernel `mix`"]);
    assert_eq!((fill.access, fill.count), ("read", 4));
    assert_eq!(two.read(&y).wait().unwrap()[63], 1 + 2 + 3 + 4);
}

/// Checks that the report lists as many waits as there are commands in addition to the caller's.
fn every_one(s: &Subject) {
    let (ctx, one, two) = recording(s, Policy::Ordered);
    let arrays: Vec<DeviceArray<u32>> = (0..4).map(|_| ctx.zeros([64]).unwrap()).collect();
    let gate = ctx.user_event("gate"); // no work is done before the end, so every wait is added
    one.wait_for(&gate.event()).unwrap();
    two.wait_for(&gate.event()).unwrap();
    let before = dump::enqueued(&ctx, "two");
    let mut rng = fastrand::Rng::with_seed(6);
    for turn in 0..200 {
        let queue = if rng.bool() { &one } else { &two };
        queue.fill(&mut arrays[rng.usize(..4)].clone(), turn).unwrap();
    }
    let last = dump::enqueued(&ctx, "one").max(dump::enqueued(&ctx, "two"));
    let report = ctx.diagnostics().wait_report();
    let listed: u64 = report.added.iter().map(|wait| wait.count).sum();
    assert!(listed > 20, "{report}");
    assert_eq!(last - before, 200 + listed, "{report}");
    gate.signal();
}

fn redundant(s: &Subject) {
    let (ctx, one, two) = recording(s, Policy::Ordered);
    let mut x = ctx.zeros([64]).unwrap();
    let gate = hold(&one);
    one.fill(&mut x, 1_u32).unwrap();
    let filled = one.marker();
    two.wait_for(&filled).unwrap(); // this wait is needed
    for _ in 0..3 {
        two.wait_for(&one).unwrap();
    }
    one.wait_for(&filled).unwrap();
    gate.signal();
    two.fill(&mut x, 2).unwrap();
    two.finish().wait().unwrap();
    one.wait_for(&two).unwrap();
    let report = ctx.diagnostics().wait_report();
    assert!(report.added.is_empty(), "{report}");
    let found: Vec<_> = report
        .redundant
        .iter()
        .map(|wait| (&*wait.queue, &*wait.waited_for, wait.already, wait.count))
        .collect();
    let expected = [
        ("two", "one", Already::Ordered, 3),
        ("one", "one", Already::SameQueue, 1),
        ("one", "two", Already::Told, 1),
    ];
    assert_eq!(found, expected);
    assert!(report.redundant.iter().all(|wait| wait.location.file().ends_with("report.rs")));
    assert!(report.redundant.is_sorted_by_key(|wait| std::cmp::Reverse(wait.count)));
}

/// Records events in both directions in a loop. Each wait is needed, although the first wait finds its event
/// unrecorded.
fn needed(s: &Subject) {
    for policy in [Policy::Ordered, Policy::Checked, Policy::Unchecked] {
        let (ctx, one, two) = recording(s, policy);
        let [mut x, mut y] = [0; 2].map(|_| ctx.zeros([64]).unwrap());
        let [written, used] = [0; 2].map(|_| ctx.event());
        for turn in 0..6_u32 {
            one.wait_for(&used).unwrap();
            one.fill(&mut x, turn).unwrap();
            written.record(&one).unwrap();
            two.wait_for(&written).unwrap();
            two.copy(&x, &mut y).unwrap();
            used.record(&two).unwrap();
        }
        let report = ctx.diagnostics().wait_report();
        assert!(report.added.is_empty() && report.redundant.is_empty(), "{policy:?}:\n{report}");
        assert_eq!(two.read(&y).wait().unwrap(), [5; 64]);
    }
}

/// The second wait for `two` is needed although `two` has no new commands: it adds the order after `three`, whose work
/// was complete when `two` waited for it.
fn needed_for_its_knowledge(s: &Subject) {
    let (ctx, one, two) = recording(s, Policy::Ordered);
    let three = ctx.queue("three");
    let [mut x, mut y] = [0; 2].map(|_| ctx.zeros::<u32, 1>([64]).unwrap());
    two.fill(&mut y, 1).unwrap();
    one.wait_for(&two).unwrap();
    three.fill(&mut x, 2).unwrap();
    three.flush().unwrap();
    crate::common::sleep(Duration::from_millis(20)); // the program does not learn that the work is complete
    two.wait_for(&three).unwrap();
    one.wait_for(&two).unwrap();
    one.fill(&mut x, 3).unwrap();
    let report = ctx.diagnostics().wait_report();
    assert!(report.added.is_empty() && report.redundant.is_empty(), "{report}");
    assert_eq!(one.read(&x).wait().unwrap(), [3; 64]);
}

fn other_policies(s: &Subject) {
    for policy in [Policy::Checked, Policy::Unchecked] {
        let (ctx, one, two) = recording(s, policy);
        let mut x = ctx.zeros([64]).unwrap();
        one.fill(&mut x, 1_u32).unwrap();
        assert_eq!(two.fill(&mut x, 2).is_err(), policy == Policy::Checked);
        two.wait_for(&one).unwrap();
        two.wait_for(&one).unwrap();
        let report = ctx.diagnostics().wait_report();
        assert!(report.added.is_empty(), "{report}");
        let [twice] = report.redundant.as_slice() else { panic!("{report}") };
        assert_eq!((twice.already, twice.count), (Already::Ordered, 1));
    }
}

fn off(s: &Subject) {
    let (ctx, [one, two]) = s.with_queues(["one", "two"]);
    let mut x = ctx.zeros([64]).unwrap();
    let both = |x: &mut DeviceArray<u32>| {
        one.fill(x, 1).unwrap();
        two.fill(x, 2).unwrap();
        two.wait_for(&one).unwrap();
    };
    let counts = || {
        let report = ctx.diagnostics().wait_report();
        (report.added.len(), report.redundant.len())
    };
    both(&mut x);
    assert_eq!(counts(), (0, 0));
    ctx.diagnostics().record_waits(true);
    both(&mut x);
    assert_eq!(counts(), (2, 1), "the policy adds a wait each way, and the wait of the program is redundant");
    ctx.diagnostics().record_waits(false);
    both(&mut x);
    assert_eq!(counts(), (0, 0));
}

fn table(s: &Subject) {
    let (ctx, one, two) = recording(s, Policy::Ordered);
    assert_eq!(
        ctx.diagnostics().wait_report().to_string(),
        "waits that the policy added: none\nwaits that were not needed: none\n"
    );
    let mut x = ctx.zeros([4]).unwrap();
    let line = line!() + 1;
    one.fill(&mut x, 1_u32).unwrap();
    two.fill(&mut x, 2).unwrap();
    two.wait_for(&one).unwrap();
    let at = |below: u32| format!("{}:{}:9", file!(), line + below);
    let expected = format!(
        "waits that the policy added
         times later earlier both use
         1 a fill on queue `two` at {} a fill on queue `one` at {} bytes 0..16 of array `{}`
         waits that were not needed
         times wait for because
         1 queue `two` at {} queue `one` the queue is already ordered after it",
        at(1),
        at(0),
        x.label(),
        at(2),
    );
    let squeezed = |text: &str| {
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
    };
    let found = ctx.diagnostics().wait_report().to_string();
    assert_eq!(squeezed(&found), squeezed(&expected));
    // The columns of the tables are aligned.
    let lines: Vec<&str> = found.lines().collect();
    assert_eq!(lines[1].find("both use"), lines[2].find("bytes 0..16"), "{found}");
    assert_eq!(lines[4].find("because"), lines[5].find("the queue is already"), "{found}");
}
