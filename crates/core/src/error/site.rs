//! Where in the program a command came from, as messages name it.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// Names a kernel in its context.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct KernelId(pub(crate) u32);

/// The kind of a command, small enough to be kept for every use of every array.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum CommandKind {
    Launch(KernelId),
    Copy,
    Fill,
    Upload,
    Read,
    Download,
    Encode,
    Map,
    /// One side of a copy between contexts, on the context's own behalf.
    BetweenContexts,
    /// A read by the context itself, for `to_vec` and `display`.
    Look,
}

/// The place of a command in the program: its queue, what it does, and the line that enqueued it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Site {
    /// The label of the queue.
    pub queue: Arc<str>,
    /// What the command does, with the kernel's name if it is a launch.
    pub command: String,
    /// The line that enqueued it.
    pub location: &'static Location<'static>,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on queue `{}` at {}", self.command, self.queue, self.location)
    }
}
