//! T06: the overlap of launches and copies, and the critical path.

use crate::common::kernels::mix;
use crate::common::{Case, Subject, case, hold, queues};
use fencepost::Profile;
use fencepost::profile::Activity;
use std::time::Duration;

pub fn cases() -> Vec<Case> {
    vec![
        case("t06_an_unordered_copy_and_launch_are_side_by_side", side_by_side),
        case("t06_an_ordered_copy_and_launch_do_not_overlap", one_after_the_other)
            .one_lane("the clocks of two hardware queues differ by their errors"),
        case("t06_the_critical_path_follows_the_waits", critical_path),
    ]
}

const N: usize = 1 << 16;

/// Profiles a copy on one queue and a launch on another, which both start when a gate opens, and a fill on a queue that
/// waits for both.
fn profiled(subject: &Subject, ordered: bool) -> Profile {
    // Without a bound for results, long commands share a batch too.
    let ctx = subject.options_and_switches(|options, switches| {
        options.lateness = Duration::MAX;
        switches.shared_memory = false;
    });
    let [copies, launches, joined] = queues(&ctx, ["copies", "launches", "joined"]);
    let x = copies.full([N], 1_u32).unwrap();
    let mut y = copies.zeros([N]).unwrap();
    let a = copies.full([N], 1_u32).unwrap();
    let mut b = copies.zeros([N]).unwrap();
    copies.finish().wait().unwrap();
    let profiler = ctx.profile();
    let gate = hold(&copies);
    launches.wait_for(&gate.event()).unwrap();
    copies.copy(&x, &mut y).unwrap();
    if ordered {
        launches.wait_for(&copies).unwrap();
    }
    mix(&launches, 3, 1, &a, &mut b);
    joined.wait_for(&[copies.marker(), launches.marker()]).unwrap();
    joined.fill(&mut y, 7).unwrap();
    gate.signal();
    let profile = profiler.finish().wait().unwrap();
    assert_eq!(joined.read(&y).wait().unwrap()[0], 7);
    profile
}

fn row(profile: &Profile, activity: Activity) -> usize {
    profile.rows.iter().position(|row| row.activity == activity).unwrap()
}

fn side_by_side(subject: &Subject) {
    let profile = profiled(subject, false);
    let overlap = profile.overlap();
    assert!(overlap.both <= overlap.compute.min(overlap.copy), "{overlap:?}");
    assert_eq!(overlap.share, Some(overlap.both / overlap.compute.min(overlap.copy)));
    if !subject.is_cpu() && cfg!(not(target_arch = "wasm32")) {
        // The CPU recorder runs them one after the other, in any order, and measures each. So does a page: the commands
        // of each queue are a submission there, and its CPU executes one command at a time.
        let [copy, launch] =
            [Activity::Copy, Activity::Launch].map(|activity| &profile.rows[row(&profile, activity)]);
        assert_eq!((copy.batch, copy.time.unwrap().start), (launch.batch, launch.time.unwrap().start));
        assert!(overlap.both > 0.0 && overlap.share.unwrap() > 0.0, "{overlap:?}");
    }
    counted_once(&profile);
}

/// Checks that simultaneous work of two queues on one hardware queue counts for each queue, but only once for the
/// hardware queue.
fn counted_once(profile: &Profile) {
    let overlap = profile.overlap();
    let [copy, launch] =
        [Activity::Copy, Activity::Launch].map(|activity| &profile.rows[row(profile, activity)]);
    let one = copy.time.unwrap();
    let other = launch.time.unwrap();
    let at_once = (one.end.min(other.end) - one.start.max(other.start)).max(0.0);
    let twice = if copy.lane == launch.lane { at_once } else { 0.0 };
    let [queues, lanes]: [f64; 2] =
        [&overlap.queues, &overlap.lanes].map(|all| all.iter().map(|busy| busy.seconds).sum());
    assert!(queues > 0.0 && (queues - twice - lanes).abs() <= queues * 1e-9, "{twice} {overlap:?}");
    // The fill comes after both. The clocks of two hardware queues may show a part of the fill during the launch.
    let fill = profile.rows[row(profile, Activity::Fill)].time.unwrap();
    let late = (fill.end.min(other.end) - fill.start.max(other.start)).max(0.0);
    let least = at_once.max(late);
    let most = at_once + late;
    let slack = queues * 1e-9;
    assert!((overlap.compute - other.seconds()).abs() <= slack, "{overlap:?}");
    assert!((least - slack..=most + slack).contains(&overlap.both), "{least} to {most}: {overlap:?}");
}

fn one_after_the_other(subject: &Subject) {
    let profile = profiled(subject, true);
    let overlap = profile.overlap();
    assert!(overlap.both == 0.0 && overlap.share == Some(0.0), "{overlap:?}");
}

fn critical_path(subject: &Subject) {
    let profile = profiled(subject, true);
    let path = profile.critical_path();
    let expected = [Activity::Copy, Activity::Launch, Activity::Fill].map(|activity| row(&profile, activity));
    assert_eq!(path.rows, expected);
    let sum: f64 = path.rows.iter().map(|&at| profile.rows[at].time.unwrap().seconds()).sum();
    assert!((path.seconds - sum).abs() <= sum * 1e-9 && sum > 0.0);
    assert!(path.seconds <= path.wall + profile.clock_error.unwrap(), "{path:?}");
}
