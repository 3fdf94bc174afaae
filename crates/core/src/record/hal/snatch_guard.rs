//! A thread that holds a shared lock on behalf of another, because no thread may take that lock twice.

use fencepost_sync::loader::holds_loader_lock;
use fencepost_sync::prim::{Condvar, Mutex, lock, sleep, sleep_for, yield_now};
use std::io;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Longest time for which the value is held before `keep` is called. Without a limit, a deadlock would be possible: a
/// thread that waits for the lock may hold another lock, which the caller of `keep` waits for.
const HOLD_LIMIT: Duration = Duration::from_millis(2);
/// Number of times that `started` polls before it sleeps. A sleeping thread wakes up late, and by then a thread that
/// destroys many buffers would be waiting for the lock again.
const LOOKS: usize = 1000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum GuardStage {
    /// The thread has not yet called `take`.
    Starting,
    /// The thread holds the value, until [`HOLD_LIMIT`] has passed.
    Held,
    /// The thread never held the value, or has released it.
    Gone,
    /// The thread holds the value until the `SnatchGuard` is dropped.
    Asked,
    /// The `SnatchGuard` is dropped, and the thread releases the value.
    Over,
}

/// A value that a separate thread holds: a guard of wgpu's snatch lock, which no thread may take twice.
pub(crate) struct SnatchGuard {
    shared: Arc<GuardShared>,
    thread: Option<JoinHandle<()>>,
}

struct GuardShared {
    stage: Mutex<GuardStage>,
    moved: Condvar,
}

impl SnatchGuard {
    /// Starts a thread that holds the value of `take`. Returns `None` if `take` returns `None`.
    ///
    /// # Errors
    /// Returns the system's error if it cannot start a thread, and an error if no thread starts because this one holds
    /// the lock of the system's loader.
    pub(crate) fn start<G>(take: impl FnOnce() -> Option<G> + Send + 'static) -> io::Result<Option<Self>> {
        if holds_loader_lock() {
            return Err(io::Error::other("this thread holds the lock of the system's loader"));
        }
        let shared = Arc::new(GuardShared { stage: Mutex::new(GuardStage::Starting), moved: Condvar::new() });
        let theirs = shared.clone();
        let thread = Builder::new().name("fencepost guard".into()).spawn(move || theirs.hold(take))?;
        let guard = Self { shared, thread: Some(thread) };
        Ok((guard.shared.started() == GuardStage::Held).then_some(guard))
    }

    /// Returns `true` if the thread has held the value since the start. In that case it holds the value until `self` is
    /// dropped.
    pub(crate) fn keep(&self) -> bool {
        self.shared.change(GuardStage::Held, GuardStage::Asked)
    }
}

impl Drop for SnatchGuard {
    fn drop(&mut self) {
        self.shared.set(GuardStage::Over);
        if let Some(thread) = self.thread.take() {
            drop(thread.join()); // a thread that has panicked has released the value
        }
    }
}

impl GuardShared {
    fn hold<G>(&self, take: impl FnOnce() -> Option<G>) {
        let Some(_held) = take() else { return self.set(GuardStage::Gone) };
        self.set(GuardStage::Held);
        let mut stage = lock(&self.stage);
        if *stage == GuardStage::Held {
            stage = sleep_for(&self.moved, stage, HOLD_LIMIT);
        }
        if *stage == GuardStage::Held {
            *stage = GuardStage::Gone;
        }
        while *stage == GuardStage::Asked {
            stage = sleep(&self.moved, stage);
        }
    }

    fn started(&self) -> GuardStage {
        for _ in 0..LOOKS {
            let stage = *lock(&self.stage);
            if stage != GuardStage::Starting {
                return stage;
            }
            yield_now();
        }
        let mut stage = lock(&self.stage);
        while *stage == GuardStage::Starting {
            stage = sleep(&self.moved, stage);
        }
        *stage
    }

    fn set(&self, stage: GuardStage) {
        *lock(&self.stage) = stage;
        self.moved.notify_all();
    }

    fn change(&self, from: GuardStage, to: GuardStage) -> bool {
        let mut stage = lock(&self.stage);
        let is = *stage == from;
        if is {
            *stage = to;
        }
        drop(stage);
        self.moved.notify_all();
        is
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_value_is_held_until_the_drop() {
        // On a busy machine the limit may pass before the call of `keep`.
        let (guard, held) = loop {
            let value = Arc::new(());
            let held = Arc::downgrade(&value);
            let started = SnatchGuard::start(move || Some(value)).expect("a thread");
            if let Some(guard) = started.filter(SnatchGuard::keep) {
                break (guard, held);
            }
        };
        std::thread::sleep(3 * HOLD_LIMIT);
        assert!(held.upgrade().is_some());
        drop(guard);
        assert!(held.upgrade().is_none());
    }

    #[test]
    fn a_value_that_is_not_kept_in_time_is_released_and_keep_fails() {
        // On a busy machine the limit may pass before the start returns.
        let (guard, held) = loop {
            let value = Arc::new(());
            let held = Arc::downgrade(&value);
            if let Some(guard) = SnatchGuard::start(move || Some(value)).expect("a thread") {
                break (guard, held);
            }
        };
        while held.upgrade().is_some() {
            std::thread::yield_now();
        }
        assert!(!guard.keep());
    }

    #[test]
    fn start_returns_none_if_there_is_no_value_to_hold() {
        assert!(SnatchGuard::start(|| None::<()>).expect("a thread").is_none());
    }
}
