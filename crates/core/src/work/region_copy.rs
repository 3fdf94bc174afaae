//! A copy of a region as a plain command: rows of bytes, so far apart on either side.

use crate::memory::block::Block;
use crate::memory::heap::overlap;
use crate::memory::region_iter::StridedRegion;
use crate::work::span::Span;
use smallvec::SmallVec;
use std::sync::Arc;

/// Bytes that a copy or a dispatch addresses as a whole.
pub(crate) const WORD: u64 = 4;

/// A copy of rows of bytes from one place to another that shares no word with it.
pub(crate) struct RegionCopy {
    /// From the first element to the last, rounded out to words.
    pub(crate) src: Span,
    pub(crate) dst: Span,
    /// Where the rows are, from the starts of the blocks.
    pub(crate) rows: Rows,
}

/// Rows of bytes in one place and in another.
pub(crate) struct Rows {
    /// Bytes before the first.
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// Bytes of each.
    pub(crate) row: u64,
    /// Outermost first; as few as describe them.
    pub(crate) axes: SmallVec<[RowAxis; 4]>,
}

/// So many rows, or axes of rows, so many bytes apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RowAxis {
    pub(crate) count: u64,
    pub(crate) src: u64,
    pub(crate) dst: u64,
}

impl RegionCopy {
    /// The copy of some rows of a block to another, or the same.
    pub(crate) fn new(src: &Arc<Block>, dst: &Arc<Block>, rows: Rows) -> Self {
        let src = span(src, rows.from, extent(rows.row, &rows.axes, |axis| axis.src));
        Self { src, dst: rows.target(dst), rows }
    }

    /// The copy of a run of words to as many others.
    pub(crate) fn run(src: Span, dst: Span) -> Self {
        let rows = Rows { from: src.offset, to: dst.offset, row: src.size, axes: SmallVec::new() };
        Self { src, dst, rows }
    }

    /// Whether the two sides may share words.
    pub(crate) fn meets_itself(&self) -> bool {
        Arc::ptr_eq(&self.src.block, &self.dst.block) && overlap(&self.src.range(), &self.dst.range())
    }
}

impl Rows {
    /// The rows of elements of `size` bytes, of which there are some, and of as many in axes of the same lengths, each
    /// with the bytes before its array.
    pub(crate) fn new(src: (u64, &StridedRegion), dst: (u64, &StridedRegion), size: u64) -> Self {
        let at = |(offset, picked): (u64, &StridedRegion)| offset + picked.first as u64 * size;
        let (row, axes) = collapse(src.1, dst.1, size);
        Self { from: at(src), to: at(dst), row, axes }
    }

    /// The words of `dst` from the first to the last.
    pub(crate) fn target(&self, dst: &Arc<Block>) -> Span {
        span(dst, self.to, extent(self.row, &self.axes, |axis| axis.dst))
    }

    /// Where each starts, on either side.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        (0..self.count()).map(|mut row| {
            let (mut from, mut to) = (self.from, self.to);
            for axis in self.axes.iter().rev() {
                let at = row % axis.count;
                (from, to, row) = (from + at * axis.src, to + at * axis.dst, row / axis.count);
            }
            (from, to)
        })
    }

    /// How many there are, up to as many as can be counted.
    pub(crate) fn count(&self) -> u64 {
        let counts = self.axes.iter().map(|axis| axis.count);
        if counts.clone().any(|count| count == 0) { 0 } else { counts.fold(1, u64::saturating_mul) }
    }

    /// Whether each starts and ends on words, on both sides.
    pub(crate) fn is_words(&self) -> bool {
        self.alignment() >= WORD
    }

    /// The power of two on whose multiples each starts and ends, on both sides.
    pub(crate) fn alignment(&self) -> u64 {
        let strides = self.axes.iter().flat_map(|axis| [axis.src, axis.dst]);
        let all = strides.chain([self.from, self.to, self.row]).fold(0, |all, bytes| all | bytes);
        1 << all.trailing_zeros().min(63)
    }
}

/// Bytes from the first to the last of rows.
pub(crate) fn extent(row: u64, axes: &[RowAxis], stride: fn(&RowAxis) -> u64) -> u64 {
    row + axes.iter().map(|axis| (axis.count - 1) * stride(axis)).sum::<u64>()
}

/// The words that some bytes of a block lie in.
fn span(block: &Arc<Block>, start: u64, bytes: u64) -> Span {
    let offset = start / WORD * WORD;
    Span { block: block.clone(), offset, size: (start + bytes).next_multiple_of(WORD) - offset }
}

/// Bytes of a row, and the axes of rows: axes that follow each other without a gap on both sides are one.
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
    use crate::memory::region::Region;
    use crate::memory::region_iter::PaddedShape;
    use crate::region;

    fn collapsed(shape: &[usize], from: Region, to: Region) -> (u64, Vec<(u64, u64, u64)>) {
        let frame = PaddedShape { shape, padded: shape };
        let pick = |region| StridedRegion::of("x", frame, &region).unwrap();
        let (row, axes) = collapse(&pick(from), &pick(to), 4);
        (row, axes.iter().map(|axis| (axis.count, axis.src, axis.dst)).collect())
    }

    #[test]
    fn what_has_no_gaps_is_one_row() {
        assert_eq!(collapsed(&[4, 5, 6], region![], region![]), (480, vec![]));
        assert_eq!(collapsed(&[4, 5, 6], region![1..3], region![2..4]), (240, vec![]));
        assert_eq!(collapsed(&[4, 5, 6], region![1, 2..4], region![0, 0..2]), (48, vec![]));
    }

    #[test]
    fn axes_are_one_where_both_sides_go_on() {
        let rows = |from, to| collapsed(&[4, 5, 6], from, to);
        assert_eq!(rows(region![.., .., 0..2], region![.., .., 1..3]), (8, vec![(20, 24, 24)]));
        assert_eq!(rows(region![.., 0..3], region![.., 2..5]), (72, vec![(4, 120, 120)]));
        let turned = rows(region![0..4, 0..4, 0], region![0..4, 0, 0..4]);
        assert_eq!(turned, (4, vec![(4, 120, 120), (4, 24, 4)]));
        assert_eq!(rows(region![.., .., 1], region![.., .., ..; 6]), (4, vec![(20, 24, 24)]));
    }
}
