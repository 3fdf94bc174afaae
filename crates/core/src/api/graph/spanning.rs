//! Graphs of several contexts: the parts that each context executes, and the replay of all parts.
//!
//! The plan of such a graph has the nodes of all contexts, and no recorder executes it. Instead, each part has its own
//! plan. A change of the whole plan makes the plans of the parts anew.
//!
//! A replay enqueues the parts of the first context on the program's queue, and the parts of each other context on a
//! helper queue made for this replay. A part that depends on another context waits for an event, which a relay signals.
//! So that an error leaves nothing to execute in any context, all commands are enqueued before the first relay is
//! attached, those on the program's queue last.

pub(crate) mod partition;

use crate::api::graph::spanning::partition::{NodePlace, Partition, partition};
use crate::api::graph::tape::{CapturedCopy, TapeState};
use crate::error::{CommandKind, Error, ErrorDetail, KernelId, Result};
use crate::memory::block::BlockId;
use crate::memory::read_slot::ReadSlot;
use crate::memory::uses::Policy;
use crate::multi::context_copy::{CopyCommands, PreparedCopy, lost};
use crate::multi::event_wait::lock_enqueueing;
use crate::runtime::owner::Owner;
use crate::scheduler::batch::Callback;
use crate::scheduler::complete::PointHistory;
use crate::scheduler::engine::Engine;
use crate::scheduler::host_guard::BlockLease;
use crate::scheduler::ordering::Admission;
use crate::scheduler::relay::{Relay, RelaySource, SignalledBy, Signaller};
use crate::scheduler::replays::{EnqueuedPart, PartCommand, ReplayTurn};
use crate::work::graph::nodes::GraphNode;
use crate::work::graph::order::{GraphOrder, MissingOrder};
use crate::work::graph::plan::{GraphPlan, PlanParts};
use crate::work::graph::run::{GraphRun, GraphStep};
use fencepost_sync::{Point, Slot, Stamp};
use rustc_hash::FxHashMap;
use std::panic::Location;
use std::sync::Arc;

/// Parts of a graph of several contexts, for one plan of the graph.
pub(crate) struct SpanningPlan {
    pub(crate) shape: Arc<SpanningShape>,
    pub(crate) partition: Arc<Partition>,
    pub(crate) parts: Vec<ContextPart>,
}

/// State that all plans of a graph of several contexts share.
pub(crate) struct SpanningShape {
    /// Contexts; the first is that of the capturing queue.
    pub(crate) owners: Vec<Owner>,
    /// Name of the graph with its number in each context, which stays registered as long as this is alive.
    pub(crate) names: Vec<(KernelId, Arc<str>)>,
    /// For each context, the turns of the nested graphs that take turns.
    pub(crate) turns: Vec<Vec<Arc<ReplayTurn>>>,
    /// Context of each captured queue.
    pub(crate) of_queue: Vec<u32>,
    /// Context of each input.
    pub(crate) of_input: Vec<u32>,
    pub(crate) copies: Vec<CapturedCopy>,
    /// Copies between contexts: the number of the copy by the node of either side.
    of_copy: FxHashMap<u32, u32>,
}

/// A part of a graph.
pub(crate) enum ContextPart {
    /// Nodes with their own plan, and the graph's numbers for the outputs that they read.
    Nodes { plan: Arc<GraphPlan>, nodes: Arc<[u32]>, outputs: Vec<u32> },
    /// The read of the source of the copy with this number.
    Read(u32),
    /// The write of the target of the copy with this number.
    Write(u32),
}

/// Returns how captured commands of a context are ordered under its policy.
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
        let copies = std::mem::take(&mut ended.copies);
        let of_input = std::mem::take(&mut ended.input_contexts);
        let sides = |(at, copy): (usize, &CapturedCopy)| [(copy.read, at as u32), (copy.write, at as u32)];
        let of_copy = copies.iter().enumerate().flat_map(sides).collect();
        Some(Self { owners, names, turns, of_queue, of_input, copies, of_copy })
    }

    /// Returns the context of a node, and the copy that it belongs to.
    fn place(&self, at: u32, node: &GraphNode) -> NodePlace {
        let context = self.of_queue[node.queue as usize];
        NodePlace { context, copy: self.of_copy.get(&at).copied() }
    }
}

