//! The wgpu device of a context. Also the backlog limit: the limit of the work that a context has accepted but not yet
//! given to the device.

use crate::device::kernel_folder::{CompileTarget, KernelFolder};
use crate::device::native_backend::NativeBackend;
use crate::device::wgpu_pipeline::{BindGroups, WgpuPipeline};
use crate::device::{CostModel, Device, ExecutionFailure, SubmitFailure};
use crate::driver::caps::Caps;
#[cfg(target_arch = "wasm32")]
use crate::driver::error_scopes::forget_notes_of;
use crate::driver::error_scopes::{Operation, scoped, scoped_memory};
use crate::driver::gl_gate::{GlGate, HostReach};
use crate::error::{Error, ErrorDetail, Result};
use crate::memory::allocations::{ByteMeter, MeteredVec};
use crate::memory::block::{Allocate, Block, BlockId, BufferRequest, Heap, Memory};
use crate::memory::external_buffers::{DroppedBlocks, ExternalBlocks, transition_external};
use crate::memory::pool::SpareBuffers;
use crate::memory::staging::{Arena, Staged, StagingPiece};
use crate::memory::wgpu_memory::{WgpuMemory, refused};
use crate::work::kernel_launch::{DevicePipeline, Pipeline, PipelineDescriptor};
use fencepost_kernels::report;
use fencepost_sync::backend::{LostFlag, poll};
#[cfg(native)]
use fencepost_sync::prim::MutexGuard;
use fencepost_sync::prim::{Mutex, lock, try_lock};
use fencepost_sync::{Lost, Slot, Stamp};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use web_time::Instant;
use wgpu::BufferUsages as Usages;

const MIB: u64 = 1 << 20;
/// Size of an ordinary staging chunk in bytes.
const CHUNK: u64 = MIB;
/// Maximum number of bytes of staging chunks that are kept for later.
const CACHE: u64 = 256 * MIB;
/// Shortest time between two probes for device loss.
const BETWEEN_PROBES: Duration = Duration::from_millis(50);

/// A wgpu device and its only queue.
pub(crate) struct WgpuDevice {
    pub(crate) parts: DeviceParts,
    /// Bytes of staging memory, in use and free.
    staging: Arc<ByteMeter>,
    uploads: Arena<WgpuMemory>,
    downloads: Arena<WgpuMemory>,
    /// Free wgpu staging buffers for uploads and for downloads. Used on devices without mapped memory.
    spares: [Arc<SpareBuffers>; 2],
    /// Bind groups of the wgpu recorder. The native recorder has a separate cache.
    groups: Mutex<BindGroups>,
    /// Dropped blocks that may still be in cached bind groups.
    gone: DroppedBlocks,
    external: Arc<ExternalBlocks>,
    /// `true` once there has been an external buffer. Before that, batches that bypass wgpu need not be searched for
    /// them.
    had_external: AtomicBool,
    /// `true` once the user has received wgpu's queue, or another context is on it, so that others may submit at any
    /// time. The lock is held during submissions that bypass wgpu, because a Vulkan queue takes one call at a time.
    exposed: Mutex<bool>,
    /// `true` if wgpu's next submission would not wait for the last submission that bypassed wgpu.
    is_past_wgpu: AtomicBool,
    /// Number of submissions of native bodies of graphs, for tests.
    pub(crate) native_bodies: AtomicU64,
    /// Time of the last probe for device loss.
    probed: Mutex<Option<Instant>>,
    pub(crate) late_failures: Arc<LateFailures>,
}

#[cfg(target_arch = "wasm32")]
impl Drop for WgpuDevice {
    /// Removes the notes of errors, which keep wgpu's device alive.
    fn drop(&mut self) {
        forget_notes_of(self.raw());
    }
}

/// Failures of commands that were reported after their submission.
#[derive(Default)]
pub(crate) struct LateFailures {
    /// Failures that the scheduler has not taken.
    failures: Mutex<Vec<ExecutionFailure>>,
    /// `true` if there was a failure since the recorder last asked.
    is_new: AtomicBool,
}

