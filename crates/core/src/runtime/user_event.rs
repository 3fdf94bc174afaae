//! User events, which the host signals.

use crate::runtime::event::{Event, Recording};
use crate::runtime::owner::Owner;
use crate::scheduler::signaller::Signaller;
use crate::scheduler::user_signal::SignalledBy;
use std::sync::Arc;

/// An event that the program signals by hand. Device work that waits for the event stays on the host until the signal;
/// other queues continue meanwhile.
///
/// Clones signal the same event. When the last clone is dropped unsignalled, the event completes with
/// [`Kind::Abandoned`](crate::Kind::Abandoned), and the queues that wait for it fail with that error. Like every
/// handle, a user event keeps its context alive. If the last clone belongs to a callback that runs only after the
/// event, the event is never signalled and the context never ends.
///
/// # Example
/// ```
/// # let (ctx, queue) = fencepost::doctest();
/// let gate = ctx.user_event("gate");
/// queue.wait_for(&gate.event())?;
/// let x = queue.zeros::<u32, 1>([16])?;
/// queue.flush()?;                        // nothing starts yet
/// gate.signal();
/// assert_eq!(queue.read(&x).wait()?, [0; 16]);
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone)]
pub struct UserEvent {
    /// Declared before `event`, so it is dropped first and abandons an unsignalled event. The drop of `event` may end
    /// the context, and that end waits for the queues that wait for the event.
    signaller: Arc<Signaller>,
    event: Event,
}

impl UserEvent {
    pub(crate) fn new(owner: Owner, label: &str) -> Self {
        let signaller = Signaller::new(owner.engine(), label, SignalledBy::Program);
        let event = Event::new(owner, Recording::User(signaller.state().clone()));
        Self { signaller: Arc::new(signaller), event }
    }

    /// Returns the event to wait for.
    pub fn event(&self) -> Event {
        self.event.clone()
    }

    /// Completes the event. A second signal has no effect.
    pub fn signal(&self) {
        self.signaller.signal();
    }
}

#[cfg(test)]
mod tests {
    use crate::api::context::Context;
    use crate::record::cpu::cpu_recorder::CpuOptions;
    use std::sync::mpsc;

    #[test]
    fn a_user_event_as_last_handle_is_abandoned_before_its_context_ends() {
        let ctx = Context::on_cpu(CpuOptions { threads: false, ..CpuOptions::default() });
        let (queue, gate) = (ctx.queue("gated"), ctx.user_event("gate"));
        let (ran, runs) = mpsc::channel();
        // The wait after a callback is planned only after the callback has run, so no command waits for the gate yet.
        queue.callback(move || ran.send(()).expect("the test receives")).expect("nothing has failed");
        queue.wait_for(&gate.event()).expect("nothing has failed");
        drop((queue, ctx));
        assert!(runs.try_recv().is_err());
        drop(gate);
        assert!(runs.try_recv().is_ok());
    }
}
