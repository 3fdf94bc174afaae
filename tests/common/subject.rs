//! The subject of a case.

use super::objects::queues;
use super::results::On;
use super::{raw, spin};
use crate::common::thread;
use fencepost::prelude::*;
use fencepost::testing::{self, CpuFaults, DeviceSwitches};
use fencepost::{AdapterInfo, BacklogLimit, ContextWatch};
use std::env;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use web_time::Instant;

/// Backend of the CPU as a device.
pub const NATIVE_CODE: &str = "native code";
/// Backend of the CPU as a device in a browser.
const INTERPRETER: &str = "interpreter";

/// An adapter of this machine, or the CPU recorder. All cases share it.
pub struct Place {
    name: String,
    device: Device,
    pub(super) spin: OnceLock<spin::Rate>,
}

enum Device {
    Adapter(usize, AdapterInfo),
    /// The CPU recorder with this seed and this number of lanes.
    Cpu(u64),
}

/// A place as one case uses it. The watchdog watches every context that the subject opens.
#[derive(Clone)]
pub struct Subject {
    place: Arc<Place>,
    watches: Arc<Mutex<Vec<ContextWatch>>>,
}

/// Returns the switches of contexts. With `FENCEPOST_TEST_MEMORY=discrete` no device shares its memory with the host.
pub fn device_switches() -> DeviceSwitches {
    let discrete = env::var("FENCEPOST_TEST_MEMORY").is_ok_and(|value| value == "discrete");
    DeviceSwitches { shared_memory: !discrete, ..DeviceSwitches::default() }
}

impl Place {
    pub(super) fn adapter(name: String, index: usize, info: AdapterInfo) -> Self {
        Self { name, device: Device::Adapter(index, info), spin: OnceLock::new() }
    }

    pub(super) fn cpu(seed: u64) -> Self {
        Self { name: format!("cpu_{seed}"), device: Device::Cpu(seed), spin: OnceLock::new() }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name of the place in the results.
    pub fn on(&self) -> On<'_> {
        let backend = match self.info().map(|info| info.backend) {
            None => "host",
            Some("Vulkan") => "vulkan",
            Some("Metal") => "metal",
            Some("DX12") => "dx12",
            Some(NATIVE_CODE) => "native",
            Some(INTERPRETER) => "interpreter",
            Some("WebGPU") => "webgpu",
            Some(_) => "gl",
        };
        On { adapter: self.name(), backend }
    }

    /// Returns the index in the list of adapters, if the place is an adapter.
    pub fn adapter_index(&self) -> Option<usize> {
        if let Device::Adapter(index, _) = self.device { Some(index) } else { None }
    }

    pub fn is_cpu(&self) -> bool {
        matches!(self.device, Device::Cpu(_))
    }

    /// Returns `true` if a wgpu device can be opened there, which is not so on the CPU.
    pub fn has_wgpu(&self) -> bool {
        self.info().is_some_and(|info| ![NATIVE_CODE, INTERPRETER].contains(&info.backend))
    }

    /// Returns the description of the adapter, if the place is one.
    pub fn info(&self) -> Option<&AdapterInfo> {
        if let Device::Adapter(_, info) = &self.device { Some(info) } else { None }
    }

    /// Returns `true` for the CPU as a device.
    pub fn is_native(&self) -> bool {
        matches!(&self.device, Device::Adapter(_, info) if info.backend == NATIVE_CODE)
    }

    pub fn is_vulkan(&self) -> bool {
        matches!(&self.device, Device::Adapter(_, info) if info.backend == "Vulkan")
    }

    /// Returns `true` for the device of Firefox, which runs on lavapipe in the tests, and gives no name of its adapter.
    pub fn is_firefox(&self) -> bool {
        self.name == "firefox"
    }

    pub fn is_gl(&self) -> bool {
        matches!(&self.device, Device::Adapter(_, info) if info.backend == "GL")
    }

    /// Returns `true` if contexts that the library opens there have pinned memory.
    pub fn has_pinned_memory(&self) -> bool {
        self.is_cpu() || !self.has_wgpu() || self.is_vulkan()
    }

