//! The callbacks that a context runs.

use crate::scheduler::thread_state::ThreadId;
use fencepost_sync::HoldId;
use std::sync::Arc;

/// Callbacks that run at this moment, each with its thread, and the callback thread of the context.
#[derive(Default)]
pub(crate) struct Callbacks {
    /// Running callbacks, each once. A callback that runs inside a wait of another one runs on the same thread.
    pub(crate) running: Vec<(HoldId, ThreadId)>,
    /// `None` in a context without threads. There, any thread that makes progress runs the due callbacks.
    pub(crate) thread: Option<ThreadId>,
}

/// A callback that must run before a point is reached.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct BlockingCallback {
    pub(crate) callback: HoldId,
    pub(crate) queue: Arc<str>,
    /// Thread that runs the callback, or the callback thread if the callback does not run yet.
    pub(crate) thread: Option<ThreadId>,
}
