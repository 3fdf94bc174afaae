//! A command in the list of its queue.

use crate::scheduler::user_signal::UserWait;
use crate::work::kernel_launch::Launch;
use crate::work::step::Work;
use crate::work::time_slot::TimeSlot;
use fencepost_sync::{HoldId, Point, Stamp};
use std::sync::Arc;

/// A command in the list of its queue.
pub(crate) struct Command {
    /// Its place in the order of all enqueueing calls of the context.
    pub(crate) stamp: Stamp,
    pub(crate) op: Op,
}

impl Command {
    /// What it launches, if it is a launch.
    pub(crate) fn launch(self) -> Option<Box<Launch>> {
        if let Op::Work(Work::Launch(launch)) = self.op { Some(launch) } else { None }
    }
}

/// What a command does.
pub(crate) enum Op {
    /// Work for a device; it ends up in a batch.
    Work(Work),
    /// Work, and when it was done. In a box: the common command stays small.
    Timed(Box<Timed>),
    /// What follows in the queue comes after this point of another queue.
    Wait(Point),
    /// What follows in the queue comes after this event of the host.
    WaitUser(UserWait),
    /// Runs on the callback thread, in queue order.
    Callback(Callback),
    /// A callback that was handed over: its place in the queue until it has run.
    Called(HoldId),
}

impl Op {
    /// Whether it gives the host something that the program looks at, or gives back what the program fills again.
    #[inline]
    pub(crate) fn gives(&self) -> bool {
        match self {
            Op::Work(work) => work.gives(),
            Op::Timed(timed) => timed.work.gives(),
            Op::Callback(_) | Op::Called(_) => true,
            Op::Wait(_) | Op::WaitUser(_) => false,
        }
    }
}

/// A host function that runs in queue order.
pub(crate) type Callback = Box<dyn FnOnce() + Send>;

/// A command of a queue that is watched.
pub(crate) struct Timed {
    pub(crate) work: Work,
    pub(crate) time: Arc<TimeSlot>,
    /// Whether the device has a clock for it.
    pub(crate) clocked: bool,
}
