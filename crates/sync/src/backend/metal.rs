//! The fence of Metal: a shared event signals the values, and command buffers report their errors.
//!
//! wgpu-hal counts a command buffer that has failed as completed. Its wait also fails if another thread's submission
//! has already removed the command buffer from the list of pending ones.
#![cfg_attr(metal, allow(unsafe_code, reason = "calls of Metal"))]

use super::native::NativeCalls;
use crate::prim::{Condvar, Mutex, left, lock, sleep_for};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A function that Metal calls once a shared event has a value.
pub(super) type Notified = Box<dyn Fn() + Send + Sync>;
/// A function that Metal calls with the status of a command buffer that has ended: an error has its description.
pub(super) type Ended = Box<dyn Fn(Result<(), String>) + Send + Sync>;

/// The calls of Metal on one shared event, and on the command buffers whose submissions signal it.
pub(super) trait MetalCalls: Send + Sync {
    /// A command buffer that is not committed yet.
    type Commands: ?Sized;

    /// `MTLSharedEvent.signaledValue`.
    fn signaled_value(&self) -> u64;

    /// `MTLSharedEvent.notifyListener(_:atValue:block:)`. Metal calls `notified` on any thread once the event has
    /// `value` or a larger one.
    fn notify_at(&self, value: u64, notified: Notified);

    /// `MTLCommandBuffer.addCompletedHandler(_:)`. Metal calls `ended` on any thread after the command buffer has
    /// ended, and perhaps after its signal. If the command buffer is never committed, Metal only drops `ended`.
    fn on_completed(commands: &Self::Commands, ended: Ended);
}

/// The waits for one shared event.
pub(super) struct SharedEventWaits<M: MetalCalls> {
    api: M,
    shared: Arc<SharedProgress>,
}

#[derive(Default)]
struct SharedProgress {
    progress: Mutex<EventProgress>,
    moved: Condvar,
}

/// The known progress of the device. No call of Metal is made under its lock.
#[derive(Default)]
struct EventProgress {
    /// Largest known value of the event.
    signaled: u64,
    /// Values of the command buffers whose ends Metal has not reported.
    unreported: Vec<u64>,
    /// Values for which the event will call.
    expected: Vec<u64>,
    /// Description of the first error.
    failed: Option<String>,
}

impl EventProgress {
    /// Returns the largest value up to which the device has executed all command buffers without an error.
    fn passed(&self) -> Result<u64, String> {
        match &self.failed {
            Some(reason) => Err(reason.clone()),
            None => Ok(self.unreported.iter().fold(self.signaled, |passed, value| passed.min(value - 1))),
        }
    }
}

impl SharedProgress {
    /// Changes the progress, and wakes all waiters.
    fn change(&self, change: impl FnOnce(&mut EventProgress)) {
        change(&mut lock(&self.progress));
        self.moved.notify_all();
    }
}

/// The report that Metal owes for a command buffer with this value. The value may pass once the report is dropped: then
/// the command buffer has ended, or Metal has dropped it without executing it.
struct Report {
    value: u64,
    shared: Arc<SharedProgress>,
}

impl Drop for Report {
    fn drop(&mut self) {
        self.shared.change(|progress| {
            if let Some(at) = progress.unreported.iter().position(|value| *value == self.value) {
                progress.unreported.swap_remove(at);
            }
        });
    }
}

impl<M: MetalCalls> SharedEventWaits<M> {
    pub(super) fn new(api: M) -> Self {
        Self { api, shared: Arc::default() }
    }

    /// Makes `value` pass only if these commands are executed without an error, or never committed. They must be
    /// submitted before `value` is signalled.
    pub(super) fn watch(&self, commands: &M::Commands, value: u64) {
        lock(&self.shared.progress).unreported.push(value);
        let report = Mutex::new(Some(Report { value, shared: self.shared.clone() }));
        M::on_completed(
            commands,
            Box::new(move |status| {
                let report = lock(&report).take();
                if let (Some(report), Err(reason)) = (&report, status) {
                    report.shared.change(|progress| {
                        progress.failed.get_or_insert(reason);
                    });
                }
            }),
        );
    }

