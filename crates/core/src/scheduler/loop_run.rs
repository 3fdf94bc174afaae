//! Loops in chunks: the commands of a queue whose work the planner plans piece by piece. S is the state lock.
//!
//! A loop stays at the front of its queue until it ends. The planner plans its chunks, each with a batch of its own, and
//! keeps two of them planned. When the first one is complete, a thread reads the word that says whether the loop goes on,
//! and the queue is planned again.

use crate::error::{Error, Kind};
use crate::memory::read_slot::{ReadSlot, ReadState};
use crate::scheduler::command::Op;
use crate::scheduler::engine::Engine;
use crate::scheduler::ordering::admission::Admission;
use crate::scheduler::queue_state::{Hold, PointProgress, QueueState};
use crate::scheduler::state::State;
use crate::scheduler::wakers::WakeCondition;
use crate::work::graph_data::chunked_loop::ChunkedLoop;
use crate::work::graph_data::graph_run::{GraphRun, GraphStep};
use crate::work::span::Span;
use crate::work::step::Work;
use crate::work::time_slot::TimeSlot;
use fencepost_sync::{HoldId, Point, Seq, Slot, Stamp};
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock, Weak};
use std::task::{Wake, Waker};

/// Counts the chunks of a loop that are planned and not known to go on: the device executes one, and the other one is
/// submitted ahead.
const CHUNKS_AHEAD: usize = 2;

/// Holds a loop in chunks of one replay.
pub(crate) struct LoopRun {
    /// Is one part of the loop. Its nodes have no times, because they execute many times.
    part: GraphStep,
    chunked: ChunkedLoop,
    /// Holds the queue while the planner waits for the first chunk.
    pub(crate) hold: HoldId,
    /// Is called when a chunk is complete.
    waker: Waker,
    /// Counts the planned iterations.
    iterations: u64,
    /// Counts the parts of the next chunk.
    parts: u32,
    /// Lists the planned chunks, except those that are known to go on.
    chunks: VecDeque<Chunk>,
    time: Option<LoopTime>,
}

/// Describes a planned chunk.
struct Chunk {
    seq: Seq,
    read: Arc<ReadSlot>,
    /// Says whether the loop goes on behind the chunk, once this is read.
    goes_on: Option<bool>,
}

/// Holds the time of a loop that is measured.
pub(crate) struct LoopTime {
    pub(crate) whole: Arc<TimeSlot>,
    /// Is `true` if the device has a clock.
    pub(crate) clocked: bool,
    /// Holds the times of the first chunk and of the last planned ones.
    first: Option<Arc<TimeSlot>>,
    last: VecDeque<Arc<TimeSlot>>,
}

/// Says what the planner does next for a loop.
pub(crate) enum LoopStep {
    /// The loop has ended, or all iterations that its bound allows are planned.
    Ended,
    /// A chunk must complete first.
    Held(Hold),
    /// A chunk of this many parts follows.
    Chunk(u32),
}

impl LoopRun {
    pub(crate) fn new(run: &GraphRun, segment: u32, chunked: ChunkedLoop) -> Self {
        let (plan, outputs, times, at) = (run.plan.clone(), Vec::new(), OnceLock::new(), run.at);
        let part = GraphRun { plan, outputs, times, at };
        Self {
            part: GraphStep { run: Arc::new(part), segment: Some(segment) },
            chunked,
            hold: HoldId(0),
            waker: Waker::noop().clone(),
            iterations: 0,
            parts: 1,
            chunks: VecDeque::new(),
            time: None,
        }
    }

    /// Returns what follows for the planner.
    pub(crate) fn next(&mut self) -> LoopStep {
        while let Some(goes_on) = self.chunks.front().and_then(|chunk| chunk.goes_on) {
            if !goes_on {
                return LoopStep::Ended;
            }
            self.chunks.pop_front();
            if let Some(time) = &mut self.time {
                time.last.pop_front();
            }
        }
        let left = u64::from(self.chunked.bound).saturating_sub(self.iterations);
        if left == 0 {
            return LoopStep::Ended;
        }
        if self.chunks.len() >= CHUNKS_AHEAD {
            return LoopStep::Held(Hold::Loop(self.hold));
        }
        let needed = left.div_ceil(u64::from(self.chunked.iterations));
        LoopStep::Chunk(self.parts.min(u32::try_from(needed).unwrap_or(u32::MAX)))
    }

