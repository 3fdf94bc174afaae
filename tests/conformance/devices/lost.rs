//! D03: every wait on a lost device ends, and every later call returns the loss.

use super::losing::{Doomed, doomed, lost, lost_after, with_threads};
use crate::common::full::full;
use crate::common::kernels::Iota;
use crate::common::thread;
use crate::common::{Case, ONE_THREAD, Subject, case, dump, hold, queues};
use fencepost::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

pub fn cases() -> Vec<Case> {
    vec![
        case("d03_every_kind_of_wait_ends_with_device_lost", every_wait).not_in_a_page(ONE_THREAD),
        case("d03_a_future_ends_with_device_lost_though_no_call_blocks", future_alone)
            .not_in_a_page(ONE_THREAD),
        case("d03_work_that_wgpu_does_not_submit_ends_with_device_lost", not_done)
            .gpu_only("the CPU recorder submits nothing through wgpu"),
        case("d03_every_call_after_the_loss_returns_the_same_error", every_call),
        case("d03_results_before_the_loss_is_noticed_are_right", right_until_then),
        case("d03_a_context_with_pending_work_is_freed_after_the_loss", ends),
        case("d03_a_new_context_works_in_the_same_process", new_context),
        case("d03_nothing_runs_after_the_loss", nothing_runs)
            .cpu_only("an adapter does not report which work it has not run"),
        case("d03_a_loss_at_any_step_ends_all_waits", any_step)
            .cpu_only("only the CPU recorder loses its device at a given step"),
    ]
}

pub(super) const N: usize = 256;

pub(super) fn is_loss(error: &Error) -> bool {
    matches!(error.detail(), ErrorDetail::DeviceLost { .. })
}

/// Objects for the waits: a queue whose work waits for an event that is never signalled.
struct Held {
    queue: CommandQueue,
    gate: UserEvent,
    x: DeviceArray<u32>,
    y: DeviceArray<u32>,
    start: Event,
}

impl Held {
    fn new(ctx: &Context) -> Self {
        let queue = ctx.queue_with(QueueOptions::default().label("held").timing(true));
        let [mut x, mut y] = [0; 2].map(|_| ctx.zeros([N]).unwrap());
        let start = queue.marker();
        let gate = hold(&queue);
        queue.fill(&mut x, 1).unwrap();
        queue.fill(&mut y, 2).unwrap();
        Self { queue, gate, x, y, start }
    }
}

