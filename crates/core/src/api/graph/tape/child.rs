//! Copies of nodes in a capture: the replay of a graph inside a capture, whose nodes become nodes of the capture, and
//! the iterations of loops.

use crate::api::graph::graph_handle::Graph;
use crate::api::graph::tape::{CapturedQueue, ChildReplay, TapeState, raise};
use crate::error::Result;
use crate::scheduler::free_blocks::BlockLease;
use crate::scheduler::replay_turn::ReplayTurn;
use crate::work::graph_data::gate::GateCounter;
use crate::work::graph_data::graph_node::{GraphNode, NodeCommand};
use crate::work::graph_data::graph_plan::GraphPlan;
use crate::work::step::Work;
use smallvec::SmallVec;
use std::panic::Location;
use std::sync::Arc;

/// Nodes to copy to the end of a queue.
pub(crate) struct NodeCopy<'n> {
    pub(crate) nodes: &'n [GraphNode],
    /// Names of the queues of the nodes, without the first one.
    pub(crate) labels: &'n [Arc<str>],
    /// Number of words of the nodes' gates.
    pub(crate) gates: u32,
    /// Tokens of the nodes' loops.
    pub(crate) loops: &'n [u64],
    /// Number of the nodes' first output in the tape.
    pub(crate) outputs: u32,
    /// Word of the gate of all nodes that have no other gate, if the nodes are a body.
    pub(crate) parent: Option<u32>,
    pub(crate) at: &'static Location<'static>,
}

impl NodeCopy<'_> {
    /// Returns the command of a copy. `words` counts the words of the tape's earlier gates, and `loops` numbers the
    /// loops in the tape. A node without a gate and without an output shares its command with all copies.
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
const WHOLE_GRAPH: &str =
    "replay a graph with outputs, functions of the host or pinned arrays outside of the body";

/// Remedy for a graph in a capture that cannot be a part of it.
const NOT_IN_CAPTURE: &str =
    "capture its commands in this capture, or replay the graph before or after this one";
/// Remedy for a graph with a chunked loop that cannot be a part of a body.
const CHUNKED_CHILD: &str =
    "the host continues such a loop, and a body executes without the host: give the loop a `Bound::AtMost`";

impl CapturedQueue {
    /// Adds the nodes of `child` at the end of the queue, as `plan` has them.
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
            self.not_in_body("a replay of a graph with outputs or functions of the host", at, WHOLE_GRAPH)?;
        }
        if !plan.loops.is_empty() {
            self.not_in_body("a replay of a graph with a loop with Bound::Chunked", at, CHUNKED_CHILD)?;
        }
        if plan.nodes.iter().any(|node| uses_pinned(&node.command.work)) {
            self.not_in_body("a replay of a graph that copies from or to a pinned array", at, WHOLE_GRAPH)?;
        }
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
            state.include(self.index, child, plan, at);
            Ok(())
        })?
    }
}

/// Returns `true` for a copy from or to a pinned array. A read is an output, or the counters of loops.
fn uses_pinned(work: &Work) -> bool {
    work.returns_to_host() && !matches!(work, Work::Read { .. })
}

/// Returns a node whose command holds the present values of its graph, because the values of a child have no names in
/// the capture.
fn with_present_values(plan: &GraphPlan, node: &GraphNode) -> GraphNode {
    let Some(params) = plan.other_params(&node.command) else { return node.clone() };
    let mut command = node.command.duplicate();
    if let Work::Launch(launch) = &mut command.work {
        launch.params = params;
    }
    node.with_command(Arc::new(command))
}

impl TapeState {
    /// Copies the nodes of a graph to the end of `queue`. The first queue of the graph continues `queue`; the others
    /// become forks of it, and `queue` waits for them after the graph. A graph whose replays take turns also comes
    /// after its previous copy.
    fn include(&mut self, queue: u32, child: &Graph, plan: &GraphPlan, at: &'static Location<'static>) {
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
        let labels: Vec<Arc<str>> = plan.queues.iter().skip(1).cloned().collect();
        let (first, words) = (self.nodes.len() as u32, self.gates);
        self.chunked.extend(plan.loops.iter().map(|chunked| chunked.moved(first, words)));
        let mut queues = vec![queue];
        let mut calls = child.inner.calls.iter().peekable();
        let copy = NodeCopy {
            nodes,
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

    /// Orders the next node of `queue` after the last replays of graphs.
    pub(super) fn wait_for_earlier(&mut self, queue: u32, graphs: impl Iterator<Item = u64>) {
        for graph in graphs {
            if let Some(last) = self.children.get(&graph).cloned() {
                self.wait_for_nodes(queue, &last.end);
            }
        }
    }

    /// Records that the last replays of graphs end at the end of `queue`.
    pub(super) fn note_replayed(&mut self, queue: u32, graphs: impl Iterator<Item = (u64, Arc<ReplayTurn>)>) {
        let end = self.end_of(queue).0;
        let context = self.queues[queue as usize].context;
        let replay = |turn| ChildReplay { end: end.clone(), turn, context };
        self.children.extend(graphs.map(|(graph, turn)| (graph, replay(turn))));
    }

    /// Returns the graphs with memory of their own that were replayed in the capture, each with the number of its
    /// context.
    pub(crate) fn replayed(&self) -> impl Iterator<Item = (u64, Arc<ReplayTurn>, u32)> {
        self.children.iter().map(|(graph, last)| (*graph, last.turn.clone(), last.context))
    }

    /// Adds copies of nodes. `queues` maps the queues of the nodes to the tape's queues; the first call with the list
    /// adds the missing ones. All queues but the first start where the first one stands, and the first one waits for
    /// them after the nodes. `before` is called before each node with the number of the node.
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
        let (first, words) = (self.nodes.len() as u32, self.gates);
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

    /// Returns the number of a loop in the tape.
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

    /// Orders the next node of `queue` after `nodes` and everything before them.
    pub(crate) fn wait_for_nodes(&mut self, queue: u32, nodes: &[u32]) {
        if nodes.is_empty() {
            return;
        }
        let mut clock = Vec::new();
        for &node in nodes {
            for (queue, &count) in self.behind[node as usize].iter().enumerate() {
                raise(&mut clock, queue as u32, count);
            }
        }
        self.wait(queue, nodes, &clock);
    }
}
