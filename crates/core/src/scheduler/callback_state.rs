//! The callbacks of a context that run now.

use crate::scheduler::thread_state::ThreadId;
use fencepost_sync::HoldId;
use std::sync::Arc;

/// The host functions of a context that run at this moment, and the thread for those that are due.
#[derive(Default)]
pub(crate) struct Callbacks {
    pub(crate) running: Vec<(HoldId, ThreadId)>,
    /// None in a context without threads: there any thread that asks runs what is due.
    pub(crate) thread: Option<ThreadId>,
}

/// The callback that a point comes after.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct BlockingCallback {
    pub(crate) callback: HoldId,
    pub(crate) queue: Arc<str>,
    /// The thread that runs it, or the only one that can.
    pub(crate) thread: Option<ThreadId>,
}
