//! A model of Direct3D 12 and of Win32 events, and the tests of the fence on it.

use super::{Dx12Calls, EventWaits, INFINITE, milliseconds};
use crate::backend::Fence as _;
use crate::backend::model_tests::{Batches, LIMIT, Lane, Model, fail_at_each_call, run_threads};
use crate::backend::native::NativeCalls as _;
use crate::prim::{Condvar, Mutex, MutexGuard, lock, sleep_for};
use crate::{Lost, TimelineValue};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

const HUNG: &str = "DXGI_ERROR_DEVICE_HUNG";

/// A device of Direct3D 12 with one queue and one fence.
#[derive(Clone)]
struct Device(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    is_alone: bool,
    /// Notified when the fence or an event changes.
    moved: Condvar,
}

struct State {
    batches: Batches,
    completed: u64,
    /// The events to set, each with its value and its number.
    registered: Vec<(u64, usize)>,
    events: Vec<EventState>,
    /// The limits of the waits so far.
    limits: Vec<u32>,
}

#[derive(Default)]
struct EventState {
    is_set: bool,
    is_closed: bool,
    is_awaited: bool,
}

/// A handle of an event.
struct Event {
    number: usize,
    device: Device,
}

impl State {
    /// Sets the events for values up to that of the fence.
    fn set_events(&mut self) {
        let completed = self.completed;
        for (_, event) in self.registered.extract_if(.., |(value, _)| *value <= completed) {
            assert!(!self.events[event].is_closed, "the fence sets event {event}, which is closed");
            self.events[event].is_set = true;
        }
    }

    /// Removes the device: the fence gets the largest value, which sets all events, and no batch is executed any more.
    fn remove(&mut self) {
        self.batches.is_lost = true;
        while self.batches.abort().is_some() {}
        self.completed = u64::MAX;
        self.set_events();
    }

    /// Executes the next batch, if there is one, and signals its value.
    fn execute(&mut self) -> bool {
        let Some(value) = self.batches.execute() else { return false };
        self.completed = value;
        self.set_events();
        true
    }

    fn open(&mut self, event: &Event) -> &mut EventState {
        let state = &mut self.events[event.number];
        assert!(!state.is_closed, "event {} is used after its handle was closed", event.number);
        state
    }
}

impl Device {
    /// Makes a device that never fails and executes a batch only when the test says so.
    fn idle() -> Self {
        Model::new(Batches::new(0, 0), false)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0.state)
    }

    /// Begins a call of the API, during which the device may be removed. A device without a thread may also execute a
    /// batch.
    fn call(&self) -> MutexGuard<'_, State> {
        let mut state = self.state();
        if state.batches.count_call() {
            state.remove();
            self.0.moved.notify_all();
        }
        if self.0.is_alone && state.batches.once_in(3) {
            state.execute();
        }
        state
    }

    fn remove(&self) {
        self.state().remove();
        self.0.moved.notify_all();
    }
}

impl Dx12Calls for Device {
    type Event = Event;

    fn completed_value(&self) -> u64 {
        self.call().completed
    }

    fn set_event_on_completion(&self, value: u64, event: &Event) -> Result<(), String> {
        let mut state = self.call();
        state.open(event);
        if state.batches.is_lost && state.batches.once_in(2) {
            return Err("DXGI_ERROR_DEVICE_REMOVED".into());
        }
        if !state.batches.is_lost {
            state.batches.check_awaited(value);
        }
        state.registered.push((value, event.number));
        state.set_events();
        self.0.moved.notify_all();
        Ok(())
    }

    fn create_event(&self) -> Result<Event, String> {
        let mut state = self.call();
        state.events.push(EventState::default());
        Ok(Event { number: state.events.len() - 1, device: self.clone() })
    }

    fn wait_for_event(&self, event: &Event, milliseconds: u32) -> Result<bool, String> {
        let mut state = self.call();
        assert_ne!(milliseconds, INFINITE, "a wait without a limit");
        state.limits.push(milliseconds);
        let opened = state.open(event);
        assert!(!std::mem::replace(&mut opened.is_awaited, true), "two threads wait for one event");
        let is_set = loop {
            if std::mem::take(&mut state.open(event).is_set) {
                break true;
            }
            let is_registered = state.registered.iter().any(|(_, number)| *number == event.number);
            assert!(is_registered, "nothing sets event {}, for which a thread waits", event.number);
            // At random, the limit passes before the event is set.
            if state.batches.once_in(4) {
                break false;
            }
            if self.0.is_alone {
                assert!(state.execute(), "no batch is left that sets event {}", event.number);
            } else {
                state = sleep_for(&self.0.moved, state, Duration::from_millis(milliseconds.into()));
            }
        };
        state.open(event).is_awaited = false;
        Ok(is_set)
    }

    fn removed_reason(&self) -> Option<String> {
        self.call().batches.is_lost.then(|| HUNG.into())
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if thread::panicking() {
            return; // perhaps under the lock of the device
        }
        let mut state = self.device.state();
        let is_registered = state.registered.iter().any(|(_, number)| *number == self.number);
        assert!(!is_registered, "a handle is closed before its event is set");
        state.events[self.number].is_closed = true;
    }
}

impl Model for Device {
    type Calls = EventWaits<Self>;

