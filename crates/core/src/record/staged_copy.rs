//! The parts of copies that both GPU recorders share: the staging memory of a batch, and the pieces of a copy within
//! one block.

use crate::device::wgpu_device::WgpuDevice;
use crate::error::Result;
use crate::memory::read_slot::Readback;
use crate::memory::staging::StagingPiece;
use crate::memory::wgpu_memory::WgpuMemory;
use fencepost_sync::backend::Fence;
use fencepost_sync::{Lost, TimelineValue};
use std::sync::{Arc, OnceLock};

/// Bytes of the intermediate buffer for copies within one block.
pub(crate) const INTERMEDIATE: u64 = 16 << 20;

/// Staging memory of a batch, which the submission needs until it is complete.
#[derive(Default)]
pub(crate) struct BatchStaging {
    /// Bytes that the batch copies to the device.
    uploads: Vec<StagingPiece<WgpuMemory>>,
    /// Staging memory that the batch writes and the host reads.
    reads: Vec<Arc<PinnedRead>>,
}

impl BatchStaging {
    /// Keeps a piece that the batch copies to the device.
    pub(crate) fn keep(&mut self, piece: StagingPiece<WgpuMemory>) -> &StagingPiece<WgpuMemory> {
        self.uploads.push(piece);
        &self.uploads[self.uploads.len() - 1]
    }

    /// Reserves memory that the batch writes and the host reads. Returns `None` if the device has no such memory.
    ///
    /// # Errors
    /// Returns `OutOfMemory`.
    pub(crate) fn reserve(
        &mut self,
        device: &WgpuDevice,
        size: u64,
        fence: &Arc<dyn Fence>,
        value: TimelineValue,
    ) -> Result<Option<Arc<PinnedRead>>> {
        let Some(piece) = device.download_piece(size)? else { return Ok(None) };
        let read = Arc::new(PinnedRead { piece, fence: fence.clone(), value, fetched: OnceLock::new() });
        self.reads.push(read.clone());
        Ok(Some(read))
    }

    /// Returns the memory that the batch writes and the host reads.
    pub(crate) fn published(&self) -> impl Iterator<Item = &WgpuMemory> {
        self.reads.iter().map(|read| read.piece.memory())
    }

    /// Copies the bytes of the submitted reads to host memory, if the backend is GL. The next submission holds the
    /// device's gate until its work is over, and a read that needs the gate would wait for that work.
    #[cfg(native)]
    pub(crate) fn fetch_on_gl(&self) {
        for read in &self.reads {
            if let Some(bytes) = read.piece.fetch_on_gl() {
                let _ = read.fetched.set(bytes);
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.uploads.is_empty() && self.reads.is_empty()
    }
}

/// Staging memory of a read. The bytes are valid after `fence` has passed `value`.
pub(crate) struct PinnedRead {
    pub(crate) piece: StagingPiece<WgpuMemory>,
    fence: Arc<dyn Fence>,
    value: TimelineValue,
    /// A copy of the bytes, on GL.
    fetched: OnceLock<Box<[u8]>>,
}

impl Readback for PinnedRead {
    fn copy_out(&self, out: &mut [u8]) -> std::result::Result<(), Lost> {
        let end = out.len();
        if let Some(bytes) = self.fetched.get() {
            out.copy_from_slice(&bytes[..end]);
            return Ok(());
        }
        self.piece.read(&*self.fence, self.value, &mut |bytes| out.copy_from_slice(&bytes[..end]))
    }
}

/// Returns `size` rounded up to whole words, because wgpu copies whole words. An array ends on a multiple of 16 bytes,
/// so the added bytes belong to no element.
pub(crate) fn words(size: u64) -> u64 {
    size.next_multiple_of(4)
}

/// Returns the start and the size of each piece of a copy through the intermediate buffer. A copy to a higher offset
/// starts `from_the_end`, so that no piece overwrites bytes that a later piece reads.
pub(crate) fn intermediate_pieces(size: u64, from_the_end: bool) -> impl Iterator<Item = (u64, u64)> {
    let count = size.div_ceil(INTERMEDIATE);
    (0..count).map(move |at| {
        let start = if from_the_end { count - 1 - at } else { at } * INTERMEDIATE;
        (start, INTERMEDIATE.min(size - start))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_the_range_once_in_either_direction() {
        let size = 2 * INTERMEDIATE + 4;
        let forward: Vec<_> = intermediate_pieces(size, false).collect();
        assert_eq!(forward, [(0, INTERMEDIATE), (INTERMEDIATE, INTERMEDIATE), (2 * INTERMEDIATE, 4)]);
        let mut backward: Vec<_> = intermediate_pieces(size, true).collect();
        backward.reverse();
        assert_eq!(backward, forward);
    }
}
