//! Makes contexts whose device a test can lose.

use super::lost::is_loss;
use crate::common::{Subject, raw};
use fencepost::prelude::*;
use fencepost::testing::{self, CpuFaults};
use fencepost::{AdoptOptions, Error, RecorderChoice, SimulatorOptions};

/// A context, and the way to lose its device.
pub struct Doomed {
    pub name: &'static str,
    pub ctx: Context,
    /// `true` if the context has threads; without threads only calls that wait or flush make progress.
    pub threads: bool,
    /// `true` if the context certainly submits through wgpu.
    pub by_wgpu: bool,
    /// On the CPU recorder, a queue without earlier work, and its array.
    breaker: Option<(CommandQueue, DeviceArray<u32>)>,
}

/// Returns one context of each kind that the subject supports, on the context's own device and on a device of the
/// caller.
pub fn doomed(s: &Subject) -> Vec<Doomed> {
    let mut all = with_threads(s);
    if s.place().has_wgpu() {
        let recorder = RecorderChoice::Wgpu;
        let options = AdoptOptions::default().recorder(recorder).threads(false);
        all.push(adopted(s, "adopted, without threads", options));
    }
    all
}

/// Returns the contexts of [`doomed`] that have threads.
pub fn with_threads(s: &Subject) -> Vec<Doomed> {
    if !s.place().has_wgpu() {
        return vec![own(s)];
    }
    let plain = AdoptOptions::default().recorder(RecorderChoice::Wgpu);
    let native = AdoptOptions::default().recorder(RecorderChoice::Hal);
    let alone = AdoptOptions::default().recorder(RecorderChoice::Direct).exclusive(true);
    vec![
        own(s),
        adopted(s, "adopted", plain),
        adopted(s, "adopted, native", native),
        adopted(s, "adopted, alone", alone),
    ]
}

/// Returns a context on a device of its own.
pub fn own(s: &Subject) -> Doomed {
    let ctx = s.ctx();
    let breaker = (!s.place().has_wgpu()).then(|| (ctx.queue("breaks"), ctx.empty([1]).unwrap()));
    Doomed { name: "own", ctx, threads: true, by_wgpu: false, breaker }
}

fn adopted(s: &Subject, name: &'static str, options: AdoptOptions) -> Doomed {
    let threads = options.threads;
    let by_wgpu = !options.exclusive;
    let ctx = s.adopt(raw::open(s), options);
    Doomed { name, ctx, threads, by_wgpu, breaker: None }
}

impl Doomed {
    /// Loses the device: on an adapter with `destroy`, on the CPU recorder with a fault, which is noticed only by a
    /// command.
    pub fn lose(&self) {
        match &self.breaker {
            Some((queue, out)) => {
                testing::lose(&self.ctx);
                // A command of another thread may have noticed the loss before.
                let noticed = queue.fill(&mut out.clone(), 1).and_then(|()| queue.flush());
                assert!(noticed.as_ref().err().is_none_or(is_loss), "{noticed:?}");
            }
            None => self.ctx.wgpu().unwrap().0.destroy(),
        }
    }
}

/// Loses the device and returns the error once the context has noticed the loss.
pub fn lost(doomed: &Doomed) -> Error {
    let gate = doomed.ctx.user_event("never");
    doomed.lose();
    gate.event().wait().expect_err("the gate is never signalled")
}

/// Returns a context on the CPU recorder that loses its device after `steps` steps.
pub fn lost_after(s: &Subject, steps: u64) -> Context {
    let lanes = s.place().lanes() as usize;
    let faults = CpuFaults { lost_after: Some(steps), ..CpuFaults::default() };
    s.on_cpu(SimulatorOptions::default().lanes(lanes), faults, Policy::Ordered)
}
