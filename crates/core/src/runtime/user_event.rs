//! Events that the host signals.

use crate::runtime::event::{Event, Recording};
use crate::runtime::owner::Owner;
use crate::scheduler::signaller::Signaller;
use std::sync::Arc;

/// The right to signal an event by hand. Device work that waits for the event is held back on the host until
/// then, and no other queue is held up meanwhile.
///
/// Clones signal the same event. When the last one is dropped without having signalled, the event completes with
/// [`Kind::Abandoned`], and queues that wait for it fail with that error. Like every handle, a user event keeps its
/// context going: one that only a callback behind itself holds is never signalled, and its context never ends.
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
    /// Goes before the event: the end of a context, which that may be, waits for queues that wait for the signal.
    signaller: Arc<Signaller>,
    event: Event,
}

impl UserEvent {
    pub(crate) fn new(owner: Owner, label: &str) -> Self {
        let signaller = Signaller::new(owner.engine(), label);
        let event = Event::new(owner, Recording::User(signaller.state().clone()));
        Self { signaller: Arc::new(signaller), event }
    }

    /// The event to wait for.
    pub fn event(&self) -> Event {
        self.event.clone()
    }

    /// Completes the event. Signalling again changes nothing.
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
    fn a_gate_that_is_the_last_handle_of_its_context_opens_before_that_ends() {
        let ctx = Context::on_cpu(CpuOptions { threads: false, ..CpuOptions::default() });
        let (queue, gate) = (ctx.queue("gated"), ctx.user_event("gate"));
        let (ran, runs) = mpsc::channel();
        // Nobody plans what is behind a callback before that has run, so nothing is held by the gate yet.
        queue.callback(move || ran.send(()).expect("the test listens")).expect("nothing has failed");
        queue.wait_for(&gate.event()).expect("nothing has failed");
        drop((queue, ctx));
        assert!(runs.try_recv().is_err());
        drop(gate);
        assert!(runs.try_recv().is_ok());
    }
}
