//! A fence of a graphics API, for submissions that bypass wgpu.

use super::{Fence, LostFlag, PollSleep, poll_until};
use crate::prim::{Mutex, lock, try_lock};
use crate::{Lost, TimelineValue};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Longest native wait. The fence checks the lost flag between two native waits.
pub(super) const LONGEST_SLICE: Duration = Duration::from_millis(100);
/// Longest time that a dropped fence waits for its last value. After that, its calls are leaked.
const PATIENCE: Duration = Duration::from_secs(5);
/// Value of the fences of a removed device on DX12. No submission signals it on any API.
const REMOVED: u64 = u64::MAX;
/// Reason of a removal for which the API names none.
pub(super) const NO_REASON: &str = "the device was removed";

/// The calls with which a native fence is read and awaited. Their errors are reasons why the device is lost.
pub trait NativeCalls: Send + Sync {
    /// Returns the value that the device has passed.
    ///
    /// # Errors
    /// Returns the reason if the device is lost.
    fn value(&self) -> Result<u64, String>;

    /// Blocks until the device has passed `value`, at most for `limit`. May return earlier. The caller passes only a
    /// submitted value.
    ///
    /// # Errors
    /// Returns the reason if the device is lost.
    fn wait(&self, value: u64, limit: Duration) -> Result<(), String>;

    /// Returns the reason of a removal that the value of the fence shows.
    fn removal_reason(&self) -> String {
        NO_REASON.into()
    }

    /// Returns the limit of the next native wait of a call that has waited for `waited`.
    fn slice(&self, waited: Duration) -> Duration {
        let _ = waited;
        LONGEST_SLICE
    }

    /// Returns `true` if the API admits only one thread at a time.
    fn takes_turns(&self) -> bool {
        false
    }
}

/// A [`Fence`] on the calls of a graphics API.
///
/// If the API admits one thread at a time, calls take the lock `turn`.
pub(super) struct NativeFence<C: NativeCalls> {
    /// `Some` until the drop.
    calls: Option<C>,
    lost: LostFlag,
    turn: Arc<Mutex<()>>,
    // The largest submitted value, and the largest value known to have passed.
    submitted: AtomicU64,
    passed: AtomicU64,
}

impl<C: NativeCalls> NativeFence<C> {
    pub(super) fn new(calls: C, lost: LostFlag, turn: Arc<Mutex<()>>) -> Self {
        let calls = Some(calls);
        Self { calls, lost, turn, submitted: AtomicU64::new(0), passed: AtomicU64::new(0) }
    }

    /// # Panics
    /// Never, because the calls exist until the drop.
    pub(super) fn calls(&self) -> &C {
        self.calls.as_ref().expect("they are there until the drop")
    }

    /// Records a submission that signals `value`.
    pub(super) fn submitted(&self, value: TimelineValue) {
        self.submitted.store(value.0, Ordering::Relaxed);
    }

    /// Returns the value of the last recorded submission.
    pub(super) fn last_submitted(&self) -> TimelineValue {
        TimelineValue(self.submitted.load(Ordering::Relaxed))
    }

    /// Reads the value that the device has passed.
    fn look(&self) -> Result<TimelineValue, Lost> {
        let passed = self.calls().value().map_err(|reason| self.lose(&reason))?;
        if passed == REMOVED {
            return Err(self.lose(&self.calls().removal_reason()));
        }
        self.passed.fetch_max(passed, Ordering::Release);
        Ok(TimelineValue(passed))
    }

    /// Waits in the driver for `value`, at most for `slice`.
    fn wait_slice(&self, value: TimelineValue, slice: Duration) -> Result<(), Lost> {
        self.calls().wait(value.0, slice).map_err(|reason| self.lose(&reason))?;
        self.lost.check()
    }

    /// Declares the device lost. Returns the loss, with the first reason that was given.
    fn lose(&self, reason: &str) -> Lost {
        self.lost.raise(reason);
        self.lost.check().err().unwrap_or_else(|| Lost { reason: reason.into() })
    }
}

