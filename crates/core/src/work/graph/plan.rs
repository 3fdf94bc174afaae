//! The plan of a graph: its nodes and their order, for recorders to execute. Plans are immutable: an edit of commands,
//! arrays or values makes a new plan, which shares everything else with the old one. Replays in flight keep their plan.
//!
//! The order depends on how the inputs overlap each other and other bytes. A *signature* describes these overlaps:
//! bindings with the same signature have the same order. A graph caches the orders of the last few signatures. A
//! signature refers to blocks by number, and keeps no memory alive.

use crate::error::{ErrorDetail, Result};
use crate::memory::block::{BlockId, overlap};
use crate::memory::staging::{Payload, ReplaySource};
use crate::work::graph::control::{ChunkedLoop, ControlTable, Cut, Cuts, cuts};
use crate::work::graph::names::{BoundInput, GraphNames};
use crate::work::graph::nodes::{
    CommandPart, GraphNode, NodeCommand, NodeList, check_parts, hazard, move_part,
};
use crate::work::graph::order::{GraphOrder, MissingOrders, derive};
use crate::work::graph::uses::{BoundUses, SplitUses, UseCounts};
use crate::work::kernel_launch::BoundArray;
use crate::work::step::Work;
use fencepost_kernels::{ArgumentSlot, ParamsBlock, Value};
use fencepost_sync::prim::{Mutex, lock};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Nodes of a graph in the order in which they execute. A clone shares the nodes.
#[derive(Clone)]
pub(crate) struct GraphPlan {
    /// Identifier of the plan's commands and arrays. Plans that differ only in values share it.
    pub(crate) commands: Arc<PlanId>,
    /// Identifier of the plan's work. Plans that differ only in values and arrays share it.
    pub(crate) shape: u64,
    pub(crate) label: Arc<str>,
    pub(crate) nodes: NodeList,
    /// Names of the captured queues.
    pub(crate) queues: Arc<[Arc<str>]>,
    /// Segments of the graph.
    pub(crate) segments: SmallVec<[GraphSegment; 1]>,
    /// Cuts between the segments.
    pub(crate) cuts: Arc<[Cut]>,
    /// Chunked loops.
    pub(crate) loops: Arc<[ChunkedLoop]>,
    /// Uses of the whole graph.
    pub(crate) uses: Arc<BoundUses>,
    /// Owner that keeps the memory of the nodes alive.
    pub(crate) keep: Arc<dyn Send + Sync>,
    /// `true` if replays run one after the other, because nodes may write memory of the graph itself, or because the
    /// graph has host callbacks.
    pub(crate) takes_turns: bool,
    pub(crate) names: Arc<GraphNames>,
    /// Bytes bound to each input.
    pub(crate) inputs: SmallVec<[BoundInput; 2]>,
    /// Current values.
    pub(crate) values: SmallVec<[Value; 1]>,
    /// `true` if a value differs from those stored in the commands.
    pub(crate) values_differ: bool,
    /// Uses of each segment, followed by those of the whole graph if there are several segments.
    pub(crate) split: Arc<[SplitUses]>,
    pub(crate) orders: Arc<AliasOrders>,
    pub(crate) missing: MissingOrders,
    /// Gate table, if the graph has control flow.
    pub(crate) control: Option<Arc<ControlTable>>,
    /// Nodes that are timed markers, in ascending order.
    pub(crate) timed_markers: Arc<[u32]>,
    /// Memory of the program that each replay uploads.
    pub(crate) sources: Arc<[Arc<dyn ReplaySource>]>,
}

/// A number that is unique among plans.
pub(crate) struct PlanId(pub(crate) u64);

/// A segment of a graph, which becomes one step of a batch.
#[derive(Clone)]
pub(crate) struct GraphSegment {
    pub(crate) order: Arc<GraphOrder>,
    pub(crate) uses: Arc<BoundUses>,
}

/// Components of a new plan.
pub(crate) struct PlanParts {
    pub(crate) label: Arc<str>,
    pub(crate) nodes: Vec<GraphNode>,
    pub(crate) queues: Arc<[Arc<str>]>,
    /// For each host callback, the number of nodes before it, in ascending order.
    pub(crate) calls: Vec<u32>,
    /// Chunked loops, in the order of their nodes.
    pub(crate) loops: Vec<ChunkedLoop>,
    pub(crate) keep: Arc<dyn Send + Sync>,
    pub(crate) takes_turns: bool,
    /// Inputs and values, not yet with their nodes.
    pub(crate) names: GraphNames,
    pub(crate) inputs: SmallVec<[BoundInput; 2]>,
    pub(crate) values: SmallVec<[Value; 1]>,
    pub(crate) control: Option<Arc<ControlTable>>,
}

