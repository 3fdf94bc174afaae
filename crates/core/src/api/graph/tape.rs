//! The tape of a capture: the commands of the captured queues, in the order of the calls.
//!
//! A copy between contexts is two nodes of the tape. When an array made in the capture is dropped, later arrays of the
//! capture reuse its memory.

pub(crate) mod bodies;

use crate::api::graph::bindings::GraphOutput;
use crate::api::graph::capture::HostCall;
use crate::arrays::read::MessageBuffer;
use crate::error::{CommandKind, Error, ErrorDetail, Result};
use crate::memory::block::{Block, BlockId};
use crate::memory::read_slot::ReadSlot;
use crate::runtime::captured::{CaptureFault, CapturedPoint, CapturedWrites};
use crate::runtime::owner::Owner;
use crate::scheduler::host_guard::BlockLease;
use crate::scheduler::replays::ReplayTurn;
use crate::work::graph::control::ChunkedLoop;
use crate::work::graph::names::{BoundInput, GraphNames};
use crate::work::graph::nodes::{GraphNode, NodeCommand};
use crate::work::graph::plan::GraphPlan;
use crate::work::region_copy::{RegionCopy, Rows};
use crate::work::step::{Span, Work};
use fencepost_kernels::Value;
use fencepost_sync::prim::{Mutex, lock};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Remedy for a timed marker in a body.
const NO_TIME_IN_BODY: &str = "a body executes any number of times in a replay: put the marker before or after the condition or the loop";

/// The commands of one capture.
pub(crate) struct Tape {
    pub(crate) id: u64,
    /// Context of the capturing queue.
    pub(crate) owner: Owner,
    /// Line that started the capture.
    pub(crate) at: &'static Location<'static>,
    pub(crate) fault: CaptureFault,
    /// Blocks that the commands of the capture write.
    pub(crate) writes: Arc<CapturedWrites>,
    /// `true` if this is the tape of a body, which a replay may execute any number of times.
    pub(crate) is_body: bool,
    /// `true` if the graph of the tape is replayed once, and its queue waits for the compilation of the kernels.
    pub(crate) runs_once: bool,
    state: Mutex<TapeState>,
}

/// The commands captured so far.
#[derive(Default)]
pub(crate) struct TapeState {
    /// `true` until the end of the capture.
    open: bool,
    pub(crate) nodes: Vec<GraphNode>,
    pub(crate) queues: Vec<TapeQueue>,
    /// Contexts of the queues; the first is that of the capturing queue.
    pub(crate) contexts: Vec<Owner>,
    /// Copies between contexts.
    pub(crate) copies: Vec<CapturedCopy>,
    /// Helper queue for the other side of copies, by copying queue and other context.
    copy_queues: FxHashMap<(u32, u32), u32>,
    /// For each node, the clock of its queue after it.
    clocks_after: Vec<SmallVec<[u32; 4]>>,
    /// Leases of the blocks that a node names, and of the blocks that the capture made.
    pub(crate) leases: FxHashMap<BlockId, Arc<BlockLease>>,
    /// Outputs in the order in which they were declared.
    pub(crate) outputs: Vec<GraphOutput>,
    /// Host callbacks, each with the number of nodes captured before it.
    pub(crate) calls: Vec<(u32, HostCall)>,
    /// Message buffers of the launches, in node order.
    pub(crate) messages: Vec<MessageBuffer>,
    /// Chunked loops.
    pub(crate) chunked: Vec<ChunkedLoop>,
    /// Names of the inputs and values, without the nodes that use them.
    pub(crate) names: GraphNames,
    /// Default bytes of each input.
    pub(crate) inputs: SmallVec<[BoundInput; 2]>,
    /// Context of each input.
    pub(crate) input_contexts: Vec<u32>,
    /// Default of each value.
    pub(crate) values: SmallVec<[Value; 1]>,
    /// Tokens of the values that captures around this body declare.
    outer_values: Vec<u64>,
    /// `true` if the capture has made an array, a condition, a loop or a host callback. The replays of the graph then
    /// take turns.
    pub(crate) takes_turns: bool,
    /// Size of each block that the capture allocated.
    pub(crate) made: FxHashMap<BlockId, u64>,
    /// Blocks of the capture's arrays, for reuse by its later arrays.
    reusable: MadeBlocks,
    /// Last replay in this capture of each graph that takes turns.
    children: FxHashMap<u64, ChildReplay>,
    /// `true` while the function of a body runs. Meanwhile the queues of this tape take no commands.
    body_is_open: bool,
    /// Number of gate words.
    pub(crate) gates: u32,
    /// Tokens of the loops.
    pub(crate) loops: Vec<u64>,
    /// Number of gates, plus the dispatches of nodes that a gate of this tape controls.
    dispatches: u64,
}

