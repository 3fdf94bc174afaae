//! D07: errors that are reported after the submission. In a browser all are; elsewhere the context of these cases makes
//! wgpu's errors late.

use crate::common::kernels::{Mix, mix};
use crate::common::program::Program;
use crate::common::subject::device_switches;
use crate::common::{Case, Subject, assert_error, case, dump, queues, raw, wgpu_only};
use fencepost::RecorderChoice;
use fencepost::prelude::*;
use fencepost::print::{PrintTo, Printed};
use fencepost::profile::Unmeasured;
use fencepost::testing::{self, DeviceSwitches};
use std::sync::{Arc, Mutex};

pub fn cases() -> Vec<Case> {
    wgpu_only(vec![
        case("d07_a_late_error_fails_only_the_queue_of_its_command", alone),
        case("d07_a_result_without_its_work_is_never_ok", results),
        case("d07_queues_that_take_turns_in_a_batch_keep_their_order", turns),
        case("d07_a_command_that_a_late_error_stops_has_no_time", no_time),
        case("d07_a_launch_that_a_late_error_stops_prints_nothing", no_lines),
        case("d07_nothing_is_submitted_for_a_queue_after_its_late_error_has_arrived", nothing_later),
        case("d07_a_map_with_a_late_error_fails_no_queue", map_alone),
    ])
}

const N: usize = 64;
/// Number of turns that three queues take in one batch.
const TURNS: usize = 9;
/// Number of launches after the one with an error. Each has its own batch, because its time is not known yet.
const LAUNCHES: usize = 20;
/// Maximum number of those launches that a page hands over before the browser reports the error.
const TOO_EARLY: usize = if cfg!(target_arch = "wasm32") { 8 } else { 0 };

/// Opens a context whose errors are late. Like a context in a browser, it has neither threads nor immediates.
fn late(subject: &Subject) -> Context {
    late_on(subject, raw::open(subject))
}

fn late_on(subject: &Subject, (device, queue): (wgpu::Device, wgpu::Queue)) -> Context {
    let options = AdoptOptions::default().recorder(RecorderChoice::Wgpu).threads(false);
    let switches = DeviceSwitches { late_errors: true, immediates: false, ..device_switches() };
    let ctx = testing::adopt(device, queue, options, switches).unwrap();
    subject.watch(&ctx);
    ctx
}

/// Returns an array on a buffer that the program has destroyed. wgpu refuses the commands that use it.
fn destroyed(ctx: &Context) -> DeviceArray<u32> {
    let program = Program::of(ctx);
    let buffer = program.buffer(N);
    let array = ctx.array_on::<u32, 1>(&buffer, [N]).unwrap();
    program.destroy(&buffer);
    array
}

fn alone(subject: &Subject) {
    let ctx = late(subject);
    let [before, failed, after] = queues(&ctx, ["before", "failed", "after"]);
    let mut gone = destroyed(&ctx);
    let mut x = before.zeros::<u32, 1>([N]).unwrap();
    let mut y = after.zeros::<u32, 1>([N]).unwrap();
    ctx.synchronize().wait().unwrap();
    let submitted = dump::submitted(&ctx);
    before.fill(&mut x, 4).unwrap();
    failed.wait_for(&before).unwrap();
    failed.fill(&mut gone, 5).unwrap();
    after.wait_for(&failed).unwrap();
    after.copy(&x, &mut y).unwrap();
    after.finish().wait().unwrap();
    assert_eq!(dump::submitted(&ctx), submitted + 1, "the queues share a batch");
    assert_error!(failed.finish().wait(), ErrorDetail::Device { .. });
    for queue in [&before, &after] {
        queue.finish().wait().unwrap();
        assert!(queue.take_error().is_none());
    }
    assert_eq!(before.read(&x).wait().unwrap(), [4; N]);
    assert_eq!(after.read(&y).wait().unwrap(), [4; N]);
    failed.take_error().unwrap();
    failed.fill(&mut y, 6).unwrap();
    assert_eq!(failed.read(&y).wait().unwrap(), [6; N]);
}

/// The whole part of the batch that the queue has is refused: also the commands before the one with the error.
fn results(subject: &Subject) {
    let ctx = late(subject);
    let queue = ctx.queue("failed");
    let mut gone = destroyed(&ctx);
    let mut x = queue.zeros::<u32, 1>([N]).unwrap();
    queue.finish().wait().unwrap();
    queue.fill(&mut x, 1).unwrap();
    let earlier = queue.read(&x);
    queue.fill(&mut gone, 5).unwrap();
    queue.fill(&mut x, 2).unwrap();
    let later = queue.read(&x);
    let end = queue.marker();
    assert_error!(later.wait(), ErrorDetail::Device { .. });
    if let Ok(found) = earlier.wait() {
        assert_eq!(found, [1; N]);
    }
    assert_error!(end.wait(), ErrorDetail::Device { .. });
    assert_error!(end.is_complete(), ErrorDetail::Device { .. });
    assert_error!(queue.fill(&mut x, 3), ErrorDetail::Device { .. });
}

