//! The time limit of launches. One timer thread per process sleeps until the next deadline of a launch, and stops that
//! launch.

use fencepost_kernels::report;
use fencepost_sync::{PerProcess, Process};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use web_time::Instant;

/// The timer of one launch, which runs until it is dropped.
pub(super) struct LaunchTimer {
    stop: Arc<AtomicBool>,
}

/// The launches that run with a time limit.
#[derive(Default)]
struct TimedLaunches {
    state: Mutex<Deadlines>,
    /// Id of the process in which the timer thread was started.
    process: AtomicU32,
    /// Notified when a launch has a deadline before the thread wakes up.
    earlier: Condvar,
}

#[derive(Default)]
struct Deadlines {
    launches: Vec<(Instant, Arc<AtomicBool>)>,
    /// Time at which the thread will wake up; `None` while it sleeps without a limit.
    wakes_at: Option<Instant>,
}

/// Launches of all devices of the process. The first launch starts the thread, even in a child of fork(2).
static LAUNCHES: LazyLock<PerProcess<TimedLaunches>> =
    LazyLock::new(|| PerProcess::new(TimedLaunches::default(), TimedLaunches::default));

impl LaunchTimer {
    /// Starts the timer. If the launch is not over after `limit`, it is stopped. A browser has no thread that could stop
    /// it.
    pub(super) fn start(limit: Duration) -> Self {
        let stop = Arc::<AtomicBool>::default();
        let deadline = Instant::now().checked_add(limit).filter(|_| cfg!(not(target_arch = "wasm32")));
        if let Some(deadline) = deadline {
            LAUNCHES.get().add(deadline, stop.clone());
        }
        Self { stop }
    }

    /// Returns the flag that tells the launch to stop.
    pub(super) fn stop(&self) -> &AtomicBool {
        &self.stop
    }
}

impl Drop for LaunchTimer {
    fn drop(&mut self) {
        // A launch without a deadline is not in the list.
        if Arc::strong_count(&self.stop) > 1 {
            LAUNCHES.get().state().launches.retain(|(_, stop)| !Arc::ptr_eq(stop, &self.stop));
        }
    }
}

impl TimedLaunches {
    fn state(&self) -> MutexGuard<'_, Deadlines> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&'static self, deadline: Instant, stop: Arc<AtomicBool>) {
        let process = Process::this().number();
        if self.process.load(Ordering::Relaxed) != process
            && self.process.swap(process, Ordering::Relaxed) != process
        {
            let started = std::thread::Builder::new().name("fencepost timer".into()).spawn(|| self.run());
            if let Err(error) = started {
                report!(
                    Warn,
                    "launches on the CPU have no time limit, because the system refuses a thread: {error}"
                );
            }
        }
        let mut state = self.state();
        state.launches.push((deadline, stop));
        if state.wakes_at.is_none_or(|at| deadline < at) {
            self.earlier.notify_one();
        }
    }

    /// Stops launches at their deadlines.
    fn run(&self) {
        let mut state = self.state();
        loop {
            state.wakes_at = state.stop_due(Instant::now());
            state = match state.wakes_at {
                None => self.earlier.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(at) => {
                    let left = at.saturating_duration_since(Instant::now());
                    self.earlier.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

impl Deadlines {
    /// Stops the launches past their deadlines, and returns the next deadline.
    fn stop_due(&mut self, now: Instant) -> Option<Instant> {
        self.launches.retain(|(deadline, stop)| {
            let is_due = *deadline <= now;
            if is_due {
                stop.store(true, Ordering::Relaxed);
            }
            !is_due
        });
        self.launches.iter().map(|&(deadline, _)| deadline).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_launch_that_is_due_is_stopped_and_a_later_one_has_the_next_deadline() {
        let now = Instant::now();
        let at = |seconds| now + Duration::from_secs(seconds);
        let stops = [(); 3].map(|()| Arc::<AtomicBool>::default());
        let mut deadlines = Deadlines::default();
        deadlines.launches.extend([at(9), at(1), at(5)].into_iter().zip(stops.iter().cloned()));
        let stopped = || stops.each_ref().map(|stop| stop.load(Ordering::Relaxed));

        assert_eq!((deadlines.stop_due(now), stopped()), (Some(at(1)), [false; 3]));
        assert_eq!((deadlines.stop_due(at(5)), stopped()), (Some(at(9)), [false, true, true]));
        assert_eq!((deadlines.stop_due(at(9)), stopped()), (None, [true; 3]));
    }

    #[test]
    fn the_thread_stops_a_short_launch_that_starts_after_a_long_one() {
        let long = LaunchTimer::start(Duration::from_secs(600));
        let short = LaunchTimer::start(Duration::from_millis(1));
        while !short.stop().load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(!long.stop().load(Ordering::Relaxed));
    }

    #[test]
    fn a_launch_that_is_over_or_has_no_limit_is_not_in_the_list() {
        let unlimited = LaunchTimer::start(Duration::MAX);
        assert_eq!(Arc::strong_count(&unlimited.stop), 1);
        let over = LaunchTimer::start(Duration::from_secs(600));
        let stop = over.stop.clone();
        drop(over);
        assert_eq!(Arc::strong_count(&stop), 1);
    }
}
