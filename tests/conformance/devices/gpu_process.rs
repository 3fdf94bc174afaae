//! D03 in a page: the process in which the browser's GPU work runs ends, as it does if a driver crashes.

use super::lost::{CALLS, N, is_loss};
use crate::common::kernels::{Mix, mix};
use crate::common::{Case, Subject, case, hold, page, queues, sleep};
use fencepost::Context;
use std::time::Duration;

pub fn cases() -> Vec<Case> {
    vec![
        case("d03_the_end_of_a_browsers_gpu_process_loses_the_device", ends)
            .on_gpus_in_a_page("the CPU computes in the process of the page"),
    ]
}

/// Number of elements of the work in flight.
const MANY: usize = 1 << 18;
/// Number of launches in flight.
const LAUNCHES: u32 = 30;
/// Place whose browser starts its GPU process again.
const CHROMIUM: &str = "chromium";

/// Ends the process while launches are in flight and other work waits for an event.
fn ends(s: &Subject) {
    let ctx = s.ctx();
    let [busy, held] = queues(&ctx, ["busy", "held"]);
    let x = ctx.full([MANY], 1_u32).unwrap();
    let mut y = ctx.zeros([MANY]).unwrap();
    (0..LAUNCHES).for_each(|b| mix(&busy, 3, b, &x, &mut y));
    let in_flight = busy.read(&y);
    let gate = hold(&held);
    let mut z = ctx.zeros([N]).unwrap();
    held.fill(&mut z, 7_u32).unwrap();
    let never = held.read(&z);
    let end = held.finish();
    ctx.flush().unwrap();

    page::end_gpu_process();
    let loss = gate.event().wait().expect_err("the gate is never signalled");
    assert!(is_loss(&loss), "{loss}");
    match in_flight.wait() {
        Ok(found) => {
            let expected = (0..LAUNCHES).fold(0, |y, b| Mix::of(3, b, 1, y));
            assert!(found.iter().all(|&y| y == expected), "a result that is returned is right");
        }
        Err(error) => assert!(is_loss(&error), "{error}"),
    }
    for (name, ended) in [("a read", never.wait().map(drop)), ("the end of a queue", end.wait())] {
        assert!(ended.as_ref().is_err_and(is_loss), "{name}: {ended:?}");
    }
    for (name, call) in CALLS {
        let said = call(&ctx, &busy, &mut z).map_err(|error| error.to_string());
        assert_eq!(said, Err(loss.to_string()), "{name}");
    }

    let backend = ctx.info().backend;
    let mut again = computed(s);
    // At first, the process that the browser starts may offer no adapter.
    while s.name() == CHROMIUM && again.info().backend != backend {
        sleep(Duration::from_millis(100));
        again = computed(s);
    }
}

/// Returns a new context, on the adapter of the browser or on the CPU if it offers none, after a correct result.
fn computed(s: &Subject) -> Context {
    let (ctx, queue) = s.with_queue("q");
    let mut x = ctx.zeros([N]).unwrap();
    queue.fill(&mut x, 9_u32).unwrap();
    assert_eq!(queue.read(&x).wait().unwrap(), [9; N]);
    ctx
}
