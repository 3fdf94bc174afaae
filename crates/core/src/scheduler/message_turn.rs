//! The turns of the threads that deliver messages.

use crate::scheduler::print_options::PrintOptions;
use crate::scheduler::thread_state::{ThreadId, this_thread};
use fencepost_sync::prim::{Mutex, lock};

/// Holds the part of the engine that delivers messages.
#[derive(Default)]
pub(crate) struct MessageTurn {
    pub(crate) options: Mutex<PrintOptions>,
    /// Is held by the thread that delivers.
    pub(crate) turn: Mutex<()>,
    /// Names the thread that delivers.
    pub(crate) thread: Mutex<Option<ThreadId>>,
}

impl MessageTurn {
    /// Returns `true` if this thread delivers messages.
    pub(crate) fn is_delivered_here(&self) -> bool {
        *lock(&self.thread) == Some(this_thread())
    }
}
