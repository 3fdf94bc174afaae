//! A wgpu device, as a context needs it.

use super::bind_groups::BindGroups;
use super::gate::Gate;
#[cfg(vulkan)]
use super::hal::HalPipeline;
use super::memory::WgpuMemory;
use super::{Caps, Device, Opaque, WgpuPipeline};
use crate::error::{Kind, Result};
use crate::kernel::{Pipeline, Recipe};
use crate::memory::{Allocate, Arena, Block, BlockId, Heap, Memory, Piece, Staged};
use fencepost_sync::backend::{LostFlag, poll};
use fencepost_sync::prim::{Mutex, lock};
use std::sync::Arc;

const MIB: u64 = 1 << 20;
/// Bytes of an ordinary staging chunk, and of all that are kept for later.
const CHUNK: u64 = MIB;
const CACHE: u64 = 256 * MIB;

/// A wgpu device with its one queue.
pub(crate) struct WgpuDevice {
    pub(super) device: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    pub(super) caps: Caps,
    pub(super) lost: LostFlag,
    pub(super) gate: Arc<Gate>,
    pub(super) reach: Reach,
    /// Whether batches are recorded past wgpu.
    pub(super) hal: bool,
    uploads: Arena<WgpuMemory>,
    downloads: Arena<WgpuMemory>,
    groups: Mutex<BindGroups>,
    /// Blocks that are gone and may still be bound in `groups`.
    gone: Mutex<Vec<BlockId>>,
}

/// Which memory the host reaches where it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Debug)]
pub(crate) enum Reach {
    Nothing,
    /// Staging memory and pinned arrays.
    Staging,
    /// Those, and the device's own: it is the same memory.
    All,
}

/// The parts of an opened device.
pub(super) struct Opened {
    pub(super) device: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    pub(super) caps: Caps,
    pub(super) lost: LostFlag,
    pub(super) gate: Arc<Gate>,
    pub(super) reach: Reach,
    pub(super) hal: bool,
}

impl WgpuDevice {
    pub(super) fn new(opened: Opened) -> Self {
        let Opened { device, queue, caps, lost, gate, reach, hal } = opened;
        let (uploads, downloads) = (Arena::new(CHUNK, CACHE), Arena::new(CHUNK, CACHE));
        let (groups, gone) = Default::default();
        Self { device, queue, caps, lost, gate, reach, hal, uploads, downloads, groups, gone }
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

    pub(crate) fn gate(&self) -> &Arc<Gate> {
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
    ) -> Result<Option<Piece<WgpuMemory>>> {
        let Some(mut piece) = self.piece(&self.uploads, Heap::Upload, size, "upload staging")? else {
            return Ok(None);
        };
        let (memory, claim) = piece.claim_mut();
        if let Some(view) = memory.view() {
            let (bytes, rest) = view.claimed_mut(claim).split_at_mut(size as usize);
            fill(bytes);
            rest[..size.next_multiple_of(16) as usize - bytes.len()].fill(0);
        }
        Ok(Some(piece))
    }

    /// A piece of memory that the device copies to and the host reads; `None` without such memory.
    pub(crate) fn download_piece(&self, size: u64) -> Result<Option<Piece<WgpuMemory>>> {
        self.piece(&self.downloads, Heap::Download, size, "download staging")
    }

    fn piece(
        &self,
        arena: &Arena<WgpuMemory>,
        heap: Heap,
        size: u64,
        label: &str,
    ) -> Result<Option<Piece<WgpuMemory>>> {
        if self.reach < Reach::Staging {
            return Ok(None);
        }
        let mapped = |size| {
            let made = WgpuMemory::mapped(&self.device, &self.gate, heap, size, label)?;
            made.ok_or_else(|| self.refused(label, "memory that the host reaches is gone"))
        };
        arena.take(size, mapped).map(Some)
    }

    fn refused(&self, object: &str, message: &str) -> crate::Error {
        match self.lost.check() {
            Ok(()) => Kind::Device { object: object.into(), message: message.into() }.into(),
            Err(lost) => Kind::DeviceLost { device: self.caps.adapter.clone(), reason: lost.reason }.into(),
        }
    }

    fn alive(&self, object: &str) -> Result<()> {
        if self.lost.is_raised() { Err(self.refused(object, "")) } else { Ok(()) }
    }

    /// Hands over the blocks that are gone.
    #[cfg(vulkan)]
    pub(crate) fn take_gone(&self, forget: impl FnMut(BlockId)) {
        std::mem::take(&mut *lock(&self.gone)).into_iter().for_each(forget);
    }

    /// Memory that is not wgpu's.
    ///
    /// # Errors
    /// Out of memory.
    #[cfg(vulkan)]
    pub(crate) fn native_memory(&self, heap: Heap, size: u64, label: &str) -> Result<WgpuMemory> {
        let made = WgpuMemory::mapped(&self.device, &self.gate, heap, size, label)?;
        made.ok_or_else(|| self.refused(label, "memory that the host reaches is gone"))
    }

    fn sweep(&self, groups: &mut BindGroups) {
        if self.hal {
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
        if self.hal { "hal" } else { "wgpu" }
    }

    fn pinned(&self) -> bool {
        self.reach >= Reach::Staging
    }

    fn stage(&self, size: u64, fill: &mut dyn FnMut(&mut [u8])) -> Result<Staged> {
        self.alive("an upload")?;
        if let Some(piece) = self.staged(size, fill)? {
            return Ok(Staged::Wgpu(Arc::new(piece)));
        }
        let mut bytes = vec![0; size as usize].into_boxed_slice();
        fill(&mut bytes);
        Ok(Staged::Host(bytes))
    }

    fn compile(&self, recipe: &Recipe<'_>) -> Result<Pipeline> {
        self.alive(&recipe.interface.entry)?;
        let _inside = self.gate.enter();
        #[cfg(vulkan)]
        if self.hal {
            let made = HalPipeline::<wgpu::hal::api::Vulkan>::new(&self.device, &self.caps, recipe);
            return made.map(|made| Pipeline::Hal(Box::new(made)));
        }
        WgpuPipeline::new(&self.device, &self.gate, &self.caps, recipe).map(Opaque::new).map(Pipeline::Wgpu)
    }

    fn forget(&self, block: &Block) {
        lock(&self.gone).push(block.id);
        if let Ok(mut groups) = self.groups.try_lock() {
            self.sweep(&mut groups);
        }
    }

    fn tick(&self) {
        self.gate.try_inside(|| {
            if let Ok(mut groups) = self.groups.try_lock() {
                self.sweep(&mut groups);
            }
        });
        if let Err(lost) = poll(&self.device, &self.lost, self.gate.turn()) {
            log::debug!("device `{}`: {lost}", self.caps.adapter);
        }
    }
}

impl Allocate for WgpuDevice {
    fn allocate(&self, heap: Heap, size: u64, label: &str) -> Result<Memory> {
        self.alive(label)?;
        if size > self.caps.max_block {
            let (object, limit) = (label.to_owned(), self.caps.max_block);
            return Err(Kind::TooLarge { object, bytes: size, limit }.into());
        }
        let wanted = if heap == Heap::Device { Reach::All } else { Reach::Staging };
        let _inside = self.gate.enter();
        let memory = match self.reach >= wanted {
            true => WgpuMemory::mapped(&self.device, &self.gate, heap, size, label)?,
            false => None,
        };
        match memory {
            Some(memory) => Ok(Memory::Wgpu(memory)),
            None => WgpuMemory::plain(&self.device, &self.gate, heap, size, label).map(Memory::Wgpu),
        }
    }
}
