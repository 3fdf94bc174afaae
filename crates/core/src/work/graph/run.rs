//! One replay of a graph, and the times of its nodes.
//!
//! For the scheduler, a segment of a graph is one step of a batch; only recorders see its nodes.

use crate::error::{Error, ErrorDetail};
use crate::memory::block::{Block, LastUse};
use crate::memory::read_slot::ReadSlot;
use crate::memory::staging::{ReplaySource, Staged};
use crate::work::graph::order::GraphOrder;
use crate::work::graph::plan::GraphPlan;
use crate::work::kernel_launch::BoundArray;
use crate::work::time_slot::TimeSlot;
use fencepost_sync::{Seq, Stamp};
use rustc_hash::FxHasher;
use std::hash::Hasher;
use std::ops::Range;
use std::panic::Location;
use std::sync::{Arc, OnceLock};

/// Data of one replay of a graph.
pub(crate) struct GraphRun {
    pub(crate) plan: Arc<GraphPlan>,
    /// Slot of each output of the graph.
    pub(crate) outputs: Vec<Arc<ReadSlot>>,
    /// Bytes of pinned arrays that this replay uploads, in the order of the plan's sources.
    pub(crate) uploads: Vec<Staged>,
    /// Bytes of device memory that the pool gets back after the replay, because the graph has no other replay.
    memory: u64,
    /// Times of the nodes, if a profiler was running when the replay was enqueued, or the graph has a timed marker.
    pub(crate) times: OnceLock<RunTimes>,
    /// Source line of the program's replay.
    pub(crate) at: &'static Location<'static>,
}

/// A part of a replay, which is one step of a batch.
#[derive(Clone)]
pub(crate) struct GraphStep {
    pub(crate) run: Arc<GraphRun>,
    /// Number of the segment in the plan. `None` means the whole graph, which is only compared with other uses and
    /// never a step.
    pub(crate) segment: Option<u32>,
}

impl GraphRun {
    /// Returns a replay without times.
    pub(crate) fn new(
        plan: Arc<GraphPlan>,
        outputs: Vec<Arc<ReadSlot>>,
        uploads: Vec<Staged>,
        at: &'static Location<'static>,
    ) -> Arc<Self> {
        Arc::new(Self { plan, outputs, uploads, memory: 0, times: OnceLock::new(), at })
    }

    /// Returns the only replay of a graph with `memory` bytes of its own, without times and uploads.
    pub(crate) fn only(
        plan: Arc<GraphPlan>,
        outputs: Vec<Arc<ReadSlot>>,
        memory: u64,
        at: &'static Location<'static>,
    ) -> Arc<Self> {
        Arc::new(Self { plan, outputs, uploads: Vec::new(), memory, times: OnceLock::new(), at })
    }

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
    /// Returns the order of the part's nodes.
    ///
    /// # Panics
    /// Panics if the part is the whole graph, which is a bug.
    pub(crate) fn order(&self) -> &Arc<GraphOrder> {
        let at = self.segment.expect("bug: a whole graph is a step");
        &self.run.plan.segments[at as usize].order
    }

    /// Returns the bytes of device memory that the pool gets back after the replay, which are not 0 only for the first
    /// part of the only replay of a graph. A later part may wait in its queue for as long as a chunked loop runs.
    pub(crate) fn returned_bytes(&self) -> u64 {
        if self.segment == Some(0) { self.run.memory } else { 0 }
    }

    /// Returns `true` if the graph was captured on several queues.
    pub(crate) fn has_several_queues(&self) -> bool {
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
        let command = plan.command(node);
        let queue = &plan.queues[plan.nodes[node as usize].queue as usize];
        ErrorDetail::GraphNode {
            graph: plan.label.to_string(),
            node: command.name(),
            captured: Box::new(command.site(queue)),
            replayed: self.run.at,
            error,
        }
        .into()
    }

    /// Returns the uses of the part's nodes.
    pub(crate) fn uses(&self) -> &[BoundArray] {
        match self.segment {
            Some(at) => &self.run.plan.segments[at as usize].uses.bound,
            None => &self.run.plan.uses.bound,
        }
    }

    /// Returns the blocks of the gate table, which do not count as uses.
    pub(crate) fn tables(&self) -> Option<[&Arc<Block>; 2]> {
        self.run.plan.control.as_ref().map(|table| [&table.words, &table.counts])
    }

    /// Returns the last use of the part's blocks.
    pub(crate) fn last_use(&self) -> &LastUse {
        match self.segment {
            Some(at) => &self.run.plan.segments[at as usize].uses.last,
            None => &self.run.plan.uses.last,
        }
    }

    /// Returns the number of nodes of the part.
    pub(crate) fn node_count(&self) -> usize {
        match self.segment {
            Some(_) => self.nodes().len(),
            None => self.run.plan.nodes.len(),
        }
    }

