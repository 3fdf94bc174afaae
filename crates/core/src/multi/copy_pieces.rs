//! The pieces of a copy between contexts, and the places of their bytes on either side.

use crate::arrays::storage::Storage;
use crate::error::Result;
use crate::memory::block::Block;
use crate::memory::heap::{Heap, overlap};
use crate::runtime::owner::Owner;
use crate::scheduler::engine::Engine;
use crate::scheduler::ordering::admission::Admission;
use crate::work::region_copy::{RegionCopy, RowAxis, Rows, WORD, extent};
use crate::work::span::Span;
use crate::work::step::Work;
use smallvec::SmallVec;
use std::iter::repeat_with;
use std::sync::Arc;

/// Smallest and largest size of a piece in bytes. A piece is large, so that its fixed costs are small, but a copy has
/// several pieces (`PIECES` of them, where the limits allow), so that reads and writes overlap.
const SMALLEST_PIECE: u64 = 256 << 10;
const LARGEST_PIECE: u64 = 4 << 20;
const PIECES: u64 = 8;
/// Most pieces in flight at once.
pub(crate) const PIECES_IN_FLIGHT: usize = 2;

/// The two sides of a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CopySide {
    Source,
    Target,
}

/// Temporary memory of a copy on one side, for pieces that have gaps in the array or do not start and end on words.
pub(crate) struct CopyBuffers(Vec<Arc<Storage>>);

/// Cuts the rows of a copy into pieces. If the copy `overlaps_itself`, there is one piece, so that all bytes are read
/// before the first is written.
pub(crate) fn cut(copy: &RegionCopy, overlaps_itself: bool) -> Vec<Rows> {
    let all = bytes(&copy.rows);
    let size = if overlaps_itself { all } else { (all / PIECES).clamp(SMALLEST_PIECE, LARGEST_PIECE) };
    in_pieces(&copy.rows, size.next_multiple_of(WORD))
}

/// Returns `true` if both arrays are on the same external buffer, and the source and the target share bytes of it.
pub(crate) fn overlaps_itself(source: &Engine, target: &Engine, copy: &RegionCopy) -> bool {
    let (src, dst) = (copy.src.block.shared_buffer(), copy.dst.block.shared_buffer());
    let one = source.shares_queue(target) && src.is_some() && src == dst;
    one && overlap(&copy.src.range(), &copy.dst.range())
}

/// Cuts rows into pieces of at most `size` bytes, in C order. A piece is a range of indices of one axis, with all inner
/// axes. The bytes of a row count as an axis.
fn in_pieces(rows: &Rows, size: u64) -> Vec<Rows> {
    let mut axes = rows.axes.clone();
    axes.push(RowAxis { count: rows.row, src: 1, dst: 1 });
    let inside = |at: usize| axes[at + 1..].iter().map(|axis| axis.count).product::<u64>();
    let at = (0..axes.len()).find(|&at| inside(at) <= size).expect("bug: one byte is larger than a piece");
    let (axis, most) = (axes[at], size / inside(at));
    let outer = Rows { row: 1, axes: axes[..at].into(), ..*rows };
    let piece = |from: u64, to: u64, first: u64| {
        let mut axes: SmallVec<[RowAxis; 4]> = axes[at..].into();
        axes[0].count = most.min(axis.count - first);
        let row = axes.pop().map_or(1, |bytes| bytes.count);
        axes.retain(|axis| axis.count > 1);
        Rows { from: from + first * axis.src, to: to + first * axis.dst, row, axes }
    };
    let firsts = || (0..axis.count).step_by(most as usize);
    outer
        .iter()
        .flat_map(|(from, to)| firsts().map(move |first| (from, to, first)))
        .map(|(from, to, first)| piece(from, to, first))
        .collect()
}

fn bytes(rows: &Rows) -> u64 {
    rows.row * rows.count()
}

impl CopySide {
    /// Returns the offset of the first row on this side.
    fn start(self, rows: &Rows) -> u64 {
        if self == CopySide::Source { rows.from } else { rows.to }
    }

    /// Returns `true` if the rows have no gaps on this side, and they start and end on words.
    fn is_contiguous(self, rows: &Rows) -> bool {
        let extent = extent(
            rows.row,
            &rows.axes,
            match self {
                CopySide::Source => |axis| axis.src,
                CopySide::Target => |axis| axis.dst,
            },
        );
        extent == bytes(rows) && [extent, self.start(rows)].iter().all(|bytes| bytes.is_multiple_of(WORD))
    }

