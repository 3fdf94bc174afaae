//! Scratch memory: device memory for parameters and for checked group counts, which only the current batch uses.

use crate::device::wgpu_device::WgpuDevice;
use crate::error::Result;
use crate::memory::block::{Block, Memory};
use crate::memory::heap::{BlockId, Heap};
use fencepost_sync::TimelineValue;
use std::sync::Arc;

/// Bytes of an ordinary page.
const PAGE: u64 = 64 << 10;
/// Alignment of each place in bytes, so that a dispatch can bind a single place.
const ALIGNMENT: u64 = 256;

/// Pages that are cut into places for a batch, from front to back. The next batch uses the same pages from the front
/// again, because the device executes it after this batch. So the recorder keeps all pages, and no free list holds one.
pub(crate) struct Scratch {
    label: &'static str,
    /// Id of the first page. The ids of later pages count downwards, and no array has such an id.
    first: u64,
    pages: Vec<Arc<Block>>,
    /// Value of the current batch: all places before `at` and `used` belong to this batch.
    signal: TimelineValue,
    /// Index of the page from which the next place is cut. The first `used` bytes of this page and all earlier pages
    /// are taken.
    at: usize,
    used: u64,
}

impl Scratch {
    /// Makes scratch memory without pages. Each `Scratch` of a recorder has a different `kind`, so no two of their
    /// pages share an id.
    pub(crate) fn new(kind: u64, label: &'static str) -> Self {
        Self {
            label,
            first: u64::MAX - (kind << 32),
            pages: Vec::new(),
            signal: TimelineValue(0),
            at: 0,
            used: 0,
        }
    }

    /// Frees the places of the current batch, whose recording failed. The next batch may have the same value, and
    /// [`place`](Self::place) could not tell the two apart.
    pub(crate) fn give_back(&mut self) {
        self.at = 0;
        self.used = 0;
    }

    /// Reserves `size` bytes for the batch that signals `signal`. The first call for a batch starts at the front of the
    /// first page. Returns the page and the offset in it.
    ///
    /// # Errors
    /// Returns `OutOfMemory`.
    pub(crate) fn place(
        &mut self,
        device: &WgpuDevice,
        signal: TimelineValue,
        size: u64,
    ) -> Result<(Arc<Block>, u64)> {
        if self.signal != signal {
            self.signal = signal;
            self.at = 0;
            self.used = 0;
        }
        let size = size.next_multiple_of(ALIGNMENT);
        while self.pages.get(self.at).is_some_and(|page| self.used + size > page.size) {
            self.at += 1;
            self.used = 0;
        }
        if self.at == self.pages.len() {
            let page = self.make(device, size.max(PAGE))?;
            self.pages.push(Arc::new(page));
        }
        self.used += size;
        debug_assert!(self.used <= self.pages[self.at].size, "bug: a place ends after its page");
        Ok((self.pages[self.at].clone(), self.used - size))
    }

    fn make(&self, device: &WgpuDevice, size: u64) -> Result<Block> {
        let memory = Memory::Wgpu(device.scratch(size, self.label)?);
        Ok(Block::new(BlockId(self.first - self.pages.len() as u64), Heap::Device, size, memory))
    }
}
