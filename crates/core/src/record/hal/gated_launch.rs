//! Launches in bodies of a graph, with group counts that a gate has chosen.

use crate::device::hal_pipeline::HalPipeline;
use crate::driver::backend::Backend;
use crate::error::Result;
use crate::record::dispatch::{GroupCount, bound_ranges};
use crate::record::hal::hal_batch::{HalBatch, HalDispatch};
use crate::record::hal::native_buffers::native_of;
use crate::work::graph_data::control_table::{GatedPlace, counts_at};
use crate::work::kernel_launch::Launch;
use fencepost_kernels::ParamsBlock;
use wgpu::BufferUses as Uses;

/// Records a launch in a body. A gate has written the group counts in the table, or zeros.
///
/// # Errors
/// Returns `OutOfMemory`, or the error of a form of the kernel that the driver rejects.
pub(crate) fn launch_gated<'e, A: Backend>(
    batch: &mut HalBatch<'e, A>,
    launch: &'e Launch,
    params: &ParamsBlock,
    place: GatedPlace<'e>,
) -> Result<()> {
    let pipeline = launch.pipeline::<HalPipeline<A>>().form(&launch.bindings)?;
    let counts = &place.table.counts;
    batch.touches.clear();
    for (at, bound) in launch.bindings.iter().enumerate() {
        if let Some((uses, write)) = pipeline.uses(at, bound) {
            batch.touch(&bound.block, uses, write);
        }
    }
    batch.touch(counts, Uses::INDIRECT, false);
    batch.calls.admit(&batch.touches);
    let size = GroupCount::Indirect(native_of::<A>(counts), counts_at(place.first));
    let (params, parts) = (params.words(), bound_ranges(launch));
    batch.dispatch(&HalDispatch { pipeline, params, parts, size })
}
