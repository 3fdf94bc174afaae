//! E01, E02, E08: a result is there when its work is done, while what was flushed with it still runs.
//!
//! The later work really runs: a kernel that takes long. A library that reports a result with the end of its batch fails
//! these for every length.

use crate::common::full::full;
use crate::common::{Case, Subject, case, dump, host_side};
use fencepost::{CommandQueue, Context, DeviceArray, Event};
use std::time::Duration;

pub fn cases() -> Vec<Case> {
    const RUNS: &str = "a kernel runs for a while there, and the host goes on";
    let planned = host_side(vec![
        case("e02_each_kind_of_result_is_there_while_later_work_of_its_queue_runs", own_queue),
        case("e02_each_kind_of_result_is_there_while_work_of_another_queue_runs", other_queue),
    ]);
    let run = vec![
        case("e02_a_result_is_not_late_behind_a_kernel_that_is_known_to_take_long", known),
        case("m06_a_map_of_shared_memory_does_not_wait_for_work_that_was_submitted_later", map_later),
        case("e02_without_threads_a_result_is_there_while_later_work_runs", without_threads),
        case("e02_many_markers_between_short_launches_share_submissions", many_markers),
    ];
    [planned, run].concat().into_iter().map(|case| case.vulkan_only(RUNS)).collect()
}

/// Milliseconds of the later work; the longer one where the machine was slow.
const LENGTHS: [u32; 2] = [120, 1000];

/// A queue whose short work is enqueued, and an array that only that work writes.
struct Before<'a> {
    ctx: &'a Context,
    queue: &'a CommandQueue,
    x: DeviceArray<u32>,
}

/// What returns when the result is there.
type Look<'a> = Box<dyn FnOnce() + 'a>;

/// A way to look for a result: what is enqueued at once, and what is done when all is flushed.
type Way = for<'a> fn(&Before<'a>) -> Look<'a>;

const WAYS: [(&str, Way); 10] = [
    ("a marker", |at| {
        let marker = at.queue.marker();
        Box::new(move || marker.wait().unwrap())
    }),
    ("a marker that is asked again and again", |at| {
        let marker = at.queue.marker();
        Box::new(move || dump::until(|| marker.is_complete().unwrap()))
    }),
    ("a marker with a time limit", |at| {
        let marker = at.queue.marker();
        Box::new(move || assert!(marker.done().wait_timeout(Duration::from_secs(60)).unwrap().is_some()))
    }),
    ("a marker that is awaited", |at| {
        let marker = at.queue.marker();
        Box::new(move || pollster::block_on(marker.done()).unwrap())
    }),
    ("a recorded event", |at| {
        let event = at.ctx.event();
        at.queue.record(&event).unwrap();
        Box::new(move || event.wait().unwrap())
    }),
    ("the end of the queue", |at| {
        let end = at.queue.finish();
        Box::new(move || end.wait().unwrap())
    }),
    ("a read", |at| {
        let read = at.queue.read(&at.x);
        Box::new(move || assert_eq!(read.wait().unwrap(), [7; N]))
    }),
    ("a callback", |at| {
        let (sender, called) = std::sync::mpsc::channel();
        at.queue.callback(move || sender.send(()).unwrap()).unwrap();
        Box::new(move || called.recv().unwrap())
    }),
    ("another context", |at| {
        let other = Context::on_cpu(fencepost::CpuOptions::default());
        let queue = other.queue("elsewhere");
        queue.wait_for(&at.queue.marker()).unwrap();
        Box::new(move || queue.finish().wait().unwrap())
    }),
    ("another queue that reads", |at| {
        let reader = at.ctx.queue("reader");
        let read = reader.read(&at.x);
        Box::new(move || assert_eq!(read.wait().unwrap(), [7; N]))
    }),
];

const N: usize = 64;

/// Has the device do so much that what follows comes together.
fn keep_busy(s: &Subject, ctx: &Context) {
    let busy = ctx.queue("busy");
    for _ in 0..2 {
        let before = dump::submitted(ctx);
        s.spin(ctx, &busy, 40);
        busy.flush().unwrap();
        dump::until(|| dump::submitted(ctx) > before);
    }
}

