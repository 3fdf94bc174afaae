//! Limits the time that the launches of a level run.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Limits the time of the launches of a level. A kernel that runs longer loses the device, as a kernel that hangs loses a
/// GPU.
pub(super) const LONGEST: Duration = Duration::from_secs(60);

/// Measures how long the launches of the current level run.
pub(super) struct RunningTime {
    epoch: Instant,
    /// Counts the nanoseconds from `epoch` to the start of the launches, or is 0 while none run.
    begun: AtomicU64,
    stop: AtomicBool,
    limit: Duration,
}

impl RunningTime {
    pub(super) fn new(limit: Duration) -> Self {
        Self { epoch: Instant::now(), begun: AtomicU64::new(0), stop: AtomicBool::new(false), limit }
    }

    /// Records that launches start.
    pub(super) fn begin(&self) {
        self.begun.store((self.epoch.elapsed().as_nanos() as u64).max(1), Ordering::Relaxed);
    }

    /// Records that all launches are done.
    pub(super) fn end(&self) {
        self.begun.store(0, Ordering::Relaxed);
    }

    /// Returns the flag that ends the launches.
    pub(super) fn stop(&self) -> &AtomicBool {
        &self.stop
    }

    /// Ends the launches if they have run too long. Each thread that waits for the device calls this now and then.
    pub(super) fn check(&self) {
        let begun = Duration::from_nanos(self.begun.load(Ordering::Relaxed));
        if !begun.is_zero() && self.epoch.elapsed().saturating_sub(begun) > self.limit {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}
