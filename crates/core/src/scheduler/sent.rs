//! What the device has already, for contexts that submit to the same hardware queue.

use super::engine::Engine;
use super::queue::Reached;
use super::state::State;
use crate::event::Point;
use fencepost_sync::Stamp;
use std::sync::Arc;
use std::task::Waker;

impl State {
    /// Whether everything up to `point` was submitted, and not all of it is known to be done.
    fn is_sent(&self, point: Point) -> bool {
        let queue = self.queue(point.slot);
        let mut batches = queue.batches_before(point.stamp, Stamp(0));
        matches!(self.reached(point), Reached::Planned(_))
            && batches.all(|seq| self.batches.is_submitted(seq))
    }

    /// Takes whom to wake as a point was submitted, or is over without.
    #[inline]
    pub(super) fn due_sent(&mut self) -> Vec<Waker> {
        if self.sent_wakers.is_empty() { Vec::new() } else { self.take_sent() }
    }

    #[cold]
    fn take_sent(&mut self) -> Vec<Waker> {
        let waiting = std::mem::take(&mut self.sent_wakers);
        let due = |at: Point| self.reached(at) == Reached::Done || self.is_sent(at);
        let (due, waiting): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|(at, _)| due(*at));
        self.sent_wakers = waiting;
        due.into_iter().map(|(_, waker)| waker).collect()
    }
}

impl Engine {
    /// Whether what one of the two submits comes before what the other submits later.
    pub(crate) fn shares_queue(&self, other: &Engine) -> bool {
        let own = self.device.hardware();
        Arc::ptr_eq(&self.device, &other.device) || own.is_some() && own == other.device.hardware()
    }

    /// Whether the device has everything up to `point`; else has `waker` called when it does. Whoever asks hears of
    /// the end elsewhere, which may come first.
    pub(crate) fn attend_sent(&self, point: Point, waker: &Waker) -> bool {
        let mut state = self.lock();
        let sent = state.is_sent(point);
        let known = |(at, known): &(Point, Waker)| *at == point && known.will_wake(waker);
        if !sent && state.reached(point) != Reached::Done && !state.sent_wakers.iter().any(known) {
            state.sent_wakers.push((point, waker.clone()));
        }
        sent
    }
}
