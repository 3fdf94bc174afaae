//! The state of a user event, which the host or another context signals. S is the state lock.

use crate::error::{Error, Result};
use fencepost_sync::HoldId;
use fencepost_sync::prim::{Mutex, lock};
use std::any::Any;
use std::ops::Deref;
use std::sync::{Arc, OnceLock, Weak};
use std::task::Waker;
use web_time::Instant;

/// A context in which an event holds queues.
pub(crate) trait HoldOwner: Send + Sync {
    /// Continues the queues that `hold` holds.
    fn release(&self, hold: HoldId);
}

/// A source that signals an event for another context.
pub(crate) trait SignalSource: Any + Send + Sync {
    /// Stops the source because no queue waits for the signal.
    fn abandon(self: Arc<Self>);

    /// Returns a waker that makes the source poll the other context again.
    fn waker(self: Arc<Self>) -> Waker;
}

/// The party that signals an event.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignalledBy {
    Program,
    /// Another context, whose queue may itself wait for the program.
    OtherContext,
    /// A thread of the context itself, independently of the program.
    OwnThread,
}

/// State of a user event.
pub(crate) struct UserSignal {
    pub(crate) hold: HoldId,
    label: Arc<str>,
    by: SignalledBy,
    /// Context of the event. The reference is weak, so that a wait on the device does not keep the context alive.
    owner: Weak<dyn HoldOwner>,
    outcome: Mutex<SignalOutcome>,
    /// Relay that signals the event, if another context does.
    source: OnceLock<Weak<dyn SignalSource>>,
}

#[derive(Default)]
struct SignalOutcome {
    result: Option<Result<(), Error>>,
    at: Option<Instant>,
    /// `true` if the event ended when its source's work was submitted to the waiter's hardware queue, before that work
    /// was complete.
    submitted: bool,
}

/// A queue's wait for a user event.
pub(crate) struct UserWait(pub(crate) Arc<UserSignal>);

impl Deref for UserWait {
    type Target = UserSignal;

    fn deref(&self) -> &UserSignal {
        &self.0
    }
}

impl Drop for UserWait {
    /// Abandons the signal source if the wait is dropped before the signal, because its queue has failed. A finished
    /// wait may be dropped under S. An unfinished one is dropped after S is released, because the source then takes the
    /// S of its own context.
    fn drop(&mut self) {
        if self.result().is_none()
            && let Some(source) = self.source()
        {
            source.abandon();
        }
    }
}

impl UserSignal {
    pub(crate) fn new(hold: HoldId, label: &str, owner: Weak<dyn HoldOwner>, by: SignalledBy) -> Self {
        Self { hold, label: label.into(), by, owner, outcome: Mutex::default(), source: OnceLock::new() }
    }

    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    pub(crate) fn signalled_by(&self) -> SignalledBy {
        self.by
    }

    /// Records that another context signals this event.
    pub(crate) fn set_source(&self, source: Weak<dyn SignalSource>) {
        self.source.get_or_init(|| source);
    }

    /// Returns the relay that still has to signal this event for another context.
    pub(crate) fn source(&self) -> Option<Arc<dyn SignalSource>> {
        self.source.get()?.upgrade()
    }

    /// Returns the result of the event if it has ended.
    pub(crate) fn result(&self) -> Option<Result<()>> {
        lock(&self.outcome).result.clone()
    }

    /// Returns `true` if the event ended as submitted. A waiter must still be ordered after the work that is already on
    /// the shared hardware queue.
    pub(crate) fn is_submitted(&self) -> bool {
        lock(&self.outcome).submitted
    }

    /// Returns the time at which the event ended, if it has.
    pub(crate) fn ended(&self) -> Option<Instant> {
        lock(&self.outcome).at
    }

    /// Completes the event before its source's work is complete. The waiter's queue submits to the hardware queue that
    /// already has that work.
    pub(crate) fn send(&self) {
        lock(&self.outcome).submitted = true;
        self.complete(Ok(()));
    }

    /// Ends the event. Later calls have no effect.
    pub(crate) fn complete(&self, result: Result<()>) {
        {
            let mut outcome = lock(&self.outcome);
            if outcome.result.is_some() {
                return;
            }
            outcome.result = Some(result);
            outcome.at = Some(Instant::now());
        }
        if let Some(owner) = self.owner.upgrade() {
            owner.release(self.hold);
        }
    }
}
