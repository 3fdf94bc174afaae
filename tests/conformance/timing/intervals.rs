//! T02: the time between two events of a queue.

use super::{Beside, timed};
use crate::common::kernels::Spin;
use crate::common::thread;
use crate::common::{Case, ONE_THREAD, Subject, case, hold};
use fencepost::prelude::*;
use std::time::Duration;

pub fn cases() -> Vec<Case> {
    vec![
        case("t02_an_interval_around_work_is_positive_and_backwards_negative", signs),
        case("t02_intervals_add_up", add_up),
        case("t02_a_long_kernel_takes_longer_than_a_short_one", longer),
        case("t02_copies_fills_and_uploads_are_timed_too", transfers),
        case("t02_seconds_since_flushes_and_waits_for_both_events", waits),
        case("t02_a_time_can_be_awaited_or_waited_for_with_a_limit", late).not_in_a_page(ONE_THREAD),
        case("t02_recording_again_moves_the_time_and_no_earlier_result", recorded_again),
        case("t02_all_markers_between_two_commands_have_the_same_time", same_point),
        case("t02_every_repeat_of_a_benchmark_has_a_time", repeats),
    ]
}

const N: usize = 1024;

type SpinKernel = Kernel<Spin<'static>>;

fn spin(queue: &CommandQueue, kernel: &SpinKernel, out: &mut DeviceArray<u32>, rounds: u32) {
    queue.launch(kernel, Grid::threads([N]), Spin { rounds, out }).unwrap();
}

fn seconds(start: &Event, end: &Event) -> f64 {
    end.seconds_since(start).wait().unwrap()
}

/// Returns a queue, a kernel and an array for the kernel, after a first launch is done.
fn set_up(subject: &Subject) -> (CommandQueue, SpinKernel, DeviceArray<u32>) {
    let ctx = subject.ctx();
    let queue = timed(&ctx, "watched");
    let kernel = ctx.kernel::<Spin>().unwrap();
    let mut out = queue.zeros([N]).unwrap();
    spin(&queue, &kernel, &mut out, 1);
    queue.finish().wait().unwrap();
    (queue, kernel, out)
}

fn signs(subject: &Subject) {
    let (queue, kernel, mut out) = set_up(subject);
    let start = queue.marker();
    spin(&queue, &kernel, &mut out, 2000);
    let end = queue.marker();
    let took = seconds(&start, &end);
    assert!(took > 0.0, "{took}");
    assert_eq!(seconds(&end, &start), -took);
}

fn add_up(subject: &Subject) {
    let (queue, kernel, mut out) = set_up(subject);
    let mut markers = vec![queue.marker()];
    for turn in 1..6 {
        spin(&queue, &kernel, &mut out, 300 * turn);
        if turn % 2 == 0 {
            queue.finish().wait().unwrap(); // intervals of finished and of pending work add up alike
        }
        markers.push(queue.marker());
    }
    let all = seconds(&markers[0], &markers[5]);
    let parts: Vec<f64> = markers.windows(2).map(|pair| seconds(&pair[0], &pair[1])).collect();
    assert!(parts.iter().all(|&part| part > 0.0), "{parts:?}");
    assert!((parts.iter().sum::<f64>() - all).abs() <= all * 1e-6, "{parts:?} {all}");
}

/// Compares the fastest of several launches of each length, which alternate, so that a busy machine does not make all
/// of one kind long. The long launch does thousands of times the work of the short one.
fn longer(subject: &Subject) {
    let long = if subject.is_cpu() { 20_000 } else { 5_000 };
    let (queue, kernel, mut out) = set_up(subject);
    let mut fastest = [f64::INFINITY; 2];
    for _ in 0..5 {
        for (rounds, fastest) in [1, long].into_iter().zip(&mut fastest) {
            let start = queue.marker();
            spin(&queue, &kernel, &mut out, rounds);
            *fastest = fastest.min(seconds(&start, &queue.marker()));
        }
    }
    assert!(fastest[0] < fastest[1], "one round took {} s, {long} took {} s", fastest[0], fastest[1]);
}

