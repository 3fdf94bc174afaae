//! What a case runs on.

use super::results::On;
use super::{raw, spin};
use fencepost::{
    AdapterChoice, AdapterInfo, AdoptOptions, CommandQueue, Context, ContextOptions, ContextWatch,
    CpuOptions, Policy,
};
use std::env;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// An adapter of this machine, or the CPU recorder; one for all cases.
pub struct Place {
    name: String,
    device: Device,
    pub(super) spin: OnceLock<spin::Rate>,
}

enum Device {
    Adapter(usize, AdapterInfo),
    /// With this seed, and as many lanes.
    Cpu(u64),
}

/// A place as one case sees it. Every context that it makes is watched for hangs.
#[derive(Clone)]
pub struct Subject {
    place: Arc<Place>,
    watches: Arc<Mutex<Vec<ContextWatch>>>,
}

/// How contexts are opened; with `FENCEPOST_TEST_MEMORY=discrete` as if no device shared its memory with the host.
pub fn context_options() -> ContextOptions {
    let discrete = env::var("FENCEPOST_TEST_MEMORY").is_ok_and(|value| value == "discrete");
    ContextOptions { shared_memory: !discrete, ..ContextOptions::default() }
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

    /// What results call it.
    pub fn on(&self) -> On<'_> {
        let backend = match self.info().map(|info| info.backend) {
            None => "host",
            Some("Vulkan") => "vulkan",
            Some("Metal") => "metal",
            Some("DX12") => "dx12",
            Some(_) => "gl",
        };
        On { adapter: self.name(), backend }
    }

    /// Its place in the list of adapters, if it is one.
    pub fn adapter_index(&self) -> Option<usize> {
        if let Device::Adapter(index, _) = self.device { Some(index) } else { None }
    }

    pub fn is_cpu(&self) -> bool {
        matches!(self.device, Device::Cpu(_))
    }

    /// The adapter, if it is one.
    pub fn info(&self) -> Option<&AdapterInfo> {
        if let Device::Adapter(_, info) = &self.device { Some(info) } else { None }
    }

    /// Its place among the adapters of this machine.
    pub fn index(&self) -> Option<usize> {
        if let Device::Adapter(index, _) = &self.device { Some(*index) } else { None }
    }

    pub fn is_vulkan(&self) -> bool {
        matches!(&self.device, Device::Adapter(_, info) if info.backend == "Vulkan")
    }

    /// Whether submissions return before their work is done: always, but for two software drivers.
    pub fn is_asynchronous(&self) -> bool {
        match &self.device {
            Device::Cpu(_) => true,
            Device::Adapter(_, info) => info.backend != "GL" && !self.is_llvmpipe(),
        }
    }

    /// Whether shaders are kept within what is bound.
    pub fn checks_bounds(&self) -> bool {
        matches!(&self.device, Device::Adapter(_, info) if info.backend != "GL")
    }

    /// Whether its driver cuts an invocation off after 65,535 turns of loops.
    pub(super) fn is_llvmpipe(&self) -> bool {
        matches!(&self.device, Device::Adapter(_, info) if info.name.to_lowercase().contains("llvmpipe"))
    }

    /// Hardware queues.
    pub fn lanes(&self) -> u64 {
        if let Device::Cpu(seed) = self.device { seed } else { 1 }
    }
}

impl Subject {
    pub fn new(place: Arc<Place>) -> Self {
        Self { place, watches: Arc::default() }
    }

    /// A fresh context under `Ordered`.
    pub fn ctx(&self) -> Context {
        self.options(|_| ())
    }

    /// A fresh context under a policy.
    pub fn ctx_with(&self, policy: Policy) -> Context {
        self.options(|options| options.policy = policy)
    }

    /// A fresh context with options; of those, the CPU recorder looks at the policy only.
    pub fn options(&self, change: impl FnOnce(&mut ContextOptions)) -> Context {
        let mut options = context_options();
        change(&mut options);
        let ctx = match self.place.device {
            Device::Adapter(index, _) => {
                options.adapter = AdapterChoice::Index(index);
                Context::with_options(options).wait().expect("the adapter opens")
            }
            Device::Cpu(seed) => {
                let delays = seed > 1;
                let cpu = CpuOptions { seed, lanes: seed as usize, delays, ..CpuOptions::default() };
                Context::on_cpu_with(cpu, options.policy)
            }
        };
        self.watch(&ctx);
        ctx
    }

    /// Has the watchdog look at a context that was made otherwise.
    pub fn watch(&self, ctx: &Context) {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner).push(ctx.watch());
    }

    /// Has [`settle`](Self::settle) wait for none of the contexts so far: the case keeps one for good.
    pub fn leaks(&self) {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Waits until its contexts have ended, for so long at most.
    pub fn settle(&self, limit: Duration) {
        let watches = self.watches.lock().unwrap_or_else(PoisonError::into_inner).clone();
        settle(&watches, limit);
    }

    /// The state of its contexts, as far as they live.
    pub fn dump(&self) -> String {
        let watches = self.watches.lock().unwrap_or_else(PoisonError::into_inner).clone();
        watches.iter().filter_map(ContextWatch::state_dump).collect::<Vec<_>>().join("\n")
    }

    pub fn is_cpu(&self) -> bool {
        self.place.is_cpu()
    }

    /// What the name of the test ends in.
    pub fn name(&self) -> &str {
        self.place.name()
    }

    pub fn place(&self) -> &Place {
        &self.place
    }

    /// A context that does nothing unasked.
    pub fn without_threads(&self) -> Context {
        self.without_threads_with(Policy::Ordered)
    }

    /// As [`without_threads`](Self::without_threads), under a policy.
    pub fn without_threads_with(&self, policy: Policy) -> Context {
        let ctx = if self.is_cpu() {
            Context::on_cpu_with(CpuOptions { threads: false, ..CpuOptions::default() }, policy)
        } else {
            let (device, queue) = raw::open(self);
            let options = AdoptOptions { policy, threads: false, ..AdoptOptions::default() };
            Context::adopt(device, queue, options).expect("a context")
        };
        self.watch(&ctx);
        ctx
    }

    /// Enqueues a kernel that keeps this adapter busy for about so long when nothing else runs, rather longer than
    /// shorter. Flushes nothing.
    pub fn spin(&self, ctx: &Context, queue: &CommandQueue, milliseconds: u32) {
        spin::enqueue(self, ctx, queue, milliseconds);
    }
}

/// Waits until contexts have ended, for so long at most.
pub fn settle(watches: &[ContextWatch], limit: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < limit && watches.iter().any(ContextWatch::lives) {
        thread::sleep(Duration::from_millis(1));
    }
}
