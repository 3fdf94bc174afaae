//! The marks of a thread that executes host functions as kernels. A device goes on only when its function returns.

use super::failed_steps::FailedSteps;
use std::cell::RefCell;

thread_local! {
    /// Identifies the devices whose functions this thread executes. A function may wait for another device, and the thread
    /// that waits may execute a function of that one.
    static DEVICES: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// Marks this thread until the value is dropped.
pub(super) struct FunctionMark(());

impl FunctionMark {
    /// Marks this thread as one that executes a function for the device with these failures.
    pub(super) fn set(failed: &FailedSteps) -> Self {
        DEVICES.with_borrow_mut(|devices| devices.push(number(failed)));
        Self(())
    }
}

impl Drop for FunctionMark {
    fn drop(&mut self) {
        DEVICES.with_borrow_mut(Vec::pop);
    }
}

/// Returns `true` if this thread executes a function for the device with these failures.
pub(super) fn is_set(failed: &FailedSteps) -> bool {
    DEVICES.with_borrow(|devices| devices.contains(&number(failed)))
}

/// Returns a number that no other device has while this one exists.
fn number(failed: &FailedSteps) -> usize {
    std::ptr::from_ref(failed).addr()
}