impl<C: NativeCalls> Fence for NativeFence<C> {
    /// Returns the last known value if calls take turns and another thread has the turn.
    fn completed(&self) -> Result<TimelineValue, Lost> {
        self.lost.check()?;
        if !self.calls().takes_turns() {
            return self.look();
        }
        match try_lock(&self.turn) {
            Some(_inside) => self.look(),
            // Pairs with the release in `look`: this thread then sees what the driver has shown the other one.
            None => Ok(TimelineValue(self.passed.load(Ordering::Acquire))),
        }
    }

    // `value` must be submitted: some APIs fail for other values.
    fn wait(&self, value: TimelineValue, limit: Duration) -> Result<TimelineValue, Lost> {
        let mut sleep = PollSleep::new();
        let start = Instant::now();
        let pause = |left: Duration| {
            if !self.calls().takes_turns() {
                return self.wait_slice(value, left.min(self.calls().slice(start.elapsed())));
            }
            sleep.sleep(left); // calls take turns, and a native wait would keep the other threads out
            Ok(())
        };
        poll_until(value, limit, || self.completed(), pause)
    }
}

impl<C: NativeCalls> Drop for NativeFence<C> {
    /// Waits for the last signal and drops the calls with what they own. If the device is lost or the wait exceeds
    /// `PATIENCE`, the calls are leaked: the driver may still use the fence, and a lost device must not be called.
    fn drop(&mut self) {
        let last = self.last_submitted();
        let has_passed = self.wait(last, PATIENCE).is_ok_and(|completed| completed >= last);
        let Some(calls) = self.calls.take() else { return };
        if !has_passed {
            return std::mem::forget(calls);
        }
        let _inside = calls.takes_turns().then(|| lock(&self.turn));
        drop(calls);
    }
}

#[cfg(all(test, not(fencepost_loom)))]
mod tests {
    use super::*;
    use crate::Timeline;

    const LIMIT: Duration = Duration::from_secs(60);

    /// A fence whose value the test sets.
    #[derive(Default)]
    struct SetValue {
        value: AtomicU64,
        dropped: Arc<AtomicU64>,
    }

    impl NativeCalls for SetValue {
        fn value(&self) -> Result<u64, String> {
            Ok(self.value.load(Ordering::Relaxed))
        }

        fn wait(&self, _: u64, _: Duration) -> Result<(), String> {
            Ok(())
        }
    }

    impl Drop for SetValue {
        fn drop(&mut self) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn fence() -> NativeFence<SetValue> {
        NativeFence::new(SetValue::default(), LostFlag::default(), Arc::default())
    }

    fn set(fence: &NativeFence<SetValue>, value: u64) {
        fence.calls().value.store(value, Ordering::Relaxed);
    }

    #[test]
    fn the_value_of_a_removed_device_is_its_loss_and_completes_nothing() {
        let fence = fence();
        let mut timeline = Timeline::default();
        for value in 1..=3 {
            fence.submitted(TimelineValue(value));
            timeline.submit(TimelineValue(value));
        }
        set(&fence, 1);
        timeline.complete(fence.completed().expect("the device is there"));
        set(&fence, u64::MAX);
        let lost = Err(Lost { reason: NO_REASON.into() });
        assert_eq!(fence.wait(TimelineValue(2), LIMIT), lost);
        assert_eq!(fence.completed(), lost);
        assert_eq!((timeline.completed(), timeline.in_flight()), (TimelineValue(1), 2));
    }

    #[test]
    fn a_lost_device_stays_lost_even_if_its_fence_has_a_value_again() {
        let fence = fence();
        fence.submitted(TimelineValue(1));
        set(&fence, u64::MAX);
        assert!(fence.completed().is_err());
        set(&fence, 1);
        assert!(fence.completed().is_err() && fence.wait(TimelineValue(1), LIMIT).is_err());
    }

    #[test]
    fn a_dropped_fence_drops_its_calls_after_its_last_value_and_leaks_those_of_a_lost_device() {
        for (value, drops) in [(2, 1), (u64::MAX, 0)] {
            let fence = fence();
            fence.submitted(TimelineValue(2));
            set(&fence, value);
            let dropped = fence.calls().dropped.clone();
            drop(fence);
            assert_eq!(dropped.load(Ordering::Relaxed), drops, "{value}");
        }
    }
}
