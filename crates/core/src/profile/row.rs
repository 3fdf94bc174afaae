//! One row of a profile.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// A command, a wait or a callback in a [`Profile`](super::Profile), with all that is known of it. Times are seconds since
/// the profiler was started, on the host's clock.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Row {
    /// The label of its queue.
    pub queue: Arc<str>,
    /// Whether the context itself enqueued it: then it comes before whatever any queue enqueues later.
    pub by_context: bool,
    /// The number of its queue in the profile: several may have one label.
    pub queue_number: usize,
    /// The number of the hardware queue.
    pub lane: usize,
    /// What it is.
    pub activity: Activity,
    /// The entry point of a kernel, the bytes of a copy, what a wait waited for.
    pub name: Arc<str>,
    /// Bytes that it moved.
    pub bytes: Option<u64>,
    /// The line that enqueued it.
    pub location: &'static Location<'static>,
    /// When it was enqueued.
    pub enqueued: f64,
    /// When its batch was about to be recorded and submitted; `None` if it never was, or is the host's to do.
    pub submitted: Option<f64>,
    /// The batch it was in, as its place in [`Profile::batches`](super::Profile::batches).
    pub batch: Option<usize>,
    /// How many other commands were on its level, and started with it. If there are any it may have taken less time than
    /// it says.
    pub beside: usize,
    /// When it ran, or held up its queue.
    pub time: Result<Interval, Unmeasured>,
    /// For a wait: what for.
    pub awaited: Option<Awaited>,
}

impl Row {
    /// Whether it is work for a device, neither a wait nor a callback.
    pub(crate) fn is_work(&self) -> bool {
        self.activity.computes() || self.activity.moves()
    }

    /// Whether it has no time, though it took some.
    pub(crate) fn lacks_time(&self) -> bool {
        self.time.is_err_and(|reason| reason != Unmeasured::InPlace)
    }
}

/// From when to when, in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Interval {
    /// The beginning.
    pub start: f64,
    /// The end, not before the beginning.
    pub end: f64,
}

impl Interval {
    /// How long it is.
    pub fn seconds(&self) -> f64 {
        self.end - self.start
    }
}

/// What a row of a profile is of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Activity {
    /// A launch of a kernel.
    Launch,
    /// A copy from array to array.
    Copy,
    /// A fill.
    Fill,
    /// Bytes of the host's on their way to an array.
    Upload,
    /// Bytes of an array's on their way to the host.
    Read,
    /// Commands that the program has recorded itself.
    Encode,
    /// A wait for another queue or for the host.
    Wait,
    /// A host function in the order of its queue.
    Callback,
}

impl Activity {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Activity::Launch => "launch",
            Activity::Copy => "copy",
            Activity::Fill => "fill",
            Activity::Upload => "upload",
            Activity::Read => "read",
            Activity::Encode => "encode",
            Activity::Wait => "wait",
            Activity::Callback => "callback",
        }
    }

    /// Whether it is a launch, which computes.
    pub fn computes(self) -> bool {
        self == Activity::Launch
    }

    /// Whether it moves bytes: a copy, a fill, an upload, a read.
    pub fn moves(self) -> bool {
        matches!(self, Activity::Copy | Activity::Fill | Activity::Upload | Activity::Read)
    }
}

impl fmt::Display for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// What a wait waited for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Awaited {
    /// The label of the queue or of the event; `None` if the queue was gone.
    pub label: Option<Arc<str>>,
    /// The last row before the point waited for, if it is in the profile; `None` for the host.
    pub row: Option<usize>,
    /// Who asked for the wait.
    pub cause: WaitCause,
}

/// Who asked for a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum WaitCause {
    /// The program, for another queue.
    Queue,
    /// The program, for an event of the host's.
    Host,
    /// The policy [`Ordered`](crate::Policy::Ordered): both queues use the same bytes.
    Policy,
    /// The queue was made, after all that had been enqueued.
    Birth,
}

/// Why a row has no time. A 0 would pass for the shortest of all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Unmeasured {
    /// The adapter has no timestamps.
    NoClock,
    /// The driver gave no valid time.
    Invalid,
    /// It was over before the device's clock had moved on.
    TooShort,
    /// The host did it where the bytes are, without the device.
    InPlace,
    /// The program has recorded it: what is in it is not looked at.
    Foreign,
    /// It never ran: its queue failed.
    NeverRan,
    /// It is a wait for something without a time.
    NoTime,
}

impl fmt::Display for Unmeasured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Unmeasured::NoClock => "the adapter has no timestamps",
            Unmeasured::Invalid => "the driver gave no valid time",
            Unmeasured::TooShort => "it was over before the device's clock had moved on",
            Unmeasured::InPlace => "the host did it in place",
            Unmeasured::Foreign => "the program has recorded it",
            Unmeasured::NeverRan => "it never ran",
            Unmeasured::NoTime => "what it waited for has no time",
        })
    }
}