    /// Returns `true` if submissions return before their work is done. Two software drivers do not.
    pub fn is_asynchronous(&self) -> bool {
        match &self.device {
            Device::Cpu(_) => true,
            Device::Adapter(_, info) => info.backend != "GL" && !self.is_llvmpipe() && !self.is_firefox(),
        }
    }

    /// Returns `true` if shaders cannot access memory outside their bindings.
    pub fn checks_bounds(&self) -> bool {
        !self.is_gl()
    }

    /// Returns `true` if the driver ends an invocation after 65,535 loop iterations.
    pub(super) fn is_llvmpipe(&self) -> bool {
        matches!(&self.device, Device::Adapter(_, info) if info.name.to_lowercase().contains("llvmpipe"))
    }

    /// Returns the number of hardware queues.
    pub fn lanes(&self) -> u64 {
        if let Device::Cpu(seed) = self.device { seed } else { 1 }
    }
}

impl Subject {
    pub fn new(place: Arc<Place>) -> Self {
        Self { place, watches: Arc::default() }
    }

    /// Opens a fresh context under `Ordered`.
    pub fn ctx(&self) -> Context {
        self.options(|_| ())
    }

    /// Opens a fresh context under `Ordered`, with a queue.
    pub fn with_queue(&self, label: &str) -> (Context, CommandQueue) {
        let ctx = self.ctx();
        let queue = ctx.queue(label);
        (ctx, queue)
    }

    /// Opens a fresh context under `Ordered`, with a queue for each label.
    pub fn with_queues<const N: usize>(&self, labels: [&str; N]) -> (Context, [CommandQueue; N]) {
        self.with_queues_under(Policy::Ordered, labels)
    }

    /// Opens a fresh context under a policy, with a queue for each label.
    pub fn with_queues_under<const N: usize>(
        &self,
        policy: Policy,
        labels: [&str; N],
    ) -> (Context, [CommandQueue; N]) {
        let ctx = self.ctx_with(policy);
        let all = queues(&ctx, labels);
        (ctx, all)
    }

    /// Opens a fresh context under a policy, with a queue.
    pub fn with_queue_under(&self, policy: Policy, label: &str) -> (Context, CommandQueue) {
        let ctx = self.ctx_with(policy);
        let queue = ctx.queue(label);
        (ctx, queue)
    }

    /// Opens a fresh context under a policy.
    pub fn ctx_with(&self, policy: Policy) -> Context {
        self.options(|options| options.policy = policy)
    }

    /// Opens a fresh context with options. The CPU recorder uses only the policy and `portable_wgsl`.
    pub fn options(&self, change: impl FnOnce(&mut ContextOptions)) -> Context {
        self.options_and_switches(|options, _| change(options))
    }

    /// Opens a fresh context with switches.
    pub fn switched(&self, change: impl FnOnce(&mut DeviceSwitches)) -> Context {
        self.options_and_switches(|_, switches| change(switches))
    }

    /// Opens a fresh context with options and switches. The CPU recorder uses only the policy.
    pub fn options_and_switches(
        &self,
        change: impl FnOnce(&mut ContextOptions, &mut DeviceSwitches),
    ) -> Context {
        let mut options = ContextOptions::default();
        let mut switches = device_switches();
        change(&mut options, &mut switches);
        let ctx = match self.place.device {
            Device::Adapter(index, _) => {
                // A browser does not list its adapters. The page has its own, and the CPU device.
                options.adapter = match index {
                    index if cfg!(not(target_arch = "wasm32")) => AdapterChoice::Index(index),
                    0 => AdapterChoice::Auto,
                    _ => AdapterChoice::Cpu,
                };
                testing::open(options, switches).wait().expect("the adapter opens")
            }
            Device::Cpu(seed) => {
                let portable_wgsl = options.portable_wgsl;
                let cpu =
                    SimulatorOptions::default().seed(seed).lanes(seed as usize).portable_wgsl(portable_wgsl);
                let faults = CpuFaults { delays: seed > 1, ..CpuFaults::default() };
                testing::on_cpu(cpu, faults, options.policy)
            }
        };
        self.watch(&ctx);
        ctx
    }