/// The last replay of a graph in a capture.
#[derive(Clone)]
struct ChildReplay {
    /// Last nodes of the replay.
    end: SmallVec<[u32; 2]>,
    turn: Arc<ReplayTurn>,
    /// Context of the graph.
    context: u32,
}

/// State of one captured queue.
pub(crate) struct TapeQueue {
    pub(crate) label: Arc<str>,
    /// Context of the queue.
    pub(crate) context: u32,
    at: &'static Location<'static>,
    /// Predecessors of the next node: the last node, and the nodes of other queues that the queue has waited for since.
    frontier: SmallVec<[u32; 2]>,
    /// The node of the queue's last call, if that call added exactly one node. Otherwise, labels and values have no
    /// node to apply to.
    last_call: Option<u32>,
    /// For each captured queue, the number of its nodes that come before the next node.
    clock: Vec<u32>,
}

impl TapeQueue {
    /// Forgets the node of the last call, because a call has added no node.
    pub(crate) fn clear_last_call(&mut self) {
        self.last_call = None;
    }
}

/// A queue's place in its capture.
#[derive(Clone)]
pub(crate) struct CapturedQueue {
    pub(crate) tape: Arc<Tape>,
    pub(crate) index: u32,
    /// Name of the queue in messages.
    pub(crate) label: Arc<str>,
    /// Context of the queue.
    pub(crate) owner: Owner,
}

/// Returns a number that is unique among captures and outputs.
pub(crate) fn unique() -> u64 {
    static IDS: AtomicU64 = AtomicU64::new(1);
    IDS.fetch_add(1, Ordering::Relaxed)
}

impl Tape {
    /// Starts a capture with one queue.
    pub(crate) fn new(
        owner: &Owner,
        label: &str,
        at: &'static Location<'static>,
        runs_once: bool,
    ) -> Arc<Self> {
        let contexts = vec![owner.clone()];
        let mut state = TapeState { open: true, contexts, ..TapeState::default() };
        state.add_queue((label, 0), at, SmallVec::new(), Vec::new());
        let id = unique();
        let fault = CaptureFault::default();
        let writes = CapturedWrites::new(label, &fault);
        let state = Mutex::new(state);
        Arc::new(Self { id, owner: owner.clone(), at, fault, writes, is_body: false, runs_once, state })
    }

    /// Ends the capture and returns its commands. Later calls on its queues return
    /// [`CaptureEnded`](ErrorDetail::CaptureEnded).
    ///
    /// # Errors
    /// Returns the first error of the capture, or [`Unjoined`](ErrorDetail::Unjoined).
    pub(crate) fn end(&self) -> Result<TapeState> {
        let mut ended = std::mem::take(&mut *lock(&self.state));
        ended.open = false;
        match self.fault.get() {
            Some(error) => Err(error),
            None => ended.check_joined(0).map(|()| ended),
        }
    }

    /// Ends a capture and drops its commands.
    pub(crate) fn discard(&self) {
        let ended = std::mem::take(&mut *lock(&self.state));
        drop(ended);
    }
}

impl TapeState {
    fn add_queue(
        &mut self,
        (label, context): (&str, u32),
        at: &'static Location<'static>,
        frontier: SmallVec<[u32; 2]>,
        clock: Vec<u32>,
    ) -> u32 {
        self.queues.push(TapeQueue { label: label.into(), context, at, frontier, last_call: None, clock });
        self.queues.len() as u32 - 1
    }

