//! Copies of regions: a copy per row for few rows, and a kernel for many.

use crate::driver::caps::Caps;
use crate::error::Result;
use crate::memory::block::Block;
use crate::record::own_kernels::{OwnCommands, OwnDispatch, OwnGroups, OwnKernel, OwnRange};
use crate::work::region_copy::{RegionCopy, RowAxis, Rows, WORD, extent};
use smallvec::SmallVec;
use std::sync::Arc;

/// Most rows that are always copied one by one. Up to this number, the copies cost no more than a dispatch.
const FEW: u64 = 16;
/// Least bytes of a long row. A software driver copies long rows faster one by one than with a kernel, up to [`MANY`].
const LONG: u64 = 256;
/// Most long rows that are copied one by one. A longer list of copies would itself cost too much.
const MANY: u64 = 1 << 16;
/// Most axes of one dispatch.
const AXES: usize = 4;
const WORKGROUP: u64 = 64;
/// Units that one invocation copies, if the device allows enough workgroups. A unit has [`unit_bytes`] bytes.
const WORDS_EACH: u64 = 4;
/// Most bytes of a binding. The kernels address the units of a binding with 32-bit indices.
const MOST: u64 = 1 << 32;

/// Records a copy: row by row for few or long rows, otherwise with a kernel.
///
/// # Errors
/// Returns `Compile` at the first use of the kernel, or `OutOfMemory`.
pub(crate) fn copy_region<'e>(commands: &mut impl OwnCommands<'e>, copy: &'e RegionCopy) -> Result<()> {
    let caps = commands.caps();
    if row_by_row(copy, caps) {
        commands.copy_rows(copy);
        return Ok(());
    }
    copy_with_kernel(commands, (&copy.src.block, &copy.dst.block), &copy.rows)
}

/// Records a copy of rows between two blocks as dispatches. The rows of the two sides share no word.
///
/// # Errors
/// Returns `Compile` at the first use of the kernel, or `OutOfMemory`.
pub(crate) fn copy_with_kernel<'e>(
    commands: &mut impl OwnCommands<'e>,
    (src, dst): (&'e Arc<Block>, &'e Arc<Block>),
    rows: &Rows,
) -> Result<()> {
    let kernel = if rows.is_words() { OwnKernel::CopyWords } else { OwnKernel::CopySmall };
    pieces(rows, commands.caps(), &mut |piece| {
        let range = |block, RegionBinding { offset, size }, write| OwnRange { block, offset, size, write };
        let ranges = [range(src, piece.src, false), range(dst, piece.dst, true)];
        let (params, groups) = (&piece.params, OwnGroups::Fixed(piece.groups));
        commands.dispatch_own(&OwnDispatch { kernel, params, ranges: &ranges, groups })
    })
}

/// Returns `true` if the copy is recorded row by row. A copy within one block never is, because wgpu does not copy
/// within one buffer.
fn row_by_row(copy: &RegionCopy, caps: &Caps) -> bool {
    let rows = &copy.rows;
    let cheap = rows.count() <= FEW || (caps.software && rows.row >= LONG && rows.count() <= MANY);
    cheap && rows.is_words() && !Arc::ptr_eq(&copy.src.block, &copy.dst.block)
}

/// Returns the bytes of the unit that a kernel copies: the largest one, up to a word, on which all offsets, strides and
/// rows are aligned.
fn unit_bytes(rows: &Rows) -> u64 {
    rows.alignment().min(WORD)
}

/// One dispatch of a copy. `params` are the shader's `Params`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RegionPiece {
    pub(crate) src: RegionBinding,
    pub(crate) dst: RegionBinding,
    pub(crate) params: [u32; 16],
    pub(crate) groups: u32,
}

/// The bound range of a block. `offset` is a multiple of the device's binding alignment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RegionBinding {
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

/// A part of a copy: the first unit in either block, and the axes. All numbers are in units.
struct RegionPart {
    from: u64,
    to: u64,
    axes: SmallVec<[RowAxis; 4]>,
}

/// Calls `dispatch` for each piece of a copy. A piece has at most [`AXES`] axes and fits the device's binding limit.
///
/// # Errors
/// Returns the first error of `dispatch`.
fn pieces(rows: &Rows, caps: &Caps, dispatch: &mut impl FnMut(&RegionPiece) -> Result<()>) -> Result<()> {
    let unit = unit_bytes(rows);
    let whole = |bytes: u64| bytes / unit;
    let axes = rows.axes.iter().map(|axis| RowAxis {
        count: axis.count,
        src: whole(axis.src),
        dst: whole(axis.dst),
    });
    let units = RowAxis { count: whole(rows.row), src: 1, dst: 1 };
    let axes = axes.chain([units]).filter(|axis| axis.count > 1).collect();
    let all = RegionPart { from: whole(rows.from), to: whole(rows.to), axes };
    split(all, unit, caps, dispatch)
}

/// Calls `dispatch` for a part that fits one dispatch. Cuts any other part along its outermost axis, and splits these
/// parts further.
fn split(
    part: RegionPart,
    unit: u64,
    caps: &Caps,
    dispatch: &mut impl FnMut(&RegionPiece) -> Result<()>,
) -> Result<()> {
    let (src, dst) = part.bindings(unit, caps.binding_alignment);
    if part.axes.len() <= AXES && src.size.max(dst.size) <= caps.max_binding.min(MOST) {
        return dispatch(&part.piece(src, dst, unit, caps));
    }
    let cut = if part.axes.len() > AXES { 1 } else { part.axes[0].count.div_ceil(2) };
    let mut at = 0;
    while at < part.axes[0].count {
        let count = cut.min(part.axes[0].count - at);
        split(part.cut(at, count), unit, caps, dispatch)?;
        at += count;
    }
    Ok(())
}