    /// Returns the work of one part.
    pub(crate) fn work(&self) -> Work {
        Work::Graph(Box::new(self.part.clone()))
    }

    /// Records that a chunk is planned in batch `seq`. Returns the read of the word that says whether the loop goes on,
    /// unless the bound allows no iteration behind the chunk.
    pub(crate) fn add_chunk(&mut self, seq: Seq, parts: u32) -> Option<(Span, Arc<ReadSlot>)> {
        self.iterations += u64::from(parts) * u64::from(self.chunked.iterations);
        self.parts = parts.saturating_mul(2).min(self.chunked.most_parts()).max(1);
        if self.iterations >= u64::from(self.chunked.bound) {
            return None;
        }
        let read = ReadSlot::new();
        self.chunks.push_back(Chunk { seq, read: read.clone(), goes_on: None });
        let table = self.part.run.plan.control.as_ref().expect("bug: a loop without a table");
        Some((self.chunked.state(table), read))
    }

    /// Returns the slot for the time of a chunk that is about to be planned in batch `seq`, if the loop is timed, and
    /// `true` if the device measures the time.
    pub(crate) fn time_chunk(&mut self, seq: Seq) -> Option<(Arc<TimeSlot>, bool)> {
        let time = self.time.as_mut()?;
        time.whole.plan(seq);
        let of_chunk = Arc::<TimeSlot>::default();
        of_chunk.plan(seq);
        time.first.get_or_insert_with(|| of_chunk.clone());
        time.last.push_back(of_chunk.clone());
        Some((of_chunk, time.clocked))
    }

    /// Stores the time of the loop, which has ended: from the start of the first chunk to the end of the chunk in which it
    /// ended.
    pub(crate) fn end_time(&self) {
        let Some(LoopTime { whole, first: Some(first), last, .. }) = &self.time else { return };
        let ended = self.chunks.front().is_some_and(|chunk| chunk.goes_on == Some(false));
        let end = if ended { last.front() } else { last.back() };
        if let Some(end) = end {
            whole.span(first, end);
        }
    }

    pub(crate) fn waker(&self) -> &Waker {
        &self.waker
    }

    /// Describes the loop for a dump of the state.
    pub(crate) fn describe(&self) -> String {
        let (graph, bound) = (&self.part.run.plan.label, self.chunked.bound);
        let planned = self.iterations.min(u64::from(bound));
        format!("loop of graph `{graph}`, {planned} of at most {bound} iterations planned")
    }

    /// Returns the batch of the chunk whose end the planner waits for.
    fn awaited(&self) -> Option<Seq> {
        self.chunks.iter().find(|chunk| chunk.goes_on.is_none()).map(|chunk| chunk.seq)
    }
}

/// Continues the loops of a context when it is woken.
struct LoopWaker(Weak<Engine>);

impl Wake for LoopWaker {
    fn wake(self: Arc<Self>) {
        if let Some(engine) = self.0.upgrade() {
            engine.continue_loops();
        }
    }
}

impl Engine {
    /// Prepares a loop that is about to be enqueued.
    pub(crate) fn begin_loop(&self, state: &mut State, by: Admission, stamp: Stamp, run: &mut LoopRun) {
        run.hold = state.new_hold();
        run.waker = Arc::new(LoopWaker(self.me.clone())).into();
        if let Some(clocked) = state.queue(by.slot).timing.as_ref().map(|timing| timing.clocked) {
            let whole = Arc::<TimeSlot>::default();
            state.note_work(by, stamp, None, Some(&whole));
            run.time = Some(LoopTime { whole, clocked, first: None, last: VecDeque::new() });
        }
    }

