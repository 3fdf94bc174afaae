//! The times of a batch in the native recorder, which records each timestamp in an empty pass.

use crate::device::hal_pipeline::HalQueries;
use crate::device::wgpu_device::WgpuDevice;
use crate::driver::backend::Backend;
use crate::error::Result;
use crate::memory::read_slot::{ReadSlot, ReadState};
use crate::record::hal::encoder::NativeEncoder;
use crate::record::hal::hal_transfers::HalTransfers;
use crate::record::hal::native_buffers::native;
use crate::record::time_pages as times;
use crate::record::time_pages::QUERIES_A_PAGE;
use crate::work::time_slot::{TickPage, TimeSlot};
use fencepost_sync::TimelineValue;
use fencepost_sync::backend::Fence;
use std::sync::Arc;

pub(crate) type HalTimePages<A> = times::TimePages<HalQueries<A>>;
pub(crate) type HalTimePage<A> = times::TimePage<HalQueries<A>>;

/// Reserves the queries of a command. Records the time before the command if it is the first of its level; the other
/// commands of the level share that time.
pub(crate) fn start<A: Backend>(
    times: &mut HalTimePages<A>,
    device: &WgpuDevice,
    calls: &mut NativeEncoder<'_, A>,
    (level, time): (u32, &Arc<TimeSlot>),
) {
    let open = |idle: Option<HalQueries<A>>| {
        let queries = idle.map_or_else(|| HalQueries::new(device.raw(), QUERIES_A_PAGE), Ok)?;
        calls.reset(&queries);
        Ok(queries)
    };
    if let Some(stamps) = times.start(level, time, open)
        && let Some(start) = stamps.start
    {
        calls.stamp(stamps.queries, start);
    }
}

/// Records the time after a started command.
pub(crate) fn end<A: Backend>(
    times: &HalTimePages<A>,
    calls: &mut NativeEncoder<'_, A>,
    time: &Arc<TimeSlot>,
) {
    if let Some((queries, end)) = times.end(time) {
        calls.stamp(queries, end);
    }
}

/// Records the copy of the times to staging memory. Returns the pages of queries, which the batch needs until it is
/// complete.
///
/// # Errors
/// Returns `OutOfMemory`, or an earlier error of making a page.
pub(crate) fn finish<A: Backend>(
    times: &mut HalTimePages<A>,
    device: &WgpuDevice,
    calls: &mut NativeEncoder<'_, A>,
    transfers: &mut HalTransfers,
    read: &(Arc<dyn Fence>, TimelineValue),
) -> Result<Vec<HalTimePage<A>>> {
    times.finish(|queries, count| {
        let staged =
            transfers.reserve_read(device, u64::from(count) * TickPage::BYTES_A_QUERY as u64, read)?;
        let (to, offset) = (native::<A>(staged.piece.memory()), staged.piece.offset());
        calls.copy_times(queries, count, to, offset);
        let slot = ReadSlot::new();
        slot.set(ReadState::Staged(staged));
        Ok(slot)
    })
}
