//! A wgpu device, as a context needs it.

use crate::device::bind_groups::BindGroups;
use crate::device::kernel_folder::KernelFolder;
use crate::device::kernel_origin::CompileTarget;
use crate::device::native_backend::NativeBackend;
use crate::device::wgpu_pipeline::WgpuPipeline;
use crate::device::{CostModel, Device};
use crate::driver::caps::Caps;
use crate::driver::error_scopes::{Operation, scoped, scoped_memory};
use crate::driver::gl_gate::GlGate;
use crate::driver::reach::HostReach;
use crate::error::{Kind, Result};
use crate::memory::block::{Allocate, Block, Memory};
use crate::memory::byte_meter::{ByteMeter, MeteredVec};
use crate::memory::external_blocks_by_buffer::{DroppedBlocks, ExternalBlocks};
use crate::memory::external_buffers::transition_external;
use crate::memory::heap::{BlockId, BufferRequest, Heap};
use crate::memory::spare_buffers::SpareBuffers;
use crate::memory::staged_bytes::Staged;
use crate::memory::staging::{Arena, StagingPiece};
use crate::memory::wgpu_memory::{WgpuMemory, refused};
use crate::work::compiled_kernel::{Pipeline, Recipe};
use fencepost_sync::backend::{LostFlag, poll};
use fencepost_sync::prim::{Mutex, lock};
use std::sync::Arc;
use std::time::Duration;
use web_time::Instant;
use wgpu::BufferUsages as Usages;

const MIB: u64 = 1 << 20;
/// Bytes of an ordinary staging chunk, and of all that are kept for later.
const CHUNK: u64 = MIB;
const CACHE: u64 = 256 * MIB;
/// The shortest time between two questions whether the device is still there.
const BETWEEN_PROBES: Duration = Duration::from_millis(50);

/// A wgpu device with its one queue.
pub(crate) struct WgpuDevice {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    pub(crate) caps: Caps,
    pub(crate) lost: LostFlag,
    /// Whether wgpu tells of a loss: where the handlers are the program's it does not.
    told: bool,
    pub(crate) gate: Arc<GlGate>,
    pub(crate) reach: HostReach,
    /// The backend below wgpu, if it may be used.
    pub(crate) native: Option<&'static dyn NativeBackend>,
    pub(crate) way: SubmitPath,
    /// Whether others submit to its queue.
    shared: bool,
    hardware: Option<usize>,
    kernel_folder: Option<Arc<KernelFolder>>,
    /// As its lane has it.
    pub(crate) async_submit: bool,
    pub(crate) pace: CostModel,
    staging: Arc<ByteMeter>,
    uploads: Arena<WgpuMemory>,
    downloads: Arena<WgpuMemory>,
    /// For uploads and for downloads, where the host reaches no memory for good.
    spares: [Arc<SpareBuffers>; 2],
    groups: Mutex<BindGroups>,
    gone: DroppedBlocks,
    foreign: Arc<ExternalBlocks>,
    /// When it was last asked whether it is still there.
    probed: Mutex<Option<Instant>>,
}

/// The way of a batch to the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SubmitPath {
    /// Recorded and submitted by wgpu.
    Wgpu,
    /// Recorded past wgpu, submitted by it.
    Hal,
    /// Recorded and submitted past wgpu.
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

/// The parts of an opened device.
pub(crate) struct Opened {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    pub(crate) caps: Caps,
    pub(crate) lost: LostFlag,
    pub(crate) told: bool,
    pub(crate) gate: Arc<GlGate>,
    pub(crate) reach: HostReach,
    pub(crate) native: Option<&'static dyn NativeBackend>,
    pub(crate) way: SubmitPath,
    pub(crate) shared: bool,
    /// Where the device below wgpu is: wgpu's own numbers begin anew in each of its instances.
    pub(crate) hardware: Option<usize>,
    pub(crate) kernel_folder: Option<Arc<KernelFolder>>,
    pub(crate) async_submit: bool,
    pub(crate) pace: CostModel,
}

