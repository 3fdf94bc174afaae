//! The times of the nodes of one replay.

use crate::work::time_slot::TimeSlot;
use fencepost_sync::{Seq, Stamp};
use std::ops::Range;
use std::sync::Arc;

/// Times of the nodes of a replay, and the queue that replays.
pub(crate) struct RunTimes {
    pub(crate) queue: Arc<str>,
    pub(crate) lane: usize,
    /// Place of the replay among the commands of its queue.
    pub(crate) stamp: Stamp,
    /// `true` if the device has a clock.
    pub(crate) clocked: bool,
    pub(crate) slots: NodeTimes,
}

/// A slot for each node whose time is needed. A replay without a profile has slots only for its timed markers, so that
/// the cost of the call does not depend on the other nodes.
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

    /// Makes slots for some nodes, which are listed in ascending order.
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

    /// Lists the slots of a range of nodes.
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

    /// Removes the times of some nodes, which are not submitted.
    pub(crate) fn forget(&self, nodes: Range<u32>) {
        self.slots.of_range(nodes).for_each(|slot| slot.forget());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the nodes of a range whose slots are listed, among ten nodes.
    fn listed(times: &NodeTimes, range: Range<u32>) -> Vec<u32> {
        let is =
            |node: u32, slot: &Arc<TimeSlot>| times.of_node(node).is_some_and(|of| Arc::ptr_eq(of, slot));
        let node = |slot| (0..10).find(|&node| is(node, slot)).expect("a slot belongs to a node");
        times.of_range(range).map(node).collect()
    }

    #[test]
    fn each_node_has_a_slot_or_only_the_listed_ones_have() {
        let (all, some) = (NodeTimes::of_all(10), NodeTimes::of_some(&[2, 3, 7].into()));
        assert_eq!((all.len(), some.len()), (10, 3));
        assert_eq!(listed(&all, 3..8), [3, 4, 5, 6, 7]);
        assert_eq!((listed(&some, 3..8), listed(&some, 4..7)), (vec![3, 7], vec![]));
        assert!(all.of_node(9).is_some() && all.of_node(10).is_none() && some.of_node(4).is_none());
    }
}
