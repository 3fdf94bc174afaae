//! The parts of a command that name memory, which an input of a graph can replace.

use crate::error::{Kind, Result};
use crate::memory::block::Block;
use crate::memory::heap::overlap;
use crate::work::kernel_launch::check_aliases;
use crate::work::span::Span;
use crate::work::step::Work;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;

/// Part of a command that names a range of a block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum CommandPart {
    /// Argument for this binding of the kernel's interface.
    Binding(u32),
    /// Place of the workgroup counts.
    Groups,
    /// Range that a transfer reads.
    Source,
    /// Range that a transfer writes.
    Target,
}

/// A part of a command, with its range.
pub(crate) struct NamedRange<'w> {
    pub(crate) part: CommandPart,
    pub(crate) block: &'w Arc<Block>,
    pub(crate) range: Range<u64>,
    /// `true` for a write, and `None` if the command does not access the bytes.
    pub(crate) write: Option<bool>,
}

/// Lists the parts of a command.
pub(crate) fn parts(work: &Work) -> SmallVec<[NamedRange<'_>; 4]> {
    let mut all = SmallVec::new();
    match work {
        Work::Launch(launch) => {
            all.extend(launch.indirect.iter().map(|groups| whole(CommandPart::Groups, groups)));
            all.extend(launch.bindings.iter().map(|bound| NamedRange {
                part: CommandPart::Binding(bound.at),
                block: &bound.block,
                range: bound.range(),
                write: bound.used.map(|used| used.writes()),
            }));
        }
        Work::Copy { src, dst } => {
            all.extend([whole(CommandPart::Source, src), whole(CommandPart::Target, dst)]);
        }
        Work::Region(copy) => {
            all.extend([whole(CommandPart::Source, &copy.src), whole(CommandPart::Target, &copy.dst)]);
        }
        Work::Fill { dst, .. } | Work::Upload { dst, .. } => all.push(whole(CommandPart::Target, dst)),
        Work::Read { src, .. } => all.push(whole(CommandPart::Source, src)),
        Work::Gate(gate) => all.push(whole(CommandPart::Source, &gate.condition)),
        _ => {}
    }
    all
}

fn whole(part: CommandPart, span: &Span) -> NamedRange<'_> {
    NamedRange { part, block: &span.block, range: span.range(), write: Some(part == CommandPart::Target) }
}

/// Makes a part of a command name another range of the same size.
pub(crate) fn move_part(work: &mut Work, part: CommandPart, block: &Arc<Block>, offset: u64) {
    match (work, part) {
        (Work::Launch(launch), CommandPart::Binding(at)) => {
            if let Some(bound) = launch.bindings.iter_mut().find(|bound| bound.at == at) {
                bound.block = block.clone();
                bound.offset = offset;
            }
        }
        (Work::Launch(launch), _) => launch.indirect.iter_mut().for_each(|span| span.place(block, offset)),
        (Work::Region(copy), CommandPart::Source) => {
            copy.rows.from = copy.rows.from - copy.src.offset + offset;
            copy.src.place(block, offset);
        }
        (Work::Region(copy), _) => {
            copy.rows.to = copy.rows.to - copy.dst.offset + offset;
            copy.dst.place(block, offset);
        }
        (Work::Gate(gate), _) => gate.condition.place(block, offset),
        (Work::Copy { src, .. }, CommandPart::Source) | (Work::Read { src, .. }, _) => {
            src.place(block, offset)
        }
        (Work::Copy { dst, .. } | Work::Fill { dst, .. } | Work::Upload { dst, .. }, _) => {
            dst.place(block, offset);
        }
        _ => {}
    }
}

/// Checks that the parts of one command overlap only where the command may read both.
///
/// # Errors
/// Returns `Aliased`.
pub(crate) fn check_parts(work: &Work) -> Result<()> {
    let apart = |src: &Span, dst: &Span| {
        if !Arc::ptr_eq(&src.block, &dst.block) || !overlap(&src.range(), &dst.range()) {
            return Ok(());
        }
        let array = src.block.order().label.to_string();
        let [subject, first, second] = ["a copy", "source", "target"].map(String::from);
        Err(Kind::Aliased { subject, node: String::new(), first, second, array }.into())
    };
    match work {
        Work::Launch(launch) => check_aliases(launch.kernel(), &launch.bindings),
        Work::Copy { src, dst } => apart(src, dst),
        Work::Region(copy) => apart(&copy.src, &copy.dst),
        _ => Ok(()),
    }
}
