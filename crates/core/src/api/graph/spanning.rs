//! Graphs of several contexts: the parts that each context executes.
//!
//! The plan of such a graph has the nodes of all contexts, and no recorder executes it. The parts have plans of their
//! own, which are made again after each change of the whole plan.

pub(crate) mod far_runs;
pub(crate) mod partition;

use crate::api::graph::spanning::partition::{NodePlace, Partition, partition};
use crate::api::graph::tape::TapeState;
use crate::api::graph::tape::captured_copy::CapturedCopy;
use crate::error::Result;
use crate::error::site::KernelId;
use crate::memory::heap::BlockId;
use crate::runtime::owner::Owner;
use crate::scheduler::free_blocks::BlockLease;
use crate::scheduler::ordering::policy::Policy;
use crate::scheduler::replay_turn::ReplayTurn;
use crate::work::graph_data::graph_node::GraphNode;
use crate::work::graph_data::graph_order::{GraphOrder, MissingOrder};
use crate::work::graph_data::graph_plan::{GraphPlan, PlanParts};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Parts of a graph of several contexts, for one plan of the graph.
pub(crate) struct Spanning {
    pub(crate) shape: Arc<SpanningShape>,
    pub(crate) partition: Arc<Partition>,
    pub(crate) parts: Vec<ContextPart>,
}

/// State that all plans of a graph of several contexts share.
pub(crate) struct SpanningShape {
    /// Contexts. The first is the context of the capturing queue.
    pub(crate) owners: Vec<Owner>,
    /// Name of the graph with its number in each context, which is registered as long as the name is held.
    pub(crate) names: Vec<(KernelId, Arc<str>)>,
    /// For each context, turns of the graphs that are replayed in this graph and take turns.
    pub(crate) turns: Vec<Vec<Arc<ReplayTurn>>>,
    /// Context of each captured queue.
    pub(crate) of_queue: Vec<u32>,
    /// Context of each input.
    pub(crate) of_input: Vec<u32>,
    pub(crate) copies: Vec<CapturedCopy>,
    /// Number of the copy that each side belongs to, by the side's node.
    of_copy: FxHashMap<u32, u32>,
}

/// A part of a graph.
pub(crate) enum ContextPart {
    /// Nodes with a plan of their own, and the graph's numbers of the outputs that they read.
    Nodes { plan: Arc<GraphPlan>, nodes: Arc<[u32]>, outputs: Vec<u32> },
    /// The read of the source of the copy with this number.
    Read(u32),
    /// The write of the target of the copy with this number.
    Write(u32),
}

/// Returns the policy of a context for captured commands.
pub(crate) fn missing_order(owner: &Owner) -> MissingOrder {
    match owner.engine().lock().policy() {
        Policy::Ordered => MissingOrder::Add,
        Policy::Checked => MissingOrder::Report,
        Policy::Unchecked => MissingOrder::Ignore,
    }
}

impl SpanningShape {
    /// Returns the contexts of an ended capture, or `None` if the capture has one context.
    pub(crate) fn of(ended: &mut TapeState, label: &str) -> Option<Self> {
        let owners = std::mem::take(&mut ended.contexts);
        if owners.len() < 2 {
            return None;
        }
        let names = owners.iter().map(|owner| owner.engine().new_kernel(label)).collect();
        let mut turns = vec![Vec::new(); owners.len()];
        ended.replayed().for_each(|(_, turn, context)| turns[context as usize].push(turn));
        let of_queue = ended.queues.iter().map(|queue| queue.context).collect();
        let (copies, of_input) =
            (std::mem::take(&mut ended.copies), std::mem::take(&mut ended.input_contexts));
        let sides = |(at, copy): (usize, &CapturedCopy)| [(copy.read, at as u32), (copy.write, at as u32)];
        let of_copy = copies.iter().enumerate().flat_map(sides).collect();
        Some(Self { owners, names, turns, of_queue, of_input, copies, of_copy })
    }

    /// Returns the place of a node.
    fn place(&self, at: u32, node: &GraphNode) -> NodePlace {
        let context = self.of_queue[node.queue as usize];
        NodePlace { context, copy: self.of_copy.get(&at).copied() }
    }
}

