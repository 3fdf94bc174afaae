//! Graphs: commands that are captured once and replayed as one command.

pub(crate) mod bindings;
pub(crate) mod capture;
pub(crate) mod control_flow;
pub(crate) mod edit;
pub(crate) mod graph_svg;
pub(crate) mod graph_view;
#[cfg(all(test, cpu))]
mod lease_tests;
pub(crate) mod loading;
#[cfg(all(test, fencepost_loom))]
mod loom_replays;
pub(crate) mod replay;
pub(crate) mod saving;
pub(crate) mod spanning;
pub(crate) mod tape;

use crate::api::graph::bindings::GraphOutput;
use crate::api::graph::capture::HostCall;
use crate::api::graph::graph_view::VertexKind;
use crate::api::graph::spanning::{ContextPart, SpanningPlan, SpanningShape, missing_order};
use crate::api::graph::tape::{Tape, TapeState};
use crate::arrays::read::MessageBuffer;
use crate::error::{ErrorDetail, KernelId, Result};
use crate::memory::block::BlockId;
use crate::memory::staging::Payload;
use crate::record::lanes::{ReplayForm, replay_form};
use crate::runtime::owner::Owner;
use crate::scheduler::host_guard::BlockLease;
use crate::scheduler::replays::ReplayTurn;
use crate::work::graph::order::{MissingOrder, MissingOrders, barriers};
use crate::work::graph::plan::{GraphPlan, PlanParts};
use crate::work::graph::uses::UseCounts;
use crate::work::step::Work;
use rustc_hash::FxHashMap;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// Commands that were captured once. [`CommandQueue::replay`](crate::CommandQueue::replay) enqueues all of them as one
/// command. A clone is a cheap handle of the same graph. A graph may contain work of several contexts; see
/// [`Capture::fork_on`](crate::Capture::fork_on).
///
/// The graph keeps the memory of its arrays alive, even after the program has dropped the arrays. A graph may be
/// dropped while replays of it are in flight.
///
/// # Example
/// ```
/// # let (ctx, queue) = fencepost::doctest();
/// let mut x = ctx.zeros::<u32, 1>([4])?;
/// let (graph, ()) = queue.capture(|c| c.fill(&mut x, 7))?;
/// assert_eq!(queue.read(&x).wait()?, [0; 4]);      // a capture executes nothing
/// queue.replay(&graph)?;
/// assert_eq!(queue.read(&x).wait()?, [7; 4]);
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone)]
pub struct Graph {
    pub(crate) owner: Owner,
    pub(crate) inner: Arc<GraphInner>,
    pub(crate) plan: Arc<GraphPlan>,
    /// Leases of the blocks that the plan's nodes use, and of the blocks that the capture made.
    pub(crate) leases: Arc<GraphLeases>,
    /// Uses of the plan's nodes. The first edit that changes uses makes this list.
    pub(crate) counts: Option<Arc<Vec<UseCounts>>>,
    /// Parts of a graph of several contexts. The plan then contains the nodes of all contexts.
    pub(crate) spanning: Option<Arc<SpanningPlan>>,
}

/// Leases by block.
pub(crate) type GraphLeases = FxHashMap<BlockId, Arc<BlockLease>>;

/// State that all plans of a graph share.
pub(crate) struct GraphInner {
    /// Number of the capture, which identifies the graph.
    pub(crate) id: u64,
    /// Name of the graph in messages, and its number, which stays registered as long as this is alive.
    pub(crate) name: (KernelId, Arc<str>),
    pub(crate) outputs: Vec<GraphOutput>,
    /// Host callbacks, each with the number of nodes captured before it.
    pub(crate) calls: Vec<(u32, HostCall)>,
    /// Message buffers of the launches, in node order. Every replay reads them.
    pub(crate) messages: Vec<MessageBuffer>,
    /// Size of each block that the capture allocated.
    pub(crate) made: FxHashMap<BlockId, u64>,
    /// Turn of this graph, and of each nested graph that takes turns, with the graph's number.
    pub(crate) turns: Vec<(u64, Arc<ReplayTurn>)>,
    /// Memoryless blocks, which stand for a loaded graph's inputs without a default.
    pub(crate) unbound: Vec<BlockId>,
}

