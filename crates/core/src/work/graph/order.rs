//! The order of a graph's nodes: which nodes come before a node, and on which level it executes.
//!
//! The order has three sources. The nodes of one captured queue are in order. Forks, joins and events order nodes of
//! several queues. And the policy of the context, applied within the graph, orders two uses of the same bytes as they
//! were captured, if one of them is a write.
//!
//! The barriers that the native recorder would record for a graph are counted here, by the same rule.

use crate::error::CommandKind;
use crate::memory::block::{BlockId, overlap};
use crate::work::graph::control::ControlTable;
use crate::work::graph::nodes::GraphNode;
use crate::work::graph::plan::GraphPlan;
use crate::work::step::{BlockAccess, Span, Work};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};
use std::ops::Range;

/// Policy for two unordered nodes that use the same bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MissingOrder {
    /// The later node comes after the earlier one.
    Add,
    /// The pair is an error.
    Report,
    /// The nodes stay unordered.
    Ignore,
}

/// Policy for each captured queue: that of the queue's context.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct MissingOrders(SmallVec<[MissingOrder; 8]>);

impl From<MissingOrder> for MissingOrders {
    /// Returns the same policy for all queues.
    fn from(missing: MissingOrder) -> Self {
        Self(smallvec![missing])
    }
}

impl FromIterator<MissingOrder> for MissingOrders {
    /// Returns one policy for each queue.
    fn from_iter<I: IntoIterator<Item = MissingOrder>>(missing: I) -> Self {
        Self(missing.into_iter().collect())
    }
}

impl MissingOrders {
    /// Returns the policy for a queue.
    pub(crate) fn of(&self, queue: u32) -> MissingOrder {
        self.0.get(queue as usize).or(self.0.first()).copied().unwrap_or(MissingOrder::Add)
    }
}

/// Order of the nodes `first..first + levels.len()` of a graph. Node indices count from the start of the graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GraphOrder {
    pub(crate) first: u32,
    /// Level of each node. A node depends only on nodes of lower levels.
    pub(crate) levels: Vec<u32>,
    /// For each node, its direct predecessors: the previous node of its queue, if any, and nodes of other queues.
    pub(crate) before: Vec<SmallVec<[u32; 2]>>,
    /// Nodes by level, and within a level in the order of the capture.
    pub(crate) sorted: Vec<u32>,
    /// Number of levels.
    pub(crate) depth: u32,
}

/// Two unordered nodes that use the same bytes, for an error.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnorderedNodes {
    pub(crate) earlier: u32,
    pub(crate) later: u32,
    pub(crate) block: BlockId,
    pub(crate) range: Range<u64>,
    pub(crate) earlier_writes: bool,
    pub(crate) later_writes: bool,
}

/// A node's use of a block, recorded for comparison with later nodes.
struct NodeUse {
    node: u32,
    queue: u32,
    range: Range<u64>,
    write: bool,
}

/// State while an order is derived, node by node.
struct Derivation<'n> {
    nodes: &'n [GraphNode],
    missing: &'n MissingOrders,
    /// Clock of each queue: for every queue, the index plus 1 of the last node that the next node comes after.
    clocks: Vec<Vec<u32>>,
    /// Clock after each node; empty if the graph has one queue.
    clocks_after: Vec<Vec<u32>>,
    last: Vec<Option<u32>>,
    uses: FxHashMap<BlockId, SmallVec<[NodeUse; 2]>>,
    order: GraphOrder,
}

/// Returns the order of the nodes in `range`.
///
/// # Errors
/// Returns the first pair of unordered nodes, if `missing` is [`MissingOrder::Report`] for the queue of the later one.
pub(crate) fn derive(
    nodes: &[GraphNode],
    range: Range<u32>,
    missing: &MissingOrders,
) -> Result<GraphOrder, UnorderedNodes> {
    let of_range = &nodes[range.start as usize..range.end as usize];
    let queues = of_range.iter().map(|node| node.queue as usize + 1).max().unwrap_or(0);
    let mut derivation = Derivation {
        nodes,
        missing,
        clocks: vec![vec![0; queues]; queues],
        clocks_after: Vec::new(),
        last: vec![None; queues],
        uses: FxHashMap::default(),
        order: GraphOrder { first: range.start, ..GraphOrder::default() },
    };
    for at in range {
        derivation.add_next_node(at)?;
    }
    Ok(derivation.finish())
}

