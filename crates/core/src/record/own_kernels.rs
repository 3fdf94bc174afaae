//! Own kernels: kernels of this crate, which recorders dispatch for fills, region copies, checks of group counts, and
//! gates of graphs. A region copy copies few rows one by one, and many rows with a kernel.
//!
//! A node in a body is dispatched with group counts from the table, which are zero unless the node's gate allows it. So
//! fills, copies and uploads in bodies must be dispatches of own kernels.

use crate::driver::caps::Caps;
use crate::error::{ErrorDetail, Result};
use crate::memory::block::Block;
use crate::record::submitter::{BoundRange, GroupCount};
use crate::record::transfers::fill_with_kernel;
use crate::work::graph::control::{COUNTS, ControlTable, Gate, GatedPlace, counts_at};
use crate::work::kernel_launch::PipelineDescriptor;
use crate::work::region_copy::{RegionCopy, RowAxis, Rows, WORD, extent};
use crate::work::step::{Span, Work};
use fencepost_graph_file::MOST_DISPATCHES;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;

/// An own kernel of a recorder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OwnKernel {
    FillWords,
    CopyWords,
    CopySmall,
    Gate,
    GateGroups,
    #[cfg(native)]
    LimitGroups,
}

impl OwnKernel {
    fn source(self) -> (&'static str, &'static str) {
        match self {
            OwnKernel::FillWords => ("fill_words", include_str!("fill_words.wgsl")),
            OwnKernel::CopyWords => {
                ("copy_words", concat!(include_str!("copy_units.wgsl"), include_str!("copy_words.wgsl")))
            }
            OwnKernel::CopySmall => {
                ("copy_small", concat!(include_str!("copy_units.wgsl"), include_str!("copy_small.wgsl")))
            }
            OwnKernel::Gate => ("gate", include_str!("gate.wgsl")),
            OwnKernel::GateGroups => ("gate_groups", include_str!("gate_groups.wgsl")),
            #[cfg(native)]
            OwnKernel::LimitGroups => ("limit_groups", include_str!("hal/limit_groups.wgsl")),
        }
    }
}

/// The own kernels of a recorder, each compiled at its first use.
pub(crate) struct OwnKernels<P>([Option<Arc<P>>; 6]);

impl<P> Default for OwnKernels<P> {
    fn default() -> Self {
        Self([const { None }; 6])
    }
}

impl<P> OwnKernels<P> {
    /// Returns a kernel. At its first use, compiles it with `compile`.
    ///
    /// # Errors
    /// Returns the error of `compile`.
    pub(crate) fn get_or_compile(
        &mut self,
        kernel: OwnKernel,
        compile: impl FnOnce(&PipelineDescriptor<'_>) -> Result<P>,
    ) -> Result<Arc<P>> {
        let place = &mut self.0[kernel as usize];
        if let Some(made) = place {
            return Ok(made.clone());
        }
        let (entry, text) = kernel.source();
        let made = Arc::new(PipelineDescriptor::compile_own(entry, text, compile)?);
        Ok(place.insert(made).clone())
    }
}

/// A range of a block that an own kernel binds.
pub(crate) struct OwnRange<'e> {
    pub(crate) block: &'e Arc<Block>,
    pub(crate) offset: u64,
    pub(crate) size: u64,
    /// `true` if the kernel writes to the range.
    pub(crate) write: bool,
}

impl<'e> OwnRange<'e> {
    pub(crate) fn bound(&self) -> BoundRange<'e> {
        BoundRange { block: self.block, offset: self.offset, size: self.size }
    }
}

/// A dispatch of an own kernel.
pub(crate) struct OwnDispatch<'a, 'e> {
    pub(crate) kernel: OwnKernel,
    /// Parameters, in whole words.
    pub(crate) params: &'a [u32],
    pub(crate) ranges: &'a [OwnRange<'e>],
    pub(crate) groups: OwnGroups<'e>,
}

/// Number of workgroups in a dispatch of an own kernel.
#[derive(Clone, Copy)]
pub(crate) enum OwnGroups<'e> {
    /// Workgroups along the first dimension. The other dimensions have one.
    Fixed(u32),
    /// Counts that the device reads from this block, starting at this byte.
    Indirect(&'e Arc<Block>, u64),
}

impl<'e> OwnGroups<'e> {
    /// Returns the numbers in all dimensions. `buffer` returns the recorder's buffer of a block.
    pub(crate) fn count<B: 'e>(self, buffer: impl FnOnce(&'e Block) -> &'e B) -> GroupCount<'e, B> {
        match self {
            Self::Fixed(groups) => GroupCount::Fixed([groups, 1, 1]),
            Self::Indirect(block, offset) => GroupCount::Indirect(buffer(block), offset),
        }
    }
}

