//! A device whose driver fails calls, and contexts on it.

use super::common::raw;
use super::common::refusing::{self, Driver, Rule, Seen};
use super::common::subject::Subject;
use fencepost::testing::{self, DeviceSwitches};
use fencepost::{AdoptOptions, Context, RecorderChoice, Result};
use std::sync::Arc;

/// A device of one adapter. After a loss it opens another device.
pub struct FailingDevice {
    adapter: wgpu::Adapter,
    recorder: RecorderChoice,
    subject: Subject,
    opened: (wgpu::Device, wgpu::Queue, Arc<Driver>),
}

impl FailingDevice {
    pub fn new(subject: &Subject, recorder: RecorderChoice) -> Self {
        let adapter = raw::adapter(subject.place());
        let opened = refusing::open(&adapter);
        Self { adapter, recorder, subject: subject.clone(), opened }
    }

    /// Returns `true` if wgpu makes the submissions. Then wgpu decides which failures its device survives.
    pub fn by_wgpu(&self) -> bool {
        self.recorder != RecorderChoice::Direct
    }

    pub fn driver(&self) -> &Driver {
        &self.opened.2
    }

    /// Opens a fresh context. It is the only user of the device if it submits without wgpu. A context without
    /// threads does not use immediates.
    pub fn context(&self, threads: bool) -> Result<Context> {
        let (device, queue, _) = &self.opened;
        let recorder = self.recorder;
        let exclusive = !self.by_wgpu();
        let options = AdoptOptions::default().recorder(recorder).exclusive(exclusive).threads(threads);
        let switches = DeviceSwitches { immediates: threads, ..DeviceSwitches::default() };
        let ctx = testing::adopt(device.clone(), queue.clone(), options, switches)?;
        self.subject.watch(&ctx);
        Ok(ctx)
    }

    /// Runs `act` under a rule. Returns its result, and the calls that the driver received.
    pub fn under<T>(&self, rule: Rule, act: impl FnOnce() -> T) -> (T, Seen) {
        self.driver().set(rule);
        let outcome = act();
        (outcome, self.driver().set(Rule::Nothing))
    }

    /// Opens another device after a loss.
    pub fn renew(&mut self) {
        self.opened = refusing::open(&self.adapter);
    }
}
