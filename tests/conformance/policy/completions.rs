//! P01, P02, P06: calls that tell the host that work is done, and calls that do not: refused, failed or timed-out
//! calls.

use crate::common::{Case, Subject, assert_error, case, dump, hold, queues};
use fencepost::prelude::*;
use std::fmt::Debug;
use std::future::Future;
use std::pin::pin;
use std::sync::mpsc::channel;
use std::task::{Poll, Waker};
use std::time::Duration;

pub fn cases() -> Vec<Case> {
    vec![
        case("p01_a_wait_that_is_refused_in_a_callback_orders_nothing", refused_ordered),
        case("p02_a_wait_that_is_refused_in_a_callback_orders_nothing", refused_checked),
        case("p02_a_pending_time_between_two_events_orders_nothing", late_time),
        case("p02_a_failed_map_orders_nothing", failed_map),
        case("p02_a_pending_map_orders_nothing", late_map),
        case("p06_an_upload_in_place_does_not_order_another_queue", in_place),
        case("p02_the_error_of_failed_work_orders_the_work_before_later_calls", failed_work),
    ]
}

const N: usize = 64;
const NOW: Duration = Duration::ZERO;

/// Objects that a callback waits for, with all their work after the callback.
struct Bed {
    ctx: Context,
    queue: CommandQueue,
    start: Event,
    x: DeviceArray<u32>,
    down: HostArray<u32, Download>,
}

fn refused<T: Debug>(result: Result<T>) {
    assert_error!(result, ErrorDetail::WouldDeadlock { .. }, "the awaited work comes after the callback");
}

fn poll_once<T>(future: impl Future<Output = T>) -> Poll<T> {
    pin!(future).poll(&mut std::task::Context::from_waker(Waker::noop()))
}

fn not_there<T>(polled: Poll<Result<T>>) {
    assert!(!matches!(polled, Poll::Ready(Ok(_))), "the awaited work comes after the callback");
}

type Ask = (&'static str, fn(&mut Bed));

const ASKS: [Ask; 16] = [
    ("a wait for the end of the queue", |bed| refused(bed.queue.finish().wait())),
    ("a wait with a limit", |bed| refused(bed.queue.finish().wait_timeout(NOW))),
    ("a wait for a marker", |bed| refused(bed.queue.marker().wait())),
    ("a poll of a marker", |bed| assert!(!bed.queue.marker().is_complete().unwrap())),
    ("a read", |bed| refused(bed.queue.read(&bed.x).wait())),
    ("a read with a limit", |bed| refused(bed.queue.read(&bed.x).wait_timeout(NOW))),
    ("a read into a slice", |bed| refused(bed.queue.read_into(&bed.x, &mut [0; N]))),
    ("a map to read", |bed| refused(bed.x.map_read().wait().map(drop))),
    ("a map to write", |bed| refused(bed.x.map_write().wait().map(drop))),
    ("a wait for everything", |bed| refused(bed.ctx.synchronize().wait())),
    ("a time", |bed| drop(bed.queue.marker().seconds_since(&bed.start).wait().unwrap_err())),
    ("a download", |bed| {
        bed.queue.download(&bed.x, &mut bed.down).unwrap();
        refused(bed.down.host());
    }),
    ("an attempt at a download", |bed| {
        bed.queue.download(&bed.x, &mut bed.down).unwrap();
        bed.down.try_host().unwrap_err();
    }),
    ("a poll of a future", |bed| not_there(poll_once(bed.queue.finish()))),
    ("a poll of a read", |bed| not_there(poll_once(bed.queue.read(&bed.x)))),
    ("a poll of the future of everything", |bed| not_there(poll_once(bed.ctx.synchronize()))),
];

/// Runs a callback of one queue. The callback fills an array on that queue, calls `ask`, whose wait for the fill is
/// refused or incomplete, and copies the array on another queue. Returns the results of the copy and of a wait for the
/// copy in the callback, the other queue, and its copy.
fn after_a_callback(ctx: &Context, ask: fn(&mut Bed)) -> ([Result<()>; 2], CommandQueue, DeviceArray<u32>) {
    let options = QueueOptions::default().label("asked for").timing(true);
    let queue = ctx.queue_with(options);
    let other = ctx.queue("other");
    let [x, y] = [0; 2].map(|_| ctx.zeros([N]).unwrap());
    let ctx = ctx.clone();
    let down = ctx.pinned([N]).unwrap();
    let start = queue.marker();
    let (sender, receiver) = channel();
    let reader = other.clone();
    let mut copy = y.clone();
    let own = queue.clone();
    let mut bed = Bed { ctx, queue: queue.clone(), start, x, down };
    let ask = move || {
        own.fill(&mut bed.x, 7).unwrap();
        ask(&mut bed);
        let copied = reader.copy(&bed.x, &mut copy);
        sender.send([copied, reader.finish().wait()]).unwrap();
    };
    queue.callback(ask).unwrap();
    queue.flush().unwrap();
    (receiver.recv().expect("the callback ends"), other, y)
}

fn refused_ordered(s: &Subject) {
    let ctx = s.ctx();
    for (name, ask) in ASKS {
        let ([copied, waited], other, y) = after_a_callback(&ctx, ask);
        copied.unwrap();
        assert!(
            waited.is_err(),
            "{name}: the copy does not wait for the fill, which comes after the callback"
        );
        assert_eq!(other.read(&y).wait().unwrap(), [7; N], "{name}");
    }
}

fn refused_checked(s: &Subject) {
    let ctx = s.ctx_with(Policy::Checked);
    for (name, ask) in ASKS {
        let ([copied, _], ..) = after_a_callback(&ctx, ask);
        assert_error!(
            copied,
            ErrorDetail::Hazard { earlier, .. } if &*earlier.queue == "asked for", "{name}"
        );
    }
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