    /// Checks that a value belongs to this capture or to an enclosing one.
    ///
    /// # Errors
    /// Returns `Graph` for a value of another capture.
    pub(crate) fn check_value(&self, graph: &str, token: u64, name: &str) -> Result<()> {
        let is_own = self.names.values.iter().any(|known| known.token == token);
        if is_own || self.outer_values.contains(&token) {
            return Ok(());
        }
        let problem = format!("value `{name}` belongs to another capture");
        Err(ErrorDetail::Graph { graph: graph.into(), problem }.into())
    }

    /// Adds a queue that comes after everything captured so far on `queue`.
    fn fork(&mut self, queue: u32, named: (&str, u32), at: &'static Location<'static>) -> u32 {
        let (frontier, clock) = self.end_of(queue);
        self.add_queue(named, at, frontier, clock)
    }

    /// Returns the node that the last call on a queue has added.
    ///
    /// # Errors
    /// Returns `Graph` if nothing is captured on the queue, or if the last call did not add exactly one node.
    pub(crate) fn last_call(&mut self, queue: u32, wanted: &str) -> Result<&mut GraphNode> {
        let of = &self.queues[queue as usize];
        let Some(at) = of.last_call else {
            let graph = of.label.to_string();
            let problem = match self.nodes.iter().any(|node| node.queue == queue) {
                false => format!("no command is captured on the queue before {wanted}"),
                true => format!(
                    "the last call before {wanted} is a replay, a condition, a loop or a launch of several entry points, \
                     and adds no node of its own: nodes in a body get names and values in the body"
                ),
            };
            return Err(ErrorDetail::Graph { graph, problem }.into());
        };
        Ok(&mut self.nodes[at as usize])
    }

    /// Adds a node at the end of a queue. `gate` is the word of the gate that controls it, if it is in a body.
    fn push(&mut self, queue: u32, command: Arc<NodeCommand>, gate: Option<u32>) -> u32 {
        let missing = self.reusable.missing(&command.work, &self.queues[queue as usize].clock);
        self.wait_for_nodes(queue, &missing);
        let at = self.nodes.len() as u32;
        let nodes = &self.nodes;
        let of = &mut self.queues[queue as usize];
        let frontier = std::mem::take(&mut of.frontier);
        let after = frontier.into_iter().filter(|&node| nodes[node as usize].queue != queue).collect();
        of.frontier.push(at);
        of.last_call = None;
        raise(&mut of.clock, queue, at + 1);
        self.reusable.note(queue, at, &command.work);
        self.clocks_after.push(of.clock.iter().copied().collect());
        self.nodes.push(GraphNode { queue, after, command, gate });
        at
    }

    /// Orders the next node of `queue` after the nodes `after`. `clock` is their clock.
    fn wait(&mut self, queue: u32, after: &[u32], clock: &[u32]) {
        let of = &mut self.queues[queue as usize];
        for &node in after {
            if !of.frontier.contains(&node) {
                of.frontier.push(node);
            }
        }
        for (queue, &count) in clock.iter().enumerate() {
            raise(&mut of.clock, queue as u32, count);
        }
    }

    /// Checks that the next node of `queue` comes after all nodes of all queues.
    fn check_joined(&self, queue: u32) -> Result<()> {
        let known = &self.queues[queue as usize].clock;
        for (at, other) in self.queues.iter().enumerate() {
            let counts = |node: &GraphNode| node.queue as usize == at && !node.command.is_timed_marker();
            let last = self.nodes.iter().rposition(counts);
            let seen = known.get(at).copied().unwrap_or(0) as usize;
            if last.is_some_and(|last| last >= seen) {
                return Err(
                    ErrorDetail::Unjoined { queue: other.label.to_string(), location: other.at }.into()
                );
            }
        }
        Ok(())
    }
}

/// Raises the entry of a queue in a clock.
pub(crate) fn raise(clock: &mut Vec<u32>, queue: u32, count: u32) {
    let at = queue as usize;
    if clock.len() <= at {
        clock.resize(at + 1, 0);
    }
    clock[at] = clock[at].max(count);
}

