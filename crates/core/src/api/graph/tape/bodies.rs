//! Bodies, child graphs and other contexts on the tape of a capture.
//!
//! A body is the captured work of a condition or a loop; a gate before it decides if it executes. Replaying a graph
//! inside a capture copies its nodes to the tape, and each iteration of a loop is a copy too. The queues of other
//! contexts, and copies between contexts, are also here.

use crate::api::graph::Graph;
use crate::api::graph::control_flow::Bound;
use crate::api::graph::tape::{CapturedCopy, CapturedQueue, ChildReplay, Tape, TapeState, raise, unique};
use crate::arrays::storage::Storage;
use crate::error::{CommandKind, ErrorDetail, Result};
use crate::memory::block::Heap;
use crate::memory::read_slot::ReadSlot;
use crate::memory::uses::Policy;
use crate::record::own_kernels::dispatches_of;
use crate::runtime::captured::CaptureFault;
use crate::runtime::owner::Owner;
use crate::scheduler::host_guard::BlockLease;
use crate::scheduler::ordering::Admission;
use crate::scheduler::replays::ReplayTurn;
use crate::work::graph::control::{ChunkedLoop, Gate, GateCounter, GateTest};
use crate::work::graph::nodes::{GraphNode, NodeCommand};
use crate::work::graph::plan::GraphPlan;
use crate::work::region_copy::{RegionCopy, need_memory_between};
use crate::work::step::{Pattern, Span, Work};
use fencepost_graph_file::MOST_DISPATCHES;
use fencepost_sync::Slot;
use fencepost_sync::prim::{Mutex, lock};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::panic::Location;
use std::sync::Arc;

/// Number of iterations that a part of a chunked loop contains.
const PART: u64 = 4;
/// Number of iterations in a part if the body has very many dispatches. At least two, because a gate must not read and
/// write the same word.
const SMALL_PART: u64 = 2;
/// Remedy for a copy from or to pinned memory in a body.
const PINNED_IN_BODY: &str =
    "a body moves no bytes between the host and the device: copy before or after the condition or the loop";

/// A condition or a loop on a captured queue.
pub(crate) struct Construct<'c> {
    pub(crate) call: &'static str,
    pub(crate) at: &'static Location<'static>,
    pub(crate) condition: &'c Span,
}

/// A guard that lets the queues of a tape take commands again when it is dropped, after the function of a body.
pub(crate) struct OpenBody<'t>(&'t Tape);

impl Drop for OpenBody<'_> {
    fn drop(&mut self) {
        // In a forked child, a thread of the parent may hold the lock forever.
        if self.0.owner.engine().is_in_child() {
            return;
        }
        lock(&self.0.state).body_is_open = false;
    }
}

impl Tape {
    /// Starts the capture of a body on the queue `place`. An error in the body makes the whole capture fail.
    pub(crate) fn of_body(place: &CapturedQueue, label: &str, at: &'static Location<'static>) -> Arc<Self> {
        let outer = &place.tape;
        let owner: Owner = place.owner.clone();
        let fault: CaptureFault = outer.fault.clone();
        let writes = outer.writes.clone();
        let runs_once = outer.runs_once;
        let outer_values = {
            let state = lock(&outer.state);
            let own = state.names.values.iter().map(|value| value.token);
            state.outer_values.iter().copied().chain(own).collect()
        };
        let contexts = vec![owner.clone()];
        let mut state = TapeState { open: true, outer_values, contexts, ..TapeState::default() };
        state.add_queue((label, 0), at, SmallVec::new(), Vec::new());
        let id = unique();
        let state = Mutex::new(state);
        Arc::new(Self { id, owner, at, fault, writes, is_body: true, runs_once, state })
    }
}