    /// Returns the copy of a piece between its array on this side and memory in which its rows have no gaps.
    pub(crate) fn between(self, rows: &Rows, array: &Arc<Block>, memory: &Arc<Block>) -> Work {
        let (mut rows, mut inside) = (Rows { axes: rows.axes.clone(), ..*rows }, rows.row);
        for axis in rows.axes.iter_mut().rev() {
            *if self == CopySide::Source { &mut axis.dst } else { &mut axis.src } = inside;
            inside *= axis.count;
        }
        match self {
            CopySide::Source => RegionCopy::new(array, memory, Rows { to: 0, ..rows }).into(),
            CopySide::Target => RegionCopy::new(memory, array, Rows { from: 0, ..rows }).into(),
        }
    }
}

impl CopyBuffers {
    /// Allocates the memory that `pieces` need on this side: at most [`PIECES_IN_FLIGHT`] buffers, which the pieces
    /// use in turn.
    ///
    /// # Errors
    /// Fails if an allocation fails.
    pub(crate) fn new(owner: &Owner, by: Admission, end: CopySide, pieces: &[Rows]) -> Result<Self> {
        let sizes: Vec<u64> = pieces.iter().filter(|rows| !end.is_contiguous(rows)).map(size).collect();
        let Some(&most) = sizes.iter().max() else { return Ok(Self(Vec::new())) };
        let label = Arc::from("a copy between contexts");
        let allocate = || {
            let storage = Storage::allocate(owner, Heap::Device, most, &label, by)?;
            owner.engine().note_making(by, storage.block());
            Ok(storage)
        };
        repeat_with(allocate).take(sizes.len().min(PIECES_IN_FLIGHT)).collect::<Result<_>>().map(Self)
    }

    /// Returns the spans of all buffers.
    pub(crate) fn spans(&self) -> impl Iterator<Item = Span> {
        let whole = |block: &Arc<Block>| Span { block: block.clone(), offset: 0, size: block.size };
        self.0.iter().map(move |storage| whole(storage.block()))
    }

    /// Returns the span in which the bytes of piece `at` have no gaps: in the array if possible, otherwise in a buffer.
    pub(crate) fn place(&self, end: CopySide, at: usize, rows: &Rows, array: &Arc<Block>) -> Span {
        let (block, offset) = match end.is_contiguous(rows) {
            true => (array, end.start(rows)),
            false => (self.0[at % self.0.len()].block(), 0),
        };
        Span { block: block.clone(), offset, size: size(rows) }
    }
}

/// Returns the bytes of a piece, rounded up to words.
fn size(rows: &Rows) -> u64 {
    bytes(rows).next_multiple_of(WORD)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::region_iter::{PaddedShape, StridedRegion};
    use crate::region;

    fn rows(shape: &[usize], padded: [&[usize]; 2], size: u64) -> Rows {
        let all = |padded| StridedRegion::all(PaddedShape { shape, padded });
        Rows::new((8, &all(padded[0])), (16, &all(padded[1])), size)
    }

    /// Returns the source and the target of each byte.
    fn moves(rows: &Rows) -> Vec<(u64, u64)> {
        rows.iter().flat_map(|(from, to)| (0..rows.row).map(move |at| (from + at, to + at))).collect()
    }

    #[test]
    fn pieces_cover_all_bytes_in_order_and_keep_the_size_limit() {
        for size in [4, 8, 20, 24, 48, 100, 1000] {
            for padded in [[4, 5, 3], [7, 5, 3], [4, 5, 8], [4, 9, 4]] {
                for all in
                    [rows(&[4, 5, 3], [&[4, 5, 3], &padded], 4), rows(&[4, 5, 3], [&padded, &[4, 6, 4]], 2)]
                {
                    let pieces = in_pieces(&all, size);
                    assert!(pieces.iter().all(|piece| bytes(piece) <= size), "{padded:?} by {size}");
                    let moved: Vec<_> = pieces.iter().flat_map(moves).collect();
                    assert_eq!(moved, moves(&all), "{padded:?} by {size}");
                    assert!(pieces.len() as u64 <= 4 * bytes(&all).div_ceil(size), "{padded:?} by {size}");
                }
            }
        }
    }

    #[test]
    fn a_run_of_words_is_detected_on_either_side() {
        let wide = rows(&[4, 3], [&[4, 3], &[4, 5]], 4);
        assert!(CopySide::Source.is_contiguous(&wide) && !CopySide::Target.is_contiguous(&wide));
        let halves = rows(&[1, 3], [&[1, 3], &[1, 3]], 2);
        assert!(!CopySide::Source.is_contiguous(&halves), "it ends within a word");
        let strided =
            StridedRegion::of("x", PaddedShape { shape: &[9], padded: &[9] }, &region![1..5]).unwrap();
        let inside = Rows::new((0, &strided), (0, &strided.packed()), 2);
        assert!(
            !CopySide::Source.is_contiguous(&inside) && CopySide::Target.is_contiguous(&inside),
            "one starts within a word"
        );
    }
}
