//! The walk of a recorder over the steps of a batch and the nodes of graphs: the methods that it calls, and their
//! order. The CPU recorder uses another order.
//!
//! A step that replays a part of a graph has several levels. Steps that overlap with these are visited together with
//! it, level by level, so that one barrier orders the next level of all of them.

use crate::device::SubmitFailure;
use crate::error::Result;
use crate::memory::read_slot::{ReadSlot, ReadState};
use crate::memory::staging::{Payload, Staged};
use crate::work::graph::control::{ControlTable, Gate, GatedPlace};
use crate::work::graph::run::GraphStep;
use crate::work::kernel_launch::Launch;
use crate::work::region_copy::RegionCopy;
use crate::work::step::{Pattern, Span, Step, Work};
use crate::work::time_slot::TimeSlot;
use fencepost_kernels::ParamsBlock;
use fencepost_sync::Stamp;
use std::iter;
use std::ops::Range;
use std::sync::Arc;

/// A visitor that records or executes steps, with one method for each kind of work. Each recorder has one, and
/// [`visit`] calls the method for a step.
pub(crate) trait WorkVisitor<'e> {
    /// Begins a level, before the visit of its first step. The steps of a level depend only on steps of lower levels.
    fn level(&mut self, _level: u32) {}

    /// Begins the visit of the step with the index `at`, or of one node of its graph. If it returns `false`, the visit
    /// is skipped.
    fn begin_step(&mut self, _at: usize) -> bool {
        true
    }

    /// Begins the visit of a node of the step's graph. If it returns `false`, this node and all later ones are skipped.
    fn begin_node(&mut self, _graph: &'e GraphStep, _node: u32) -> bool {
        true
    }

    /// Begins a graph, before the visit of its first node.
    fn begin_graph(&mut self) {}

    /// Returns `true` if [`graph`](Self::graph) must visit the graph as a whole, because its launches are already
    /// recorded. Otherwise its nodes may be interleaved with those of other graphs.
    ///
    /// # Errors
    /// Returns the error of a node that cannot be recorded.
    fn keeps_whole(&mut self, _graph: &'e GraphStep) -> Result<bool> {
        Ok(false)
    }

    fn launch(&mut self, launch: &'e Launch) -> Result<()>;

    /// Launches with other parameters than the command's. Separate from [`launch`](Self::launch), because that is
    /// inlined into the loop over the steps.
    fn launch_with(&mut self, launch: &'e Launch, params: &ParamsBlock) -> Result<()>;

    fn copy(&mut self, src: &'e Span, dst: &'e Span) -> Result<()>;

    fn region(&mut self, copy: &'e RegionCopy) -> Result<()>;

    fn fill(&mut self, dst: &'e Span, pattern: &'e Pattern) -> Result<()>;

    fn upload(&mut self, src: &'e Staged, dst: &'e Span) -> Result<()>;

    /// Copies `src` to staging memory, and stores in `slot` where the copy will be.
    fn read(&mut self, src: &'e Span, slot: &'e Arc<ReadSlot>) -> Result<()>;

    /// Decides if the nodes of a body execute.
    fn gate(&mut self, gate: &'e Gate, table: &'e ControlTable) -> Result<()>;

    /// Launches in a body, if the body's gate allows it.
    fn launch_gated(&mut self, launch: &'e Launch, params: &ParamsBlock, place: GatedPlace<'e>)
    -> Result<()>;

    /// Executes a fill, a copy or an upload in a body, if the body's gate allows it.
    fn transfer_gated(&mut self, work: &'e Work, place: GatedPlace<'e>) -> Result<()>;

    /// Visits the nodes of a graph whose first level in the batch is `base`. `level` is the level of the last visit.
    /// `is_alone` is `true` if the batch has no other step.
    fn graph(
        &mut self,
        graph: &'e GraphStep,
        base: u32,
        level: &mut Option<u32>,
        _is_alone: bool,
    ) -> Result<()>
    where
        Self: Sized,
    {
        walk_nodes(graph, base, 0..graph.order().sorted.len(), self, level)
    }

    /// Records in `time` the time before a command. `start_time`, the command and `end_time` are three steps with one
    /// stamp, visited in this order. Commands of one `level` may share a start time.
    fn start_time(&mut self, level: u32, time: &'e Arc<TimeSlot>);

    /// Records in `time` the time after the command. If the command is a graph, other commands may start and end in
    /// between.
    fn end_time(&mut self, time: &'e Arc<TimeSlot>);
}

/// Calls the visitor's method for the work of one step.
///
/// # Panics
/// Panics if the step holds user commands, which must be alone in their batch; this would be a bug.
#[inline(always)] // graphs call it too, and the loop over the steps makes no call for each launch
pub(crate) fn visit<'e>(visitor: &mut impl WorkVisitor<'e>, level: u32, work: &'e Work) -> Result<()> {
    match work {
        Work::Launch(launch) => return visitor.launch(launch),
        Work::Copy { src, dst } => return visitor.copy(src, dst),
        Work::Region(copy) => return visitor.region(copy),
        Work::Fill { dst, pattern } => return visitor.fill(dst, pattern),
        Work::Upload { src, dst } => return visitor.upload(src.staged(), dst),
        Work::Read { src, slot } => return visitor.read(src, slot),
        Work::Start(time) => visitor.start_time(level, time),
        Work::End(time) => visitor.end_time(time),
        Work::Gate(_) => unreachable!("bug: a gate outside of a graph with a table"),
        Work::Graph(_) => unreachable!("bug: the walk visits the nodes of a graph, not the graph"),
        Work::WgpuCommands(_) => unreachable!("bug: commands of the program share a batch with other steps"),
        Work::QueueFence | Work::Nothing => {}
    }
    Ok(())
}

/// Visits the nodes at `places` in the order of a graph whose first level in the batch is `base`. `level` is the level
/// of the last visit.
pub(crate) fn walk_nodes<'e>(
    graph: &'e GraphStep,
    base: u32,
    places: Range<usize>,
    visitor: &mut impl WorkVisitor<'e>,
    level: &mut Option<u32>,
) -> Result<()> {
    let order = graph.order();
    visitor.begin_graph();
    for &node in &order.sorted[places] {
        let of_node = base + order.levels[(node - order.first) as usize];
        if level.replace(of_node) != Some(of_node) {
            visitor.level(of_node);
        }
        if !visitor.begin_node(graph, node) {
            break;
        }
        visit_node(visitor, of_node, graph, node).map_err(|error| graph.failure(node, error))?;
    }
    Ok(())
}

/// Calls the visitor's method for a node of a graph. If the run needs times, also calls those for the times before and
/// after the node.
#[inline]
pub(crate) fn visit_node<'e>(
    visitor: &mut impl WorkVisitor<'e>,
    level: u32,
    graph: &'e GraphStep,
    node: u32,
) -> Result<()> {
    let time = graph.run.times.get().and_then(|times| times.measured(node));
    let Some(time) = time else { return visit_command(visitor, level, graph, node) };
    visitor.start_time(level, time);
    visit_command(visitor, level, graph, node)?;
    visitor.end_time(time);
    Ok(())
}

/// Calls the visitor's method for the command of a node. A read goes to the slot of the run.
#[inline]
fn visit_command<'e>(
    visitor: &mut impl WorkVisitor<'e>,
    level: u32,
    graph: &'e GraphStep,
    node: u32,
) -> Result<()> {
    let plan = &graph.run.plan;
    let command = plan.command(node);
    if let Some(table) = &plan.control {
        match (&command.work, plan.nodes[node as usize].gate) {
            (Work::Gate(gate), _) => return visitor.gate(gate, table),
            (Work::Launch(launch), Some(gate)) => {
                let others = plan.other_params(command);
                let params = others.as_ref().unwrap_or(&launch.params);
                return visitor.launch_gated(launch, params, table.place(node, gate));
            }
            (work, Some(gate)) => return visitor.transfer_gated(work, table.place(node, gate)),
            _ => {}
        }
    }
    match (&command.work, command.output) {
        (Work::Launch(launch), _) if launch.is_empty() => Ok(()),
        (Work::Launch(launch), _) if plan.values_differ => match plan.other_params(command) {
            None => visitor.launch_with(launch, &launch.params),
            Some(params) => visitor.launch_with(launch, &params),
        },
        (Work::Read { src, .. }, Some(output)) => {
            let slot = &graph.run.outputs[output as usize];
            if matches!(slot.state(), ReadState::Dropped) { Ok(()) } else { visitor.read(src, slot) }
        }
        (Work::Upload { src: Payload::PerReplay(source), dst }, _) => {
            visitor.upload(graph.run.staged(source), dst)
        }
        (work, _) => visit(visitor, level, work),
    }
}

