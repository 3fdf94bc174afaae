//! The replay of a graph of several contexts.
//!
//! A replay enqueues the parts of the first context on the program's queue, and the parts of each other context on a
//! helper queue, which is made for the replay. A part that waits for another context waits for an event that a relay
//! signals. All commands are enqueued before the first relay is attached, the commands of the program's queue last:
//! after an error, nothing executes in any context.

use crate::api::graph::spanning::{ContextPart, Spanning};
use crate::error::site::CommandKind;
use crate::error::{Error, Kind, Result};
use crate::memory::read_slot::ReadSlot;
use crate::multi::context_copy::{CopyCommands, PreparedCopy, lost};
use crate::multi::event_wait::lock_enqueueing;
use crate::runtime::owner::Owner;
use crate::scheduler::command::Callback;
use crate::scheduler::engine::Engine;
use crate::scheduler::failure_history::PointHistory;
use crate::scheduler::ordering::admission::Admission;
use crate::scheduler::relay::{Relay, RelaySource};
use crate::scheduler::replay_parts::{EnqueuedPart, PartCommand};
use crate::scheduler::replay_turn::ReplayTurn;
use crate::scheduler::signaller::Signaller;
use crate::scheduler::user_signal::SignalledBy;
use crate::work::graph_data::graph_plan::GraphPlan;
use crate::work::graph_data::graph_run::{GraphRun, GraphStep};
use fencepost_sync::{Point, Slot, Stamp};
use std::panic::Location;
use std::sync::{Arc, OnceLock};

/// The runs of the parts of one replay.
pub(crate) struct FarRuns {
    pub(crate) spanning: Arc<Spanning>,
    /// Run of each part that has nodes.
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

/// The graph of a replay.
pub(crate) struct ReplayedGraph<'g> {
    pub(crate) spanning: &'g Arc<Spanning>,
    pub(crate) whole: &'g GraphPlan,
    /// Turns of the graph and of the graphs in it, in the first context.
    pub(crate) turns: Vec<&'g Arc<ReplayTurn>>,
    pub(crate) at: &'static Location<'static>,
}

/// The queue of one context in a replay.
struct ReplayQueue {
    owner: Owner,
    by: Admission,
    /// `true` for a helper queue, which is released at the end.
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

/// Place of a command in a replay: its context, and its number among the commands there.
#[derive(Clone, Copy)]
struct CommandPlace {
    context: usize,
    command: usize,
}

/// A wait of one context for another, whose relay is not attached yet.
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

/// One side of a copy, with the last commands of its pieces.
struct CopyPlace {
    at: CommandPlace,
    ends: Vec<usize>,
}

/// Commands of a replay that is being enqueued.
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

/// Enqueues a replay on the queue `by` of the first context. Returns the stamp that its commands there come after, and
/// the point of its end with its history.
///
/// # Errors
/// Returns the errors of [`Engine::enqueue_parts`] and of an allocation. The error of another context whose device is
/// lost is `OtherContext`.
pub(crate) fn enqueue(
    graph: &ReplayedGraph<'_>,
    by: Admission,
    calls: Vec<Callback>,
) -> Result<(Stamp, Point, Arc<PointHistory>, FarRuns)> {
    drop(graph.spanning.shape.owners[0].engine().lock_with_room(by.slot)?);
    let mut builder = ReplayBuilder::new(graph, by)?;
    builder.add_all(calls)?;
    let end = builder.mark(0);
    builder.enqueue_all()?;
    let (point, past) = builder.marked(end);
    let before = builder.starts.first().map_or(point.stamp, |&start| builder.marked(start).0.stamp);
    let runs = builder.connect();
    Ok((before, point, past, FarRuns { spanning: graph.spanning.clone(), runs }))
}

impl<'g> ReplayBuilder<'g> {
    /// Makes the helper queues and prepares the copies.
    fn new(graph: &'g ReplayedGraph<'g>, by: Admission) -> Result<Self> {
        let shape = &graph.spanning.shape;
        let (label, priority) = {
            let state = shape.owners[0].engine().lock();
            state.check(by.slot)?;
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
            let (owner, helps) = (owner.clone(), context > 0);
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
        let (waits, ends, starts, marks) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
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
                let (plan, at) = (plan.clone(), self.graph.at);
                let has_results = !outputs.is_empty() || !plan.timed_markers.is_empty();
                let uploads = self.queues[context].owner.engine().stage_uploads(&plan)?;
                let run = Arc::new(GraphRun { plan, outputs: slots, uploads, times: OnceLock::new(), at });
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

    /// Enqueues the commands of all contexts, the first context's last. Meanwhile no other thread enqueues a wait
    /// between contexts.
    fn enqueue_all(&mut self) -> Result<()> {
        let turn = lock_enqueueing();
        let first = &self.queues[0];
        first.owner.engine().check_parts(first.by, &first.commands, &self.turns(0))?;
        for context in (0..self.queues.len()).rev() {
            let turns = self.turns(context);
            let queue = &mut self.queues[context];
            if queue.commands.is_empty() {
                continue;
            }
            let (engine, commands) = (queue.owner.engine().clone(), std::mem::take(&mut queue.commands));
            let answers = engine.enqueue_parts(queue.by, commands, &turns);
            queue.answers =
                answers.map_err(|error| if context > 0 { lost(&engine, error) } else { error })?;
        }
        drop(turn);
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
            EnqueuedPart::Stamps(_) => unreachable!("bug: the command is no mark"),
        }
    }

    /// Attaches the relays of all waits. Returns the runs of the parts.
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

impl FarRuns {
    /// Returns the run of an output and its slot.
    pub(crate) fn output(&self, output: usize) -> Option<(&PartRun, &Arc<ReadSlot>)> {
        let (part, at) = self.spanning.part_of_output(output as u32)?;
        let run = self.runs[part].as_ref()?;
        Some((run, &run.run.outputs[at]))
    }
}

/// Returns the error of a replay on a queue whose context is not the first context of the graph.
#[cold]
pub(crate) fn wrong_queue(label: &str) -> Error {
    let object = format!(
        "graph `{label}`, which has work of several contexts and is replayed on a queue of the one that captured it,"
    );
    Kind::ForeignContext { subject: String::new(), arg: String::new(), object }.into()
}
