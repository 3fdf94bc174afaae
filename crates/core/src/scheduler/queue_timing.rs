//! The times of a queue and of its points.

use crate::scheduler::command::{Op, Timed};
use crate::work::step::Work;
use crate::work::time_slot::TimeSlot;
use fencepost_sync::Stamp;
use std::sync::Arc;

/// Times of a queue's commands.
pub(crate) struct QueueTiming {
    /// `true` if the program asked for times of the markers. `false` if only a profiler needs the times.
    pub(crate) marked: bool,
    /// `true` if the device has a clock.
    pub(crate) clocked: bool,
    /// Stamp and time of the last timed command, unless a wait, a callback or untimed work follows it.
    pub(crate) last: Option<(Stamp, Arc<TimeSlot>)>,
    /// Times of the launches since tuning started.
    pub(crate) tuned: Option<Vec<Arc<TimeSlot>>>,
}

impl QueueTiming {
    /// Returns the timing of a queue whose events report times.
    pub(crate) fn for_events() -> Box<Self> {
        Box::new(Self { marked: true, clocked: true, last: None, tuned: None })
    }

    /// Returns the timing of a queue whose commands are only noted.
    pub(crate) fn for_notes(clocked: bool) -> Box<Self> {
        Box::new(Self { marked: false, clocked, last: None, tuned: None })
    }

    /// Returns `true` if neither an event nor tuning needs the times.
    pub(crate) fn for_notes_only(&self) -> bool {
        !self.marked && self.tuned.is_none()
    }

    /// Returns a command that reports its time to `time`.
    pub(crate) fn op(work: Work, time: &Arc<TimeSlot>, clocked: bool) -> Op {
        Op::Timed(Box::new(Timed { work, time: time.clone(), clocked }))
    }
}

/// Time at which a queue passes a point.
pub(crate) struct PointTime {
    pub(crate) queue: Arc<str>,
    pub(crate) lane: usize,
    /// Stamp of the command that ends at the point.
    pub(crate) stamp: Stamp,
    pub(crate) time: Arc<TimeSlot>,
}