impl CapturedQueue {
    /// Calls `change` with the state of the tape.
    ///
    /// # Errors
    /// Returns [`CaptureEnded`](ErrorDetail::CaptureEnded) after the end of the capture. The error names `call`.
    pub(crate) fn with<T>(
        &self,
        call: &'static str,
        at: &'static Location<'static>,
        change: impl FnOnce(&mut TapeState) -> T,
    ) -> Result<T> {
        self.owner.engine().check_process()?;
        let mut state = lock(&self.tape.state);
        if !state.open {
            let queue = self.label.to_string();
            return Err(ErrorDetail::CaptureEnded { call, queue, location: at }.into());
        }
        if state.body_is_open {
            let queue = self.label.to_string();
            drop(state);
            let remedy = "the function of a condition or a loop captures its body now: use the capture that the \
                          function receives";
            return Err(self
                .tape
                .fault
                .raise(ErrorDetail::Captured { call, queue, location: at, remedy }.into()));
        }
        Ok(change(&mut state))
    }

    /// Returns an error if this is a queue in a body. The capture fails with the error too.
    pub(crate) fn not_in_body(
        &self,
        call: &'static str,
        at: &'static Location<'static>,
        remedy: &'static str,
    ) -> Result<()> {
        if self.tape.is_body { Err(self.refuse(call, &self.label, at, remedy)) } else { Ok(()) }
    }

    /// Makes the capture fail because of a call that cannot be captured, and returns the error.
    #[cold]
    pub(crate) fn refuse(
        &self,
        call: &'static str,
        queue: &str,
        at: &'static Location<'static>,
        remedy: &'static str,
    ) -> Error {
        match self.with(call, at, |_| ()) {
            Err(ended) => ended,
            Ok(()) => {
                let queue = queue.into();
                self.tape.fault.raise(ErrorDetail::Captured { call, queue, location: at, remedy }.into())
            }
        }
    }

    /// Adds a command at the end of the queue. Returns the number of its node.
    pub(crate) fn push(
        &self,
        (what, at): (CommandKind, &'static Location<'static>),
        work: Work,
        label: Option<Arc<str>>,
        output: Option<u32>,
    ) -> Result<u32> {
        if self.tape.is_body {
            return self.push_in_body((what, at), work, label, output);
        }
        self.push_command((what, at), work, label, output)
    }

    fn push_command(
        &self,
        (what, at): (CommandKind, &'static Location<'static>),
        work: Work,
        label: Option<Arc<str>>,
        output: Option<u32>,
    ) -> Result<u32> {
        let engine = self.owner.engine();
        self.with(what.verb(), at, |state| {
            work.each_block(|block| {
                state.leases.entry(block.id).or_insert_with(|| Arc::new(engine.lease(block)));
            });
            work.touches()
                .filter(|touch| touch.write)
                .for_each(|touch| self.tape.writes.add(touch.block.into()));
            let values = SmallVec::new();
            let node = NodeCommand { work, what, at, label, output, values };
            let at = state.push(self.index, Arc::new(node), None);
            state.queues[self.index as usize].last_call = Some(at);
            at
        })
    }

