//! The notes of a profile as plain data.

use crate::error::site::CommandKind;
use crate::scheduler::user_signal::UserSignal;
use crate::work::time_slot::TimeSlot;
use fencepost_profile::WaitCause;
use fencepost_sync::prim::{Mutex, lock};
use fencepost_sync::{Point, Seq, Slot, Stamp};
use rustc_hash::FxHashMap;
use std::panic::Location;
use std::sync::Arc;
use web_time::Instant;

/// Notes of a context, kept while a profiler or a reader of the notes exists.
#[derive(Default)]
pub(crate) struct ProfileLog {
    /// Number of profilers that note commands: `profilers <= readers`, because each is a reader too.
    pub(crate) profilers: usize,
    /// Number of readers of the notes. The last one drops the log.
    pub(crate) readers: usize,
    pub(crate) entries: Vec<Arc<ProfileEntry>>,
    pub(crate) batches: FxHashMap<Seq, BatchTimes>,
}

/// A noted command, wait or callback.
pub(crate) struct ProfileEntry {
    pub(crate) queue: QueueKey,
    pub(crate) label: Arc<str>,
    pub(crate) lane: usize,
    pub(crate) stamp: Stamp,
    pub(crate) at: &'static Location<'static>,
    pub(crate) enqueued: Instant,
    pub(crate) noted: ProfileEvent,
}

/// The noted event.
pub(crate) enum ProfileEvent {
    Command(NotedCommand),
    /// A node of the graph whose replay is the last noted command before the node.
    Node(NotedNode),
    Wait {
        point: Point,
        label: Option<Arc<str>>,
        cause: WaitCause,
    },
    UserWait(Arc<UserSignal>),
    Callback(Arc<CallTime>),
}

/// A noted command for a device.
pub(crate) struct NotedCommand {
    pub(crate) what: CommandKind,
    /// Name of the launched kernel, or of a node.
    pub(crate) kernel: Option<Arc<str>>,
    pub(crate) bytes: Option<u64>,
    /// Device times of the command, or `None` if the host executes it.
    pub(crate) time: Option<Arc<TimeSlot>>,
}

/// A node of a noted replay.
pub(crate) struct NotedNode {
    pub(crate) command: NotedCommand,
    /// Label of the captured queue.
    pub(crate) queue: Arc<str>,
}

/// Key of one of the queues that use a slot in turn: the queue born at this stamp.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct QueueKey {
    pub(crate) slot: Slot,
    pub(crate) born: Stamp,
}

/// Start and end of a host callback, once it has run.
#[derive(Default)]
pub(crate) struct CallTime(pub(crate) Mutex<Option<(Instant, Instant)>>);

/// Host times of one batch.
#[derive(Clone, Copy)]
pub(crate) struct BatchTimes {
    pub(crate) lane: usize,
    /// Time right before the batch was recorded and submitted.
    pub(crate) submitted: Instant,
    /// Time at which the host saw the completion.
    pub(crate) completed: Option<Instant>,
}

/// Notes between two positions of the log.
#[derive(Default)]
pub(crate) struct ProfileNotes {
    pub(crate) entries: Vec<Arc<ProfileEntry>>,
    pub(crate) batches: FxHashMap<Seq, BatchTimes>,
}

impl ProfileNotes {
    /// Returns the noted commands, and the nodes of noted replays.
    pub(crate) fn commands(&self) -> impl Iterator<Item = &NotedCommand> {
        self.entries.iter().filter_map(|entry| match &entry.noted {
            ProfileEvent::Command(command) | ProfileEvent::Node(NotedNode { command, .. }) => Some(command),
            _ => None,
        })
    }
}

impl CallTime {
    pub(crate) fn get(&self) -> Option<(Instant, Instant)> {
        *lock(&self.0)
    }
}