impl CapturedQueue {
    /// Marks the function of a body as running. Until the guard is dropped, the queues of the tape take no commands.
    pub(crate) fn open_body(
        &self,
        call: &'static str,
        at: &'static Location<'static>,
    ) -> Result<OpenBody<'_>> {
        self.with(call, at, |state| state.body_is_open = true)?;
        Ok(OpenBody(&self.tape))
    }

    /// Adds a command of a body. A copy between overlapping parts of one array goes through memory of the graph,
    /// because the invocations of a dispatch copy in any order. In a browser, so does a copy between parts that are near
    /// each other.
    pub(super) fn push_in_body(
        &self,
        site: (CommandKind, &'static Location<'static>),
        work: Work,
        label: Option<Arc<str>>,
        output: Option<u32>,
    ) -> Result<u32> {
        if work.returns_to_host() {
            self.not_in_body("a copy from or to a pinned array", site.1, PINNED_IN_BODY)?;
        }
        let Work::Copy { src, dst } = work else { return self.push_command(site, work, label, output) };
        let Some(memory) = self.memory_between(&src, &dst, site)? else {
            return self.push_command(site, Work::Copy { src, dst }, label, output);
        };
        let between = whole(&memory, src.size);
        self.push_command(site, Work::Copy { src, dst: between.clone() }, None, None)?;
        self.push_command(site, Work::Copy { src: between, dst }, label, output)
    }

    /// Returns memory of the graph for a copy that needs it in a body, and `None` for any other copy. The memory must be kept
    /// until its nodes are on the tape, because the capture gives the memory of dropped arrays to others.
    fn memory_between(
        &self,
        src: &Span,
        dst: &Span,
        (what, at): (CommandKind, &'static Location<'static>),
    ) -> Result<Option<Arc<Storage>>> {
        if !need_memory_between(src, dst, self.owner.device().caps().binding_alignment) {
            return Ok(None);
        }
        let by = Admission { slot: Slot::CONTEXT, what, at };
        let name = "a copy within one array".into();
        let memory = Storage::allocate(&self.owner, Heap::Device, src.size, &name, by)?;
        self.adopt(memory.block(), at)?;
        Ok(Some(memory))
    }

    /// Returns the memory for the copies of a child graph that need it in a body, by the numbers of their nodes.
    fn memory_for_copies(
        &self,
        plan: &GraphPlan,
        at: &'static Location<'static>,
    ) -> Result<FxHashMap<u32, Arc<Storage>>> {
        let mut all = FxHashMap::default();
        for (number, node) in (0_u32..).zip(plan.nodes.iter()) {
            if let Work::Copy { src, dst } = &node.command.work
                && let Some(memory) = self.memory_between(src, dst, (node.command.what, at))?
            {
                all.insert(number, memory);
            }
        }
        Ok(all)
    }

    /// Adds a body that executes if the condition is not 0, and a body that executes if it is 0.
    pub(crate) fn add_if(
        &self,
        construct: &Construct<'_>,
        then: &TapeState,
        otherwise: Option<&TapeState>,
    ) -> Result<()> {
        let per_body = |body: &TapeState| body.count(&self.owner) + 1;
        let dispatches = per_body(then) + otherwise.map_or(0, per_body);
        self.add(construct, dispatches, |state| {
            let word = state.add_gate(self, construct, (GateTest::NonZero, None, None));
            // A body may change the condition, so both gates come before both bodies.
            let other =
                otherwise.map(|body| (body, state.add_gate(self, construct, (GateTest::Zero, None, None))));
            state.add_body(&mut vec![self.index], then, word, construct.at);
            if let Some((body, word)) = other {
                state.add_body(&mut vec![self.index], body, word, construct.at);
            }
        })
    }

    /// Adds a loop over a body. `test` returns the test of the gate before an iteration, numbered from 0. Returns the
    /// token of the loop.
    pub(crate) fn add_loop(
        &self,
        construct: &Construct<'_>,
        bound: Bound,
        body: &TapeState,
        test: impl Fn(u32) -> GateTest,
    ) -> Result<u64> {
        match bound {
            Bound::AtMost(bound) => self.add_unrolled(construct, bound, body, test),
            Bound::Chunked(bound) => {
                self.add_chunked(construct, bound, body, [test(0), test(1)].map(GateTest::after_past))
            }
        }
    }

    /// Adds `bound` copies of a body, one for each iteration.
    fn add_unrolled(
        &self,
        construct: &Construct<'_>,
        bound: u32,
        body: &TapeState,
        test: impl Fn(u32) -> GateTest,
    ) -> Result<u64> {
        let token = unique();
        let per_body = body.count(&self.owner) + 1;
        let dispatches = u64::from(bound).saturating_mul(per_body) + 1;
        self.add(construct, dispatches, |state| {
            let index = state.counter_of(token);
            let mut previous = None;
            let mut queues = vec![self.index];
            for iteration in 0..=bound {
                let last = iteration == bound;
                let counter = GateCounter { index, resets: false, last };
                let gate = (test(iteration), previous, Some(counter));
                let word = state.add_gate(self, construct, gate);
                previous = Some(word);
                if !last {
                    state.add_body(&mut queues, body, word, construct.at);
                }
            }
            // With a bound of 0, the counters of the loops in the body still exist and stay 0.
            body.loops.iter().for_each(|&inner| _ = state.counter_of(inner));
            token
        })
    }

    /// Adds one part of a chunked loop, and the gate before the loop. `first` is the test of that gate; `next` is the
    /// test of the gates in the part.
    fn add_chunked(
        &self,
        construct: &Construct<'_>,
        bound: u32,
        body: &TapeState,
        [first, next]: [GateTest; 2],
    ) -> Result<u64> {
        let token = unique();
        let each = body.count(&self.tape.owner) + 1;
        let iterations = if PART * each <= MOST_DISPATCHES / 2 { PART } else { SMALL_PART };
        let dispatches = iterations.saturating_mul(each);
        self.add(construct, dispatches.saturating_add(1 + body.loops.len() as u64), |state| {
            // The parts do not reset the counters of loops in the body, so a gate before the parts does.
            for &inner in &body.loops {
                let counter = GateCounter { index: state.counter_of(inner), resets: false, last: false };
                state.add_gate(self, construct, (GateTest::Never, None, Some(counter)));
            }
            let counter = Some(GateCounter { index: state.counter_of(token), resets: false, last: false });
            let ring = state.gates;
            state.gates += iterations as u32;
            let gate = |test, previous, own| {
                let condition = construct.condition.clone();
                let bound = Some(bound);
                Gate { condition, test, parent: None, previous, own: ring + own, bound, counter }
            };
            state.push_gate(self, construct, gate(first, None, 0));
            let start = state.nodes.len() as u32;
            let mut queues = vec![self.index];
            for at in 0..iterations as u32 {
                state.add_body(&mut queues, body, ring + at, construct.at);
                let own = (at + 1) % iterations as u32;
                state.push_gate(self, construct, gate(next, Some(ring + at), own));
            }
            let nodes = start..state.nodes.len() as u32;
            let iterations = iterations as u32;
            state.chunked.push(ChunkedLoop { nodes, iterations, dispatches, bound, word: ring });
            token
        })
    }

    /// Calls `change` with the state of the tape. Refuses the construct if it has too many dispatches.
    fn add<T>(
        &self,
        construct: &Construct<'_>,
        dispatches: u64,
        change: impl FnOnce(&mut TapeState) -> T,
    ) -> Result<T> {
        self.with(construct.call, construct.at, |state| {
            self.tape.check_one_context(state, self.index, construct.call, construct.at)?;
            state.count_dispatches(construct.call, self.index, construct.at, dispatches)?;
            state.takes_turns = true;
            Ok(change(state))
        })?
    }
}