    /// Reads whether loops go on whose first chunk is complete, and releases their queues. Any thread may call this. The
    /// words are read without S, because the read may be a call of the device.
    pub(crate) fn continue_loops(&self) {
        let complete = self.lock().complete_chunks();
        if complete.is_empty() {
            return;
        }
        let read = |read: &ReadSlot| -> Result<bool, Error> {
            let ReadState::Staged(staging) = read.place() else {
                let (object, message) = ("a loop".into(), "its state was not copied".into());
                return Err(Kind::Device { object, message }.into());
            };
            let mut word = [0; 4];
            let copied = staging.copy_out(&mut word).map_err(|lost| self.device.caps().lost(lost).into());
            self.checked(copied).map(|()| word != [0; 4])
        };
        let results: Vec<_> = complete.into_iter().map(|(hold, slot)| (hold, read(&slot), slot)).collect();
        let mut state = self.lock();
        for (hold, result, of) in &results {
            state.note_chunk(*hold, of, result);
        }
        if !self.threads {
            state.wake_all_waiters(); // only polling makes progress here, perhaps on another thread
        }
        self.unlock(state);
        #[cfg(target_arch = "wasm32")]
        self.schedule();
    }
}

/// Returns the loop at the front of a queue.
fn front_loop(queue: &QueueState) -> Option<&LoopRun> {
    match queue.pending.front().map(|front| &front.op) {
        Some(Op::Loop(run)) => Some(run),
        _ => None,
    }
}

impl State {
    /// Returns the reads of the complete chunks whose words are not read, each with the hold of its loop. Wakers of chunks
    /// that are not complete are registered again, because a waker may be called early.
    fn complete_chunks(&mut self) -> Vec<(HoldId, Arc<ReadSlot>)> {
        let Self { queues, batches, wakers, .. } = self;
        let mut complete = Vec::new();
        for run in queues.iter().filter_map(front_loop) {
            for chunk in run.chunks.iter().filter(|chunk| chunk.goes_on.is_none()) {
                if batches.is_done(chunk.seq) {
                    complete.push((run.hold, chunk.read.clone()));
                } else {
                    wakers.register(WakeCondition::Batch(chunk.seq), &run.waker);
                }
            }
        }
        complete
    }

    /// Stores whether a loop goes on behind a chunk, and releases the queues that the loop holds. Another thread may have
    /// stored it already, and the queue may have failed meanwhile.
    fn note_chunk(&mut self, hold: HoldId, read: &Arc<ReadSlot>, result: &Result<bool, Error>) {
        let slots = self.slots();
        let Some(slot) =
            { slots }.find(|&slot| front_loop(self.queue(slot)).is_some_and(|run| run.hold == hold))
        else {
            return;
        };
        let queue = self.queue_mut(slot);
        let Some(front) = queue.pending.front_mut() else { return };
        let Op::Loop(run) = &mut front.op else { return };
        let chunk = run.chunks.iter_mut().find(|chunk| Arc::ptr_eq(&chunk.read, read));
        match (chunk, result) {
            (None, _) => {}
            (Some(chunk), Ok(goes_on)) => {
                chunk.goes_on = Some(*goes_on);
                self.release(|held| held == Hold::Loop(hold));
            }
            (Some(_), Err(error)) => {
                let stamp = front.stamp;
                self.fail_queue(slot, stamp, error.clone());
            }
        }
    }

    /// Returns the batch of the chunk that must complete before an unplanned point is planned, if a loop holds its queue.
    pub(crate) fn chunk_before(&self, point: Point) -> Option<Seq> {
        let Some(Hold::Loop(hold)) = self.queue(point.slot).hold else { return None };
        if self.reached(point) != PointProgress::Unplanned {
            return None;
        }
        self.queues.iter().filter_map(front_loop).find(|run| run.hold == hold)?.awaited()
    }

    /// Returns the loop at the front of a queue, to plan it.
    pub(crate) fn front_loop_mut(&mut self, slot: Slot) -> Option<(Stamp, &mut LoopRun)> {
        let front = self.queue_mut(slot).pending.front_mut()?;
        let stamp = front.stamp;
        if let Op::Loop(run) = &mut front.op { Some((stamp, run)) } else { None }
    }
}