impl WgpuDevice {
    pub(crate) fn new(opened: Opened) -> Self {
        let staging = Arc::default();
        let arena = || Arena::new(CHUNK, CACHE, &staging);
        let (uploads, downloads) = (arena(), arena());
        let spares = [(); 2].map(|()| SpareBuffers::new(&opened.gate, CACHE));
        let (groups, gone, probed) = Default::default();
        let foreign = ExternalBlocks::new(&gone);
        Self {
            device: opened.device,
            queue: opened.queue,
            caps: opened.caps,
            lost: opened.lost,
            told: opened.told,
            gate: opened.gate,
            reach: opened.reach,
            native: opened.native,
            way: opened.way,
            shared: opened.shared,
            hardware: opened.hardware,
            kernel_folder: opened.kernel_folder,
            async_submit: opened.async_submit,
            pace: opened.pace,
            staging,
            uploads,
            downloads,
            spares,
            groups,
            gone,
            foreign,
            probed,
        }
    }

    /// Returns the parts that a compiler needs.
    pub(crate) fn compile_target(&self) -> CompileTarget<'_> {
        let folder = self.kernel_folder.as_ref();
        CompileTarget { device: &self.device, gate: &self.gate, caps: &self.caps, folder }
    }

    fn past_wgpu(&self) -> bool {
        self.way != SubmitPath::Wgpu
    }

    /// Whether others submit to its queue, as far as it was said when it was opened.
    pub(crate) fn is_shared(&self) -> bool {
        self.shared
    }

    /// Whether wgpu still knows the device, as far as there is a way to ask.
    pub(crate) fn is_known(&self) -> bool {
        self.native.is_none_or(|native| native.knows(&self.device))
    }

    pub(crate) fn raw(&self) -> &wgpu::Device {
        &self.device
    }

    pub(crate) fn queue(&self) -> &wgpu::Queue {
        &self.queue
    }

    pub(crate) fn lost(&self) -> &LostFlag {
        &self.lost
    }

    pub(crate) fn gate(&self) -> &Arc<GlGate> {
        &self.gate
    }

    /// Runs `work` with the bind groups, cleared of what is gone. Only for who holds the lane's token.
    pub(crate) fn with_groups<T>(&self, work: impl FnOnce(&mut BindGroups) -> T) -> T {
        let mut groups = lock(&self.groups);
        self.sweep(&mut groups);
        work(&mut groups)
    }

    /// A piece of memory that the device copies from: `size` bytes as `fill` leaves them, and zeros up to the next
    /// multiple of 16; `None` without such memory.
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

    /// What counts its staging memory.
    pub(crate) fn meter(&self) -> &Arc<ByteMeter> {
        &self.staging
    }

    /// The staging buffers that wgpu maps in a mode and nobody uses.
    pub(crate) fn spares(&self, mode: wgpu::MapMode) -> &Arc<SpareBuffers> {
        &self.spares[usize::from(mode == wgpu::MapMode::Read)]
    }

    /// A piece of memory that the device copies to and the host reads; `None` without such memory.
    pub(crate) fn download_piece(&self, size: u64) -> Result<Option<StagingPiece<WgpuMemory>>> {
        self.piece(&self.downloads, Heap::Download, size, "download staging")
    }

    fn piece(
        &self,
        arena: &Arena<WgpuMemory>,
        heap: Heap,
        size: u64,
        label: &str,
    ) -> Result<Option<StagingPiece<WgpuMemory>>> {
        let mapped = self.reach >= HostReach::Staging;
        if !mapped && !self.past_wgpu() {
            return Ok(None);
        }
        let chunk = |size| {
            let made = self.native(BufferRequest { heap, mapped, size, label })?;
            made.ok_or_else(|| self.refused(label, "memory that the host reaches is gone"))
        };
        arena.take(size, chunk).map(Some)
    }

    /// Memory below wgpu; `None` without such memory.
    fn native(&self, wanted: BufferRequest<'_>) -> Result<Option<WgpuMemory>> {
        let Some(backend) = self.native else { return Ok(None) };
        let made = backend.allocate(&self.device, wanted);
        match made.map_err(|error| refused(&error, wanted.label, wanted.size))? {
            None => Ok(None),
            Some(native) if self.past_wgpu() => Ok(Some(WgpuMemory::bare(native, &self.gate))),
            Some(native) => WgpuMemory::lent(&self.device, &self.gate, native, wanted),
        }
    }

    fn refused(&self, object: &str, message: &str) -> crate::error::Error {
        match self.lost.check() {
            Ok(()) => Kind::Device { object: object.into(), message: message.into() }.into(),
            Err(lost) => Kind::DeviceLost { device: self.caps.adapter.clone(), reason: lost.reason }.into(),
        }
    }

    fn alive(&self, object: &str) -> Result<()> {
        if self.lost.is_raised() { Err(self.refused(object, "")) } else { Ok(()) }
    }

    /// The blocks on buffers of the program's own.
    pub(crate) fn foreign(&self) -> &ExternalBlocks {
        &self.foreign
    }

    /// A buffer of zeros that the program will know.
    ///
    /// # Errors
    /// `TooLarge`, `OutOfMemory`, or whatever wgpu says; `DeviceLost`.
    pub(crate) fn shared_buffer(&self, bytes: u64, usage: Usages, label: &str) -> Result<wgpu::Buffer> {
        self.alive(label)?;
        let (object, limit) = (format!("array `{label}`"), self.caps.max_block);
        let size = bytes.max(1).checked_next_multiple_of(16).filter(|&size| size <= limit);
        let Some(size) = size else { return Err(Kind::TooLarge { object, bytes, limit }.into()) };
        let desc = wgpu::BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: false };
        let _inside = self.gate.enter();
        let (buffer, error) = scoped(&self.device, || self.device.create_buffer(&desc));
        error.map_or(Ok(buffer), |error| Err(Operation { object: &object, bytes }.failed(&error)))
    }

    /// The block on a buffer of the program's own, which keeps its bytes.
    ///
    /// # Errors
    /// `Device` if wgpu takes the buffer for another device's; `DeviceLost`.
    pub(crate) fn block_on(&self, buffer: &wgpu::Buffer, label: &Arc<str>) -> Result<Arc<Block>> {
        self.alive(label)?;
        let _inside = self.gate.enter();
        let (_, error) = scoped(&self.device, || self.using(buffer));
        if let Some(error) = error {
            return Err(Operation { object: &format!("array `{label}`"), bytes: 0 }.failed(&error));
        }
        Ok(self.foreign.block(buffer, || {
            let id = BlockId::next();
            let memory = WgpuMemory::external_on(buffer, id, &self.gate, self.foreign.clone());
            Arc::new(Block::foreign(id, buffer.size(), Memory::Wgpu(memory), label))
        }))
    }

    /// What wgpu has against work on a buffer of the program's own now, if anything.
    pub(crate) fn refusal(&self, buffer: &wgpu::Buffer, label: &str) -> Option<crate::error::Error> {
        let _inside = self.gate.enter();
        let (_, error) = scoped(&self.device, || self.queue.submit([self.using(buffer)]));
        error.map(|error| Operation { object: &format!("array `{label}`"), bytes: 0 }.failed(&error))
    }

    /// Commands that use the buffer, and nothing else.
    fn using(&self, buffer: &wgpu::Buffer) -> wgpu::CommandBuffer {
        let mut encoder =
            self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("foreign") });
        transition_external(&mut encoder, std::iter::once(buffer));
        encoder.finish()
    }

    /// Hands over the blocks that are gone.
    #[cfg(native)]
    pub(crate) fn take_gone(&self, forget: impl FnMut(BlockId)) {
        std::mem::take(&mut *lock(&self.gone)).into_iter().for_each(forget);
    }

    /// Memory of the device that wgpu does not know, for the native recorder's own use. Its bytes are anything.
    ///
    /// # Errors
    /// Out of memory.
    #[cfg(native)]
    pub(crate) fn scratch(&self, size: u64, label: &str) -> Result<WgpuMemory> {
        let made = self.native(BufferRequest { heap: Heap::Device, mapped: false, size, label })?;
        made.ok_or_else(|| self.refused(label, "the device is gone"))
    }

    fn sweep(&self, groups: &mut BindGroups) {
        if self.past_wgpu() {
            return; // the recorder has the groups, and takes what is gone
        }
        for block in std::mem::take(&mut *lock(&self.gone)) {
            groups.forget(block);
        }
    }
}

