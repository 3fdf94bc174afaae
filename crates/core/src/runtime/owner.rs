//! The part of a context that its handles share and keep alive.

use crate::device::Device;
use crate::device::adapter::AdapterInfo;
use crate::device::wgpu_device::WgpuDevice;
use crate::driver::erased::Erased;
use crate::error::Result;
#[cfg(cpu)]
use crate::record::cpu::cpu_device::CpuDevice;
#[cfg(not(target_arch = "wasm32"))]
use crate::runtime::context_threads::CompilerThreads;
use crate::runtime::context_tuning::ContextTuning;
use crate::runtime::context_watch::ContextWatch;
use crate::runtime::kernel_cache::KernelCache;
#[cfg(target_arch = "wasm32")]
use crate::runtime::pending::{WaitMode, WakerRegistration};
use crate::scheduler::engine::Engine;
use fencepost_sync::Slot;
use std::sync::{Arc, OnceLock, Weak};

/// A handle that keeps a context alive.
#[derive(Clone)]
pub(crate) struct Owner(Arc<SharedContext>);

/// A weak reference to a context.
#[derive(Clone)]
pub(crate) struct WeakOwner(Weak<SharedContext>);

struct SharedContext {
    kernels: Arc<KernelCache>,
    tuning: ContextTuning,
    #[cfg(not(target_arch = "wasm32"))]
    compilers: CompilerThreads,
    engine: Arc<Engine>,
    #[cfg(cpu)]
    cpu: Option<Arc<CpuDevice>>,
    wgpu: Option<Erased<Arc<WgpuDevice>>>,
    info: AdapterInfo,
    default_queue: OnceLock<Result<Slot>>,
    #[cfg(not(target_arch = "wasm32"))]
    threads: crate::runtime::context_threads::ContextThreads,
    /// Last field, so it is dropped last. A `ContextWatch` counts its references to detect if any part of the context,
    /// such as the device, still exists.
    alive: Arc<()>,
}

impl Owner {
    pub(crate) fn new(
        engine: Arc<Engine>,
        #[cfg(cpu)] cpu: Option<Arc<CpuDevice>>,
        wgpu: Option<Arc<WgpuDevice>>,
        info: AdapterInfo,
    ) -> Self {
        let owner = Self(Arc::new(SharedContext {
            #[cfg(not(target_arch = "wasm32"))]
            threads: crate::runtime::context_threads::ContextThreads::start(&engine),
            kernels: Arc::default(),
            tuning: ContextTuning::new(&info),
            #[cfg(not(target_arch = "wasm32"))]
            compilers: CompilerThreads::default(),
            engine,
            #[cfg(cpu)]
            cpu,
            wgpu: wgpu.map(Erased::new),
            info,
            default_queue: OnceLock::new(),
            alive: Arc::default(),
        }));
        #[cfg(all(not(target_arch = "wasm32"), not(fencepost_loom)))]
        crate::runtime::watchdog::watch(|| owner.watch());
        owner
    }

    pub(crate) fn info(&self) -> &AdapterInfo {
        &self.0.info
    }

    /// Returns the slot of the default queue, which the first call makes.
    pub(crate) fn default_queue(&self, make: impl FnOnce() -> Result<Slot>) -> Result<Slot> {
        self.0.default_queue.get_or_init(make).clone()
    }

    pub(crate) fn watch(&self) -> ContextWatch {
        ContextWatch::new(self.engine(), &self.0.alive, &self.0.info)
    }

    pub(crate) fn downgrade(&self) -> WeakOwner {
        WeakOwner(Arc::downgrade(&self.0))
    }

    /// Returns a number that is unique among the existing contexts.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// Returns the slot of the default queue, or `None` if it has not been made.
    pub(crate) fn default_slot(&self) -> Option<Slot> {
        self.0.default_queue.get().and_then(|slot| slot.clone().ok())
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.0.engine
    }

    pub(crate) fn kernels(&self) -> &Arc<KernelCache> {
        &self.0.kernels
    }

    pub(crate) fn tuning(&self) -> &ContextTuning {
        &self.0.tuning
    }

    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn compilers(&self) -> &CompilerThreads {
        &self.0.compilers
    }

    pub(crate) fn wgpu(&self) -> Option<&WgpuDevice> {
        self.0.wgpu.as_ref().map(|device| &***device)
    }

    #[cfg(cpu)]
    pub(crate) fn cpu(&self) -> Option<&CpuDevice> {
        self.0.cpu.as_deref()
    }

    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn threads(&self) -> &crate::runtime::context_threads::ContextThreads {
        &self.0.threads
    }

    pub(crate) fn device(&self) -> &dyn Device {
        &*self.0.engine.device
    }

    /// Returns `true` if both are handles of the same context.
    pub(crate) fn is(&self, other: &Owner) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl WeakOwner {
    pub(crate) fn upgrade(&self) -> Option<Owner> {
        self.0.upgrade().map(Owner)
    }

    pub(crate) fn lives(&self) -> bool {
        self.0.strong_count() > 0
    }
}

impl Drop for SharedContext {
    fn drop(&mut self) {
        if self.engine.is_in_child() {
            // In a child, the parent's threads and driver do not exist, so nothing is ended or freed.
            std::mem::forget((self.kernels.clone(), self.engine.clone(), self.wgpu.take()));
            #[cfg(not(target_arch = "wasm32"))]
            std::mem::forget((self.compilers.clone(), self.threads.clone()));
            return;
        }
        self.kernels.clear();
        #[cfg(not(target_arch = "wasm32"))]
        self.threads.end(&self.engine, &self.alive);
        #[cfg(target_arch = "wasm32")]
        match self.engine.close_in_page() {
            Ok(ends) if ends.is_empty() => {}
            Ok(ends) => {
                wasm_bindgen_futures::spawn_local(keep(self.engine.clone(), self.alive.clone(), ends))
            }
            Err(lost) => {
                fencepost_kernels::report!(Debug, "the last work of a context was not submitted: {lost}");
            }
        }
    }
}

/// Keeps the engine of a context, whose handles are gone, until its queues have reached these ends. The page cannot block in
/// the drop of the last handle.
#[cfg(target_arch = "wasm32")]
async fn keep(engine: Arc<Engine>, alive: Arc<()>, ends: Vec<fencepost_sync::Point>) {
    // A poll and the drop of the engine may run user code, which cannot block in this task of the page.
    use fencepost_sync::page::in_turn;
    for end in ends {
        let mut registration = WakerRegistration::default();
        let reached = std::future::poll_fn(|cx| {
            let mode = WaitMode::Poll(cx.waker());
            let reached = in_turn(|| mode.for_point(&engine, end, &mut registration));
            reached.map_or(std::task::Poll::Pending, std::task::Poll::Ready)
        });
        if let Err(error) = reached.await {
            fencepost_kernels::report!(Debug, "a wait failed while a context closed: {error}");
        }
    }
    in_turn(|| drop(engine)); // this also drops the device
    drop(alive);
}