    /// Makes the event call once it has `value`, unless it will do so already.
    fn request_call(&self, value: u64) {
        let mut progress = lock(&self.shared.progress);
        if progress.expected.contains(&value) {
            return;
        }
        progress.expected.push(value);
        drop(progress);
        let shared = self.shared.clone();
        let notified = move || {
            shared.change(|progress| {
                progress.signaled = progress.signaled.max(value);
                progress.expected.retain(|expected| *expected != value);
            });
        };
        self.api.notify_at(value, Box::new(notified));
    }
}

impl<M: MetalCalls> NativeCalls for SharedEventWaits<M> {
    fn value(&self) -> Result<u64, String> {
        let signaled = self.api.signaled_value();
        let mut progress = lock(&self.shared.progress);
        progress.signaled = progress.signaled.max(signaled);
        progress.passed()
    }

    fn wait(&self, value: u64, limit: Duration) -> Result<(), String> {
        self.request_call(value);
        let start = Instant::now();
        let mut progress = lock(&self.shared.progress);
        while progress.passed()? < value {
            let left = left(start, limit);
            if left.is_zero() {
                break;
            }
            progress = sleep_for(&self.shared.moved, progress, left);
        }
        Ok(())
    }
}

#[cfg(metal)]
mod calls {
    use super::{Ended, MetalCalls, Notified, SharedEventWaits};
    use crate::backend::hal::{FenceApi, OwnCalls};
    use block2::RcBlock;
    use objc2::Message as _;
    use objc2::rc::{Retained, autoreleasepool};
    use objc2::runtime::ProtocolObject;
    use objc2_metal::{MTLCommandBuffer, MTLCommandBufferStatus, MTLSharedEvent, MTLSharedEventListener};
    use std::ptr::NonNull;
    use wgpu::hal::api::Metal;
    use wgpu::hal::metal;

    type Commands = ProtocolObject<dyn MTLCommandBuffer>;
    type Event = ProtocolObject<dyn MTLSharedEvent>;

    /// A shared event, and the queue on which it calls.
    struct Calls {
        event: Retained<Event>,
        listener: Retained<MTLSharedEventListener>,
    }

    impl MetalCalls for Calls {
        type Commands = Commands;

        fn signaled_value(&self) -> u64 {
            self.event.signaledValue()
        }

        fn notify_at(&self, value: u64, notified: Notified) {
            let block = RcBlock::new(move |_: NonNull<Event>, _: u64| notified());
            autoreleasepool(|_| {
                // SAFETY: the pointer is valid during the call, which copies the block.
                unsafe {
                    self.event.notifyListener_atValue_block(&self.listener, value, RcBlock::as_ptr(&block));
                }
            });
        }

        fn on_completed(commands: &Commands, ended: Ended) {
            let block = RcBlock::new(move |commands: NonNull<Commands>| {
                // SAFETY: Metal passes the command buffer, which lives during the call.
                ended(status_of(unsafe { commands.as_ref() }));
            });
            // SAFETY: the pointer is valid during the call, which copies the block.
            unsafe { commands.addCompletedHandler(RcBlock::as_ptr(&block)) };
        }
    }

    /// Returns the error of a command buffer that has ended, if there is one.
    fn status_of(commands: &Commands) -> Result<(), String> {
        if commands.status() != MTLCommandBufferStatus::Error {
            return Ok(());
        }
        let error = commands.error().map(|error| error.to_string());
        Err(format!("a command buffer failed: {}", error.as_deref().unwrap_or("Metal names no reason")))
    }