impl Derivation<'_> {
    /// Adds the next node.
    fn add_next_node(&mut self, at: u32) -> Result<(), UnorderedNodes> {
        let nodes = self.nodes;
        let first = self.order.first;
        let node = &nodes[at as usize];
        let queue = node.queue as usize;
        let mut before: SmallVec<[u32; 2]> = self.last[queue].into_iter().collect();
        for &earlier in node.after.iter().filter(|&&earlier| earlier >= first) {
            self.add(queue, earlier, &mut before);
        }
        if self.clocks.len() > 1 && self.missing.of(node.queue) != MissingOrder::Ignore {
            for touch in node.touches() {
                self.compare(at, &touch, &mut before)?;
            }
        }
        let level = before.iter().map(|&earlier| self.level(earlier) + 1).max().unwrap_or(0);
        self.order.depth = self.order.depth.max(level + 1);
        self.order.levels.push(level);
        self.order.before.push(before);
        self.last[queue] = Some(at);
        if self.clocks.len() > 1 {
            self.clocks[queue][queue] = at + 1;
            self.clocks_after.push(self.clocks[queue].clone());
        }
        Ok(())
    }

    fn level(&self, node: u32) -> u32 {
        self.order.levels[(node - self.order.first) as usize]
    }

    /// Orders the next node of `queue` after `earlier`.
    fn add(&mut self, queue: usize, earlier: u32, before: &mut SmallVec<[u32; 2]>) {
        let other = self.nodes[earlier as usize].queue as usize;
        if other == queue || self.clocks[queue][other] > earlier {
            return;
        }
        before.push(earlier);
        let known = &self.clocks_after[(earlier - self.order.first) as usize];
        for (own, known) in self.clocks[queue].iter_mut().zip(known) {
            *own = (*own).max(*known);
        }
    }

    /// Compares a use of the node `at` with the earlier uses of the same block, and records it.
    fn compare(
        &mut self,
        at: u32,
        touch: &BlockAccess<'_>,
        before: &mut SmallVec<[u32; 2]>,
    ) -> Result<(), UnorderedNodes> {
        let queue = self.nodes[at as usize].queue;
        let mut uses = self.uses.remove(&touch.block.id).unwrap_or_default();
        for earlier in uses.iter().rev() {
            let conflicts = (earlier.write || touch.write) && overlap(&earlier.range, &touch.range);
            if !conflicts || self.clocks[queue as usize][earlier.queue as usize] > earlier.node {
                continue;
            }
            if earlier.queue == queue {
                continue;
            }
            // A copy between contexts adds a half that no call of the program can order.
            let is_unnamed = [earlier.node, at]
                .iter()
                .any(|&node| self.nodes[node as usize].command.what == CommandKind::BetweenContexts);
            if self.missing.of(queue) == MissingOrder::Report && !is_unnamed {
                let range =
                    touch.range.start.max(earlier.range.start)..touch.range.end.min(earlier.range.end);
                return Err(UnorderedNodes {
                    earlier: earlier.node,
                    later: at,
                    block: touch.block.id,
                    range,
                    earlier_writes: earlier.write,
                    later_writes: touch.write,
                });
            }
            self.add(queue as usize, earlier.node, before);
        }
        let clock = &self.clocks[queue as usize];
        let is_covered = |earlier: &NodeUse| {
            let inside = touch.range.start <= earlier.range.start && earlier.range.end <= touch.range.end;
            let ordered = earlier.queue == queue || clock[earlier.queue as usize] > earlier.node;
            inside && ordered && (touch.write || !earlier.write)
        };
        uses.retain(|earlier| !is_covered(earlier));
        uses.push(NodeUse { node: at, queue, range: touch.range.clone(), write: touch.write });
        self.uses.insert(touch.block.id, uses);
        Ok(())
    }

    fn finish(mut self) -> GraphOrder {
        let order = &mut self.order;
        order.sorted = (0..order.levels.len() as u32).map(|at| at + order.first).collect();
        order.sorted.sort_by_key(|&at| order.levels[(at - order.first) as usize]);
        self.order
    }
}

/// Barriers of a graph.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct GraphBarriers {
    /// Number of barriers.
    pub(crate) count: usize,
    /// For each barrier, the last node that used the block, and the node that needs the barrier.
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
/// if a device splits it. Host callbacks and parts of chunked loops end a submission, and no barrier is needed between
/// submissions.
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
                // A kernel of the recorder reads the group counts before the launch, and copies them in a body.
                let copied =
                    gated.into_iter().flat_map(|table| [(table.words.id, false), (table.counts.id, true)]);
                let uses: Vec<_> = std::iter::once((counts.block.id, false)).chain(copied).collect();
                self.add_command(node, &uses);
            }
            let own = work.touches().map(|touch| (touch.block.id, touch.write));
            let uses: Vec<_> = own.chain(table_uses(plan.control.as_deref(), gated, work)).collect();
            self.add_command(node, &uses);
        }
    }

    /// Adds a command. `uses` are the blocks that it uses, each with `true` for a write.
    fn add_command(&mut self, node: u32, uses: &[(BlockId, bool)]) {
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

    /// Returns the last conflicting node since the last barrier: it uses the block, and one of the two uses is a write.
    fn conflict(&self, block: BlockId, write: bool) -> Option<u32> {
        let last = self.uses.get(&block)?;
        if write { last.read.max(last.write) } else { last.write }
    }
}

/// Returns how a gate, or a command in a body with the table `gated`, uses the control table.
fn table_uses(
    table: Option<&ControlTable>,
    gated: Option<&ControlTable>,
    work: &Work,
) -> impl Iterator<Item = (BlockId, bool)> {
    let written = table.filter(|_| matches!(work, Work::Gate(_)));
    let by_gate = written.into_iter().flat_map(|table| [(table.words.id, true), (table.counts.id, true)]);
    // The table also holds the contents of uploads.
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
            count.add_command(node as u32, &uses);
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
