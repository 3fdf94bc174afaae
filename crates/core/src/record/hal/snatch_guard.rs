//! A thread that holds a lock for another one, which may then wait for the same lock itself.

use fencepost_sync::prim::{Condvar, Mutex, lock, sleep, sleep_for};
use std::io;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// How long something is held before it is asked for: whoever has to wait for it may stand in the way of who asks.
const UNASKED: Duration = Duration::from_millis(10);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum GuardStage {
    Starting,
    Held,
    /// Not held, or no longer.
    Gone,
    /// Held until the keeper is dropped.
    Asked,
    Over,
}

/// Holds something on a thread of its own: a guard that must not be taken twice by one thread.
pub(crate) struct SnatchGuard {
    shared: Arc<GuardShared>,
    thread: Option<JoinHandle<()>>,
}

struct GuardShared {
    stage: Mutex<GuardStage>,
    moved: Condvar,
}

impl SnatchGuard {
    /// Holds what `take` gives; `None` if that is nothing.
    ///
    /// # Errors
    /// The system has no thread.
    pub(crate) fn start<G>(take: impl FnOnce() -> Option<G> + Send + 'static) -> io::Result<Option<Self>> {
        let shared = Arc::new(GuardShared { stage: Mutex::new(GuardStage::Starting), moved: Condvar::new() });
        let theirs = shared.clone();
        let thread = Builder::new().name("fencepost keeper".into()).spawn(move || theirs.hold(take))?;
        let keeper = Self { shared, thread: Some(thread) };
        Ok((keeper.shared.started() == GuardStage::Held).then_some(keeper))
    }

    /// Whether it was held all the time since the start; then it is until the keeper is dropped.
    pub(crate) fn keep(&self) -> bool {
        self.shared.change(GuardStage::Held, GuardStage::Asked)
    }
}

impl Drop for SnatchGuard {
    fn drop(&mut self) {
        self.shared.set(GuardStage::Over);
        // A thread that has panicked holds nothing either.
        self.thread.take().into_iter().for_each(|thread| drop(thread.join()));
    }
}

impl GuardShared {
    fn hold<G>(&self, take: impl FnOnce() -> Option<G>) {
        let Some(_held) = take() else { return self.set(GuardStage::Gone) };
        self.set(GuardStage::Held);
        let mut stage = lock(&self.stage);
        if *stage == GuardStage::Held {
            stage = sleep_for(&self.moved, stage, UNASKED);
        }
        if *stage == GuardStage::Held {
            *stage = GuardStage::Gone;
        }
        while *stage == GuardStage::Asked {
            stage = sleep(&self.moved, stage);
        }
    }

    fn started(&self) -> GuardStage {
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
    fn what_is_asked_for_is_held_until_the_end() {
        let (ours, theirs) = (Arc::new(()), Arc::new(()));
        let held = Arc::downgrade(&theirs);
        let keeper = SnatchGuard::start(move || Some((theirs, ours))).expect("a thread").expect("held");
        assert!(keeper.keep());
        std::thread::sleep(3 * UNASKED);
        assert!(held.upgrade().is_some());
        drop(keeper);
        assert!(held.upgrade().is_none());
    }

    #[test]
    fn what_nobody_asks_for_is_let_go_and_said_to_be() {
        let theirs = Arc::new(());
        let held = Arc::downgrade(&theirs);
        let keeper = SnatchGuard::start(move || Some(theirs)).expect("a thread").expect("held");
        while held.upgrade().is_some() {
            std::thread::yield_now();
        }
        assert!(!keeper.keep());
    }

    #[test]
    fn nothing_is_not_held() {
        assert!(SnatchGuard::start(|| None::<()>).expect("a thread").is_none());
    }
}
