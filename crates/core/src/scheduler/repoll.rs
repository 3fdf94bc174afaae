//! Tasks that have to ask once more, as something else holds their queue back now.

use crate::error::Result;
use crate::scheduler::callback_cycles::forget_polls_of;
use crate::scheduler::engine::Engine;
use crate::scheduler::queue_state::{Hold, Reached};
use crate::scheduler::state::State;
use crate::scheduler::wakers::WakerOwner;
use fencepost_sync::prim::MutexGuard;
use fencepost_sync::{Point, Stamp};
use std::sync::{Arc, Weak};
use std::task::Waker;
use std::time::Duration;

impl State {
    /// Has the tasks that wait for the queue of `point` ask again once planning finds that something else holds it back:
    /// another context, which they have to get on if it has no threads, or a callback, which their own thread may have to
    /// run.
    pub(crate) fn note_asking(&mut self, point: Point) {
        if self.reached(point) != Reached::Unplanned {
            return;
        }
        let hold = self.queue(point.slot).hold;
        match self.asking.iter_mut().find(|(slot, _)| *slot == point.slot) {
            Some((_, seen)) => *seen = hold,
            None => self.asking.push((point.slot, hold)),
        }
    }

    /// Takes the wakers of the tasks that have to ask again.
    pub(crate) fn ask_tasks(&mut self) {
        if self.asking.is_empty() {
            return;
        }
        for (slot, seen) in std::mem::take(&mut self.asking) {
            let queue = self.queue(slot);
            match queue.hold {
                Some(Hold::User(_) | Hold::Callback(_)) if queue.hold != seen => {
                    let wakers = self.wakers.take_upto(slot, Stamp(u64::MAX));
                    self.after.wakers.extend(wakers);
                }
                None if queue.pending.is_empty() => {}
                _ => self.asking.push((slot, seen)),
            }
        }
    }
}

impl Engine {
    /// As [`poll`](Self::poll), on a thread that is inside callbacks: plans at once, as only then it shows whether the point
    /// comes after one of them.
    pub(crate) fn poll_inside(
        &self,
        mut state: MutexGuard<'_, State>,
        point: Point,
        waker: &Waker,
    ) -> Option<Result<()>> {
        let priority = state.queue(point.slot).priority;
        state.plan([point], priority);
        // Before the look at what it comes after: what holds it back from then on has the task ask again.
        state.note_asking(point);
        self.unlock(state);
        if !self.threads {
            self.make_progress(Duration::ZERO);
        }
        let error = self.check_poll(point, waker).or_else(|| self.get_on(point, waker));
        error.map(Err)
    }
}

impl Engine {
    /// Has nothing call `waker` any more, here and in the contexts that it was passed on to.
    pub(crate) fn forget(&self, waker: &Waker) {
        forget_polls_of(waker);
        let (removed, beyond) = self.lock().wakers.remove(waker);
        drop(removed);
        for engine in beyond.iter().filter_map(Weak::upgrade) {
            engine.forget(waker);
        }
    }

    /// Notes that `waker` waits here for what another context has to do, and was left there too.
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
