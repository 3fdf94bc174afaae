//! A batch groups commands that the device receives in one submission.

use crate::device::recorder::{Keep, LaneValue};
use crate::scheduler::command_costs::ExpectedCost;
use crate::scheduler::priority::Priority;
use crate::work::step::Step;
use fencepost_sync::{Seq, Slot, TimelineValue};
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::sync::Arc;
use web_time::Instant;

/// A planned batch that is not yet submitted.
pub(crate) struct Batch {
    pub(crate) seq: Seq,
    pub(crate) steps: Vec<Step>,
    /// Batches that must be submitted first. On another lane, a dependency must also complete before this batch starts.
    /// Every dependency was closed before this batch, so no cycle exists.
    pub(crate) deps: SmallVec<[Seq; 4]>,
    pub(crate) expected: ExpectedCost,
    /// `true` if the same planning closed an earlier batch early, so that the results in it are not late.
    pub(crate) cut: bool,
    /// `true` if the device has refused an earlier submission of this batch.
    pub(crate) refused: bool,
}

/// A submitted batch that is not yet complete.
pub(crate) struct Submitted {
    pub(crate) seq: Seq,
    pub(crate) value: TimelineValue,
    pub(crate) steps: Arc<Vec<Step>>,
    /// Resources of the recorder, kept until the batch completes.
    pub(crate) keep: Keep,
    pub(crate) expected: ExpectedCost,
    pub(crate) submitted_at: Instant,
}

/// Stage of a batch. A batch passes the stages in this order, but a refused batch becomes ready again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Status {
    /// The planner still adds commands to the batch.
    Open,
    /// The batch is in the list of its lane and priority.
    Ready(Priority),
    /// A thread encodes the batch.
    Encoding,
    Submitted(TimelineValue),
    /// The host receives the messages of a launch. Such a batch has no commands, and no work on the device waits for
    /// it.
    Delivery,
    /// The batch has completed or failed.
    Done,
}

impl Status {
    /// Returns `true` if `next` may follow this stage. A batch changes its priority while it is ready, and it fails in
    /// any stage.
    fn may_become(self, next: Self) -> bool {
        match next {
            Self::Open | Self::Delivery => false,
            Self::Ready(_) => matches!(self, Self::Open | Self::Ready(_) | Self::Encoding),
            Self::Encoding => matches!(self, Self::Ready(_)),
            Self::Submitted(_) => self == Self::Encoding,
            Self::Done => self != Self::Done,
        }
    }
}

/// A queue is not listed again if it is among this many last entries. A search of all entries would cost too much in a
/// batch with the commands of thousands of queues.
const RECENT_SLOTS: usize = 4;

/// State of a batch, kept until [`Batches::trim`] drops it.
pub(crate) struct Info {
    pub(crate) lane: usize,
    pub(crate) status: Status,
    /// Queues with commands that complete with this batch: commands in the batch, and waits for it. A queue may
    /// be listed several times.
    pub(crate) slots: SmallVec<[Slot; 4]>,
}

impl Info {
    /// Returns the lane and value of this batch, if a batch on `lane` that depends on this one must wait for that
    /// value on the device. Returns `None` if this batch is on the same lane or is not in flight.
    pub(crate) fn device_wait(&self, lane: usize) -> Option<LaneValue> {
        match self.status {
            Status::Submitted(value) if self.lane != lane => Some(LaneValue { lane: self.lane, value }),
            _ => None,
        }
    }
}

/// Stage, lane and queues of every batch that is not done, by number.
#[derive(Default)]
pub(crate) struct Batches {
    /// Number of the first entry. All older batches are done.
    first: u64,
    /// One entry per number: `infos[i]` belongs to batch `first + i`.
    infos: VecDeque<Info>,
}

impl Batches {
    /// Returns the number of batches opened so far.
    pub(crate) fn opened(&self) -> u64 {
        self.first + self.infos.len() as u64
    }

    pub(crate) fn open(&mut self, lane: usize) -> Seq {
        self.add(lane, Status::Open)
    }

    /// Adds the batch of a delivery of messages.
    pub(crate) fn open_delivery(&mut self) -> Seq {
        self.add(0, Status::Delivery)
    }

    fn add(&mut self, lane: usize, status: Status) -> Seq {
        let seq = Seq(self.opened());
        self.infos.push_back(Info { lane, status, slots: SmallVec::new() });
        seq
    }

    /// Returns the state of a batch, or `None` if the batch is done and its entry was dropped.
    pub(crate) fn get(&self, seq: Seq) -> Option<&Info> {
        self.infos.get(seq.0.checked_sub(self.first)? as usize)
    }

    pub(crate) fn status(&self, seq: Seq) -> Status {
        self.get(seq).map_or(Status::Done, |info| info.status)
    }

    pub(crate) fn set(&mut self, seq: Seq, status: Status) {
        if let Some(at) = seq.0.checked_sub(self.first)
            && let Some(info) = self.infos.get_mut(at as usize)
        {
            debug_assert!(info.status.may_become(status), "bug: {:?} becomes {status:?}", info.status);
            info.status = status;
        }
    }

    /// Records that commands of `slot` complete with this batch.
    pub(crate) fn watch(&mut self, seq: Seq, slot: Slot) {
        if let Some(at) = seq.0.checked_sub(self.first)
            && let Some(info) = self.infos.get_mut(at as usize)
            && !info.slots.iter().rev().take(RECENT_SLOTS).any(|known| *known == slot)
        {
            info.slots.push(slot);
        }
    }

    /// Marks a batch as done and returns the queues whose commands complete with it.
    pub(crate) fn finish(&mut self, seq: Seq) -> SmallVec<[Slot; 4]> {
        let slots = self.get(seq).map(|info| info.slots.clone()).unwrap_or_default();
        self.set(seq, Status::Done);
        slots
    }

    /// Drops the entries of the oldest batches that are done. The caller has updated their queues and taken their
    /// wakers.
    pub(crate) fn trim(&mut self) {
        while self.infos.front().is_some_and(|info| info.status == Status::Done) {
            self.infos.pop_front();
            self.first += 1;
        }
    }

    pub(crate) fn is_done(&self, seq: Seq) -> bool {
        self.status(seq) == Status::Done
    }

    /// Returns `true` if the device needs no further call to complete the batch.
    pub(crate) fn is_submitted(&self, seq: Seq) -> bool {
        matches!(self.status(seq), Status::Submitted(_) | Status::Delivery | Status::Done)
    }
}