    /// Adds a read of the bytes of an output at the end of the queue. `call` is the name of the program's call.
    pub(crate) fn push_read(
        &self,
        (call, what, at): (&'static str, CommandKind, &'static Location<'static>),
        src: Span,
        label: Option<Arc<str>>,
        output: GraphOutput,
    ) -> Result<()> {
        let number = self.with(call, at, |state| {
            // A download to a pinned array has the array's label, which other arrays may have too.
            let is_named = |known: &GraphOutput| known.download.is_none() && known.name == output.name;
            if output.download.is_none() && state.outputs.iter().any(is_named) {
                let problem = format!("it has two outputs with the name `{}`", output.name);
                return Err(ErrorDetail::Graph { graph: self.label.to_string(), problem });
            }
            state.outputs.push(output);
            Ok(state.outputs.len() as u32 - 1)
        })??;
        self.push((what, at), Work::Read { src, slot: ReadSlot::new() }, label, Some(number)).map(drop)
    }

    /// Records that the capture has allocated `block`. The block then lives as long as the graph.
    pub(crate) fn adopt(&self, block: &Arc<Block>, at: &'static Location<'static>) -> Result<()> {
        let engine = self.owner.engine();
        self.with("a new array", at, |state| {
            state.takes_turns = true;
            state.made.insert(block.id, block.size);
            state.reusable.add(block, state.queues[self.index as usize].context);
            self.tape.writes.add(block.into());
            state.leases.entry(block.id).or_insert_with(|| Arc::new(engine.lease(block)));
        })
    }

    /// Keeps a block alive as long as the graph.
    pub(crate) fn lease(&self, block: &Arc<Block>, at: &'static Location<'static>) -> Result<()> {
        let engine = self.owner.engine();
        self.with("input", at, |state| {
            state.leases.entry(block.id).or_insert_with(|| Arc::new(engine.lease(block)));
        })
    }

    /// Returns a block of the given size that a dropped array of this capture used, if there is one whose uses all come
    /// before the next node of this queue.
    pub(crate) fn reuse(
        &self,
        size: u64,
        label: &Arc<str>,
        at: &'static Location<'static>,
    ) -> Result<Option<Arc<Block>>> {
        let engine = self.owner.engine();
        self.with("a new array", at, |state| {
            let TapeQueue { clock, context, .. } = &state.queues[self.index as usize];
            let ordered = state.reusable.ordered_before(size, *context, clock);
            let block = { ordered }.find(|block| engine.take_orphan(block, label)).cloned()?;
            state.reusable.reuse(&block);
            Some(block)
        })
    }

    /// Begins a call that may add no node, so that labels and values after it do not apply to an earlier node.
    pub(crate) fn begin_call(&self) {
        if self.owner.engine().is_in_child() {
            return;
        }
        let mut state = lock(&self.tape.state);
        if let Some(queue) = state.queues.get_mut(self.index as usize) {
            queue.last_call = None;
        }
    }

    /// Makes a queue that comes after everything captured so far on this one.
    pub(crate) fn fork(&self, label: &str, at: &'static Location<'static>) -> Result<Self> {
        let index = self.with("fork", at, |state| {
            let context = state.queues[self.index as usize].context;
            state.fork(self.index, (label, context), at)
        })?;
        Ok(Self { tape: self.tape.clone(), index, label: label.into(), owner: self.owner.clone() })
    }

    /// Returns the end of the queue. `call` is the name of the program's call.
    pub(crate) fn point(&self, call: &'static str, at: &'static Location<'static>) -> Result<CapturedPoint> {
        self.with(call, at, |state| {
            let TapeQueue { frontier, clock, .. } = &state.queues[self.index as usize];
            CapturedPoint {
                tape: self.tape.id,
                queue: self.label.clone(),
                after: frontier.clone(),
                clock: clock.clone(),
                time: None,
                fault: self.tape.fault.clone(),
            }
        })
    }

    /// Returns the end of the queue, for a marker without a time.
    pub(crate) fn untimed_point(&self, at: &'static Location<'static>) -> Result<CapturedPoint> {
        self.begin_call();
        self.point("marker", at)
    }

    /// Returns the end of the queue, with the time of a new node that only reads the clock.
    pub(crate) fn timed_point(&self, at: &'static Location<'static>) -> Result<CapturedPoint> {
        self.not_in_body("a timed marker", at, NO_TIME_IN_BODY)?;
        let node = self.push((CommandKind::Inspect, at), Work::Nothing, None, None)?;
        Ok(CapturedPoint { time: Some(node), ..self.point("marker", at)? })
    }

    /// Orders the next command of the queue after a point of the same capture.
    pub(crate) fn wait(&self, point: &CapturedPoint, at: &'static Location<'static>) -> Result<()> {
        self.with("wait_for", at, |state| {
            state.queues[self.index as usize].last_call = None;
            state.wait(self.index, &point.after, &point.clock);
        })
    }
}

/// A captured copy between contexts. It has two nodes: one reads the source, and one writes the target. No recorder
/// executes these nodes: a replay enqueues the copy itself, between two parts of the graph.
pub(crate) struct CapturedCopy {
    pub(crate) read: u32,
    pub(crate) write: u32,
    pub(crate) copy: RegionCopy,
}

impl CapturedCopy {
    /// Returns the copy between the spans that its two nodes have in a plan.
    pub(crate) fn in_plan(&self, plan: &GraphPlan) -> RegionCopy {
        let span = |node: u32| match &plan.command(node).work {
            Work::Read { src: span, .. } | Work::Fill { dst: span, .. } => span.clone(),
            _ => unreachable!("bug: a side of a copy has other work"),
        };
        let src: Span = span(self.read);
        let dst: Span = span(self.write);
        let rows = &self.copy.rows;
        let from = rows.from - self.copy.src.offset;
        let to = rows.to - self.copy.dst.offset;
        let rows =
            Rows { from: src.offset + from, to: dst.offset + to, row: rows.row, axes: rows.axes.clone() };
        RegionCopy { src, dst, rows }
    }
}

/// Maximum number of blocks of one size that an allocation examines.
const MOST_BLOCKS: usize = 64;

/// Blocks of the arrays that a capture has allocated.
#[derive(Default)]
pub(crate) struct MadeBlocks {
    places: FxHashMap<BlockId, usize>,
    blocks: Vec<MadeBlock>,
}

/// The last use of a block by each queue, as pairs of queue and node.
type LastNodes = SmallVec<[(u32, u32); 2]>;

/// A block and the nodes that use it.
struct MadeBlock {
    block: Arc<Block>,
    /// Context of the block.
    context: u32,
    /// Last uses by the current array on the block.
    uses: LastNodes,
    /// Last uses by the dropped arrays that were on the block before.
    earlier: LastNodes,
}

impl MadeBlocks {
    /// Adds the block of a new array.
    pub(crate) fn add(&mut self, block: &Arc<Block>, context: u32) {
        let at = self.blocks.len();
        if self.places.insert(block.id, at).is_none() {
            self.blocks.push(MadeBlock {
                block: block.clone(),
                context,
                uses: LastNodes::new(),
                earlier: LastNodes::new(),
            });
        }
    }

