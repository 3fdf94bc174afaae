//! One replay of a graph.

use crate::error::{Error, Kind};
use crate::memory::block::Block;
use crate::memory::last_use::LastUse;
use crate::memory::read_slot::ReadSlot;
use crate::memory::staged_bytes::{ReplaySource, Staged};
use crate::work::graph_data::graph_order::GraphOrder;
use crate::work::graph_data::graph_plan::GraphPlan;
use crate::work::graph_data::run_times::RunTimes;
use crate::work::graph_part::GraphPart;
use crate::work::kernel_launch::BoundArray;
use fencepost_sync::Seq;
use rustc_hash::FxHasher;
use std::any::Any;
use std::hash::Hasher;
use std::ops::Range;
use std::panic::Location;
use std::sync::{Arc, OnceLock};

/// Data of one replay of a graph.
pub(crate) struct GraphRun {
    pub(crate) plan: Arc<GraphPlan>,
    /// Slot of each output of the graph.
    pub(crate) outputs: Vec<Arc<ReadSlot>>,
    /// Bytes of the uploads that copy from the program in each replay, in the order of the plan's sources.
    pub(crate) uploads: Vec<Staged>,
    /// Times of the nodes, if the context was profiled when the replay was enqueued or the graph has a timed marker.
    pub(crate) times: OnceLock<RunTimes>,
    /// Line of the program that replays.
    pub(crate) at: &'static Location<'static>,
}

/// A part of a replay: one step of a batch.
#[derive(Clone)]
pub(crate) struct GraphStep {
    pub(crate) run: Arc<GraphRun>,
    /// Number of the segment in the plan, or `None` for the whole graph, which is compared with other uses and is never
    /// a step.
    pub(crate) segment: Option<u32>,
}

impl GraphRun {
    /// Returns the bytes that the replay has copied from a source of its plan.
    ///
    /// # Panics
    /// Panics if the plan has no such source, which is a bug.
    pub(crate) fn staged(&self, source: &Arc<dyn ReplaySource>) -> &Staged {
        let at = self.plan.sources.iter().position(|known| Arc::ptr_eq(known, source));
        &self.uploads[at.expect("bug: an upload from a source that the plan does not list")]
    }
}

impl GraphStep {
    /// Returns the graph of a step.
    ///
    /// # Panics
    /// Panics if the step is not part of a graph, which is a bug.
    pub(crate) fn of(part: &dyn GraphPart) -> &Self {
        let part: &dyn Any = part;
        part.downcast_ref().expect("bug: a part of another kind of graph")
    }

    /// Returns the order of the part's nodes.
    ///
    /// # Panics
    /// Panics if the part is the whole graph, which is a bug.
    pub(crate) fn order(&self) -> &Arc<GraphOrder> {
        let at = self.segment.expect("bug: a whole graph is a step");
        &self.run.plan.segments[at as usize].order
    }

    /// Returns `true` if the graph was captured on several queues.
    pub(crate) fn forks(&self) -> bool {
        self.run.plan.queues.len() > 1
    }

    /// Returns the slots of the outputs that the part reads.
    pub(crate) fn outputs(&self) -> impl Iterator<Item = &Arc<ReadSlot>> {
        let commands = self.order().sorted.iter().map(|&node| self.run.plan.command(node));
        commands.filter_map(|command| command.output).map(|output| &self.run.outputs[output as usize])
    }

    /// Returns the nodes of the part.
    pub(crate) fn nodes(&self) -> Range<u32> {
        let order = self.order();
        order.first..order.first + order.levels.len() as u32
    }

    /// Returns the error of a node that could not be recorded.
    #[cold]
    pub(crate) fn failure(&self, node: u32, error: Error) -> Error {
        let plan = &self.run.plan;
        let (command, queue) = (plan.command(node), &plan.queues[plan.nodes[node as usize].queue as usize]);
        Kind::GraphNode {
            graph: plan.label.to_string(),
            node: command.name(),
            captured: Box::new(command.site(queue)),
            replayed: self.run.at,
            error,
        }
        .into()
    }
}

impl GraphPart for GraphStep {
    fn uses(&self) -> &[BoundArray] {
        match self.segment {
            Some(at) => &self.run.plan.segments[at as usize].uses.bound,
            None => &self.run.plan.uses.bound,
        }
    }

    fn tables(&self) -> Option<[&Arc<Block>; 2]> {
        self.run.plan.control.as_ref().map(|table| [&table.words, &table.counts])
    }

    fn last_use(&self) -> &LastUse {
        match self.segment {
            Some(at) => &self.run.plan.segments[at as usize].uses.last,
            None => &self.run.plan.uses.last,
        }
    }

    fn node_count(&self) -> usize {
        match self.segment {
            Some(_) => self.nodes().len(),
            None => self.run.plan.nodes.len(),
        }
    }

    fn depth(&self) -> u32 {
        self.order().depth.max(1)
    }

    fn kind(&self) -> u64 {
        let mut hasher = FxHasher::default();
        hasher.write_u64(self.run.plan.shape);
        hasher.write_u32(self.segment.unwrap_or(u32::MAX));
        hasher.finish()
    }

    fn label(&self) -> &str {
        &self.run.plan.label
    }

    fn plan_times(&self, batch: Seq) {
        if let Some(times) = self.run.times.get() {
            times.plan(self.nodes(), batch);
        }
    }

    fn forget_times(&self) {
        if let Some(times) = self.run.times.get() {
            times.forget(self.nodes());
        }
    }

    fn unstage(&self) {
        self.outputs().for_each(|slot| slot.unstage());
    }
}