impl TapeState {
    /// Adds to the tape's number of gates and dispatches of bodies.
    ///
    /// # Errors
    /// Returns `GraphTooLong` if the number exceeds the limit.
    pub(super) fn count_dispatches(
        &mut self,
        call: &'static str,
        queue: u32,
        location: &'static Location<'static>,
        dispatches: u64,
    ) -> Result<()> {
        let dispatches = self.dispatches.saturating_add(dispatches);
        let limit = MOST_DISPATCHES;
        if dispatches > limit {
            let queue = self.queues[queue as usize].label.to_string();
            return Err(ErrorDetail::GraphTooLong { call, queue, location, dispatches, limit }.into());
        }
        self.dispatches = dispatches;
        Ok(())
    }

    /// Returns the number of gates of a body plus the dispatches of its nodes.
    fn count(&self, owner: &Owner) -> u64 {
        let caps = owner.device().caps();
        let direct = self
            .nodes
            .iter()
            .filter(|node| node.gate.is_none() && !matches!(node.command.work, Work::Gate(_)));
        let of_node = |work: &Work| dispatches_of(work, caps).map_or(0, |found| found.len() as u64);
        self.dispatches + direct.map(|node| of_node(&node.command.work)).sum::<u64>()
    }

    /// Adds a gate at the end of a queue. Returns the word of the gate.
    fn add_gate(
        &mut self,
        queue: &CapturedQueue,
        construct: &Construct<'_>,
        (test, previous, counter): (GateTest, Option<u32>, Option<GateCounter>),
    ) -> u32 {
        let own = self.gates;
        self.gates += 1;
        let condition = construct.condition.clone();
        let gate = Gate { condition, test, parent: None, previous, own, bound: None, counter };
        self.push_gate(queue, construct, gate);
        own
    }