impl SpanningPlan {
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
                    // A missing order is an error of the whole graph, where it has been reported.
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
        // The plans differ only in values.
        let part = |part: &ContextPart| match part {
            ContextPart::Nodes { plan, nodes, outputs } => {
                let values = new.values.clone();
                let values_differ = new.values_differ;
                let plan = Arc::new(GraphPlan { values, values_differ, ..(**plan).clone() });
                ContextPart::Nodes { plan, nodes: nodes.clone(), outputs: outputs.clone() }
            }
            ContextPart::Read(copy) => ContextPart::Read(*copy),
            ContextPart::Write(copy) => ContextPart::Write(*copy),
        };
        let parts = self.parts.iter().map(part).collect();
        Ok(Self { shape: self.shape.clone(), partition: self.partition.clone(), parts })
    }

    /// Returns the part that reads an output, and the output's number in that part.
    pub(crate) fn part_of_output(&self, output: u32) -> Option<(usize, usize)> {
        self.parts.iter().enumerate().find_map(|(part, of)| {
            let ContextPart::Nodes { outputs, .. } = of else { return None };
            Some((part, outputs.iter().position(|&known| known == output)?))
        })
    }

    /// Returns the part of a node, and the node's number in that part.
    pub(crate) fn part_of_node(&self, node: u32) -> Option<(usize, u32)> {
        self.parts.iter().enumerate().find_map(|(part, of)| {
            let ContextPart::Nodes { nodes, .. } = of else { return None };
            Some((part, nodes.binary_search(&node).ok()? as u32))
        })
    }
}

/// Returns leases of the blocks that nodes use. The commands of a lost context are never dropped, so the parts of one
/// context must not keep memory of another alive.
fn leases(owner: &Owner, nodes: &[GraphNode]) -> FxHashMap<BlockId, BlockLease> {
    let mut leases = FxHashMap::default();
    for node in nodes {
        node.command.work.each_block(|block| {
            leases.entry(block.id).or_insert_with(|| owner.engine().lease(block));
        });
    }
    leases
}

/// Returns the part made of some nodes, which belong to the context `owner`.
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

/// The runs of all parts in one replay.
pub(crate) struct PartRuns {
    pub(crate) spanning: Arc<SpanningPlan>,
    /// Run of each part that consists of nodes.
    pub(crate) runs: Vec<Option<PartRun>>,
}

/// The run of a part.
pub(crate) struct PartRun {
    pub(crate) run: Arc<GraphRun>,
    /// Context of the part.
    pub(crate) owner: Owner,
    /// End of the part in its context, if the part has outputs or timed markers.
    pub(crate) end: Option<(Point, Arc<PointHistory>)>,
}

/// A graph that is being replayed.
pub(crate) struct ReplayedGraph<'g> {
    pub(crate) spanning: &'g Arc<SpanningPlan>,
    pub(crate) whole: &'g GraphPlan,
    /// Turns of this graph and of its nested graphs, in the first context.
    pub(crate) turns: Vec<&'g Arc<ReplayTurn>>,
    pub(crate) at: &'static Location<'static>,
}

/// The queue that a replay uses in one context.
struct ReplayQueue {
    owner: Owner,
    by: Admission,
    /// `true` for a helper queue, which is released after the replay.
    helps: bool,
    commands: Vec<PartCommand>,
    answers: Vec<EnqueuedPart>,
}

impl Drop for ReplayQueue {
    fn drop(&mut self) {
        if self.helps {
            self.owner.engine().release_helper(self.by.slot);
        }
    }
}

/// Position of a command in a replay: its context, and its index among the replay's commands there.
#[derive(Clone, Copy)]
struct CommandPlace {
    context: usize,
    command: usize,
}

/// A wait of one context for another. Its relay is not attached yet.
struct ForeignWait {
    waiter: usize,
    signaller: Signaller,
    source: CommandPlace,
}