    fn new(batches: Batches, is_alone: bool) -> Self {
        let state =
            State { batches, completed: 0, registered: Vec::new(), events: Vec::new(), limits: Vec::new() };
        Self(Arc::new(Shared { state: Mutex::new(state), is_alone, moved: Condvar::new() }))
    }

    fn calls(&self) -> EventWaits<Self> {
        EventWaits::new(self.clone())
    }

    /// Resets the allocator, records, executes the list and signals the fence.
    fn submit(&self, _: &EventWaits<Self>, value: u64, allocator: usize) -> Result<(), String> {
        self.call().batches.record(allocator, value);
        let mut state = self.call();
        if state.batches.is_lost {
            return Err("DXGI_ERROR_DEVICE_REMOVED".into());
        }
        state.batches.submit(value);
        Ok(())
    }

    fn work(&self) -> bool {
        let has_worked = self.state().execute();
        self.0.moved.notify_all();
        has_worked
    }

    fn with_batches<T>(&self, run: impl FnOnce(&mut Batches) -> T) -> T {
        run(&mut self.state().batches)
    }
}

#[test]
fn a_removal_during_any_call_is_a_loss_and_completes_no_batch() {
    fail_at_each_call::<Device>();
}

#[test]
fn threads_that_submit_and_wait_at_random_see_only_executed_batches_and_the_loss() {
    for seed in 0..100 {
        run_threads::<Device>(seed);
    }
}

#[test]
fn a_removal_ends_every_wait_with_the_reason_of_the_device() {
    let device = Device::idle();
    let lane = Lane::new(&device);
    let value = lane.submit().expect("the device is there");
    let reason = format!("the device was removed: {HUNG}");
    let names_it = |lost: &Lost| lost.reason.ends_with(&reason);
    thread::scope(|scope| {
        let waiters: Vec<_> = (0..2).map(|_| scope.spawn(|| lane.fence.wait(value, LIMIT))).collect();
        device.remove();
        for waiter in waiters {
            let ended = waiter.join().expect("the waiter ends");
            assert!(ended.as_ref().is_err_and(names_it), "{ended:?}");
        }
    });
    assert!(lane.completed().is_err_and(|lost| names_it(&lost)));
}

#[test]
fn a_limit_is_rounded_up_to_whole_milliseconds_and_is_never_infinite() {
    let limits =
        [Duration::ZERO, Duration::from_nanos(1), Duration::from_micros(250), Duration::from_millis(1)];
    assert_eq!(limits.map(milliseconds), [0, 1, 1, 1]);
    let limits = [Duration::from_micros(1001), Duration::from_millis(100), Duration::MAX];
    assert_eq!(limits.map(milliseconds), [2, 100, INFINITE - 1]);
    assert_eq!(milliseconds(Duration::from_millis(INFINITE.into())), INFINITE - 1);
    let device = Device::idle();
    let waits = EventWaits::new(device.clone());
    device.with_batches(|batches| batches.submit(1));
    waits.wait(1, Duration::from_micros(250)).expect("the device is there");
    assert_eq!(device.state().limits, [1]);
    device.work();
}

#[test]
fn a_waiting_thread_has_one_event_which_a_later_wait_uses_again() {
    let device = Device::idle();
    let waits = EventWaits::new(device.clone());
    for value in 1..=5 {
        device.with_batches(|batches| batches.submit(value));
        // The waits may end before the batch is executed.
        for _ in 0..4 {
            waits.wait(value, Duration::from_millis(1)).expect("the device is there");
            let state = device.state();
            assert!(state.registered.len() <= 1, "{:?}", state.registered);
        }
        device.work();
    }
    assert_eq!(device.state().events.len(), 1);
}

#[test]
fn threads_that_wait_at_the_same_time_have_an_event_each() {
    let device = Device::idle();
    let lane = Lane::new(&device);
    let value = lane.submit().expect("the device is there");
    thread::scope(|scope| {
        let waiters: Vec<_> = (0..3).map(|_| scope.spawn(|| lane.wait(value))).collect();
        // The model panics if two threads wait for one event.
        while device.state().events.iter().filter(|event| event.is_awaited).count() < 3 {
            thread::yield_now();
        }
        device.work();
        for waiter in waiters {
            assert_eq!(waiter.join().expect("the waiter ends"), Ok(()));
        }
    });
    assert_eq!(lane.completed(), Ok(value));
    assert_eq!(value, TimelineValue(1));
}

#[test]
#[should_panic(expected = "no submission signals it")]
fn the_model_refuses_a_wait_for_a_value_that_is_never_signalled() {
    let waits = EventWaits::new(Device::idle());
    waits.wait(1, LIMIT).expect("the model panics");
}

#[test]
#[should_panic(expected = "batch 1 is not complete")]
fn the_model_refuses_the_reuse_of_an_allocator_before_its_batch_is_complete() {
    let device = Device::idle();
    let waits = device.calls();
    for value in 1..=2 {
        device.submit(&waits, value, 0).expect("the device is there");
    }
}

#[test]
#[should_panic(expected = "a handle is closed before its event is set")]
fn the_model_refuses_a_closed_handle_of_an_event_that_the_fence_will_set() {
    let device = Device::idle();
    let waits = device.calls();
    device.submit(&waits, 1, 0).expect("the device is there");
    let event = device.create_event().expect("the device is there");
    device.set_event_on_completion(1, &event).expect("the device is there");
    drop(event);
}
