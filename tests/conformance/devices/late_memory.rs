//! D07: arrays for which the device has no memory, on a device that reports this after the call.

use crate::common::refusing::{self, Driver, Rule};
use crate::common::subject::device_switches;
use crate::common::{Case, Subject, case, queues, raw};
use fencepost::RecorderChoice;
use fencepost::prelude::*;
use fencepost::testing::{self, DeviceSwitches};
use std::sync::Arc;

pub fn cases() -> Vec<Case> {
    let driver = "the test refuses memory by replacing functions of a Vulkan driver";
    vec![
        case("d07_an_array_without_memory_fails_only_the_queues_that_use_it", users).vulkan_only(driver),
        case("d07_no_later_array_gets_memory_that_the_device_has_refused", later).vulkan_only(driver),
    ]
}

const N: usize = 64;

/// Opens a context whose arrays get buffers of wgpu. Their errors are late, as in a browser.
fn refusing_context(s: &Subject) -> (Context, Arc<Driver>) {
    let (device, queue, driver) = refusing::open(&raw::adapter(s.place()));
    let options = AdoptOptions::default().recorder(RecorderChoice::Wgpu).threads(false);
    let switches =
        DeviceSwitches { late_errors: true, immediates: false, native: false, ..device_switches() };
    let ctx = testing::adopt(device, queue, options, switches).unwrap();
    s.watch(&ctx);
    (ctx, driver)
}

/// Makes an array for which the driver has no memory. The context fills it.
fn without_memory(ctx: &Context, driver: &Driver) -> DeviceArray<u32> {
    driver.set(Rule::Seeded(fastrand::Rng::with_seed(0), 1000, None));
    let array = ctx.full([N], 7_u32).unwrap();
    let seen = driver.set(Rule::Nothing);
    assert!(!seen.refused.is_empty(), "{seen:?}");
    array
}

#[track_caller]
fn assert_no_memory<T>(result: Result<T>) {
    let error = result.map(drop).unwrap_err();
    let is_right = matches!(
        error.detail(),
        ErrorDetail::OutOfMemory { object, .. } if object.starts_with("u32 [64], line ")
    );
    assert!(is_right, "{error}");
}

/// The context fills the arrays before and after the one without memory in the same batch.
fn users(s: &Subject) {
    let (ctx, driver) = refusing_context(s);
    let [user, other] = queues(&ctx, ["user", "other"]);
    let mut x = user.zeros::<u32, 1>([N]).unwrap();
    ctx.synchronize().wait().unwrap();
    let before = ctx.full([N], 3_u32).unwrap();
    let gone = without_memory(&ctx, &driver);
    let after = ctx.full([N], 4_u32).unwrap();
    user.copy(&gone, &mut x).unwrap();
    let copied = user.marker();
    assert_eq!(other.read(&before).wait().unwrap(), [3; N]);
    assert_eq!(other.read(&after).wait().unwrap(), [4; N]);
    assert_no_memory(copied.wait());
    assert_no_memory(gone.map_read().wait());
    assert_no_memory(ctx.to_vec(&gone));
    assert!(other.take_error().is_none());
    assert_no_memory(user.take_error().map_or(Ok(()), Err));
    assert_no_memory(ctx.take_error().map_or(Ok(()), Err));
    while ctx.take_error().is_some() {}
    user.fill(&mut x, 5).unwrap();
    assert_eq!(other.read(&x).wait().unwrap(), [5; N]);
}

fn later(s: &Subject) {
    for is_used in [true, false] {
        let (ctx, driver) = refusing_context(s);
        let queue = ctx.queue("q");
        let mut gone = without_memory(&ctx, &driver);
        if is_used {
            queue.fill(&mut gone, 1).unwrap();
            assert_no_memory(queue.finish().wait());
            queue.take_error().unwrap();
        }
        drop(gone);
        let x = ctx.full([N], 9_u32).unwrap();
        assert_eq!(queue.read(&x).wait().unwrap(), [9; N], "used before: {is_used}");
    }
}
