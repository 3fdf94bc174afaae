//! Closes queues, and ends a context.

use crate::error::Error;
#[cfg(not(target_arch = "wasm32"))]
use crate::scheduler::command::Op;
#[cfg(not(target_arch = "wasm32"))]
use crate::scheduler::deadline::Deadline;
use crate::scheduler::engine::Engine;
#[cfg(not(target_arch = "wasm32"))]
use crate::scheduler::queue_state::Hold;
use crate::scheduler::state::State;
use crate::scheduler::wait_target::Caller;
use fencepost_kernels::report;
use fencepost_sync::{Point, Slot};
#[cfg(not(target_arch = "wasm32"))]
use std::time::Duration;

/// When a context ends, it stops loops in chunks that still run after this time.
#[cfg(not(target_arch = "wasm32"))]
const LOOPS_END: Duration = Duration::from_secs(5);

impl Engine {
    /// Flushes all queues, waits for them unless the device is lost, and lets the threads end.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn close(&self) {
        // No queue is held by a user event of the program any more, because a handle of an event keeps its context
        // alive.
        let ends = self.lock().ends();
        let deadline = Deadline::after(Some(LOOPS_END));
        if ends.iter().any(|&end| matches!(self.wait(end, deadline), Ok(false))) {
            self.end_loops();
        }
        for end in ends {
            if let Err(error) = self.wait(end, Deadline::after(None)) {
                report!(Debug, "a wait failed while a context closed: {error}");
            }
        }
        self.lock().closing = true;
        self.notify_due_threads();
    }

    /// Stops the loops in chunks: no further chunk is planned.
    #[cfg(not(target_arch = "wasm32"))]
    fn end_loops(&self) {
        let mut state = self.lock();
        state.ends_loops = true;
        let holds = state.queues.iter().filter_map(|queue| queue.hold);
        let loops: Vec<Hold> = holds.filter(|hold| matches!(hold, Hold::Loop(_))).collect();
        loops.into_iter().for_each(|hold| _ = state.release(hold));
        self.unlock(state);
    }

    /// Closes a helper queue. Its slot is free once its work is done.
    pub(crate) fn release_helper(&self, slot: Slot) {
        let mut state = self.lock();
        state.queue_mut(slot).open = false;
        state.free_slot(slot);
        self.unlock(state);
    }

    /// Closes a queue whose handle is dropped. Its work is flushed, so that nothing is lost.
    pub(crate) fn close_queue(&self, slot: Slot) {
        let mut state = self.lock();
        let queue = state.queue_mut(slot);
        queue.open = false;
        queue.forget_waits();
        state.free_slot(slot);
        if state.lost.is_some() || state.queue(slot).is_finished() {
            return self.unlock(state);
        }
        if self.threads {
            return self.flush_locked(state, slot, Caller::Continues);
        }
        let (end, priority) = (state.queue(slot).end(slot), state.queue(slot).priority);
        state.plan([end], priority);
        self.unlock(state);
    }

    /// Returns `true` if a pending command waits for another context.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn waits_for_other_context(&self) -> bool {
        let state = self.lock();
        let mut pending = state.queues.iter().flat_map(|queue| queue.pending.iter());
        pending.any(|command| matches!(&command.op, Op::WaitUser(event) if event.source().is_some()))
    }

    /// Logs an error that no caller can receive. The first one is kept.
    pub(crate) fn note_drop_error(&self, error: Error) {
        report!(Error, "{error}");
        self.lock().drop_error.get_or_insert(error);
    }
}

impl State {
    /// Returns the ends of all queues.
    pub(crate) fn ends(&self) -> Vec<Point> {
        self.slots().map(|slot| self.queue(slot).end(slot)).collect()
    }
}