impl Device for WgpuDevice {
    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn recorder(&self) -> &'static str {
        self.way.name()
    }

    fn hardware(&self) -> Option<usize> {
        self.hardware
    }

    fn pinned(&self) -> bool {
        self.reach >= HostReach::Staging
    }

    fn stage(&self, size: u64, fill: &mut dyn FnMut(&mut [u8])) -> Result<Staged> {
        self.alive("an upload")?;
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

    fn compile(&self, recipe: &Recipe<'_>) -> Result<Pipeline> {
        self.alive(&recipe.interface.entry)?;
        let _inside = self.gate.enter();
        if let Some(native) = self.native.filter(|_| self.past_wgpu()) {
            return native.compile(self.compile_target(), recipe);
        }
        WgpuPipeline::new(self.compile_target(), recipe).map(|made| Pipeline::Device(Box::new(made)))
    }

    fn nanoseconds_a_tick(&self) -> f64 {
        f64::from(self.queue.get_timestamp_period())
    }

    fn forget(&self, block: &Block) {
        lock(&self.gone).push(block.id);
        if let Ok(mut groups) = self.groups.try_lock() {
            self.sweep(&mut groups);
        }
    }

    fn tick(&self) -> bool {
        self.gate.try_inside(|| {
            if let Ok(mut groups) = self.groups.try_lock() {
                self.sweep(&mut groups);
            }
        });
        poll(&self.device, &self.lost, self.gate.turn()).unwrap_or_else(|lost| {
            log::debug!("device `{}`: {lost}", self.caps.adapter);
            true
        })
    }

    fn poll_loss(&self) -> bool {
        let ticked = self.tick();
        let mut probed = lock(&self.probed);
        if self.told || self.lost.is_raised() || probed.is_some_and(|last| last.elapsed() < BETWEEN_PROBES) {
            return ticked;
        }
        *probed = Some(Instant::now());
        self.gate.try_inside(|| self.probe());
        ticked
    }

    fn is_gone(&self) -> bool {
        self.gate.try_inside(|| self.probe());
        self.lost.is_raised()
    }
}

