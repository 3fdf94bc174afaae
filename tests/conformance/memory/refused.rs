//! M10: a driver without memory.

use super::exhausted::{N, check, copy_fails, is_out_of_memory, staging_runs_out};
use crate::common::partners::partners;
use crate::common::refusing::{self, Driver, Rule};
use crate::common::{Case, Subject, case, raw};
use fencepost::{AdoptOptions, Context, ErrorDetail, Policy, RecorderChoice, Upload};
use std::sync::Arc;

pub fn cases() -> Vec<Case> {
    let driver = "the test refuses memory by replacing functions of a Vulkan driver";
    vec![
        case("m10_a_context_works_on_after_its_driver_refuses_memory", by_the_driver).vulkan_only(driver),
        case("m10_a_queue_works_on_after_its_driver_refuses_staging_memory", staging).vulkan_only(driver),
        case("m10_both_contexts_work_on_after_a_driver_refuses_memory_for_a_copy", across)
            .vulkan_only(driver),
    ]
}

/// Returns a context on a device whose driver refuses memory by a rule, and the driver. The context records without
/// wgpu, because wgpu loses its device after some refusals.
fn refusing_context(s: &Subject, threads: bool, policy: Policy) -> (Context, Arc<Driver>) {
    let (device, queue, driver) = refusing::open(&raw::adapter(s.place()));
    let recorder = RecorderChoice::Direct;
    let options = AdoptOptions::default().recorder(recorder).exclusive(true).threads(threads).policy(policy);
    let ctx = Context::adopt(device, queue, options).unwrap();
    s.watch(&ctx);
    (ctx, driver)
}

/// Returns the rule by which the driver refuses every allocating call.
fn nothing_left() -> Rule {
    Rule::Seeded(fastrand::Rng::with_seed(0), 1000, None)
}

/// Makes the driver refuse memory, or give it again.
fn refuse(driver: &Driver, refuses: bool) {
    driver.set(if refuses { nothing_left() } else { Rule::Nothing });
}

fn by_the_driver(s: &Subject) {
    for threads in [true, false] {
        let (ctx, driver) = refusing_context(s, threads, Policy::Ordered);
        let queue = ctx.queue("q");
        for round in 0..3 {
            let arrays: Vec<_> = (0..2).map(|_| queue.full([8 * N], round).unwrap()).collect();
            queue.finish().wait().unwrap();
            driver.set(nothing_left());
            let errors = [
                queue.full([8 * N], round).unwrap_err(),
                ctx.zeros::<u32, 1>([8 * N]).unwrap_err(),
                ctx.pinned::<u32, Upload, 1>([8 * N]).map(|_| ()).unwrap_err(),
            ];
            let seen = driver.set(Rule::Nothing);
            for error in errors {
                assert!(is_out_of_memory(&error, "u32 [2097152]"), "{error}");
                assert!(matches!(error.detail(), ErrorDetail::OutOfMemory { limit: None, .. }), "{error}");
            }
            assert!(seen.refused.len() >= 3, "{seen:?}");
            check(&ctx, arrays, round);
            assert!(queue.take_error().is_none() && ctx.take_error().is_none());
            ctx.synchronize().wait().unwrap();
            ctx.pool().trim();
        }
    }
}

fn staging(s: &Subject) {
    for policy in [Policy::Ordered, Policy::Checked] {
        let (ctx, driver) = refusing_context(s, true, policy);
        staging_runs_out(&ctx, Some(&|refuses| refuse(&driver, refuses)));
    }
}

fn across(s: &Subject) {
    for (name, source) in partners(s, Policy::Ordered) {
        let (target, driver) = refusing_context(s, true, Policy::Ordered);
        copy_fails(&name, &source, &target, Some(&|refuses| refuse(&driver, refuses)));
    }
}
