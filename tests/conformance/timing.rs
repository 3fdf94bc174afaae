//! Tests of the rules about timing.

mod choosing;
mod host_clock;
mod intervals;
mod measured;
mod overlap;
#[cfg(not(target_arch = "wasm32"))]
mod profile_files;
#[cfg(target_arch = "wasm32")]
no_page!(profile_files, "timing/profile_files.rs", NO_FILES);
mod profiles;
#[cfg(not(target_arch = "wasm32"))]
mod refused;
#[cfg(target_arch = "wasm32")]
no_page!(refused, "timing/refused.rs", NO_DRIVER);
mod relations;
mod single_events;
mod summaries;
mod unmeasured;

use crate::common::{Case, Subject};
use fencepost::prelude::*;
use fencepost::testing::CpuFaults;
use fencepost::{CommandQueue, QueueOptions, SimulatorOptions};

pub fn cases() -> Vec<Case> {
    let timing = [choosing::cases(), intervals::cases(), relations::cases(), unmeasured::cases()];
    let timing = timing.into_iter().chain([host_clock::cases(), single_events::cases(), refused::cases()]);
    let profiles =
        [profiles::cases(), profile_files::cases(), summaries::cases(), measured::cases(), overlap::cases()];
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

/// Returns a context of the CPU recorder that refuses every submission.
fn refusing_on_the_cpu(subject: &Subject) -> Context {
    let faults = CpuFaults { refusals: 1.0, ..CpuFaults::default() };
    subject.on_cpu(SimulatorOptions::default().threads(false), faults, Policy::Ordered)
}
