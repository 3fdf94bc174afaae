//! P02, P06: calls that tell the host that work is done, and calls that do not: failed or timed-out calls.

use crate::common::{Case, NO_UNWINDING, Subject, case, dump, hold, queues};
use fencepost::prelude::*;
use std::future::Future;
use std::pin::pin;
use std::sync::mpsc::channel;
use std::task::{Poll, Waker};
use std::time::Duration;

pub fn cases() -> Vec<Case> {
    vec![
        case("p02_a_pending_time_between_two_events_orders_nothing", late_time),
        case("p02_a_failed_map_orders_nothing", failed_map),
        case("p02_a_pending_map_orders_nothing", late_map),
        case("p06_an_upload_in_place_does_not_order_another_queue", in_place),
        case("p02_the_error_of_failed_work_orders_the_work_before_later_calls", failed_work)
            .not_in_a_page(NO_UNWINDING),
    ]
}

pub(super) const N: usize = 64;
pub(super) const NOW: Duration = Duration::ZERO;

pub(super) fn poll_once<T>(future: impl Future<Output = T>) -> Poll<T> {
    pin!(future).poll(&mut std::task::Context::from_waker(Waker::noop()))
}

/// Returns `true` if `Checked` accepts a write of the array on another queue.
fn accepts(other: &CommandQueue, x: &DeviceArray<u32>) -> bool {
    match other.fill(&mut x.clone(), 9) {
        Ok(()) => true,
        Err(error) if matches!(error.detail(), ErrorDetail::Hazard { .. }) => false,
        Err(error) => panic!("{error}"),
    }
}

fn late_time(s: &Subject) {
    let ctx = s.ctx_with(Policy::Checked);
    let options = QueueOptions::default().label("one").timing(true);
    let one = ctx.queue_with(options);
    let two = ctx.queue("two");
    let [mut x, mut y] = [0; 2].map(|_| ctx.zeros([N]).unwrap());
    one.fill(&mut x, 1_u32).unwrap();
    let start = one.marker();
    dump::until_done(&ctx, "one");
    let gate = hold(&one);
    one.fill(&mut y, 1_u32).unwrap();
    let end = one.marker();
    let mut time = end.seconds_since(&start);
    if one.options().timing {
        assert!(poll_once(&mut time).is_pending() && time.wait_timeout(NOW).unwrap().is_none());
    }
    assert!(!accepts(&two, &x), "the host was told of neither event");
    gate.signal();
    if one.options().timing {
        assert!(time.wait().unwrap() > 0.0);
        assert!(accepts(&two, &x) && accepts(&two, &y), "the host was told of both events");
    }
}

fn failed_map(s: &Subject) {
    let (ctx, [one, two]) = s.with_queues_under(Policy::Checked, ["one", "two"]);
    let mut x = ctx.zeros::<half::f16, 1>([N]).unwrap();
    one.fill(&mut x, half::f16::ONE).unwrap();
    dump::until_done(&ctx, "one");
    let odd = x.slice(1..3).unwrap();
    assert!(matches!(odd.map_read().wait().map(drop).unwrap_err().detail(), ErrorDetail::Alignment { .. }));
    assert!(matches!(odd.map_write().wait().map(drop).unwrap_err().detail(), ErrorDetail::Alignment { .. }));
    let error =
        two.fill(&mut x, half::f16::ZERO).expect_err("no call has told the host that the fill is done");
    assert!(matches!(error.detail(), ErrorDetail::Hazard { .. }), "{error}");
    drop(x.map_read().wait().unwrap());
    two.fill(&mut x, half::f16::ZERO).unwrap();
}

/// Maps memory that the host cannot access, for which the device makes a copy first.
fn late_map(s: &Subject) {
    let ctx = s.options_and_switches(|options, switches| {
        options.policy = Policy::Checked;
        switches.shared_memory = false;
    });
    let [one, two] = queues(&ctx, ["one", "two"]);
    for turn in 0..5 {
        let mut x = ctx.zeros([N]).unwrap();
        one.fill(&mut x, turn).unwrap();
        dump::until_done(&ctx, "one");
        let mut map = x.map_read();
        let here = match map.wait_timeout(NOW).unwrap() {
            Some(guard) => {
                assert_eq!(*guard, [turn; N]);
                true
            }
            None => false,
        };
        drop(map);
        assert_eq!(accepts(&two, &x), here, "the host is told if the map has the bytes, and only then");
    }
}

/// Uploads to memory that the host can access. Such an upload may write at the call, if the device has done the work
/// before it.
fn in_place(s: &Subject) {
    let ctx = s.ctx();
    ctx.diagnostics().record_waits(true);
    let [one, two] = queues(&ctx, ["one", "two"]);
    let mut x = ctx.zeros([N]).unwrap();
    one.fill(&mut x, 1_u32).unwrap();
    dump::until_done(&ctx, "one");
    one.upload(&[2; N], &mut x).unwrap();
    two.fill(&mut x, 3).unwrap();
    let report = ctx.diagnostics().wait_report();
    assert_eq!(
        report.added.len(),
        1,
        "no call has told the host that the fill of the first queue is done: {report}"
    );
    two.wait_for(&one).unwrap();
    assert_eq!(two.read(&x).wait().unwrap(), [3; N]);
}

fn failed_work(s: &Subject) {
    let ctx = s.ctx_with(Policy::Checked);
    for by_read in [false, true] {
        let [one, two] = queues(&ctx, ["one", "two"]);
        let (mut x, (go, told)) = (ctx.zeros([N]).unwrap(), channel::<()>());
        let panic = move || {
            told.recv().unwrap();
            std::panic::resume_unwind(Box::new("on purpose"))
        };
        one.callback(panic).unwrap();
        one.fill(&mut x, 1_u32).unwrap();
        let read = one.read(&x);
        let end = one.finish();
        assert!(!accepts(&two, &x));
        go.send(()).unwrap();
        let error = if by_read { read.wait().map(drop) } else { end.wait() }.unwrap_err();
        assert!(matches!(error.detail(), ErrorDetail::CallbackPanicked { .. }), "{error}");
        assert!(accepts(&two, &x), "the error has told the host that the work is over");
        assert_eq!(two.read(&x).wait().unwrap(), [9; N]);
    }
}
