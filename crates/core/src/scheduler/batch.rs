//! The commands that a queue holds until they are planned, and the batches that group them for one submission to the
//! device.
//!
//! The list of a queue's commands takes constant time for each operation, however long it is.

use crate::device::{KeptResources, LaneValue};
use crate::memory::read_slot::ReadSlot;
use crate::scheduler::costs::ExpectedCost;
use crate::scheduler::queues::Priority;
use crate::scheduler::relay::UserWait;
use crate::scheduler::replays::LoopRun;
use crate::work::kernel_launch::Launch;
use crate::work::step::{Step, Work};
use crate::work::time_slot::TimeSlot;
use fencepost_sync::prim::assert_unlocked;
use fencepost_sync::{HoldId, Point, Seq, Slot, Stamp, TimelineValue};
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::sync::Arc;
use web_time::Instant;

/// A planned batch that is not yet submitted.
pub(crate) struct Batch {
    pub(crate) seq: Seq,
    pub(crate) steps: Vec<Step>,
    /// Batches that must be submitted first. A dependency on another lane must also complete before this batch starts.
    /// Dependencies are always older batches, so there are no cycles.
    pub(crate) deps: SmallVec<[Seq; 4]>,
    pub(crate) expected: ExpectedCost,
    /// `true` if the same planning pass closed an earlier batch early, so that its results are not late.
    pub(crate) cut: bool,
    /// `true` if the device has refused an earlier submission of this batch.
    pub(crate) refused: bool,
}

/// A submitted batch that is not yet complete.
pub(crate) struct SubmittedBatch {
    pub(crate) seq: Seq,
    pub(crate) value: TimelineValue,
    pub(crate) steps: Arc<Vec<Step>>,
    /// Resources of the recorder, kept until the batch completes.
    pub(crate) keep: KeptResources,
    pub(crate) expected: ExpectedCost,
    pub(crate) submitted_at: Instant,
}

/// Stage of a batch. The stages come in this order, except that a refused batch becomes ready again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BatchStatus {
    /// The planner still adds commands to the batch.
    Open,
    /// The batch is in the list of its lane and priority, waiting for submission.
    Ready(Priority),
    /// A thread encodes the batch.
    Encoding,
    Submitted(TimelineValue),
    /// The batch stands for the delivery of a launch's messages to the host. It has no commands, and no device work
    /// waits for it.
    Delivery,
    /// The batch has completed or failed.
    Done,
}

impl BatchStatus {
    /// Returns `true` if `next` may follow this stage. A ready batch may change its priority, and a batch may fail in
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

/// Number of last entries that are searched before a queue is listed again. Searching all entries would cost too much
/// in a batch with commands of thousands of queues.
const RECENT_SLOTS: usize = 4;

/// State of a batch, kept until [`Batches::trim`] drops it.
pub(crate) struct BatchState {
    pub(crate) lane: usize,
    pub(crate) status: BatchStatus,
    /// Queues with commands that complete with this batch: commands in the batch, or waits for it. A queue may be
    /// listed several times.
    pub(crate) slots: SmallVec<[Slot; 4]>,
}

impl BatchState {
    /// Returns the lane and value that a dependent batch on `lane` must wait for on the device. Returns `None` if this
    /// batch is on the same lane or is not in flight.
    pub(crate) fn device_wait(&self, lane: usize) -> Option<LaneValue> {
        match self.status {
            BatchStatus::Submitted(value) if self.lane != lane => Some(LaneValue { lane: self.lane, value }),
            _ => None,
        }
    }
}

/// Stage, lane and queues of each batch that is not done, by number.
#[derive(Default)]
pub(crate) struct Batches {
    /// Number of the first entry. All older batches are done.
    first: u64,
    /// One entry per number: `states[i]` belongs to batch `first + i`.
    states: VecDeque<BatchState>,
}

impl Batches {
    /// Returns the number of batches opened so far.
    pub(crate) fn opened(&self) -> u64 {
        self.first + self.states.len() as u64
    }

    pub(crate) fn open(&mut self, lane: usize) -> Seq {
        self.add(lane, BatchStatus::Open)
    }

    /// Adds a batch that stands for a delivery of messages.
    pub(crate) fn open_delivery(&mut self) -> Seq {
        self.add(0, BatchStatus::Delivery)
    }

    fn add(&mut self, lane: usize, status: BatchStatus) -> Seq {
        let seq = Seq(self.opened());
        self.states.push_back(BatchState { lane, status, slots: SmallVec::new() });
        seq
    }

    /// Returns the state of a batch, or `None` if its entry was dropped because the batch is done.
    pub(crate) fn get(&self, seq: Seq) -> Option<&BatchState> {
        self.states.get(seq.0.checked_sub(self.first)? as usize)
    }

    pub(crate) fn status(&self, seq: Seq) -> BatchStatus {
        self.get(seq).map_or(BatchStatus::Done, |info| info.status)
    }