impl Graph {
    /// Makes the graph of an ended capture.
    pub(crate) fn new(tape: &Tape, label: &str, mut ended: TapeState) -> Result<Self> {
        let owner = tape.owner.clone();
        let control = control_flow::add(&owner, &mut ended, tape.at)?;
        let shape = SpanningShape::of(&mut ended, label);
        let children = ended.replayed().filter(|(.., context)| *context == 0);
        let children = children.map(|(graph, turn, _)| (graph, turn));
        let turns = std::iter::once((tape.id, Arc::default())).chain(children).collect();
        let TapeState {
            nodes, queues, leases, outputs, calls, messages, chunked, takes_turns, mut made, ..
        } = ended;
        if shape.is_some() && !messages.is_empty() {
            let problem = "it has the work of several contexts, and a kernel in it prints or asserts: launch such a \
                           kernel outside of the graph, or capture a graph of one context";
            return Err(ErrorDetail::Graph { graph: label.into(), problem: problem.into() }.into());
        }
        for block in control.iter().flat_map(|table| [&table.words, &table.counts]) {
            made.insert(block.id, block.size);
        }
        let names = ended.names;
        let inputs = ended.inputs;
        let values = ended.values;
        let missing: MissingOrders = match &shape {
            None => missing_order(&owner).into(),
            Some(shape) => {
                let contexts: Vec<MissingOrder> = shape.owners.iter().map(missing_order).collect();
                shape.of_queue.iter().map(|&context| contexts[context as usize]).collect()
            }
        };
        let name = owner.engine().new_kernel(label);
        let leases = Arc::new(leases);
        let queues: Arc<[Arc<str>]> = queues.into_iter().map(|queue| queue.label).collect();
        let parts = PlanParts {
            label: name.1.clone(),
            nodes,
            queues,
            calls: calls.iter().map(|(at, _)| *at).collect(),
            loops: chunked,
            keep: leases.clone() as Arc<dyn Send + Sync>,
            takes_turns,
            names,
            inputs,
            values,
            control: control.map(Arc::new),
        };
        let plan = GraphPlan::new(parts, missing)?;
        let spanning = shape.map(|shape| SpanningPlan::new(Arc::new(shape), &plan)).transpose()?;
        let unbound = Vec::new();
        let inner =
            Arc::new(GraphInner { id: tape.id, name, outputs, calls, messages, turns, made, unbound });
        let plan = Arc::new(plan);
        let spanning = spanning.map(Arc::new);
        Ok(Self { owner, inner, plan, leases, counts: None, spanning })
    }

    /// Returns the outputs that the program has declared, except the one that reads the counters of loops.
    pub(crate) fn outputs(&self) -> &[GraphOutput] {
        let counters = self.plan.control.as_ref().and_then(|table| table.layout.output);
        &self.inner.outputs[..counters.map_or(self.inner.outputs.len(), |at| at as usize)]
    }

    /// Returns the bytes of device memory that the capture made and that no other graph keeps.
    pub(crate) fn own_memory(&self) -> u64 {
        let blocks =
            self.leases.values().filter(|&lease| Arc::strong_count(lease) == 1).map(|lease| &lease.block);
        blocks.filter(|block| self.inner.made.contains_key(&block.id)).map(|block| block.size).sum()
    }

    /// Returns the context of a captured queue.
    pub(crate) fn owner_of_queue(&self, queue: u32) -> &Owner {
        match &self.spanning {
            None => &self.owner,
            Some(spanning) => &spanning.shape.owners[spanning.shape.of_queue[queue as usize] as usize],
        }
    }

    /// Returns the number of contexts of the graph.
    pub(crate) fn contexts(&self) -> usize {
        self.spanning.as_ref().map_or(1, |spanning| spanning.shape.owners.len())
    }

    /// Returns the context of an input.
    pub(crate) fn owner_of_input(&self, input: usize) -> &Owner {
        match &self.spanning {
            None => &self.owner,
            Some(spanning) => &spanning.shape.owners[spanning.shape.of_input[input] as usize],
        }
    }

    /// Returns the name of the graph in messages.
    pub fn label(&self) -> &str {
        &self.plan.label
    }