/// The order in which a recorder visits the steps of a batch, and two properties of the batch.
#[derive(Default)]
pub(crate) struct StepOrder {
    /// Indices of the steps in the order of the visits. Most batches are already sorted: their list 0, 1, 2 and so on
    /// is kept for the next batch, which only shortens or extends it.
    order: Vec<usize>,
    /// `true` if `order[at] == at` for each index.
    identity: bool,
    /// `true` if the batch has other work than launches.
    pub(crate) more_than_launches: bool,
    /// `true` if the batch measures the time of a command.
    pub(crate) times: bool,
}

impl StepOrder {
    /// Orders the steps by level, then by stamp, which is the order of the user's calls.
    pub(crate) fn sort(&mut self, steps: &[Step]) {
        self.more_than_launches = false;
        self.times = false;
        let mut last = (0, fencepost_sync::Stamp(0));
        let mut sorted = true;
        for step in steps {
            let place = (step.level, step.stamp);
            sorted &= last <= place;
            last = place;
            self.more_than_launches |= !matches!(step.work, Work::Launch(_));
            self.times |= matches!(step.work, Work::Start(_));
        }
        if !self.identity {
            self.order.clear();
        }
        self.order.truncate(steps.len());
        self.order.extend(self.order.len()..steps.len());
        self.identity = sorted;
        if !sorted {
            self.order.sort_unstable_by_key(|&at| (steps[at].level, steps[at].stamp, at));
        }
    }