impl LateFailures {
    /// Adds the failure of each of these first commands.
    pub(crate) fn add(&self, firsts: Vec<(Slot, Stamp)>, error: &Error) {
        self.extend(firsts, error, false);
    }

    /// Adds the failure of each of these commands of the context, which fail [alone](ExecutionFailure::alone).
    pub(crate) fn add_alone(&self, commands: Vec<Stamp>, error: &Error) {
        self.extend(commands.into_iter().map(|stamp| (Slot::CONTEXT, stamp)), error, true);
    }

    fn extend(&self, commands: impl IntoIterator<Item = (Slot, Stamp)>, error: &Error, alone: bool) {
        let failed =
            |(slot, first)| ExecutionFailure { slot, first, error: error.clone(), refused: true, alone };
        lock(&self.failures).extend(commands.into_iter().map(failed));
        self.is_new.store(true, Ordering::Relaxed);
    }

    /// Takes the failures.
    pub(crate) fn take(&self) -> Vec<ExecutionFailure> {
        std::mem::take(&mut *lock(&self.failures))
    }

    /// Returns `true` if there was a failure since the last call.
    pub(crate) fn take_new(&self) -> bool {
        self.is_new.swap(false, Ordering::Relaxed)
    }
}

/// Path by which batches reach the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SubmitPath {
    /// wgpu records and submits the batch.
    Wgpu,
    /// wgpu-hal records the batch, and wgpu submits it.
    Hal,
    /// wgpu-hal records and submits the batch.
    Direct,
}

impl SubmitPath {
    fn name(self) -> &'static str {
        match self {
            SubmitPath::Wgpu => "wgpu",
            SubmitPath::Hal => "hal",
            SubmitPath::Direct => "direct",
        }
    }
}

/// The immutable parts of an opened device.
pub(crate) struct DeviceParts {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    pub(crate) caps: Caps,
    pub(crate) lost: LostFlag,
    /// `true` if a callback of this crate reports a loss. `false` on an adopted device, except in a browser, because its
    /// handlers belong to the user.
    pub(crate) reports_loss: bool,
    pub(crate) gate: Arc<GlGate>,
    /// Memory that the host can keep mapped.
    pub(crate) reach: HostReach,
    /// Backend below wgpu, if the options allow its use.
    pub(crate) native: Option<&'static dyn NativeBackend>,
    pub(crate) submit_path: SubmitPath,
    /// `true` if other code submits to the queue.
    pub(crate) shared: bool,
    /// Address of the native device below wgpu. (wgpu's own ids are not unique across instances.)
    pub(crate) hardware: Option<usize>,
    pub(crate) kernel_folder: Option<Arc<KernelFolder>>,
    /// Value of `Lane::async_submit` for the device's lane.
    pub(crate) async_submit: bool,
    pub(crate) cost_model: CostModel,
    /// Adapter that opened the device; `None` for a device of the user.
    pub(crate) adapter: Option<wgpu::Adapter>,
    /// Minimum number of launches in a stretch of a graph that is recorded once.
    pub(crate) native_replay_from: usize,
    /// `true` if errors of a submission are reported after it, as in a browser.
    pub(crate) late_errors: bool,
}

impl WgpuDevice {
    fn new(parts: DeviceParts) -> Self {
        let staging = Arc::default();
        let arena = || Arena::new(CHUNK, CACHE, &staging);
        let uploads = arena();
        let downloads = arena();
        let spares = [(); 2].map(|()| SpareBuffers::new(&parts.gate, CACHE));
        let gone = DroppedBlocks::default();
        let external = ExternalBlocks::new(&gone);
        Self {
            parts,
            staging,
            uploads,
            downloads,
            spares,
            groups: Mutex::default(),
            gone,
            external,
            had_external: AtomicBool::new(false),
            exposed: Mutex::new(false),
            is_past_wgpu: AtomicBool::new(false),
            native_bodies: AtomicU64::new(0),
            probed: Mutex::default(),
            late_failures: Arc::default(),
        }
    }

