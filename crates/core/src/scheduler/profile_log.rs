//! The notes of a profile, as plain data.

use crate::error::site::CommandKind;
use crate::scheduler::user_signal::UserSignal;
use crate::work::time_slot::TimeSlot;
use fencepost_sync::prim::{Mutex, lock};
use fencepost_sync::{Point, Seq, Slot, Stamp};
use rustc_hash::FxHashMap;
use std::panic::Location;
use std::sync::Arc;
use web_time::Instant;

/// The notes of a context, as long as there is a profiler or a reader of them.
#[derive(Default)]
pub(crate) struct ProfileLog {
    pub(crate) profilers: usize,
    pub(crate) readers: usize,
    pub(crate) entries: Vec<Arc<ProfileEntry>>,
    pub(crate) batches: FxHashMap<Seq, BatchTimes>,
}

/// A command, a wait or a callback.
pub(crate) struct ProfileEntry {
    pub(crate) queue: QueueKey,
    pub(crate) label: Arc<str>,
    pub(crate) lane: usize,
    pub(crate) stamp: Stamp,
    pub(crate) at: &'static Location<'static>,
    pub(crate) enqueued: Instant,
    pub(crate) noted: ProfileEvent,
}

/// What an entry is of.
pub(crate) enum ProfileEvent {
    Command(NotedCommand),
    Wait { point: Point, label: Option<Arc<str>>, cause: ProfiledCause },
    UserWait(Arc<UserSignal>),
    Callback(Arc<CallTime>),
}

/// A command for a device.
pub(crate) struct NotedCommand {
    pub(crate) what: CommandKind,
    /// The name of what it launches.
    pub(crate) kernel: Option<Arc<str>>,
    pub(crate) bytes: Option<u64>,
    /// When the device does it; none if the host does.
    pub(crate) time: Option<Arc<TimeSlot>>,
}

/// Who asked for a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ProfiledCause {
    Program,
    Policy,
    /// The queue was made.
    Birth,
}

/// One of the queues that have a slot one after the other: the one born at this stamp.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct QueueKey {
    pub(crate) slot: Slot,
    pub(crate) born: Stamp,
}

/// When the host function of a callback began and ended.
#[derive(Default)]
pub(crate) struct CallTime(pub(crate) Mutex<Option<(Instant, Instant)>>);

/// A batch between host and device.
#[derive(Clone, Copy)]
pub(crate) struct BatchTimes {
    pub(crate) lane: usize,
    /// Right before it was recorded and submitted.
    pub(crate) submitted: Instant,
    /// When the host saw that it was complete.
    pub(crate) completed: Option<Instant>,
}

/// All that was noted between two points.
pub(crate) struct ProfileNotes {
    pub(crate) entries: Vec<Arc<ProfileEntry>>,
    pub(crate) batches: FxHashMap<Seq, BatchTimes>,
}

impl ProfileNotes {
    /// What was noted of commands.
    pub(crate) fn commands(&self) -> impl Iterator<Item = &NotedCommand> {
        self.entries.iter().filter_map(|entry| match &entry.noted {
            ProfileEvent::Command(command) => Some(command),
            _ => None,
        })
    }
}

impl CallTime {
    pub(crate) fn get(&self) -> Option<(Instant, Instant)> {
        *lock(&self.0)
    }
}
