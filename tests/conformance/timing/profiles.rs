//! T05: the rows of a profile.

use super::{Beside, timed};
use crate::common::kernels::{Iota, mix};
use crate::common::{Case, Subject, case, hold};
use fencepost::prelude::*;
use fencepost::profile::{Activity, Row, WaitCause};
use fencepost::{ErrorDetail, Profile};
use std::time::Duration;
use web_time::Instant;

pub fn cases() -> Vec<Case> {
    vec![
        case("t05_every_command_is_in_the_profile_once_with_its_line", every_command),
        case("t05_no_command_starts_before_its_submission_or_ends_before_its_start", in_order),
        case("t05_a_wait_names_its_queue_and_the_waiting_command_comes_later", waits),
        case("t05_a_wait_names_its_cause", causes),
        case("t05_a_profile_changes_no_result_and_makes_no_queue_timed", changes_nothing),
        case("t05_profiles_may_overlap_and_each_has_its_own_rows", nested),
        case("t05_a_profile_waits_for_all_commands_that_it_holds", late),
    ]
}

const N: usize = 1000;

/// Uses each verb once, on two queues; returns the expected rows.
fn verbs(ctx: &Context) -> Vec<(&'static str, Activity, String)> {
    let a = ctx.queue("a");
    let b = timed(ctx, "b");
    let iota = ctx.kernel::<Iota>().unwrap();
    let bytes = |elements: usize| format!("{} bytes", 4 * elements);
    let mut x = a.full([N], 1_u32).unwrap();
    let mut y = a.full([N], 2_u32).unwrap();
    mix(&a, 3, 1, &x, &mut y);
    a.launch(&iota, Grid::groups([0]), Iota { start: 0, step: 0, out: &mut y }).unwrap(); // an empty launch has no row
    a.copy(&x, &mut y).unwrap();
    b.wait_for(&a).unwrap();
    b.upload(&[5; 8], &mut x.slice(0..8).unwrap()).unwrap();
    b.launch(&iota, Grid::threads([N]), Iota { start: 7, step: 1, out: &mut y }).unwrap();
    let read = b.read(&y);
    let (mut pinned, source): (HostArray<u32, Download>, HostArray<u32, Upload>) =
        (ctx.pinned([N]).unwrap(), ctx.pinned([N]).unwrap());
    b.download(&x, &mut pinned).unwrap();
    b.upload(&source, &mut x).unwrap();
    assert_eq!(read.wait().unwrap()[2], 9);
    assert_eq!(pinned.host().unwrap()[9], 1);
    vec![
        ("a", Activity::Fill, bytes(N)),
        ("a", Activity::Fill, bytes(N)),
        ("a", Activity::Launch, "mix".into()),
        ("a", Activity::Copy, bytes(N)),
        ("b", Activity::Wait, "a".into()),
        ("b", Activity::Upload, bytes(8)),
        ("b", Activity::Launch, "iota".into()),
        ("b", Activity::Read, bytes(N)),
        ("b", Activity::Read, bytes(N)),
        ("b", Activity::Upload, bytes(N)),
    ]
}

fn every_command(subject: &Subject) {
    let ctx = subject.ctx();
    let before = ctx.queue("before").full([N], 1_u32).unwrap();
    let profiler = ctx.profile();
    let expected = verbs(&ctx);
    let profile = profiler.finish().wait().unwrap();
    let after = ctx.queue("after").full([N], 1_u32).unwrap();
    let of_queues = profile.rows.iter().filter(|row| !row.by_context && !is_of_new_queue(row));
    let found: Vec<_> = of_queues.map(|row| (&*row.queue, row.activity, row.name.to_string())).collect();
    assert_eq!(found, expected);
    let of_queues = || profile.rows.iter().filter(|row| !is_of_new_queue(row));
    let mut lines: Vec<u32> = of_queues().map(|row| row.location.line()).collect();
    assert!(of_queues().all(|row| row.location.file().ends_with("profiles.rs")));
    lines.sort_unstable();
    lines.dedup();
    assert!(lines.len() >= expected.len(), "each row has a line of its own: {lines:?}");
    drop((before, after));
}