/// A copy between contexts that the replay enqueues.
struct ReplayedCopy {
    prepared: PreparedCopy,
    read: Option<CopyPlace>,
    write: Option<CopyPlace>,
}

/// One side of a copy, with the last command of each of its pieces.
struct CopyPlace {
    at: CommandPlace,
    ends: Vec<usize>,
}

/// The commands of a replay while it is being enqueued.
struct ReplayBuilder<'g> {
    graph: &'g ReplayedGraph<'g>,
    queues: Vec<ReplayQueue>,
    waits: Vec<ForeignWait>,
    copies: Vec<ReplayedCopy>,
    /// Last command of each part so far.
    ends: Vec<CommandPlace>,
    /// Mark at the start of each segment.
    starts: Vec<CommandPlace>,
    runs: Vec<Option<PartRun>>,
    /// Mark after each part that has one.
    marks: Vec<(usize, CommandPlace)>,
}

/// Enqueues a replay on the queue `by` of the first context. Returns the stamp before its first command on `by`, the
/// point of its end, and that point's history.
///
/// # Errors
/// Returns the errors of [`Engine::enqueue_parts`] and of an allocation. If the device of another context is lost, the
/// error is `OtherContext`.
pub(crate) fn enqueue(
    graph: &ReplayedGraph<'_>,
    by: Admission,
    calls: Vec<Callback>,
) -> Result<(Stamp, Point, Arc<PointHistory>, PartRuns)> {
    drop(graph.spanning.shape.owners[0].engine().lock_with_room(by.slot)?);
    let mut builder = ReplayBuilder::new(graph, by)?;
    builder.add_all(calls)?;
    let end = builder.mark(0);
    builder.enqueue_all()?;
    let (point, past) = builder.marked(end);
    let before = builder.starts.first().map_or(point.stamp, |&start| builder.marked(start).0.stamp);
    let runs = builder.connect();
    Ok((before, point, past, PartRuns { spanning: graph.spanning.clone(), runs }))
}

impl<'g> ReplayBuilder<'g> {
    /// Makes the helper queues and prepares the copies.
    fn new(graph: &'g ReplayedGraph<'g>, by: Admission) -> Result<Self> {
        let shape = &graph.spanning.shape;
        let (label, priority) = {
            let mut state = shape.owners[0].engine().lock();
            state.check(by.slot)?;
            state.queue_mut(by.slot).note_replay();
            (state.queue(by.slot).label.clone(), state.queue(by.slot).priority)
        };
        let mut queues = Vec::with_capacity(shape.owners.len());
        for (context, owner) in shape.owners.iter().enumerate() {
            let by = if context == 0 {
                by
            } else {
                let engine = owner.engine();
                let helper = engine.helper(&format!("{label}, replay of {}", graph.whole.label), priority);
                let slot: Slot = helper.map_err(|error| lost(engine, error))?;
                Admission { slot, what: CommandKind::ReplayPart(shape.names[context].0), at: by.at }
            };
            let owner = owner.clone();
            let helps = context > 0;
            queues.push(ReplayQueue { owner, by, helps, commands: Vec::new(), answers: Vec::new() });
        }
        let mut copies = Vec::with_capacity(shape.copies.len());
        for copy in &shape.copies {
            let side = |node: u32| {
                let queue = graph.whole.nodes.get(node).queue;
                let queue = &queues[shape.of_queue[queue as usize] as usize];
                (&queue.owner, queue.by)
            };
            let prepared = PreparedCopy::new(&copy.in_plan(graph.whole), side(copy.read), side(copy.write))?;
            copies.push(ReplayedCopy { prepared, read: None, write: None });
        }
        let runs = Vec::with_capacity(graph.spanning.parts.len());
        let waits = Vec::new();
        let ends = Vec::new();
        let starts = Vec::new();
        let marks = Vec::new();
        Ok(Self { graph, queues, waits, copies, ends, starts, runs, marks })
    }

