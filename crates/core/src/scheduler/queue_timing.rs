//! How a queue is timed, and the time of a point.

use crate::scheduler::command::{Op, Timed};
use crate::work::step::Work;
use crate::work::time_slot::TimeSlot;
use fencepost_sync::Stamp;
use std::sync::Arc;

/// The times of a queue's commands.
pub(crate) struct QueueTiming {
    /// Whether its markers have times: the program asked for that, and nobody only profiles.
    pub(crate) marked: bool,
    /// Whether the device has a clock.
    pub(crate) clocked: bool,
    /// The last command, unless the queue waits for something since.
    pub(crate) last: Option<(Stamp, Arc<TimeSlot>)>,
    /// The launches since a tuning started.
    pub(crate) tuned: Option<Vec<Arc<TimeSlot>>>,
}

impl QueueTiming {
    /// For a queue whose events are asked for times.
    pub(crate) fn for_events() -> Box<Self> {
        Box::new(Self { marked: true, clocked: true, last: None, tuned: None })
    }

    /// For a queue whose commands are only noted.
    pub(crate) fn for_notes(clocked: bool) -> Box<Self> {
        Box::new(Self { marked: false, clocked, last: None, tuned: None })
    }

    /// Whether no event and no tuning asks for times.
    pub(crate) fn for_notes_only(&self) -> bool {
        !self.marked && self.tuned.is_none()
    }

    /// A command whose time is told to `time`.
    pub(crate) fn op(work: Work, time: &Arc<TimeSlot>, clocked: bool) -> Op {
        Op::Timed(Box::new(Timed { work, time: time.clone(), clocked }))
    }
}

/// When a queue is past a point.
pub(crate) struct PointTime {
    pub(crate) queue: Arc<str>,
    pub(crate) lane: usize,
    /// The command whose end it is.
    pub(crate) stamp: Stamp,
    pub(crate) time: Arc<TimeSlot>,
}
