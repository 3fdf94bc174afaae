//! Signals user events.

use crate::error::{Kind, Result};
use crate::scheduler::command::Op;
use crate::scheduler::engine::Engine;
use crate::scheduler::thread_state::signal;
use crate::scheduler::user_signal::{HoldOwner, SignalledBy, UserSignal, UserWait};
use fencepost_sync::HoldId;
use std::sync::Arc;

/// Handle that signals a user event. Dropping it abandons an event that has not ended.
pub(crate) struct Signaller(Arc<UserSignal>);

impl Signaller {
    pub(crate) fn new(engine: &Arc<Engine>, label: &str, by: SignalledBy) -> Self {
        let owner: Arc<dyn HoldOwner> = engine.clone();
        Self(Arc::new(UserSignal::new(engine.new_hold(), label, Arc::downgrade(&owner), by)))
    }

    pub(crate) fn state(&self) -> &Arc<UserSignal> {
        &self.0
    }

    pub(crate) fn signal(&self) {
        signal(|| self.complete(Ok(())));
    }

    /// Returns the wait for the event as a command.
    pub(crate) fn wait(&self) -> Op {
        Op::WaitUser(UserWait(self.0.clone()))
    }

    /// Ends the event with `result`.
    pub(crate) fn complete(&self, result: Result<()>) {
        self.0.complete(result);
    }

    /// Ends the event with `result`, in the same way as a signal of the program.
    pub(crate) fn end(&self, result: Result<()>) {
        signal(|| self.complete(result));
    }

    /// Completes the event as submitted, which is enough for a waiter on the same hardware queue.
    pub(crate) fn send(&self) {
        self.0.send();
    }
}

impl Drop for Signaller {
    fn drop(&mut self) {
        let event = self.0.label().to_string();
        signal(|| self.0.complete(Err(Kind::Abandoned { event }.into())));
    }
}

impl HoldOwner for Engine {
    fn release(&self, hold: HoldId) {
        Engine::release(self, hold);
    }
}
