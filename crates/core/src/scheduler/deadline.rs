//! The end of a blocking wait.

use crate::scheduler::engine::SLICE;
use std::time::Duration;
use web_time::Instant;

/// When a wait has to end, if ever.
#[derive(Clone, Copy)]
pub(crate) struct Deadline(Option<Instant>);

impl Deadline {
    pub(crate) fn after(limit: Option<Duration>) -> Self {
        Self(limit.and_then(|limit| Instant::now().checked_add(limit)))
    }

    /// At once.
    pub(crate) fn now() -> Self {
        Self(Some(Instant::now()))
    }

    /// What is left of it.
    pub(crate) fn left(self) -> Duration {
        self.0.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()))
    }

    /// What is left of it, at most a slice.
    pub(crate) fn slice(self) -> Duration {
        self.0.map_or(SLICE, |end| end.saturating_duration_since(Instant::now()).min(SLICE))
    }

    pub(crate) fn is_endless(self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn over(self) -> bool {
        self.0.is_some_and(|end| Instant::now() >= end)
    }
}