/// Each part of the batch reads what the part before it has written, also through the buffers that all parts share: the
/// one for copies within an array, and those for parameters.
fn turns(subject: &Subject) {
    let ctx = late(subject);
    let all = queues(&ctx, ["a", "b", "c"]);
    let x = all[0].zeros::<u32, 1>([TURNS + 1]).unwrap();
    all[0].fill(&mut x.slice(0..1).unwrap(), 7).unwrap();
    ctx.synchronize().wait().unwrap();
    let submitted = dump::submitted(&ctx);
    for turn in 0..TURNS {
        let from = x.slice(turn..turn + 1).unwrap();
        all[turn % 3].copy(&from, &mut x.slice(turn + 1..turn + 2).unwrap()).unwrap();
    }
    all[(TURNS - 1) % 3].finish().wait().unwrap();
    assert_eq!(dump::submitted(&ctx), submitted + 1, "the copies share a batch");
    assert_eq!(all[0].read(&x).wait().unwrap(), [7; TURNS + 1]);

    let mut y = all[0].zeros::<u32, 1>([TURNS + 1]).unwrap();
    let mut expected = 0;
    // The first launch of a kernel has its own batch, because its time is not known yet.
    for _ in 0..3 {
        for (turn, number) in (0..TURNS).zip(2..) {
            mix(&all[turn % 3], number, 5, &x, &mut y);
            expected = Mix::of(number, 5, 7, expected);
        }
        all[(TURNS - 1) % 3].finish().wait().unwrap();
    }
    assert_eq!(all[0].read(&y).wait().unwrap(), [expected; TURNS + 1]);
}

/// Staging memory that is used again still has the times of an earlier batch.
fn no_time(subject: &Subject) {
    let ctx = late_on(subject, raw::open_timed(subject));
    let queue = ctx.queue("failed");
    let mut gone = destroyed(&ctx);
    let mut x = queue.zeros::<u32, 1>([N]).unwrap();
    ctx.synchronize().wait().unwrap();
    let profiler = ctx.profile();
    for turn in 0..3 {
        queue.fill(&mut x, turn).unwrap();
        queue.finish().wait().unwrap();
    }
    queue.fill(&mut gone, 5).unwrap();
    assert_error!(queue.finish().wait(), ErrorDetail::Device { .. });
    let profile = profiler.finish().wait().unwrap();
    let times: Vec<_> = profile.rows.iter().map(|row| row.time).collect();
    let [.., Err(reason)] = times[..] else { panic!("{times:?}") };
    assert!(matches!(reason, Unmeasured::NeverRan | Unmeasured::NoClock), "{times:?}");
    assert_eq!(times.len(), 4);
}

const PRINTS: &str = "@group(0) @binding(0) var<storage, read> x: array<u32>;
    @compute @workgroup_size(1) fn prints() { print(\"x[0] = {}\", x[0]); }";

/// Staging memory that is used again still has the lines of an earlier launch.
fn no_lines(subject: &Subject) {
    let ctx = late(subject);
    let lines = Arc::<Mutex<Vec<String>>>::default();
    let kept = lines.clone();
    let keep = move |printed: &Printed<'_>| kept.lock().unwrap().push(printed.to_string());
    ctx.set_print(PrintOptions::default().to(PrintTo::Function(Arc::new(keep))));
    let kernel = ctx.kernel_from(PRINTS, "prints").unwrap();
    let queue = ctx.queue("failed");
    let gone = destroyed(&ctx);
    let x = ctx.full([N], 7_u32).unwrap();
    for launches in 1..4 {
        queue.launch_dyn(&kernel, Grid::groups([1]), args![x = &x]).unwrap();
        queue.finish().wait().unwrap();
        assert_eq!(lines.lock().unwrap().len(), launches);
    }
    queue.launch_dyn(&kernel, Grid::groups([1]), args![x = &gone]).unwrap();
    assert_error!(queue.finish().wait(), ErrorDetail::Device { .. });
    assert_eq!(lines.lock().unwrap().len(), 3);
}

fn nothing_later(subject: &Subject) {
    let ctx = late(subject);
    let queue = ctx.queue("failed");
    let mut gone = destroyed(&ctx);
    let x = queue.full([N], 7_u32).unwrap();
    let mut all: Vec<_> = (0..LAUNCHES).map(|_| queue.zeros::<u32, 1>([N]).unwrap()).collect();
    ctx.synchronize().wait().unwrap();
    mix(&queue, 1, 1, &x, &mut gone);
    for (y, number) in all.iter_mut().zip(2..) {
        mix(&queue, 1, number, &x, y);
    }
    assert_error!(queue.finish().wait(), ErrorDetail::Device { .. });
    queue.take_error().unwrap();
    for (at, y) in all.iter().enumerate().skip(TOO_EARLY) {
        assert_eq!(queue.read(y).wait().unwrap(), [0; N], "launch {at}");
    }
}

/// The context itself reads the array for a map.
fn map_alone(subject: &Subject) {
    let ctx = late(subject);
    let [one, two] = queues(&ctx, ["one", "two"]);
    let gone = destroyed(&ctx);
    let mut x = one.zeros::<u32, 1>([N]).unwrap();
    ctx.synchronize().wait().unwrap();
    assert_error!(gone.map_read().wait(), ErrorDetail::Device { .. });
    one.fill(&mut x, 3).unwrap();
    assert_eq!(two.read(&x).wait().unwrap(), [3; N]);
    let made = ctx.full([N], 4_u32).unwrap();
    assert_eq!(two.read(&made).wait().unwrap(), [4; N]);
    assert!([&one, &two].iter().all(|queue| queue.take_error().is_none()));
    assert_error!(ctx.take_error().map_or(Ok(()), Err), ErrorDetail::Device { .. });
    assert!(ctx.take_error().is_none());
}
