//! D03: after the loss of a device no driver call is made for it.

use super::lost::{CALLS, is_loss};
use crate::common::refusing::{self, Rule, not_tried};
use crate::common::{Case, Subject, case, raw};
use fencepost::{AdoptOptions, RecorderChoice};

pub fn cases() -> Vec<Case> {
    vec![
        case("d03_a_context_makes_no_driver_call_after_the_loss", no_call)
            .vulkan_only("the test can replace driver functions on Vulkan only"),
    ]
}

const N: usize = 256;

/// Maximum number of fence polls that threads of the context may have begun when another thread notices the loss.
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

/// Has the driver report one loss of the device, and counts the driver calls after it.
fn silent(s: &Subject, adapter: &wgpu::Adapter, recorder: RecorderChoice, threads: bool) {
    let what = format!("{recorder:?}, threads {threads}");
    let (device, queue, driver) = refusing::open(adapter);
    let exclusive = recorder == RecorderChoice::Direct;
    let options = AdoptOptions::default().recorder(recorder).exclusive(exclusive).threads(threads);
    let ctx = s.adopt((device, queue), options);
    let queue = ctx.queue("q");
    let mut x = queue.full([N], 7_u32).unwrap();
    assert_eq!(queue.read(&x).wait().unwrap(), [7; N]);
    // Nothing is enqueued between setting the rule and the loss, so no thread is about to submit.
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
