//! Checks that a result is available when its work is done, while other work of the same flush runs.
//!
//! The other work is a kernel that runs for a long time. A library that reports a result only at the end of its batch
//! fails for every length of the kernel.

use super::dump;
use super::subject::Subject;
use fencepost::{CommandQueue, Context, DeviceArray};
use std::cell::RefCell;

/// Reason why such cases do not run on the CPU recorder.
pub const RUNS: &str = "the CPU recorder counts every command as short";
/// Reason why such cases do not run on GL.
pub const REACH: &str = "other memory is copied on the device, after submitted work";

/// Elements of the array of the short work. `VALUE` is their value.
pub const N: usize = 64;
pub const VALUE: u32 = 7;

/// Milliseconds of the long kernel. A longer one is tried if the machine was slow.
const LENGTHS: [u32; 3] = [120, 1000, 5000];

/// A queue whose short work is enqueued, and an array that only the short work writes.
pub struct Short<'a> {
    pub subject: &'a Subject,
    pub ctx: &'a Context,
    pub queue: &'a CommandQueue,
    pub x: DeviceArray<u32>,
}

/// A wait that returns when the result is available.
pub type Look<'a> = Box<dyn FnOnce() + 'a>;

/// A function that enqueues its commands immediately, and returns the wait to run after the flush.
pub type Way = for<'a> fn(&Short<'a>) -> Look<'a>;

/// Fails unless each result is available while a long kernel of its queue runs.
pub fn on_its_queue(s: &Subject, ways: &[(&str, Way)]) {
    on_its_queue_of(s, &s.ctx(), ways);
}

/// Like [`on_its_queue`], in a context that the case opened.
pub fn on_its_queue_of(s: &Subject, ctx: &Context, ways: &[(&str, Way)]) {
    for &(name, look) in ways {
        each_length(name, |milliseconds| {
            let later = |queue: &CommandQueue| {
                s.spin(ctx, queue, milliseconds);
                None
            };
            is_early(s, ctx, look, later)
        });
    }
}

/// Fails unless each result is available while a long kernel of another queue runs.
pub fn on_another_queue(s: &Subject, ways: &[(&str, Way)]) {
    let ctx = s.ctx();
    for &(name, look) in ways {
        each_length(name, |milliseconds| {
            let other = ctx.queue("other");
            let later = |_: &CommandQueue| {
                s.spin(&ctx, &other, milliseconds);
                Some(other.clone())
            };
            is_early(s, &ctx, look, later)
        });
    }
}

/// Name of a way to start the work of two queues, and the function that does it. The caller holds no handle of the
/// work.
type Start = (&'static str, fn(&Context, &CommandQueue, &CommandQueue));

const STARTS: [Start; 4] = [
    ("a flush of the context", |ctx, _, _| ctx.flush().unwrap()),
    ("a flush of each queue, the short one first", |_, short, long| {
        short.flush().unwrap();
        long.flush().unwrap();
    }),
    ("a flush of each queue, the long one first, on a busy device", |_, short, long| {
        long.flush().unwrap();
        short.flush().unwrap();
    }),
    ("no flush", |_, _, _| {}),
];

/// Fails unless each result is available while a long kernel of another queue runs, if the program asks for the result
/// only after the work has started.
pub fn after_the_start(s: &Subject, ways: &[(&'static str, Way)]) {
    after_the_start_of(s, &s.ctx(), ways);
}

/// Like [`after_the_start`], in a context that the case opened.
pub fn after_the_start_of(s: &Subject, ctx: &Context, ways: &[(&'static str, Way)]) {
    for (start_name, start) in STARTS {
        for busy in [true, false] {
            if !busy && start_name.ends_with("on a busy device") {
                continue; // an idle device may begin the long kernel at once
            }
            let late = RefCell::new("");
            let name = |late: &str| format!("{late} after {start_name}, busy before: {busy}");
            let is_early = |milliseconds| {
                let queue = ctx.queue("main");
                let other = ctx.queue("other");
                let mut x = queue.zeros([N]).unwrap();
                queue.finish().wait().unwrap();
                if busy {
                    keep_busy(s, ctx);
                }
                queue.fill(&mut x, VALUE).unwrap();
                s.spin(ctx, &other, milliseconds);
                start(ctx, &queue, &other);
                dump::until(|| dump::is_planned(ctx));
                let at = Short { subject: s, ctx, queue: &queue, x };
                let is_late = |&&(name, way): &&(&'static str, Way)| {
                    way(&at)();
                    late.replace(name);
                    other.marker().is_complete().unwrap()
                };
                let early = !ways.iter().any(|way| is_late(&way));
                ctx.synchronize().wait().unwrap();
                early
            };
            let found = LENGTHS.into_iter().any(is_early);
            assert!(found, "{} is there only when a kernel of {LENGTHS:?} ms is over", name(*late.borrow()));
        }
    }
}

/// Tries a longer kernel if the first one ended before the caller polled. Fails if none was long enough.
pub fn each_length(name: &str, is_early: impl Fn(u32) -> bool) {
    assert!(
        LENGTHS.into_iter().any(is_early),
        "{name} is there only when a kernel of {LENGTHS:?} ms is over"
    );
}

/// Enqueues short work on a busy device, and waits for its result. `later` enqueues a long kernel on the same queue, or
/// on a queue that it returns. Returns `true` if the result was available while the kernel ran. No other call polls for
/// the end of the short work.
pub fn is_early(
    s: &Subject,
    ctx: &Context,
    look: Way,
    later: impl Fn(&CommandQueue) -> Option<CommandQueue>,
) -> bool {
    keep_busy(s, ctx);
    let queue = ctx.queue("main");
    let x = queue.full([N], VALUE).unwrap();
    let looked = look(&Short { subject: s, ctx, queue: &queue, x });
    let other = later(&queue);
    ctx.flush().unwrap();
    // Wait until everything is planned, so that later waits do not change the batches.
    dump::until(|| dump::is_planned(ctx));
    looked();
    let early = !other.as_ref().unwrap_or(&queue).marker().is_complete().unwrap();
    ctx.synchronize().wait().unwrap();
    early
}

/// Fills the device, so that later work is planned together: two batches run, and a third waits to be submitted.
pub fn keep_busy(s: &Subject, ctx: &Context) {
    let busy = ctx.queue("busy");
    for _ in 0..3 {
        s.spin(ctx, &busy, 40);
        busy.flush().unwrap();
        dump::until(|| dump::is_planned(ctx));
    }
}
