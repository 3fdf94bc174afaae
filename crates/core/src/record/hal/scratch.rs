//! Memory of the device for what a batch needs besides its blocks.

use crate::device::wgpu_device::WgpuDevice;
use crate::error::Result;
use crate::memory::block::{Block, Memory};
use crate::memory::heap::{BlockId, Heap};
use std::sync::Arc;

/// Bytes of an ordinary page.
const PAGE: u64 = 64 << 10;
/// Bytes on which places start: each may be bound by itself.
const ALIGNMENT: u64 = 256;

/// Pages that a batch uses from front to back; the next one, which the device runs behind it, uses them again.
pub(crate) struct Scratch {
    label: &'static str,
    /// Numbers the pages downwards: no array has such a number.
    first: u64,
    pages: Vec<Arc<Block>>,
    at: usize,
    used: u64,
}

impl Scratch {
    /// Each of a recorder's has another `kind`.
    pub(crate) fn new(kind: u64, label: &'static str) -> Self {
        Self { label, first: u64::MAX - (kind << 32), pages: Vec::new(), at: 0, used: 0 }
    }

    /// Starts a batch.
    pub(crate) fn reset(&mut self) {
        (self.at, self.used) = (0, 0);
    }

    /// A place for `size` bytes: its page, and where in it.
    ///
    /// # Errors
    /// Out of memory.
    pub(crate) fn place(&mut self, device: &WgpuDevice, size: u64) -> Result<(Arc<Block>, u64)> {
        let size = size.next_multiple_of(ALIGNMENT);
        while self.pages.get(self.at).is_some_and(|page| self.used + size > page.size) {
            (self.at, self.used) = (self.at + 1, 0);
        }
        if self.at == self.pages.len() {
            let page = self.make(device, size.max(PAGE))?;
            self.pages.push(Arc::new(page));
        }
        self.used += size;
        Ok((self.pages[self.at].clone(), self.used - size))
    }

    fn make(&self, device: &WgpuDevice, size: u64) -> Result<Block> {
        let memory = Memory::Wgpu(device.scratch(size, self.label)?);
        Ok(Block::new(BlockId(self.first - self.pages.len() as u64), Heap::Device, size, memory))
    }
}
