//! Region copies as plain commands: rows of bytes at fixed distances on both sides.

use crate::memory::block::{Block, overlap};
use crate::memory::region::StridedRegion;
use crate::work::step::Span;
use smallvec::SmallVec;
use std::sync::Arc;

/// Size in bytes of a word, the unit of copy commands and dispatches.
pub(crate) const WORD: u64 = 4;

/// Copy of rows of bytes. Source and destination share no word.
pub(crate) struct RegionCopy {
    /// Source, from the first element to the last, extended to whole words.
    pub(crate) src: Span,
    pub(crate) dst: Span,
    /// Rows, with offsets relative to the blocks.
    pub(crate) rows: Rows,
}

/// Rows of bytes in a source and a destination.
pub(crate) struct Rows {
    /// Number of bytes before the first row in the source.
    pub(crate) from: u64,
    /// Number of bytes before the first row in the destination.
    pub(crate) to: u64,
    /// Size of a row in bytes.
    pub(crate) row: u64,
    /// Axes of rows, outermost first, as few as possible.
    pub(crate) axes: SmallVec<[RowAxis; 4]>,
}

/// An axis of rows: the number of indices, and the number of bytes from one index to the next in the source and in the
/// destination.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RowAxis {
    pub(crate) count: u64,
    pub(crate) src: u64,
    pub(crate) dst: u64,
}

impl RegionCopy {
    /// Returns the copy of rows of `src` to `dst`. The blocks may be equal.
    pub(crate) fn new(src: &Arc<Block>, dst: &Arc<Block>, rows: Rows) -> Self {
        let src = span(src, rows.from, extent(rows.row, &rows.axes, |axis| axis.src));
        Self { src, dst: rows.target(dst), rows }
    }

    /// Returns the copy of consecutive words to as many consecutive words.
    pub(crate) fn run(src: Span, dst: Span) -> Self {
        let rows = Rows { from: src.offset, to: dst.offset, row: src.size, axes: SmallVec::new() };
        Self { src, dst, rows }
    }

    /// Returns a copy of the command.
    pub(crate) fn duplicate(&self) -> Self {
        let Rows { from, to, row, axes } = &self.rows;
        let rows = Rows { from: *from, to: *to, row: *row, axes: axes.clone() };
        Self { src: self.src.clone(), dst: self.dst.clone(), rows }
    }

    /// Returns `true` if one dispatch [cannot copy](need_memory_between) the rows.
    pub(crate) fn overlaps_itself(&self, binding_alignment: u64) -> bool {
        need_memory_between(&self.src, &self.dst, binding_alignment)
    }
}

/// Returns `true` if a dispatch cannot copy bytes of one span to the other, because the two may share words. In a browser,
/// their bindings must not overlap either, each of which begins at a multiple of `binding_alignment`.
pub(crate) fn need_memory_between(src: &Span, dst: &Span, binding_alignment: u64) -> bool {
    let alignment = if cfg!(target_arch = "wasm32") { binding_alignment } else { WORD };
    let aligned = |span: &Span| {
        let range = span.range();
        range.start / alignment * alignment..range.end
    };
    Arc::ptr_eq(&src.block, &dst.block) && overlap(&aligned(src), &aligned(dst))
}

impl Rows {
    /// Returns the rows of a copy between two selections of elements of `size` bytes. Each selection is passed with the
    /// offset of its array in bytes. Both must have the same axis lengths, and at least one element.
    pub(crate) fn new(src: (u64, &StridedRegion), dst: (u64, &StridedRegion), size: u64) -> Self {
        let at = |(offset, strided): (u64, &StridedRegion)| offset + strided.first as u64 * size;
        let (row, axes) = collapse(src.1, dst.1, size);
        Self { from: at(src), to: at(dst), row, axes }
    }

    /// Returns the words of `dst` from the first row to the last.
    pub(crate) fn target(&self, dst: &Arc<Block>) -> Span {
        span(dst, self.to, extent(self.row, &self.axes, |axis| axis.dst))
    }

