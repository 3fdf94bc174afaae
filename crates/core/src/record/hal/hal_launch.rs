//! Records a launch as a dispatch of the native recorder.

use crate::device::hal_pipeline::HalPipeline;
use crate::driver::backend::Backend;
use crate::error::Result;
use crate::record::dispatch::{BoundRange, GroupCount, pipeline_of};
use crate::record::hal::hal_batch::{HalBatch, HalDispatch};
use crate::record::hal::indirect::IndirectGroups;
use crate::record::hal::native_buffers::native_of;
use crate::work::kernel_launch::Launch;
use wgpu::BufferUses as Uses;

impl<'e, A: Backend> HalBatch<'e, A> {
    pub(crate) fn launch(&mut self, sizes: &mut IndirectGroups<A>, launch: &'e Launch) -> Result<()> {
        let pipeline = pipeline_of::<HalPipeline<A>>(launch).form(&launch.bindings)?;
        if launch.indirect.is_none() && launch.groups.contains(&0) {
            return Ok(());
        }
        let limited = launch.indirect.as_ref().map(|span| sizes.limit(self, span)).transpose()?;
        self.touches.clear();
        for (at, bound) in launch.bindings.iter().enumerate() {
            if let Some((uses, write)) = pipeline.uses(at, bound) {
                self.touch(&bound.block, uses, write);
            }
        }
        self.calls.admit(&self.touches);
        let parts =
            launch.bindings.iter().map(|b| BoundRange { block: &b.block, offset: b.offset, size: b.size });
        let size = match &limited {
            None => GroupCount::Fixed(launch.groups),
            Some((block, offset)) => GroupCount::Indirect(native_of::<A>(block), *offset),
        };
        let done = self.dispatch(&HalDispatch { pipeline, params: launch.params.bytes(), parts, size });
        if let Some((place, _)) = limited.as_ref().filter(|_| A::EXACT) {
            self.calls.transition(native_of::<A>(place), Uses::INDIRECT, Uses::STORAGE_READ_WRITE);
        }
        done
    }
}
