//! wgpu-hal's own fence, for submissions that bypass wgpu.
#![allow(unsafe_code, reason = "a native fence on the device that wgpu opened")]

use super::{Fence, LostFlag, PollSleep, poll_until};
use crate::prim::{Mutex, lock, try_lock};
use crate::{Error, Lost, TimelineValue};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use wgpu::hal::{self, Device as _};

/// Longest native wait. The fence checks the lost flag between two native waits.
const LONGEST_SLICE: Duration = Duration::from_millis(100);
/// Limit of the first native wait on Vulkan.
const FIRST_SLICE: Duration = Duration::from_micros(250);
/// Longest time that a dropped fence waits for its last value. After that, the fence and the device are leaked.
const PATIENCE: Duration = Duration::from_secs(5);

/// A [`Fence`] of backend `A`, for submissions that bypass wgpu. Each submission signals [`native`](Self::native) with
/// a larger value than before, and the caller then passes the value to [`submitted`](Self::submitted).
///
/// On GL, which admits one thread at a time, calls take the lock `turn`.
pub struct HalFence<A: hal::Api> {
    /// `Some` until the drop.
    native: Option<A::Fence>,
    device: wgpu::Device,
    lost: LostFlag,
    turn: Arc<Mutex<()>>,
    // The largest submitted value, and the largest value known to have passed.
    submitted: AtomicU64,
    passed: AtomicU64,
}

impl<A: hal::Api> HalFence<A> {
    /// Makes a fence on `device` if it is a device of `A`.
    ///
    /// # Errors
    /// [`Error::Fence`] otherwise.
    pub fn new(device: &wgpu::Device, lost: LostFlag, turn: Arc<Mutex<()>>) -> Result<Self, Error> {
        let refused = |reason: String| Error::Fence { reason };
        // SAFETY: the handle is only used to make a fence of our own.
        let raw = unsafe { device.as_hal::<A>() };
        let raw = raw.ok_or_else(|| refused(format!("not a device of {}", A::VARIANT)))?;
        // SAFETY: the device is alive.
        let made = unsafe { raw.create_fence() };
        let native = Some(made.map_err(|error| refused(error.to_string()))?);
        Ok(Self {
            native,
            device: device.clone(),
            lost,
            turn,
            submitted: AtomicU64::new(0),
            passed: AtomicU64::new(0),
        })
    }

    /// Returns the fence to signal.
    ///
    /// # Panics
    /// Never, because the fence exists until the drop.
    pub fn native(&self) -> &A::Fence {
        self.native.as_ref().expect("it is there until the drop")
    }

    /// Records a submission that signals `value`.
    pub fn submitted(&self, value: TimelineValue) {
        self.submitted.store(value.0, Ordering::Relaxed);
    }

    /// Returns the value of the last recorded submission.
    pub fn last_submitted(&self) -> TimelineValue {
        TimelineValue(self.submitted.load(Ordering::Relaxed))
    }

    /// Reads the value that the device has passed. An error of the driver counts as the loss of the device.
    fn look(&self) -> Result<TimelineValue, Lost> {
        // SAFETY: the handle is only used to read a fence of our own.
        let Some(raw) = (unsafe { self.device.as_hal::<A>() }) else { return Err(self.lose("it is gone")) };
        // SAFETY: the fence is of this device and lives as long as `self`.
        let passed = unsafe { raw.get_fence_value(self.native()) };
        let passed = passed.map_err(|error| self.lose(&error.to_string()))?;
        self.passed.fetch_max(passed, Ordering::Relaxed);
        Ok(TimelineValue(passed))
    }

    /// Waits in the driver for `value`, at most for `slice`.
    fn wait_slice(&self, value: TimelineValue, slice: Duration) -> Result<(), Lost> {
        // SAFETY: the handle is only used to wait on a fence of our own.
        let Some(raw) = (unsafe { self.device.as_hal::<A>() }) else { return Err(self.lose("it is gone")) };
        // SAFETY: the fence is of this device and lives as long as `self`.
        let waited = unsafe { raw.wait(self.native(), value.0, Some(slice)) };
        waited.map_err(|error| self.lose(&error.to_string()))?;
        self.lost.check()
    }

