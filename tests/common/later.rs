//! Whether a result is there when its work is done, while work that was flushed with it runs.
//!
//! The later work really runs: a kernel that takes long. A library that reports a result with the end of its batch fails
//! for every length of the kernel.

use super::dump;
use super::subject::Subject;
use fencepost::{CommandQueue, Context, DeviceArray};

/// Why such cases run on Vulkan adapters only.
pub const RUNS: &str = "a kernel runs for a while there, and the host goes on";

/// Elements of the array of the short work, and their value.
pub const N: usize = 64;
pub const VALUE: u32 = 7;

/// Milliseconds of the later work; the longer one where the machine was slow.
const LENGTHS: [u32; 2] = [120, 1000];

/// A queue whose short work is enqueued, and an array that only that work writes.
pub struct Short<'a> {
    pub subject: &'a Subject,
    pub ctx: &'a Context,
    pub queue: &'a CommandQueue,
    pub x: DeviceArray<u32>,
}

/// What returns when the result is there.
pub type Look<'a> = Box<dyn FnOnce() + 'a>;

/// A way to look for a result: what is enqueued at once, and what is done when all is flushed.
pub type Way = for<'a> fn(&Short<'a>) -> Look<'a>;

/// Fails unless each result is there while a long kernel of its queue runs.
pub fn on_its_queue(s: &Subject, ways: &[(&str, Way)]) {
    on_its_queue_of(s, &s.ctx(), ways);
}

/// The same in a context with options of the case.
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

/// Fails unless each result is there while a long kernel of another queue runs.
pub fn on_another_queue(s: &Subject, ways: &[(&str, Way)]) {
    on_some_queue(s, ways, |ctx| Some(ctx.queue("other")));
}

/// As [`on_another_queue`], with a queue that is made when the short work is enqueued, and so comes after it: what nothing looks
/// for before the flush would else share a batch with the kernel.
pub fn on_a_later_queue(s: &Subject, ways: &[(&str, Way)]) {
    on_some_queue(s, ways, |_| None);
}

fn on_some_queue(s: &Subject, ways: &[(&str, Way)], made_first: fn(&Context) -> Option<CommandQueue>) {
    let ctx = s.ctx();
    for &(name, look) in ways {
        each_length(name, |milliseconds| {
            let other = made_first(&ctx);
            let later = |_: &CommandQueue| {
                let other = other.clone().unwrap_or_else(|| ctx.queue("other"));
                s.spin(&ctx, &other, milliseconds);
                Some(other)
            };
            is_early(s, &ctx, look, later)
        });
    }
}

/// Tries a longer kernel if the first was over before the program looked; fails if none was long enough.
pub fn each_length(name: &str, is_early: impl Fn(u32) -> bool) {
    assert!(
        LENGTHS.into_iter().any(is_early),
        "{name} is there only when a kernel of {LENGTHS:?} ms is over"
    );
}

/// Enqueues short work beside a device that is busy, and looks for it; `later` enqueues what runs long, on the same queue or on
/// the one that it gives. Whether the result was there while that ran: nothing else looks for its end.
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
    // From here on no wait decides what comes together.
    dump::until(|| dump::is_planned(ctx));
    looked();
    let early = !other.as_ref().unwrap_or(&queue).is_complete().unwrap();
    ctx.synchronize().wait().unwrap();
    early
}

/// Has the device do so much that what follows comes together: two batches run, and a third waits to be submitted.
pub fn keep_busy(s: &Subject, ctx: &Context) {
    let busy = ctx.queue("busy");
    for _ in 0..3 {
        s.spin(ctx, &busy, 40);
        busy.flush().unwrap();
        dump::until(|| dump::is_planned(ctx));
    }
}