fn is_of_new_queue(row: &Row) -> bool {
    row.awaited.as_ref().is_some_and(|awaited| awaited.cause == WaitCause::QueueCreation)
}

/// Profiles work on three queues that wait for each other, with flushes and host waits in between.
fn exercised(subject: &Subject) -> Profile {
    let ctx = subject.ctx();
    let queues = [ctx.queue("first"), timed(&ctx, "second"), ctx.queue("third")];
    let x = ctx.array(&[3_u32; N]).unwrap();
    let mut y = ctx.zeros([N]).unwrap();
    let profiler = ctx.profile();
    for turn in 0..30_u32 {
        let queue = &queues[turn as usize % 3];
        mix(queue, 5, turn, &x, &mut y);
        let mut side = queue.full([N], turn).unwrap();
        queue.copy(&x, &mut side).unwrap();
        match turn % 7 {
            3 => queue.flush().unwrap(),
            5 => queue.finish().wait().unwrap(),
            _ => {}
        }
    }
    profiler.finish().wait().unwrap()
}

fn in_order(subject: &Subject) {
    let begun = Instant::now();
    let profile = exercised(subject);
    let error = profile.clock_error.expect("every subject has a clock");
    // The possible clock error comes from the host's times around the batches of this profile.
    assert!((0.0..=begun.elapsed().as_secs_f64()).contains(&error), "{error}");
    let mut ends = vec![f64::NEG_INFINITY; profile.rows.len()];
    for row in &profile.rows {
        assert!(row.enqueued >= 0.0 && row.enqueued <= profile.seconds, "{row:?}");
        if row.awaited.is_some() {
            continue;
        }
        let time = row.time.unwrap();
        let batch = &profile.batches[row.batch.unwrap()];
        assert!(row.submitted == Some(batch.submitted) && batch.submitted >= row.enqueued, "{row:?}");
        assert!(time.start >= batch.submitted - error && time.end > time.start, "{error} {row:?}");
        assert!(time.end <= batch.completed.unwrap() + error, "{error} {row:?} {batch:?}");
        let last = &mut ends[row.queue_number];
        assert!(time.start >= *last, "{last} {row:?}");
        *last = time.end;
    }
    assert_eq!(profile.rows.iter().filter(|row| row.awaited.is_none()).count(), 90);
    let in_batches: usize = profile.batches.iter().map(|batch| batch.rows).sum();
    assert_eq!(in_batches, 90);
}

/// Returns the start of the next command of a row's queue.
fn next_start(profile: &Profile, at: usize) -> f64 {
    let queue = profile.rows[at].queue_number;
    let mut later = profile.rows[at..].iter().filter(|row| row.queue_number == queue);
    later.find(|row| row.awaited.is_none()).unwrap().time.unwrap().start
}

fn waits(subject: &Subject) {
    let profile = exercised(subject);
    let error = profile.clock_error.unwrap();
    let mut seen = 0;
    for (at, row) in profile.rows.iter().enumerate() {
        let Some(awaited) = &row.awaited else { continue };
        let Some(from) = awaited.row else { continue };
        let earlier = &profile.rows[from];
        let time = row.time.unwrap();
        assert!(from < at && awaited.label.as_deref() == Some(&*earlier.queue) && row.name == earlier.queue);
        assert!(earlier.queue_number != row.queue_number && time.start <= time.end);
        let end = earlier.time.unwrap().end;
        assert!(time.end >= end && next_start(&profile, at) >= end - 2.0 * error, "{row:?} {earlier:?}");
        seen += 1;
    }
    assert_eq!(seen, 25, "each launch waits for the one before, but for four that the host was told of");
}

