//! One row of a profile.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// A command, a wait or a callback in a [`Profile`](crate::Profile). Times are seconds since the start of the profiler,
/// on the host's clock.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Row {
    /// Label of the queue.
    pub queue: Arc<str>,
    /// `true` if the context itself enqueued the command. The command then comes before all later commands of any
    /// queue.
    pub by_context: bool,
    /// Number of the queue in the profile. Several queues may have the same label.
    pub queue_number: usize,
    /// Number of the hardware queue.
    pub lane: usize,
    /// Kind of the row.
    pub activity: Activity,
    /// Entry point of a launch, number of bytes of a transfer, or the label of the awaited queue or event, or of a
    /// graph's node.
    pub name: Arc<str>,
    /// Number of bytes that the command moved.
    pub bytes: Option<u64>,
    /// Line that enqueued the row.
    pub location: &'static Location<'static>,
    /// Time at which the row was enqueued.
    pub enqueued: f64,
    /// Time directly before the row's batch was recorded and submitted. `None` if the row was never submitted, or if
    /// the host executes it.
    pub submitted: Option<f64>,
    /// Batch of the row, as an index into [`Profile::batches`](crate::Profile::batches).
    pub batch: Option<usize>,
    /// Number of other commands on the same level, which have the same start. If there are any, the command may have
    /// taken less time than `time`.
    pub level_peers: usize,
    /// Interval in which a command or callback ran, or in which a wait held its queue.
    pub time: Result<Interval, Unmeasured>,
    /// Row of the replay, as an index into [`Profile::rows`](crate::Profile::rows), if the row is a node of a graph.
    /// `queue` then names the queue of the replay, followed by the captured queue.
    pub replay: Option<usize>,
    /// Awaited work or event, if the row is a wait.
    pub awaited: Option<Awaited>,
}

impl Row {
    /// Makes a row without a time. The other fields have the values of a command that the host executes alone on lane
    /// 0.
    #[doc(hidden)]
    pub fn new(
        queue: Arc<str>,
        activity: Activity,
        name: Arc<str>,
        location: &'static Location<'static>,
    ) -> Self {
        Self {
            queue,
            by_context: false,
            queue_number: 0,
            lane: 0,
            activity,
            name,
            bytes: None,
            location,
            enqueued: 0.0,
            submitted: None,
            batch: None,
            level_peers: 0,
            time: Err(Unmeasured::NeverRan),
            replay: None,
            awaited: None,
        }
    }

    /// Returns the index of the awaited row, if the row is a wait and the awaited row is in the profile.
    pub(crate) fn awaited_row(&self) -> Option<usize> {
        self.awaited.as_ref()?.row
    }

    /// Returns `true` for a launch, copy, fill, upload or read.
    pub(crate) fn is_work(&self) -> bool {
        self.activity.is_work()
    }

    /// Returns `true` if the row has no time, and the reason is not [`Unmeasured::InPlace`].
    pub(crate) fn lacks_time(&self) -> bool {
        self.time.is_err_and(|reason| reason != Unmeasured::InPlace)
    }
}

/// An interval of time, in seconds: `start <= end`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Interval {
    /// Start of the interval.
    pub start: f64,
    /// End of the interval, not before the start.
    pub end: f64,
}

impl Interval {
    /// Returns the length in seconds.
    pub fn seconds(&self) -> f64 {
        self.end - self.start
    }
}

/// The kind of a row of a profile.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Activity {
    /// A launch of a kernel.
    Launch,
    /// A copy from an array to an array.
    Copy,
    /// A fill.
    Fill,
    /// A copy from the host to an array.
    Upload,
    /// A copy from an array to the host.
    Read,
    /// Commands recorded by the program itself.
    Encode,
    /// A replay of a graph.
    Replay,
    /// A wait for another queue or for the host.
    Wait,
    /// A host callback.
    Callback,
}

impl Activity {
    /// Returns the name of the activity in lower case.
    pub fn word(self) -> &'static str {
        match self {
            Activity::Launch => "launch",
            Activity::Copy => "copy",
            Activity::Fill => "fill",
            Activity::Upload => "upload",
            Activity::Read => "read",
            Activity::Encode => "encode",
            Activity::Replay => "replay",
            Activity::Wait => "wait",
            Activity::Callback => "callback",
        }
    }

    /// Returns `true` for a launch.
    pub fn computes(self) -> bool {
        self == Activity::Launch
    }

    pub(crate) fn is_work(self) -> bool {
        self.computes() || self.moves()
    }

    /// Returns `true` for an activity that moves bytes: a copy, a fill, an upload or a read.
    pub fn moves(self) -> bool {
        matches!(self, Activity::Copy | Activity::Fill | Activity::Upload | Activity::Read)
    }
}

impl fmt::Display for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// The queue or event that a wait waited for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Awaited {
    /// Label of the queue or event. `None` if the queue had been dropped.
    pub label: Option<Arc<str>>,
    /// Index of the last row before the awaited point, if that row is in the profile. `None` for a user event.
    pub row: Option<usize>,
    /// Reason why the queue waits.
    pub cause: WaitCause,
}

impl Awaited {
    /// Makes the description of an awaited queue or event.
    #[doc(hidden)]
    pub fn new(label: Option<Arc<str>>, row: Option<usize>, cause: WaitCause) -> Self {
        Self { label, row, cause }
    }
}

/// The cause of a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum WaitCause {
    /// The program enqueued a wait for another queue.
    Queue,
    /// The program enqueued a wait for a user event.
    Host,
    /// The policy `Ordered` added the wait, because both queues use the same bytes.
    Policy,
    /// The queue is new: it comes after everything enqueued before.
    QueueCreation,
}

/// The reason why a row has no time. A time of 0 would look like a very short command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Unmeasured {
    /// The adapter has no timestamps.
    NoClock,
    /// The driver gave no valid time.
    Invalid,
    /// The command completed before the next tick of the device's clock.
    TooShort,
    /// The host accessed the bytes in place, without the device.
    InPlace,
    /// The commands were recorded by the program itself, and are not measured.
    Foreign,
    /// The command never ran, because its queue failed.
    NeverRan,
    /// The row is a wait for work that has no time.
    NoTime,
}

impl fmt::Display for Unmeasured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Unmeasured::NoClock => "the adapter has no timestamps",
            Unmeasured::Invalid => "the driver gave no valid time",
            Unmeasured::TooShort => "it completed before the next tick of the device's clock",
            Unmeasured::InPlace => "the host accessed the bytes in place",
            Unmeasured::Foreign => "the program has recorded the commands",
            Unmeasured::NeverRan => "it never ran",
            Unmeasured::NoTime => "the awaited work has no time",
        })
    }
}