    /// Returns the number of levels in a batch that the part occupies: at least one.
    pub(crate) fn depth(&self) -> u32 {
        self.order().depth.max(1)
    }

    /// Returns a number that is the same for parts with the same nodes, which are expected to take the same time.
    pub(crate) fn kind(&self) -> u64 {
        let mut hasher = FxHasher::default();
        hasher.write_u64(self.run.plan.shape);
        hasher.write_u32(self.segment.unwrap_or(u32::MAX));
        hasher.finish()
    }

    /// Returns the name of the graph in messages.
    pub(crate) fn label(&self) -> &str {
        &self.run.plan.label
    }

    /// Stores the batch of the part in the times of its nodes, if they are timed.
    pub(crate) fn plan_times(&self, batch: Seq) {
        if let Some(times) = self.run.times.get() {
            times.plan(self.nodes(), batch);
        }
    }

    /// Removes the times of the nodes, because the part is not submitted.
    pub(crate) fn forget_times(&self) {
        if let Some(times) = self.run.times.get() {
            times.forget(self.nodes());
        }
    }

    /// Resets the reads of the part, to which a refused submission had assigned staging memory.
    pub(crate) fn unstage(&self) {
        self.outputs().for_each(|slot| slot.unstage());
    }
}

/// Times of the nodes of a replay, and the queue of the replay.
pub(crate) struct RunTimes {
    pub(crate) queue: Arc<str>,
    pub(crate) lane: usize,
    /// Stamp of the replay.
    pub(crate) stamp: Stamp,
    /// `true` if the device has a clock.
    pub(crate) clocked: bool,
    pub(crate) slots: NodeTimes,
}

/// A slot for each node whose time is needed. Without a profiler, these are only the timed markers, so that the cost of
/// a replay does not depend on the other nodes.
pub(crate) struct NodeTimes {
    /// Nodes in ascending order, or `None` if each node of the graph has a slot.
    nodes: Option<Arc<[u32]>>,
    slots: Box<[Arc<TimeSlot>]>,
}

impl NodeTimes {
    /// Makes a slot for each of `count` nodes.
    pub(crate) fn of_all(count: usize) -> Self {
        Self { nodes: None, slots: (0..count).map(|_| Arc::default()).collect() }
    }

    /// Makes slots for some nodes, listed in ascending order.
    pub(crate) fn of_some(nodes: &Arc<[u32]>) -> Self {
        Self { nodes: Some(nodes.clone()), slots: nodes.iter().map(|_| Arc::default()).collect() }
    }

    /// Returns the number of slots.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns the slot of a node, if the node has one.
    pub(crate) fn of_node(&self, node: u32) -> Option<&Arc<TimeSlot>> {
        let at = match &self.nodes {
            None => node as usize,
            Some(nodes) => nodes.binary_search(&node).ok()?,
        };
        self.slots.get(at)
    }

    /// Returns the slots of a range of nodes.
    fn of_range(&self, range: Range<u32>) -> impl Iterator<Item = &Arc<TimeSlot>> {
        let first_from = |node: u32| match &self.nodes {
            None => node as usize,
            Some(nodes) => nodes.partition_point(|&known| known < node),
        };
        self.slots[first_from(range.start)..first_from(range.end)].iter()
    }
}

impl RunTimes {
    /// Returns the slot that receives the time of a node, if the device measures the time.
    pub(crate) fn measured(&self, node: u32) -> Option<&Arc<TimeSlot>> {
        self.slots.of_node(node).filter(|_| self.clocked)
    }

    /// Stores the batch of some nodes.
    pub(crate) fn plan(&self, nodes: Range<u32>, batch: Seq) {
        self.slots.of_range(nodes).for_each(|slot| slot.plan(batch));
    }

    /// Removes the times of some nodes, because they are not submitted.
    pub(crate) fn forget(&self, nodes: Range<u32>) {
        self.slots.of_range(nodes).for_each(|slot| slot.forget());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the nodes of a range that have slots, in a graph of ten nodes.
    fn listed(times: &NodeTimes, range: Range<u32>) -> Vec<u32> {
        let is =
            |node: u32, slot: &Arc<TimeSlot>| times.of_node(node).is_some_and(|of| Arc::ptr_eq(of, slot));
        let node = |slot| (0..10).find(|&node| is(node, slot)).expect("a slot belongs to a node");
        times.of_range(range).map(node).collect()
    }

    #[test]
    fn each_node_has_a_slot_or_only_the_listed_ones_have() {
        let all = NodeTimes::of_all(10);
        let some = NodeTimes::of_some(&[2, 3, 7].into());
        assert_eq!((all.len(), some.len()), (10, 3));
        assert_eq!(listed(&all, 3..8), [3, 4, 5, 6, 7]);
        assert_eq!((listed(&some, 3..8), listed(&some, 4..7)), (vec![3, 7], vec![]));
        assert!(all.of_node(9).is_some() && all.of_node(10).is_none() && some.of_node(4).is_none());
    }
}
