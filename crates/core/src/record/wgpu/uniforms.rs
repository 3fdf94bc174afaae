//! The uniform pages: the parameters of kernels that do not take them as immediates.

use crate::device::wgpu_device::WgpuDevice;
use crate::driver::error_scopes::Operation;
use crate::error::Result;
use crate::memory::heap::BlockId;

/// Bytes of one page. The parameters of one launch lie in one page.
const PAGE: u64 = 64 << 10;

/// Pages of uniform buffers, which every batch fills from the front again. Commands before a batch's first step copy
/// the parameters of the batch into the pages.
pub(crate) struct Uniforms {
    alignment: u64,
    pages: Vec<wgpu::Buffer>,
    /// Parameters of the batch that is recorded, page after page. The pages have room for all of them.
    bytes: Vec<u8>,
}

/// The place of a launch's parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct UniformSlot {
    pub(crate) page: usize,
    pub(crate) offset: u32,
}

impl UniformSlot {
    /// Returns the id that stands for the page in the key of a bind group. No block has such an id.
    pub(crate) fn block(self) -> BlockId {
        BlockId(u64::MAX - self.page as u64)
    }
}

impl Uniforms {
    pub(crate) fn new(device: &wgpu::Device) -> Self {
        let alignment = u64::from(device.limits().min_uniform_buffer_offset_alignment).max(16);
        Self { alignment, pages: Vec::new(), bytes: Vec::new() }
    }

    /// Starts a batch: drops the parameters of the previous batch.
    pub(crate) fn reset(&mut self) {
        self.bytes.clear();
    }

    /// Adds the parameters of a launch, followed by zeros up to `size` bytes.
    ///
    /// # Errors
    /// Returns `OutOfMemory` for another page.
    pub(crate) fn push(&mut self, device: &WgpuDevice, params: &[u8], size: u32) -> Result<UniformSlot> {
        let (page, offset) = place(self.bytes.len() as u64, u64::from(size), self.alignment);
        while self.pages.len() <= page {
            self.pages.push(new_page(device)?);
        }
        let start = (page as u64 * PAGE + offset) as usize;
        self.bytes.resize(start, 0);
        self.bytes.extend_from_slice(params);
        self.bytes.resize(start + size as usize, 0);
        debug_assert!(self.bytes.len() <= self.pages.len() * PAGE as usize, "bug: parameters without a page");
        Ok(UniformSlot { page, offset: offset as u32 })
    }

    pub(crate) fn page(&self, slot: UniformSlot) -> &wgpu::Buffer {
        &self.pages[slot.page]
    }

    /// Returns the parameters of the batch, in whole words. The slice is empty if there are none.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Records the copies of all parameters from `staging` into their pages.
    pub(crate) fn load(&self, encoder: &mut wgpu::CommandEncoder, staging: &wgpu::Buffer, offset: u64) {
        for (at, bytes) in self.bytes.chunks(PAGE as usize).enumerate() {
            let from = offset + at as u64 * PAGE;
            encoder.copy_buffer_to_buffer(staging, from, &self.pages[at], 0, Some(bytes.len() as u64));
        }
    }
}

/// Returns the page and the offset of the next `size` bytes after the first `used` bytes.
fn place(used: u64, size: u64, alignment: u64) -> (usize, u64) {
    let start = used.next_multiple_of(alignment);
    let start = if start % PAGE + size > PAGE { start.next_multiple_of(PAGE) } else { start };
    ((start / PAGE) as usize, start % PAGE)
}

fn new_page(device: &WgpuDevice) -> Result<wgpu::Buffer> {
    let label = "parameters";
    let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
    let desc = wgpu::BufferDescriptor { label: Some(label), size: PAGE, usage, mapped_at_creation: false };
    Operation { object: label, bytes: PAGE }.run(device.raw(), || device.raw().create_buffer(&desc))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_start_aligned() {
        assert_eq!(place(0, 16, 256), (0, 0));
        assert_eq!(place(16, 16, 256), (0, 256));
    }

    #[test]
    fn parameters_never_straddle_pages() {
        assert_eq!(place(PAGE - 256, 256, 256), (0, PAGE - 256));
        assert_eq!(place(PAGE - 256, 272, 256), (1, 0));
        assert_eq!(place(PAGE, 64, 256), (1, 0));
    }
}
