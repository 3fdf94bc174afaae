//! Fences, which report the progress of a device and wait for it. Each kind of fence has one file.

#[cfg(any(dx12, all(test, native, not(fencepost_loom))))]
mod dx12;
#[cfg(native)]
mod hal;
mod loss;
mod manual;
#[cfg(any(metal, all(test, native)))]
mod metal;
#[cfg(all(test, native, not(fencepost_loom)))]
mod model_tests;
#[cfg(native)]
mod native;
mod portable;

#[cfg(native)]
pub use hal::{FenceApi, HalFence, OwnCalls};
pub use loss::LostFlag;
pub use manual::ManualFence;
#[cfg(native)]
pub use native::NativeCalls;
pub use portable::{Arrival, PortableFence, poll};

use crate::{Lost, TimelineValue};
#[cfg(dx12)]
use dx12::removal;
use std::time::Duration;
use web_time::Instant;

/// A function that returns the reason if the device is removed.
type Removal = Box<dyn Fn() -> Option<String> + Send + Sync>;

/// Returns the function that finds the removal of a device, or `None` if wgpu finds it.
#[cfg(not(dx12))]
fn removal(_: &wgpu::Device) -> Option<Removal> {
    None
}

const FIRST_SLEEP: Duration = Duration::from_micros(20);
const LONGEST_SLEEP: Duration = Duration::from_millis(1);

/// Sleep between two polls, which doubles each time, up to [`LONGEST_SLEEP`].
struct PollSleep(Duration);

impl PollSleep {
    fn new() -> Self {
        Self(FIRST_SLEEP)
    }

    /// Sleeps once, at most for `left`.
    fn sleep(&mut self, left: Duration) {
        std::thread::sleep(self.0.min(left));
        self.0 = (self.0 * 2).min(LONGEST_SLEEP);
    }
}

/// Calls `poll` until it returns at least `value`, or until `limit` has passed. Between two calls it calls `pause` with
/// the time that is left.
fn poll_until(
    value: TimelineValue,
    limit: Duration,
    poll: impl Fn() -> Result<TimelineValue, Lost>,
    mut pause: impl FnMut(Duration) -> Result<(), Lost>,
) -> Result<TimelineValue, Lost> {
    let start = Instant::now();
    loop {
        let passed = poll()?;
        let left = limit.saturating_sub(start.elapsed());
        if passed >= value || left.is_zero() {
            return Ok(passed);
        }
        pause(left)?;
    }
}

/// A fence, which reports the progress of one hardware queue.
///
/// The code that submits work signals the values in a way that depends on the backend. This trait is the common way to
/// read a value and to wait for it.
///
/// The caller guarantees:
/// - The values of submissions increase, starting with 1.
/// - It holds no lock during `wait`.
///
/// The implementer guarantees:
/// - Several threads may call all methods at the same time, even while another thread submits.
/// - A value is passed only after the device has executed the submission of the value and all earlier ones. Their
///   writes are then visible to the host as far as the submission asked for that, and their memory may be reused.
/// - Once a method has returned [`Lost`], `completed` and `wait` always return [`Lost`].
pub trait Fence: Send + Sync {
    /// Returns the largest value that the device has passed, without blocking.
    ///
    /// If another thread has locked the driver, the implementer returns the last value that it knows. It may return a
    /// value smaller than one that it returned before. The caller then keeps the larger one.
    ///
    /// # Errors
    /// [`Lost`] if the device is lost.
    fn completed(&self) -> Result<TimelineValue, Lost>;

    /// Blocks until the device has passed `value`, at most for `limit`. Returns the largest value that the device has
    /// passed by then.
    ///
    /// The caller passes only a submitted value, because the device may never pass another value. The implementer may
    /// return before the limit with a smaller value, as in the browser, where no call blocks. The caller then calls
    /// again.
    ///
    /// # Errors
    /// [`Lost`] if the device is lost, even if that happens only during the wait.
    fn wait(&self, value: TimelineValue, limit: Duration) -> Result<TimelineValue, Lost>;

    /// Starts the submissions up to `value`, on a device that would otherwise leave them until a caller waits. The CPU
    /// is such a device: a caller that waits immediately executes them itself. Other devices start each submission at
    /// once, so the default implementation does nothing. The implementer also starts them in [`wait`](Self::wait).
    fn start(&self, value: TimelineValue) {
        let _ = value;
    }

    /// Executes the submissions up to `value` on the calling thread, if the process's threads act as the device and no
    /// other thread executes a submission. The call then blocks while the submissions run. The default implementation
    /// does nothing.
    ///
    /// The caller calls [`wait`](Self::wait) afterwards, because this call may return before `value` has passed.
    fn execute_up_to(&self, value: TimelineValue) {
        let _ = value;
    }

    /// Registers `moved`, which the implementer calls after a value has passed, and after the loss of the device. Only
    /// the browser needs the call, because no thread can wait there, so the default implementation drops `moved`.
    ///
    /// The caller registers one function for each fence. The implementer holds no lock of the fence while it calls
    /// `moved`, and may also call it when neither has happened.
    fn on_move(&self, moved: Box<dyn Fn() + Send + Sync>) {
        drop(moved);
    }
}