    pub(crate) fn set(&mut self, seq: Seq, status: BatchStatus) {
        if let Some(at) = seq.0.checked_sub(self.first)
            && let Some(info) = self.states.get_mut(at as usize)
        {
            debug_assert!(info.status.may_become(status), "bug: {:?} becomes {status:?}", info.status);
            info.status = status;
        }
    }

    /// Records that commands of `slot` complete with this batch.
    pub(crate) fn watch(&mut self, seq: Seq, slot: Slot) {
        if let Some(at) = seq.0.checked_sub(self.first)
            && let Some(info) = self.states.get_mut(at as usize)
            && !info.slots.iter().rev().take(RECENT_SLOTS).any(|known| *known == slot)
        {
            info.slots.push(slot);
        }
    }

    /// Marks a batch as done and returns the queues whose commands complete with it.
    pub(crate) fn finish(&mut self, seq: Seq) -> SmallVec<[Slot; 4]> {
        let slots = self.get(seq).map(|info| info.slots.clone()).unwrap_or_default();
        self.set(seq, BatchStatus::Done);
        slots
    }

    /// Drops the entries of the oldest batches that are done. The caller must have updated their queues and taken their
    /// wakers.
    pub(crate) fn trim(&mut self) {
        while self.states.front().is_some_and(|info| info.status == BatchStatus::Done) {
            self.states.pop_front();
            self.first += 1;
        }
    }

    pub(crate) fn is_done(&self, seq: Seq) -> bool {
        self.status(seq) == BatchStatus::Done
    }

    /// Returns `true` if the batch will complete without a further call to the device.
    pub(crate) fn is_submitted(&self, seq: Seq) -> bool {
        matches!(self.status(seq), BatchStatus::Submitted(_) | BatchStatus::Delivery | BatchStatus::Done)
    }

    /// Returns the values of other lanes that a batch of `lane` waits for: at most one for each lane, the largest.
    pub(crate) fn device_waits(&self, lane: usize, batch: &Batch) -> Vec<LaneValue> {
        let mut waits: Vec<LaneValue> = Vec::new();
        for wait in batch.deps.iter().filter_map(|&seq| self.get(seq)?.device_wait(lane)) {
            match waits.iter_mut().find(|w| w.lane == wait.lane) {
                Some(known) => known.value = known.value.max(wait.value),
                None => waits.push(wait),
            }
        }
        waits
    }
}

/// An enqueued command that is not yet planned.
pub(crate) struct Command {
    /// Position among all commands of the context.
    pub(crate) stamp: Stamp,
    pub(crate) op: Op,
}

impl Command {
    /// Returns the launch of the command, if it is a launch.
    #[inline]
    pub(crate) fn launch(self) -> Option<Box<Launch>> {
        if let Op::Work(Work::Launch(launch)) = self.op { Some(launch) } else { None }
    }
}

/// Effect of a command.
pub(crate) enum Op {
    /// The device executes this work as part of a batch.
    Work(Work),
    /// The device executes this work and measures its time. The box keeps the enum small for the common case.
    Timed(Box<Timed>),
    /// Later commands of the queue wait for this point of another queue.
    Wait(Point),
    /// Later commands of the queue wait for this user event.
    WaitUser(UserWait),
    /// A command of the context that was planned in this batch, before older commands of the context.
    Early(Seq),
    /// The callback thread runs this function in queue order.
    Callback(Callback),
    /// The callback is due or running. This entry keeps its place in the queue until the callback has run.
    DueCallback(HoldId),
    /// The device executes this loop in chunks. This entry stays until the loop has ended.
    Loop(Box<LoopRun>),
}

impl Op {
    /// Returns the bytes of memory that count towards the backlog with this command.
    #[inline]
    pub(crate) fn held_bytes(&self) -> u64 {
        match self {
            Op::Work(work) => work.held_bytes(),
            Op::Timed(timed) => timed.work.held_bytes(),
            _ => 0,
        }
    }

    /// Returns `true` for a callback and for a wait for a user event.
    #[inline]
    pub(crate) fn is_of_host(&self) -> bool {
        matches!(self, Op::WaitUser(_) | Op::Callback(_) | Op::DueCallback(_))
    }

    /// Returns `true` if the command may stop later commands of its queue: it waits for another queue or the host, or
    /// the program can cancel it.
    #[inline]
    pub(crate) fn may_stop(&self) -> bool {
        match self {
            Op::Work(work) => matches!(work, Work::Graph(_)),
            Op::Timed(timed) => matches!(timed.work, Work::Graph(_)),
            Op::Early(_) => false,
            Op::Wait(_) | Op::WaitUser(_) | Op::Callback(_) | Op::DueCallback(_) | Op::Loop(_) => true,
        }
    }

    /// Returns the read and its size in bytes, if the command reads the messages of a launch.
    #[inline]
    pub(crate) fn messages(&self) -> Option<(&Arc<ReadSlot>, u64)> {
        let work = match self {
            Op::Work(work) => work,
            Op::Timed(timed) => &timed.work,
            _ => return None,
        };
        let Work::Read { src, slot } = work else { return None };
        slot.messages().map(|_| (slot, src.size))
    }
}

/// A host callback. The function and the values that it captures are user code, so it must be called and dropped
/// without any lock.
pub(crate) struct Callback(Option<Box<dyn FnOnce() + Send>>);

impl Callback {
    pub(crate) fn new(run: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(Box::new(run)))
    }

