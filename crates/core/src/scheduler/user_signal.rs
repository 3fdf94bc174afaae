//! The state behind a user event, which the host or another context signals.

use crate::error::{Error, Result};
use fencepost_sync::HoldId;
use fencepost_sync::prim::{Mutex, lock};
use std::any::Any;
use std::ops::Deref;
use std::sync::{Arc, OnceLock, Weak};
use std::task::Waker;
use web_time::Instant;

/// A context in which an event holds queues back.
pub(crate) trait HoldOwner: Send + Sync {
    /// Continues the queues that `hold` holds back.
    fn release(&self, hold: HoldId);
}

/// Signals an event on behalf of another context.
pub(crate) trait SignalSource: Any + Send + Sync {
    /// No queue waits for the signal any more.
    fn abandon(self: Arc<Self>);

    /// Returns a waker that makes it look at the other context again.
    fn waker(self: Arc<Self>) -> Waker;
}

/// The state behind a user event.
pub(crate) struct UserSignal {
    pub(crate) hold: HoldId,
    label: Arc<str>,
    /// Weak: a wait on the device does not keep the context alive.
    owner: Weak<dyn HoldOwner>,
    outcome: Mutex<SignalOutcome>,
    /// Signals it on behalf of another context, if that is how it ends.
    source: OnceLock<Weak<dyn SignalSource>>,
}

#[derive(Default)]
struct SignalOutcome {
    result: Option<Result<(), Error>>,
    at: Option<Instant>,
    /// What it stands for is submitted, not done: to the hardware queue of whoever waits.
    submitted: bool,
}

/// The wait of a queue for an event of the host.
pub(crate) struct UserWait(pub(crate) Arc<UserSignal>);

impl Deref for UserWait {
    type Target = UserSignal;

    fn deref(&self) -> &UserSignal {
        &self.0
    }
}

impl Drop for UserWait {
    /// A queue that has failed does not wait any more: the other context, if one is to signal, need not tell it. A wait
    /// that is over may go under S, one that is not goes outside.
    fn drop(&mut self) {
        if self.result().is_none()
            && let Some(source) = self.source()
        {
            source.abandon();
        }
    }
}

impl UserSignal {
    pub(crate) fn new(hold: HoldId, label: &str, owner: Weak<dyn HoldOwner>) -> Self {
        Self { hold, label: label.into(), owner, outcome: Mutex::default(), source: OnceLock::new() }
    }

    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    /// Notes that another context signals it.
    pub(crate) fn set_source(&self, source: Weak<dyn SignalSource>) {
        self.source.get_or_init(|| source);
    }

    /// Returns what still has to signal it on behalf of another context.
    pub(crate) fn source(&self) -> Option<Arc<dyn SignalSource>> {
        self.source.get()?.upgrade()
    }

    /// How it ended, if it did.
    pub(crate) fn result(&self) -> Option<Result<()>> {
        lock(&self.outcome).result.clone()
    }

    /// Whether whoever waits for it has still to come behind what the hardware queue has.
    pub(crate) fn is_submitted(&self) -> bool {
        lock(&self.outcome).submitted
    }

    /// When it ended, if it did.
    pub(crate) fn ended(&self) -> Option<Instant> {
        lock(&self.outcome).at
    }

    /// Ends the event for a queue that submits to the hardware queue that has what it stands for.
    pub(crate) fn send(&self) {
        lock(&self.outcome).submitted = true;
        self.complete(Ok(()));
    }

    /// Ends the event once.
    pub(crate) fn complete(&self, result: Result<()>) {
        {
            let mut outcome = lock(&self.outcome);
            if outcome.result.is_some() {
                return;
            }
            (outcome.result, outcome.at) = (Some(result), Some(Instant::now()));
        }
        if let Some(owner) = self.owner.upgrade() {
            owner.release(self.hold);
        }
    }
}
