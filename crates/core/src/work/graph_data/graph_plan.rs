//! The plan of a graph: its nodes with their order, as recorders execute them. A plan does not change: an edit makes
//! another one, and runs in flight keep theirs.

use crate::error::Result;
use crate::memory::staged_bytes::{Payload, ReplaySource};
use crate::work::graph_data::alias_orders::{AliasOrders, AliasSignature, SegmentOrders};
use crate::work::graph_data::chunked_loop::{ChunkedLoop, Cut, Cuts, cuts};
use crate::work::graph_data::control_table::ControlTable;
use crate::work::graph_data::graph_names::{BoundInput, GraphNames};
use crate::work::graph_data::graph_node::{GraphNode, NodeCommand};
use crate::work::graph_data::graph_order::{GraphOrder, MissingOrders, derive};
use crate::work::graph_data::graph_uses::{BoundUses, SplitUses};
use crate::work::graph_data::node_list::NodeList;
use crate::work::graph_data::unordered_nodes::hazard;
use crate::work::graph_data::use_counts::UseCounts;
use crate::work::step::Work;
use fencepost_kernels::{ArgumentSlot, ParamsBlock, Value};
use smallvec::SmallVec;
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Nodes of a graph in the order in which they execute. A clone shares the nodes.
#[derive(Clone)]
pub(crate) struct GraphPlan {
    /// Identifier of the plan's commands and their arrays. Plans that differ only in values share it.
    pub(crate) commands: Arc<PlanId>,
    /// Identifier of the plan's work. Plans that differ only in values and arrays have equal numbers.
    pub(crate) shape: u64,
    pub(crate) label: Arc<str>,
    pub(crate) nodes: NodeList,
    /// Names of the captured queues.
    pub(crate) queues: Arc<[Arc<str>]>,
    /// Parts of the graph.
    pub(crate) segments: SmallVec<[GraphSegment; 1]>,
    /// Cut between each two parts.
    pub(crate) cuts: Arc<[Cut]>,
    /// Loops in chunks.
    pub(crate) loops: Arc<[ChunkedLoop]>,
    /// Uses of the whole graph.
    pub(crate) uses: Arc<BoundUses>,
    /// Owner of the memory of the nodes.
    pub(crate) keep: Arc<dyn Any + Send + Sync>,
    /// `true` if each replay comes after the previous one: nodes may write memory that no array outside of the graph
    /// refers to, or the graph has host callbacks.
    pub(crate) takes_turns: bool,
    pub(crate) names: Arc<GraphNames>,
    /// Bytes that each input stands for.
    pub(crate) inputs: SmallVec<[BoundInput; 2]>,
    /// Present values.
    pub(crate) values: SmallVec<[Value; 1]>,
    /// `true` if a value differs from the one that the commands hold.
    pub(crate) values_differ: bool,
    /// Uses of each segment, then of the whole graph if it has several segments.
    pub(crate) split: Arc<[SplitUses]>,
    pub(crate) orders: Arc<AliasOrders>,
    pub(crate) missing: MissingOrders,
    /// Table of the gates, if the graph has control flow.
    pub(crate) control: Option<Arc<ControlTable>>,
    /// Nodes that are timed markers, in ascending order.
    pub(crate) timed_markers: Arc<[u32]>,
    /// Memory of the program that each replay uploads.
    pub(crate) sources: Arc<[Arc<dyn ReplaySource>]>,
}

/// A number that no other plan has.
pub(crate) struct PlanId(pub(crate) u64);

/// A part of a graph that becomes one step of a batch.
#[derive(Clone)]
pub(crate) struct GraphSegment {
    pub(crate) order: Arc<GraphOrder>,
    pub(crate) uses: Arc<BoundUses>,
}

