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

    /// Has those woken whose points were submitted with the batch that just was.
    pub(super) fn wake_sent(&mut self) {
        let waiting = std::mem::take(&mut self.sent_wakers);
        let (sent, waiting): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|(at, _)| self.is_sent(*at));
        self.sent_wakers = waiting;
        self.after.wakers.extend(sent.into_iter().map(|(_, waker)| waker));
    }
}

impl Engine {
    /// Whether what one of the two submits comes before what the other submits later.
    pub(crate) fn shares_queue(&self, other: &Engine) -> bool {
        let own = self.device.hardware_queue();
        Arc::ptr_eq(&self.device, &other.device) || own.is_some() && own == other.device.hardware_queue()
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
