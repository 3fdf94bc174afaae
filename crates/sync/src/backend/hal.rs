//! wgpu-hal's own fence, for submissions that bypass wgpu.
#![allow(unsafe_code, reason = "a native fence on the device that wgpu opened")]

use super::native::{LONGEST_SLICE, NO_REASON, NativeCalls, NativeFence};
use super::{Fence, LostFlag};
use crate::prim::Mutex;
use crate::{Error, Lost, TimelineValue};
use std::sync::Arc;
use std::time::Duration;
use wgpu::hal::{self, Device as _, api};

/// Limit of the first native wait on Vulkan.
const FIRST_SLICE: Duration = Duration::from_micros(250);
/// Reason of the loss if wgpu has dropped its device.
const GONE: &str = "it is gone";

/// A graphics API whose fences [`HalFence`] can be.
pub trait FenceApi: hal::Api {
    /// Returns the API's own calls on a fence of wgpu-hal. `None` means that wgpu-hal reads the fence and waits for it.
    fn own_calls(_: &Self::Device, _: &Self::Fence) -> Option<Box<dyn OwnCalls<Self>>> {
        None
    }
}

/// An API's own calls on one fence, which replace those of wgpu-hal.
pub trait OwnCalls<A: hal::Api>: NativeCalls {
    /// Makes `value` pass only if the device executes the open command buffer of `encoder` without an error. The
    /// default implementation does nothing, because on most APIs an error loses the device.
    fn watch(&self, encoder: &A::CommandEncoder, value: u64) {
        let _ = (encoder, value);
    }
}

#[cfg(vulkan)]
impl FenceApi for api::Vulkan {}

#[cfg(gles)]
impl FenceApi for api::Gles {}

impl FenceApi for api::Noop {}

/// A [`Fence`] of API `A`, for submissions that bypass wgpu. Each submission signals [`native`](Self::native) with a
/// larger value than before, and the caller then passes the value to [`submitted`](Self::submitted).
///
/// On GL, which admits one thread at a time, calls take the lock `turn`.
pub struct HalFence<A: FenceApi>(NativeFence<HalCalls<A>>);

/// The fence of wgpu-hal and the calls on it.
struct HalCalls<A: FenceApi> {
    own: Option<Box<dyn OwnCalls<A>>>,
    /// `Some` until the drop.
    native: Option<A::Fence>,
    device: wgpu::Device,
}

impl<A: FenceApi> HalFence<A> {
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
        let native = made.map_err(|error| refused(error.to_string()))?;
        let own = A::own_calls(&raw, &native);
        let calls = HalCalls { own, native: Some(native), device: device.clone() };
        Ok(Self(NativeFence::new(calls, lost, turn)))
    }

    /// Returns the fence to signal.
    pub fn native(&self) -> &A::Fence {
        self.0.calls().native()
    }

    /// Makes `value`, which the next submission signals, pass only if the device executes the open command buffer of
    /// `encoder` without an error. A command buffer that is never submitted holds no value back.
    pub fn watch(&self, encoder: &A::CommandEncoder, value: TimelineValue) {
        if let Some(own) = &self.0.calls().own {
            own.watch(encoder, value.0);
        }
    }

    /// Records a submission that signals `value`.
    pub fn submitted(&self, value: TimelineValue) {
        self.0.submitted(value);
    }

    /// Returns the value of the last recorded submission.
    pub fn last_submitted(&self) -> TimelineValue {
        self.0.last_submitted()
    }
}

impl<A: FenceApi> Fence for HalFence<A> {
    fn completed(&self) -> Result<TimelineValue, Lost> {
        self.0.completed()
    }

    fn wait(&self, value: TimelineValue, limit: Duration) -> Result<TimelineValue, Lost> {
        self.0.wait(value, limit)
    }
}

impl<A: FenceApi> HalCalls<A> {
    /// # Panics
    /// Never, because the fence exists until the drop.
    fn native(&self) -> &A::Fence {
        self.native.as_ref().expect("it is there until the drop")
    }
}

impl<A: FenceApi> NativeCalls for HalCalls<A> {
    fn value(&self) -> Result<u64, String> {
        if let Some(own) = &self.own {
            return own.value();
        }
        // SAFETY: the handle is only used to read a fence of our own.
        let raw = unsafe { self.device.as_hal::<A>() }.ok_or(GONE)?;
        // SAFETY: the fence is of this device and lives as long as `self`.
        let value = unsafe { raw.get_fence_value(self.native()) };
        value.map_err(|error| error.to_string())
    }

    fn wait(&self, value: u64, limit: Duration) -> Result<(), String> {
        if let Some(own) = &self.own {
            return own.wait(value, limit);
        }
        // SAFETY: the handle is only used to wait on a fence of our own.
        let raw = unsafe { self.device.as_hal::<A>() }.ok_or(GONE)?;
        // SAFETY: the fence is of this device and lives as long as `self`.
        let waited = unsafe { raw.wait(self.native(), value, Some(limit)) };
        waited.map(|_| ()).map_err(|error| error.to_string())
    }

    fn removal_reason(&self) -> String {
        self.own.as_ref().map_or_else(|| NO_REASON.into(), |own| own.removal_reason())
    }

    fn slice(&self, waited: Duration) -> Duration {
        self.own.as_ref().map_or_else(|| native_slice(A::VARIANT, waited), |own| own.slice(waited))
    }

    fn takes_turns(&self) -> bool {
        A::VARIANT == wgpu::Backend::Gl
    }
}

impl<A: FenceApi> Drop for HalCalls<A> {
    fn drop(&mut self) {
        let native = self.native.take();
        // SAFETY: the handle is only used to destroy a fence of our own.
        if let (Some(raw), Some(native)) = (unsafe { self.device.as_hal::<A>() }, native) {
            // SAFETY: every submission that signals the fence is complete, and no other code holds it.
            unsafe { raw.destroy_fence(native) };
        }
    }
}

/// Returns the limit of the next native wait of a call that has waited for `waited`: a quarter of that time on Vulkan.
///
/// Some drivers report the end of a submission up to 10 ms late if the native wait is long. With this limit, the result
/// of a call is late by at most a quarter of the call's time, or by [`FIRST_SLICE`], and a long call wakes up rarely.
fn native_slice(backend: wgpu::Backend, waited: Duration) -> Duration {
    if backend == wgpu::Backend::Vulkan {
        (waited / 4).clamp(FIRST_SLICE, LONGEST_SLICE)
    } else {
        LONGEST_SLICE
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
