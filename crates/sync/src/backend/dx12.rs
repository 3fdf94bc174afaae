//! The fence of Direct3D 12, whose waiters sleep on Win32 events.
//!
//! wgpu-hal makes an event for each call that waits, and rounds limits down to whole milliseconds.
#![cfg_attr(dx12, allow(unsafe_code, reason = "calls of Direct3D 12 and Win32"))]

use super::native::{NO_REASON, NativeCalls};
use crate::prim::{Mutex, lock};
use std::time::Duration;

/// The limit of a wait without a limit, in milliseconds.
const INFINITE: u32 = u32::MAX;

/// The calls of Direct3D 12 and Win32 on one fence. Their errors are messages of the system.
pub(super) trait Dx12Calls: Send + Sync {
    /// A Win32 event that is reset when a wait for it ends. Dropping it closes its handle.
    type Event: Send;

    /// `ID3D12Fence::GetCompletedValue`. The value is 2^64 - 1 if the device is removed.
    fn completed_value(&self) -> u64;

    /// `ID3D12Fence::SetEventOnCompletion`. The event is set once the fence has `value` or a larger one, so a removal
    /// sets it too. If the fence has the value already, the call sets the event.
    fn set_event_on_completion(&self, value: u64, event: &Self::Event) -> Result<(), String>;

    /// `CreateEventA`, for an event that is not set.
    fn create_event(&self) -> Result<Self::Event, String>;

    /// `WaitForSingleObject`. Returns `false` if the limit has passed.
    fn wait_for_event(&self, event: &Self::Event, milliseconds: u32) -> Result<bool, String>;

    /// `ID3D12Device::GetDeviceRemovedReason`. `None` means that the device is not removed.
    fn removed_reason(&self) -> Option<String>;
}

/// The waits for one fence. Each waiting thread has an event, and the events of threads that wait no longer are reused.
pub(super) struct EventWaits<D: Dx12Calls> {
    api: D,
    idle: Mutex<Vec<Waiter<D::Event>>>,
}

/// An event, and the value at which the fence will set it, or 0.
struct Waiter<E> {
    event: E,
    set_at: u64,
}

impl<D: Dx12Calls> EventWaits<D> {
    pub(super) fn new(api: D) -> Self {
        Self { api, idle: Mutex::new(Vec::new()) }
    }

    /// Takes an idle event or makes one. An event that the fence will set at `value` comes first.
    fn take(&self, value: u64) -> Result<Waiter<D::Event>, String> {
        let mut idle = lock(&self.idle);
        let fitting = idle.iter().position(|waiter| waiter.set_at == value);
        if let Some(at) = fitting.or_else(|| idle.len().checked_sub(1)) {
            return Ok(idle.swap_remove(at));
        }
        drop(idle);
        Ok(Waiter { event: self.api.create_event()?, set_at: 0 })
    }

    /// Sleeps until the fence has `value`. The event may also be set for a smaller value, for which it was used before.
    fn sleep(&self, waiter: &mut Waiter<D::Event>, value: u64, limit: Duration) -> Result<(), String> {
        if waiter.set_at != value {
            self.api.set_event_on_completion(value, &waiter.event)?;
            waiter.set_at = value;
        }
        let is_set = self.api.wait_for_event(&waiter.event, milliseconds(limit))?;
        if is_set && self.api.completed_value() >= value {
            waiter.set_at = 0;
        }
        Ok(())
    }
}

impl<D: Dx12Calls> NativeCalls for EventWaits<D> {
    fn value(&self) -> Result<u64, String> {
        Ok(self.api.completed_value())
    }

    fn wait(&self, value: u64, limit: Duration) -> Result<(), String> {
        let mut waiter = self.take(value)?;
        let slept = self.sleep(&mut waiter, value, limit);
        // After an error too, because the fence may still set the event.
        lock(&self.idle).push(waiter);
        slept.map_err(|error| match self.api.removed_reason() {
            Some(reason) => format!("{error}; {}", removed_for(&reason)),
            None => error,
        })
    }

    fn removal_reason(&self) -> String {
        self.api.removed_reason().map_or_else(|| NO_REASON.into(), |reason| removed_for(&reason))
    }
}

fn removed_for(reason: &str) -> String {
    format!("{NO_REASON}: {reason}")
}