impl WgpuDevice {
    /// Asks whether the device is still there, as [`answers`](Self::answers) does. Only for who is inside the gate.
    pub(crate) fn probe(&self) {
        let (answers, reason) = scoped(&self.device, || self.answers());
        if !answers && reason.is_none() {
            self.lost.raise("it no longer makes buffers");
        }
    }

    /// Whether the device gives a few mapped bytes, or has no memory for them; one that is gone does neither. It says nothing
    /// else: a submission that it does not make counts as done, and where the handlers are the program's nobody is told. Only
    /// in an error scope, which knows of other reasons.
    pub(crate) fn answers(&self) -> bool {
        let usage = wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC;
        let (label, mapped_at_creation) = (Some("is it there"), true);
        let desc = wgpu::BufferDescriptor { label, size: 16, usage, mapped_at_creation };
        let mapped = || self.device.create_buffer(&desc).get_mapped_range(..).is_ok();
        let (mapped, no_memory) = scoped_memory(&self.device, mapped);
        mapped || no_memory
    }
}

impl Allocate for WgpuDevice {
    fn allocate(&self, heap: Heap, size: u64, label: &str) -> Result<Memory> {
        self.alive(label)?;
        if size > self.caps.max_block {
            let (object, limit) = (label.to_owned(), self.caps.max_block);
            return Err(Kind::TooLarge { object, bytes: size, limit }.into());
        }
        let needed = if heap == Heap::Device { HostReach::All } else { HostReach::Staging };
        let (plain, mapped) = (BufferRequest { heap, mapped: false, size, label }, self.reach >= needed);
        let _inside = self.gate.enter();
        if mapped && let Some(memory) = self.native(BufferRequest { mapped, ..plain })? {
            return Ok(Memory::Wgpu(memory));
        }
        if !self.past_wgpu() {
            return WgpuMemory::plain(&self.device, &self.gate, plain).map(Memory::Wgpu);
        }
        self.native(plain)?.map(Memory::Wgpu).ok_or_else(|| self.refused(label, "the device is gone"))
    }
}
