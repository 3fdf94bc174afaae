//! A model of Metal's command buffers and shared events, and the tests of the fence on it.
//!
//! Metal calls handlers and notifications on its own threads, in any order, and some time after their reason.

use super::{Ended, MetalCalls, Notified, SharedEventWaits};
use crate::backend::model_tests::{Batches, LIMIT, Model, fail_at_each_call, run_threads};
use crate::backend::native::{NativeCalls as _, NativeFence};
use crate::backend::{Fence as _, LostFlag};
use crate::prim::{Mutex, MutexGuard, lock};
use crate::{Lost, TimelineValue};
use std::collections::VecDeque;
use std::sync::Arc;
use std::thread;

const FAILURE: &str = "Caused GPU Timeout Error";

/// A device of Metal with one queue and one shared event.
#[derive(Clone)]
struct Device(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    is_alone: bool,
}

struct State {
    batches: Batches,
    signaled: u64,
    /// Submissions that the device has not executed.
    committed: VecDeque<Submission>,
    notifications: Vec<(u64, Notified)>,
    /// Handlers of command buffers that have ended, with their status.
    ended: Vec<(Ended, Result<(), String>)>,
    /// `true` if the next command buffer fails, and with it all later ones.
    fails: bool,
}

/// A submission, which signals a value at its end.
struct Submission {
    value: u64,
    /// Handlers of its command buffer. `None` if the submission has only the signal, which cannot fail.
    handlers: Option<Vec<Ended>>,
}

/// A command buffer. `None` means that it is committed.
struct Commands {
    handlers: Mutex<Option<Vec<Ended>>>,
    device: Device,
}

/// A call that the driver owes.
enum Job {
    Nothing,
    Notify(Notified),
    Report(Ended, Result<(), String>),
}

impl Job {
    fn run(self) {
        match self {
            Self::Nothing => {}
            Self::Notify(notified) => notified(),
            Self::Report(ended, status) => ended(status),
        }
    }
}

impl State {
    /// Executes the next submission, if there is one. A command buffer that fails may signal its value all the same.
    fn execute(&mut self) -> Option<Job> {
        let Submission { value, handlers } = self.committed.pop_front()?;
        let fails = self.fails && handlers.is_some();
        if fails {
            self.batches.is_lost = true;
            self.batches.abort();
        } else {
            self.batches.execute();
        }
        if !fails || self.batches.once_in(2) {
            self.signaled = value;
        }
        let status = if fails { Err(FAILURE.to_owned()) } else { Ok(()) };
        self.ended.extend(handlers.into_iter().flatten().map(|ended| (ended, status.clone())));
        Some(Job::Nothing)
    }

    fn notify(&mut self) -> Option<Job> {
        let at = self.notifications.iter().position(|(value, _)| *value <= self.signaled)?;
        Some(Job::Notify(self.notifications.swap_remove(at).1))
    }

    fn report(&mut self) -> Option<Job> {
        let at = self.batches.below(self.ended.len() as u32)?;
        let (ended, status) = self.ended.swap_remove(at as usize);
        Some(Job::Report(ended, status))
    }

    /// Returns one of the things to do, at random.
    fn next_job(&mut self) -> Option<Job> {
        let first = self.batches.below(3)?;
        (0..3).find_map(|at| match (first + at) % 3 {
            0 => self.execute(),
            1 => self.notify(),
            _ => self.report(),
        })
    }
}

impl Device {
    /// Makes a device that works only when the test says so.
    fn idle() -> Self {
        Model::new(Batches::new(0, 0), false)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0.state)
    }

    /// Begins a call of the API, after which command buffers may fail. A device without a thread may also do something.
    fn call(&self) -> MutexGuard<'_, State> {
        let mut state = self.state();
        if state.batches.count_call() {
            state.fails = true;
        }
        if self.0.is_alone && state.batches.once_in(3) {
            drop(state);
            self.work();
            return self.state();
        }
        state
    }

    fn commands(&self) -> Commands {
        Commands { handlers: Mutex::new(Some(Vec::new())), device: self.clone() }
    }

    /// Submits commands, or only a signal.
    fn commit(&self, commands: Option<&Commands>, value: u64) {
        let handlers =
            commands.map(|commands| lock(&commands.handlers).take().expect("it is committed once"));
        let mut state = self.call();
        state.batches.submit(value);
        state.committed.push_back(Submission { value, handlers });
    }

    fn run(&self, job: impl FnOnce(&mut State) -> Option<Job>) {
        let job = job(&mut self.state());
        job.expect("there is something to do").run();
    }
}

impl MetalCalls for Device {
    type Commands = Commands;

    fn signaled_value(&self) -> u64 {
        self.call().signaled
    }

    fn notify_at(&self, value: u64, notified: Notified) {
        let mut state = self.call();
        state.batches.check_awaited(value);
        if state.signaled >= value {
            drop(state);
            notified();
        } else {
            state.notifications.push((value, notified));
            drop(state);
        }
        while self.0.is_alone && self.work() {}
    }

    fn on_completed(commands: &Commands, ended: Ended) {
        drop(commands.device.call());
        let mut handlers = lock(&commands.handlers);
        handlers.as_mut().expect("a handler is added before the commit").push(ended);
    }
}

impl Model for Device {
    type Calls = SharedEventWaits<Self>;

    fn new(batches: Batches, is_alone: bool) -> Self {
        let state = State {
            batches,
            signaled: 0,
            committed: VecDeque::new(),
            notifications: Vec::new(),
            ended: Vec::new(),
            fails: false,
        };
        Self(Arc::new(Shared { state: Mutex::new(state), is_alone }))
    }