    /// Makes the device of a context.
    pub(crate) fn with_parts(parts: DeviceParts) -> Arc<Self> {
        let device = Arc::new(Self::new(parts));
        #[cfg(native)]
        device.join_others();
        device
    }

    /// Makes all contexts on this device's queue submit through wgpu if there are several, because wgpu lets only one
    /// thread submit at a time.
    #[cfg(native)]
    fn join_others(self: &Arc<Self>) {
        use std::sync::{Mutex, PoisonError, Weak};
        static OPEN: Mutex<Vec<Weak<WgpuDevice>>> = Mutex::new(Vec::new());
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|other| other.strong_count() > 0);
        // The lock must be released before the last handle of a device may be dropped here.
        let others: Vec<Arc<Self>> = open.iter().filter_map(Weak::upgrade).collect();
        open.push(Arc::downgrade(self));
        drop(open);
        let hardware = self.parts.hardware;
        for other in others.iter().filter(|other| hardware.is_some() && other.parts.hardware == hardware) {
            other.expose();
            self.expose();
        }
    }

    /// Records if wgpu's next submission would not wait for the last submission.
    #[cfg(native)]
    pub(crate) fn note_past_wgpu(&self, is_past: bool) {
        self.is_past_wgpu.store(is_past, Ordering::Relaxed);
    }

    /// Returns the parts that a compiler needs.
    pub(crate) fn compile_target(&self) -> CompileTarget<'_> {
        let folder = self.parts.kernel_folder.as_ref();
        CompileTarget { device: &self.parts.device, gate: &self.parts.gate, caps: &self.parts.caps, folder }
    }

    /// Returns `true` if batches are recorded by wgpu-hal instead of wgpu.
    fn past_wgpu(&self) -> bool {
        self.parts.submit_path != SubmitPath::Wgpu
    }

    /// Returns `true` if, according to the options, other code submits to the queue.
    pub(crate) fn is_shared(&self) -> bool {
        self.parts.shared
    }

    /// Returns `true` if wgpu still records for the device, or if there is no way to check that.
    pub(crate) fn still_records(&self) -> bool {
        self.parts.native.is_none_or(|native| native.still_records(&self.parts.device))
    }

    /// Records a barrier after which the host sees all writes so far. Returns `None` if no barrier is needed for that.
    pub(crate) fn host_barrier(&self) -> Option<wgpu::CommandBuffer> {
        self.parts.native?.host_barrier(&self.parts.device, &self.parts.queue)
    }

    /// Returns wgpu's device and queue to user code, which may submit from now on.
    pub(crate) fn expose(&self) -> (&wgpu::Device, &wgpu::Queue) {
        *lock(&self.exposed) = true;
        (&self.parts.device, &self.parts.queue)
    }

    /// Locks `exposed`, which is `true` if the user has received wgpu's queue or another context is on it.
    #[cfg(native)]
    pub(crate) fn exposed(&self) -> MutexGuard<'_, bool> {
        lock(&self.exposed)
    }

    pub(crate) fn raw(&self) -> &wgpu::Device {
        &self.parts.device
    }

    /// Makes a command encoder of wgpu.
    pub(crate) fn encoder(&self, label: &str) -> wgpu::CommandEncoder {
        self.raw().create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some(label) })
    }

    pub(crate) fn queue(&self) -> &wgpu::Queue {
        &self.parts.queue
    }

    pub(crate) fn lost(&self) -> &LostFlag {
        &self.parts.lost
    }

    pub(crate) fn gate(&self) -> &Arc<GlGate> {
        &self.parts.gate
    }

    /// Removes the bind groups of dropped blocks, and runs `work` with the others. Only the thread that holds the
    /// lane's token may call this.
    pub(crate) fn with_groups<T>(&self, work: impl FnOnce(&mut BindGroups) -> T) -> T {
        let mut groups = lock(&self.groups);
        self.sweep(&mut groups);
        work(&mut groups)
    }

    /// Returns a piece of memory for the device to copy from. `fill` writes its first `size` bytes, and zeros follow up
    /// to the next multiple of 16. Returns `None` if the device has no such memory.
    pub(crate) fn staged(
        &self,
        size: u64,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> Result<Option<StagingPiece<WgpuMemory>>> {
        let Some(mut piece) = self.piece(&self.uploads, Heap::Upload, size, "upload staging")? else {
            return Ok(None);
        };
        piece.fill(&mut |bytes| {
            let (bytes, rest) = bytes.split_at_mut(size as usize);
            fill(bytes);
            rest[..size.next_multiple_of(16) as usize - bytes.len()].fill(0);
        })?;
        Ok(Some(piece))
    }

    /// Returns the counter of the staging memory.
    pub(crate) fn meter(&self) -> &Arc<ByteMeter> {
        &self.staging
    }

    /// Returns the free wgpu staging buffers of a map mode.
    pub(crate) fn spares(&self, mode: wgpu::MapMode) -> &Arc<SpareBuffers> {
        &self.spares[usize::from(mode == wgpu::MapMode::Read)]
    }

    /// Returns a piece of memory for the device to copy to and the host to read. Returns `None` if the device has no
    /// such memory.
    pub(crate) fn download_piece(&self, size: u64) -> Result<Option<StagingPiece<WgpuMemory>>> {
        self.piece(&self.downloads, Heap::Download, size, "download staging")
    }

    /// Returns a piece of staging memory. Returns `None` if wgpu records and the host cannot keep memory mapped. Then
    /// the wgpu recorder uses staging buffers that wgpu maps for each use.
    fn piece(
        &self,
        arena: &Arena<WgpuMemory>,
        heap: Heap,
        size: u64,
        label: &str,
    ) -> Result<Option<StagingPiece<WgpuMemory>>> {
        let mapped = self.parts.reach >= HostReach::Staging;
        if !mapped && !self.past_wgpu() {
            return Ok(None);
        }
        let chunk = |size| {
            let made = self.native(BufferRequest { heap, mapped, size, label })?;
            made.ok_or_else(|| self.no_memory(label))
        };
        arena.take(size, chunk).map(Some)
    }

    /// Allocates memory below wgpu, or returns `None` if the device has no such memory.
    fn native(&self, wanted: BufferRequest<'_>) -> Result<Option<WgpuMemory>> {
        let Some(backend) = self.parts.native else { return Ok(None) };
        let made = backend.allocate(&self.parts.device, wanted);
        match made.map_err(|error| refused(&error, wanted.label, wanted.size))? {
            None => Ok(None),
            Some(native) if self.past_wgpu() => Ok(Some(WgpuMemory::native_only(native, &self.parts.gate))),
            Some(native) => WgpuMemory::of_native(&self.parts.device, &self.parts.gate, native, wanted),
        }
    }

    /// Returns the error of an allocation that returned neither memory nor an error, as happens on a lost device.
    pub(crate) fn no_memory(&self, label: &str) -> Error {
        let message = format!("device `{}` is lost", self.parts.caps.adapter);
        self.alive().err().unwrap_or_else(|| ErrorDetail::Device { object: label.into(), message }.into())
    }

    /// Returns `Ok` unless the device is known to be lost.
    ///
    /// # Errors
    /// Returns `DeviceLost`.
    pub(crate) fn alive(&self) -> Result<()> {
        let lost = |lost: Lost| ErrorDetail::DeviceLost {
            device: self.parts.caps.adapter.clone(),
            reason: lost.reason,
        };
        Ok(self.parts.lost.check().map_err(lost)?)
    }

    /// Returns the failure of a whole batch: the loss of the device if it is lost, else `error`.
    pub(crate) fn failure(&self, error: impl FnOnce() -> Error) -> SubmitFailure {
        let error = self.alive().err().unwrap_or_else(error);
        SubmitFailure { step: None, error, lost: self.parts.lost.is_raised() }
    }

    /// Returns `true` if there has been an array on an external buffer of this device.
    #[cfg(native)]
    pub(crate) fn had_external_buffers(&self) -> bool {
        self.had_external.load(Ordering::Relaxed)
    }

    /// Returns the blocks of external buffers.
    pub(crate) fn external(&self) -> &ExternalBlocks {
        &self.external
    }

    /// Makes a zeroed wgpu buffer that user code may use too.
    ///
    /// # Errors
    /// Returns `TooLarge`, `OutOfMemory`, the error that wgpu reports, or `DeviceLost`.
    pub(crate) fn shared_buffer(&self, bytes: u64, usage: Usages, label: &str) -> Result<wgpu::Buffer> {
        self.alive()?;
        let object = format!("array `{label}`");
        let limit = self.parts.caps.max_block;
        let size = bytes.max(1).checked_next_multiple_of(16).filter(|&size| size <= limit);
        let Some(size) = size else { return Err(ErrorDetail::TooLarge { object, bytes, limit }.into()) };
        let desc = wgpu::BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: false };
        let _inside = self.parts.gate.enter();
        Operation { object: &object, bytes }.run(self.raw(), || self.raw().create_buffer(&desc))
    }

    /// Returns the block of an external buffer. The contents of the buffer stay.
    ///
    /// # Errors
    /// Returns `Device` if wgpu says that the buffer belongs to another device, or `DeviceLost`.
    pub(crate) fn block_on(&self, buffer: &wgpu::Buffer, label: &Arc<str>) -> Result<Arc<Block>> {
        self.alive()?;
        let _inside = self.parts.gate.enter();
        let operation = Operation { object: &format!("array `{label}`"), bytes: 0 };
        operation.run(self.raw(), || self.using(buffer))?;
        // Commands on the block are enqueued later, and the state lock S orders this store before their batches are
        // recorded.
        self.had_external.store(true, Ordering::Relaxed);
        Ok(self.external.block(buffer, || {
            let id = BlockId::next();
            let memory = WgpuMemory::external_on(buffer, id, &self.parts.gate, self.external.clone());
            Arc::new(Block::external(id, buffer.size(), Memory::Wgpu(memory), label))
        }))
    }

    /// Returns wgpu's error if it would now refuse work on an external buffer.
    pub(crate) fn refusal(&self, buffer: &wgpu::Buffer, label: &str) -> Option<Error> {
        let _inside = self.parts.gate.enter();
        let operation = Operation { object: &format!("array `{label}`"), bytes: 0 };
        operation.run(self.raw(), || self.queue().submit([self.using(buffer)])).err()
    }

    /// Returns commands that use the buffer without doing anything.
    fn using(&self, buffer: &wgpu::Buffer) -> wgpu::CommandBuffer {
        let mut encoder = self.encoder("external buffers");
        transition_external(&mut encoder, std::iter::once(buffer));
        encoder.finish()
    }

    /// Calls `forget` for each block that was dropped since the last call.
    pub(crate) fn take_gone(&self, forget: impl FnMut(BlockId)) {
        std::mem::take(&mut *lock(&self.gone)).into_iter().for_each(forget);
    }

    /// Allocates device memory that wgpu does not track, for the native recorder. Its contents are undefined.
    ///
    /// # Errors
    /// Returns `OutOfMemory`, or `Device` if the device is lost and the loss is not reported yet.
    #[cfg(native)]
    pub(crate) fn scratch(&self, size: u64, label: &str) -> Result<WgpuMemory> {
        let made = self.native(BufferRequest { heap: Heap::Device, mapped: false, size, label })?;
        made.ok_or_else(|| self.no_memory(label))
    }

    /// Removes the bind groups of dropped blocks from the wgpu recorder's cache.
    fn sweep(&self, groups: &mut BindGroups) {
        if self.past_wgpu() {
            return; // the recorder holds the groups, and will remove those of dropped blocks
        }
        self.take_gone(|block| groups.forget(block));
    }
}