fn causes(subject: &Subject) {
    let ctx = subject.ctx();
    let a = ctx.queue("a");
    let b = ctx.queue("b");
    let mut x = ctx.zeros::<u32, 1>([N]).unwrap();
    let gate = ctx.user_event("gate");
    let held = ctx.user_event("held");
    let profiler = ctx.profile();
    a.wait_for(&held.event()).unwrap();
    a.fill(&mut x, 1).unwrap();
    b.fill(&mut x, 2).unwrap();
    b.wait_for(&[a.marker(), gate.event()]).unwrap();
    b.callback(|| ()).unwrap();
    let c = ctx.queue("c");
    c.fill(&mut x, 3).unwrap();
    held.signal();
    gate.signal();
    let profile = profiler.finish().wait().unwrap();
    let of = |row: &Row| (row.queue.to_string(), row.activity, row.awaited.as_ref().map(|a| a.cause));
    let found: Vec<_> = profile.rows.iter().map(of).collect();
    let wait = |queue: &str, cause| (queue.to_string(), Activity::Wait, Some(cause));
    let row = |queue: &str, activity| (queue.to_string(), activity, None);
    assert_eq!(
        found,
        [
            wait("a", WaitCause::Host),
            row("a", Activity::Fill),
            wait("b", WaitCause::Policy),
            row("b", Activity::Fill),
            wait("b", WaitCause::Queue),
            wait("b", WaitCause::Host),
            row("b", Activity::Callback),
            wait("c", WaitCause::QueueCreation),
            row("c", Activity::Fill),
        ]
    );
    assert_eq!((&*profile.rows[0].name, profile.rows[2].awaited.as_ref().unwrap().row), ("held", Some(1)));
    assert!(profile.rows.iter().all(|row| row.time.is_ok()), "{:#?}", profile.rows);
}

fn changes_nothing(subject: &Subject) {
    let ctx = subject.ctx();
    let plain = ctx.queue("plain");
    let watched = timed(&ctx, "watched");
    let expected = super::choosing::exercise(&ctx, &plain);
    let profiler = ctx.profile();
    for queue in [&plain, &watched, &ctx.queue("new")] {
        assert_eq!(super::choosing::exercise(&ctx, queue), expected);
    }
    let start = plain.marker();
    let error = plain.marker().seconds_since(&start).wait().unwrap_err();
    assert!(!plain.options().timing && matches!(error.detail(), ErrorDetail::Untimed { .. }), "{error}");
    assert!(watched.marker().seconds_since(&watched.marker()).wait().is_ok());
    let profile = profiler.finish().wait().unwrap();
    assert!(profile.rows.iter().any(|row| &*row.queue == "plain" && row.activity == Activity::Launch));
    assert_eq!(super::choosing::exercise(&ctx, &plain), expected);
    let start = watched.marker();
    watched.full([N], 1_u32).unwrap();
    assert!(watched.marker().seconds_since(&start).wait().unwrap() > 0.0);
}

fn nested(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("queue");
    let mut x = queue.full::<u32, 1>([N], 0).unwrap();
    let outer = ctx.profile();
    queue.fill(&mut x, 1).unwrap();
    let inner = ctx.profile();
    queue.fill(&mut x, 2).unwrap();
    drop(ctx.profile());
    let outer = outer.finish();
    queue.fill(&mut x, 3).unwrap();
    let inner = inner.finish().wait().unwrap();
    assert_eq!((outer.wait().unwrap().rows.len(), inner.rows.len()), (2, 2));
    queue.fill(&mut x, 4).unwrap();
    assert!(ctx.profile().finish().wait().unwrap().rows.is_empty());
}

fn late(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("held");
    let beside = Beside::new(subject, &ctx);
    let mut x = ctx.zeros::<u32, 1>([N]).unwrap();
    let profiler = ctx.profile();
    let gate = hold(&queue);
    queue.fill(&mut x, 1).unwrap();
    let mut finished = profiler.finish();
    assert!(finished.wait_timeout(Duration::ZERO).unwrap().is_none());
    beside.work();
    assert!(finished.wait_timeout(Duration::from_millis(1)).unwrap().is_none());
    gate.signal();
    let profile = crate::common::block_on(finished).unwrap();
    assert!(profile.rows.len() == 2 && profile.rows[1].time.is_ok());
}
