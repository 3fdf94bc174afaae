//! Copies of regions, by copies of rows or by a kernel.

use crate::device::Device as _;
use crate::device::wgpu_device::WgpuDevice;
use crate::device::wgpu_pipeline::WgpuPipeline;
use crate::error::Result;
use crate::record::region_kernels::{RegionBinding, RegionUnit, pieces, row_by_row};
use crate::record::wgpu::passes::{Dispatch, Part, Passes, Size, buffer_of};
use crate::work::region_copy::RegionCopy;

/// The kernels, each compiled when it is first needed.
#[derive(Default)]
pub(crate) struct WgpuRegionKernels {
    words: Option<WgpuPipeline>,
    small: Option<WgpuPipeline>,
}

impl WgpuRegionKernels {
    /// Records a copy.
    ///
    /// # Errors
    /// `Compile`, out of memory.
    pub(crate) fn record(&mut self, passes: &mut Passes<'_>, copy: &RegionCopy) -> Result<()> {
        let (device, src, dst) = (passes.device, &*copy.src.block, &*copy.dst.block);
        if row_by_row(copy, device.caps()) {
            for (from, to) in copy.rows.iter() {
                let encoder = passes.encoder();
                encoder.copy_buffer_to_buffer(buffer_of(src), from, buffer_of(dst), to, Some(copy.rows.row));
            }
            return Ok(());
        }
        let pipeline = self.pipeline(RegionUnit::of(&copy.rows), device)?;
        pieces(&copy.rows, device.caps(), &mut |piece| {
            let part = |block, RegionBinding { offset, size }| Part { block, offset, size };
            passes.dispatch(&Dispatch {
                pipeline,
                mixed: false, // both bindings are writable
                params: bytemuck::cast_slice(&piece.params),
                parts: &[part(src, piece.src), part(dst, piece.dst)],
                size: Size::Groups([piece.groups, 1, 1]),
            })
        })
    }

    fn pipeline(&mut self, unit: RegionUnit, device: &WgpuDevice) -> Result<&WgpuPipeline> {
        let kernel = match unit {
            RegionUnit::Word => &mut self.words,
            RegionUnit::Half | RegionUnit::Byte => &mut self.small,
        };
        let made = match kernel.take() {
            Some(made) => made,
            None => unit.with_recipe(|recipe| WgpuPipeline::new(device.compile_target(), recipe))?,
        };
        Ok(kernel.insert(made))
    }
}
