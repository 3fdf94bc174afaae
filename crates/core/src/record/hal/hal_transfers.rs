//! Records copies between blocks, uploads from staging memory, and reads to staging memory.

use crate::device::wgpu_device::WgpuDevice;
use crate::driver::backend::Backend;
use crate::error::Result;
use crate::memory::heap::overlap;
use crate::memory::read_slot::{ReadSlot, ReadState};
use crate::memory::staged_bytes::Staged;
use crate::memory::staging::StagingPiece;
use crate::memory::wgpu_memory::WgpuMemory;
use crate::record::hal::hal_batch::{HalBatch, gone, staged};
use crate::record::hal::native_buffers::native;
use crate::record::staged_copy::{DETOUR, PinnedRead, detour_pieces, words};
use crate::work::span::Span;
use fencepost_sync::Value;
use fencepost_sync::backend::Fence;
use std::sync::Arc;
use wgpu::BufferUses as Uses;

/// Holds the buffers with which a recorder transfers.
#[derive(Default)]
pub(crate) struct HalTransfers {
    /// Holds the intermediate buffer for a copy that overlaps itself.
    detour: Option<WgpuMemory>,
    pieces: Vec<Arc<StagingPiece<WgpuMemory>>>,
    reads: Vec<Arc<PinnedRead>>,
}

/// Holds the transfer resources that a submission needs until it is complete.
pub(crate) struct HalTransferResources {
    _pieces: Vec<Arc<StagingPiece<WgpuMemory>>>,
    _reads: Vec<Arc<PinnedRead>>,
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
        let (from, to) = (batch.buffer(&src.block), batch.buffer(&dst.block));
        batch.admit(&[(&src.block, Uses::COPY_SRC, false), (&dst.block, Uses::COPY_DST, true)]);
        let both = |span: &Span| span.offset..span.offset + size;
        if !Arc::ptr_eq(&src.block, &dst.block) || !overlap(&both(src), &both(dst)) {
            batch.calls.copy(from, src.offset, to, dst.offset, size);
            return Ok(());
        }
        let detour = native::<A>(self.detour(batch.device)?);
        for (start, size) in detour_pieces(size, dst.offset > src.offset) {
            batch.calls.copy(from, src.offset + start, detour, 0, size);
            batch.calls.transition(detour, Uses::COPY_DST, Uses::COPY_SRC);
            batch.calls.copy(detour, 0, to, dst.offset + start, size);
            batch.calls.transition(detour, Uses::COPY_SRC, Uses::COPY_DST);
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
        let (to, size) = (batch.buffer(&dst.block), words(dst.size));
        batch.admit(&[(&dst.block, Uses::COPY_DST, true)]);
        let made;
        let piece = match src {
            Staged::Wgpu(piece) => piece,
            Staged::Host(bytes) => {
                made = Arc::new(staged(batch.device, bytes)?);
                self.pieces.push(made.clone());
                &made
            }
        };
        batch.calls.copy(native::<A>(piece.memory()), piece.offset(), to, dst.offset, size);
        Ok(())
    }

    /// Records a read to staging memory, and stores the place in the slot.
    pub(crate) fn read<'e, A: Backend>(
        &mut self,
        batch: &mut HalBatch<'e, A>,
        src: &'e Span,
        slot: &Arc<ReadSlot>,
        read: &(Arc<dyn Fence>, Value),
    ) -> Result<()> {
        let (from, size) = (batch.buffer(&src.block), words(src.size));
        let staged = self.room(batch.device, size, read)?;
        batch.admit(&[(&src.block, Uses::COPY_SRC, false)]);
        let (to, offset) = (native::<A>(staged.piece.memory()), staged.piece.offset());
        batch.calls.copy(from, src.offset, to, offset, size);
        slot.set(ReadState::Staged(staged));
        Ok(())
    }

    /// Reserves staging memory that the batch writes and the host reads.
    ///
    /// # Errors
    /// Returns `OutOfMemory`.
    pub(crate) fn room(
        &mut self,
        device: &WgpuDevice,
        size: u64,
        (fence, value): &(Arc<dyn Fence>, Value),
    ) -> Result<Arc<PinnedRead>> {
        let piece = device.download_piece(size)?.ok_or_else(gone)?;
        let read = Arc::new(PinnedRead { piece, fence: fence.clone(), value: *value });
        self.reads.push(read.clone());
        Ok(read)
    }

    /// Returns the staging buffers that the batch writes and the host reads.
    pub(crate) fn published<A: Backend>(&self) -> impl Iterator<Item = &A::Buffer> {
        self.reads.iter().map(|read| native::<A>(read.piece.memory()))
    }

    /// Ends the recording of a batch. Returns the resources that it needs until it is complete.
    pub(crate) fn finish(&mut self) -> HalTransferResources {
        HalTransferResources {
            _pieces: std::mem::take(&mut self.pieces),
            _reads: std::mem::take(&mut self.reads),
        }
    }

    fn detour(&mut self, device: &WgpuDevice) -> Result<&WgpuMemory> {
        let made = match self.detour.take() {
            Some(made) => made,
            None => device.scratch(DETOUR, "a copy within one array")?,
        };
        Ok(self.detour.insert(made))
    }
}