    /// Adds a gate, whose word already exists, at the end of a queue.
    fn push_gate(&mut self, queue: &CapturedQueue, construct: &Construct<'_>, gate: Gate) {
        let engine = queue.owner.engine();
        let lease = || Arc::new(engine.lease(&gate.condition.block));
        self.leases.entry(gate.condition.block.id).or_insert_with(lease);
        let work = Work::Gate(Box::new(gate));
        let command = NodeCommand::new(work, CommandKind::Gate, construct.at);
        self.push(queue.index, Arc::new(command), None);
    }

    /// Adds the nodes of a body, which execute only if the gate with the word `gate` allows it.
    fn add_body(
        &mut self,
        queues: &mut Vec<u32>,
        body: &TapeState,
        gate: u32,
        at: &'static Location<'static>,
    ) {
        for (&id, lease) in &body.leases {
            self.leases.entry(id).or_insert_with(|| lease.clone());
        }
        self.made.extend(&body.made);
        self.names.loops.extend(body.names.loops.iter().map(|(&token, label)| (token, label.clone())));
        self.wait_for_earlier(queues[0], body.children.keys().copied());
        let labels: Vec<Arc<str>> = body.queues.iter().skip(1).map(|queue| queue.label.clone()).collect();
        let nodes = &body.nodes[..];
        let labels = &labels[..];
        let loops = &body.loops[..];
        let copy = NodeCopy { nodes, labels, gates: body.gates, loops, outputs: 0, parent: Some(gate), at };
        self.copy_nodes(queues, &copy, |_, _| ());
        self.note_replayed(queues[0], body.replayed().map(|(graph, turn, _)| (graph, turn)));
    }

    /// Adds the read of the counters after all nodes of an ended capture.
    pub(crate) fn push_last(&mut self, command: Arc<NodeCommand>) {
        self.push(0, command, None);
    }
}

/// Nodes that are copied to the end of a queue.
pub(crate) struct NodeCopy<'n> {
    pub(crate) nodes: &'n [GraphNode],
    /// Names of the nodes' queues, except the first.
    pub(crate) labels: &'n [Arc<str>],
    /// Number of words of the nodes' gates.
    pub(crate) gates: u32,
    /// Tokens of the nodes' loops.
    pub(crate) loops: &'n [u64],
    /// Index of the nodes' first output among the outputs of the tape.
    pub(crate) outputs: u32,
    /// If the nodes are a body, the word of the gate that controls all nodes without a gate of their own.
    pub(crate) parent: Option<u32>,
    pub(crate) at: &'static Location<'static>,
}

impl NodeCopy<'_> {
    /// Returns the command of a copy. `words` is the number of gate words already on the tape, and `loops` lists the
    /// loops' numbers on the tape. All copies of a node without a gate and an output share its command.
    fn command(&self, node: &GraphNode, words: u32, loops: &[u32]) -> Arc<NodeCommand> {
        let command = &node.command;
        if let Work::Gate(gate) = &command.work {
            let moved = |own: GateCounter| GateCounter { index: loops[own.index as usize], ..own };
            let counter = gate.counter.map(moved);
            let gate = gate.moved(words, self.parent, counter);
            return Arc::new(command.with_work(Work::Gate(Box::new(gate))));
        }
        match command.output {
            Some(output) => Arc::new(command.with_output(output + self.outputs)),
            None => command.clone(),
        }
    }
}

/// Remedy for a graph that cannot be a part of a body.
const WHOLE_GRAPH: &str = "replay a graph with outputs, host callbacks or pinned arrays outside of the body";

