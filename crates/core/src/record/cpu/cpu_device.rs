//! The CPU as a device: its limits, its memory, its kernels and its clock.

use crate::device::checks::DeviceNumber;
use crate::device::kernel_folder::check;
use crate::device::{Device, ExecutionFailure};
use crate::driver::caps::{Caps, MAX_COUNTED};
use crate::error::{Error, ErrorDetail, MemoryLimit, Result};
use crate::memory::allocations::{ByteMeter, MeteredVec};
use crate::memory::block::{Allocate, Block, Heap, Memory};
use crate::memory::cpu_memory::CpuMemory;
use crate::memory::shared_memory::SharedMemory;
use crate::memory::staging::Staged;
use crate::record::cpu::cpu_recorder::FailedSteps;
use crate::record::cpu::cpu_work::MAX_GROUPS;
use crate::record::cpu::kernel_checks::KernelChecks;
use crate::record::cpu::shared_kernels;
use crate::record::cpu::shared_kernels::KernelEngine;
use crate::work::kernel_launch::{Pipeline, PipelineDescriptor};
use crate::work::step::HostCode;
use fencepost_kernels::HostKernel;
use fencepost_sync::Stamp;
use fencepost_sync::prim::{Mutex, lock};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use web_time::Instant;

/// The two ways in which the CPU serves as a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CpuForm {
    /// The CPU recorder executes one operation at a time, in an order that a seed chooses.
    Recorder,
    /// The threads of the device execute batches, or in a browser the thread of the page.
    Device,
}

/// A function that calls another one in a later turn of a browser's event loop.
pub(crate) type NextTurn = fn(Box<dyn FnOnce()>);

/// Longest time for which a turn of the event loop executes work. A longer one would delay the page noticeably.
pub(super) const PAGE_SLICE: Duration = Duration::from_millis(8);

/// The CPU as a device: either that of the CPU recorder, or the CPU device, which executes batches as a GPU does.
pub(crate) struct CpuDevice {
    form: CpuForm,
    caps: Caps,
    memory: u64,
    allocated: Mutex<u64>,
    pub(super) staging: Arc<ByteMeter>,
    /// Checks of the launches, if the options ask for them.
    pub(super) checks: Option<Arc<KernelChecks>>,
    /// Random choice of the calls that postpone their work; `None` if no call postpones work.
    postponed: Option<Mutex<fastrand::Rng>>,
    /// Steps that failed while they were executed.
    pub(super) failed: Arc<FailedSteps>,
    /// Host functions that replace shader entry points.
    kernels: Mutex<HashMap<String, Arc<dyn HostKernel>>>,
    /// Number of calls of `tick`.
    #[cfg(test)]
    pub(crate) ticks: std::sync::atomic::AtomicU32,
}

impl CpuDevice {
    /// Makes the device. `memory` is the limit of all allocations together, in bytes.
    pub(super) fn new(form: CpuForm, memory: u64) -> Self {
        let caps = Caps {
            adapter: form.name().into(),
            software: true,
            max_block: MAX_COUNTED.min(1 << 31),
            max_binding: MAX_COUNTED.min(1 << 31),
            binding_alignment: 32,
            max_bindings: 32,
            max_binding_index: 1000,
            max_groups: MAX_GROUPS,
            max_workgroup: [1024; 3],
            max_invocations: 1024,
            max_workgroup_memory: 32 << 10,
            max_immediates: 128,
            f16: true,
            f64: true,
            int64: true,
            subgroups: true,
            float32_atomics: true,
            shader_language: None,
            trusts: false,
            timestamps: true,
            whole_pointers: false,
        };
        Self {
            form,
            caps,
            memory,
            checks: None,
            postponed: None,
            failed: Arc::default(),
            allocated: Mutex::default(),
            staging: Arc::default(),
            kernels: Mutex::default(),
            #[cfg(test)]
            ticks: <_>::default(),
        }
    }

    /// Postpones work at calls that `seed` chooses.
    pub(super) fn postponing(self, seed: u64) -> Self {
        let rng = fastrand::Rng::with_seed(seed.rotate_left(29) ^ 0x5ca1_ab1e);
        Self { postponed: Some(Mutex::new(rng)), ..self }
    }

