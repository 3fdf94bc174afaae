//! Contexts whose driver refuses calls.

use crate::common::refusing::{self, Driver, Rule};
use crate::common::{Subject, raw};
use fastrand::Rng;
use fencepost::prelude::*;
use fencepost::testing::CpuFaults;
use fencepost::{AdoptOptions, RecorderChoice, SimulatorOptions};
use std::sync::Arc;

/// Returns a context and the driver of its device, which refuses calls by a rule. The context does not record through
/// wgpu, so a refusal makes work fail but does not lose the device.
pub(super) fn refusing_context(subject: &Subject) -> (Context, Arc<Driver>) {
    let (device, queue, driver) = refusing::open(&raw::adapter(subject.place()));
    let recorder = RecorderChoice::Direct;
    let options = AdoptOptions::default().recorder(recorder).exclusive(true).threads(false);
    (subject.adopt((device, queue), options), driver)
}

/// Returns the rule by which the driver never has memory, even after memory was released.
pub(super) fn no_memory() -> Rule {
    Rule::Seeded(Rng::with_seed(0), 1000, None)
}

/// Returns a context of the CPU recorder that refuses every submission.
pub(super) fn refusing_on_the_cpu(subject: &Subject) -> Context {
    let faults = CpuFaults { refusals: 1.0, ..CpuFaults::default() };
    subject.on_cpu(SimulatorOptions::default().threads(false), faults, Policy::Ordered)
}
