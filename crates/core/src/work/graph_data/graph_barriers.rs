//! The barriers of a graph, counted without a recording: the rule of the native recorder on the uses of the nodes.

use crate::memory::heap::BlockId;
use crate::work::graph_data::control_table::ControlTable;
use crate::work::graph_data::graph_order::GraphOrder;
use crate::work::graph_data::graph_plan::GraphPlan;
use crate::work::span::Span;
use crate::work::step::Work;
use rustc_hash::FxHashMap;

/// Barriers of a graph.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct GraphBarriers {
    /// Number of barriers.
    pub(crate) count: usize,
    /// For each barrier, the last node that used the block, then the node that needs the barrier.
    pub(crate) pairs: Vec<(u32, u32)>,
}

/// Last read and last write of a block since the last barrier.
#[derive(Clone, Copy, Default)]
struct EpochUses {
    read: Option<u32>,
    write: Option<u32>,
}

/// Barriers so far, and the uses since the last one.
#[derive(Default)]
struct BarrierCount {
    uses: FxHashMap<BlockId, EpochUses>,
    found: GraphBarriers,
}

/// Returns the barriers that the native recorder records for a replay. A command counts as one dispatch or copy, even
/// if a device splits it. A host callback and a part of a loop in chunks end a submission, and no barrier is between
/// two submissions.
pub(crate) fn barriers(plan: &GraphPlan) -> GraphBarriers {
    let mut count = BarrierCount::default();
    for segment in &plan.segments {
        count.uses.clear();
        count.add_segment(plan, &segment.order);
    }
    count.found
}

impl BarrierCount {
    fn add_segment(&mut self, plan: &GraphPlan, order: &GraphOrder) {
        for &node in &order.sorted {
            let work = &plan.command(node).work;
            let gated = plan.nodes[node as usize].gate.and(plan.control.as_deref());
            if let Some(counts) = indirect(work) {
                // A kernel of the recorder reads the group counts before the launch, and copies those of a body.
                let copied =
                    gated.into_iter().flat_map(|table| [(table.words.id, false), (table.counts.id, true)]);
                let uses: Vec<_> = std::iter::once((counts.block.id, false)).chain(copied).collect();
                self.admit(node, &uses);
            }
            let own = work.touches().map(|touch| (touch.block.id, touch.write));
            let uses: Vec<_> = own.chain(table_uses(plan.control.as_deref(), gated, work)).collect();
            self.admit(node, &uses);
        }
    }

    /// Adds a command with its uses: blocks, each with `true` for a write.
    fn admit(&mut self, node: u32, uses: &[(BlockId, bool)]) {
        let earlier = uses.iter().filter_map(|&(block, write)| self.conflict(block, write)).max();
        if let Some(earlier) = earlier {
            self.uses.clear();
            self.found.count += 1;
            if earlier != node {
                self.found.pairs.push((earlier, node));
            }
        }
        for &(block, write) in uses {
            let last = self.uses.entry(block).or_default();
            if write {
                last.write = Some(node);
            } else {
                last.read = Some(node);
            }
        }
    }

    /// Returns the last node since the last barrier that uses the block, if one of the two uses is a write.
    fn conflict(&self, block: BlockId, write: bool) -> Option<u32> {
        let last = self.uses.get(&block)?;
        if write { last.read.max(last.write) } else { last.write }
    }
}

/// Returns the uses of the control table by a gate, or by a command in a body, whose table is `gated`.
fn table_uses(
    table: Option<&ControlTable>,
    gated: Option<&ControlTable>,
    work: &Work,
) -> impl Iterator<Item = (BlockId, bool)> {
    let written = table.filter(|_| matches!(work, Work::Gate(_)));
    let by_gate = written.into_iter().flat_map(|table| [(table.words.id, true), (table.counts.id, true)]);
    // The contents of an upload are in the table.
    let contents = gated.filter(|_| matches!(work, Work::Upload { .. })).map(|table| (table.words.id, false));
    by_gate.chain(gated.map(|table| (table.counts.id, false))).chain(contents)
}

/// Returns the place of the group counts of an indirect launch.
fn indirect(work: &Work) -> Option<&Span> {
    if let Work::Launch(launch) = work { launch.indirect.as_ref() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(commands: &[&[(u64, bool)]]) -> GraphBarriers {
        let mut count = BarrierCount::default();
        for (node, uses) in commands.iter().enumerate() {
            let uses: Vec<_> = uses.iter().map(|&(block, write)| (BlockId(block), write)).collect();
            count.admit(node as u32, &uses);
        }
        count.found
    }

    #[test]
    fn one_barrier_serves_all_writes_before_it() {
        let found = count(&[&[(1, true)], &[(2, true)], &[(1, false), (2, false), (3, true)], &[(3, true)]]);
        assert_eq!(found, GraphBarriers { count: 2, pairs: vec![(1, 2), (2, 3)] });
    }

    #[test]
    fn commands_that_share_only_reads_need_no_barrier() {
        assert_eq!(count(&[&[(1, false), (2, true)], &[(1, false), (3, true)]]).count, 0);
    }

    #[test]
    fn a_write_comes_after_the_last_reader() {
        let found = count(&[&[(1, false)], &[(1, false)], &[(1, true)]]);
        assert_eq!(found.pairs, [(1, 2)]);
    }
}