impl Device for WgpuDevice {
    fn caps(&self) -> &Caps {
        &self.parts.caps
    }

    fn recorder(&self) -> &'static str {
        self.parts.submit_path.name()
    }

    fn hardware(&self) -> Option<usize> {
        self.parts.hardware.filter(|_| !self.is_past_wgpu.load(Ordering::Relaxed))
    }

    fn pinned(&self) -> bool {
        self.parts.reach >= HostReach::Staging
    }

    fn stage(&self, size: u64, fill: &mut dyn FnMut(&mut [u8])) -> Result<Staged> {
        self.alive()?;
        if self.pinned()
            && let Some(piece) = self.staged(size, fill)?
        {
            return Ok(Staged::Wgpu(Arc::new(piece)));
        }
        let mut bytes = vec![0; size as usize];
        fill(&mut bytes);
        Ok(Staged::Host(MeteredVec::new(bytes, &self.staging)))
    }

    fn trim_staging(&self) -> u64 {
        let spares: u64 = self.spares.iter().map(|spares| spares.trim()).sum();
        self.uploads.trim() + self.downloads.trim() + spares
    }

    fn staging(&self) -> (u64, u64) {
        let (used, free) = self.staging.read();
        let open = self.uploads.open() + self.downloads.open();
        (used.saturating_sub(open), free + open)
    }

    fn compile(&self, recipe: &PipelineDescriptor<'_>) -> Result<Pipeline> {
        self.alive()?;
        let _inside = self.parts.gate.enter();
        if let Some(native) = self.parts.native.filter(|_| self.past_wgpu()) {
            return native.compile(self.compile_target(), recipe);
        }
        WgpuPipeline::new(self.compile_target(), recipe)
            .map(|made| Pipeline::Device(DevicePipeline::new(made)))
    }

    #[cfg(target_arch = "wasm32")]
    fn refusal_of<'k>(&self, kernel: &'k Pipeline) -> Option<&'k Error> {
        let Pipeline::Device(pipeline) = kernel else { return None };
        pipeline.downcast_ref::<WgpuPipeline>()?.refusal()
    }

    fn nanoseconds_a_tick(&self) -> f64 {
        f64::from(self.parts.queue.get_timestamp_period())
    }

    fn forget(&self, block: &Block) {
        lock(&self.gone).push(block.id);
        if let Some(mut groups) = try_lock(&self.groups) {
            self.sweep(&mut groups);
        }
    }

    fn tick(&self) -> bool {
        self.parts.gate.try_inside(|| {
            if let Some(mut groups) = try_lock(&self.groups) {
                self.sweep(&mut groups);
            }
        });
        poll(&self.parts.device, &self.parts.lost, self.parts.gate.turn()).unwrap_or_else(|lost| {
            report!(Debug, "device `{}`: {lost}", self.parts.caps.adapter);
            true
        })
    }

    fn poll_loss(&self) -> bool {
        let ticked = self.tick();
        let mut probed = lock(&self.probed);
        if self.parts.reports_loss
            || self.parts.lost.is_raised()
            || probed.is_some_and(|last| last.elapsed() < BETWEEN_PROBES)
        {
            return ticked;
        }
        *probed = Some(Instant::now());
        self.parts.gate.try_inside(|| self.probe());
        ticked
    }

    fn take_failures(&self, _last: Stamp) -> Vec<ExecutionFailure> {
        if !self.parts.late_errors {
            return Vec::new();
        }
        self.late_failures.take()
    }

    fn is_gone(&self) -> bool {
        self.parts.gate.try_inside(|| self.probe());
        self.parts.lost.is_raised()
    }
}