/// A recorder of dispatches of own kernels.
pub(crate) trait OwnDispatches<'e> {
    fn caps(&self) -> &'e Caps;

    /// Records a dispatch of an own kernel.
    ///
    /// # Errors
    /// Returns `Compile` at the first use of the kernel, or `OutOfMemory`.
    fn dispatch_own(&mut self, dispatch: &OwnDispatch<'_, 'e>) -> Result<()>;
}

/// A recorder of fills and region copies outside of bodies, some of which need no own kernel.
pub(crate) trait OwnCommands<'e>: OwnDispatches<'e> {
    /// Sets a range to zero. The range covers whole words.
    fn clear(&mut self, block: &'e Arc<Block>, range: Range<u64>);

    /// Copies the rows one by one.
    fn copy_rows(&mut self, copy: &'e RegionCopy);
}

/// Number of dispatches in a body that one workgroup handles.
const DISPATCHES_EACH: u32 = 64;
/// Stand-in for a missing word of a gate.
const NONE: u32 = u32::MAX;

/// Records the dispatch of a gate.
///
/// # Errors
/// Returns `Compile` at the first use of the kernel, or `OutOfMemory`.
pub(crate) fn record_gate<'e>(
    commands: &mut impl OwnDispatches<'e>,
    gate: &'e Gate,
    table: &'e ControlTable,
) -> Result<()> {
    let (condition, at) = bound(commands, &gate.condition);
    let layout = &table.layout;
    let places = layout.places(gate.own);
    let [test, limit] = gate.test.code();
    let counter = gate.counter;
    let flag = |flag: u32, is: bool| if is { flag } else { 0 };
    let flags = flag(1, counter.is_some_and(|counter| counter.resets))
        | flag(2, counter.is_some_and(|counter| counter.last))
        | flag(4, gate.bound.is_some());
    let params = [
        at,
        test,
        limit,
        gate.parent.unwrap_or(NONE),
        gate.previous.unwrap_or(NONE),
        gate.own,
        places.start,
        places.end - places.start,
        layout.wanted_at(),
        counter.map_or(NONE, |counter| layout.counter_at(counter.index)),
        flags,
        gate.bound.unwrap_or(NONE),
    ];
    let groups = OwnGroups::Fixed((places.end - places.start).div_ceil(DISPATCHES_EACH).max(1));
    let [words, counts] = tables(table);
    let ranges = &[condition, words, counts];
    commands.dispatch_own(&OwnDispatch { kernel: OwnKernel::Gate, params: &params, ranges, groups })
}

/// Records a copy of an indirect launch's group counts to the table, as zeros if the body of the launch does not
/// execute.
///
/// # Errors
/// Returns `Compile` at the first use of the kernel, or `OutOfMemory`.
pub(crate) fn record_gated_groups<'e>(
    commands: &mut impl OwnDispatches<'e>,
    wanted: &'e Span,
    place: GatedPlace<'e>,
) -> Result<()> {
    let (wanted, at) = bound(commands, wanted);
    let [mut words, counts] = tables(place.table);
    words.write = false;
    let params = &[at, commands.caps().max_groups, place.gate, place.first];
    let ranges = &[wanted, words, counts];
    let kernel = OwnKernel::GateGroups;
    let groups = OwnGroups::Fixed(1);
    commands.dispatch_own(&OwnDispatch { kernel, params, ranges, groups })
}

/// Returns the range to bind for words of user data, and the index in it of the first word.
fn bound<'e>(commands: &impl OwnDispatches<'e>, span: &'e Span) -> (OwnRange<'e>, u32) {
    let alignment = commands.caps().binding_alignment;
    let offset = span.offset / alignment * alignment;
    let size = span.offset + span.size - offset;
    let range = OwnRange { block: &span.block, offset, size, write: false };
    (range, ((span.offset - offset) / 4) as u32)
}

/// Returns the ranges of the table that a gate binds.
fn tables(table: &ControlTable) -> [OwnRange<'_>; 2] {
    let layout = &table.layout;
    let counts = 4 * u64::from(COUNTS * layout.dispatches().max(1));
    [
        OwnRange { block: &table.words, offset: 0, size: layout.head(), write: true },
        OwnRange { block: &table.counts, offset: 0, size: counts, write: true },
    ]
}

/// Returns the group counts of each dispatch of a node in a body, at most [`MOST_DISPATCHES`], the limit of a graph.
/// For an indirect launch they are zero, because the device fills them in before the launch.
///
/// # Errors
/// Work that can be in a body never gives an error.
pub(crate) fn dispatches_of(work: &Work, caps: &Caps) -> Result<Arc<[[u32; 3]]>> {
    if let Work::Launch(launch) = work {
        let counts =
            if launch.indirect.is_some() || launch.groups.contains(&0) { [0; 3] } else { launch.groups };
        return Ok(Arc::new([counts]));
    }
    let mut counting = DispatchCounts { caps, found: Vec::new() };
    let counted = transfer(&mut counting, work, None);
    if counting.found.len() as u64 <= MOST_DISPATCHES {
        counted?;
    }
    Ok(counting.found.into())
}

