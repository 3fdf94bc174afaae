//! Commands that become one submission.

use crate::device::recorder::{Keep, LaneValue};
use crate::scheduler::command_costs::ExpectedCost;
use crate::scheduler::priority::Priority;
use crate::work::step::Step;
use fencepost_sync::{Seq, Slot, Value};
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::sync::Arc;
use web_time::Instant;

/// A batch that waits to be submitted.
pub(crate) struct Batch {
    pub(crate) seq: Seq,
    pub(crate) steps: Vec<Step>,
    /// Batches that must have been submitted before, and on other lanes have completed before this one starts.
    pub(crate) deps: SmallVec<[Seq; 4]>,
    pub(crate) expected: ExpectedCost,
    /// Whether it was planned with the one before it, which ended so that its results are not late.
    pub(crate) cut: bool,
    /// Whether the device has refused it before.
    pub(crate) refused: bool,
}

/// A batch that the device has.
pub(crate) struct Submitted {
    pub(crate) seq: Seq,
    pub(crate) value: Value,
    pub(crate) steps: Arc<Vec<Step>>,
    pub(crate) keep: Keep,
    pub(crate) expected: ExpectedCost,
    /// When it was on its way to the device.
    pub(crate) submitted_at: Instant,
}

/// Where a batch is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Status {
    /// Being planned.
    Open,
    /// In the list of its lane and priority.
    Ready(Priority),
    /// Being encoded.
    Encoding,
    Submitted(Value),
    /// Completed or failed.
    Done,
}

/// What is known of a batch for as long as anybody may ask.
pub(crate) struct Info {
    pub(crate) lane: usize,
    pub(crate) status: Status,
    /// The queues whose work ends with it.
    pub(crate) slots: SmallVec<[Slot; 4]>,
}

impl Info {
    /// What a batch on `lane` must wait for on the device.
    pub(crate) fn device_wait(&self, lane: usize) -> Option<LaneValue> {
        match self.status {
            Status::Submitted(value) if self.lane != lane => Some(LaneValue { lane: self.lane, value }),
            _ => None,
        }
    }
}

/// All batches that are not done, by number.
#[derive(Default)]
pub(crate) struct Batches {
    first: u64,
    infos: VecDeque<Info>,
}

impl Batches {
    pub(crate) fn open(&mut self, lane: usize) -> Seq {
        let seq = Seq(self.first + self.infos.len() as u64);
        self.infos.push_back(Info { lane, status: Status::Open, slots: SmallVec::new() });
        seq
    }

    /// What is known of a batch; `None` if it is long done.
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
            info.status = status;
        }
    }

    /// Notes that work of `slot` ends with this batch.
    pub(crate) fn watch(&mut self, seq: Seq, slot: Slot) {
        if let Some(at) = seq.0.checked_sub(self.first)
            && let Some(info) = self.infos.get_mut(at as usize)
            && !info.slots.contains(&slot)
        {
            info.slots.push(slot);
        }
    }

    /// Notes that a batch is over, and gives the queues whose work ended with it.
    pub(crate) fn finish(&mut self, seq: Seq) -> SmallVec<[Slot; 4]> {
        let slots = self.get(seq).map(|info| info.slots.clone()).unwrap_or_default();
        self.set(seq, Status::Done);
        slots
    }

    /// Forgets what is over. Only after everybody concerned was told.
    pub(crate) fn trim(&mut self) {
        while self.infos.front().is_some_and(|info| info.status == Status::Done) {
            self.infos.pop_front();
            self.first += 1;
        }
    }

    pub(crate) fn is_done(&self, seq: Seq) -> bool {
        self.status(seq) == Status::Done
    }

    pub(crate) fn is_submitted(&self, seq: Seq) -> bool {
        matches!(self.status(seq), Status::Submitted(_) | Status::Done)
    }
}
