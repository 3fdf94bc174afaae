//! Checks that a result is available when its work is done, while other work of the same flush runs.
//!
//! The other work is a kernel that runs for a long time. A library that reports a result only at the end of its batch
//! fails for every length of the kernel.

use super::dump;
use super::subject::Subject;
use fencepost::{CommandQueue, Context, DeviceArray};

/// Gives the reason why such cases run on Vulkan adapters only.
pub const RUNS: &str = "a kernel runs for a while there, and the host goes on";

/// Counts the elements of the array of the short work. `VALUE` is their value.
pub const N: usize = 64;
pub const VALUE: u32 = 7;

/// Lists the milliseconds of the long kernel. The longer one is tried if the machine was slow.
const LENGTHS: [u32; 2] = [120, 1000];

/// `Short` holds a queue whose short work is enqueued, and an array that only the short work writes.
pub struct Short<'a> {
    pub subject: &'a Subject,
    pub ctx: &'a Context,
    pub queue: &'a CommandQueue,
    pub x: DeviceArray<u32>,
}

/// A look waits for the result and returns when it is available.
pub type Look<'a> = Box<dyn FnOnce() + 'a>;

/// A way enqueues its commands at once, and returns the look that runs after the flush.
pub type Way = for<'a> fn(&Short<'a>) -> Look<'a>;

/// Fails unless each result is available while a long kernel of its queue runs.
pub fn on_its_queue(s: &Subject, ways: &[(&str, Way)]) {
    on_its_queue_of(s, &s.ctx(), ways);
}

/// Does the same as [`on_its_queue`] in a context that the case opened.
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
    on_some_queue(s, ways, |ctx| Some(ctx.queue("other")));
}

/// Does the same as [`on_another_queue`], with a queue that is made after the short work is enqueued, and so waits for
/// it. Without a look before the flush, the short work would share a batch with the kernel.
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

/// Tries a longer kernel if the first ended before the program polled. Fails if none was long enough.
pub fn each_length(name: &str, is_early: impl Fn(u32) -> bool) {
    assert!(
        LENGTHS.into_iter().any(is_early),
        "{name} is there only when a kernel of {LENGTHS:?} ms is over"
    );
}

/// Enqueues short work on a busy device, and waits for its result. `later` enqueues a long kernel on the same queue or
/// on the queue that it returns. Returns `true` if the result was available while the kernel ran. No other call polls
/// for the end of the short work.
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
    // Wait until all is planned, so that later waits do not change the batches.
    dump::until(|| dump::is_planned(ctx));
    looked();
    let early = !other.as_ref().unwrap_or(&queue).is_complete().unwrap();
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
