//! Host functions in queue order, on a thread of their own.

use super::engine::Engine;
use super::queue::{Hold, HoldId};
use super::state::State;
use crate::command::Callback;
use crate::error::Kind;
use fencepost_sync::Slot;
use fencepost_sync::prim::{MutexGuard, thread_local};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    /// The engine whose callback runs on this thread.
    static RUNNING: Cell<usize> = Cell::default();
}

/// Whether this thread is inside a callback of `engine`.
pub(super) fn running_here(engine: &Engine) -> bool {
    RUNNING.with(Cell::get) == std::ptr::from_ref(engine) as usize
}

impl Engine {
    /// Runs what is due on this thread.
    pub(crate) fn run_calls(&self) {
        let mut state = self.lock();
        while let Some((id, slot, run)) = state.calls.pop_front() {
            state = self.call(state, id, slot, run);
        }
    }

    pub(super) fn call<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        id: HoldId,
        slot: Slot,
        run: Callback,
    ) -> MutexGuard<'a, State> {
        state.calling = Some(slot);
        drop(state);
        let before = RUNNING.with(|running| running.replace(std::ptr::from_ref(self) as usize));
        let outcome = catch_unwind(AssertUnwindSafe(run));
        RUNNING.with(|running| running.set(before));
        let mut state = self.lock();
        state.calling = None;
        state.called(id, slot, outcome.is_err());
        self.unlock(state);
        self.lock()
    }
}

impl State {
    /// Lets the queue of a callback that has run go on; one that panicked ends its queue.
    fn called(&mut self, id: HoldId, slot: Slot, panicked: bool) {
        self.release(|hold| hold == Hold::Callback(id));
        if self.lost.is_some() {
            return;
        }
        if panicked {
            let queue = self.queue(slot).label.to_string();
            if let Some(first) = self.queue(slot).pending.front().map(|front| front.stamp) {
                self.fail_queue(slot, first, Kind::CallbackPanicked { queue }.into());
            }
        } else {
            self.queue_mut(slot).pop(None);
        }
        self.collect_wakers();
        self.reap();
    }
}
