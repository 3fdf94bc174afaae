//! Tests of the rules about timing.

#[cfg_attr(target_arch = "wasm32", path = "no_page.rs")]
mod choosing;
mod host_clock;
mod intervals;
#[cfg_attr(target_arch = "wasm32", path = "no_page.rs")]
mod measured;
mod overlap;
#[cfg_attr(target_arch = "wasm32", path = "no_page.rs")]
mod profiles;
#[cfg(not(target_arch = "wasm32"))]
mod refused;
mod relations;
mod single_events;
mod summaries;
#[cfg_attr(target_arch = "wasm32", path = "no_page.rs")]
mod unmeasured;

use crate::common::{Case, Subject};
use fencepost::prelude::*;
use fencepost::{CommandQueue, QueueOptions};

pub fn cases() -> Vec<Case> {
    let timing = [choosing::cases(), intervals::cases(), relations::cases(), unmeasured::cases()];
    let timing = timing.into_iter().chain([host_clock::cases(), single_events::cases()]);
    let profiles = [profiles::cases(), summaries::cases(), measured::cases(), overlap::cases()];
    timing.chain(profiles).flatten().collect()
}

/// Returns a timed queue.
fn timed(ctx: &Context, label: &str) -> CommandQueue {
    let queue = ctx.queue_with(QueueOptions::default().label(label).timing(true));
    assert!(queue.options().timing, "every subject has a clock");
    queue
}

/// A queue on each hardware queue. A test makes them before it holds back work, because a new queue waits for
/// everything enqueued before it.
struct Beside(Vec<CommandQueue>);

impl Beside {
    fn new(subject: &Subject, ctx: &Context) -> Self {
        Self((0..subject.place().lanes()).map(|lane| ctx.queue(&format!("beside {lane}"))).collect())
    }

    /// Runs new work on every hardware queue. All earlier work that could run has run when this returns.
    fn work(&self) {
        for queue in &self.0 {
            queue.full([1], 1_u32).unwrap();
            queue.finish().wait().unwrap();
        }
    }
}