    /// Returns the start of each row on both sides.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        (0..self.count()).map(|mut row| {
            let mut from = self.from;
            let mut to = self.to;
            for axis in self.axes.iter().rev() {
                let at = row % axis.count;
                from += at * axis.src;
                to += at * axis.dst;
                row /= axis.count;
            }
            (from, to)
        })
    }

    /// Returns the number of rows, which saturates at `u64::MAX`.
    pub(crate) fn count(&self) -> u64 {
        let counts = self.axes.iter().map(|axis| axis.count);
        if counts.clone().any(|count| count == 0) { 0 } else { counts.fold(1, u64::saturating_mul) }
    }

    /// Returns `true` if each row starts and ends at word boundaries on both sides.
    pub(crate) fn is_words(&self) -> bool {
        self.alignment() >= WORD
    }

    /// Returns the largest power of two that divides the start and the end of each row on both sides.
    pub(crate) fn alignment(&self) -> u64 {
        let strides = self.axes.iter().flat_map(|axis| [axis.src, axis.dst]);
        let all = strides.chain([self.from, self.to, self.row]).fold(0, |all, bytes| all | bytes);
        1 << all.trailing_zeros().min(63)
    }
}

/// Returns the number of bytes from the start of the first row to the end of the last.
pub(crate) fn extent(row: u64, axes: &[RowAxis], stride: fn(&RowAxis) -> u64) -> u64 {
    row + axes.iter().map(|axis| (axis.count - 1) * stride(axis)).sum::<u64>()
}

/// Returns the words that contain `bytes` bytes from `start`.
fn span(block: &Arc<Block>, start: u64, bytes: u64) -> Span {
    let offset = start / WORD * WORD;
    Span { block: block.clone(), offset, size: (start + bytes).next_multiple_of(WORD) - offset }
}

/// Returns the size of a row in bytes, and the axes of rows. Axes that are contiguous on both sides are merged.
fn collapse(src: &StridedRegion, dst: &StridedRegion, size: u64) -> (u64, SmallVec<[RowAxis; 4]>) {
    let (mut row, mut axes): (u64, SmallVec<[RowAxis; 4]>) = (size, SmallVec::new());
    for (src, dst) in src.axes.iter().zip(&dst.axes).rev().filter(|(axis, _)| axis.count > 1) {
        let next =
            RowAxis { count: src.count as u64, src: src.stride as u64 * size, dst: dst.stride as u64 * size };
        match axes.last_mut() {
            None if next.src == row && next.dst == row => row *= next.count,
            Some(inner) if next.src == inner.count * inner.src && next.dst == inner.count * inner.dst => {
                inner.count *= next.count;
            }
            _ => axes.push(next),
        }
    }
    axes.reverse();
    (row, axes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::region::{PaddedShape, Region};
    use crate::region;

    fn collapsed(shape: &[usize], from: Region, to: Region) -> (u64, Vec<(u64, u64, u64)>) {
        let frame = PaddedShape::full(shape);
        let pick = |region| StridedRegion::of("x", frame, &region).unwrap();
        let (row, axes) = collapse(&pick(from), &pick(to), 4);
        (row, axes.iter().map(|axis| (axis.count, axis.src, axis.dst)).collect())
    }

    #[test]
    fn a_region_without_gaps_is_one_row() {
        assert_eq!(collapsed(&[4, 5, 6], region![], region![]), (480, vec![]));
        assert_eq!(collapsed(&[4, 5, 6], region![1..3], region![2..4]), (240, vec![]));
        assert_eq!(collapsed(&[4, 5, 6], region![1, 2..4], region![0, 0..2]), (48, vec![]));
    }

    #[test]
    fn axes_without_a_gap_on_both_sides_become_one() {
        let rows = |from, to| collapsed(&[4, 5, 6], from, to);
        assert_eq!(rows(region![.., .., 0..2], region![.., .., 1..3]), (8, vec![(20, 24, 24)]));
        assert_eq!(rows(region![.., 0..3], region![.., 2..5]), (72, vec![(4, 120, 120)]));
        let turned = rows(region![0..4, 0..4, 0], region![0..4, 0, 0..4]);
        assert_eq!(turned, (4, vec![(4, 120, 120), (4, 24, 4)]));
        assert_eq!(rows(region![.., .., 1], region![.., .., ..; 6]), (4, vec![(20, 24, 24)]));
    }
}
