//! The order of deliveries: when the messages of a launch are due, and what completes with them. S is the state lock.

use crate::scheduler::command::Command;
use crate::scheduler::deliveries::{Delivery, RunningDelivery};
use crate::scheduler::state::State;
use fencepost_sync::{Seq, Slot};
#[cfg(not(target_arch = "wasm32"))]
use std::time::Duration;

impl State {
    /// Removes the front command of a queue, which is work in batch `seq`. A read of messages completes with its delivery.
    pub(crate) fn pop_work(&mut self, slot: Slot, seq: Seq) -> Option<Command> {
        let messages = self.queue(slot).pending.front().and_then(|front| front.op.messages());
        let Some((read, size)) = messages else { return self.queue_mut(slot).pop_work(seq) };
        let (read, delivery) = (read.clone(), self.batches.open_delivery());
        self.batches.watch(delivery, slot);
        let command = self.queue_mut(slot).pop_delivered(seq, delivery)?;
        let (queue, stamp) = (slot, command.stamp);
        self.deliveries.planned.insert(delivery, Delivery { queue, stamp, read, size });
        Some(command)
    }

    /// Returns the earliest delivery whose launch is complete, with everything before it in its queue.
    fn due_delivery(&self) -> Option<Seq> {
        if self.deliveries.planned.is_empty() {
            return None;
        }
        let planned = self.deliveries.planned.iter();
        let due = planned.filter(|(seq, delivery)| self.queue(delivery.queue).first_batch() == Some(**seq));
        let due = due.map(|(&seq, delivery)| (delivery.stamp, seq));
        due.min().map(|(_, seq)| seq)
    }

    /// Returns `true` if messages can be delivered now.
    pub(crate) fn has_due_delivery(&self) -> bool {
        self.deliveries.running.is_none() && self.due_delivery().is_some()
    }

    /// Begins the next delivery on this thread. Returns `None` if there is none, or if another one is running.
    pub(crate) fn begin_delivery(&mut self) -> Option<(Seq, Delivery)> {
        if self.deliveries.running.is_some() || self.lost.is_some() {
            return None;
        }
        let seq = self.due_delivery()?;
        let delivery = self.deliveries.planned.get(&seq)?.clone();
        self.deliveries.running = Some(RunningDelivery::begin(delivery.read.clone()));
        Some((seq, delivery))
    }

    /// Ends a delivery. Everything that waited only for this delivery is complete now.
    pub(crate) fn end_delivery(&mut self, seq: Seq) {
        self.deliveries.running = None;
        if self.deliveries.planned.remove(&seq).is_some() {
            let wakers = self.complete_batch(seq);
            self.after.wakers.extend(wakers);
        }
    }

    /// Wakes all tasks once if the running delivery began more than `limit` ago. A task that waits for messages then gets an
    /// error.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn announce_overdue(&mut self, limit: Duration) {
        let Some(running) = &mut self.deliveries.running else { return };
        if running.is_older_than(limit) && !std::mem::replace(&mut running.announced, true) {
            self.wake_all_waiters();
        }
    }

    /// Returns `true` if this thread delivers messages.
    pub(crate) fn delivers_here(&self) -> bool {
        self.deliveries.running.as_ref().is_some_and(RunningDelivery::is_here)
    }
}