fn transfers(subject: &Subject) {
    const LARGE: usize = 1 << 20;
    let ctx = subject.switched(|switches| switches.shared_memory = false);
    let queue = timed(&ctx, "watched");
    let [mut x, mut y] = [0; 2].map(|_| queue.zeros::<u32, 1>([LARGE]).unwrap());
    queue.finish().wait().unwrap();
    let elements = vec![5_u32; LARGE];
    let gate = hold(&queue);
    let mut markers = vec![queue.marker()];
    queue.fill(&mut x, 0).unwrap();
    markers.push(queue.marker());
    queue.upload(&elements[..], &mut x).unwrap(); // the fill is held, so the host cannot write in place
    markers.push(queue.marker());
    queue.copy(&x, &mut y).unwrap();
    markers.push(queue.marker());
    queue.fill(&mut x, 3).unwrap();
    markers.push(queue.marker());
    gate.signal();
    assert_eq!(queue.read(&y).wait().unwrap(), elements);
    for (what, pair) in ["clear", "upload", "copy", "fill"].iter().zip(markers.windows(2)) {
        let took = seconds(&pair[0], &pair[1]);
        assert!(took > 0.0, "the {what} took {took} s");
    }
}

fn waits(subject: &Subject) {
    let (queue, kernel, mut out) = set_up(subject);
    let start = queue.marker();
    spin(&queue, &kernel, &mut out, 5000);
    let end = queue.marker();
    spin(&queue, &kernel, &mut out, 1);
    assert!(seconds(&start, &end) > 0.0);
    assert!(start.is_complete().unwrap() && end.is_complete().unwrap());
}

fn late(subject: &Subject) {
    let ctx = subject.ctx();
    let queue = timed(&ctx, "watched");
    let mut x = queue.zeros::<u32, 1>([N]).unwrap();
    let beside = Beside::new(subject, &ctx);
    let start = queue.marker();
    let gate = hold(&queue);
    queue.fill(&mut x, 1).unwrap();
    let end = queue.marker();
    let mut asked = end.seconds_since(&start);
    assert_eq!(asked.wait_timeout(Duration::ZERO).unwrap(), None);
    beside.work();
    assert_eq!(asked.wait_timeout(Duration::from_millis(1)).unwrap(), None);
    let signaller = thread::spawn(move || gate.signal());
    let awaited = crate::common::block_on(end.seconds_since(&start)).unwrap();
    assert_eq!(asked.wait().unwrap(), awaited);
    assert!(awaited > 0.0);
    signaller.join().unwrap();
}

fn recorded_again(subject: &Subject) {
    let (queue, kernel, mut out) = set_up(subject);
    let start = queue.marker();
    let event = queue.marker();
    spin(&queue, &kernel, &mut out, 500);
    event.record(&queue).unwrap();
    let first = event.seconds_since(&start);
    spin(&queue, &kernel, &mut out, 500);
    event.record(&queue).unwrap();
    let second = event.seconds_since(&start);
    let first = first.wait().unwrap();
    let second = second.wait().unwrap();
    assert!(0.0 < first && first < second, "{first} {second}");
}

fn same_point(subject: &Subject) {
    let (queue, kernel, mut out) = set_up(subject);
    let fresh = [queue.marker(), queue.marker()];
    spin(&queue, &kernel, &mut out, 500);
    let later = [queue.marker(), queue.marker()];
    assert_eq!(seconds(&fresh[0], &fresh[1]), 0.0);
    assert_eq!(seconds(&later[0], &later[1]), 0.0);
    assert!(seconds(&fresh[1], &later[0]) > 0.0);
}

/// Follows CuPy's `benchmark`, which puts two events around each repeat and calls `get_elapsed_time`.
fn repeats(subject: &Subject) {
    let ctx = subject.ctx();
    let queue = timed(&ctx, "watched");
    let spin = ctx.kernel::<Spin>().unwrap();
    let mut out = queue.full([64], 1_u32).unwrap();
    let repeats: Vec<_> = (0..8)
        .map(|_| {
            let start = queue.marker();
            queue.launch(&spin, Grid::threads([64]), Spin { rounds: 50, out: &mut out }).unwrap();
            (start, queue.marker())
        })
        .collect();
    let times: Vec<f64> =
        repeats.iter().map(|(start, end)| end.seconds_since(start).wait().unwrap()).collect();
    assert!(times.iter().all(|&time| time > 0.0), "{times:?}");
    let whole = repeats[7].1.seconds_since(&repeats[0].0).wait().unwrap();
    assert!(times.iter().sum::<f64>() <= whole * (1.0 + 1e-6), "{times:?} {whole}");
}
