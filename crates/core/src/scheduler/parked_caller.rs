//! A caller that is parked while other threads make progress with a planned batch.

use fencepost_sync::prim::Condvar;
use fencepost_sync::{Point, Seq};
use std::sync::Arc;

/// Tells what a parked caller waits for.
///
/// Each of these callers has a condition variable of its own. Otherwise each completion would wake all of them, and all
/// but one would park again.
pub(crate) struct ParkedCaller {
    /// Is the point that the caller waits for. Without it, the caller waits for the batch itself.
    pub(crate) point: Option<Point>,
    /// Is the batch that the point waits for.
    pub(crate) seq: Seq,
    pub(crate) wakeup: Arc<Condvar>,
    /// Is true once the condition variable was notified.
    pub(crate) notified: bool,
}