/// Remedy for a graph in a capture that cannot be a part of it.
const NOT_IN_CAPTURE: &str =
    "capture its commands in this capture, or replay the graph before or after this one";
/// Remedy for a graph with a chunked loop that cannot be a part of a body.
const CHUNKED_CHILD: &str =
    "the host continues such a loop, and a body executes without the host: give the loop a `Bound::AtMost`";

impl CapturedQueue {
    /// Adds the nodes of `child`, as they are in `plan`, at the end of the queue.
    pub(crate) fn include(
        &self,
        child: &Graph,
        plan: &GraphPlan,
        at: &'static Location<'static>,
    ) -> Result<()> {
        if child.spanning.is_some() {
            return Err(self.refuse(
                "a replay of a graph of several contexts",
                &self.label,
                at,
                NOT_IN_CAPTURE,
            ));
        }
        if !child.inner.messages.is_empty() {
            return Err(self.refuse(
                "a replay of a graph with a kernel that prints or asserts",
                &self.label,
                at,
                NOT_IN_CAPTURE,
            ));
        }
        if !child.inner.calls.is_empty() || !child.outputs().is_empty() {
            self.not_in_body("a replay of a graph with outputs or host callbacks", at, WHOLE_GRAPH)?;
        }
        if !plan.loops.is_empty() {
            self.not_in_body("a replay of a graph with a loop with Bound::Chunked", at, CHUNKED_CHILD)?;
        }
        if plan.nodes.iter().any(|node| uses_pinned(&node.command.work)) {
            self.not_in_body("a replay of a graph that copies from or to a pinned array", at, WHOLE_GRAPH)?;
        }
        let memory = if self.tape.is_body { self.memory_for_copies(plan, at)? } else { FxHashMap::default() };
        let engine = self.owner.engine();
        let dispatches = plan.control.as_ref().map_or(0, |table| table.layout.all_dispatches());
        self.with("replay", at, |state| -> Result<()> {
            if plan.control.is_some() {
                self.tape.check_one_context(
                    state,
                    self.index,
                    "replay of a graph with a condition or a loop",
                    at,
                )?;
            }
            state.count_dispatches("replay", self.index, at, dispatches)?;
            for (&id, lease) in child.leases.iter() {
                state.leases.entry(id).or_insert_with(|| lease.clone());
            }
            for node in plan.nodes.iter() {
                node.command.work.each_block(|block| {
                    let lease = || -> Arc<BlockLease> { Arc::new(engine.lease(block)) };
                    state.leases.entry(block.id).or_insert_with(lease);
                });
            }
            let written = plan.uses.bound.iter().filter(|bound| bound.used.is_some_and(|used| used.writes()));
            written.for_each(|bound| self.tape.writes.add((&bound.block).into()));
            state.include(self.index, child, (plan, &memory), at);
            Ok(())
        })?
    }
}

/// Returns `true` for a copy from or to a pinned array. Reads do not count: they are outputs or loop counters.
fn uses_pinned(work: &Work) -> bool {
    work.returns_to_host() && !matches!(work, Work::Read { .. })
}

/// Returns a copy of the node whose parameters are the current values of its graph. A capture does not know the names
/// of a child graph's values.
fn with_present_values(plan: &GraphPlan, node: &GraphNode) -> GraphNode {
    let Some(params) = plan.other_params(&node.command) else { return node.clone() };
    let mut command = node.command.duplicate();
    if let Work::Launch(launch) = &mut command.work {
        launch.params = params;
    }
    node.with_command(Arc::new(command))
}

/// Returns the first `size` bytes of new memory.
fn whole(memory: &Arc<Storage>, size: u64) -> Span {
    Span { block: memory.block().clone(), offset: 0, size }
}

