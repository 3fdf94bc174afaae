//! The times of a batch, recorded by its compute passes.

use crate::device::wgpu_device::WgpuDevice;
use crate::driver::error_scopes::Operation;
use crate::error::Result;
use crate::memory::read_slot::ReadSlot;
use crate::record::lane_fence::LaneFence;
use crate::record::time_pages as times;
use crate::record::time_pages::QUERIES_A_PAGE;
use crate::record::wgpu::passes::Passes;
use crate::record::wgpu::wgpu_transfers::WgpuTransfers;
use crate::work::time_slot::{TickPage, TimeSlot};
use fencepost_sync::TimelineValue;
use std::sync::Arc;

pub(crate) type WgpuTimePages = times::TimePages<WgpuQueries>;
pub(crate) type WgpuTimePage = times::TimePage<WgpuQueries>;

/// Queries, and the buffer that receives their results.
pub(crate) struct WgpuQueries {
    set: wgpu::QuerySet,
    results: wgpu::Buffer,
}

/// Starts the timing of a command of this level.
pub(crate) fn start(times: &mut WgpuTimePages, passes: &mut Passes<'_>, level: u32, time: &Arc<TimeSlot>) {
    let device = passes.device;
    let open = |idle: Option<WgpuQueries>| idle.map_or_else(|| make(device), Ok);
    if let Some(stamps) = times.start(level, time, open) {
        passes.start_time(&stamps.queries.set, stamps.start, stamps.end);
    }
}

/// Ends the timing of a started command.
pub(crate) fn end(times: &WgpuTimePages, passes: &mut Passes<'_>, time: &Arc<TimeSlot>) {
    if let Some((queries, end)) = times.end(time) {
        passes.end_time(&queries.set, end);
    }
}

/// Records the copy of the times to staging memory. Returns the pages that the batch needs until it is complete.
///
/// # Errors
/// Returns `OutOfMemory`, or an earlier error of making a page.
pub(crate) fn finish(
    times: &mut WgpuTimePages,
    passes: &mut Passes<'_>,
    transfers: &mut WgpuTransfers,
    read: (&LaneFence, TimelineValue),
) -> Result<Vec<WgpuTimePage>> {
    times.finish(|WgpuQueries { set, results }, count| {
        passes.encoder().resolve_query_set(set, 0..count, results, 0);
        let slot = ReadSlot::new();
        let bytes = u64::from(count) * TickPage::BYTES_A_QUERY as u64;
        transfers.fetch(passes, (results, 0), bytes, &slot, read)?;
        Ok(slot)
    })
}

fn make(device: &WgpuDevice) -> Result<WgpuQueries> {
    let label = "times";
    let size = u64::from(QUERIES_A_PAGE) * TickPage::BYTES_A_QUERY as u64;
    let usage = wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC;
    let set = wgpu::QuerySetDescriptor {
        label: Some(label),
        ty: wgpu::QueryType::Timestamp,
        count: QUERIES_A_PAGE,
    };
    let results = wgpu::BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: false };
    let raw = device.raw();
    let make = || WgpuQueries { set: raw.create_query_set(&set), results: raw.create_buffer(&results) };
    Operation { object: "queries for times", bytes: size }.run(raw, make)
}
