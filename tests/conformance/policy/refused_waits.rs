//! P01, P02: waits in a callback that are refused tell the host nothing.

use super::completions::{N, NOW, poll_once};
use crate::common::{Case, Subject, assert_error, case};
use fencepost::prelude::*;
use std::fmt::Debug;
use std::sync::mpsc::channel;
use std::task::Poll;

pub fn cases() -> Vec<Case> {
    vec![
        case("p01_a_wait_that_is_refused_in_a_callback_orders_nothing", refused_ordered),
        case("p02_a_wait_that_is_refused_in_a_callback_orders_nothing", refused_checked),
    ]
}

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