    /// Adds the commands of all segments, with the host callbacks between them.
    fn add_all(&mut self, calls: Vec<Callback>) -> Result<()> {
        let spanning = self.graph.spanning;
        let mut calls = calls.into_iter();
        let mut parts = spanning.partition.parts.iter().enumerate().peekable();
        for (segment, joins) in spanning.partition.joins.iter().enumerate() {
            if segment > 0 {
                let call = calls.next().map(PartCommand::Host);
                call.into_iter().for_each(|call| _ = self.push(0, call));
            }
            let start = self.mark(0);
            self.starts.push(start);
            while let Some((number, part)) = parts.next_if(|(_, part)| part.segment as usize == segment) {
                let context = part.context as usize;
                if part.waits_for_start {
                    self.wait(context, start);
                }
                part.after.iter().for_each(|&before| self.wait(context, self.ends[before as usize]));
                self.add_part(number, context)?;
            }
            joins.iter().for_each(|&before| self.wait(0, self.ends[before as usize]));
        }
        Ok(())
    }

    /// Adds the commands of one part.
    ///
    /// # Errors
    /// Returns the error of an allocation of staging memory.
    fn add_part(&mut self, number: usize, context: usize) -> Result<()> {
        let mut own_run = None;
        let (end, has_results) = match &self.graph.spanning.parts[number] {
            ContextPart::Nodes { plan, outputs, .. } => {
                let slots = outputs.iter().map(|_| ReadSlot::new()).collect();
                let plan = plan.clone();
                let at = self.graph.at;
                let has_results = !outputs.is_empty() || !plan.timed_markers.is_empty();
                let uploads = self.queues[context].owner.engine().stage_uploads(&plan)?;
                let run = GraphRun::new(plan, slots, uploads, at);
                let step = GraphStep { run: run.clone(), segment: Some(0) };
                own_run = Some(PartRun { run, owner: self.queues[context].owner.clone(), end: None });
                (self.push(context, PartCommand::Nodes(step)), has_results)
            }
            &ContextPart::Read(copy) => {
                let reads = self.copies[copy as usize].prepared.reads(Vec::new());
                let place = self.push_copy(context, reads);
                let at = place.at;
                self.copies[copy as usize].read = Some(place);
                (at, false)
            }
            &ContextPart::Write(copy) => {
                let writes = self.copies[copy as usize].prepared.writes();
                let place = self.push_copy(context, writes);
                let at = place.at;
                self.copies[copy as usize].write = Some(place);
                (at, false)
            }
        };
        self.ends.push(end);
        self.runs.push(own_run);
        if has_results {
            let mark = self.mark(context);
            self.marks.push((number, mark));
        }
        Ok(())
    }

    fn push(&mut self, context: usize, command: PartCommand) -> CommandPlace {
        let commands = &mut self.queues[context].commands;
        commands.push(command);
        CommandPlace { context, command: commands.len() - 1 }
    }

    fn push_copy(&mut self, context: usize, CopyCommands { ops, ends, uses }: CopyCommands) -> CopyPlace {
        CopyPlace { at: self.push(context, PartCommand::Copy(ops, uses.into_vec())), ends }
    }

    fn mark(&mut self, context: usize) -> CommandPlace {
        self.push(context, PartCommand::Mark)
    }

    /// Adds a wait of a context for a command of another one.
    fn wait(&mut self, waiter: usize, source: CommandPlace) {
        let adapter = &self.queues[source.context].owner.device().caps().adapter;
        let name = format!("graph `{}` on `{adapter}`", self.graph.whole.label);
        let signaller = Signaller::new(self.queues[waiter].owner.engine(), &name, SignalledBy::OtherContext);
        self.push(waiter, PartCommand::Wait(signaller.wait()));
        self.waits.push(ForeignWait { waiter, signaller, source });
    }

