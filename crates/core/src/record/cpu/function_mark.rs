//! The mark of a thread that executes a host function as a kernel. The device goes on only when the function returns.

use super::failed_steps::FailedSteps;
use std::cell::Cell;

thread_local! {
    /// Identifies the device whose function this thread executes, and is 0 outside of functions.
    static DEVICE: Cell<usize> = const { Cell::new(0) };
}

/// Marks this thread until the value is dropped.
pub(super) struct FunctionMark(usize);

impl FunctionMark {
    /// Marks this thread as one that executes a function for the device with these failures.
    pub(super) fn set(failed: &FailedSteps) -> Self {
        Self(DEVICE.replace(number(failed)))
    }
}

impl Drop for FunctionMark {
    fn drop(&mut self) {
        DEVICE.set(self.0);
    }
}

/// Returns `true` if this thread executes a function for the device with these failures.
pub(super) fn is_set(failed: &FailedSteps) -> bool {
    DEVICE.get() == number(failed)
}

/// Returns a number that no other device has while this one exists.
fn number(failed: &FailedSteps) -> usize {
    std::ptr::from_ref(failed).addr()
}