    /// Opens a context on a wgpu device and its queue.
    pub fn adopt(&self, (device, queue): (wgpu::Device, wgpu::Queue), options: AdoptOptions) -> Context {
        let ctx = Context::adopt(device, queue, options).expect("a context");
        self.watch(&ctx);
        ctx
    }

    /// Opens a context on the CPU recorder with faults.
    pub fn on_cpu(&self, options: SimulatorOptions, faults: CpuFaults, policy: Policy) -> Context {
        let ctx = testing::on_cpu(options, faults, policy);
        self.watch(&ctx);
        ctx
    }

    /// Opens a fresh context on the CPU recorder.
    pub fn simulated(&self, options: SimulatorOptions) -> Context {
        self.faulty(options, CpuFaults::default())
    }

    /// Opens a fresh context on the CPU recorder, which injects these faults.
    pub fn faulty(&self, options: SimulatorOptions, faults: CpuFaults) -> Context {
        let policy = options.policy;
        self.on_cpu(options, faults, policy)
    }

    /// Opens a fresh context on the CPU recorder, which loses its device after some steps.
    pub fn losing(&self, lost_after: u64) -> Context {
        let faults = CpuFaults { lost_after: Some(lost_after), ..CpuFaults::default() };
        self.faulty(SimulatorOptions::default(), faults)
    }

    /// Opens a fresh context with this limit of its backlog.
    pub fn limited(&self, backlog: BacklogLimit) -> Context {
        if self.is_cpu() {
            return self.simulated(SimulatorOptions::default().backlog(backlog));
        }
        self.options(|options| options.backlog = backlog)
    }

    /// Adds a context that was opened elsewhere to the watchdog.
    pub fn watch(&self, ctx: &Context) {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner).push(ctx.diagnostics().watch());
    }

    /// Adds contexts that the case has opened itself to the watchdog.
    pub fn watch_all(&self, watches: impl IntoIterator<Item = ContextWatch>) {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner).extend(watches);
    }

    /// Makes [`settle`](Self::settle) ignore all contexts so far, because the case leaks one.
    pub fn leaks(&self) {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Waits until its contexts have ended, but no longer than `limit`.
    pub fn settle(&self, limit: Duration) {
        let watches = self.watches.lock().unwrap_or_else(PoisonError::into_inner).clone();
        settle(&watches, limit);
    }

    /// Returns the state dumps of its contexts that still exist.
    pub fn dump(&self) -> String {
        let watches = self.watches.lock().unwrap_or_else(PoisonError::into_inner).clone();
        watches.iter().filter_map(ContextWatch::state_dump).collect::<Vec<_>>().join("\n")
    }

    pub fn is_cpu(&self) -> bool {
        self.place.is_cpu()
    }

    /// Returns the last part of the test's name.
    pub fn name(&self) -> &str {
        self.place.name()
    }

    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Opens a context without threads.
    pub fn without_threads(&self) -> Context {
        self.without_threads_with(Policy::Ordered)
    }

    /// Like [`without_threads`](Self::without_threads), under a policy.
    pub fn without_threads_with(&self, policy: Policy) -> Context {
        if self.place.has_wgpu() {
            return self.adopt(raw::open(self), AdoptOptions::default().policy(policy).threads(false));
        }
        let simulated = || Context::simulated(SimulatorOptions::default().threads(false).policy(policy));
        #[cfg(not(target_arch = "wasm32"))]
        let ctx = if self.is_cpu() { simulated() } else { testing::cpu_without_threads(policy) };
        #[cfg(target_arch = "wasm32")]
        let ctx = simulated();
        self.watch(&ctx);
        ctx
    }

    /// Enqueues a kernel that runs for at least about `milliseconds` on an otherwise idle adapter. Does not flush.
    pub fn spin(&self, ctx: &Context, queue: &CommandQueue, milliseconds: u32) {
        spin::enqueue(self, ctx, queue, milliseconds);
    }
}

/// Waits until contexts have ended, but no longer than `limit`.
pub fn settle(watches: &[ContextWatch], limit: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < limit && watches.iter().any(ContextWatch::lives) {
        super::sleep(Duration::from_millis(1));
    }
}
