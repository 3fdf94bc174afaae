//! Tracks the callbacks that a context runs.

use crate::scheduler::thread_state::ThreadId;
use fencepost_sync::HoldId;
use std::sync::Arc;

/// Names the callbacks that run at this moment, each with its thread, and the callback thread of the context.
#[derive(Default)]
pub(crate) struct Callbacks {
    /// Lists each running callback once. A callback inside a wait of another one runs on the same thread.
    pub(crate) running: Vec<(HoldId, ThreadId)>,
    /// Is `None` in a context without threads. There, any thread that makes progress runs the due callbacks.
    pub(crate) thread: Option<ThreadId>,
}

/// Describes a callback that must run before a point is reached.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct BlockingCallback {
    pub(crate) callback: HoldId,
    pub(crate) queue: Arc<str>,
    /// Names the thread that runs the callback, or the callback thread if no thread runs the callback yet.
    pub(crate) thread: Option<ThreadId>,
}
