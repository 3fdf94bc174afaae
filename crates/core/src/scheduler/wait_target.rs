//! The targets of waits, and the callers of flushes.

use crate::scheduler::engine::SLICE;
use crate::scheduler::user_signal::UserSignal;
use crate::scheduler::wakers::WakeCondition;
use fencepost_sync::{Point, Seq};
use std::time::Duration;

/// Longest native wait for a point or a batch in a context without threads.
const LONGEST_WAIT_SLICE: Duration = Duration::from_secs(10);

/// Target of a wait.
#[derive(Clone, Copy)]
pub(crate) enum WaitTarget<'event> {
    Point(Point),
    Batch(Seq),
    User(&'event UserSignal),
}

impl WaitTarget<'_> {
    /// Returns the longest native wait for this target in a context without threads. For an event the wait is short,
    /// because another thread may signal the event meanwhile. For other targets it is long, so that the result does not
    /// depend on how long a busy machine lets this thread sleep.
    pub(crate) fn longest_slice(self) -> Duration {
        if let WaitTarget::User(_) = self { SLICE } else { LONGEST_WAIT_SLICE }
    }

    /// Returns the point, if the target is one.
    pub(crate) fn point(self) -> Option<Point> {
        if let WaitTarget::Point(point) = self { Some(point) } else { None }
    }

    /// Returns the condition of a waker that waits for this target.
    pub(crate) fn wake_condition(self) -> WakeCondition {
        match self {
            WaitTarget::Point(point) => WakeCondition::point(point),
            WaitTarget::Batch(seq) => WakeCondition::Batch(seq),
            WaitTarget::User(event) => WakeCondition::User(event.hold),
        }
    }
}

/// Next action of the caller of a flush. Only the thread of a caller that waits may submit the batch itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller {
    Continues,
    Waits,
}