    impl OwnCalls<Metal> for SharedEventWaits<Calls> {
        fn watch(&self, encoder: &metal::CommandEncoder, value: u64) {
            if let Some(commands) = encoder.raw_command_buffer() {
                self.watch(commands, value);
            }
        }
    }

    impl FenceApi for Metal {
        /// `None` if the system has given wgpu-hal no shared event, as some sandboxes do.
        fn own_calls(_: &metal::Device, fence: &metal::Fence) -> Option<Box<dyn OwnCalls<Self>>> {
            let event = fence.raw_shared_event()?.retain();
            let listener = MTLSharedEventListener::new();
            Some(Box::new(SharedEventWaits::new(Calls { event, listener })))
        }
    }
}

#[cfg(all(test, not(fencepost_loom)))]
mod model_tests;

#[cfg(all(test, fencepost_loom))]
mod loom_models {
    use super::*;
    use loom::thread;

    const LIMIT: Duration = Duration::from_secs(1);

    /// A device with one shared event.
    #[derive(Clone, Default)]
    struct Device(Arc<Mutex<Event>>);

    #[derive(Default)]
    struct Event {
        signaled: u64,
        notified: Option<Notified>,
    }

    impl Device {
        fn signal(&self, value: u64) {
            let mut event = lock(&self.0);
            event.signaled = value;
            let notified = event.notified.take();
            drop(event);
            if let Some(notified) = notified {
                notified();
            }
        }
    }

    impl MetalCalls for Device {
        type Commands = Mutex<Option<Ended>>;

        fn signaled_value(&self) -> u64 {
            lock(&self.0).signaled
        }

        fn notify_at(&self, value: u64, notified: Notified) {
            let mut event = lock(&self.0);
            if event.signaled < value {
                event.notified = Some(notified);
                return;
            }
            drop(event);
            notified();
        }

        fn on_completed(commands: &Self::Commands, ended: Ended) {
            *lock(commands) = Some(ended);
        }
    }

    /// Returns the waits for an event, and the function that reports the end of the first command buffer.
    fn waits(device: &Device) -> (Arc<SharedEventWaits<Device>>, Ended) {
        let waits = Arc::new(SharedEventWaits::new(device.clone()));
        let commands = Mutex::new(None);
        waits.watch(&commands, 1);
        let ended = lock(&commands).take().expect("the waits have a handler");
        (waits, ended)
    }

    #[test]
    fn a_wait_misses_neither_the_signal_nor_the_report() {
        loom::model(|| {
            let device = Device::default();
            let (waits, ended) = waits(&device);
            let signals = thread::spawn(move || device.signal(1));
            let reports = thread::spawn(move || ended(Ok(())));
            assert_eq!(waits.wait(1, LIMIT), Ok(()));
            assert_eq!(waits.value(), Ok(1));
            signals.join().expect("the device ends");
            reports.join().expect("the driver ends");
        });
    }

    #[test]
    fn a_wait_misses_no_failure() {
        loom::model(|| {
            let device = Device::default();
            let (waits, ended) = waits(&device);
            let signals = thread::spawn(move || device.signal(1));
            let reports = thread::spawn(move || ended(Err("a page fault".into())));
            assert_eq!(waits.wait(1, LIMIT), Err("a page fault".into()));
            assert_eq!(waits.value(), Err("a page fault".into()));
            signals.join().expect("the device ends");
            reports.join().expect("the driver ends");
        });
    }

    #[test]
    fn a_signal_wakes_every_waiter() {
        loom::model(|| {
            let device = Device::default();
            let (waits, ended) = waits(&device);
            let other = waits.clone();
            let other = thread::spawn(move || other.wait(1, LIMIT));
            let signals = thread::spawn(move || {
                device.signal(1);
                ended(Ok(()));
            });
            assert_eq!(waits.wait(1, LIMIT), Ok(()));
            assert_eq!(other.join().expect("the other waiter ends"), Ok(()));
            signals.join().expect("the device ends");
        });
    }
}
