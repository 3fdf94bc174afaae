//! T02: the device's clock and the host's clock agree on the length of an interval.
//!
//! The host reads its own clock inside an interval and around it. However busy the machine is, the interval is at least
//! as long as the time inside it, and at most as long as the time around it.

use super::timed;
use crate::common::kernels::Spin;
use crate::common::{Case, NO_BLOCKING, Subject, case, dump, hold};
use fencepost::prelude::*;
use fencepost::{CommandQueue, Event, HostBuffer, args};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use web_time::Instant;

pub fn cases() -> Vec<Case> {
    vec![
        case("t02_an_interval_includes_the_time_of_the_host_between_its_markers", idle),
        case("t02_an_interval_includes_the_time_for_which_a_gate_is_closed", held),
        case("t02_no_interval_is_longer_than_the_time_of_the_host_around_it", around),
        case("t02_an_interval_includes_the_time_of_its_kernel", inside_a_kernel)
            .not_in_a_page(NO_BLOCKING)
            .cpu_only("only kernels of the CPU recorder can read the host's clock"),
    ]
}

const N: usize = 1024;

/// Largest difference of two clocks, as a fraction of the time.
const PART: f64 = 1e-3;
/// Longest tick, in seconds.
const TICK: f64 = 2e-6;

/// Panics unless the interval is at least as long as `inside`, and at most as long as `around`.
pub(super) fn assert_between(inside: Duration, seconds: f64, around: Duration) {
    let least = inside.as_secs_f64();
    let most = around.as_secs_f64();
    assert!(seconds >= least * (1.0 - PART) - TICK, "{seconds} s have {least} s of the host inside");
    assert!(seconds <= most * (1.0 + PART) + TICK, "{seconds} s have {most} s of the host around");
}

/// Waits for 5 ms without calling the device, and returns the elapsed time.
fn meanwhile() -> Duration {
    let start = Instant::now();
    dump::until(|| start.elapsed() >= Duration::from_millis(5));
    start.elapsed()
}

fn seconds(start: &Event, end: &Event) -> f64 {
    end.seconds_since(start).wait().unwrap()
}

/// Waits until the device has recorded the time of an event.
fn noted(event: &Event) {
    assert_eq!(seconds(event, event), 0.0);
}

/// Checks that a marker of an idle queue has the time at which the device reaches it, after the host's pause.
fn idle(subject: &Subject) {
    let ctx = subject.ctx();
    let queue = timed(&ctx, "watched");
    let mut x = queue.zeros::<u32, 1>([N]).unwrap();
    queue.finish().wait().unwrap();
    let start = Instant::now();
    queue.fill(&mut x, 1).unwrap();
    let before = queue.marker();
    noted(&before);
    let inside = meanwhile();
    let after = queue.marker();
    assert!(after.is_complete().unwrap(), "the marker covers only work that is done");
    queue.fill(&mut x, 2).unwrap();
    let end = queue.marker();
    let between = seconds(&before, &after);
    assert_between(inside, between, start.elapsed());
    assert!(seconds(&after, &end) > 0.0);
    assert!(seconds(&before, &end) > between, "the longer interval contains the other");
}

/// Makes both markers before the gate opens; the device reaches the second marker later.
fn held(subject: &Subject) {
    let ctx = subject.ctx();
    let queue = timed(&ctx, "watched");
    let mut x = queue.zeros::<u32, 1>([N]).unwrap();
    queue.finish().wait().unwrap();
    let begun = Instant::now();
    queue.fill(&mut x, 1).unwrap();
    let start = queue.marker();
    noted(&start);
    let held = Instant::now();
    let gate = hold(&queue);
    let gone_by = queue.marker();
    queue.fill(&mut x, 2).unwrap();
    let end = queue.marker();
    meanwhile();
    let inside = held.elapsed();
    gate.signal();
    let took = seconds(&start, &end);
    let around = begun.elapsed();
    assert_between(inside, took, around);
    assert_between(inside, seconds(&start, &gone_by), around);
    assert!(seconds(&gone_by, &end) > 0.0);
}

/// Checks that the device time of work is between the call that enqueues it and the end of the wait for it.
fn around(subject: &Subject) {
    let ctx = subject.switched(|switches| switches.shared_memory = false);
    let queue = timed(&ctx, "watched");
    let spin = ctx.kernel::<Spin>().unwrap();
    let mut x = queue.zeros([N]).unwrap();
    queue.finish().wait().unwrap();
    for turn in 1..=5 {
        let begun = Instant::now();
        let start = queue.marker();
        queue.upload(&[turn; N], &mut x).unwrap();
        queue.launch(&spin, Grid::threads([N]), Spin { rounds: 200 * turn, out: &mut x }).unwrap();
        let end = queue.marker();
        let took = seconds(&start, &end);
        assert!(took > 0.0, "{took}");
        assert_between(Duration::ZERO, took, begun.elapsed());
    }
}

/// Checks that the clock is read after the kernel, and not when the kernel starts.
fn inside_a_kernel(subject: &Subject) {
    let ctx = subject.ctx();
    let took = Arc::new(Mutex::new(Duration::ZERO));
    let tells = took.clone();
    let slow = move |_: [u32; 3], _: [u32; 3], _: &[u8], _: &mut [HostBuffer<'_>]| {
        *tells.lock().unwrap() = meanwhile();
    };
    ctx.host_kernel("slow", Arc::new(slow)).unwrap();
    let text = "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(1) fn slow() { out[0] = 1u; }";
    let kernel = ctx.kernel_from(text, "slow").unwrap();
    let queue: CommandQueue = timed(&ctx, "watched");
    let mut out = queue.zeros::<u32, 1>([1]).unwrap();
    queue.finish().wait().unwrap();
    let begun = Instant::now();
    let start = queue.marker();
    queue.launch_dyn(&kernel, Grid::groups([1]), args![&mut out]).unwrap();
    let end = queue.marker();
    let seconds = seconds(&start, &end);
    assert_between(*took.lock().unwrap(), seconds, begun.elapsed());
}