/// Parts from which a plan is made.
pub(crate) struct PlanParts {
    pub(crate) label: Arc<str>,
    pub(crate) nodes: Vec<GraphNode>,
    pub(crate) queues: Arc<[Arc<str>]>,
    /// Number of nodes before each host callback, in ascending order.
    pub(crate) calls: Vec<u32>,
    /// Loops in chunks, in the order of their nodes.
    pub(crate) loops: Vec<ChunkedLoop>,
    pub(crate) keep: Arc<dyn Any + Send + Sync>,
    pub(crate) takes_turns: bool,
    /// Inputs and values, without their nodes.
    pub(crate) names: GraphNames,
    pub(crate) inputs: SmallVec<[BoundInput; 2]>,
    pub(crate) values: SmallVec<[Value; 1]>,
    pub(crate) control: Option<Arc<ControlTable>>,
}

#[cfg(test)]
impl PlanParts {
    /// Returns the parts of a graph that one queue has captured, without names, loops and memory of its own.
    pub(crate) fn of_one_queue(nodes: Vec<GraphNode>) -> Self {
        Self {
            label: "graph".into(),
            nodes,
            queues: ["q".into()].into(),
            calls: Vec::new(),
            loops: Vec::new(),
            keep: Arc::new(()),
            takes_turns: false,
            names: GraphNames::default(),
            inputs: SmallVec::new(),
            values: SmallVec::new(),
            control: None,
        }
    }
}

impl PlanId {
    pub(crate) fn unique() -> Arc<Self> {
        static IDS: AtomicU64 = AtomicU64::new(1);
        Arc::new(Self(IDS.fetch_add(1, Ordering::Relaxed)))
    }
}

impl GraphPlan {
    /// Derives the order of the nodes.
    ///
    /// # Errors
    /// Returns `Hazard` for two nodes that nothing orders, if `missing` asks to report them, and `Graph` for a
    /// node that uses an input in part.
    pub(crate) fn new(parts: PlanParts, missing: impl Into<MissingOrders>) -> Result<Self> {
        let missing = missing.into();
        let PlanParts {
            label,
            nodes,
            queues,
            calls,
            loops,
            keep,
            takes_turns,
            mut names,
            inputs,
            values,
            control,
        } = parts;
        names.index(&label, &nodes, &inputs)?;
        let cuts = cuts(calls.into_iter(), &loops);
        let ranges = ranges(&cuts, nodes.len() as u32);
        let split = split(&count_uses(&nodes, &ranges, &names), control.as_deref());
        let orders = Arc::new(AliasOrders::default());
        let found = derive_all(&nodes, &ranges, &queues, &missing)?;
        let commands = PlanId::unique();
        let sources = sources(&nodes);
        let timed_markers = timed_markers(&nodes);
        let (nodes, names) = (NodeList::new(nodes), Arc::new(names));
        let (segments, uses) = (SmallVec::new(), Arc::default());
        let mut plan = Self {
            shape: commands.0,
            commands,
            label,
            nodes,
            queues,
            segments,
            cuts: cuts.iter().map(|(_, cut)| *cut).collect(),
            loops: loops.into(),
            uses,
            keep,
            takes_turns,
            names,
            inputs,
            values,
            values_differ: false,
            split,
            orders,
            missing,
            control,
            timed_markers,
            sources,
        };
        plan.orders.keep(plan.signature(), found.clone());
        plan.set_segments(found);
        Ok(plan)
    }

    /// Returns the command of a node.
    #[inline]
    pub(crate) fn command(&self, node: u32) -> &NodeCommand {
        &self.nodes.get(node).command
    }

    /// Returns the parameters of a launch with the present values, or `None` if those of the command are right.
    #[inline]
    pub(crate) fn other_params(&self, command: &NodeCommand) -> Option<ParamsBlock> {
        if !self.values_differ || command.values.is_empty() {
            return None;
        }
        let Work::Launch(launch) = &command.work else { return None };
        let mut params = launch.params.clone();
        for (value, slot) in self.values_of(command) {
            params.set(slot, self.values[value].bytes());
        }
        Some(params)
    }

