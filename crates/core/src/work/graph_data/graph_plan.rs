//! The plan of a graph: its nodes with their order, as recorders execute them. A plan does not change: an edit makes
//! another one, and runs in flight keep theirs.

use crate::work::graph_data::graph_node::{GraphNode, NodeCommand};
use crate::work::graph_data::graph_order::{GraphOrder, MissingOrder, UnorderedNodes, derive};
use crate::work::graph_data::graph_uses::merged_uses;
use crate::work::kernel_launch::BoundArray;
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Holds the nodes of a graph in the order in which they execute.
pub(crate) struct GraphPlan {
    /// Identifies the plan. Two plans of one graph have different numbers.
    pub(crate) id: u64,
    pub(crate) label: Arc<str>,
    pub(crate) nodes: Arc<[GraphNode]>,
    /// Names the captured queues.
    pub(crate) queues: Arc<[Arc<str>]>,
    /// Holds the parts of the graph: a function of the host runs between two of them.
    pub(crate) segments: Vec<GraphSegment>,
    /// Lists the uses of the whole graph.
    pub(crate) uses: Arc<[BoundArray]>,
    /// Keeps the memory of the nodes.
    pub(crate) keep: Arc<dyn Any + Send + Sync>,
    /// Is `true` if nodes may write memory that no array outside of the graph refers to.
    pub(crate) owns_memory: bool,
    /// Is `true` if a node is a timed marker.
    pub(crate) has_times: bool,
}

/// Holds a part of a graph that becomes one step of a batch.
pub(crate) struct GraphSegment {
    pub(crate) order: Arc<GraphOrder>,
    pub(crate) uses: Arc<[BoundArray]>,
}

/// Holds the parts from which a plan is made.
pub(crate) struct PlanParts {
    pub(crate) label: Arc<str>,
    pub(crate) nodes: Arc<[GraphNode]>,
    pub(crate) queues: Arc<[Arc<str>]>,
    /// Lists the indices of the nodes before which a function of the host runs, in ascending order.
    pub(crate) cuts: Vec<u32>,
    pub(crate) keep: Arc<dyn Any + Send + Sync>,
    pub(crate) owns_memory: bool,
}

impl GraphPlan {
    /// Derives the order of the nodes.
    ///
    /// # Errors
    /// Returns two nodes that nothing orders, if `missing` is [`MissingOrder::Report`].
    pub(crate) fn new(parts: PlanParts, missing: MissingOrder) -> Result<Self, UnorderedNodes> {
        static IDS: AtomicU64 = AtomicU64::new(1);
        let PlanParts { label, nodes, queues, cuts, keep, owns_memory } = parts;
        let ends = cuts.iter().copied().chain([nodes.len() as u32]);
        let mut start = 0;
        let mut segments = Vec::new();
        for end in ends {
            segments.push(GraphSegment::new(&nodes, start..end, missing)?);
            start = end;
        }
        let uses = match &segments[..] {
            [only] => only.uses.clone(),
            _ => merged_uses(nodes.iter()).into(),
        };
        let id = IDS.fetch_add(1, Ordering::Relaxed);
        let has_times = nodes.iter().any(|node| node.command.is_timed_marker());
        Ok(Self { has_times, id, label, nodes, queues, segments, uses, keep, owns_memory })
    }

    /// Returns the command of a node.
    pub(crate) fn command(&self, node: u32) -> &NodeCommand {
        &self.nodes[node as usize].command
    }
}

impl GraphSegment {
    fn new(nodes: &[GraphNode], range: Range<u32>, missing: MissingOrder) -> Result<Self, UnorderedNodes> {
        let uses = merged_uses(nodes[range.start as usize..range.end as usize].iter()).into();
        Ok(Self { order: Arc::new(derive(nodes, range, missing)?), uses })
    }
}
