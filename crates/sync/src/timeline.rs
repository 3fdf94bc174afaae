//! The progress of one in-order hardware queue.

use std::fmt;

/// A point on a [`Timeline`]: the n-th submission, counted from 1. Zero is the start.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct TimelineValue(pub u64);

impl fmt::Display for TimelineValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Progress of a hardware queue: `completed <= submitted < pending`, and all three only increase.
///
/// A timeline is a plain value. Its owner guards it with a lock.
///
/// # Example
/// ```
/// use fencepost_sync::{Timeline, TimelineValue};
/// let mut timeline = Timeline::default();
/// let value = timeline.pending();
/// timeline.submit(value);
/// assert_eq!((timeline.in_flight(), timeline.complete(value)), (1, true));
/// assert_eq!(timeline.in_flight(), 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    completed: TimelineValue,
    submitted: TimelineValue,
}

impl Timeline {
    /// Returns the value that the next submission will signal.
    pub fn pending(&self) -> TimelineValue {
        TimelineValue(self.submitted.0 + 1)
    }

    /// Returns the largest value whose work was submitted to the device.
    pub fn submitted(&self) -> TimelineValue {
        self.submitted
    }

    /// Returns the largest value that the device has passed.
    pub fn completed(&self) -> TimelineValue {
        self.completed
    }

    /// Returns the number of submissions that the device has not completed.
    pub fn in_flight(&self) -> u64 {
        self.submitted.0 - self.completed.0
    }

    /// Records the submission that signals `value`.
    ///
    /// # Panics
    /// If `value` is not the pending one, which is a bug of the caller: values are submitted one by one.
    pub fn submit(&mut self, value: TimelineValue) {
        assert_eq!(value, self.pending(), "bug: timeline values are submitted one by one");
        self.submitted = value;
    }

    /// Records that the device has passed `value`; returns `true` if `completed` increases. A value below `completed`
    /// changes nothing. A value that was never submitted counts as the last submitted one.
    pub fn complete(&mut self, value: TimelineValue) -> bool {
        let value = value.min(self.submitted);
        let news = value > self.completed;
        self.completed = self.completed.max(value);
        news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completion_never_moves_back() {
        let mut t = Timeline::default();
        t.submit(TimelineValue(1));
        t.submit(TimelineValue(2));
        assert!(t.complete(TimelineValue(2)));
        assert!(!t.complete(TimelineValue(1)));
        assert_eq!(t.completed(), TimelineValue(2));
    }

    #[test]
    fn completion_never_passes_submission() {
        let mut t = Timeline::default();
        t.submit(TimelineValue(1));
        assert!(t.complete(TimelineValue(9)));
        assert_eq!((t.completed(), t.in_flight()), (TimelineValue(1), 0));
    }
}
