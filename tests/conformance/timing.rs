//! Tests of the rules about timing.

mod choosing;
mod host_clock;
mod intervals;
mod measured;
mod overlap;
mod profiles;
mod relations;
mod single_events;
mod summaries;
mod unmeasured;

use crate::common::refusing::{self, Driver, Rule};
use crate::common::{Case, Subject, raw};
use fastrand::Rng;
use fencepost::prelude::*;
use fencepost::testing::CpuFaults;
use fencepost::{AdoptOptions, CommandQueue, QueueOptions, RecorderChoice, SimulatorOptions};
use std::sync::Arc;

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

/// Returns a context and the driver of its device, which refuses calls by a rule. The context does not record through
/// wgpu, so a refusal makes work fail but does not lose the device.
fn refusing_context(subject: &Subject) -> (Context, Arc<Driver>) {
    let (device, queue, driver) = refusing::open(&raw::adapter(subject.place()));
    let recorder = RecorderChoice::Direct;
    let options = AdoptOptions::default().recorder(recorder).exclusive(true).threads(false);
    (subject.adopt((device, queue), options), driver)
}

/// Returns the rule by which the driver never has memory, even after memory was released.
fn no_memory() -> Rule {
    Rule::Seeded(Rng::with_seed(0), 1000, None)
}

/// Returns a context of the CPU recorder that refuses every submission.
fn refusing_on_the_cpu(subject: &Subject) -> Context {
    let faults = CpuFaults { refusals: 1.0, ..CpuFaults::default() };
    subject.on_cpu(SimulatorOptions::default().threads(false), faults, Policy::Ordered)
}