/// Returns the nodes of a graph with two nodes for each copy that has memory: a copy to the memory, and one from there.
fn through_memory(nodes: &[GraphNode], memory: &FxHashMap<u32, Arc<Storage>>) -> Vec<GraphNode> {
    let mut all: Vec<GraphNode> = Vec::with_capacity(nodes.len() + memory.len());
    // The new number of each node.
    let mut moved: Vec<u32> = Vec::with_capacity(nodes.len());
    for (number, node) in (0_u32..).zip(nodes) {
        let mut node = node.clone();
        node.after.iter_mut().for_each(|after| *after = moved[*after as usize]);
        let command = node.command.clone();
        if let Work::Copy { src, dst } = &command.work
            && let Some(memory) = memory.get(&number)
        {
            let between = whole(memory, src.size);
            let to = Work::Copy { src: src.clone(), dst: between.clone() };
            let from = Work::Copy { src: between, dst: dst.clone() };
            all.push(node.with_command(Arc::new(NodeCommand::new(to, command.what, command.at))));
            node.command = Arc::new(command.with_work(from));
            node.after.clear(); // the first copy comes after those nodes
        }
        all.push(node);
        moved.push(all.len() as u32 - 1);
    }
    all
}

impl TapeState {
    /// Copies the nodes of a graph to the end of `queue`. The first queue of the graph continues `queue`; the others
    /// become forks of it, and `queue` waits for them after the graph. If the graph takes turns, its nodes also come
    /// after its previous copy. Copies with an entry in `memory` go through it.
    fn include(
        &mut self,
        queue: u32,
        child: &Graph,
        (plan, memory): (&GraphPlan, &FxHashMap<u32, Arc<Storage>>),
        at: &'static Location<'static>,
    ) {
        if plan.takes_turns {
            self.wait_for_earlier(queue, child.inner.turns.iter().map(|(graph, _)| *graph));
        }
        self.takes_turns |= plan.takes_turns;
        self.made.extend(child.inner.made.iter());
        self.names.loops.extend(plan.names.loops.iter().map(|(&token, label)| (token, label.clone())));
        let outputs = self.outputs.len() as u32;
        self.outputs.extend(child.outputs().iter().cloned());
        let layout = plan.control.as_ref().map(|table| &table.layout);
        let all: Vec<GraphNode> = plan.nodes.iter().map(|node| with_present_values(plan, node)).collect();
        let nodes = layout.map_or(&all[..], |layout| layout.own_nodes(&all));
        let nodes: Cow<'_, [GraphNode]> =
            if memory.is_empty() { nodes.into() } else { through_memory(nodes, memory).into() };
        let labels: Vec<Arc<str>> = plan.queues.iter().skip(1).cloned().collect();
        let first = self.nodes.len() as u32;
        let words = self.gates;
        self.chunked.extend(plan.loops.iter().map(|chunked| chunked.moved(first, words)));
        let mut queues = vec![queue];
        let mut calls = child.inner.calls.iter().peekable();
        let copy = NodeCopy {
            nodes: &nodes,
            labels: &labels,
            gates: layout.map_or(0, |layout| layout.gates),
            loops: layout.map_or(&[], |layout| &layout.loops),
            outputs,
            parent: None,
            at,
        };
        self.copy_nodes(&mut queues, &copy, |state, number| {
            while let Some((_, call)) = calls.next_if(|(before, _)| *before as usize <= number) {
                state.calls.push((state.nodes.len() as u32, call.clone()));
            }
        });
        self.calls.extend(calls.map(|(_, call)| (self.nodes.len() as u32, call.clone())));
        if plan.takes_turns {
            self.note_replayed(queue, child.inner.turns.iter().cloned());
        }
    }

    /// Orders the next node of `queue` after the last replay of each of these graphs.
    pub(super) fn wait_for_earlier(&mut self, queue: u32, graphs: impl Iterator<Item = u64>) {
        for graph in graphs {
            if let Some(last) = self.children.get(&graph).cloned() {
                self.wait_for_nodes(queue, &last.end);
            }
        }
    }

    /// Records that the last replay of each of these graphs ends at the end of `queue`.
    pub(super) fn note_replayed(&mut self, queue: u32, graphs: impl Iterator<Item = (u64, Arc<ReplayTurn>)>) {
        let end = self.end_of(queue).0;
        let context = self.queues[queue as usize].context;
        let replay = |turn| ChildReplay { end: end.clone(), turn, context };
        self.children.extend(graphs.map(|(graph, turn)| (graph, replay(turn))));
    }

