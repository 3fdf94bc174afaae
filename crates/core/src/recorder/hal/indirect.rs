//! Sizes that are read from the device, kept within its limit.

use super::calls::Size;
use super::hazards::Touch;
use super::{Batch, Dispatch, Part, buffer_of};
use crate::command::Span;
use crate::error::Result;
use crate::kernel::Recipe;
use crate::lane::{Device as _, HalPipeline};
use crate::memory::{Block, BlockId, Heap, Memory};
use std::sync::Arc;
use wgpu::BufferUses as Uses;
use wgpu::hal;

/// Bytes from one place to the next: each is bound by itself.
const PLACE: u64 = 256;
/// Places in one buffer.
const PLACES: u64 = 256;

/// Where limited sizes go.
pub(super) struct Sizes<A: hal::Api> {
    kernel: Option<Arc<HalPipeline<A>>>,
    buffers: Vec<Arc<Block>>,
    next: u64,
}

impl<A: hal::Api> Default for Sizes<A> {
    fn default() -> Self {
        Self { kernel: None, buffers: Vec::new(), next: 0 }
    }
}

impl<A: hal::Api> Sizes<A> {
    /// Starts a batch, which comes after those before it.
    pub(super) fn reset(&mut self) {
        self.next = 0;
    }

    /// Records the limiting of the three words at `span`: the block to read them from, and where in it.
    ///
    /// # Errors
    /// `Compile`, out of memory.
    pub(super) fn limit<'e>(
        &mut self,
        batch: &mut Batch<'e, A>,
        span: &'e Span,
    ) -> Result<(Arc<Block>, u64)> {
        let (place, offset) = self.place(batch)?;
        let source = buffer_of::<A>(&span.block);
        batch.calls.admit(&[Touch {
            block: span.block.id,
            buffer: source,
            uses: Uses::STORAGE_READ_WRITE,
            write: false,
        }]);
        let kernel = batch.own(&mut self.kernel, |device| {
            let compile = |recipe: &Recipe<'_>| HalPipeline::new(device.raw(), device.caps(), recipe);
            Recipe::own("limit_groups", include_str!("limit_groups.wgsl"), compile)
        })?;
        let caps = batch.device.caps();
        let start = span.offset / caps.binding_alignment * caps.binding_alignment;
        let params = [((span.offset - start) / 4) as u32, caps.max_groups];
        let limited = [
            Part { block: &span.block, offset: start, size: span.offset + span.size - start },
            Part { block: &place, offset, size: 16 },
        ];
        batch.dispatch(&Dispatch {
            pipeline: &kernel,
            params: bytemuck::cast_slice(&params),
            parts: &limited,
            size: Size::Groups([1; 3]),
        })?;
        let buffer = buffer_of::<A>(&place);
        batch.calls.separate(buffer, Uses::STORAGE_READ_WRITE, Uses::INDIRECT | Uses::STORAGE_READ_WRITE);
        Ok((place, offset))
    }

    fn place(&mut self, batch: &Batch<'_, A>) -> Result<(Arc<Block>, u64)> {
        let at = (self.next / PLACES) as usize;
        if at == self.buffers.len() {
            let (size, label) = (PLACE * PLACES, "sizes of launches");
            let memory = batch.device.native_memory(Heap::Device, size, label)?;
            let block = Block::new(BlockId(u64::MAX - at as u64), Heap::Device, size, Memory::Wgpu(memory));
            self.buffers.push(Arc::new(block));
        }
        self.next += 1;
        Ok((self.buffers[at].clone(), (self.next - 1) % PLACES * PLACE))
    }
}