    fn calls(&self) -> SharedEventWaits<Self> {
        SharedEventWaits::new(self.clone())
    }

    /// Metal has no allocators, but a batch in flight uses memory in the same way.
    fn submit(&self, calls: &SharedEventWaits<Self>, value: u64, allocator: usize) -> Result<(), String> {
        self.with_batches(|batches| batches.record(allocator, value));
        if self.with_batches(|batches| batches.once_in(8)) {
            // The recorder discards these commands and records the batch again.
            calls.watch(&self.commands(), value);
        }
        if self.with_batches(|batches| batches.once_in(4)) {
            self.commit(None, value);
        } else {
            let commands = self.commands();
            calls.watch(&commands, value);
            self.commit(Some(&commands), value);
        }
        Ok(())
    }

    fn work(&self) -> bool {
        let job = self.state().next_job();
        let has_job = job.is_some();
        job.into_iter().for_each(Job::run);
        has_job
    }

    fn with_batches<T>(&self, run: impl FnOnce(&mut Batches) -> T) -> T {
        run(&mut self.state().batches)
    }
}

fn fence(device: &Device) -> NativeFence<SharedEventWaits<Device>> {
    NativeFence::new(device.calls(), LostFlag::default(), Arc::default())
}

/// Submits commands with the next value.
fn submit(device: &Device, fence: &NativeFence<SharedEventWaits<Device>>) -> TimelineValue {
    let value = TimelineValue(fence.last_submitted().0 + 1);
    let commands = device.commands();
    fence.calls().watch(&commands, value.0);
    device.commit(Some(&commands), value.0);
    fence.submitted(value);
    value
}

#[test]
fn command_buffers_that_fail_from_any_call_on_are_a_loss_and_complete_no_batch() {
    fail_at_each_call::<Device>();
}

#[test]
fn threads_that_submit_and_wait_at_random_see_only_executed_batches_and_the_loss() {
    for seed in 0..100 {
        run_threads::<Device>(seed);
    }
}

#[test]
fn a_command_buffer_that_fails_is_a_loss_with_its_reason_although_its_value_is_signalled() {
    let device = Device::idle();
    let fence = fence(&device);
    let value = submit(&device, &fence);
    device.state().fails = true;
    device.run(State::execute);
    device.state().signaled = value.0;
    assert_eq!(fence.completed(), Ok(TimelineValue(0)));
    thread::scope(|scope| {
        let waiter = scope.spawn(|| fence.wait(value, LIMIT));
        device.run(State::report);
        assert_eq!(waiter.join().expect("the waiter ends"), Err(Lost { reason: FAILURE.into() }));
    });
    assert_eq!(fence.completed(), Err(Lost { reason: FAILURE.into() }));
}

#[test]
fn a_failure_ends_a_wait_for_a_value_that_is_never_signalled() {
    let device = Device::idle();
    let fence = fence(&device);
    let value = submit(&device, &fence);
    device.state().fails = true;
    device.run(State::execute);
    device.state().signaled = 0;
    device.run(State::report);
    assert_eq!(fence.wait(value, LIMIT), Err(Lost { reason: FAILURE.into() }));
}

#[test]
fn a_wait_for_an_ended_command_buffer_outlives_the_submission_of_another() {
    let device = Device::idle();
    let fence = fence(&device);
    let first = submit(&device, &fence);
    device.run(State::execute);
    let second = submit(&device, &fence);
    thread::scope(|scope| {
        let waiter = scope.spawn(|| fence.wait(first, LIMIT));
        device.run(State::report);
        assert_eq!(waiter.join().expect("the waiter ends"), Ok(first));
    });
    device.run(State::execute);
    assert_eq!(fence.completed(), Ok(first));
    device.run(State::report);
    assert_eq!(fence.completed(), Ok(second));
}

#[test]
fn a_command_buffer_that_is_never_committed_holds_no_value_back() {
    let device = Device::idle();
    let fence = fence(&device);
    let discarded = device.commands();
    fence.calls().watch(&discarded, 1);
    device.commit(None, 1);
    fence.submitted(TimelineValue(1));
    device.run(State::execute);
    assert_eq!(fence.completed(), Ok(TimelineValue(0)));
    drop(discarded);
    assert_eq!(fence.completed(), Ok(TimelineValue(1)));
}

#[test]
fn a_value_waits_for_the_reports_of_all_command_buffers_before_it() {
    let device = Device::idle();
    let waits = device.calls();
    let buffers = [device.commands(), device.commands()];
    for commands in &buffers {
        waits.watch(commands, 1);
    }
    device.commit(Some(&buffers[0]), 1);
    device.commit(Some(&buffers[1]), 2);
    device.commit(None, 3);
    for _ in 0..3 {
        device.run(State::execute);
    }
    assert_eq!(waits.value(), Ok(0));
    device.run(State::report);
    assert_eq!(waits.value(), Ok(0));
    device.run(State::report);
    assert_eq!(waits.value(), Ok(3));
}

#[test]
#[should_panic(expected = "no submission signals it")]
fn the_model_refuses_a_wait_for_a_value_that_is_never_signalled() {
    let waits = Device::idle().calls();
    waits.wait(1, LIMIT).expect("the model panics");
}

#[test]
#[should_panic(expected = "a handler is added before the commit")]
fn the_model_refuses_a_handler_after_the_commit() {
    let device = Device::idle();
    let waits = device.calls();
    let commands = device.commands();
    device.commit(Some(&commands), 1);
    waits.watch(&commands, 1);
}