    /// Enqueues the commands of all contexts, those of the first context last. Meanwhile, a lock keeps other threads
    /// from enqueuing waits between contexts.
    fn enqueue_all(&mut self) -> Result<()> {
        let turn = lock_enqueueing();
        self.check_all()?;
        for context in (0..self.queues.len()).rev() {
            let turns = self.turns(context);
            let queue = &mut self.queues[context];
            if queue.commands.is_empty() {
                continue;
            }
            let engine = queue.owner.engine().clone();
            let commands = std::mem::take(&mut queue.commands);
            let answers = engine.enqueue_parts(queue.by, commands, &turns);
            queue.answers =
                answers.map_err(|error| if context > 0 { lost(&engine, error) } else { error })?;
        }
        drop(turn);
        Ok(())
    }

    /// Checks the commands of all contexts, so that a refusal in one of them enqueues nothing in another.
    fn check_all(&self) -> Result<()> {
        let used = self.queues.iter().enumerate().filter(|(_, queue)| !queue.commands.is_empty());
        for (context, queue) in used {
            let engine = queue.owner.engine();
            let checked = engine.check_parts(queue.by, &queue.commands, &self.turns(context));
            checked.map_err(|error| if context > 0 { lost(engine, error) } else { error })?;
        }
        Ok(())
    }

    /// Lists the turns that the commands of a context take.
    fn turns(&self, context: usize) -> Vec<&'g Arc<ReplayTurn>> {
        match context {
            _ if !self.graph.whole.takes_turns => Vec::new(),
            0 => self.graph.turns.clone(),
            _ => self.graph.spanning.shape.turns[context].iter().collect(),
        }
    }

    /// Returns the point and the history of a mark.
    fn marked(&self, at: CommandPlace) -> (Point, Arc<PointHistory>) {
        match &self.queues[at.context].answers[at.command] {
            EnqueuedPart::Mark(point, past) => (*point, past.clone()),
            EnqueuedPart::Stamps(_) => unreachable!("bug: the command is not a mark"),
        }
    }

    /// Attaches the relays of all waits, and returns the runs of the parts.
    fn connect(mut self) -> Vec<Option<PartRun>> {
        for ForeignWait { waiter, signaller, source } in std::mem::take(&mut self.waits) {
            let queue = &self.queues[source.context];
            let point = match &queue.answers[source.command] {
                EnqueuedPart::Mark(point, _) => *point,
                EnqueuedPart::Stamps(stamps) => Point { slot: queue.by.slot, stamp: last(stamps) },
            };
            let engine: &Arc<Engine> = queue.owner.engine();
            let origin = RelaySource::Point(Arc::downgrade(engine), point, engine.stretch_of(point));
            Relay::attach(self.queues[waiter].owner.engine(), signaller, origin, None);
        }
        for ReplayedCopy { prepared, read, write } in std::mem::take(&mut self.copies) {
            if let (Some(read), Some(write)) = (read, write) {
                let stamps = |side: &CopyPlace| match &self.queues[side.at.context].answers[side.at.command] {
                    EnqueuedPart::Stamps(stamps) => CopyCommands::ends(&side.ends, stamps),
                    EnqueuedPart::Mark(..) => Vec::new(),
                };
                prepared.connect(&stamps(&read), &stamps(&write));
            }
        }
        for (part, mark) in std::mem::take(&mut self.marks) {
            let end = self.marked(mark);
            if let Some(run) = &mut self.runs[part] {
                run.end = Some(end);
            }
        }
        std::mem::take(&mut self.runs)
    }
}

fn last(stamps: &[Stamp]) -> Stamp {
    stamps.last().copied().unwrap_or(Stamp(0))
}

impl PartRuns {
    /// Returns the run that reads an output, and the slot of the output.
    pub(crate) fn output(&self, output: usize) -> Option<(&PartRun, &Arc<ReadSlot>)> {
        let (part, at) = self.spanning.part_of_output(output as u32)?;
        let run = self.runs[part].as_ref()?;
        Some((run, &run.run.outputs[at]))
    }
}

/// Returns the error for a replay on a queue outside the graph's first context.
#[cold]
pub(crate) fn wrong_queue(label: &str) -> Error {
    let object = format!(
        "graph `{label}`, which has work of several contexts and is replayed on a queue of the one that captured it,"
    );
    ErrorDetail::ForeignContext { subject: String::new(), arg: String::new(), object }.into()
}