/// Returns a limit in whole milliseconds, rounded up, so that a wait for less than one does not end at once.
fn milliseconds(limit: Duration) -> u32 {
    let whole = limit.as_nanos().div_ceil(1_000_000);
    u32::try_from(whole).map_or(INFINITE - 1, |whole| whole.min(INFINITE - 1))
}

#[cfg(dx12)]
pub(super) use calls::removal;

#[cfg(dx12)]
mod calls {
    use super::{Dx12Calls, EventWaits, removed_for};
    use crate::backend::Removal;
    use crate::backend::hal::{FenceApi, OwnCalls};
    use wgpu::hal::api::Dx12;
    use wgpu::hal::dx12;
    use windows::Win32::Foundation::{CloseHandle, HANDLE, WAIT_OBJECT_0, WAIT_TIMEOUT};
    use windows::Win32::Graphics::Direct3D12::{ID3D12Device, ID3D12Fence};
    use windows::Win32::System::Threading::{CreateEventA, WaitForSingleObject};

    struct Device(ID3D12Device);

    // SAFETY: any thread may call a device of Direct3D 12.
    unsafe impl Send for Device {}
    // SAFETY: several threads may call a device of Direct3D 12 at the same time.
    unsafe impl Sync for Device {}

    impl Device {
        fn removed_reason(&self) -> Option<String> {
            // SAFETY: the device is alive.
            let removed = unsafe { self.0.GetDeviceRemovedReason() };
            removed.err().map(|error| error.to_string())
        }
    }

    /// A device and its fence.
    struct Calls {
        device: Device,
        fence: ID3D12Fence,
    }

    // SAFETY: any thread may call a fence of Direct3D 12.
    unsafe impl Send for Calls {}
    // SAFETY: several threads may call a fence of Direct3D 12 at the same time.
    unsafe impl Sync for Calls {}

    /// The handle of an event.
    struct Event(HANDLE);

    // SAFETY: any thread of the process may use the handle.
    unsafe impl Send for Event {}

    impl Drop for Event {
        fn drop(&mut self) {
            // SAFETY: the handle is open, and only this value closes it.
            let closed = unsafe { CloseHandle(self.0) };
            drop(closed); // an open handle can always be closed
        }
    }

    impl Dx12Calls for Calls {
        type Event = Event;

        fn completed_value(&self) -> u64 {
            // SAFETY: the fence is alive.
            unsafe { self.fence.GetCompletedValue() }
        }

        fn set_event_on_completion(&self, value: u64, event: &Event) -> Result<(), String> {
            // SAFETY: the handle is open, and stays open until the fence has set the event or is leaked with it.
            let set = unsafe { self.fence.SetEventOnCompletion(value, event.0) };
            set.map_err(|error| error.to_string())
        }

        fn create_event(&self) -> Result<Event, String> {
            // SAFETY: no pointer is passed.
            let made = unsafe { CreateEventA(None, false, false, None) };
            made.map(Event).map_err(|error| error.to_string())
        }

        fn wait_for_event(&self, event: &Event, milliseconds: u32) -> Result<bool, String> {
            // SAFETY: the handle is open.
            match unsafe { WaitForSingleObject(event.0, milliseconds) } {
                WAIT_OBJECT_0 => Ok(true),
                WAIT_TIMEOUT => Ok(false),
                other => Err(format!("a wait for an event returned {}", other.0)),
            }
        }

        fn removed_reason(&self) -> Option<String> {
            self.device.removed_reason()
        }
    }

    impl OwnCalls<Dx12> for EventWaits<Calls> {}

    impl FenceApi for Dx12 {
        fn own_calls(device: &dx12::Device, fence: &dx12::Fence) -> Option<Box<dyn OwnCalls<Self>>> {
            let device = Device(device.raw_device().clone());
            Some(Box::new(EventWaits::new(Calls { device, fence: fence.raw_fence().clone() })))
        }
    }

    /// Returns the function that finds the removal of a device. wgpu does not look for it: the largest value of its
    /// fence completes all its submissions.
    pub(crate) fn removal(device: &wgpu::Device) -> Option<Removal> {
        // SAFETY: the handle is only used to ask for the reason of a removal.
        let device = Device(unsafe { device.as_hal::<Dx12>() }?.raw_device().clone());
        Some(Box::new(move || device.removed_reason().map(|reason| removed_for(&reason))))
    }
}

#[cfg(all(test, not(fencepost_loom)))]
mod model_tests;
