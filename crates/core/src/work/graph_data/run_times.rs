//! The times of the nodes of one replay.

use crate::work::time_slot::TimeSlot;
use fencepost_sync::{Seq, Stamp};
use std::ops::Range;
use std::sync::Arc;

/// Holds the times of the nodes of a replay, and the queue that replays.
pub(crate) struct RunTimes {
    pub(crate) queue: Arc<str>,
    pub(crate) lane: usize,
    /// Orders the replay among the commands of its queue.
    pub(crate) stamp: Stamp,
    /// Is `true` if the device has a clock.
    pub(crate) clocked: bool,
    /// Holds for each node of the graph a slot if the time of the node is of use.
    pub(crate) slots: Box<[Option<Arc<TimeSlot>>]>,
}

impl RunTimes {
    /// Returns the slot that receives the time of a node, if the device measures the time.
    pub(crate) fn measured(&self, node: u32) -> Option<&Arc<TimeSlot>> {
        self.slots[node as usize].as_ref().filter(|_| self.clocked)
    }

    /// Stores the batch of some nodes.
    pub(crate) fn plan(&self, nodes: Range<u32>, batch: Seq) {
        self.of(nodes).for_each(|slot| slot.plan(batch));
    }

    /// Removes the times of some nodes, which are not submitted.
    pub(crate) fn forget(&self, nodes: Range<u32>) {
        self.of(nodes).for_each(|slot| slot.forget());
    }

    fn of(&self, nodes: Range<u32>) -> impl Iterator<Item = &Arc<TimeSlot>> {
        self.slots[nodes.start as usize..nodes.end as usize].iter().flatten()
    }
}
