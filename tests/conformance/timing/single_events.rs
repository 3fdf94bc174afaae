//! T01: timed events on queues without timing, and queues that add up the times of their kernels.

use super::timed;
use crate::common::kernels::{Iota, Mix};
use crate::common::{Case, Subject, assert_error, case, hold};
use fencepost::prelude::*;
use fencepost::profile::Activity;

pub fn cases() -> Vec<Case> {
    vec![
        case("t01_a_timed_event_has_a_time_on_any_queue", on_any_queue),
        case("t01_the_time_of_an_event_is_after_its_commands_and_before_later_ones", between)
            .one_lane("the clocks of two hardware queues are not compared"),
        case("t01_a_timed_event_does_not_wait_for_later_work", waits_for_no_more),
        case("t01_an_event_has_a_new_time_at_each_recording", recorded),
        case("t01_a_tuning_sums_up_the_kernels_of_its_queue_and_nothing_else", tuning),
        case("t01_a_tuning_leaves_the_queue_as_it_was", as_it_was),
        case("t01_a_tuning_and_a_profile_do_not_end_each_other", beside_a_profile),
    ]
}

const N: usize = 1000;
fn with_clock() -> EventOptions {
    EventOptions::default().timing(true)
}

/// Launches a kernel on `queue` several times.
fn work(ctx: &Context, queue: &CommandQueue, times: usize) {
    let iota = ctx.kernel::<Iota>().unwrap();
    let mut out = queue.zeros([N]).unwrap();
    for _ in 0..times {
        queue.launch(&iota, Grid::threads([N]), Iota { start: 1, step: 1, out: &mut out }).unwrap();
    }
}

fn on_any_queue(s: &Subject) {
    let ctx = s.ctx();
    for queue in [ctx.queue("plain"), timed(&ctx, "watched")] {
        let marks: Vec<Event> =
            (0..4).map(|turn| (work(&ctx, &queue, turn), queue.marker_with(with_clock())).1).collect();
        let seconds = |from: usize, to: usize| marks[to].seconds_since(&marks[from]).wait().unwrap();
        assert!((1..4).all(|turn| seconds(turn - 1, turn) > 0.0), "there is work between any two");
        assert!((seconds(0, 3) - seconds(0, 1) - seconds(1, 2) - seconds(2, 3)).abs() < 1e-9);
        assert_eq!(seconds(3, 1), -seconds(1, 3));
    }
    let queue = ctx.queue("plain");
    let with = queue.marker_with(with_clock());
    let without = queue.marker();
    assert_error!(without.seconds_since(&with).wait(), ErrorDetail::Untimed { .. });
}

/// Compares the times with those of markers on a timed queue, where they are the ends of its commands.
fn between(s: &Subject) {
    let (ctx, plain) = s.with_queue("plain");
    let watched = timed(&ctx, "watched");
    for _ in 0..10 {
        work(&ctx, &plain, 2);
        let start = plain.marker_with(with_clock());
        watched.wait_for(&start).unwrap();
        work(&ctx, &watched, 1);
        let inside = watched.marker();
        plain.wait_for(&inside).unwrap();
        let end = plain.marker_with(with_clock());
        assert!(inside.seconds_since(&start).wait().unwrap() >= 0.0);
        assert!(end.seconds_since(&inside).wait().unwrap() >= 0.0);
        // A tuning times the work of the plain queue itself, from its start to its end.
        let tuning = Tuning::start(&plain).unwrap();
        work(&ctx, &plain, 3);
        let seconds = tuning.stop();
        let last = plain.marker_with(with_clock());
        let seconds = seconds.wait().unwrap();
        let around = last.seconds_since(&end).wait().unwrap();
        assert!(seconds > 0.0 && seconds <= around, "{seconds} s of kernels in {around} s");
    }
}

fn waits_for_no_more(s: &Subject) {
    let (ctx, queue) = s.with_queue("plain");
    work(&ctx, &queue, 1);
    let marker = queue.marker_with(with_clock());
    let gate = hold(&queue);
    marker.wait().unwrap();
    assert!(marker.is_complete().unwrap());
    gate.signal();
    queue.finish().wait().unwrap();
}

fn recorded(s: &Subject) {
    let (ctx, queue) = s.with_queue("plain");
    let event = ctx.event_with(with_clock());
    let never = event.seconds_since(&queue.marker_with(with_clock())).wait().unwrap_err();
    assert!(matches!(never.detail(), ErrorDetail::NotMeasured { .. }), "{never}");
    let start = queue.marker_with(with_clock());
    let mut before = 0.0;
    for _ in 0..5 {
        work(&ctx, &queue, 1);
        event.record(&queue).unwrap();
        let now = event.seconds_since(&start).wait().unwrap();
        assert!(now > before, "the event covers a later point");
        before = now;
    }
}

