//! A fence for any wgpu device: a value is passed once every callback of its submission has arrived.

use super::{Fence, LostFlag, PollSleep, poll_until};
use crate::prim::{Mutex, MutexGuard, lock, try_lock};
use crate::{Lost, TimelineValue};
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A [`Fence`] on wgpu's callbacks, for every device. Outside the browser the callbacks arrive only while the device
/// is polled.
///
/// A thread holds the lock `gate` during a wgpu call that may take long. Meanwhile a wait does not poll, because some
/// backends admit only one thread and let calls of other threads fail.
pub struct PortableFence {
    device: wgpu::Device,
    lost: LostFlag,
    gate: Arc<Mutex<()>>,
    progress: Arc<Mutex<CallbackProgress>>,
    moved: Arc<OnceLock<Moved>>,
}

/// A function that is called when a callback has arrived.
type Moved = Box<dyn Fn() + Send + Sync>;

#[derive(Default)]
struct CallbackProgress {
    completed: TimelineValue,
    /// Submitted values in order, each with the number of callbacks that have not arrived.
    armed: VecDeque<(TimelineValue, usize)>,
}

/// A callback for which a value waits. Dropping it counts as its arrival, because wgpu may drop a callback without
/// calling it.
pub struct Arrival {
    value: TimelineValue,
    progress: Arc<Mutex<CallbackProgress>>,
    moved: Arc<OnceLock<Moved>>,
}

impl PortableFence {
    /// Makes a fence for `device`.
    pub fn new(device: &wgpu::Device, lost: LostFlag, gate: Arc<Mutex<()>>) -> Self {
        Self { device: device.clone(), lost, gate, progress: Arc::default(), moved: Arc::default() }
    }

    /// Makes `value` wait for `callbacks` callbacks and returns one arrival for each. Values must come in order.
    pub fn arm(&self, value: TimelineValue, callbacks: usize) -> Vec<Arrival> {
        lock(&self.progress).armed.push_back((value, callbacks));
        let arrival = |_| Arrival { value, progress: self.progress.clone(), moved: self.moved.clone() };
        (0..callbacks).map(arrival).collect()
    }

    fn passed(&self) -> TimelineValue {
        lock(&self.progress).completed
    }
}

/// Lets wgpu run pending callbacks, and returns at once. Returns `false`, and polls nothing, if another thread holds
/// `gate`.
///
/// # Errors
/// [`Lost`] if the device is lost. wgpu panics if its poll finds the loss; this function catches the panic.
pub fn poll(device: &wgpu::Device, lost: &LostFlag, gate: &Mutex<()>) -> Result<bool, Lost> {
    lost.check()?;
    let Some(_inside) = try_lock(gate).map(MutexGuard::uncounted) else { return Ok(false) };
    let polled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| device.poll(wgpu::PollType::Poll)));
    if polled.is_err() {
        lost.raise("polling the device failed");
    }
    lost.check().map(|()| true)
}

impl CallbackProgress {
    /// Records an arrival. Completes the values at the front whose callbacks have all arrived.
    fn arrived(&mut self, value: TimelineValue) {
        if let Some(armed) = self.armed.iter_mut().find(|armed| armed.0 == value) {
            armed.1 -= 1;
        }
        while let Some(&(value, 0)) = self.armed.front() {
            self.completed = value;
            self.armed.pop_front();
        }
    }
}

impl Drop for Arrival {
    fn drop(&mut self) {
        lock(&self.progress).arrived(self.value);
        if let Some(moved) = self.moved.get() {
            moved();
        }
    }
}

impl Fence for PortableFence {
    fn completed(&self) -> Result<TimelineValue, Lost> {
        self.lost.check()?;
        Ok(self.passed())
    }

    /// Returns at once in the browser, where no call blocks.
    fn wait(&self, value: TimelineValue, limit: Duration) -> Result<TimelineValue, Lost> {
        if cfg!(target_arch = "wasm32") {
            return self.completed();
        }
        let mut sleep = PollSleep::new();
        let poll = || poll(&self.device, &self.lost, &self.gate).map(|_| self.passed());
        let pause = |left: Duration| {
            sleep.sleep(left);
            Ok(())
        };
        poll_until(value, limit, poll, pause)
    }

    fn on_move(&self, moved: Moved) {
        // A second function is ignored: the first one stays registered.
        let _ = self.moved.set(moved);
    }
}

#[cfg(all(test, not(fencepost_loom)))]
mod tests {
    use super::*;

    fn progress(values: &[(u64, usize)]) -> Arc<Mutex<CallbackProgress>> {
        let armed = values.iter().map(|&(value, callbacks)| (TimelineValue(value), callbacks)).collect();
        Arc::new(Mutex::new(CallbackProgress { completed: TimelineValue(0), armed }))
    }

    fn arrive(progress: &Arc<Mutex<CallbackProgress>>, value: u64) -> TimelineValue {
        drop(Arrival { value: TimelineValue(value), progress: progress.clone(), moved: Arc::default() });
        lock(progress).completed
    }

    #[test]
    fn a_value_waits_for_all_its_callbacks() {
        let progress = progress(&[(1, 2)]);
        assert_eq!(arrive(&progress, 1), TimelineValue(0));
        assert_eq!(arrive(&progress, 1), TimelineValue(1));
    }

    #[test]
    fn values_complete_in_order_whatever_the_order_of_callbacks() {
        let progress = progress(&[(1, 1), (2, 1), (3, 1)]);
        assert_eq!(arrive(&progress, 2), TimelineValue(0));
        assert_eq!(arrive(&progress, 1), TimelineValue(2));
        assert_eq!(arrive(&progress, 3), TimelineValue(3));
    }
}

#[cfg(all(test, fencepost_loom))]
mod loom_models {
    use super::*;

    #[test]
    fn callbacks_on_any_thread_complete_values_in_order() {
        loom::model(|| {
            let armed = VecDeque::from([(TimelineValue(1), 2), (TimelineValue(2), 1)]);
            let progress = Arc::new(Mutex::new(CallbackProgress { completed: TimelineValue(0), armed }));
            let arrival = |value| Arrival {
                value: TimelineValue(value),
                progress: progress.clone(),
                moved: Arc::default(),
            };
            let late = arrival(1);
            let other = arrival(1);
            let next = arrival(2);
            let callbacks = loom::thread::spawn(move || drop((next, other)));
            let before = lock(&progress).completed;
            drop(late);
            let after = lock(&progress).completed;
            assert!(
                before == TimelineValue(0) && [TimelineValue(0), TimelineValue(2)].contains(&after),
                "{before} {after}"
            );
            callbacks.join().expect("the callbacks end");
            assert_eq!(lock(&progress).completed, TimelineValue(2));
        });
    }
}
