//! Copies through other memory: within one block, and to staging memory that the host reads.

use crate::memory::read_slot::Readback;
use crate::memory::staging::StagingPiece;
use crate::memory::wgpu_memory::WgpuMemory;
use fencepost_sync::backend::Fence;
use fencepost_sync::{Lost, Value};
use std::sync::Arc;

/// Bytes of the buffer through which copies within one block go.
pub(crate) const DETOUR: u64 = 16 << 20;

/// The bytes of a read in memory that the host reaches.
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

/// wgpu copies whole words. Arrays end on 16 bytes, and what lies behind the last element is nobody's.
pub(crate) fn words(size: u64) -> u64 {
    size.next_multiple_of(4)
}

/// Start and size of the pieces of a copy through the buffer between.
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
    fn a_detour_covers_everything_once_in_either_direction() {
        let size = 2 * DETOUR + 4;
        let forth: Vec<_> = detour_pieces(size, false).collect();
        assert_eq!(forth, [(0, DETOUR), (DETOUR, DETOUR), (2 * DETOUR, 4)]);
        let mut back: Vec<_> = detour_pieces(size, true).collect();
        back.reverse();
        assert_eq!(back, forth);
    }
}
