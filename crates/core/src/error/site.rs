//! The place of a command in the program, as messages name it.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// The number of a kernel in its context.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct KernelId(pub(crate) u32);

/// Returns the name of a kernel that a verb launches, in profiles. A name of WGSL has no `/`.
pub(crate) fn label_of_verb(verb: &str, entry: &str) -> String {
    format!("{verb}/{entry}")
}

/// Returns the subject of a launch in messages: the verb, or the kernel of the program. `label` is the name of the
/// kernel in profiles.
pub(crate) fn subject(label: &str) -> String {
    match label.split_once('/') {
        Some((verb, _)) => format!("verb `{verb}`"),
        None => format!("kernel `{label}`"),
    }
}

/// The kind of a command. The type is small, because each recorded use of a block has a value of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum CommandKind {
    Launch(KernelId),
    Copy,
    Fill,
    Upload,
    Read,
    Download,
    Encode,
    /// A node of a graph that decides whether others execute.
    Gate,
    /// A replay of the graph whose name has this number among the names of kernels.
    Replay(KernelId),
    /// A part of a replay in a context other than the context of the replay's queue, with the number of the graph's
    /// name there.
    ReplayPart(KernelId),
    Map,
    /// One side of a copy between contexts, which the context itself enqueues.
    BetweenContexts,
    /// A read that the context itself enqueues, for `to_vec` and `display`.
    Inspect,
}

impl CommandKind {
    /// Returns the name of the verb that enqueues the command, for messages.
    pub(crate) fn verb(self) -> &'static str {
        match self {
            Self::Launch(_) => "launch",
            Self::Copy | Self::BetweenContexts => "copy",
            Self::Fill => "fill",
            Self::Upload => "upload",
            Self::Read | Self::Inspect => "read",
            Self::Download => "download",
            Self::Encode => "encode",
            Self::Replay(_) | Self::ReplayPart(_) => "replay",
            Self::Map => "map",
            Self::Gate => "a condition",
        }
    }
}

/// The place of a command in the program: its queue, its kind, and the line that enqueued it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Site {
    /// Name of the queue.
    pub queue: Arc<str>,
    /// Kind of the command, with the kernel's name if it is a launch.
    pub command: String,
    /// Line that enqueued the command.
    pub location: &'static Location<'static>,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on queue `{}` at {}", self.command, self.queue, self.location)
    }
}