    /// Returns the number of nodes of the graph.
    pub fn nodes(&self) -> usize {
        self.plan.nodes.len()
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Graph `{}` of {} nodes", self.label(), self.nodes())
    }
}

/// Statistics of a graph, returned by [`Graph::statistics`].
///
/// # Example
/// ```
/// # let (ctx, queue) = fencepost::doctest();
/// let (graph, _) = queue.capture(|c| {
///     let own = c.array(&[1_u32, 2, 3, 4])?;
///     c.read_as("own", &own)
/// })?;
/// let statistics = graph.statistics();
/// assert_eq!((statistics.uploads, statistics.reads, statistics.outputs), (1, 1, 1));
/// assert_eq!((statistics.levels, statistics.barriers, statistics.constant_bytes), (2, 1, 16));
/// assert!(statistics.to_string().contains("barriers"));
/// # drop(ctx);
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GraphStatistics {
    /// Number of nodes.
    pub nodes: usize,
    /// Number of nodes that launch a kernel.
    pub launches: usize,
    /// Number of nodes that copy from an array to an array.
    pub copies: usize,
    /// Number of nodes that fill an array.
    pub fills: usize,
    /// Number of nodes that copy bytes from the host to an array.
    pub uploads: usize,
    /// Number of nodes that copy bytes from an array to the host.
    pub reads: usize,
    /// Number of nodes that read the device's clock, one for each timed marker.
    pub times: usize,
    /// Number of gates, which decide if bodies execute.
    pub gates: usize,
    /// Number of host callbacks; not included in `nodes`.
    pub host_functions: usize,
    /// Number of outputs that the program declared. The read of the loop counters is not included.
    pub outputs: usize,
    /// Number of captured queues.
    pub queues: usize,
    /// Number of contexts. A copy between two contexts counts as a read and an upload.
    pub contexts: usize,
    /// Number of levels: the nodes, host callbacks and ends of chunked loops on a longest path.
    pub levels: usize,
    /// Number of barriers that the native recorder records for a replay if it compares whole arrays. A command counts
    /// as one dispatch or copy, even if a device splits it.
    pub barriers: usize,
    /// Bytes of device memory that the graph owns: the arrays made during its capture, including those that an edit has
    /// replaced, the scratch memory of verbs, and the table of its conditions and loops.
    pub owned_bytes: u64,
    /// Bytes that the graph keeps for its uploads.
    pub constant_bytes: u64,
    /// Number of dispatches of all gates and bodies. A loop with [`Bound::AtMost`](crate::Bound::AtMost) counts every
    /// iteration up to the bound. A loop with [`Bound::Chunked`](crate::Bound::Chunked) counts only the iterations that
    /// the graph stores.
    pub gated_dispatches: u64,
    /// Form of the replays: commands recorded once, or recorded in each replay for the given reason.
    pub replay: ReplayForm,
}

impl Graph {
    /// *Returns* the statistics of the graph. They are the same on every adapter, with two exceptions:
    /// [`replay`](GraphStatistics::replay) depends on the adapter and its recorder, and transfers of pinned arrays
    /// count as copies only if the device has pinned memory, and otherwise as uploads and reads.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut x = ctx.zeros::<u32, 1>([4])?;
    /// let (graph, ()) = queue.capture(|c| c.fill(&mut x, 7))?;
    /// assert_eq!((graph.statistics().nodes, graph.statistics().fills), (1, 1));
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn statistics(&self) -> GraphStatistics {
        let plan = &self.plan;
        let mut statistics = GraphStatistics {
            nodes: plan.nodes.len(),
            host_functions: self.inner.calls.len(),
            outputs: self.outputs().iter().filter(|output| output.download.is_none()).count(),
            queues: plan.queues.len(),
            contexts: self.contexts(),
            levels: plan.segments.iter().map(|segment| segment.order.depth as usize).sum::<usize>()
                + plan.cuts.iter().map(|cut| cut.levels() as usize).sum::<usize>(),
            barriers: barriers(plan).count,
            owned_bytes: self.inner.made.values().sum(),
            constant_bytes: constant_bytes(self),
            gated_dispatches: plan.control.as_ref().map_or(0, |table| table.layout.all_dispatches()),
            replay: replay_form_of(self),
            launches: 0,
            copies: 0,
            fills: 0,
            uploads: 0,
            reads: 0,
            times: 0,
            gates: 0,
        };
        for node in plan.nodes.iter() {
            *statistics.of_kind(VertexKind::of(node)) += 1;
        }
        statistics
    }
}