impl WgpuDevice {
    /// Checks for device loss with [`responds`](Self::responds). The caller must hold the device's gate.
    pub(crate) fn probe(&self) {
        let probe = scoped(&self.parts.device, || self.responds());
        if !probe.made && probe.error.is_none() {
            self.parts.lost.raise("a mapped buffer could not be made, and no error was reported");
        }
    }

    /// Returns `true` if the device makes a small mapped buffer or reports that it has no memory for one. A lost device
    /// does neither.
    ///
    /// wgpu counts a submission to a lost device as complete, and outside of a browser an adopted device has no loss
    /// callback of this crate, so this probe is the only way to notice a loss. The caller must open an error scope, so
    /// that other errors are not taken for a loss.
    pub(crate) fn responds(&self) -> bool {
        let usage = wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC;
        let label = Some("is it there");
        let mapped_at_creation = true;
        let desc = wgpu::BufferDescriptor { label, size: 16, usage, mapped_at_creation };
        let mapped = || self.parts.device.create_buffer(&desc).get_mapped_range(..).is_ok();
        let (mapped, no_memory) = scoped_memory(&self.parts.device, mapped);
        mapped || no_memory
    }
}

impl Allocate for WgpuDevice {
    fn allocate(&self, heap: Heap, size: u64, label: &str) -> Result<Memory> {
        self.alive()?;
        if size > self.parts.caps.max_block {
            let object = label.to_owned();
            let limit = self.parts.caps.max_block;
            return Err(ErrorDetail::TooLarge { object, bytes: size, limit }.into());
        }
        let needed = if heap == Heap::Device { HostReach::All } else { HostReach::Staging };
        let plain = BufferRequest { heap, mapped: false, size, label };
        let mapped = self.parts.reach >= needed;
        let _inside = self.parts.gate.enter();
        if mapped && let Some(memory) = self.native(BufferRequest { mapped, ..plain })? {
            return Ok(Memory::Wgpu(memory));
        }
        if !self.past_wgpu() {
            let DeviceParts { device, gate, late_errors, .. } = &self.parts;
            return WgpuMemory::plain(device, gate, plain, *late_errors).map(Memory::Wgpu);
        }
        self.native(plain)?.map(Memory::Wgpu).ok_or_else(|| self.no_memory(label))
    }
}
/// Limit of a context's backlog: the work that is enqueued but not yet given to the device.
///
/// While the backlog is full, calls on a queue with at least a sixteenth of the limit block until there is room; queues
/// with less work go on. The filling of arrays that the context makes counts as a separate queue, which blocks only at
/// the full limit.
///
/// Where a call must not block, it returns [`ErrorDetail::Backlog`](crate::ErrorDetail::Backlog) instead: in a host
/// callback, in a host function that replaces a kernel, and in a browser. It also does so if its queue waits for user
/// code. That is a wait for a user event or for the end of a map, or one of more than 10 seconds for a host callback or
/// another context.
///
/// # Example
/// ```
/// use fencepost::{AdapterChoice, BacklogLimit, Context, ContextOptions};
/// let backlog = BacklogLimit::default().commands(1000);
/// let options = ContextOptions::default().adapter(AdapterChoice::Cpu).backlog(backlog);
/// let ctx = Context::with_options(options).wait()?;
/// let (queue, mut x) = (ctx.queue("main"), ctx.zeros::<u32, 1>([4])?);
/// for i in 0..5000 {
///     queue.fill(&mut x, i)?; // at most 1000 of them wait at a time
/// }
/// assert_eq!(queue.read(&x).wait()?, [4999; 4]);
/// # Ok::<(), fencepost::Error>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BacklogLimit {
    /// Maximum number of commands. The default is 131,072.
    pub commands: usize,
    /// Maximum number of bytes of uploads, and of the memory of conditions and loops outside of captures. The default is
    /// 1 GiB. A single command may have more.
    pub bytes: u64,
}

impl Default for BacklogLimit {
    fn default() -> Self {
        Self { commands: 1 << 17, bytes: 1 << 30 }
    }
}

impl BacklogLimit {
    /// Sets the maximum number of commands.
    #[must_use]
    pub fn commands(mut self, commands: usize) -> Self {
        self.commands = commands;
        self
    }

    /// Sets the maximum number of bytes.
    #[must_use]
    pub fn bytes(mut self, bytes: u64) -> Self {
        self.bytes = bytes;
        self
    }
}