/// Name of a kind of wait, `true` if it needs a context with threads, and the wait.
type Wait = (&'static str, bool, fn(&Context, &Held) -> Result<(), Error>);

const WAITS: &[Wait] = &[
    ("finish", false, |_, held| held.queue.finish().wait()),
    ("a wait with limits", false, |_, held| {
        let mut pending = held.queue.finish();
        while pending.wait_timeout(Duration::from_millis(3))?.is_none() {}
        Ok(())
    }),
    ("a future", true, |_, held| crate::common::block_on(held.queue.finish())),
    ("an event", false, |_, held| held.queue.marker().wait()),
    ("an event's future", true, |_, held| crate::common::block_on(held.queue.marker().done())),
    ("a submission", false, |_, held| held.queue.marker().submitted().wait()),
    ("a submission's future", true, |_, held| crate::common::block_on(held.queue.marker().submitted())),
    ("polling", false, |_, held| {
        while !held.queue.marker().is_complete()? {
            thread::yield_now();
        }
        Ok(())
    }),
    ("polling an event", false, |_, held| {
        let event = held.queue.marker();
        while !event.is_complete()? {
            crate::common::sleep(Duration::from_millis(1));
        }
        Ok(())
    }),
    ("a read", false, |_, held| held.queue.read(&held.x).wait().map(drop)),
    ("a read's future", true, |_, held| crate::common::block_on(held.queue.read(&held.x)).map(drop)),
    ("a read into a slice", false, |_, held| held.queue.read_into(&held.x, &mut [0; N])),
    ("a read map", false, |_, held| held.x.map_read().wait().map(drop)),
    ("a read map's future", true, |_, held| crate::common::block_on(held.x.map_read()).map(drop)),
    ("a write map", false, |_, held| held.y.map_write().wait().map(drop)),
    ("a user event", false, |_, held| held.gate.event().wait()),
    ("a user event's future", true, |_, held| crate::common::block_on(held.gate.event().done())),
    ("polling a user event", false, |_, held| {
        while !held.gate.event().is_complete()? {
            crate::common::sleep(Duration::from_millis(1));
        }
        Ok(())
    }),
    ("another queue that waits for the held queue", false, |ctx, held| {
        let other = ctx.queue("other");
        other.wait_for(&held.queue.marker())?;
        other.finish().wait()
    }),
    ("a write of pinned memory that an upload uses", false, |ctx, held| {
        let mut pinned: HostArray<u32, Upload> = ctx.pinned([N])?;
        held.queue.upload(&pinned, &mut held.y.clone())?;
        pinned.host_mut()?.fill(1);
        // On a context without mapped pinned memory the upload has copied the bytes already.
        held.queue.finish().wait()
    }),
    ("a read of pinned memory that a download uses", false, |ctx, held| {
        let mut pinned: HostArray<u32, Download> = ctx.pinned([N])?;
        held.queue.download(&held.x, &mut pinned)?;
        pinned.host().map(drop)
    }),
    ("the time between two events", false, |_, held| {
        if !held.queue.options().timing {
            return held.queue.finish().wait();
        }
        held.queue.marker().seconds_since(&held.start).wait().map(drop)
    }),
];

/// Makes all waits at once, each on a thread of its own, and loses the device after all have begun. Another queue works
/// before the loss, so that each wait has polled its result at least once.
fn every_wait(s: &Subject) {
    for doomed in doomed(s) {
        let beside = doomed.ctx.queue("beside"); // a queue made after the held work would wait for it
        let held = Held::new(&doomed.ctx);
        thread::scope(|scope| {
            let ctx = &doomed.ctx;
            let held = &held;
            let (begins, begun) = channel();
            let kinds = WAITS.iter().filter(|(_, needs_threads, _)| doomed.threads || !needs_threads);
            let spawn = |&(name, _, wait): &Wait| {
                let begins = begins.clone();
                let body = move || {
                    begins.send(()).unwrap();
                    wait(ctx, held)
                };
                (name, scope.spawn(body))
            };
            let waits: Vec<_> = kinds.map(spawn).collect();
            waits.iter().for_each(|_| begun.recv().unwrap());
            for turn in 0..30 {
                let x = beside.full([N], turn).unwrap();
                assert_eq!(beside.read(&x).wait().unwrap(), [turn; N]);
            }
            doomed.lose();
            for (name, wait) in waits {
                let ended = wait.join().unwrap();
                let said = ended.as_ref().is_err_and(is_loss);
                assert!(said, "{}: {name} gives {ended:?}", doomed.name);
            }
        });
    }
}

/// A future of the held work, awaited.
type Future = fn(&Held) -> Result<(), Error>;

/// Awaits one future on each context. No call blocks on these contexts, so only their lane threads poll the devices.
///
/// All contexts lose their devices together, because each takes a while to notice. The lane threads of the first
/// contexts become idle while the later contexts are opened.
fn future_alone(s: &Subject) {
    let futures: [Future; 3] = [
        |held| crate::common::block_on(held.queue.finish()),
        |held| crate::common::block_on(held.gate.event().done()),
        |held| crate::common::block_on(held.queue.read(&held.x)).map(drop),
    ];
    let wait_on = |(doomed, wait): (Doomed, Future)| {
        let held = Held::new(&doomed.ctx);
        (doomed, held, wait)
    };
    let turns = if s.is_cpu() || full() { 3 } else { 1 };
    // The default suite covers every kind of context and every future; the full suite covers every pair of them.
    let each = (0..turns).flat_map(|turn| {
        let futures = futures.into_iter().cycle().skip(turn);
        with_threads(s).into_iter().zip(futures)
    });
    let contexts: Vec<_> = each.map(wait_on).collect();
    let (begins, begun) = channel();
    let await_one = |(_, held, wait): &(Doomed, Held, Future)| {
        begins.send(()).unwrap();
        wait(held)
    };
    let await_one = &await_one;
    thread::scope(|scope| {
        let awaited: Vec<_> =
            contexts.iter().map(|context| scope.spawn(move || await_one(context))).collect();
        awaited.iter().for_each(|_| begun.recv().unwrap());
        drop(s.ctx());
        contexts.iter().for_each(|(doomed, ..)| doomed.lose());
        for ((doomed, ..), future) in contexts.iter().zip(awaited) {
            let ended = future.join().unwrap();
            assert!(ended.as_ref().is_err_and(is_loss), "{}: {ended:?}", doomed.name);
        }
    });
}

/// Checks work that wgpu drops: wgpu returns no error for the submission, and calls back as if the work were done.
fn not_done(s: &Subject) {
    for doomed in doomed(s).into_iter().filter(|doomed| doomed.by_wgpu) {
        let queue = doomed.ctx.queue("q");
        let mut x = doomed.ctx.zeros([N]).unwrap();
        queue.fill(&mut x, 1_u32).unwrap();
        queue.finish().wait().unwrap();
        doomed.lose();
        let ended = queue.fill(&mut x, 2).and_then(|()| queue.finish().wait());
        assert!(ended.as_ref().is_err_and(is_loss), "{}: {ended:?}", doomed.name);
    }
}

/// Name of a call, and the call.
pub(super) type Call =
    (&'static str, fn(&Context, &CommandQueue, &mut DeviceArray<u32>) -> Result<(), Error>);

const TEXT: &str = "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
    @compute @workgroup_size(1) fn k() { x[0] = 42u; }";

pub(super) const CALLS: &[Call] = &[
    ("fill", |_, queue, x| queue.fill(x, 1)),
    ("upload", |_, queue, x| queue.upload(&[1; N], x)),
    ("copy", |_, queue, x| queue.copy(&x.clone(), x)),
    ("callback", |_, queue, _| queue.callback(|| ())),
    ("wait_for a queue", |ctx, queue, _| queue.wait_for(&ctx.queue("late"))),
    ("wait_for a user event", |ctx, queue, _| queue.wait_for(&ctx.user_event("late"))),
    ("flush", |_, queue, _| queue.flush()),
    ("finish", |_, queue, _| queue.finish().wait()),
    ("read", |_, queue, x| queue.read(x).wait().map(drop)),
    ("read_into", |_, queue, x| queue.read_into(x, &mut [0; N])),
    ("map_read", |_, _, x| x.map_read().wait().map(drop)),
    ("map_write", |_, _, x| x.map_write().wait().map(drop)),
    ("queue.zeros", |_, queue, _| queue.zeros::<u32, 1>([N]).map(drop)),
    ("ctx.zeros", |ctx, _, _| ctx.zeros::<u32, 1>([N]).map(drop)),
    ("ctx.full", |ctx, _, _| ctx.full::<u32, 1>([3 * N], 1).map(drop)),
    ("ctx.array", |ctx, _, _| ctx.array(&[1; N]).map(drop)),
    ("ctx.pinned", |ctx, _, _| ctx.pinned::<u32, Upload, 1>([N]).map(drop)),
    ("a queue made later", |ctx, _, x| ctx.queue("late").fill(x, 1)),
    ("a wait on a queue made later", |ctx, _, _| ctx.queue("late").finish().wait()),
    ("a marker on a queue made later", |ctx, _, _| ctx.queue("late").marker().wait()),
    ("a fork", |_, queue, _| queue.fork("late").flush()),
    ("record", |ctx, queue, _| ctx.event().record(queue)),
    ("a kernel", |ctx, _, _| ctx.kernel::<Iota>().map(drop)),
    ("a kernel from a text", |ctx, _, _| ctx.kernel_from(TEXT, "k").map(drop)),
    ("a kernel from a text, later", |ctx, _, _| {
        ctx.kernel_from_later(ShaderSource::text("k.wgsl", TEXT), "k", &[]).wait().map(drop)
    }),
    ("Tuning::start", |_, queue, _| Tuning::start(queue).map(drop)),
    ("a capture", |_, queue, x| queue.capture(|c| c.fill(x, 1)).map(drop)),
    ("sum_of", |_, queue, x| queue.value_of(|out| queue.sum(&*x, out)).wait().map(drop)),
    ("a profile", |ctx, _, _| ctx.profile().finish().wait().map(drop)),
];

fn every_call(s: &Subject) {
    for doomed in doomed(s) {
        let ctx = &doomed.ctx;
        let queue = doomed.ctx.queue("q");
        let mut x = ctx.zeros([N]).unwrap();
        queue.fill(&mut x, 7_u32).unwrap();
        assert_eq!(queue.read(&x).wait().unwrap(), [7; N]);
        let loss = lost(&doomed);
        assert!(is_loss(&loss), "{}: {loss}", doomed.name);
        for turn in 0..2 {
            for (name, call) in CALLS {
                let said = call(ctx, &queue, &mut x).map_err(|error| error.to_string());
                assert_eq!(said, Err(loss.to_string()), "{}: {name}, turn {turn}", doomed.name);
            }
        }
        assert!(
            ctx.diagnostics().state_dump().contains(&loss.to_string()),
            "{}",
            ctx.diagnostics().state_dump()
        );
        assert_eq!(ctx.pool().trim(), 0);
    }
}

/// Checks that every result is right, until a call returns the loss.
fn right_until_then(s: &Subject) {
    for doomed in doomed(s) {
        let queue = doomed.ctx.queue("q");
        let mut x = doomed.ctx.zeros([N]).unwrap();
        let mut step = |value: u32| {
            queue.fill(&mut x, value)?;
            queue.read(&x).wait()
        };
        (0..5).for_each(|turn| assert_eq!(step(turn).unwrap(), [turn; N]));
        doomed.lose();
        let mut turn = 5;
        let error = loop {
            match step(turn) {
                Ok(found) => assert_eq!(found, [turn; N], "{}", doomed.name),
                Err(error) if !cfg!(target_arch = "wasm32") || is_loss(&error) => break error,
                // A browser reports a loss later than it refuses the calls.
                Err(_) => {
                    queue.take_error();
                    doomed.ctx.take_error();
                    thread::yield_now();
                }
            }
            turn += 1;
        };
        assert!(is_loss(&error), "{}: {error}", doomed.name);
    }
}

/// Drops a context together with pending work, reads and events, before the context has noticed the loss and after.
fn ends(s: &Subject) {
    for noticed in [false, true] {
        for doomed in doomed(s) {
            let held = Held::new(&doomed.ctx);
            let reading = held.queue.read(&held.x);
            let mut z = doomed.ctx.zeros([N]).unwrap();
            let side = doomed.ctx.queue("side");
            side.fill(&mut z, 3_u32).unwrap();
            side.callback(|| ()).unwrap();
            if noticed {
                assert!(is_loss(&lost(&doomed)));
            } else {
                doomed.lose();
            }
            let watch = doomed.ctx.diagnostics().watch();
            drop((doomed, reading, side, z));
            drop(held);
            // Threads that are about to end may hold the context a little longer. The watchdog reports a hang.
            dump::until(|| watch.state_dump().is_none());
        }
    }
}

fn new_context(s: &Subject) {
    for doomed in doomed(s) {
        lost(&doomed);
        let (ctx, queue) = s.with_queue("q");
        let mut x = ctx.zeros([N]).unwrap();
        queue.fill(&mut x, 9_u32).unwrap();
        assert_eq!(
            queue.read(&x).wait().unwrap(),
            [9; N],
            "a new context beside a lost one: {}",
            doomed.name
        );
    }
}

fn nothing_runs(s: &Subject) {
    let ctx = lost_after(s, 0);
    let runs = Arc::new(AtomicUsize::new(0));
    let count = runs.clone();
    let counts = move |_: [u32; 3], _: [u32; 3], _: &[u8], _: &mut [fencepost::HostBuffer<'_>]| {
        count.fetch_add(1, Ordering::SeqCst);
    };
    ctx.host_kernel("counts", Arc::new(counts)).unwrap();
    let text = "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(1) fn counts() { out[0] = 1u; }";
    let kernel = ctx.kernel_from(text, "counts").unwrap();
    let [trigger, queue] = queues(&ctx, ["trigger", "q"]);
    let mut out = ctx.empty::<u32, 1>([1]).unwrap();
    let gate = hold(&queue);
    for _ in 0..10 {
        queue.launch_dyn(&kernel, Grid::groups([1]), args![out = &mut out]).unwrap();
    }
    let called = Arc::new(AtomicUsize::new(0));
    let calls = called.clone();
    queue.callback(move || _ = calls.fetch_add(1, Ordering::SeqCst)).unwrap();
    let mut x = ctx.empty::<u32, 1>([1]).unwrap();
    trigger.fill(&mut x, 1).unwrap();
    assert!(is_loss(&trigger.finish().wait().unwrap_err()));
    gate.signal();
    assert!(is_loss(&queue.finish().wait().unwrap_err()));
    drop((queue, trigger, ctx));
    assert_eq!((runs.load(Ordering::SeqCst), called.load(Ordering::SeqCst)), (0, 0));
}

/// Checks that the same waits end with the loss at whichever step the device is lost.
fn any_step(s: &Subject) {
    // There are eight fills; a read in place is not a step.
    for steps in 0..8 {
        let ctx = lost_after(s, steps);
        let [one, two] = queues(&ctx, ["one", "two"]);
        let attempt = || {
            let mut x = ctx.zeros([N])?;
            let mut readings = Vec::new();
            for turn in 0..8_u32 {
                one.fill(&mut x, turn)?;
                two.wait_for(&one)?;
                readings.push(two.read(&x));
                one.wait_for(&two)?;
            }
            for (turn, reading) in readings.into_iter().enumerate() {
                assert_eq!(reading.wait()?, [turn as u32; N]);
            }
            Ok(())
        };
        let ended: Result<(), Error> = attempt();
        assert!(ended.as_ref().is_err_and(is_loss), "after {steps} steps: {ended:?}");
        assert!(is_loss(&one.marker().wait().or_else(|_| one.flush()).unwrap_err()));
    }
}
