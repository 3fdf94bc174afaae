//! A captured graph.

use crate::api::graph::control_memory;
use crate::api::graph::host_function::HostCall;
use crate::api::graph::tape::{GraphOutput, Tape, TapeState};
use crate::error::Result;
use crate::error::site::KernelId;
use crate::memory::heap::BlockId;
use crate::runtime::owner::Owner;
use crate::scheduler::free_blocks::BlockLease;
use crate::scheduler::ordering::policy::Policy;
use crate::scheduler::replay_turn::ReplayTurn;
use crate::work::graph_data::graph_order::MissingOrder;
use crate::work::graph_data::graph_plan::{GraphPlan, PlanParts};
use crate::work::graph_data::use_counts::UseCounts;
use rustc_hash::FxHashMap;
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// Holds commands that were captured once. [`CommandQueue::replay`](crate::CommandQueue::replay) enqueues all of them as
/// one command. A clone is a cheap handle of the same graph.
///
/// The graph keeps the memory of its arrays, also after the program has dropped the arrays. The drop of a graph while
/// replays of it are in flight is safe.
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
    /// Holds a lease of each block that a node of the plan names, and of each block that the capture has made.
    pub(crate) leases: Arc<GraphLeases>,
    /// Counts the uses of the plan's nodes, from the first edit on that changes them.
    pub(crate) counts: Option<Arc<Vec<UseCounts>>>,
}

/// Holds leases of blocks.
pub(crate) type GraphLeases = FxHashMap<BlockId, Arc<BlockLease>>;

/// Holds what all plans of a graph share.
pub(crate) struct GraphInner {
    /// Identifies the graph: the number of its capture.
    pub(crate) id: u64,
    /// Is the number of the graph's name in messages, which is registered as long as the name is held.
    pub(crate) name: (KernelId, Arc<str>),
    pub(crate) outputs: Vec<GraphOutput>,
    /// Lists the functions of the host, each with the number of nodes that come before it.
    pub(crate) calls: Vec<(u32, HostCall)>,
    /// Holds the size of each block that the capture has made.
    pub(crate) made: FxHashMap<BlockId, u64>,
    /// Holds the turn of the graph, and of each graph with memory of its own that is replayed in it, by the numbers of the
    /// graphs.
    pub(crate) turns: Vec<(u64, Arc<ReplayTurn>)>,
    /// Lists the blocks that stand for inputs without a default, in a loaded graph. They have no memory.
    pub(crate) unbound: Vec<BlockId>,
}

impl Graph {
    /// Makes the graph of an ended capture.
    pub(crate) fn new(tape: &Tape, label: &str, mut ended: TapeState) -> Result<Self> {
        let owner = tape.owner.clone();
        let control = control_memory::add(&owner, &mut ended, tape.at)?;
        let turns = std::iter::once((tape.id, Arc::default())).chain(ended.replayed()).collect();
        let TapeState { nodes, queues, leases, outputs, calls, chunked, owns_memory, mut made, .. } = ended;
        for block in control.iter().flat_map(|table| [&table.words, &table.counts]) {
            made.insert(block.id, block.size);
        }
        let (names, inputs, values) = (ended.names, ended.inputs, ended.values);
        let missing = match owner.engine().lock().policy() {
            Policy::Ordered => MissingOrder::Add,
            Policy::Checked => MissingOrder::Report,
            Policy::Unchecked => MissingOrder::Ignore,
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
            owns_memory,
            names,
            inputs,
            values,
            control: control.map(Arc::new),
        };
        let plan = GraphPlan::new(parts, missing)?;
        let unbound = Vec::new();
        let inner = GraphInner { id: tape.id, name, outputs, calls, turns, made, unbound };
        Ok(Self { owner, inner: Arc::new(inner), plan: Arc::new(plan), leases, counts: None })
    }

    /// Returns the outputs that the program has declared. The last output of a graph with loops reads their counters.
    pub(crate) fn outputs(&self) -> &[GraphOutput] {
        let counters = self.plan.control.as_ref().and_then(|table| table.layout.output);
        &self.inner.outputs[..counters.map_or(self.inner.outputs.len(), |at| at as usize)]
    }

    /// Returns the name of the graph in messages.
    pub fn label(&self) -> &str {
        &self.plan.label
    }

    /// Counts the nodes of the graph.
    pub fn nodes(&self) -> usize {
        self.plan.nodes.len()
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Graph `{}` of {} nodes", self.label(), self.nodes())
    }
}