    /// Visits every step, in the order of [`sort`](Self::sort). Steps that overlap in level with a graph are visited
    /// level by level, together with the nodes of the graph.
    ///
    /// # Errors
    /// Returns the error of the first step that the visitor could not record, with the index of the step.
    #[inline]
    pub(crate) fn walk<'e>(
        &self,
        steps: &'e [Step],
        visitor: &mut impl WorkVisitor<'e>,
    ) -> Result<(), SubmitFailure> {
        let mut level = None;
        let mut order = self.order.iter();
        while let Some(&at) = order.next() {
            let step = &steps[at];
            if level.replace(step.level) != Some(step.level) {
                visitor.level(step.level);
            }
            if !visitor.begin_step(at) {
                continue;
            }
            let visited = match &step.work {
                Work::Graph(graph) => {
                    let later = order.as_slice();
                    let (together, others) = later.split_at(overlapping(steps, at, later));
                    if !together.is_empty() {
                        let together = iter::once(at).chain(together.iter().copied());
                        walk_together(steps, together, visitor, &mut level)?;
                        order = others.iter();
                        continue;
                    }
                    visitor.graph(graph, step.level, &mut level, steps.len() == 1)
                }
                work => visit(visitor, step.level, work),
            };
            if let Err(error) = visited {
                return Err(SubmitFailure { step: Some(at), error, lost: false });
            }
        }
        Ok(())
    }
}

/// A visit of a step, or of a node of a graph. Visits are sorted by these fields, in this order.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Visit {
    level: u32,
    stamp: Stamp,
    /// Index of the step.
    step: usize,
    /// Place of the node in the graph's order; `None` for a step that is visited as a whole.
    place: Option<u32>,
}

/// Counts the steps at the start of `later` that must be visited together with the graph at `first`, because their
/// levels overlap: visited one after the other, they would need more barriers. `later` lists the steps after the graph,
/// in the order of the visits. Returns 0 if each step can be visited as a whole.
pub(crate) fn overlapping(steps: &[Step], first: usize, later: &[usize]) -> usize {
    let base = steps[first].level;
    let stamp = steps[first].stamp;
    let mut end = base + steps[first].work.depth();
    let mut count = 0;
    let mut is_deep = false;
    for &at in later {
        let step = &steps[at];
        if step.level >= end {
            break;
        }
        let after = step.level + step.work.depth();
        end = end.max(after);
        // The end time of the graph has the stamp of the graph.
        is_deep |= step.stamp != stamp && after > base + 1;
        count += 1;
    }
    if is_deep { count } else { 0 }
}

/// Visits the steps `together`, whose levels overlap, level by level. `level` is the level of the last visit.
///
/// # Errors
/// Returns the error of the first step that the visitor could not record, with the index of the step.
#[cold]
#[inline(never)] // the loop over the steps of a batch without graphs stays small
pub(crate) fn walk_together<'e>(
    steps: &'e [Step],
    together: impl Iterator<Item = usize>,
    visitor: &mut impl WorkVisitor<'e>,
    level: &mut Option<u32>,
) -> Result<(), SubmitFailure> {
    for Visit { level: of_visit, step, place, .. } in visits(steps, together, visitor)? {
        if level.replace(of_visit) != Some(of_visit) {
            visitor.level(of_visit);
        }
        if !visitor.begin_step(step) {
            continue;
        }
        let visited = match (&steps[step].work, place) {
            (Work::Graph(graph), None) => visitor.graph(graph, of_visit, level, false),
            (Work::Graph(graph), Some(place)) => {
                if place == 0 {
                    visitor.begin_graph();
                }
                let node = graph.order().sorted[place as usize];
                if visitor.begin_node(graph, node) {
                    visit_node(visitor, of_visit, graph, node).map_err(|error| graph.failure(node, error))
                } else {
                    Ok(())
                }
            }
            (work, _) => visit(visitor, of_visit, work),
        };
        visited.map_err(|error| failure(step, error))?;
    }
    Ok(())
}

/// Lists the visits in their order.
fn visits<'e>(
    steps: &'e [Step],
    together: impl Iterator<Item = usize>,
    visitor: &mut impl WorkVisitor<'e>,
) -> Result<Vec<Visit>, SubmitFailure> {
    let mut visits = Vec::new();
    for at in together {
        let Step { level, stamp, work, .. } = &steps[at];
        let visit = |level, place| Visit { level, stamp: *stamp, step: at, place };
        let Work::Graph(graph) = work else {
            visits.push(visit(*level, None));
            continue;
        };
        if visitor.keeps_whole(graph).map_err(|error| failure(at, error))? {
            visits.push(visit(*level, None));
            continue;
        }
        let order = graph.order();
        let of_nodes = order.sorted.iter().map(|&node| order.levels[(node - order.first) as usize]);
        visits.extend(of_nodes.zip(0..).map(|(of_node, place)| visit(level + of_node, Some(place))));
    }
    visits.sort(); // the nodes of each graph are already sorted, which this sort exploits
    Ok(visits)
}

fn failure(step: usize, error: crate::error::Error) -> SubmitFailure {
    SubmitFailure { step: Some(step), error, lost: false }
}
