//! Copies through intermediate memory: within one block, and to staging memory that the host reads.

use crate::memory::read_slot::Readback;
use crate::memory::staging::StagingPiece;
use crate::memory::wgpu_memory::WgpuMemory;
use fencepost_sync::backend::Fence;
use fencepost_sync::{Lost, Value};
use std::sync::Arc;

/// Counts the bytes of the intermediate buffer for copies within one block.
pub(crate) const DETOUR: u64 = 16 << 20;

/// Holds the bytes of a read in memory that the host keeps mapped.
pub(crate) struct PinnedRead {
    pub(crate) piece: StagingPiece<WgpuMemory>,
    pub(crate) fence: Arc<dyn Fence>,
    pub(crate) value: Value,
}

impl Readback for PinnedRead {
    fn copy_out(&self, out: &mut [u8]) -> Result<(), Lost> {
        let end = out.len();
        self.piece.read(&*self.fence, self.value, &mut |bytes| out.copy_from_slice(&bytes[..end]))
    }
}

/// Returns `size` rounded up to whole words, because wgpu copies whole words. An array ends on a multiple of 16 bytes,
/// so the added bytes belong to no element.
pub(crate) fn words(size: u64) -> u64 {
    size.next_multiple_of(4)
}

/// Returns the start and the size of each piece of a copy through the intermediate buffer.
pub(crate) fn detour_pieces(size: u64, from_the_end: bool) -> impl Iterator<Item = (u64, u64)> {
    let count = size.div_ceil(DETOUR);
    (0..count).map(move |at| {
        let start = if from_the_end { count - 1 - at } else { at } * DETOUR;
        (start, DETOUR.min(size - start))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detour_pieces_cover_the_range_once_in_either_direction() {
        let size = 2 * DETOUR + 4;
        let forth: Vec<_> = detour_pieces(size, false).collect();
        assert_eq!(forth, [(0, DETOUR), (DETOUR, DETOUR), (2 * DETOUR, 4)]);
        let mut back: Vec<_> = detour_pieces(size, true).collect();
        back.reverse();
        assert_eq!(back, forth);
    }
}
