//! Makes tasks poll again when the queue that they wait for has another hold.

use crate::error::Result;
use crate::scheduler::callback_cycles::forget_polls_of;
use crate::scheduler::engine::Engine;
use crate::scheduler::queue_state::{Hold, PointProgress};
use crate::scheduler::state::State;
use crate::scheduler::wait_target::WaitTarget;
use crate::scheduler::wakers::WakerOwner;
use fencepost_sync::prim::MutexGuard;
use fencepost_sync::{Point, Stamp};
use std::sync::{Arc, Weak};
use std::task::Waker;
use std::time::Duration;

impl State {
    /// Registers the queue of `point`. The tasks that wait for the queue poll again once planning has given it
    /// another hold. The new hold may be another context that the tasks must drive because it has no threads, or a
    /// callback that a task's own thread must run.
    pub(crate) fn register_repoll(&mut self, point: Point) {
        if self.reached(point) != PointProgress::Unplanned {
            return;
        }
        let hold = self.queue(point.slot).hold;
        match self.repolls.iter_mut().find(|(slot, _)| *slot == point.slot) {
            Some((_, seen)) => *seen = hold,
            None => self.repolls.push((point.slot, hold)),
        }
    }

    /// Collects the wakers of the tasks that must poll again.
    pub(crate) fn collect_repolls(&mut self) {
        for (slot, seen) in std::mem::take(&mut self.repolls) {
            let queue = self.queue(slot);
            match queue.hold {
                Some(Hold::User(_) | Hold::Callback(_)) if queue.hold != seen => {
                    let wakers = self.wakers.take_upto(slot, Stamp(u64::MAX));
                    self.after.wakers.extend(wakers);
                }
                None if queue.pending.is_empty() => {}
                _ => self.repolls.push((slot, seen)),
            }
        }
    }
}

impl Engine {
    /// Like [`poll`](Self::poll), on a thread inside callbacks. Plans at once, because only planning shows that the
    /// point comes after one of the callbacks.
    pub(crate) fn poll_inside(
        &self,
        mut state: MutexGuard<'_, State>,
        point: Point,
        waker: &Waker,
    ) -> Option<Result<()>> {
        if let Err(error) = state.check_print(WaitTarget::Point(point)) {
            self.unlock(state);
            return Some(Err(error));
        }
        let priority = state.queue(point.slot).priority;
        state.plan([point], priority);
        // This registration comes before the check of callbacks, so that a hold that appears after the check makes the
        // task poll again.
        state.register_repoll(point);
        self.unlock(state);
        if !self.threads {
            self.make_progress(Duration::ZERO);
        }
        let error = self.check_poll(point, waker).or_else(|| self.drive(point, waker));
        error.map(Err)
    }

    /// Removes `waker` from this context and from the contexts that it was forwarded to.
    pub(crate) fn forget(&self, waker: &Waker) {
        forget_polls_of(waker);
        let (removed, beyond) = self.lock().wakers.remove(waker);
        drop(removed);
        for engine in beyond.iter().filter_map(Weak::upgrade) {
            engine.forget(waker);
        }
    }

    /// Records that `waker`, which is registered here, is also registered with the other context `to`.
    pub(crate) fn forward_waker(&self, waker: &Waker, to: &Arc<Engine>) {
        let to: Arc<dyn WakerOwner> = to.clone();
        self.lock().wakers.forward_waker(waker, &to);
    }
}

impl WakerOwner for Engine {
    fn forget(&self, waker: &Waker) {
        Engine::forget(self, waker);
    }
}
