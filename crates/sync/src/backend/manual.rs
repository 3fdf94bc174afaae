//! A fence that its owner moves: the CPU recorder and the tests use it.

use super::Fence;
use crate::prim::{Condvar, Mutex, left, lock, sleep_for};
use crate::{Lost, TimelineValue};
use std::time::Duration;
use web_time::Instant;

/// A [`Fence`] that its owner moves, with [`pass`](Self::pass) and [`lose`](Self::lose).
///
/// # Example
/// ```
/// use fencepost_sync::{TimelineValue, backend::{Fence, ManualFence}};
/// let fence = ManualFence::default();
/// fence.pass(TimelineValue(2));
/// assert_eq!(fence.completed()?, TimelineValue(2));
/// fence.lose("unplugged");
/// assert_eq!(fence.completed().unwrap_err().reason, "unplugged");
/// # Ok::<(), fencepost_sync::Lost>(())
/// ```
#[derive(Debug, Default)]
pub struct ManualFence {
    progress: Mutex<Progress>,
    moved: Condvar,
}

#[derive(Debug, Default)]
struct Progress {
    completed: TimelineValue,
    lost: Option<Lost>,
}

impl ManualFence {
    /// Moves the fence to `value`; it never moves back.
    pub fn pass(&self, value: TimelineValue) {
        let mut progress = lock(&self.progress);
        progress.completed = progress.completed.max(value);
        self.moved.notify_all();
    }

    /// Declares the device lost; the first reason stays.
    pub fn lose(&self, reason: &str) {
        let mut progress = lock(&self.progress);
        progress.lost.get_or_insert_with(|| Lost { reason: reason.into() });
        self.moved.notify_all();
    }
}

impl Progress {
    fn answer(&self) -> Result<TimelineValue, Lost> {
        self.lost.clone().map_or(Ok(self.completed), Err)
    }
}

impl Fence for ManualFence {
    fn completed(&self) -> Result<TimelineValue, Lost> {
        lock(&self.progress).answer()
    }

    fn wait(&self, value: TimelineValue, limit: Duration) -> Result<TimelineValue, Lost> {
        let start = Instant::now();
        let mut progress = lock(&self.progress);
        while progress.completed < value && progress.lost.is_none() {
            let left = left(start, limit);
            if left.is_zero() {
                break;
            }
            progress = sleep_for(&self.moved, progress, left);
        }
        progress.answer()
    }
}

#[cfg(all(test, not(fencepost_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_when_the_value_is_passed() {
        let fence = ManualFence::default();
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| fence.wait(TimelineValue(3), Duration::from_secs(60)));
            fence.pass(TimelineValue(1));
            fence.pass(TimelineValue(3));
            assert_eq!(waiter.join().expect("the waiter ends"), Ok(TimelineValue(3)));
        });
    }

    #[test]
    fn a_wait_ends_with_the_loss() {
        let fence = ManualFence::default();
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| fence.wait(TimelineValue(1), Duration::from_secs(60)));
            fence.lose("pulled out");
            assert_eq!(waiter.join().expect("the waiter ends"), Err(Lost { reason: "pulled out".into() }));
        });
    }

    #[test]
    fn a_wait_ends_at_its_limit() {
        assert_eq!(
            ManualFence::default().wait(TimelineValue(1), Duration::from_millis(1)),
            Ok(TimelineValue(0))
        );
    }
}

#[cfg(all(test, fencepost_loom))]
mod loom_models {
    use super::*;
    use loom::thread;
    use std::sync::Arc;

    const LIMIT: Duration = Duration::from_secs(1);

    fn fences() -> (Arc<ManualFence>, Arc<ManualFence>) {
        let fence = Arc::new(ManualFence::default());
        (fence.clone(), fence)
    }

    #[test]
    fn a_wait_misses_no_pass() {
        loom::model(|| {
            let (fence, device) = fences();
            let device = thread::spawn(move || (1..=2).for_each(|value| device.pass(TimelineValue(value))));
            assert_eq!(fence.wait(TimelineValue(2), LIMIT), Ok(TimelineValue(2)));
            device.join().expect("the device ends");
        });
    }

    #[test]
    fn a_pass_wakes_every_waiter() {
        loom::model(|| {
            let (fence, device) = fences();
            let other = fence.clone();
            let other = thread::spawn(move || other.wait(TimelineValue(1), LIMIT));
            let device = thread::spawn(move || device.pass(TimelineValue(2)));
            assert_eq!(fence.wait(TimelineValue(2), LIMIT), Ok(TimelineValue(2)));
            assert_eq!(other.join().expect("the other waiter ends"), Ok(TimelineValue(2)));
            device.join().expect("the device ends");
        });
    }

    #[test]
    fn a_wait_misses_no_loss() {
        loom::model(|| {
            let (fence, device) = fences();
            let driver = fence.clone();
            let device = thread::spawn(move || device.pass(TimelineValue(1)));
            let driver = thread::spawn(move || driver.lose("unplugged"));
            assert_eq!(fence.wait(TimelineValue(2), LIMIT), Err(Lost { reason: "unplugged".into() }));
            device.join().expect("the device ends");
            driver.join().expect("the driver ends");
        });
    }
}
