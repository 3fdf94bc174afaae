//! T01, T03, T05: timing with a driver that refuses calls, and the calls that it receives.

use super::choosing::exercise;
use super::timed;
use super::unmeasured::error;
use crate::common::refusing::{self, Call, Driver, Rule, not_tried};
use crate::common::{Case, Subject, case, queues, raw};
use fastrand::Rng;
use fencepost::prelude::*;
use fencepost::profile::Unmeasured;
use fencepost::{AdoptOptions, ErrorDetail, RecorderChoice};
use std::sync::Arc;

pub fn cases() -> Vec<Case> {
    let driver = "the test can replace driver functions on Vulkan only";
    vec![
        case("t01_the_driver_makes_no_queries_for_queues_without_timing", no_queries).vulkan_only(driver),
        case("t03_work_that_a_driver_refuses_has_its_error_and_no_time", no_time).vulkan_only(driver),
        case("t05_work_that_a_driver_refuses_is_in_the_profile_without_a_time", in_the_profile)
            .vulkan_only(driver),
    ]
}

/// Returns a context and the driver of its device, which refuses calls by a rule. The context does not record through
/// wgpu, so a refusal makes work fail but does not lose the device.
fn refusing_context(subject: &Subject) -> (Context, Arc<Driver>) {
    let (device, queue, driver) = refusing::open(&raw::adapter(subject.place()));
    let recorder = RecorderChoice::Direct;
    let options = AdoptOptions::default().recorder(recorder).exclusive(true).threads(false);
    (subject.adopt((device, queue), options), driver)
}

/// Returns the rule by which the driver never has memory, even after memory was released.
fn no_memory() -> Rule {
    Rule::Seeded(Rng::with_seed(0), 1000, None)
}

/// Counts the queries that the driver makes; without them, the device records no times. A timed queue on the same
/// device shows that the count includes queries.
fn no_queries(subject: &Subject) {
    let adapter = raw::adapter(subject.place());
    let recorders = [RecorderChoice::Wgpu, RecorderChoice::Hal, RecorderChoice::Direct];
    for recorder in recorders.into_iter().filter(|&recorder| not_tried(recorder).is_none()) {
        let (device, queue, driver) = refusing::open(&adapter);
        let exclusive = recorder == RecorderChoice::Direct;
        let options = AdoptOptions::default().recorder(recorder).exclusive(exclusive);
        let ctx = subject.adopt((device, queue), options);
        let expected = exercise(&ctx, &ctx.queue("plain"));
        let plain = driver.set(Rule::Nothing);
        assert!(plain.submissions > 0 && plain.times(Call::CreateQueryPool) == 0, "{recorder:?}: {plain:?}");
        assert_eq!(exercise(&ctx, &timed(&ctx, "watched")), expected);
        let watched = driver.set(Rule::Nothing);
        assert!(watched.times(Call::CreateQueryPool) > 0, "{recorder:?}: {watched:?}");
    }
}

fn no_time(subject: &Subject) {
    let (ctx, driver) = refusing_context(subject);
    let queue = timed(&ctx, "watched");
    let mut x = queue.zeros::<u32, 1>([4]).unwrap();
    queue.finish().wait().unwrap();
    let start = queue.marker();
    assert_eq!(start.seconds_since(&start).wait().unwrap(), 0.0);
    queue.fill(&mut x, 1).unwrap();
    let end = queue.marker();
    driver.set(no_memory());
    for turn in 0..2 {
        let error = error(&start, &end);
        assert!(matches!(error.detail(), ErrorDetail::OutOfMemory { .. }), "turn {turn}: {error}");
    }
    assert!(!driver.set(Rule::Nothing).refused.is_empty());
    let next = timed(&ctx, "next");
    let start = next.marker();
    next.full([4], 2_u32).unwrap();
    assert!(next.marker().seconds_since(&start).wait().unwrap() > 0.0, "another queue has its times");
}

/// Checks that a fill has no time if the driver has no memory for it, and that the next work of another queue has a
/// time.
fn in_the_profile(subject: &Subject) {
    let (ctx, driver) = refusing_context(subject);
    let [queue, other] = queues(&ctx, ["q", "other"]);
    let mut x = queue.zeros::<u32, 1>([1 << 14]).unwrap();
    let mut y = other.zeros::<u32, 1>([1 << 14]).unwrap();
    ctx.synchronize().wait().unwrap();
    let profiler = ctx.profile();
    queue.fill(&mut x, 1).unwrap();
    driver.set(no_memory());
    assert!(matches!(queue.finish().wait().unwrap_err().detail(), ErrorDetail::OutOfMemory { .. }));
    assert!(!driver.set(Rule::Nothing).refused.is_empty());
    other.fill(&mut y, 2).unwrap();
    let profile = profiler.finish().wait().unwrap();
    let times: Vec<_> = profile.rows.iter().map(|row| row.time).collect();
    let [Err(reason), Ok(time)] = times[..] else { panic!("{times:?}") };
    assert!(reason == Unmeasured::NeverRan && time.seconds() > 0.0, "{times:?}");
}