    /// Returns the graphs that take turns and were replayed in the capture, each with the number of its context.
    pub(crate) fn replayed(&self) -> impl Iterator<Item = (u64, Arc<ReplayTurn>, u32)> {
        self.children.iter().map(|(graph, last)| (*graph, last.turn.clone(), last.context))
    }

    /// Adds copies of nodes. `queues` maps the queues of the nodes to queues of the tape; the first call with this list
    /// adds the missing ones. All queues but the first are forked from the first, which joins them after the last node.
    /// Calls `before` with the number of each node before adding it.
    pub(crate) fn copy_nodes(
        &mut self,
        queues: &mut Vec<u32>,
        copy: &NodeCopy<'_>,
        mut before: impl FnMut(&mut Self, usize),
    ) {
        let (frontier, clock) = self.end_of(queues[0]);
        for &fork in &queues[1..] {
            self.wait(fork, &frontier, &clock);
        }
        for label in &copy.labels[queues.len() - 1..] {
            let context = self.queues[queues[0] as usize].context;
            queues.push(self.add_queue((label, context), copy.at, frontier.clone(), clock.clone()));
        }
        let first = self.nodes.len() as u32;
        let words = self.gates;
        self.gates += copy.gates;
        let loops: Vec<u32> = copy.loops.iter().map(|&token| self.counter_of(token)).collect();
        for (number, node) in copy.nodes.iter().enumerate() {
            before(self, number);
            let to = queues[node.queue as usize];
            let after: SmallVec<[u32; 2]> = node.after.iter().map(|&after| after + first).collect();
            self.wait_for_nodes(to, &after);
            let gate = match &node.command.work {
                Work::Gate(_) => None,
                _ => node.gate.map(|word| word + words).or(copy.parent),
            };
            self.push(to, copy.command(node, words, &loops), gate);
        }
        for &other in &queues[1..] {
            let (frontier, clock) = self.end_of(other);
            self.wait(queues[0], &frontier, &clock);
        }
        self.queues[queues[0] as usize].last_call = None;
    }

    /// Returns the number of a loop on the tape.
    pub(crate) fn counter_of(&mut self, token: u64) -> u32 {
        let known = self.loops.iter().position(|&known| known == token);
        known.unwrap_or_else(|| {
            self.loops.push(token);
            self.loops.len() - 1
        }) as u32
    }

    /// Returns the nodes at the end of a queue, and the queue's clock.
    pub(crate) fn end_of(&self, queue: u32) -> (SmallVec<[u32; 2]>, Vec<u32>) {
        let of = &self.queues[queue as usize];
        (of.frontier.clone(), of.clock.clone())
    }

    /// Orders the next node of `queue` after `nodes` and all their predecessors.
    pub(crate) fn wait_for_nodes(&mut self, queue: u32, nodes: &[u32]) {
        if nodes.is_empty() {
            return;
        }
        let mut clock = Vec::new();
        for &node in nodes {
            for (queue, &count) in self.clocks_after[node as usize].iter().enumerate() {
                raise(&mut clock, queue as u32, count);
            }
        }
        self.wait(queue, nodes, &clock);
    }
}

/// Remedy for a second context in a body.
const ONE_CONTEXT: &str =
    "a body has the work of one context: use the other context before or after the condition or the loop";
/// Remedy for conditions and loops in a capture of several contexts.
const NO_GATES: &str = "a graph with a condition or a loop has the work of one context: put the condition or the loop into a graph of \
                        its own, and replay it before or after";

impl Tape {
    /// Returns an error if the capture has queues of several contexts. The capture then fails with the same error.
    pub(crate) fn check_one_context(
        &self,
        state: &TapeState,
        queue: u32,
        call: &'static str,
        at: &'static Location<'static>,
    ) -> Result<()> {
        if state.contexts.len() == 1 {
            return Ok(());
        }
        let queue = state.queues[queue as usize].label.to_string();
        Err(self.fault.raise(ErrorDetail::Captured { call, queue, location: at, remedy: NO_GATES }.into()))
    }
}

