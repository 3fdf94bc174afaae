//! Waits that cannot end because of a function that receives printed lines. S is the state lock.

use crate::error::{Error, Kind, Result};
use crate::memory::message_source::MessageSource;
use crate::scheduler::batch::Status;
use crate::scheduler::engine::Engine;
use crate::scheduler::queue_state::Hold;
use crate::scheduler::state::State;
use crate::scheduler::wait::{TargetState, awaited};
use crate::scheduler::wait_target::WaitTarget;
use fencepost_sync::prim::lock;

impl State {
    /// Checks that this thread is not inside a function that receives printed lines: the target would complete only
    /// after that function.
    ///
    /// # Errors
    /// `WaitInPrint`.
    pub(crate) fn check_print(&self, target: WaitTarget<'_>) -> Result<()> {
        if !self.delivers_here() {
            return Ok(());
        }
        Err(Kind::WaitInPrint { awaited: awaited(self, target) }.into())
    }

    /// Returns `true` if a target waits for the messages of a launch, even if only because a callback before the target
    /// does.
    fn awaits_messages(&self, target: WaitTarget<'_>) -> bool {
        let batch = match (self.target_state(target), target) {
            (TargetState::In(seq), _) => Some(seq),
            (TargetState::Unplanned, WaitTarget::Point(point)) => match self.queue(point.slot).hold {
                Some(Hold::Drain(slot)) => self.queue(slot).first_batch(),
                _ => None,
            },
            _ => None,
        };
        batch.is_some_and(|seq| self.batches.status(seq) == Status::Delivery)
    }
}

impl Engine {
    /// Returns an error if a target waits for messages, and a function that receives lines has not returned for so long
    /// that it may wait for this thread.
    pub(crate) fn overdue_messages(&self, state: &State, target: WaitTarget<'_>) -> Option<Error> {
        let running = state.deliveries.running.as_ref()?;
        let (limit, (receiver, remedy)) = {
            let options = lock(&self.print_options);
            (options.limit, options.to.receiver())
        };
        if !state.awaits_messages(target) || !running.is_older_than(limit) {
            return None;
        }
        let MessageSource { kernel, launch, .. } = &**running.read.messages()?;
        let (awaited, kernel) = (awaited(state, target), kernel.to_string());
        Some(Kind::PrintOverdue { awaited, receiver, remedy, kernel, launch, limit }.into())
    }
}
