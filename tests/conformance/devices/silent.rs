//! D03: a lost device is left alone.

use super::lost::{CALLS, is_loss};
use crate::common::refusing::{self, Rule, not_tried};
use crate::common::{Case, Subject, case, raw};
use fencepost::prelude::*;
use fencepost::{AdoptOptions, RecorderChoice};

pub fn cases() -> Vec<Case> {
    vec![
        case("d03_no_call_after_the_loss_is_made_to_the_driver", no_call)
            .vulkan_only("no function of the test's can stand before the driver's"),
    ]
}

const N: usize = 256;

/// Looks at the fence that the threads of a context may be about to make when another thread notices the loss.
const LAST_LOOKS: u64 = 2;

fn no_call(s: &Subject) {
    let adapter = raw::adapter(s.place());
    for recorder in [RecorderChoice::Wgpu, RecorderChoice::Hal, RecorderChoice::Direct] {
        for threads in [false, true] {
            if not_tried(recorder).is_none() {
                silent(s, &adapter, recorder, threads);
            }
        }
    }
}

/// The driver says once that the device is lost; it counts what it is called for then.
fn silent(s: &Subject, adapter: &wgpu::Adapter, recorder: RecorderChoice, threads: bool) {
    let what = format!("{recorder:?}, threads {threads}");
    let (device, queue, driver) = refusing::open(adapter);
    let alone = recorder == RecorderChoice::Direct;
    let options = AdoptOptions { recorder, alone, threads, ..AdoptOptions::default() };
    let ctx = Context::adopt(device, queue, options).unwrap();
    s.watch(&ctx);
    let queue = ctx.queue("q");
    let mut x = queue.full([N], 7_u32).unwrap();
    assert_eq!(queue.read(&x).wait().unwrap(), [7; N]);
    // Nothing is enqueued meanwhile, so that no thread is about to submit anything.
    driver.set(Rule::Look(0));
    let loss = ctx.user_event("never").event().wait().unwrap_err();
    assert!(is_loss(&loss), "{what}: {loss}");
    let before = driver.set(Rule::Nothing);
    assert!(!before.refused.is_empty(), "{what}: {before:?}");
    for _ in 0..3 {
        for (name, call) in CALLS {
            let said = call(&ctx, &queue, &mut x).map_err(|error| error.to_string());
            assert_eq!(said, Err(loss.to_string()), "{what}: {name}");
        }
    }
    drop((x, queue, ctx));
    let seen = driver.set(Rule::Nothing);
    let looks = if threads { LAST_LOOKS } else { 0 };
    assert!(seen.allocations == 0 && seen.submissions == 0 && seen.looks <= looks, "{what}: {seen:?}");
}
