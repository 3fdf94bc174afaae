//! A fence for any wgpu device: a value is passed once every callback of its submission has arrived.

use super::{Fence, LostFlag, PollSleep, Removal, poll_until, removal};
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
    gate: Arc<Mutex<()>>,
    callbacks: Arc<ArmedCallbacks>,
}

/// A function that is called when a callback has arrived, and when the device is lost.
pub(super) type Moved = Arc<dyn Fn() + Send + Sync>;

/// The callbacks of a fence.
struct ArmedCallbacks {
    progress: Mutex<CallbackProgress>,
    moved: OnceLock<Moved>,
    lost: LostFlag,
    removal: Option<Removal>,
}

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
    callbacks: Arc<ArmedCallbacks>,
}

impl PortableFence {
    /// Makes a fence for `device`.
    pub fn new(device: &wgpu::Device, lost: LostFlag, gate: Arc<Mutex<()>>) -> Self {
        let callbacks = ArmedCallbacks::new(lost, removal(device));
        Self { device: device.clone(), gate, callbacks: Arc::new(callbacks) }
    }

    /// Makes `value` wait for `callbacks` callbacks and returns one arrival for each. Values must come in order.
    pub fn arm(&self, value: TimelineValue, callbacks: usize) -> Vec<Arrival> {
        lock(&self.callbacks.progress).armed.push_back((value, callbacks));
        let arrival = |_| Arrival { value, callbacks: self.callbacks.clone() };
        (0..callbacks).map(arrival).collect()
    }

    /// Returns the newest value, if it is not passed and the device is not lost.
    pub fn awaited(&self) -> Option<TimelineValue> {
        self.completed().ok()?;
        lock(&self.callbacks.progress).armed.back().map(|&(value, _)| value)
    }
}

impl ArmedCallbacks {
    fn new(lost: LostFlag, removal: Option<Removal>) -> Self {
        Self { progress: Mutex::default(), moved: OnceLock::new(), lost, removal }
    }

    /// Returns the last completed value. A loss that an arrival has found is known before its value.
    fn completed(&self) -> Result<TimelineValue, Lost> {
        let completed = lock(&self.progress).completed;
        self.lost.check()?;
        Ok(completed)
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
    /// Completes nothing if the device is removed: wgpu then calls all callbacks, as if the work were done.
    fn drop(&mut self) {
        let callbacks = &self.callbacks;
        if let Some(reason) = callbacks.removal.as_ref().and_then(|removal| removal()) {
            callbacks.lost.raise(&reason);
        }
        lock(&callbacks.progress).arrived(self.value);
        if let Some(moved) = callbacks.moved.get() {
            moved();
        }
    }
}

impl Fence for PortableFence {
    fn completed(&self) -> Result<TimelineValue, Lost> {
        self.callbacks.completed()
    }

    /// Returns at once in the browser, where no call blocks.
    fn wait(&self, value: TimelineValue, limit: Duration) -> Result<TimelineValue, Lost> {
        if cfg!(target_arch = "wasm32") {
            return self.completed();
        }
        let mut sleep = PollSleep::new();
        let poll = || {
            poll(&self.device, &self.callbacks.lost, &self.gate)?;
            self.completed()
        };
        let pause = |left: Duration| {
            sleep.sleep(left);
            Ok(())
        };
        poll_until(value, limit, poll, pause)
    }

    fn on_move(&self, moved: Box<dyn Fn() + Send + Sync>) {
        let moved = Moved::from(moved);
        self.callbacks.lost.on_raise(moved.clone());
        // A second function is ignored: the first one stays registered.
        let _ = self.callbacks.moved.set(moved);
    }
}

#[cfg(all(test, not(fencepost_loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    fn callbacks(values: &[(u64, usize)]) -> Arc<ArmedCallbacks> {
        let callbacks = ArmedCallbacks::new(LostFlag::default(), None);
        arm(&callbacks, values);
        Arc::new(callbacks)
    }

    fn arm(callbacks: &ArmedCallbacks, values: &[(u64, usize)]) {
        let armed = values.iter().map(|&(value, callbacks)| (TimelineValue(value), callbacks));
        lock(&callbacks.progress).armed.extend(armed);
    }

    fn arrive(callbacks: &Arc<ArmedCallbacks>, value: u64) -> Result<TimelineValue, Lost> {
        drop(Arrival { value: TimelineValue(value), callbacks: callbacks.clone() });
        callbacks.completed()
    }

    #[test]
    fn a_value_waits_for_all_its_callbacks() {
        let callbacks = callbacks(&[(1, 2)]);
        assert_eq!(arrive(&callbacks, 1), Ok(TimelineValue(0)));
        assert_eq!(arrive(&callbacks, 1), Ok(TimelineValue(1)));
    }

    #[test]
    fn values_complete_in_order_whatever_the_order_of_callbacks() {
        let callbacks = callbacks(&[(1, 1), (2, 1), (3, 1)]);
        assert_eq!(arrive(&callbacks, 2), Ok(TimelineValue(0)));
        assert_eq!(arrive(&callbacks, 1), Ok(TimelineValue(2)));
        assert_eq!(arrive(&callbacks, 3), Ok(TimelineValue(3)));
    }

    #[test]
    fn the_callbacks_of_a_removed_device_complete_nothing() {
        let is_removed = Arc::new(AtomicBool::new(false));
        let device = is_removed.clone();
        let removal: Removal =
            Box::new(move || device.load(Ordering::Relaxed).then(|| "the device was removed".into()));
        let callbacks = Arc::new(ArmedCallbacks::new(LostFlag::default(), Some(removal)));
        arm(&callbacks, &[(1, 1), (2, 1)]);
        assert_eq!(arrive(&callbacks, 1), Ok(TimelineValue(1)));
        is_removed.store(true, Ordering::Relaxed);
        let lost = Err(Lost { reason: "the device was removed".into() });
        assert_eq!(arrive(&callbacks, 2), lost);
        assert_eq!(callbacks.completed(), lost);
    }
}

#[cfg(all(test, fencepost_loom))]
mod loom_models {
    use super::*;

    #[test]
    fn callbacks_on_any_thread_complete_values_in_order() {
        loom::model(|| {
            let all = Arc::new(ArmedCallbacks::new(LostFlag::default(), None));
            lock(&all.progress).armed = VecDeque::from([(TimelineValue(1), 2), (TimelineValue(2), 1)]);
            let arrival = |value| Arrival { value: TimelineValue(value), callbacks: all.clone() };
            let late = arrival(1);
            let other = arrival(1);
            let next = arrival(2);
            let callbacks = loom::thread::spawn(move || drop((next, other)));
            let before = lock(&all.progress).completed;
            drop(late);
            let after = lock(&all.progress).completed;
            assert!(
                before == TimelineValue(0) && [TimelineValue(0), TimelineValue(2)].contains(&after),
                "{before} {after}"
            );
            callbacks.join().expect("the callbacks end");
            assert_eq!(lock(&all.progress).completed, TimelineValue(2));
        });
    }
}