    /// Returns the findings of the checks so far, and clears them.
    pub(crate) fn take_findings(&self) -> Vec<fencepost_cpu::Finding> {
        self.checks.as_ref().map_or_else(Vec::new, |checks| checks.take())
    }

    /// Loses the device for a test.
    pub(crate) fn lose(&self) {
        self.failed.lose_device();
    }

    /// Returns the error for an object of `bytes` bytes that exceeds the limit of the device.
    fn exhausted(&self, object: String, bytes: u64, used: u64) -> Error {
        let limit = Some(MemoryLimit::CpuRecorder { used, limit: self.memory });
        ErrorDetail::OutOfMemory { object, bytes, limit }.into()
    }

    /// Returns `true` if the device interprets every kernel: only the interpreter can check kernels or follow an order
    /// that a seed chooses.
    fn interprets(&self) -> bool {
        self.form == CpuForm::Recorder || self.checks.is_some()
    }

    /// Sets the function that replaces the shader entry point `entry`.
    pub(crate) fn host_kernel(&self, entry: &str, kernel: Arc<dyn HostKernel>) {
        let replaced = lock(&self.kernels).insert(entry.into(), kernel);
        drop(replaced); // without the lock, because a function may own user values
    }
}

impl Allocate for CpuDevice {
    fn allocate(&self, _: Heap, size: u64, label: &str) -> Result<Memory> {
        let object = || format!("array `{label}`");
        if size > self.caps.max_block {
            return Err(
                ErrorDetail::TooLarge { object: object(), bytes: size, limit: self.caps.max_block }.into()
            );
        }
        let mut allocated = lock(&self.allocated);
        if allocated.saturating_add(size) > self.memory {
            return Err(self.exhausted(object(), size, *allocated));
        }
        let memory = match self.form {
            CpuForm::Recorder => Some(Memory::Host(CpuMemory::zeroed(size))),
            CpuForm::Device => SharedMemory::zeroed(size).map(Memory::Shared),
        };
        let memory =
            memory.ok_or_else(|| ErrorDetail::OutOfMemory { object: object(), bytes: size, limit: None })?;
        *allocated += size;
        Ok(memory)
    }
}

impl Device for CpuDevice {
    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn recorder(&self) -> &'static str {
        match self.form {
            CpuForm::Recorder => "cpu",
            CpuForm::Device if cfg!(target_arch = "wasm32") => "page",
            CpuForm::Device => "threads",
        }
    }

    fn hardware(&self) -> Option<usize> {
        None
    }

    fn pinned(&self) -> bool {
        true
    }

    fn stage(&self, size: u64, fill: &mut dyn FnMut(&mut [u8])) -> Result<Staged> {
        let allocated = *lock(&self.allocated);
        if allocated.saturating_add(size) > self.memory {
            return Err(self.exhausted("upload staging".into(), size, allocated));
        }
        let mut bytes = vec![0; size as usize];
        fill(&mut bytes);
        Ok(Staged::Host(MeteredVec::new(bytes, &self.staging)))
    }

    fn trim_staging(&self) -> u64 {
        0 // the device keeps no free staging memory
    }

    fn staging(&self) -> (u64, u64) {
        self.staging.read()
    }

    /// Uses the user's host function if there is one. Otherwise, in the CPU recorder without checks, uses the library's
    /// reference function. Compiles the text of all other kernels.
    fn compile(&self, recipe: &PipelineDescriptor<'_>) -> Result<Pipeline> {
        let given = lock(&self.kernels).get(&recipe.interface().entry).cloned();
        let runs_references = self.form == CpuForm::Recorder && self.checks.is_none();
        let function = given.or_else(|| recipe.reference.clone().filter(|_| runs_references));
        if let Some(function) = function {
            return Ok(Pipeline::Host(HostCode::Function(function)));
        }
        check(&self.caps, recipe.module, recipe.interface())?;
        program(recipe, self.interprets()).map(Pipeline::Host)
    }

    /// Returns `true` for the CPU recorder: its kernels are host functions or interpreted, so there is nothing slow to
    /// compile.
    fn compiles_at_once(&self) -> bool {
        self.form == CpuForm::Recorder
    }

    fn nanoseconds_a_tick(&self) -> f64 {
        1.0
    }

    fn number_for_functions(&self) -> Option<DeviceNumber> {
        Some(self.failed.device())
    }

    fn forget(&self, block: &Block) {
        let mut allocated = lock(&self.allocated);
        *allocated = allocated.saturating_sub(block.size);
        drop(allocated);
        self.begin_array(block);
    }

    fn tracks_writes(&self) -> bool {
        self.checks.is_some()
    }

    fn begin_array(&self, block: &Block) {
        if let Some(checks) = &self.checks {
            checks.forget(block);
        }
    }

    fn host_writes(&self, block: &Block, range: Range<u64>) {
        if let Some(checks) = &self.checks {
            checks.wrote(block, range);
        }
    }

    fn postpones(&self) -> bool {
        self.postponed.as_ref().is_some_and(|rng| lock(rng).bool())
    }

    fn tick(&self) -> bool {
        #[cfg(test)]
        self.ticks.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        true
    }

    fn poll_loss(&self) -> bool {
        self.tick()
    }

    fn take_failures(&self, last: Stamp) -> Vec<ExecutionFailure> {
        self.failed.take(last)
    }

    /// Returns `false`: only the fences of this device report its loss.
    fn is_gone(&self) -> bool {
        false
    }
}