    /// Lists the values that a launch holds, each with the place in its parameters. A node of a child graph may hold
    /// values of the child, which are not values of this graph.
    pub(crate) fn values_of(&self, command: &NodeCommand) -> impl Iterator<Item = (usize, ArgumentSlot)> {
        let known = |token| self.names.values.iter().position(|value| value.token == token);
        command.values.iter().filter_map(move |&(token, slot)| Some((known(token)?, slot)))
    }

    /// Returns the overlaps of the inputs.
    pub(crate) fn signature(&self) -> AliasSignature {
        // The last uses are those of the whole graph.
        let fixed = self.split.last().map(|split| &*split.fixed).unwrap_or_default();
        AliasSignature::new(&self.names, &self.inputs, fixed)
    }

    /// Sets the orders of the segments, and the uses for the bound inputs.
    pub(crate) fn set_segments(&mut self, orders: SegmentOrders) {
        let uses = self.split.iter().map(|split| split.bound(&self.inputs));
        let uses: SmallVec<[Arc<BoundUses>; 1]> = uses.map(Arc::new).collect();
        self.uses = uses.last().cloned().unwrap_or_default();
        self.segments =
            orders.into_iter().zip(uses).map(|(order, uses)| GraphSegment { order, uses }).collect();
    }

    /// Returns the ranges of nodes of the segments.
    pub(crate) fn segment_ranges(&self) -> SmallVec<[Range<u32>; 1]> {
        let range = |order: &GraphOrder| order.first..order.first + order.levels.len() as u32;
        self.segments.iter().map(|segment| range(&segment.order)).collect()
    }
}

/// Lists the memory of the program that the nodes upload in each replay, each once.
fn sources(nodes: &[GraphNode]) -> Arc<[Arc<dyn ReplaySource>]> {
    let mut sources: Vec<Arc<dyn ReplaySource>> = Vec::new();
    for node in nodes {
        if let Work::Upload { src: Payload::PerReplay(source), .. } = &node.command.work
            && !sources.iter().any(|known| Arc::ptr_eq(known, source))
        {
            sources.push(source.clone());
        }
    }
    sources.into()
}

/// Lists the nodes that are timed markers.
fn timed_markers(nodes: &[GraphNode]) -> Arc<[u32]> {
    nodes.iter().zip(0..).filter(|(node, _)| node.command.is_timed_marker()).map(|(_, at)| at).collect()
}

/// Returns the ranges of nodes between the cuts.
fn ranges(cuts: &Cuts, nodes: u32) -> SmallVec<[Range<u32>; 1]> {
    let places = || cuts.iter().map(|(at, _)| *at);
    let starts = std::iter::once(0).chain(places());
    starts.zip(places().chain([nodes])).map(|(start, end)| start..end).collect()
}

/// Counts the uses of each segment, and then those of the whole graph if it has several segments.
pub(crate) fn count_uses(nodes: &[GraphNode], ranges: &[Range<u32>], names: &GraphNames) -> Vec<UseCounts> {
    let whole = (ranges.len() > 1).then_some(0..nodes.len() as u32);
    ranges.iter().cloned().chain(whole).map(|range| UseCounts::new(nodes, range, names)).collect()
}

/// Returns the uses that are counted.
pub(crate) fn split(counts: &[UseCounts], control: Option<&ControlTable>) -> Arc<[SplitUses]> {
    counts.iter().map(|counts| SplitUses::new(counts, control)).collect()
}

/// Derives the order of each segment.
///
/// # Errors
/// Returns `Hazard` for two nodes that nothing orders, if `missing` asks to report them.
pub(crate) fn derive_all(
    nodes: &[GraphNode],
    ranges: &[Range<u32>],
    queues: &[Arc<str>],
    missing: &MissingOrders,
) -> Result<SegmentOrders> {
    let order = |range: &Range<u32>| match derive(nodes, range.clone(), missing) {
        Ok(order) => Ok(Arc::new(order)),
        Err(pair) => Err(hazard(nodes, queues, &pair)),
    };
    ranges.iter().map(order).collect()
}
