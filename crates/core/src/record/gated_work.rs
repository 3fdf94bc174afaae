//! The nodes of bodies as dispatches: a dispatch with group counts from the table executes only if its gate allows it.
//! So fills, copies and uploads in bodies are dispatches of own kernels.

use crate::driver::caps::Caps;
use crate::error::{Kind, Result};
use crate::memory::block::Block;
use crate::record::fill::fill_with_kernel;
use crate::record::own_kernels::{OwnCommands, OwnDispatch, OwnGroups};
use crate::record::region_kernels::copy_with_kernel;
use crate::work::graph_data::control_table::{GatedPlace, MOST_DISPATCHES, counts_at};
use crate::work::region_copy::{RegionCopy, Rows};
use crate::work::span::Span;
use crate::work::step::Work;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;

/// Returns the group counts of each dispatch of a node in a body. The counts of an indirect launch are zero here,
/// because the device copies them before the launch. The list ends after [`MOST_DISPATCHES`], the limit of a graph.
///
/// # Errors
/// Returns no error for work that can be in a body.
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
    commands: &mut impl OwnCommands<'e>,
    work: &'e Work,
    place: GatedPlace<'e>,
) -> Result<()> {
    let contents = Some((&place.table.words, place.upload));
    let counts = &place.table.counts;
    transfer(&mut GatedCommands { commands, counts, next: place.first }, work, contents)
}

/// Dispatches the kernels of a fill, a copy or an upload. `contents` is the place of the upload's bytes on the device,
/// if they have one already.
fn transfer<'e>(
    commands: &mut impl OwnCommands<'e>,
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

/// Commands whose dispatches take their group counts from successive places of the table.
struct GatedCommands<'c, 'e, C> {
    commands: &'c mut C,
    counts: &'e Arc<Block>,
    next: u32,
}

impl<'e, C: OwnCommands<'e>> OwnCommands<'e> for GatedCommands<'_, 'e, C> {
    fn caps(&self) -> &'e Caps {
        self.commands.caps()
    }

    fn clear(&mut self, _: &'e Arc<Block>, _: Range<u64>) {
        unreachable!("bug: a fill in a body is a dispatch");
    }

    fn copy_rows(&mut self, _: &'e RegionCopy) {
        unreachable!("bug: a copy in a body is a dispatch");
    }

    fn dispatch_own(&mut self, dispatch: &OwnDispatch<'_, 'e>) -> Result<()> {
        let groups = OwnGroups::Indirect(self.counts, counts_at(self.next));
        self.next += 1;
        let OwnDispatch { kernel, params, ranges, .. } = *dispatch;
        self.commands.dispatch_own(&OwnDispatch { kernel, params, ranges, groups })
    }
}

/// The group counts of dispatches, collected without recording anything.
struct DispatchCounts<'e> {
    caps: &'e Caps,
    found: Vec<[u32; 3]>,
}

impl<'e> OwnCommands<'e> for DispatchCounts<'e> {
    fn caps(&self) -> &'e Caps {
        self.caps
    }

    fn clear(&mut self, _: &'e Arc<Block>, _: Range<u64>) {
        unreachable!("bug: a fill in a body is a dispatch");
    }

    fn copy_rows(&mut self, _: &'e RegionCopy) {
        unreachable!("bug: a copy in a body is a dispatch");
    }

    fn dispatch_own(&mut self, dispatch: &OwnDispatch<'_, 'e>) -> Result<()> {
        let OwnGroups::Fixed(groups) = dispatch.groups else { unreachable!("bug: a nested table") };
        self.found.push([groups, 1, 1]);
        if self.found.len() as u64 <= MOST_DISPATCHES {
            return Ok(());
        }
        let problem = "a command of a body has more dispatches than a graph".into();
        Err(Kind::Graph { graph: String::new(), problem }.into())
    }
}
