//! The time at which a blocking wait returns without a result.

use crate::scheduler::engine::SLICE;
use std::time::Duration;
use web_time::Instant;

/// Time at which a wait ends. `None` means no limit.
#[derive(Clone, Copy)]
pub(crate) struct Deadline(Option<Instant>);

impl Deadline {
    pub(crate) fn after(limit: Option<Duration>) -> Self {
        Self(limit.and_then(|limit| Instant::now().checked_add(limit)))
    }

    /// Returns a deadline that has already passed.
    pub(crate) fn now() -> Self {
        Self(Some(Instant::now()))
    }

    /// Returns the time that is left. Without a limit it is [`Duration::MAX`].
    pub(crate) fn left(self) -> Duration {
        self.0.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()))
    }

    /// Returns the time that is left, [`SLICE`] at most.
    pub(crate) fn slice(self) -> Duration {
        self.left().min(SLICE)
    }

    pub(crate) fn is_endless(self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn has_passed(self) -> bool {
        self.0.is_some_and(|end| Instant::now() >= end)
    }
}
