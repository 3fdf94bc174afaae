//! The rules of timing.

mod choosing;
mod intervals;
mod measured;
mod overlap;
mod profiles;
mod relations;
mod unmeasured;

use crate::common::Case;
use fencepost::prelude::*;
use fencepost::{CommandQueue, QueueOptions};

pub fn cases() -> Vec<Case> {
    let timing = [choosing::cases(), intervals::cases(), relations::cases(), unmeasured::cases()];
    let profiles = [profiles::cases(), measured::cases(), overlap::cases()];
    timing.into_iter().chain(profiles).flatten().collect()
}

/// A timed queue.
fn timed(ctx: &Context, label: &str) -> CommandQueue {
    let queue = ctx.queue_with(QueueOptions { label: label.into(), timing: true, ..QueueOptions::default() });
    assert!(queue.is_timed(), "every subject has a clock");
    queue
}
