//! Runs host callbacks in queue order: on the callback thread of the context or, without threads, on a thread that
//! makes progress.

use crate::error::Kind;
use crate::error::panic_text::panic_text;
use crate::scheduler::callback_cycles as cycles;
use crate::scheduler::callback_state::BlockingCallback;
use crate::scheduler::command::{Callback, Op};
use crate::scheduler::deferred_calls::defer_calls;
use crate::scheduler::engine::Engine;
use crate::scheduler::queue_state::{Hold, PointProgress};
use crate::scheduler::state::State;
use crate::scheduler::thread_posts::is_thread_of_a_lane;
use crate::scheduler::thread_state::{enter_callback, is_signalling, leave_callback, this_thread};
use fencepost_sync::prim::MutexGuard;
use fencepost_sync::{HoldId, Point, Slot};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// Guard that marks this thread as [running a callback](crate::scheduler::thread_state::is_inside_callback) until it is
/// dropped.
pub(crate) struct Inside(());

impl Inside {
    pub(crate) fn enter() -> Self {
        enter_callback();
        Self(())
    }
}

impl Drop for Inside {
    /// Removes the polls that the callback has recorded, since the callback does not poll again.
    fn drop(&mut self) {
        leave_callback();
        cycles::forget_polls(this_thread());
    }
}

impl Engine {
    /// Runs the due callbacks on this thread. Returns `true` if there was one.
    ///
    /// Some threads must not run a callback now, because the callback may wait for something that the thread does
    /// next. A lane thread, and a thread that signals an event, wake the waiting calls and tasks of the context
    /// instead. A thread that polls relays runs the callbacks after it has polled all of them.
    pub(crate) fn run_due_callbacks(&self) -> bool {
        let mut state = self.lock();
        if is_thread_of_a_lane() || is_signalling() {
            // The waiters are woken once, because a woken relay calls this function again on the same thread.
            if !state.calls.is_empty() && !std::mem::replace(&mut state.callbacks_announced, true) {
                state.wake_all_waiters();
            }
            self.unlock(state);
            return false;
        }
        let engine = self.me.clone();
        let later = move || {
            if let Some(engine) = engine.upgrade() {
                engine.make_progress(Duration::ZERO);
            }
        };
        if !state.calls.is_empty() && defer_calls(later) {
            return false;
        }
        let any = !state.calls.is_empty();
        drop(self.run_callbacks(state));
        any
    }

    /// Runs the due callbacks, including those that become due meanwhile.
    pub(crate) fn run_callbacks<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        while let Some((id, slot, run)) = state.calls.pop_front() {
            state = self.run_callback(state, id, slot, run);
        }
        state
    }

    /// Runs one callback without S, the state lock, and then resumes its queue.
    pub(crate) fn run_callback<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        id: HoldId,
        slot: Slot,
        run: Callback,
    ) -> MutexGuard<'a, State> {
        state.callbacks.running.push((id, this_thread()));
        drop(state);
        let inside = Inside::enter();
        let panic = catch_unwind(AssertUnwindSafe(|| run.call())).err().map(panic_text);
        drop(inside);
        // The callback may have blocked and taken a wake that was meant for a future that this thread polls.
        fencepost_sync::note_nested();
        let mut state = self.lock();
        state.finish_callback(id, slot, panic);
        if !self.threads {
            state.wake_all_waiters(); // only polling makes progress here, perhaps on another thread
        }
        self.unlock(state);
        self.lock()
    }
}

impl State {
    /// Resumes the queue of a callback that has run. A callback that panicked fails its queue.
    fn finish_callback(&mut self, id: HoldId, slot: Slot, panic: Option<String>) {
        self.callbacks.running.retain(|(running, _)| *running != id);
        self.release(Hold::Callback(id));
        if self.lost.is_some() {
            return;
        }
        let front = self.queue(slot).pending.front();
        // A queue that failed meanwhile has dropped the callback already.
        let due = front.filter(|front| matches!(front.op, Op::DueCallback(due) if due == id));
        if let Some(first) = due.map(|front| front.stamp) {
            if let Some(panic) = panic {
                let queue = self.queue(slot).label.to_string();
                self.fail_queue(slot, first, Kind::CallbackPanicked { queue, panic }.into());
            } else {
                self.queue_mut(slot).pop(None);
            }
        }
        self.collect_wakers();
        self.free_slot(slot);
    }

    /// Returns the callback that holds the queue of an unplanned point.
    pub(crate) fn callback_before(&self, point: Point) -> Option<BlockingCallback> {
        let Some(Hold::Callback(callback)) = self.queue(point.slot).hold else { return None };
        if self.reached(point) != PointProgress::Unplanned {
            return None;
        }
        let is_due = |op: &Op| matches!(op, Op::DueCallback(id) if *id == callback);
        let held = self.queues.held(Hold::Callback(callback));
        let mut queues = held.into_iter().map(|slot| self.queue(slot));
        let of = queues.find(|queue| queue.pending.front().is_some_and(|front| is_due(&front.op)));
        let queue = of.map(|queue| queue.label.clone()).unwrap_or_default();
        let running = self.callbacks.running.iter().find(|(id, _)| *id == callback);
        let thread = running.map(|(_, thread)| *thread).or(self.callbacks.thread);
        Some(BlockingCallback { callback, queue, thread })
    }
}

#[cfg(all(test, not(fencepost_loom)))]
mod tests {
    use super::*;
    use crate::scheduler::priority::Priority;
    use crate::scheduler::test_engine::{engine, enqueue_callback, hold, queue};

    #[test]
    fn r01_a_queue_that_failed_during_a_callback_is_unchanged_by_its_end() {
        for panic in [None, Some(String::from("why"))] {
            let engine = engine(false);
            let slot = queue(&engine);
            enqueue_callback(&engine, slot, || ());
            let mut state = engine.lock();
            let callback = state.queue(slot).end(slot);
            state.plan([callback], Priority::Normal);
            let (id, _, _run) = state.calls.pop_front().expect("the callback is due");
            state.fail_queue(slot, callback.stamp, Kind::Busy { array: "x".into() }.into());
            state.plan([callback], Priority::Normal);
            drop(state);
            engine.take_queue_error(slot).expect("the queue has failed");
            let gate = hold(&engine, slot);
            let mut state = engine.lock();
            state.finish_callback(id, slot, panic);
            let behind = state.queue(slot).end(slot);
            state.plan([behind], Priority::Normal);
            assert_eq!(state.reached(behind), PointProgress::Unplanned, "the gate is not signalled");
            assert!(state.queue(slot).error.is_none());
            drop(state);
            gate.signal();
        }
    }
}