impl RegionPart {
    /// Returns the part with the indices `at..at + count` of the outermost axis. A single index drops the axis.
    fn cut(&self, at: u64, count: u64) -> Self {
        let outer = self.axes[0];
        let (from, to) = (self.from + at * outer.src, self.to + at * outer.dst);
        let kept = (count > 1).then_some(RowAxis { count, ..outer });
        Self { from, to, axes: kept.into_iter().chain(self.axes[1..].iter().copied()).collect() }
    }

    /// Returns the ranges of the source and of the destination that a dispatch binds for this part.
    fn bindings(&self, unit: u64, alignment: u64) -> (RegionBinding, RegionBinding) {
        let binding = |first: u64, stride| {
            let (start, units) = (first * unit, extent(1, &self.axes, stride));
            let offset = start / alignment * alignment;
            let end = (start + units * unit).next_multiple_of(WORD);
            RegionBinding { offset, size: end - offset }
        };
        (binding(self.from, |axis| axis.src), binding(self.to, |axis| axis.dst))
    }

    /// Returns the dispatch of this part. Missing axes have the count 1.
    fn piece(&self, src: RegionBinding, dst: RegionBinding, unit: u64, caps: &Caps) -> RegionPiece {
        let mut words = [0; 16];
        let missing = AXES - self.axes.len();
        words[..missing].fill(1);
        for (at, axis) in self.axes.iter().enumerate().map(|(at, axis)| (at + missing, axis)) {
            words[at] = axis.count as u32;
            words[AXES + at] = axis.src as u32;
            words[2 * AXES + at] = axis.dst as u32;
        }
        let total: u64 = self.axes.iter().map(|axis| axis.count).product();
        words[12] = (self.from - src.offset / unit) as u32;
        words[13] = (self.to - dst.offset / unit) as u32;
        words[14] = total as u32;
        words[15] = 8 * unit as u32;
        let groups = total.div_ceil(WORKGROUP * WORDS_EACH).min(u64::from(caps.max_groups)) as u32;
        RegionPiece { src, dst, params: words, groups }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::memory::region::Region;
    use crate::memory::region_iter::{PaddedShape, StridedRegion};
    use crate::record::cpu::cpu_recorder as cpu;
    use crate::region;

    fn caps(max_binding: u64) -> Caps {
        let device = cpu::open(&cpu::CpuOptions::default()).0;
        Caps { max_binding, ..crate::device::Device::caps(&*device).clone() }
    }

    /// Returns the rows of a copy between two regions of arrays of one shape. The destination starts 64 bytes later. An
    /// element has `size` bytes.
    fn rows(shape: &[usize], (from, to): (Region, Region), size: u64) -> Rows {
        let frame = PaddedShape::full(shape);
        let pick = |region| StridedRegion::of("x", frame, &region).unwrap();
        Rows::new((0, &pick(from)), (64, &pick(to)), size)
    }

    /// Returns the byte offsets in the blocks at which a piece reads and writes each unit.
    fn addressed(piece: &RegionPiece, unit: u64) -> Vec<(u64, u64)> {
        let words: Vec<u64> = piece.params.iter().map(|&word| u64::from(word)).collect();
        let place = |n: u64, strides: &[u64], first: u64| {
            let (mut left, mut at) = (n, first);
            for axis in (0..4).rev() {
                at += left % words[axis] * strides[axis];
                left /= words[axis];
            }
            at * unit
        };
        let both = |n| {
            let (src, dst) = (place(n, &words[4..8], words[12]), place(n, &words[8..12], words[13]));
            assert!(src + unit <= piece.src.size && dst + unit <= piece.dst.size, "{piece:?}");
            (piece.src.offset + src, piece.dst.offset + dst)
        };
        (0..words[14]).map(both).collect()
    }

    #[test]
    fn pieces_address_every_unit_once_within_their_bindings() {
        let everything = || (region![], region![]);
        let odd = || (region![.., ..; 2, .., 1.., ..; 2], region![.., ..; 2, .., ..3, ..; 2]);
        for (shape, regions, size, max) in [
            (vec![4, 5], everything(), 4, 1 << 20),
            (vec![3, 5, 2, 4, 7], odd(), 4, 1 << 20),
            (vec![3, 5, 2, 4, 7], odd(), 2, 1 << 20),
            (vec![3, 5, 2, 4, 7], odd(), 1, 1 << 20),
            (vec![3, 5, 2, 4, 7], odd(), 3, 256),
            (vec![3, 5, 2, 4, 7], odd(), 8, 128),
            (vec![1000], (region![..; 3], region![..; 3]), 4, 256),
            (vec![999], everything(), 2, 256),
        ] {
            let rows = rows(&shape, regions, size);
            let unit = unit_bytes(&rows);
            let (mut found, caps) = (Vec::new(), caps(max));
            let take = &mut |piece: &RegionPiece| {
                assert!(piece.src.size.max(piece.dst.size) <= max && piece.src.offset.is_multiple_of(32));
                found.extend(addressed(piece, unit));
                Ok(())
            };
            pieces(&rows, &caps, take).unwrap();
            let units =
                |(from, to): (u64, u64)| (0..rows.row / unit).map(move |n| (from + n * unit, to + n * unit));
            let mut expected: Vec<_> = rows.iter().flat_map(units).collect();
            found.sort_unstable();
            expected.sort_unstable();
            assert_eq!(found, expected, "{shape:?} of {size} bytes");
        }
    }
}
