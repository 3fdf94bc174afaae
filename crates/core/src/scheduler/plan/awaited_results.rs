//! Decides which results of pending commands the program may be waiting for.

use crate::scheduler::state::State;
use fencepost_sync::{Slot, Stamp};

impl State {
    /// Returns `true` if the program may be waiting for a result of a queue from the command `first` on: the program
    /// has a handle of such a point, a waker is registered for one, or a pending command of the queue returns
    /// something to the host.
    pub(crate) fn is_awaited(&self, slot: Slot, first: Stamp) -> bool {
        self.queue(slot).has_handles(first) || self.wakers.awaits_point(slot, first)
    }

    /// Returns the first pending point of a queue that the program may be waiting for, or `Stamp(u64::MAX)` if there
    /// is none. Returns `None` if the program may be waiting for results of other queues, if a pending command of the
    /// queue returns something to the host, or if there is more than one lane or priority.
    pub(crate) fn unawaited_upto(&self, slot: Slot) -> Option<Stamp> {
        let queue = self.queue(slot);
        let first = queue.pending.front()?.stamp;
        let alone = self.lanes.len() == 1 && self.one_priority();
        if slot == Slot::CONTEXT || queue.returns_to_host() || !alone || self.other_is_awaited(slot) {
            return None;
        }
        let points = queue.first_handle(first).into_iter().chain(self.wakers.first_awaited(slot, first));
        Some(points.min().unwrap_or(Stamp(u64::MAX)))
    }

    /// Returns `true` if [`is_awaited`](Self::is_awaited) holds for the pending commands of any queue.
    pub(crate) fn any_is_awaited(&self) -> bool {
        self.slots().any(|slot| self.is_pending_awaited(slot))
    }

    fn other_is_awaited(&self, slot: Slot) -> bool {
        self.slots().any(|other| other != slot && self.is_pending_awaited(other))
    }

    fn is_pending_awaited(&self, slot: Slot) -> bool {
        self.queue(slot).pending.front().is_some_and(|front| self.is_awaited(slot, front.stamp))
    }
}
