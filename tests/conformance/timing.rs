//! The rules of timing.

mod choosing;
mod host_clock;
mod intervals;
mod measured;
mod overlap;
mod profiles;
mod relations;
mod single_events;
mod unmeasured;

use crate::common::refusing::{self, Driver, Rule};
use crate::common::{Case, Subject, raw};
use fastrand::Rng;
use fencepost::prelude::*;
use fencepost::{AdoptOptions, CommandQueue, QueueOptions, RecorderChoice};
use std::sync::Arc;

pub fn cases() -> Vec<Case> {
    let timing = [choosing::cases(), intervals::cases(), relations::cases(), unmeasured::cases()];
    let timing = timing.into_iter().chain([host_clock::cases(), single_events::cases()]);
    let profiles = [profiles::cases(), measured::cases(), overlap::cases()];
    timing.chain(profiles).flatten().collect()
}

/// A timed queue.
fn timed(ctx: &Context, label: &str) -> CommandQueue {
    let queue = ctx.queue_with(QueueOptions { label: label.into(), timing: true, ..QueueOptions::default() });
    assert!(queue.is_timed(), "every subject has a clock");
    queue
}

/// A queue on each hardware queue, to be made before anything is held: a new queue waits for what was enqueued before.
struct Beside(Vec<CommandQueue>);

impl Beside {
    fn new(subject: &Subject, ctx: &Context) -> Self {
        Self((0..subject.place().lanes()).map(|lane| ctx.queue(&format!("beside {lane}"))).collect())
    }

    /// Has every hardware queue do something that is enqueued now: what could go on before that has gone on.
    fn work(&self) {
        for queue in &self.0 {
            queue.full([1], 1_u32).unwrap();
            queue.finish().wait().unwrap();
        }
    }
}

/// A context whose driver refuses what it is told to: that costs work, and no device, as nothing goes through wgpu.
fn refusing_context(subject: &Subject) -> (Context, Arc<Driver>) {
    let (device, queue, driver) = refusing::open(&raw::adapter(subject.place()));
    let recorder = RecorderChoice::Direct;
    let options = AdoptOptions { recorder, alone: true, threads: false, ..AdoptOptions::default() };
    let ctx = Context::adopt(device, queue, options).unwrap();
    subject.watch(&ctx);
    (ctx, driver)
}

/// The driver has no memory for anything, whatever is given back.
fn no_memory() -> Rule {
    Rule::Seeded(Rng::with_seed(0), 1000, None)
}
