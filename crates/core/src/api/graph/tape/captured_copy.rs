//! A copy between contexts in a capture.

use crate::work::graph_data::graph_plan::GraphPlan;
use crate::work::region_copy::{RegionCopy, Rows};
use crate::work::span::Span;
use crate::work::step::Work;

/// A captured copy between contexts. Two nodes stand for its sides: one reads the source, and one writes the target. No
/// recorder executes these nodes: a replay enqueues the copy between two parts of the graph.
pub(crate) struct CapturedCopy {
    pub(crate) read: u32,
    pub(crate) write: u32,
    pub(crate) copy: RegionCopy,
}

impl CapturedCopy {
    /// Returns the copy with the bytes that its sides have in a plan.
    pub(crate) fn in_plan(&self, plan: &GraphPlan) -> RegionCopy {
        let span = |node: u32| match &plan.command(node).work {
            Work::Read { src: span, .. } | Work::Fill { dst: span, .. } => span.clone(),
            _ => unreachable!("bug: a side of a copy has other work"),
        };
        let (src, dst): (Span, Span) = (span(self.read), span(self.write));
        let rows = &self.copy.rows;
        let (from, to) = (rows.from - self.copy.src.offset, rows.to - self.copy.dst.offset);
        let rows =
            Rows { from: src.offset + from, to: dst.offset + to, row: rows.row, axes: rows.axes.clone() };
        RegionCopy { src, dst, rows }
    }
}
