//! A part of a graph as the scheduler sees it: one step of a batch, whose nodes only recorders see.

use crate::memory::block::Block;
use crate::memory::last_use::LastUse;
use crate::work::kernel_launch::BoundArray;
use fencepost_sync::Seq;
use std::any::Any;
use std::sync::Arc;

/// Replay of a part of a graph, as one command.
pub(crate) trait GraphPart: Any + Send + Sync {
    /// Returns the uses of all nodes of the part.
    fn uses(&self) -> &[BoundArray];

    /// Returns the blocks of the part's table of gates, which do not count as uses.
    fn tables(&self) -> Option<[&Arc<Block>; 2]>;

    /// Returns the last use of the blocks of the part.
    fn last_use(&self) -> &LastUse;

    /// Returns the number of nodes of the part.
    fn node_count(&self) -> usize;

    /// Returns the number of levels of a batch that the part takes: at least one.
    fn depth(&self) -> u32;

    /// Returns a number that parts with the same nodes share: they are expected to take the same time.
    fn kind(&self) -> u64;

    /// Returns the name of the graph in messages.
    fn label(&self) -> &str;

    /// Stores the batch of the part in the times of its nodes, if they are timed.
    fn plan_times(&self, batch: Seq);

    /// Removes the times of the nodes, because the part is not submitted.
    fn forget_times(&self);

    /// Resets the reads of the part, whose staging memory was assigned by a refused submission.
    fn unstage(&self);
}
