//! A thread that stops runs which take too long.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// Time between two checks of the clock.
const PERIOD: Duration = Duration::from_millis(200);

/// A thread that stops runs at their deadlines.
#[derive(Debug)]
pub(crate) struct Watchdog {
    timers: Arc<Mutex<Vec<Weak<Timer>>>>,
}

/// Deadline of a run, kept as long as the run.
#[derive(Debug)]
pub(crate) struct Timer {
    deadline: Instant,
    /// `true` after the deadline.
    pub(crate) stop: AtomicBool,
}

impl Watchdog {
    /// Starts the thread. It ends when the watchdog is dropped.
    pub(crate) fn new() -> Self {
        let timers = Arc::new(Mutex::new(Vec::new()));
        let weak: Weak<Mutex<Vec<Weak<Timer>>>> = Arc::downgrade(&timers);
        thread::spawn(move || {
            while let Some(timers) = weak.upgrade() {
                look(&timers);
                drop(timers);
                thread::sleep(PERIOD);
            }
        });
        Self { timers }
    }

    /// Starts the clock of a run, and stops the run after `limit` unless the timer is dropped first.
    pub(crate) fn start(&self, limit: Duration) -> Arc<Timer> {
        let timer = Arc::new(Timer { deadline: Instant::now() + limit, stop: AtomicBool::new(false) });
        let mut timers = self.timers.lock().unwrap_or_else(PoisonError::into_inner);
        timers.push(Arc::downgrade(&timer));
        timer
    }
}

/// Stops the runs whose deadline has passed, and forgets those that have ended.
fn look(timers: &Mutex<Vec<Weak<Timer>>>) {
    let now = Instant::now();
    let mut timers = timers.lock().unwrap_or_else(PoisonError::into_inner);
    timers.retain(|timer| {
        let timer = timer.upgrade();
        if let Some(timer) = timer.as_ref().filter(|timer| timer.deadline <= now) {
            timer.stop.store(true, Ordering::Relaxed);
        }
        timer.is_some()
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_stopped_at_its_deadline_and_not_before() {
        let watchdog = Watchdog::new();
        let late = watchdog.start(Duration::ZERO);
        let early = watchdog.start(Duration::from_secs(100_000));
        while !late.stop.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        assert!(!early.stop.load(Ordering::Relaxed));
    }
}