    pub(crate) fn call(mut self) {
        assert_unlocked("a host callback");
        if let Some(run) = self.0.take() {
            run();
        }
    }
}

impl Drop for Callback {
    fn drop(&mut self) {
        if self.0.is_some() {
            assert_unlocked("the drop of a host callback");
        }
    }
}

/// A command whose start and end are measured.
pub(crate) struct Timed {
    pub(crate) work: Work,
    pub(crate) time: Arc<TimeSlot>,
    /// `true` if the device measures the time with timestamps.
    pub(crate) clocked: bool,
}

/// Maximum number of entries of a chunk.
const CHUNK_ENTRIES: usize = 1024;

/// A FIFO list in chunks. Adding an entry never moves existing entries, while a large `VecDeque` stalls when it grows.
///
/// `len` is the total length of the chunks. Only the first chunk may be empty, and every chunk between the first and
/// the last is full.
pub(crate) struct ChunkedList<T> {
    chunks: VecDeque<VecDeque<T>>,
    len: usize,
}

impl<T> Default for ChunkedList<T> {
    fn default() -> Self {
        Self { chunks: VecDeque::new(), len: 0 }
    }
}

impl<T> ChunkedList<T> {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    pub(crate) fn front(&self) -> Option<&T> {
        self.chunks.iter().find_map(VecDeque::front)
    }

    #[inline]
    pub(crate) fn front_mut(&mut self) -> Option<&mut T> {
        self.chunks.iter_mut().find_map(VecDeque::front_mut)
    }

    /// Returns the first entry for which `before` returns `false`. The list must be partitioned: `before` returns
    /// `true` for all entries up to some place, and `false` for all later ones.
    pub(crate) fn first_from_mut(&mut self, before: impl Fn(&T) -> bool) -> Option<&mut T> {
        let chunk = self.chunks.iter().position(|chunk| chunk.back().is_some_and(|last| !before(last)))?;
        let chunk = &mut self.chunks[chunk];
        let at = chunk.partition_point(before);
        chunk.get_mut(at)
    }

    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flatten()
    }

    #[inline]
    pub(crate) fn push_back(&mut self, entry: T) {
        self.len += 1;
        match self.chunks.back_mut() {
            Some(last) if last.len() < CHUNK_ENTRIES => last.push_back(entry),
            _ => self.chunks.push_back(VecDeque::from([entry])),
        }
    }

    pub(crate) fn pop_front(&mut self) -> Option<T> {
        let first = self.first_nonempty_chunk()?.pop_front()?;
        self.len -= 1;
        Some(first)
    }

    /// Returns the first chunk, which is empty only if the list is empty.
    pub(crate) fn first_chunk(&mut self) -> &VecDeque<T> {
        if self.first_nonempty_chunk().is_none() {
            self.chunks.push_back(VecDeque::new());
        }
        &self.chunks[0]
    }

    /// Removes and returns the first `count` entries of the [first chunk](Self::first_chunk).
    pub(crate) fn drain(&mut self, count: usize) -> impl Iterator<Item = T> {
        self.len -= count;
        self.chunks.front_mut().into_iter().flat_map(move |first| first.drain(..count))
    }

    /// Drops the first chunk if it is empty, and returns the first chunk left, which is empty only if the list is
    /// empty.
    fn first_nonempty_chunk(&mut self) -> Option<&mut VecDeque<T>> {
        if self.chunks.len() > 1 && self.chunks[0].is_empty() {
            self.chunks.pop_front();
        }
        self.chunks.front_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the list with a `VecDeque` after random additions and removals.
    #[test]
    fn a_chunked_list_behaves_as_a_deque() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut chunks = ChunkedList::default();
        let mut plain = VecDeque::new();
        for round in 0..2000 {
            for entry in 0..rng.usize(..40) {
                chunks.push_back((round, entry));
                plain.push_back((round, entry));
            }
            match rng.u32(..64) {
                0 => assert_eq!(chunks.pop_front(), plain.pop_front()),
                1 => {
                    let count = rng.usize(..=chunks.first_chunk().len());
                    assert!(chunks.drain(count).eq(plain.drain(..count)));
                }
                2 if !plain.is_empty() => {
                    chunks.front_mut().expect("the list has entries").1 += 1;
                    plain[0].1 += 1;
                }
                _ => {}
            }
            assert_eq!((chunks.len(), chunks.front()), (plain.len(), plain.front()));
            assert!(round % 50 > 0 || chunks.iter().eq(plain.iter()));
            assert!(chunks.is_empty() || !chunks.first_chunk().is_empty());
        }
        assert!(
            chunks.len() > 2 * CHUNK_ENTRIES
                && chunks.chunks.iter().all(|chunk| chunk.capacity() <= CHUNK_ENTRIES)
        );
        while chunks.pop_front().is_some() {}
        assert!(chunks.is_empty() && chunks.front().is_none());
    }
}