/// Returns the form of the replays. In a graph of several contexts, each context has a form for its own parts.
fn replay_form_of(graph: &Graph) -> ReplayForm {
    let Some(spanning) = &graph.spanning else { return replay_form(graph.owner.wgpu(), &graph.plan) };
    let mut native = 0;
    let mut reason = "it has no launches";
    for (part, nodes) in spanning.partition.parts.iter().zip(&spanning.parts) {
        let ContextPart::Nodes { plan, .. } = nodes else { continue };
        match replay_form(spanning.shape.owners[part.context as usize].wgpu(), plan) {
            ReplayForm::Native { launches } => native += launches,
            ReplayForm::Encoded { reason: of_part } => reason = of_part,
        }
    }
    if native > 0 { ReplayForm::Native { launches: native } } else { ReplayForm::Encoded { reason } }
}

/// Returns the number of bytes of the uploads. Bytes that several nodes share count once.
fn constant_bytes(graph: &Graph) -> u64 {
    let mut seen = HashSet::new();
    let kept = graph.plan.nodes.iter().filter_map(|node| match &node.command.work {
        Work::Upload { src: Payload::Kept(kept), .. } => Some(kept),
        _ => None,
    });
    kept.filter(|kept| seen.insert(Arc::as_ptr(kept))).map(|kept| kept.bytes.len() as u64).sum()
}

impl GraphStatistics {
    fn of_kind(&mut self, kind: VertexKind) -> &mut usize {
        match kind {
            VertexKind::Launch => &mut self.launches,
            VertexKind::Copy => &mut self.copies,
            VertexKind::Fill => &mut self.fills,
            VertexKind::Upload => &mut self.uploads,
            VertexKind::Read => &mut self.reads,
            VertexKind::Time => &mut self.times,
            VertexKind::Host => &mut self.host_functions,
            VertexKind::Gate => &mut self.gates,
        }
    }

    /// Returns the names and values of the numeric fields, in their order.
    fn rows(&self) -> [(&'static str, u64); 17] {
        [
            ("nodes", self.nodes as u64),
            ("launches", self.launches as u64),
            ("copies", self.copies as u64),
            ("fills", self.fills as u64),
            ("uploads", self.uploads as u64),
            ("reads", self.reads as u64),
            ("times", self.times as u64),
            ("gates", self.gates as u64),
            ("host_functions", self.host_functions as u64),
            ("outputs", self.outputs as u64),
            ("queues", self.queues as u64),
            ("contexts", self.contexts as u64),
            ("levels", self.levels as u64),
            ("barriers", self.barriers as u64),
            ("owned_bytes", self.owned_bytes),
            ("constant_bytes", self.constant_bytes),
            ("gated_dispatches", self.gated_dispatches),
        ]
    }

    /// *Returns* the statistics as a JSON object whose keys are the field names.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (graph, ()) = queue.capture(|_| Ok(()))?;
    /// assert!(graph.statistics().to_json().starts_with("{\"nodes\":0,"));
    /// # drop(ctx);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn to_json(&self) -> String {
        let fields = self.rows().map(|(name, number)| format!("\"{name}\":{number}"));
        let replay = match self.replay {
            ReplayForm::Native { launches } => format!("{{\"form\":\"native\",\"launches\":{launches}}}"),
            ReplayForm::Encoded { reason } => format!("{{\"form\":\"encoded\",\"reason\":{reason:?}}}"),
        };
        format!("{{{},\"replay\":{replay}}}", fields.join(","))
    }
}

impl fmt::Display for GraphStatistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.rows();
        let width = rows.iter().map(|(_, number)| number.to_string().len()).max().unwrap_or(0);
        for (at, (name, number)) in rows.into_iter().enumerate() {
            if at > 0 {
                writeln!(f)?;
            }
            write!(f, "{:16} {number:>width$}", name.replace('_', " "))?;
        }
        write!(f, "\n{:16} {}", "replay", self.replay)
    }
}
