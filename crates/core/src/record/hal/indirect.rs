//! Indirect launches: a kernel checks on the device that the group counts in a buffer keep within the device's limit.

use crate::device::Device as _;
use crate::device::hal_pipeline::HalPipeline;
use crate::driver::backend::Backend;
use crate::error::Result;
use crate::memory::block::Block;
use crate::record::dispatch::{BoundRange, GroupCount};
use crate::record::hal::hal_batch::{HalBatch, HalDispatch};
use crate::record::hal::native_buffers::native_of;
use crate::record::hal::scratch::Scratch;
use crate::record::own_kernels::{OwnKernel, OwnKernels};
use crate::work::span::Span;
use std::sync::Arc;
use wgpu::BufferUses as Uses;

/// The checking kernel, and the memory for checked group counts.
pub(crate) struct IndirectGroups<A: Backend> {
    kernels: OwnKernels<HalPipeline<A>>,
    places: Scratch,
}

impl<A: Backend> Default for IndirectGroups<A> {
    fn default() -> Self {
        Self { kernels: OwnKernels::default(), places: Scratch::new(0, "sizes of launches") }
    }
}

impl<A: Backend> IndirectGroups<A> {
    /// Frees the memory of the current batch, whose recording failed.
    pub(crate) fn give_back(&mut self) {
        self.places.give_back();
    }

    /// Records a check of the three words at `span`. Returns the block and the offset of a copy of them. All words of
    /// the copy are zero if one of the three exceeds the limit, so the launch then has no workgroups.
    ///
    /// # Errors
    /// Returns `Compile` at the first use of the kernel, or `OutOfMemory`.
    pub(crate) fn limit<'e>(
        &mut self,
        batch: &mut HalBatch<'e, A>,
        span: &'e Span,
    ) -> Result<(Arc<Block>, u64)> {
        let (place, offset) = self.places.place(batch.device, batch.signal, 16)?;
        batch.calls.follow_earlier_batches(); // an earlier batch may use the same place
        let read = if A::EXACT { Uses::STORAGE_READ_ONLY } else { Uses::STORAGE_READ_WRITE };
        batch.admit(&[(&span.block, read, false)]);
        let kernel = batch.own_kernel(&mut self.kernels, OwnKernel::LimitGroups)?;
        let caps = batch.device.caps();
        let start = span.offset / caps.binding_alignment * caps.binding_alignment;
        let params = [((span.offset - start) / 4) as u32, caps.max_groups];
        let limited = [
            BoundRange { block: &span.block, offset: start, size: span.offset + span.size - start },
            BoundRange { block: &place, offset, size: 16 },
        ];
        batch.dispatch(&HalDispatch {
            pipeline: &kernel,
            params: &params,
            parts: limited.into_iter(),
            size: GroupCount::Fixed([1; 3]),
        })?;
        let more = if A::EXACT { Uses::empty() } else { Uses::STORAGE_READ_WRITE };
        batch.calls.transition(native_of::<A>(&place), Uses::STORAGE_READ_WRITE, Uses::INDIRECT | more);
        Ok((place, offset))
    }
}