impl CpuForm {
    /// Returns the name of the adapter.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Recorder => "Fencepost simulator",
            Self::Device => "Fencepost CPU",
        }
    }
}

/// Prepares the text of a kernel.
fn program(recipe: &PipelineDescriptor<'_>, interprets: bool) -> Result<HostCode> {
    let engine = if interprets { KernelEngine::Interpreter } else { KernelEngine::Code };
    let prepared = shared_kernels::prepared(recipe, engine).map(HostCode::Program);
    prepared.map_err(|refusal| {
        let kernel = recipe.interface().entry.clone();
        let message = refusal.problem();
        ErrorDetail::Compile { kernel, message }.into()
    })
}

/// Copies the bytes of a block from `offset` into `out`.
pub(super) fn read(block: &Block, offset: u64, out: &mut [u8]) {
    match &block.memory {
        Memory::Host(memory) => memory.read(offset, out),
        Memory::Shared(memory) => memory.read(offset, out),
        Memory::Wgpu(_) => foreign(block),
    }
}

/// Copies `bytes` to `offset` of a block.
pub(super) fn write(block: &Block, offset: u64, bytes: &[u8]) {
    match &block.memory {
        Memory::Host(memory) => memory.write(offset, bytes),
        Memory::Shared(memory) => memory.write(offset, bytes),
        Memory::Wgpu(_) => foreign(block),
    }
}

/// Returns a copy of a range of a block.
pub(super) fn copy(block: &Block, range: Range<u64>) -> Vec<u8> {
    let mut bytes = vec![0; (range.end - range.start) as usize];
    read(block, range.start, &mut bytes);
    bytes
}

/// Copies a range of a block to `offset` of a block, which may be the same one.
pub(super) fn transfer(src: &Block, range: Range<u64>, dst: &Block, offset: u64) {
    if let (Memory::Shared(src), Memory::Shared(dst)) = (&src.memory, &dst.memory) {
        return dst.copy_from(offset, src, &range);
    }
    write(dst, offset, &copy(src, range));
}

/// Returns the word at an index of a block.
pub(super) fn word(block: &Block, index: u32) -> u32 {
    let mut bytes = [0; 4];
    read(block, 4 * u64::from(index), &mut bytes);
    u32::from_ne_bytes(bytes)
}

/// Stores a word at an index of a block.
pub(super) fn store_word(block: &Block, index: u32, value: u32) {
    write(block, 4 * u64::from(index), &value.to_ne_bytes());
}

fn foreign(block: &Block) -> ! {
    unreachable!("bug: {block:?} does not belong to the CPU")
}

/// Clock that counts nanoseconds since `epoch`. Each reading is greater than the last.
pub(super) struct DeviceClock {
    epoch: Instant,
    last: u64,
}

impl DeviceClock {
    pub(super) fn new() -> Self {
        Self { epoch: Instant::now(), last: 0 }
    }

    pub(super) fn read(&mut self) -> u64 {
        self.last = (self.epoch.elapsed().as_nanos() as u64).max(self.last + 1);
        self.last
    }
}