fn tuning(s: &Subject) {
    let (ctx, queue) = s.with_queue("tuned");
    let other = ctx.queue("other");
    let mix = ctx.kernel::<Mix>().unwrap();
    let x = ctx.full([N], 1_u32).unwrap();
    let mut y = ctx.full(&x, 1).unwrap();
    let tuned = |enqueue: &mut dyn FnMut()| {
        let tuning = Tuning::start(&queue).unwrap();
        enqueue();
        tuning.stop().wait().unwrap()
    };
    assert_eq!(tuned(&mut || ()), 0.0);
    assert_eq!(tuned(&mut || queue.fill(&mut y, 3).unwrap()), 0.0, "a fill is not a kernel of the program");
    assert_eq!(tuned(&mut || work(&ctx, &other, 3)), 0.0, "another queue's kernels are not this one's");
    let launch =
        |y: &mut DeviceArray<u32>| queue.launch(&mix, Grid::threads([N]), Mix { a: 3, b: 1, x: &x, y });
    let from = queue.marker_with(with_clock());
    let once = tuned(&mut || launch(&mut y).unwrap());
    let often = tuned(&mut || (0..20).for_each(|_| launch(&mut y).unwrap()));
    let around = queue.marker_with(with_clock()).seconds_since(&from).wait().unwrap();
    assert!(once > 0.0 && often > 0.0 && once + often <= around, "{once} and {often} in {around}");
    let profiler = ctx.profile();
    let tuned = tuned(&mut || (0..20).for_each(|_| launch(&mut y).unwrap()));
    let profile = profiler.finish().wait().unwrap();
    let launches = profile.rows.iter().filter(|row| row.activity == Activity::Launch);
    let sum: f64 = launches.map(|row| row.time.unwrap().seconds()).sum();
    assert!((tuned - sum).abs() <= 1e-6 * sum, "{tuned} s tuned, {sum} s profiled");
}

fn as_it_was(s: &Subject) {
    let ctx = s.ctx();
    let mix = ctx.kernel::<Mix>().unwrap();
    let x = ctx.full([N], 1_u32).unwrap();
    let mut y = ctx.full(&x, 1).unwrap();
    for (queue, is_timed) in [(ctx.queue("plain"), false), (timed(&ctx, "watched"), true)] {
        let problem = |error: fencepost::Error| match error.detail() {
            ErrorDetail::Tuning { problem, .. } => *problem,
            _ => panic!("{error}"),
        };
        let tuning = Tuning::start(&queue).unwrap();
        assert!(problem(Tuning::start(&queue).unwrap_err()).contains("call `Tuning::stop` first"));
        work(&ctx, &queue, 1);
        assert!(tuning.stop().wait().unwrap() > 0.0, "the second start has changed nothing");
        drop(Tuning::start(&queue).unwrap());
        work(&ctx, &queue, 1);
        let seconds = Tuning::start(&queue).unwrap().stop().wait().unwrap();
        assert_eq!(seconds, 0.0, "a dropped tuning has ended, and its launches do not count");
        let (graph, ()) = queue
            .capture(|c| c.launch(&mix, Grid::threads([N]), Mix { a: 3, b: 1, x: &x, y: &mut y }))
            .unwrap();
        let tuning = Tuning::start(&queue).unwrap();
        work(&ctx, &queue, 1);
        queue.replay(&graph).unwrap();
        assert_error!(tuning.stop().wait(), ErrorDetail::NotMeasured { .. });
        let start = queue.marker();
        work(&ctx, &queue, 1);
        assert_eq!(queue.marker().seconds_since(&start).wait().is_ok(), is_timed);
    }
}

fn beside_a_profile(s: &Subject) {
    let (ctx, queue) = s.with_queue("tuned");
    let tuning = Tuning::start(&queue).unwrap();
    let profiler = ctx.profile();
    profiler.finish().wait().unwrap();
    work(&ctx, &queue, 1);
    let profiler = ctx.profile();
    assert!(tuning.stop().wait().unwrap() > 0.0, "the end of the first profile has not ended the tuning");
    work(&ctx, &queue, 1);
    let profile = profiler.finish().wait().unwrap();
    assert!(
        profile.rows.iter().any(|row| row.time.is_ok_and(|time| time.seconds() > 0.0)),
        "the end of the tuning has not ended the second profile"
    );
}
