//! Points that are submitted but not complete. A wait of another context on the same hardware queue may end at such a
//! point, because the hardware queue executes submissions in order.
use crate::scheduler::engine::Engine;
use crate::scheduler::queue_state::PointProgress;
use crate::scheduler::state::State;
use crate::scheduler::wakers::WakeCondition;
use fencepost_sync::{Point, Stamp};
use std::sync::Arc;
use std::task::Waker;

impl State {
    /// Returns `true` if everything up to `point` was submitted and some of it is not known to be done.
    fn is_submitted(&self, point: Point) -> bool {
        let queue = self.queue(point.slot);
        let mut batches = queue.batches_before(point.stamp, Stamp(0));
        matches!(self.reached(point), PointProgress::Planned(_))
            && batches.all(|(_, seq)| self.batches.is_submitted(seq))
    }

    /// Removes and returns the wakers whose point was submitted, or is done.
    #[cold]
    pub(crate) fn take_submitted(&mut self) -> Vec<Waker> {
        let mut wakers = std::mem::take(&mut self.wakers);
        let due =
            wakers.take_submitted(|at| self.reached(at) == PointProgress::Done || self.is_submitted(at));
        self.wakers = wakers;
        due
    }
}

impl Engine {
    /// Returns `true` if both contexts submit to one hardware queue, which executes their submissions in order.
    pub(crate) fn shares_queue(&self, other: &Engine) -> bool {
        let own = self.device.hardware();
        Arc::ptr_eq(&self.device, &other.device) || own.is_some() && own == other.device.hardware()
    }

    /// Returns `true` if everything up to `point` was submitted. Otherwise registers `waker` for the submission. The
    /// completion may come first; the caller waits for it with another waker.
    pub(crate) fn register_submitted_waker(&self, point: Point, waker: &Waker) -> bool {
        let mut state = self.lock();
        let submitted = state.is_submitted(point);
        if !submitted && state.reached(point) != PointProgress::Done {
            state.wakers.register(WakeCondition::submitted(point), waker);
        }
        submitted
    }
}
