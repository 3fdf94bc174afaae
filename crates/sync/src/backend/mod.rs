//! Fences, which report a device's progress and wait for it: one file a backend.

#[cfg(native)]
mod hal;
mod loss;
mod manual;
mod portable;

#[cfg(native)]
pub use hal::HalFence;
pub use loss::LostFlag;
pub use manual::ManualFence;
pub use portable::{Arrival, PortableFence, poll};

use crate::{Lost, Value};
use std::time::Duration;

/// Reports the progress of one hardware queue.
///
/// Each backend signals a value in its own way, in the code that submits work. This trait is the common way to read and
/// to await the value.
pub trait Fence: Send + Sync {
    /// Returns the largest value that the device has passed, without blocking.
    ///
    /// # Errors
    /// [`Lost`] if the device is lost.
    fn completed(&self) -> Result<Value, Lost>;

    /// Blocks until the device has passed `value`, at most for `limit`; returns the largest value passed by then.
    ///
    /// `value` has to be submitted: a value that was not submitted may never be passed.
    ///
    /// # Errors
    /// [`Lost`] if the device is lost, also if that happens during the wait.
    fn wait(&self, value: Value, limit: Duration) -> Result<Value, Lost>;

    /// Registers `moved`, which is called when the device has passed a value, on backends that report it by themselves.
    /// Only the browser needs it, where no thread can wait.
    fn on_move(&self, moved: Box<dyn Fn() + Send + Sync>) {
        drop(moved);
    }
}