    /// Records the uses of blocks by a new node.
    pub(crate) fn note(&mut self, queue: u32, node: u32, work: &Work) {
        if self.blocks.is_empty() {
            return;
        }
        work.each_block(|block| {
            let Some(&at) = self.places.get(&block.id) else { return };
            add(&mut self.blocks[at].uses, queue, node);
        });
    }

    /// Returns the uses by dropped arrays that the work must be ordered after, because it reuses their memory. `clock`
    /// is the clock of its queue.
    pub(crate) fn missing(&self, work: &Work, clock: &[u32]) -> SmallVec<[u32; 2]> {
        let mut missing = SmallVec::new();
        if self.blocks.is_empty() {
            return missing;
        }
        work.each_block(|block| {
            let made = self.places.get(&block.id).map(|&at| &self.blocks[at]);
            let earlier = made.into_iter().flat_map(|made| &made.earlier);
            missing.extend(earlier.filter(|last| !is_before(last, clock)).map(|&(_, node)| node));
        });
        missing
    }

    /// Records that a new array reuses the block.
    pub(crate) fn reuse(&mut self, block: &Block) {
        let Some(&at) = self.places.get(&block.id) else { return };
        let MadeBlock { uses, earlier, .. } = &mut self.blocks[at];
        std::mem::take(uses).into_iter().for_each(|(queue, node)| add(earlier, queue, node));
    }

    /// Returns the blocks of a given size and context whose uses all come before the next node of the queue with this
    /// `clock`.
    pub(crate) fn ordered_before<'b>(
        &'b self,
        size: u64,
        context: u32,
        clock: &'b [u32],
    ) -> impl Iterator<Item = &'b Arc<Block>> {
        let fits = move |made: &&MadeBlock| made.block.size == size && made.context == context;
        let of_size = self.blocks.iter().rev().filter(fits).take(MOST_BLOCKS);
        let ordered = of_size
            .filter(move |made| made.uses.iter().chain(&made.earlier).all(|last| is_before(last, clock)));
        ordered.map(|made| &made.block)
    }
}

/// Replaces the last use by a queue.
fn add(uses: &mut LastNodes, queue: u32, node: u32) {
    match uses.iter_mut().find(|(other, _)| *other == queue) {
        Some((_, last)) => *last = node.max(*last),
        None => uses.push((queue, node)),
    }
}

/// Returns `true` if a use comes before the next node of the queue with this clock.
fn is_before(&(queue, node): &(u32, u32), clock: &[u32]) -> bool {
    clock.get(queue as usize).is_some_and(|&seen| seen > node)
}
