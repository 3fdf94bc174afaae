//! How far a device is, and how to wait for it: one file a backend.

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

/// The progress of one hardware queue, as its device tells it.
///
/// How a value comes to be signalled is each backend's own affair: it happens where work is submitted. What all
/// of them share is how it is asked for.
pub trait Fence: Send + Sync {
    /// The largest value that the device has passed; returns at once.
    ///
    /// # Errors
    /// [`Lost`] if the device is gone.
    fn completed(&self) -> Result<Value, Lost>;

    /// Blocks until the device has passed `value`, at most for `limit`; the largest value passed by then.
    ///
    /// Ask only for values that were submitted: nothing else is sure to come.
    ///
    /// # Errors
    /// [`Lost`] if the device is gone, or goes while waiting.
    fn wait(&self, value: Value, limit: Duration) -> Result<Value, Lost>;

    /// Has `moved` called when the device has passed something, where the backend tells by itself. Only the
    /// browser needs it, where nobody can wait.
    fn on_move(&self, moved: Box<dyn Fn() + Send + Sync>) {
        drop(moved);
    }
}