#[cfg(test)]
impl PlanParts {
    /// Returns the components of a graph captured on one queue, without names, loops and memory of its own.
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
    /// Makes a plan, and derives the order of the nodes.
    ///
    /// # Errors
    /// Returns `Hazard` for two unordered nodes, if `missing` is to report them, and `Graph` for a node that uses both
    /// bytes of an input and other bytes.
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
        let nodes = NodeList::new(nodes);
        let names = Arc::new(names);
        let segments = SmallVec::new();
        let uses = Arc::default();
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

    /// Returns the parameters of a launch with the current values, or `None` if those of the command are up to date.
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

    /// Lists the values that a launch holds, each with its place in the parameters. Values of a child graph are left
    /// out, because they are not values of this graph.
    pub(crate) fn values_of(&self, command: &NodeCommand) -> impl Iterator<Item = (usize, ArgumentSlot)> {
        let known = |token| self.names.values.iter().position(|value| value.token == token);
        command.values.iter().filter_map(move |&(token, slot)| Some((known(token)?, slot)))
    }

    /// Returns the signature of the inputs' overlaps.
    pub(crate) fn signature(&self) -> AliasSignature {
        // The last entry has the uses of the whole graph.
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

    /// Returns the range of nodes of each segment.
    pub(crate) fn segment_ranges(&self) -> SmallVec<[Range<u32>; 1]> {
        let range = |order: &GraphOrder| order.first..order.first + order.levels.len() as u32;
        self.segments.iter().map(|segment| range(&segment.order)).collect()
    }
}

/// Returns the pinned arrays that the nodes upload in each replay, each once.
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

/// Returns the nodes that are timed markers.
fn timed_markers(nodes: &[GraphNode]) -> Arc<[u32]> {
    nodes.iter().zip(0..).filter(|(node, _)| node.command.is_timed_marker()).map(|(_, at)| at).collect()
}

/// Returns the ranges of nodes between the cuts.
fn ranges(cuts: &Cuts, nodes: u32) -> SmallVec<[Range<u32>; 1]> {
    let places = || cuts.iter().map(|(at, _)| *at);
    let starts = std::iter::once(0).chain(places());
    starts.zip(places().chain([nodes])).map(|(start, end)| start..end).collect()
}

/// Counts the uses of each segment, followed by those of the whole graph if there are several segments.
pub(crate) fn count_uses(nodes: &[GraphNode], ranges: &[Range<u32>], names: &GraphNames) -> Vec<UseCounts> {
    let whole = (ranges.len() > 1).then_some(0..nodes.len() as u32);
    ranges.iter().cloned().chain(whole).map(|range| UseCounts::new(nodes, range, names)).collect()
}

/// Returns the counted uses.
pub(crate) fn split(counts: &[UseCounts], control: Option<&ControlTable>) -> Arc<[SplitUses]> {
    counts.iter().map(|counts| SplitUses::new(counts, control)).collect()
}

/// Derives the order of each segment.
///
/// # Errors
/// Returns `Hazard` for two unordered nodes, if `missing` is to report them.
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

/// Changes that are made together in a new plan.
#[derive(Default)]
pub(crate) struct PlanChange {
    /// Nodes with new commands, in ascending order.
    pub(crate) commands: Vec<(u32, Arc<NodeCommand>)>,
    /// Uses of the new plan, if the new commands may use other bytes.
    pub(crate) split: Option<Arc<[SplitUses]>>,
    /// Inputs with new bytes.
    pub(crate) inputs: SmallVec<[(usize, BoundInput); 2]>,
    /// Values with new contents.
    pub(crate) values: SmallVec<[(usize, Value); 1]>,
    /// Owner of the new plan's memory, or `None` to keep the old owner.
    pub(crate) keep: Option<Arc<dyn Send + Sync>>,
    /// Gate table of the new plan, if a node in a body has other dispatches.
    pub(crate) control: Option<Arc<ControlTable>>,
}

/// Change of one part of a command: afterwards it refers to the bytes of an input from `start` on.
struct RangeMove {
    node: u32,
    input: usize,
    part: CommandPart,
    start: u64,
}

impl GraphPlan {
    /// Returns the plan with the given changes. The cost depends on the number of changed nodes and of used blocks. All
    /// nodes are examined only if the overlaps change in a graph of several queues.
    ///
    /// # Errors
    /// Returns `Aliased` if two arguments of a command now overlap and one of them is written, and `Hazard` under
    /// `Checked` if two nodes now overlap without an order. The old plan is unchanged.
    pub(crate) fn changed(&self, change: PlanChange) -> Result<Self> {
        let mut plan = self.clone();
        if !change.commands.is_empty() || !change.inputs.is_empty() || change.control.is_some() {
            plan.commands = PlanId::unique();
        }
        if !change.commands.is_empty() {
            plan.shape = plan.commands.0;
        }
        if let Some(keep) = change.keep {
            plan.keep = keep;
        }
        if change.control.is_some() {
            plan.control = change.control;
        }
        let mut moved: SmallVec<[usize; 2]> = SmallVec::new();
        for (at, bound) in change.inputs {
            if differ(&plan.inputs[at], &bound) {
                moved.push(at);
                plan.inputs[at] = bound;
            }
        }
        plan.values_differ |= !change.values.is_empty();
        change.values.into_iter().for_each(|(at, value)| plan.values[at] = value);
        let moves = plan.moves(&moved);
        plan.nodes = self.nodes.with(plan.rewrite(change.commands, &moves)?);
        plan.order_again(change.split, !moved.is_empty())?;
        Ok(plan)
    }

