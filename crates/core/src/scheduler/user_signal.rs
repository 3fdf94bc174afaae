//! The state behind a user event, which the host or another context signals.

use crate::error::Error;
use crate::error::{Kind, Result};
use crate::scheduler::callbacks::signal;
use crate::scheduler::command::Op;
use crate::scheduler::engine::Engine;
use crate::scheduler::relay::Relay;
use fencepost_sync::HoldId;
use fencepost_sync::prim::Mutex;
use fencepost_sync::prim::lock;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::Weak;
use std::task::Waker;
use web_time::Instant;
/// Abandons the event when the last clone goes.
pub(crate) struct Signaller(Arc<UserState>);

/// The state behind a user event.
pub(crate) struct UserState {
    pub(crate) hold: HoldId,
    label: Arc<str>,
    /// Weak: who waits on the device does not keep the context going.
    engine: Weak<Engine>,
    outcome: Mutex<Outcome>,
    /// Who signals it, if that is another context.
    relay: OnceLock<Weak<Relay>>,
}

#[derive(Default)]
struct Outcome {
    result: Option<Result<(), Error>>,
    at: Option<Instant>,
    /// What it stands for is submitted, not done: to the hardware queue of whoever waits.
    sent: bool,
}

impl Signaller {
    pub(crate) fn new(engine: &Arc<Engine>, label: &str) -> Self {
        Self(Arc::new(UserState {
            hold: engine.new_hold(),
            label: label.into(),
            engine: Arc::downgrade(engine),
            outcome: Mutex::default(),
            relay: OnceLock::new(),
        }))
    }

    pub(crate) fn state(&self) -> &Arc<UserState> {
        &self.0
    }

    pub(crate) fn signal(&self) {
        signal(|| self.complete(Ok(())));
    }

    /// The wait for it, as a command.
    pub(crate) fn wait(&self) -> Op {
        Op::WaitUser(UserWait(self.0.clone()))
    }

    /// Ends the event, for good or for bad.
    pub(crate) fn complete(&self, result: Result<()>) {
        self.0.complete(result);
    }

    /// Ends the event for who submits to the hardware queue that has what it stands for.
    pub(crate) fn send(&self) {
        lock(&self.0.outcome).sent = true;
        self.complete(Ok(()));
    }
}

impl Drop for Signaller {
    fn drop(&mut self) {
        let event = self.0.label.to_string();
        signal(|| self.0.complete(Err(Kind::Abandoned { event }.into())));
    }
}

/// The wait of a queue for an event of the host.
pub(crate) struct UserWait(pub(crate) Arc<UserState>);

impl Deref for UserWait {
    type Target = UserState;

    fn deref(&self) -> &UserState {
        &self.0
    }
}

impl Drop for UserWait {
    /// A queue that has failed does not wait any more: the other context, if one is to signal, need not tell it. A wait
    /// that is over may go under S, one that is not goes outside.
    fn drop(&mut self) {
        if self.result().is_none()
            && let Some(relay) = self.relay()
        {
            relay.abandon();
        }
    }
}

impl UserState {
    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    /// The context whose callbacks may signal it, if nobody gets that on unasked and it has something to do.
    pub(crate) fn idle_context(&self) -> Option<Arc<Engine>> {
        self.engine.upgrade().filter(|engine| !engine.threads && engine.lock().busy())
    }

    /// Notes that another context signals it.
    pub(crate) fn sent_by(&self, relay: &Arc<Relay>) {
        self.relay.get_or_init(|| Arc::downgrade(relay));
    }

    /// Who has still to signal it, if that is another context.
    pub(crate) fn relay(&self) -> Option<Arc<Relay>> {
        self.relay.get()?.upgrade()
    }

    /// How it ended, if it did.
    pub(crate) fn result(&self) -> Option<Result<()>> {
        lock(&self.outcome).result.clone()
    }

    /// Whether whoever waits for it has still to come behind what the hardware queue has.
    pub(crate) fn is_sent(&self) -> bool {
        lock(&self.outcome).sent
    }

    /// When it ended, if it did.
    pub(crate) fn ended(&self) -> Option<Instant> {
        lock(&self.outcome).at
    }

    /// How it ended, if it did; else has `waker` called when it does.
    pub(crate) fn attend(&self, waker: &Waker) -> Option<Result<()>> {
        match self.engine() {
            Some(engine) => engine.attend_user(self, waker),
            None => self.result(),
        }
    }

    /// The context that it is of, and that wakes what waits for it.
    pub(crate) fn engine(&self) -> Option<Arc<Engine>> {
        self.engine.upgrade()
    }

    fn complete(&self, result: Result<()>) {
        {
            let mut outcome = lock(&self.outcome);
            if outcome.result.is_some() {
                return;
            }
            (outcome.result, outcome.at) = (Some(result), Some(Instant::now()));
        }
        if let Some(engine) = self.engine() {
            engine.release(self.hold);
        }
    }
}
