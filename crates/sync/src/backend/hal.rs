//! wgpu-hal's own fence, for submissions that are made past wgpu.
#![allow(unsafe_code, reason = "a native fence on the device that wgpu opened")]

use super::{Fence, LostFlag};
use crate::prim::{Mutex, lock};
use crate::{Error, Lost, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use wgpu::hal::{self, Device as _};

/// The longest native wait in one piece; between pieces the lost flag is looked at.
const SLICE: Duration = Duration::from_millis(100);
/// The longest time between two looks, where calls take turns and a native wait would keep the others out.
const LONGEST_NAP: Duration = Duration::from_millis(1);
/// How long a fence that is dropped waits for its last value before it leaves everything to the driver.
const PATIENCE: Duration = Duration::from_secs(5);

/// A [`Fence`] of backend `A`. A submission to the queue of its device, past wgpu, is what signals it:
/// [`native`](Self::native) and a value larger than those before, then [`submitted`](Self::submitted).
///
/// On GL, which lets one thread in at a time, calls wait for `turn`.
pub struct HalFence<A: hal::Api> {
    /// There until the drop.
    native: Option<A::Fence>,
    device: wgpu::Device,
    lost: LostFlag,
    turn: Arc<Mutex<()>>,
    /// The largest values that were submitted, and that were seen to be passed.
    submitted: AtomicU64,
    passed: AtomicU64,
}

impl<A: hal::Api> HalFence<A> {
    /// Makes a fence on `device`, if it is one of `A`.
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
        let (submitted, passed) = Default::default();
        Ok(Self { native, device: device.clone(), lost, turn, submitted, passed })
    }

    /// The fence to signal.
    ///
    /// # Panics
    /// Never: it is there until the drop.
    pub fn native(&self) -> &A::Fence {
        self.native.as_ref().expect("it is there until the drop")
    }

    /// Notes that a submission that signals `value` was made.
    pub fn submitted(&self, value: Value) {
        self.submitted.store(value.0, Ordering::Relaxed);
    }

    /// Looks how far the device is.
    fn look(&self) -> Result<Value, Lost> {
        // SAFETY: the handle is only used to look at a fence of our own.
        let Some(raw) = (unsafe { self.device.as_hal::<A>() }) else { return Err(self.lose("it is gone")) };
        // SAFETY: the fence is of this device and lives as long as `self`.
        let passed = unsafe { raw.get_fence_value(self.native()) };
        let passed = passed.map_err(|error| self.lose(&error.to_string()))?;
        self.passed.fetch_max(passed, Ordering::Relaxed);
        Ok(Value(passed))
    }

    fn wait_slice(&self, value: Value, slice: Duration) -> Result<(), Lost> {
        // SAFETY: the handle is only used to wait on a fence of our own.
        let Some(raw) = (unsafe { self.device.as_hal::<A>() }) else { return Err(self.lose("it is gone")) };
        // SAFETY: the fence is of this device and lives as long as `self`.
        let waited = unsafe { raw.wait(self.native(), value.0, Some(slice)) };
        waited.map_err(|error| self.lose(&error.to_string()))?;
        self.lost.check()
    }

    fn lose(&self, reason: &str) -> Lost {
        self.lost.raise(reason);
        self.lost.check().err().unwrap_or_else(|| Lost { reason: reason.into() })
    }
}

/// Whether a backend lets only one thread in.
fn one_at_a_time<A: hal::Api>() -> bool {
    A::VARIANT == wgpu::Backend::Gl
}

impl<A: hal::Api> Fence for HalFence<A> {
    /// Where calls take turns and somebody else is inside, it says what was last known.
    fn completed(&self) -> Result<Value, Lost> {
        self.lost.check()?;
        if !one_at_a_time::<A>() {
            return self.look();
        }
        match self.turn.try_lock() {
            Ok(_inside) => self.look(),
            Err(_) => Ok(Value(self.passed.load(Ordering::Relaxed))),
        }
    }

    /// Ask only for values that were submitted: some backends know no others.
    fn wait(&self, value: Value, limit: Duration) -> Result<Value, Lost> {
        let (start, mut nap) = (Instant::now(), Duration::from_micros(20));
        loop {
            let completed = self.completed()?;
            let left = limit.saturating_sub(start.elapsed());
            if completed >= value || left.is_zero() {
                return Ok(completed);
            }
            if one_at_a_time::<A>() {
                std::thread::sleep(nap.min(left));
                nap = (nap * 2).min(LONGEST_NAP);
            } else {
                self.wait_slice(value, left.min(SLICE))?;
            }
        }
    }
}

impl<A: hal::Api> Drop for HalFence<A> {
    /// A fence may not go before its last signal; after a loss nothing of the device is touched, and it stays.
    fn drop(&mut self) {
        let last = Value(self.submitted.load(Ordering::Relaxed));
        if !self.wait(last, PATIENCE).is_ok_and(|completed| completed >= last) {
            return std::mem::forget((self.native.take(), self.device.clone()));
        }
        let native = self.native.take();
        let _inside = one_at_a_time::<A>().then(|| lock(&self.turn));
        // SAFETY: the handle is only used to destroy a fence of our own.
        if let (Some(raw), Some(native)) = (unsafe { self.device.as_hal::<A>() }, native) {
            // SAFETY: every submission that signals it is complete, and nobody else has it.
            unsafe { raw.destroy_fence(native) };
        }
    }
}
