//! A queue with the name of the verb that the program calls on it.

use fencepost_core::CommandQueue;
use std::ops::Deref;

/// Is a queue in the call of a verb. The kernels that are compiled for it have the name of the verb in messages, so that a
/// program reads the name that it calls.
pub struct VerbQueue<'a> {
    queue: &'a CommandQueue,
    pub(crate) verb: &'static str,
}

impl<'a> VerbQueue<'a> {
    pub(crate) fn new(queue: &'a CommandQueue, verb: &'static str) -> Self {
        Self { queue, verb }
    }
}

impl Deref for VerbQueue<'_> {
    type Target = CommandQueue;

    fn deref(&self) -> &CommandQueue {
        self.queue
    }
}