impl Spanning {
    /// Makes the parts of a plan.
    pub(crate) fn new(shape: Arc<SpanningShape>, whole: &GraphPlan) -> Result<Self> {
        let orders: Vec<Arc<GraphOrder>> =
            whole.segments.iter().map(|segment| segment.order.clone()).collect();
        let places: Vec<NodePlace> =
            whole.nodes.iter().enumerate().map(|(at, node)| shape.place(at as u32, node)).collect();
        let found = partition(&orders, &places, shape.owners.len());
        let missing: Vec<MissingOrder> = shape.owners.iter().map(missing_order).collect();
        let mut parts = Vec::with_capacity(found.parts.len());
        for part in &found.parts {
            let first = part.nodes[0];
            parts.push(match places[first as usize].copy {
                Some(copy) if shape.copies[copy as usize].read == first => ContextPart::Read(copy),
                Some(copy) => ContextPart::Write(copy),
                None => {
                    // Missing order is an error of the whole graph, and was reported there.
                    let add = missing[part.context as usize] != MissingOrder::Ignore;
                    let missing = if add { MissingOrder::Add } else { MissingOrder::Ignore };
                    nodes_part(&shape.owners[part.context as usize], whole, &part.nodes, missing)?
                }
            });
        }
        Ok(Self { shape, partition: Arc::new(found), parts })
    }

    /// Returns the parts after a change of the whole plan from `old` to `new`.
    pub(crate) fn changed(&self, old: &GraphPlan, new: &GraphPlan) -> Result<Self> {
        if !Arc::ptr_eq(&old.commands, &new.commands) {
            return Self::new(self.shape.clone(), new);
        }
        // Only values differ.
        let part = |part: &ContextPart| match part {
            ContextPart::Nodes { plan, nodes, outputs } => {
                let (values, values_differ) = (new.values.clone(), new.values_differ);
                let plan = Arc::new(GraphPlan { values, values_differ, ..(**plan).clone() });
                ContextPart::Nodes { plan, nodes: nodes.clone(), outputs: outputs.clone() }
            }
            ContextPart::Read(copy) => ContextPart::Read(*copy),
            ContextPart::Write(copy) => ContextPart::Write(*copy),
        };
        let parts = self.parts.iter().map(part).collect();
        Ok(Self { shape: self.shape.clone(), partition: self.partition.clone(), parts })
    }

    /// Returns the part of an output and the number of the output in it.
    pub(crate) fn part_of_output(&self, output: u32) -> Option<(usize, usize)> {
        self.parts.iter().enumerate().find_map(|(part, of)| {
            let ContextPart::Nodes { outputs, .. } = of else { return None };
            Some((part, outputs.iter().position(|&known| known == output)?))
        })
    }

    /// Returns the part of a node and the number of the node in it.
    pub(crate) fn part_of_node(&self, node: u32) -> Option<(usize, u32)> {
        self.parts.iter().enumerate().find_map(|(part, of)| {
            let ContextPart::Nodes { nodes, .. } = of else { return None };
            Some((part, nodes.binary_search(&node).ok()? as u32))
        })
    }
}

/// Returns leases of the blocks that nodes name. The parts of one context keep no memory of another one, because the
/// commands of a lost context are never dropped.
fn leases(owner: &Owner, nodes: &[GraphNode]) -> FxHashMap<BlockId, BlockLease> {
    let mut leases = FxHashMap::default();
    for node in nodes {
        node.command.work.each_block(|block| {
            leases.entry(block.id).or_insert_with(|| owner.engine().lease(block));
        });
    }
    leases
}

/// Returns a part of some nodes of a graph, which belong to the context `owner`.
fn nodes_part(owner: &Owner, whole: &GraphPlan, nodes: &[u32], missing: MissingOrder) -> Result<ContextPart> {
    let mut outputs = Vec::new();
    let own = |at: u32| {
        let node = whole.nodes.get(at);
        let after = node.after.iter().filter_map(|before| Some(nodes.binary_search(before).ok()? as u32));
        let command = match node.command.output {
            None => node.command.clone(),
            Some(output) => {
                outputs.push(output);
                Arc::new(node.command.with_output(outputs.len() as u32 - 1))
            }
        };
        GraphNode { queue: node.queue, after: after.collect(), command, gate: node.gate }
    };
    let own: Vec<GraphNode> = nodes.iter().copied().map(own).collect();
    let keep = Arc::new(leases(owner, &own));
    let parts = PlanParts {
        label: whole.label.clone(),
        nodes: own,
        queues: whole.queues.clone(),
        calls: Vec::new(),
        loops: Vec::new(),
        keep,
        takes_turns: whole.takes_turns,
        names: whole.names.without_nodes(),
        inputs: whole.inputs.clone(),
        values: whole.values.clone(),
        control: None,
    };
    let plan = GraphPlan { values_differ: whole.values_differ, ..GraphPlan::new(parts, missing)? };
    Ok(ContextPart::Nodes { plan: Arc::new(plan), nodes: nodes.into(), outputs })
}
