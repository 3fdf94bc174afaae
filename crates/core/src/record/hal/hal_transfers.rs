//! Copies between blocks, uploads from staging memory, and reads to staging memory. Also the times of a batch, each
//! recorded by a timestamp in an empty pass.

use crate::device::hal_pipeline::HalQueries;
use crate::device::wgpu_device::WgpuDevice;
use crate::driver::backend::Backend;
use crate::error::Result;
use crate::memory::block::overlap;
use crate::memory::read_slot::{ReadSlot, ReadState};
use crate::memory::staging::{Staged, StagingPiece};
use crate::memory::wgpu_memory::WgpuMemory;
use crate::record::hal::encoder::{NativeEncoder, native};
use crate::record::hal::hal_batch::{HalBatch, staged};
use crate::record::time_pages as times;
use crate::record::time_pages::QUERIES_A_PAGE;
use crate::record::transfers::{BatchStaging, INTERMEDIATE, PinnedRead, intermediate_pieces, words};
use crate::work::step::Span;
use crate::work::time_slot::{TickPage, TimeSlot};
use fencepost_sync::TimelineValue;
use fencepost_sync::backend::Fence;
use std::sync::Arc;
use wgpu::BufferUses as Uses;

/// Memory for the copies, the uploads and the reads of a recorder.
#[derive(Default)]
pub(crate) struct HalTransfers {
    /// Intermediate buffer for a copy that overlaps itself.
    intermediate: Option<WgpuMemory>,
    /// Staging memory of the current batch.
    staging: BatchStaging,
}

impl HalTransfers {
    /// Records a copy. A copy that overlaps itself goes through the intermediate buffer, piece by piece.
    pub(crate) fn copy<'e, A: Backend>(
        &mut self,
        batch: &mut HalBatch<'e, A>,
        src: &'e Span,
        dst: &'e Span,
    ) -> Result<()> {
        let size = words(src.size);
        let from = batch.buffer(&src.block);
        let to = batch.buffer(&dst.block);
        batch.record_barrier_for(&[(&src.block, Uses::COPY_SRC, false), (&dst.block, Uses::COPY_DST, true)]);
        let both = |span: &Span| span.offset..span.offset + size;
        if !Arc::ptr_eq(&src.block, &dst.block) || !overlap(&both(src), &both(dst)) {
            batch.calls.copy(from, src.offset, to, dst.offset, size);
            return Ok(());
        }
        let intermediate = native::<A>(self.intermediate(batch.device)?);
        for (start, size) in intermediate_pieces(size, dst.offset > src.offset) {
            batch.calls.copy(from, src.offset + start, intermediate, 0, size);
            batch.calls.transition(intermediate, Uses::COPY_DST, Uses::COPY_SRC);
            batch.calls.copy(intermediate, 0, to, dst.offset + start, size);
            batch.calls.transition(intermediate, Uses::COPY_SRC, Uses::COPY_DST);
        }
        Ok(())
    }

    /// Records an upload of staged bytes.
    pub(crate) fn upload<'e, A: Backend>(
        &mut self,
        batch: &mut HalBatch<'e, A>,
        src: &'e Staged,
        dst: &'e Span,
    ) -> Result<()> {
        let to = batch.buffer(&dst.block);
        let size = words(dst.size);
        batch.record_barrier_for(&[(&dst.block, Uses::COPY_DST, true)]);
        let piece: &StagingPiece<WgpuMemory> = match src {
            Staged::Wgpu(piece) => piece,
            Staged::Host(bytes) => self.staging.keep(staged(batch.device, bytes)?),
        };
        batch.calls.copy(native::<A>(piece.memory()), piece.offset(), to, dst.offset, size);
        Ok(())
    }

    /// Records a read to staging memory, and stores in `slot` where the bytes will be. `read` is the lane's fence, and
    /// the value that it passes when the bytes are valid.
    pub(crate) fn read<'e, A: Backend>(
        &mut self,
        batch: &mut HalBatch<'e, A>,
        src: &'e Span,
        slot: &Arc<ReadSlot>,
        read: &(Arc<dyn Fence>, TimelineValue),
    ) -> Result<()> {
        let from = batch.buffer(&src.block);
        let size = words(src.size);
        let staged = self.reserve_read(batch.device, size, read)?;
        batch.record_barrier_for(&[(&src.block, Uses::COPY_SRC, false)]);
        let to = native::<A>(staged.piece.memory());
        let offset = staged.piece.offset();
        batch.calls.copy(from, src.offset, to, offset, size);
        slot.set(ReadState::Staged(staged));
        Ok(())
    }

    /// Reserves staging memory that the batch writes. The host may read it after `fence` has passed `value`.
    ///
    /// # Errors
    /// Returns `OutOfMemory`.
    pub(crate) fn reserve_read(
        &mut self,
        device: &WgpuDevice,
        size: u64,
        (fence, value): &(Arc<dyn Fence>, TimelineValue),
    ) -> Result<Arc<PinnedRead>> {
        let reserved = self.staging.reserve(device, size, fence, *value)?;
        reserved.ok_or_else(|| device.no_memory("download staging"))
    }

    /// Returns the staging buffers that the batch writes and the host reads.
    pub(crate) fn published<A: Backend>(&self) -> impl Iterator<Item = &A::Buffer> {
        self.staging.published().map(native::<A>)
    }

    /// Ends the recording of a batch. Returns the staging memory that the batch needs until it is complete.
    pub(crate) fn finish(&mut self) -> BatchStaging {
        std::mem::take(&mut self.staging)
    }

    fn intermediate(&mut self, device: &WgpuDevice) -> Result<&WgpuMemory> {
        let made = match self.intermediate.take() {
            Some(made) => made,
            None => device.scratch(INTERMEDIATE, "a copy within one array")?,
        };
        Ok(self.intermediate.insert(made))
    }
}

pub(crate) type HalTimePages<A> = times::TimePages<HalQueries<A>>;
pub(crate) type HalTimePage<A> = times::TimePage<HalQueries<A>>;

/// Reserves the queries of a command. If it is the first of its level, records the time before it; the other commands
/// of the level share that time.
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

/// Records the copy of the times to staging memory. Returns the pages of queries, which must be kept until the batch is
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
        let to = native::<A>(staged.piece.memory());
        let offset = staged.piece.offset();
        calls.copy_times(queries, count, to, offset);
        let slot = ReadSlot::new();
        slot.set(ReadState::Staged(staged));
        Ok(slot)
    })
}
