//! A caller that is parked while other threads make progress with a planned batch.

use fencepost_sync::prim::Condvar;
use fencepost_sync::{Point, Seq};
use std::sync::Arc;

/// Target of a parked caller.
///
/// Each of these callers has a condition variable of its own. Otherwise each completion would wake all of them, and all
/// but one would park again.
pub(crate) struct ParkedCaller {
    /// Point that the caller waits for. Without it, the caller waits for the batch itself.
    pub(crate) point: Option<Point>,
    /// Batch that the point waits for.
    pub(crate) seq: Seq,
    pub(crate) wakeup: Arc<Condvar>,
    /// `true` once the condition variable was notified.
    pub(crate) notified: bool,
}
