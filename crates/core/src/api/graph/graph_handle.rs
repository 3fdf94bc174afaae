//! A captured graph.

use crate::api::graph::control_memory;
use crate::api::graph::graph_output::GraphOutput;
use crate::api::graph::host_function::HostCall;
use crate::api::graph::spanning::{Spanning, SpanningShape, missing_order};
use crate::api::graph::tape::{Tape, TapeState};
use crate::arrays::message_buffer::MessageBuffer;
use crate::error::site::KernelId;
use crate::error::{Kind, Result};
use crate::memory::heap::BlockId;
use crate::runtime::owner::Owner;
use crate::scheduler::free_blocks::BlockLease;
use crate::scheduler::replay_turn::ReplayTurn;
use crate::work::graph_data::graph_order::{MissingOrder, MissingOrders};
use crate::work::graph_data::graph_plan::{GraphPlan, PlanParts};
use crate::work::graph_data::use_counts::UseCounts;
use rustc_hash::FxHashMap;
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// Commands that were captured once. [`CommandQueue::replay`](crate::CommandQueue::replay) enqueues all of them as one
/// command. A clone is a cheap handle of the same graph. A graph may have the work of several contexts:
/// [`Capture::fork_on`](crate::Capture::fork_on) captures it.
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
    /// Leases of the blocks that a node of the plan names, and of the blocks that the capture made.
    pub(crate) leases: Arc<GraphLeases>,
    /// Uses of the plan's nodes, counted from the first edit on that changes them.
    pub(crate) counts: Option<Arc<Vec<UseCounts>>>,
    /// Parts of a graph of several contexts. The plan then has the nodes of all of them.
    pub(crate) spanning: Option<Arc<Spanning>>,
}

/// Leases by block.
pub(crate) type GraphLeases = FxHashMap<BlockId, Arc<BlockLease>>;

/// State that all plans of a graph share.
pub(crate) struct GraphInner {
    /// Number of the capture, which identifies the graph.
    pub(crate) id: u64,
    /// Name of the graph in messages with its number, which is registered as long as the name is held.
    pub(crate) name: (KernelId, Arc<str>),
    pub(crate) outputs: Vec<GraphOutput>,
    /// Host callbacks, each with the number of nodes before it.
    pub(crate) calls: Vec<(u32, HostCall)>,
    /// Message buffers of the launches, in node order. Each replay reads them.
    pub(crate) messages: Vec<MessageBuffer>,
    /// Size of each block that the capture made.
    pub(crate) made: FxHashMap<BlockId, u64>,
    /// Turn of the graph, and of each graph that is replayed in it and takes turns, with the graph's number.
    pub(crate) turns: Vec<(u64, Arc<ReplayTurn>)>,
    /// Blocks that stand for inputs without a default in a loaded graph. They have no memory.
    pub(crate) unbound: Vec<BlockId>,
}

impl Graph {
    /// Makes the graph of an ended capture.
    pub(crate) fn new(tape: &Tape, label: &str, mut ended: TapeState) -> Result<Self> {
        let owner = tape.owner.clone();
        let control = control_memory::add(&owner, &mut ended, tape.at)?;
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
            return Err(Kind::Graph { graph: label.into(), problem: problem.into() }.into());
        }
        for block in control.iter().flat_map(|table| [&table.words, &table.counts]) {
            made.insert(block.id, block.size);
        }
        let (names, inputs, values) = (ended.names, ended.inputs, ended.values);
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
            keep: leases.clone() as Arc<dyn Any + Send + Sync>,
            takes_turns,
            names,
            inputs,
            values,
            control: control.map(Arc::new),
        };
        let plan = GraphPlan::new(parts, missing)?;
        let spanning = shape.map(|shape| Spanning::new(Arc::new(shape), &plan)).transpose()?;
        let unbound = Vec::new();
        let inner =
            Arc::new(GraphInner { id: tape.id, name, outputs, calls, messages, turns, made, unbound });
        let (plan, spanning) = (Arc::new(plan), spanning.map(Arc::new));
        Ok(Self { owner, inner, plan, leases, counts: None, spanning })
    }

    /// Returns the outputs that the program has declared. The last output of a graph with loops reads their counters.
    pub(crate) fn outputs(&self) -> &[GraphOutput] {
        let counters = self.plan.control.as_ref().and_then(|table| table.layout.output);
        &self.inner.outputs[..counters.map_or(self.inner.outputs.len(), |at| at as usize)]
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
