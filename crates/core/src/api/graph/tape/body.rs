//! Bodies of conditions and loops in a capture: their commands, and the gates before them.

use crate::api::graph::bound::Bound;
use crate::api::graph::tape::child::NodeCopy;
use crate::api::graph::tape::{CapturedQueue, Tape, TapeState, unique};
use crate::arrays::storage::Storage;
use crate::error::site::CommandKind;
use crate::error::{Kind, Result};
use crate::memory::heap::{Heap, overlap};
use crate::record::gated_work::dispatches_of;
use crate::runtime::captured_point::CaptureFault;
use crate::runtime::owner::Owner;
use crate::scheduler::ordering::admission::Admission;
use crate::work::graph_data::chunked_loop::ChunkedLoop;
use crate::work::graph_data::control_table::MOST_DISPATCHES;
use crate::work::graph_data::gate::{Gate, GateCounter, GateTest};
use crate::work::graph_data::graph_node::NodeCommand;
use crate::work::span::Span;
use crate::work::step::Work;
use fencepost_sync::Slot;
use fencepost_sync::prim::{Mutex, lock};
use smallvec::SmallVec;
use std::panic::Location;
use std::sync::Arc;

/// Iterations of one part of a chunked loop.
const PART: u64 = 4;
/// Iterations of one part of a chunked loop whose body has very many dispatches. No gate reads and writes the same
/// word, so a part has at least two iterations.
const SMALL_PART: u64 = 2;
/// Remedy for a copy from or to pinned memory in a body.
const PINNED_IN_BODY: &str =
    "a body moves no bytes between the host and the device: copy before or behind the condition or the loop";

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
        lock(&self.0.state).body_is_open = false;
    }
}

impl Tape {
    /// Starts the capture of a body on the queue `place`. The faults of the body are faults of the whole capture.
    pub(crate) fn of_body(place: &CapturedQueue, label: &str, at: &'static Location<'static>) -> Arc<Self> {
        let outer = &place.tape;
        let (owner, fault): (Owner, CaptureFault) = (place.owner.clone(), outer.fault.clone());
        let writes = outer.writes.clone();
        let outer_values = {
            let state = lock(&outer.state);
            let own = state.names.values.iter().map(|value| value.token);
            state.outer_values.iter().copied().chain(own).collect()
        };
        let contexts = vec![owner.clone()];
        let mut state = TapeState { open: true, outer_values, contexts, ..TapeState::default() };
        state.add_queue((label, 0), at, SmallVec::new(), Vec::new());
        Arc::new(Self { id: unique(), owner, at, fault, writes, is_body: true, state: Mutex::new(state) })
    }
}

impl CapturedQueue {
    /// Marks the function of a body as running. The queues of the tape take no commands until the guard is dropped.
    pub(crate) fn open_body(
        &self,
        call: &'static str,
        at: &'static Location<'static>,
    ) -> Result<OpenBody<'_>> {
        self.with(call, at, |state| state.body_is_open = true)?;
        Ok(OpenBody(&self.tape))
    }

    /// Adds a command of a body. A copy within one array whose sides overlap goes through memory of the graph, because
    /// the invocations of a dispatch copy in any order.
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
        if !Arc::ptr_eq(&src.block, &dst.block) || !overlap(&src.range(), &dst.range()) {
            return self.push_command(site, Work::Copy { src, dst }, label, output);
        }
        let by = Admission { slot: Slot::CONTEXT, what: site.0, at: site.1 };
        let name = "a copy within one array".into();
        let between = Storage::allocate(&self.owner, Heap::Device, src.size, &name, by)?;
        self.adopt(between.block(), site.1)?;
        let between = Span { block: between.block().clone(), offset: 0, size: src.size };
        self.push_command(site, Work::Copy { src, dst: between.clone() }, None, None)?;
        self.push_command(site, Work::Copy { src: between, dst }, label, output)
    }

    /// Adds a body that executes if the condition is not 0, and one that executes if it is 0.
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

    /// Adds a loop over a body. `test` returns the test of the gate before the iteration with a given number, from 0
    /// on. Returns the token of the loop.
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

    /// Adds `bound` iterations of a body.
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
            let (mut previous, mut queues) = (None, vec![self.index]);
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
            // Without an iteration, the loops of the body have counters that stay 0.
            body.loops.iter().for_each(|&inner| _ = state.counter_of(inner));
            token
        })
    }

    /// Adds one part of a chunked loop, and the gate before the loop. `first` is the test of that gate, and `next` the
    /// test of the others.
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
            // Each part continues the counters of the loops in the body, so a gate before the parts resets them.
            for &inner in &body.loops {
                let counter = GateCounter { index: state.counter_of(inner), resets: false, last: false };
                state.add_gate(self, construct, (GateTest::Never, None, Some(counter)));
            }
            let counter = Some(GateCounter { index: state.counter_of(token), resets: false, last: false });
            let ring = state.gates;
            state.gates += iterations as u32;
            let gate = |test, previous, own| {
                let (condition, bound) = (construct.condition.clone(), Some(bound));
                Gate { condition, test, parent: None, previous, own: ring + own, bound, counter }
            };
            state.push_gate(self, construct, gate(first, None, 0));
            let (start, mut queues) = (state.nodes.len() as u32, vec![self.index]);
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

    /// Calls `change` with the tape, unless the construct has too many dispatches.
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
    /// Adds gates and dispatches of bodies to the number on the tape.
    ///
    /// # Errors
    /// Returns `GraphTooLong` if the tape then has too many of them.
    pub(super) fn count_dispatches(
        &mut self,
        call: &'static str,
        queue: u32,
        location: &'static Location<'static>,
        dispatches: u64,
    ) -> Result<()> {
        let (dispatches, limit) = (self.dispatches.saturating_add(dispatches), MOST_DISPATCHES);
        if dispatches > limit {
            let queue = self.queues[queue as usize].label.to_string();
            return Err(Kind::GraphTooLong { call, queue, location, dispatches, limit }.into());
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

    /// Adds a gate whose word exists at the end of a queue.
    fn push_gate(&mut self, queue: &CapturedQueue, construct: &Construct<'_>, gate: Gate) {
        let engine = queue.owner.engine();
        let lease = || Arc::new(engine.lease(&gate.condition.block));
        self.leases.entry(gate.condition.block.id).or_insert_with(lease);
        let work = Work::Gate(Box::new(gate));
        let (what, label) = (CommandKind::Gate, None);
        let command =
            NodeCommand { work, what, at: construct.at, label, output: None, values: <_>::default() };
        self.push(queue.index, Arc::new(command), None);
    }

    /// Adds the nodes of a body, which execute if the gate with the word `gate` allows it.
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
        let (nodes, labels, loops) = (&body.nodes[..], &labels[..], &body.loops[..]);
        let copy = NodeCopy { nodes, labels, gates: body.gates, loops, outputs: 0, parent: Some(gate), at };
        self.copy_nodes(queues, &copy, |_, _| ());
        self.note_replayed(queues[0], body.replayed().map(|(graph, turn, _)| (graph, turn)));
    }

    /// Adds the read of the counters after all nodes of an ended capture.
    pub(crate) fn push_last(&mut self, command: Arc<NodeCommand>) {
        self.push(0, command, None);
    }
}