    /// Declares the device lost. Returns the loss, with the first reason that was given.
    fn lose(&self, reason: &str) -> Lost {
        self.lost.raise(reason);
        self.lost.check().err().unwrap_or_else(|| Lost { reason: reason.into() })
    }
}

/// Returns the limit of the next native wait of a call that has waited for `waited`: a quarter of that time on Vulkan.
///
/// Some drivers report the end of a submission up to 10 ms late if the native wait is long. With this limit, the result
/// of a call is late by at most a quarter of the call's time, or by [`FIRST_SLICE`], and a long call wakes up rarely.
/// DX12 measures waits in whole milliseconds.
fn native_slice(backend: wgpu::Backend, waited: Duration) -> Duration {
    if backend == wgpu::Backend::Vulkan {
        (waited / 4).clamp(FIRST_SLICE, LONGEST_SLICE)
    } else {
        LONGEST_SLICE
    }
}

/// Returns `true` if the backend admits only one thread at a time.
fn one_at_a_time<A: hal::Api>() -> bool {
    A::VARIANT == wgpu::Backend::Gl
}

impl<A: hal::Api> Fence for HalFence<A> {
    /// Returns the last known value if calls take turns and another thread has the turn.
    fn completed(&self) -> Result<TimelineValue, Lost> {
        self.lost.check()?;
        if !one_at_a_time::<A>() {
            return self.look();
        }
        match try_lock(&self.turn) {
            Some(_inside) => self.look(),
            None => Ok(TimelineValue(self.passed.load(Ordering::Relaxed))),
        }
    }

    // `value` must be submitted: some backends fail for other values.
    fn wait(&self, value: TimelineValue, limit: Duration) -> Result<TimelineValue, Lost> {
        let mut sleep = PollSleep::new();
        let start = Instant::now();
        let pause = |left: Duration| {
            if !one_at_a_time::<A>() {
                return self.wait_slice(value, left.min(native_slice(A::VARIANT, start.elapsed())));
            }
            sleep.sleep(left); // calls take turns, and a native wait would keep the other threads out
            Ok(())
        };
        poll_until(value, limit, || self.completed(), pause)
    }
}

impl<A: hal::Api> Drop for HalFence<A> {
    /// Waits for the last signal and destroys the fence. If the device is lost or the wait exceeds `PATIENCE`, the
    /// fence and the device are leaked: the driver may still use the fence, and a lost device must not be called.
    fn drop(&mut self) {
        let last = self.last_submitted();
        if !self.wait(last, PATIENCE).is_ok_and(|completed| completed >= last) {
            return std::mem::forget((self.native.take(), self.device.clone()));
        }
        let native = self.native.take();
        let _inside = one_at_a_time::<A>().then(|| lock(&self.turn));
        // SAFETY: the handle is only used to destroy a fence of our own.
        if let (Some(raw), Some(native)) = (unsafe { self.device.as_hal::<A>() }, native) {
            // SAFETY: every submission that signals the fence is complete, and no other code holds it.
            unsafe { raw.destroy_fence(native) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_native_wait_on_vulkan_takes_a_quarter_of_the_time_before_it_at_most() {
        let mut waited = Duration::ZERO;
        let mut waits = 0;
        while waited < Duration::from_secs(1) {
            let slice = native_slice(wgpu::Backend::Vulkan, waited);
            assert!(slice <= (waited / 4).max(FIRST_SLICE), "{slice:?} after {waited:?}");
            assert!(slice <= LONGEST_SLICE);
            (waited, waits) = (waited + slice, waits + 1);
        }
        assert!(waits < 40, "a wait of a second wakes up {waits} times");
    }
}