    /// Lists the changes of places because of new input bytes, by node.
    fn moves(&self, moved: &[usize]) -> SmallVec<[RangeMove; 1]> {
        let mut moves: SmallVec<[RangeMove; 1]> = SmallVec::new();
        for &input in moved {
            let places = self.names.inputs[input].places.iter();
            moves.extend(places.map(|place| RangeMove {
                node: place.node,
                input,
                part: place.part,
                start: place.start,
            }));
        }
        moves.sort_by_key(|change| change.node);
        moves
    }

    /// Returns the changed nodes, in ascending order. Nodes that shared a command share its replacement.
    fn rewrite(
        &self,
        commands: Vec<(u32, Arc<NodeCommand>)>,
        moves: &[RangeMove],
    ) -> Result<Vec<(u32, GraphNode)>> {
        let mut nodes = Vec::with_capacity(commands.len() + moves.len());
        let mut shared: FxHashMap<*const NodeCommand, Arc<NodeCommand>> = FxHashMap::default();
        let mut commands = commands.into_iter().peekable();
        for of_node in moves.chunk_by(|a, b| a.node == b.node) {
            let at = of_node[0].node;
            while let Some((other, command)) = commands.next_if(|(other, _)| *other < at) {
                self.check(&command)?;
                nodes.push((other, self.nodes.get(other).with_command(command)));
            }
            let node = self.nodes.get(at);
            let old = commands.next_if(|(other, _)| *other == at).map(|(_, command)| command);
            let old = old.as_ref().unwrap_or(&node.command);
            let new = match shared.get(&Arc::as_ptr(old)) {
                Some(new) => new.clone(),
                None => self.apply(old, of_node)?,
            };
            if moves.len() > of_node.len() {
                shared.insert(Arc::as_ptr(old), new.clone());
            }
            nodes.push((at, node.with_command(new)));
        }
        for (at, command) in commands {
            self.check(&command)?;
            nodes.push((at, self.nodes.get(at).with_command(command)));
        }
        Ok(nodes)
    }

    /// Returns a command with changed places.
    fn apply(&self, old: &NodeCommand, moves: &[RangeMove]) -> Result<Arc<NodeCommand>> {
        let mut new = old.duplicate();
        for &RangeMove { input, part, start, .. } in moves {
            let BoundInput { block, offset } = &self.inputs[input];
            move_part(&mut new.work, part, block, offset + start);
        }
        self.check(&new)?;
        Ok(Arc::new(new))
    }