/// Enqueues short work beside a device that is busy, and looks for it; `later` enqueues what runs long. Whether the result
/// was there while that ran.
fn not_late(s: &Subject, ctx: &Context, look: Way, later: impl Fn(&CommandQueue) -> Event) -> bool {
    keep_busy(s, ctx);
    let queue = ctx.queue("main");
    let x = queue.full([N], 7_u32).unwrap();
    let looked = look(&Before { ctx, queue: &queue, x });
    let end = later(&queue);
    ctx.flush().unwrap();
    looked();
    let early = !end.is_complete().unwrap();
    ctx.synchronize().wait().unwrap();
    early
}

/// A long kernel on the same queue, and its end.
fn spins(s: &Subject, ctx: &Context, queue: &CommandQueue, milliseconds: u32) -> Event {
    s.spin(ctx, queue, milliseconds);
    queue.marker()
}

/// Tries a longer kernel if the first was over before its end was looked for.
fn each_way(s: &Subject, ways: &[(&str, Way)], later: impl Fn(&Context, &CommandQueue, u32) -> Event) {
    let ctx = s.ctx();
    for &(name, look) in ways {
        let early = |milliseconds| not_late(s, &ctx, look, |queue| later(&ctx, queue, milliseconds));
        assert!(LENGTHS.into_iter().any(early), "{name} comes with the end of what was flushed with it");
    }
}

fn own_queue(s: &Subject) {
    each_way(s, &WAYS, |ctx, queue, milliseconds| spins(s, ctx, queue, milliseconds));
}

/// The planner does the same for each way of looking: a marker stands for most of them, unless the full suite runs.
fn other_queue(s: &Subject) {
    let ways = if full() { &WAYS[..] } else { &WAYS[..1] };
    each_way(s, ways, |ctx, _, milliseconds| spins(s, ctx, &ctx.queue("other"), milliseconds));
}

/// From the second time on the kernel is known.
fn known(s: &Subject) {
    let ctx = s.ctx();
    let once = |milliseconds| not_late(s, &ctx, WAYS[0].1, |queue| spins(s, &ctx, queue, milliseconds));
    let early = |milliseconds| [(); 3].map(|()| once(milliseconds)) == [true; 3];
    assert!(LENGTHS.into_iter().any(early));
}

/// Where the host reaches the array, nothing has to be submitted for a map.
fn map_later(s: &Subject) {
    let ctx = s.options(|options| options.shared_memory = true);
    let late: Way = |at| {
        let x = at.x.handle();
        Box::new(move || assert_eq!(x.map_read().wait().unwrap()[..], [7; N]))
    };
    let early = |milliseconds| not_late(s, &ctx, late, |queue| spins(s, &ctx, queue, milliseconds));
    assert!(LENGTHS.into_iter().any(early));
}

/// Nothing is submitted but in calls that flush or wait.
fn without_threads(s: &Subject) {
    let ctx = s.without_threads();
    let early = |milliseconds| {
        let queue = ctx.queue("main");
        let x = queue.full([N], 7_u32).unwrap();
        let marker = queue.marker();
        let end = spins(s, &ctx, &queue, milliseconds);
        queue.flush().unwrap();
        marker.wait().unwrap();
        let early = !end.is_complete().unwrap();
        assert_eq!(queue.read(&x).wait().unwrap(), [7; N]);
        early
    };
    assert!(LENGTHS.into_iter().any(early));
}

/// A result is late by a bound, and not by nothing: what takes no time is not cut apart.
fn many_markers(s: &Subject) {
    const MARKERS: usize = 1000;
    let ctx = s.ctx();
    let queue = ctx.queue("main");
    let x = queue.zeros([N]).unwrap();
    keep_busy(s, &ctx);
    let before = dump::submitted(&ctx);
    let markers: Vec<Event> = (0..MARKERS)
        .map(|at| {
            queue.fill(&mut x.slice(0..4).unwrap(), at as u32).unwrap();
            queue.marker()
        })
        .collect();
    queue.finish().wait().unwrap();
    let submissions = dump::submitted(&ctx) - before;
    assert!(submissions < MARKERS as u64 / 4, "{submissions} submissions for {MARKERS} markers");
    assert!(markers.iter().all(|marker| marker.is_complete().unwrap()));
}
