//! Copies of regions, by copies of rows or by a kernel.

use crate::device::Device as _;
use crate::device::hal_pipeline::HalPipeline;
use crate::driver::backend::Backend;
use crate::error::Result;
use crate::record::hal::encoder::Size;
use crate::record::hal::hal_batch::{Dispatch, HalBatch, Part};
use crate::record::region_kernels::{RegionBinding, RegionUnit, pieces, row_by_row};
use crate::work::region_copy::RegionCopy;
use std::sync::Arc;
use wgpu::BufferUses as Uses;

/// The kernels, each compiled when it is first needed.
pub(crate) struct HalRegionKernels<A: Backend> {
    words: Option<Arc<HalPipeline<A>>>,
    small: Option<Arc<HalPipeline<A>>>,
}

impl<A: Backend> Default for HalRegionKernels<A> {
    fn default() -> Self {
        Self { words: None, small: None }
    }
}

impl<'e, A: Backend> HalBatch<'e, A> {
    /// Records a copy.
    ///
    /// # Errors
    /// `Compile`, out of memory.
    pub(crate) fn region(&mut self, kernels: &mut HalRegionKernels<A>, copy: &'e RegionCopy) -> Result<()> {
        let (src, dst) = (&copy.src.block, &copy.dst.block);
        if row_by_row(copy, self.device.caps()) {
            self.admit(&[(src, Uses::COPY_SRC, false), (dst, Uses::COPY_DST, true)]);
            let (src, dst) = (self.buffer(src), self.buffer(dst));
            self.calls.copy_rows(src, dst, copy.rows.row, copy.rows.iter());
            return Ok(());
        }
        let unit = RegionUnit::of(&copy.rows);
        let kernel = match unit {
            RegionUnit::Word => &mut kernels.words,
            RegionUnit::Half | RegionUnit::Byte => &mut kernels.small,
        };
        let pipeline = self.own(kernel, |device| {
            unit.with_recipe(|recipe| HalPipeline::new(device.compile_target(), recipe))
        })?;
        pieces(&copy.rows, self.device.caps(), &mut |piece| {
            // Of pieces too, though they share no word: what is bound for them may overlap.
            self.admit(&[(src, Uses::STORAGE_READ_WRITE, false), (dst, Uses::STORAGE_READ_WRITE, true)]);
            let part = |block, RegionBinding { offset, size }| Part { block, offset, size };
            self.dispatch(&Dispatch {
                pipeline: &pipeline,
                params: bytemuck::cast_slice(&piece.params),
                parts: [part(src, piece.src), part(dst, piece.dst)].into_iter(),
                size: Size::Groups([piece.groups, 1, 1]),
            })
        })
    }
}