/// Records a fill, a copy or an upload in a body.
///
/// # Errors
/// Returns `Compile` at the first use of a kernel, or `OutOfMemory`.
pub(crate) fn record_gated_transfer<'e>(
    commands: &mut impl OwnDispatches<'e>,
    work: &'e Work,
    place: GatedPlace<'e>,
) -> Result<()> {
    let contents = Some((&place.table.words, place.upload));
    let counts = &place.table.counts;
    transfer(&mut GatedCommands { commands, counts, next: place.first }, work, contents)
}

/// Dispatches the kernels of a fill, a copy or an upload. `contents` is where the upload's bytes already are on the
/// device, if they are.
fn transfer<'e>(
    commands: &mut impl OwnDispatches<'e>,
    work: &'e Work,
    contents: Option<(&'e Arc<Block>, u64)>,
) -> Result<()> {
    match work {
        Work::Fill { dst, pattern } => fill_with_kernel(commands, dst, pattern),
        Work::Copy { src, dst } => {
            copy_with_kernel(commands, (&src.block, &dst.block), &words(src.offset, dst))
        }
        Work::Region(copy) => {
            let RegionCopy { src, dst, rows } = &**copy;
            copy_with_kernel(commands, (&src.block, &dst.block), rows)
        }
        Work::Upload { dst, .. } => {
            let (block, offset) = contents.unwrap_or((&dst.block, 0));
            copy_with_kernel(commands, (block, &dst.block), &words(offset, dst))
        }
        Work::Nothing => Ok(()),
        _ => unreachable!("bug: a body has work that cannot be in one"),
    }
}

/// Returns the rows of a copy of whole words to `dst`.
fn words(from: u64, dst: &Span) -> Rows {
    Rows { from, to: dst.offset, row: dst.size.next_multiple_of(4), axes: SmallVec::new() }
}

/// A recorder of commands whose dispatches take their group counts from successive places of the table.
struct GatedCommands<'c, 'e, C> {
    commands: &'c mut C,
    counts: &'e Arc<Block>,
    next: u32,
}

impl<'e, C: OwnDispatches<'e>> OwnDispatches<'e> for GatedCommands<'_, 'e, C> {
    fn caps(&self) -> &'e Caps {
        self.commands.caps()
    }

    fn dispatch_own(&mut self, dispatch: &OwnDispatch<'_, 'e>) -> Result<()> {
        let groups = OwnGroups::Indirect(self.counts, counts_at(self.next));
        self.next += 1;
        let OwnDispatch { kernel, params, ranges, .. } = *dispatch;
        self.commands.dispatch_own(&OwnDispatch { kernel, params, ranges, groups })
    }
}

/// A recorder that only collects the group counts of dispatches.
struct DispatchCounts<'e> {
    caps: &'e Caps,
    found: Vec<[u32; 3]>,
}

impl<'e> OwnDispatches<'e> for DispatchCounts<'e> {
    fn caps(&self) -> &'e Caps {
        self.caps
    }

    fn dispatch_own(&mut self, dispatch: &OwnDispatch<'_, 'e>) -> Result<()> {
        let OwnGroups::Fixed(groups) = dispatch.groups else { unreachable!("bug: a nested table") };
        self.found.push([groups, 1, 1]);
        if self.found.len() as u64 <= MOST_DISPATCHES {
            return Ok(());
        }
        let problem = "a command of a body has more dispatches than a graph".into();
        Err(ErrorDetail::Graph { graph: String::new(), problem }.into())
    }
}

/// Maximum number of rows that are always copied one by one. Up to this number, copies cost no more than a dispatch.
const FEW: u64 = 16;
/// Minimum size of a long row in bytes. Up to [`MANY`] long rows are copied one by one, which is faster than a kernel
/// on software drivers.
const LONG: u64 = 256;
/// Maximum number of long rows that are copied one by one. The list of more copies would itself cost too much.
const MANY: u64 = 1 << 16;
/// Maximum number of axes of one dispatch.
const AXES: usize = 4;
const WORKGROUP: u64 = 64;
/// Number of units that one invocation copies, if the device allows enough workgroups. A unit is [`unit_bytes`] long.
const WORDS_EACH: u64 = 4;
/// Maximum size of a binding in bytes. Kernels address the units of a binding with 32-bit indices.
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

