//! Switches and faults for tests. Any version of the crate may change or remove them.

use crate::api::context::Context;
use crate::api::options::{AdoptOptions, ContextOptions};
pub use crate::device::open::DeviceSwitches;
use crate::error::Result;
#[cfg(feature = "cpu")]
use crate::memory::uses::Policy;
#[cfg(feature = "cpu")]
pub use crate::record::cpu::cpu_recorder::CpuFaults;
#[cfg(feature = "cpu")]
use crate::record::cpu::cpu_recorder::SimulatorOptions;
use crate::runtime::pending::Pending;

use std::sync::atomic::Ordering;

#[cfg(feature = "validation")]
pub use crate::device::open::validation_messages;

/// Opens an adapter as [`Context::with_options`] does, without the capabilities that `switches` turns off.
///
/// # Errors
/// The result has the errors of `with_options`.
pub fn open(options: ContextOptions, switches: DeviceSwitches) -> Pending<Context> {
    Context::open(options, switches)
}

/// Makes a context on a wgpu device as [`Context::adopt`] does, without the capabilities that `switches` turns off.
///
/// # Errors
/// Returns the errors of `adopt`.
pub fn adopt(
    device: wgpu::Device,
    queue: wgpu::Queue,
    options: AdoptOptions,
    switches: DeviceSwitches,
) -> Result<Context> {
    Context::adopt_with(device, queue, options, switches)
}

/// Returns wgpu's device, for a caller that submits nothing. [`Context::wgpu`] is for callers that submit.
pub fn device(ctx: &Context) -> Option<&wgpu::Device> {
    ctx.owner.wgpu().map(|device| device.raw())
}

/// Returns how often the context has submitted a part of a graph that it had recorded in advance.
pub fn native_bodies(ctx: &Context) -> u64 {
    ctx.owner.wgpu().map_or(0, |device| device.native_bodies.load(Ordering::Relaxed))
}

/// Makes a context on the simulator as [`Context::simulated`] does. The simulator injects `faults`; the seed of
/// `options` decides where.
#[cfg(feature = "cpu")]
pub fn on_cpu(options: SimulatorOptions, faults: CpuFaults, policy: Policy) -> Context {
    Context::on_faulty_cpu(options.policy(policy), faults)
}

/// Opens the CPU device, in a context that makes progress only inside calls that flush or wait.
#[cfg(all(feature = "cpu", not(target_arch = "wasm32")))]
pub fn cpu_without_threads(policy: Policy) -> Context {
    let options = ContextOptions { policy, ..ContextOptions::default() };
    Context::on_threads(&options, false).expect("the system gives a thread")
}

/// Makes a context on the simulator or on the CPU device lose its device when it executes the next work.
///
/// # Panics
/// Panics if the context is on another device.
#[cfg(feature = "cpu")]
pub fn lose(ctx: &Context) {
    ctx.owner.cpu().expect("the context is on the CPU").lose();
}
