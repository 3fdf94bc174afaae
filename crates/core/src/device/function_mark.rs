//! The devices whose host functions a thread executes, and the waits of such threads. A device continues only when its
//! function returns, so a cycle of these waits never ends.

use std::cell::RefCell;
use std::sync::{Mutex, PoisonError};

thread_local! {
    /// Devices whose functions this thread executes. A function may wait for another device, and the waiting thread may
    /// execute a function of that device.
    static DEVICES: RefCell<Vec<DeviceNumber>> = const { RefCell::new(Vec::new()) };
}

/// Endless waits of all threads that execute functions: the device of a function, and the device that the
/// function waits for. This is a lock of `std` even in loom models, since a static needs a constant initializer. No
/// other lock is taken while it is held.
static FUNCTION_WAITS: Mutex<Vec<(DeviceNumber, DeviceNumber)>> = Mutex::new(Vec::new());

/// Id of a device among those that exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DeviceNumber(pub(crate) usize);

/// A guard that marks this thread as one that executes a host function.
#[cfg(cpu)]
pub(crate) struct FunctionMark(());

#[cfg(cpu)]
impl FunctionMark {
    /// Marks this thread as one that executes a function of `device`.
    pub(crate) fn set(device: DeviceNumber) -> Self {
        let _ = DEVICES.try_with(|devices| devices.borrow_mut().push(device));
        Self(())
    }
}

#[cfg(cpu)]
impl Drop for FunctionMark {
    fn drop(&mut self) {
        let _ = DEVICES.try_with(|devices| devices.borrow_mut().pop());
    }
}

/// Returns `true` if this thread executes a function of `device`.
pub(crate) fn is_set(device: DeviceNumber) -> bool {
    with_devices(|devices| devices.contains(&device))
}

/// Returns `true` if this thread executes a function of any device.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn is_any_set() -> bool {
    with_devices(|devices| !devices.is_empty())
}

/// Calls `look` with the devices whose functions this thread executes. At the end of a thread the list may be gone
/// already when a destructor calls this; the thread executes no function then.
fn with_devices<R>(mut look: impl FnMut(&[DeviceNumber]) -> R) -> R {
    let looked = DEVICES.try_with(|devices| look(&devices.borrow()));
    looked.unwrap_or_else(|_| look(&[]))
}

/// This thread's wait for a device, recorded until the value is dropped.
#[derive(Default)]
pub(crate) struct FunctionWait(Vec<(DeviceNumber, DeviceNumber)>);

impl FunctionWait {
    /// Records the wait of this thread for `device`, unless the wait has a limit. Returns `None` if the wait can never
    /// end, because the thread executes a function of the device, or the device waits for a device whose function the
    /// thread executes.
    pub(crate) fn begin(device: DeviceNumber, is_endless: bool) -> Option<Self> {
        with_devices(|own| {
            if own.is_empty() || !is_endless {
                return (!own.contains(&device)).then(Self::default);
            }
            let mut waits = FUNCTION_WAITS.lock().unwrap_or_else(PoisonError::into_inner);
            if leads_to(&waits, device, own) {
                return None;
            }
            let new: Vec<_> = own.iter().map(|&own| (own, device)).collect();
            waits.extend(&new);
            Some(Self(new))
        })
    }
}

impl Drop for FunctionWait {
    fn drop(&mut self) {
        if self.0.is_empty() {
            return;
        }
        let mut waits = FUNCTION_WAITS.lock().unwrap_or_else(PoisonError::into_inner);
        for wait in &self.0 {
            let at = waits.iter().position(|other| other == wait);
            at.map(|at| waits.swap_remove(at));
        }
    }
}

/// Returns `true` if `from` is one of `ends`, or waits for one of them, directly or through other devices.
fn leads_to(waits: &[(DeviceNumber, DeviceNumber)], from: DeviceNumber, ends: &[DeviceNumber]) -> bool {
    let mut reached = vec![from];
    let mut at = 0;
    while let Some(&device) = reached.get(at) {
        if ends.contains(&device) {
            return true;
        }
        for &(waiter, awaited) in waits {
            if waiter == device && !reached.contains(&awaited) {
                reached.push(awaited);
            }
        }
        at += 1;
    }
    false
}