    /// Checks that the parts of a command overlap only where it reads both.
    ///
    /// # Errors
    /// Returns `Aliased`, which names the command in the graph.
    fn check(&self, command: &NodeCommand) -> Result<()> {
        check_parts(&command.work).map_err(|error| match error.detail() {
            ErrorDetail::Aliased { subject, first, second, array, .. } => {
                let place = (command.name(), &self.label, command.at);
                let node = format!(" of node `{}` in graph `{}`, captured at {}", place.0, place.1, place.2);
                let subject = subject.clone();
                let first = first.clone();
                ErrorDetail::Aliased { subject, node, first, second: second.clone(), array: array.clone() }
                    .into()
            }
            _ => error,
        })
    }

    /// Sets the uses and the order anew if nodes now use other bytes.
    fn order_again(&mut self, split: Option<Arc<[SplitUses]>>, inputs_change: bool) -> Result<()> {
        if split.is_none() && !inputs_change {
            return Ok(());
        }
        let ranges = self.segment_ranges();
        if let Some(split) = split {
            self.split = split;
            self.orders = Arc::new(AliasOrders::default());
        }
        if self.queues.len() == 1 {
            // The nodes of a single queue always execute in order.
            let orders = self.segments.iter().map(|segment| segment.order.clone()).collect();
            self.set_segments(orders);
            return Ok(());
        }
        let signature = self.signature();
        let orders = match self.orders.find(&signature) {
            Some(orders) => orders,
            None => {
                let orders = derive_all(&self.nodes.to_vec(), &ranges, &self.queues, &self.missing)?;
                self.orders.keep(signature, orders.clone());
                orders
            }
        };
        self.set_segments(orders);
        Ok(())
    }
}

/// Returns `true` if two bindings of an input differ.
fn differ(old: &BoundInput, new: &BoundInput) -> bool {
    old.block.id != new.block.id || old.offset != new.offset
}

/// Maximum number of signatures with cached orders.
const MOST_KEPT: usize = 4;

/// Overlaps of the inputs with each other, and with bytes that belong to no input.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct AliasSignature(SmallVec<[Alias; 2]>);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Alias {
    /// Two overlapping inputs. The second one starts `distance` bytes after the first one.
    Inputs { first: u32, second: u32, distance: i64 },
    /// An input that overlaps bytes used by nodes and belonging to no input.
    Fixed { input: u32, block: BlockId, offset: u64 },
}

/// The order of each segment of a plan.
pub(crate) type SegmentOrders = SmallVec<[Arc<GraphOrder>; 1]>;

/// Cached orders of the last few signatures, the most recently used last.
#[derive(Default)]
pub(crate) struct AliasOrders(Mutex<Vec<(AliasSignature, SegmentOrders)>>);

impl AliasSignature {
    /// Returns the signature of a binding of the inputs. `fixed` has the uses of bytes that belong to no input.
    pub(crate) fn new(names: &GraphNames, bound: &[BoundInput], fixed: &[BoundArray]) -> Self {
        let mut all = SmallVec::new();
        for (at, (input, own)) in names.inputs.iter().zip(bound).enumerate() {
            let range = input.range(own);
            for (before, (other, earlier)) in names.inputs.iter().zip(bound).enumerate().take(at) {
                if earlier.block.id == own.block.id && overlap(&other.range(earlier), &range) {
                    let first = before as u32;
                    let second = at as u32;
                    let distance = own.offset as i64 - earlier.offset as i64;
                    all.push(Alias::Inputs { first, second, distance });
                }
            }
            let meets =
                |fixed: &BoundArray| fixed.block.id == own.block.id && overlap(&fixed.range(), &range);
            if fixed.iter().any(meets) {
                all.push(Alias::Fixed { input: at as u32, block: own.block.id, offset: own.offset });
            }
        }
        Self(all)
    }
}

impl AliasOrders {
    /// Returns the cached orders for a signature.
    pub(crate) fn find(&self, signature: &AliasSignature) -> Option<SegmentOrders> {
        let mut kept = lock(&self.0);
        let at = kept.iter().rposition(|(known, _)| known == signature)?;
        let found = kept.remove(at);
        let orders = found.1.clone();
        kept.push(found);
        Some(orders)
    }

    /// Caches the orders for a signature, in place of the least recently used ones.
    pub(crate) fn keep(&self, signature: AliasSignature, orders: SegmentOrders) {
        let mut kept = lock(&self.0);
        if kept.iter().any(|(known, _)| *known == signature) {
            return;
        }
        if kept.len() == MOST_KEPT {
            kept.remove(0);
        }
        kept.push((signature, orders));
    }
}