/// Records a copy of rows between two blocks as dispatches. The two sides must not share a word.
///
/// # Errors
/// Returns `Compile` at the first use of the kernel, or `OutOfMemory`.
pub(crate) fn copy_with_kernel<'e>(
    commands: &mut impl OwnDispatches<'e>,
    (src, dst): (&'e Arc<Block>, &'e Arc<Block>),
    rows: &Rows,
) -> Result<()> {
    let kernel = if rows.is_words() { OwnKernel::CopyWords } else { OwnKernel::CopySmall };
    pieces(rows, commands.caps(), &mut |piece| {
        let range = |block, RegionBinding { offset, size }, write| OwnRange { block, offset, size, write };
        let ranges = [range(src, piece.src, false), range(dst, piece.dst, true)];
        let params = &piece.params;
        let groups = OwnGroups::Fixed(piece.groups);
        commands.dispatch_own(&OwnDispatch { kernel, params, ranges: &ranges, groups })
    })
}

/// Returns `true` if the copy is recorded row by row. Copies within one block never are, because wgpu cannot copy
/// within a buffer.
fn row_by_row(copy: &RegionCopy, caps: &Caps) -> bool {
    let rows = &copy.rows;
    let cheap = rows.count() <= FEW || (caps.software && rows.row >= LONG && rows.count() <= MANY);
    cheap && rows.is_words() && !Arc::ptr_eq(&copy.src.block, &copy.dst.block)
}

/// Returns the size of the unit that a kernel copies, in bytes: the largest, up to a word, to which all offsets,
/// strides and rows are aligned.
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

/// A part of a copy: the first unit in either block, and the axes, all counted in units.
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

/// Calls `dispatch` for a part if it fits one dispatch. Otherwise cuts it along its outermost axis, and splits the
/// results further.
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
        let from = self.from + at * outer.src;
        let to = self.to + at * outer.dst;
        let kept = (count > 1).then_some(RowAxis { count, ..outer });
        Self { from, to, axes: kept.into_iter().chain(self.axes[1..].iter().copied()).collect() }
    }

    /// Returns the ranges of the source and of the destination that a dispatch binds for this part.
    fn bindings(&self, unit: u64, alignment: u64) -> (RegionBinding, RegionBinding) {
        let binding = |first: u64, stride| {
            let start = first * unit;
            let units = extent(1, &self.axes, stride);
            let offset = start / alignment * alignment;
            let end = (start + units * unit).next_multiple_of(WORD);
            RegionBinding { offset, size: end - offset }
        };
        (binding(self.from, |axis| axis.src), binding(self.to, |axis| axis.dst))
    }

    /// Returns the dispatch of this part, with a count of 1 for missing axes.
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
    use crate::memory::region::{PaddedShape, Region, StridedRegion};
    use crate::record::cpu::cpu_recorder as cpu;
    use crate::region;

    #[test]
    fn every_own_kernel_is_valid_and_compiles_once() {
        let mut kernels = OwnKernels::<Option<u32>>::default();
        let mut compiled = 0;
        for (kernel, params) in [
            (OwnKernel::FillWords, 32),
            (OwnKernel::CopyWords, 64),
            (OwnKernel::CopySmall, 64),
            (OwnKernel::Gate, 48),
            (OwnKernel::GateGroups, 16),
        ] {
            for _ in 0..2 {
                let made = kernels.get_or_compile(kernel, |recipe| {
                    compiled += 1;
                    Ok(recipe.interface().params.as_ref().map(|params| params.size))
                });
                assert_eq!(*made.unwrap(), Some(params), "{kernel:?}");
            }
        }
        assert_eq!(compiled, 5);
    }

    fn caps(max_binding: u64) -> Caps {
        let device = cpu::open(&cpu::SimulatorOptions::default()).0;
        Caps { max_binding, ..crate::device::Device::caps(&*device).clone() }
    }

    /// Returns the rows of a copy between two regions of arrays with the same shape. The destination array starts 64
    /// bytes later. Elements have `size` bytes.
    fn rows(shape: &[usize], (from, to): (Region, Region), size: u64) -> Rows {
        let frame = PaddedShape::full(shape);
        let pick = |region| StridedRegion::of("x", frame, &region).unwrap();
        Rows::new((0, &pick(from)), (64, &pick(to)), size)
    }

    /// Returns the byte offsets in the blocks at which a piece reads and writes each unit.
    fn addressed(piece: &RegionPiece, unit: u64) -> Vec<(u64, u64)> {
        let words: Vec<u64> = piece.params.iter().map(|&word| u64::from(word)).collect();
        let place = |n: u64, strides: &[u64], first: u64| {
            let mut left = n;
            let mut at = first;
            for axis in (0..4).rev() {
                at += left % words[axis] * strides[axis];
                left /= words[axis];
            }
            at * unit
        };
        let both = |n| {
            let src = place(n, &words[4..8], words[12]);
            let dst = place(n, &words[8..12], words[13]);
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
            let mut found = Vec::new();
            let caps = caps(max);
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