impl TapeState {
    /// Returns the number of a context, after adding the context if it is new.
    ///
    /// # Errors
    /// Returns `Captured` if the context is new and the capture has a condition or a loop.
    fn context_of(
        &mut self,
        queue: &CapturedQueue,
        owner: &Owner,
        (call, at): (&'static str, &'static Location<'static>),
    ) -> Result<u32> {
        if let Some(known) = self.contexts.iter().position(|known| known.is(owner)) {
            return Ok(known as u32);
        }
        let refuse = |queue: String, remedy: &'static str| -> crate::error::Error {
            ErrorDetail::Captured { call, queue, location: at, remedy }.into()
        };
        let label = || self.queues[queue.index as usize].label.to_string();
        if queue.tape.is_body {
            return Err(queue.tape.fault.raise(refuse(label(), ONE_CONTEXT)));
        }
        if self.gates > 0 {
            return Err(queue.tape.fault.raise(refuse(label(), NO_GATES)));
        }
        self.contexts.push(owner.clone());
        Ok(self.contexts.len() as u32 - 1)
    }

    /// Returns the helper queue of `context` for the other side of copies on `queue`.
    fn copy_queue(&mut self, queue: u32, context: u32, at: &'static Location<'static>) -> u32 {
        if let Some(&known) = self.copy_queues.get(&(queue, context)) {
            return known;
        }
        let label = format!("{}, copy across", self.queues[queue as usize].label);
        let made = self.add_queue((&label, context), at, SmallVec::new(), Vec::new());
        self.copy_queues.insert((queue, context), made);
        made
    }
}

impl CapturedQueue {
    /// Makes a queue of another context that comes after everything captured so far on this one.
    ///
    /// # Errors
    /// Returns `CaptureEnded`, and `Captured` in a body or in a capture with a condition or a loop.
    pub(crate) fn fork_on(&self, owner: &Owner, label: &str, at: &'static Location<'static>) -> Result<Self> {
        let index = self.with("fork_on", at, |state| -> Result<u32> {
            let context = state.context_of(self, owner, ("fork_on", at))?;
            Ok(state.fork(self.index, (label, context), at))
        })??;
        Ok(Self { tape: self.tape.clone(), index, label: label.into(), owner: owner.clone() })
    }

    /// Adds a copy between the context of this queue and another one. The other context's side is on a helper queue,
    /// shared by all copies of this queue. Later nodes of this queue come after the write.
    ///
    /// # Errors
    /// Returns the errors of [`fork_on`](Self::fork_on).
    pub(crate) fn copy_between(
        &self,
        at: &'static Location<'static>,
        (source, target): (&Owner, &Owner),
        copy: RegionCopy,
    ) -> Result<()> {
        let reads = self.owner.is(source);
        let other = if reads { target } else { source };
        let unordered = source.engine().lock().policy() == Policy::Unchecked;
        self.with("copy", at, |state| -> Result<()> {
            let context = state.context_of(self, other, ("a copy between contexts", at))?;
            for (owner, span) in [(source, &copy.src), (target, &copy.dst)] {
                let lease = || Arc::new(owner.engine().lease(&span.block));
                state.leases.entry(span.block.id).or_insert_with(lease);
            }
            self.tape.writes.add((&copy.dst.block).into());
            let theirs = state.copy_queue(self.index, context, at);
            let (of_read, of_write) = if reads { (self.index, theirs) } else { (theirs, self.index) };
            if !reads && unordered {
                // No policy orders the read, so it comes after all commands before the copy.
                let (frontier, clock) = state.end_of(self.index);
                state.wait(theirs, &frontier, &clock);
            }
            let node = |queue: u32, work: Work| {
                let what = if queue == theirs { CommandKind::BetweenContexts } else { CommandKind::Copy };
                Arc::new(NodeCommand::new(work, what, at))
            };
            let work = Work::Read { src: copy.src.clone(), slot: ReadSlot::new() };
            let read = state.push(of_read, node(of_read, work), None);
            state.wait_for_nodes(of_write, &[read]);
            let work = Work::Fill { dst: copy.dst.clone(), pattern: Pattern::ZERO };
            let write = state.push(of_write, node(of_write, work), None);
            if reads {
                state.wait_for_nodes(self.index, &[write]);
            }
            state.queues[self.index as usize].last_call = Some(if reads { read } else { write });
            state.copies.push(CapturedCopy { read, write, copy });
            Ok(())
        })?
    }
}
