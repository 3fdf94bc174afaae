//! A loop in chunks: a command of a queue whose work the planner plans piece by piece.
//!
//! A loop stays at the front of its queue until it ends. The planner plans its chunks, each with a batch of its own,
//! and keeps two of them planned. When the first one is complete, a thread reads the word that tells whether the loop
//! goes on, and the queue is planned again.

use crate::error::{Error, Kind};
use crate::memory::read_slot::ReadSlot;
use crate::work::graph_data::chunked_loop::ChunkedLoop;
use crate::work::graph_data::graph_run::{GraphRun, GraphStep};
use crate::work::span::Span;
use crate::work::step::Work;
use crate::work::time_slot::TimeSlot;
use fencepost_sync::{HoldId, Seq};
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::task::Waker;
use std::time::Duration;
use web_time::Instant;

/// Number of planned chunks that are not yet known to go on: the device executes one, and the next one is submitted
/// ahead.
const CHUNKS_AHEAD: usize = 2;

/// A loop in chunks of one replay.
pub(crate) struct LoopRun {
    /// One part of the loop. Its nodes have no times, because they execute many times.
    part: GraphStep,
    chunked: ChunkedLoop,
    /// Hold of the queue while the planner waits for the first chunk.
    pub(crate) hold: HoldId,
    /// Called when a chunk is complete.
    waker: Waker,
    /// Time at which the first chunk was planned.
    started: Option<Instant>,
    /// Number of planned iterations.
    iterations: u64,
    /// Number of parts of the next chunk.
    parts: u32,
    /// Planned chunks, except those that are known to go on.
    pub(crate) chunks: VecDeque<LoopChunk>,
    time: Option<LoopTime>,
}

/// A planned chunk.
pub(crate) struct LoopChunk {
    pub(crate) seq: Seq,
    pub(crate) read: Arc<ReadSlot>,
    /// `true` if the loop goes on after the chunk. `None` until this is read.
    pub(crate) goes_on: Option<bool>,
}

/// Time of a loop that is measured.
pub(crate) struct LoopTime {
    whole: Arc<TimeSlot>,
    /// `true` if the device has a clock.
    clocked: bool,
    /// Times of the first chunk and of the last planned ones.
    first: Option<Arc<TimeSlot>>,
    last: VecDeque<Arc<TimeSlot>>,
}

/// Next step of the planner for a loop.
pub(crate) enum LoopStep {
    /// The loop has ended, or all iterations that its bound allows are planned.
    Ended,
    /// A chunk must complete first.
    Held(HoldId),
    /// A chunk of this many parts follows.
    Chunk(u32),
}

impl LoopRun {
    pub(crate) fn new(run: &GraphRun, segment: u32, chunked: ChunkedLoop) -> Self {
        let (plan, outputs, times, at) = (run.plan.clone(), Vec::new(), OnceLock::new(), run.at);
        let part = GraphRun { plan, outputs, uploads: Vec::new(), times, at };
        Self {
            part: GraphStep { run: Arc::new(part), segment: Some(segment) },
            chunked,
            hold: HoldId(0),
            waker: Waker::noop().clone(),
            started: None,
            iterations: 0,
            parts: 1,
            chunks: VecDeque::new(),
            time: None,
        }
    }

    /// Prepares the loop, which is about to be enqueued. `time` receives the time of the loop; its `bool` is `true` if
    /// the device measures the time.
    pub(crate) fn begin(&mut self, hold: HoldId, waker: Waker, time: Option<(Arc<TimeSlot>, bool)>) {
        self.hold = hold;
        self.waker = waker;
        let timed = |(whole, clocked)| LoopTime { whole, clocked, first: None, last: VecDeque::new() };
        self.time = time.map(timed);
    }

    /// Returns the next step of the planner.
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
            return LoopStep::Held(self.hold);
        }
        let needed = left.div_ceil(u64::from(self.chunked.iterations));
        LoopStep::Chunk(self.parts.min(u32::try_from(needed).unwrap_or(u32::MAX)))
    }

    /// Returns the work of one part.
    pub(crate) fn work(&self) -> Work {
        Work::Graph(Box::new(self.part.clone()))
    }

    /// Records that a chunk is planned in batch `seq`. Returns the read of the word that tells whether the loop goes
    /// on, unless the bound allows no iteration after the chunk.
    pub(crate) fn add_chunk(&mut self, seq: Seq, parts: u32) -> Option<(Span, Arc<ReadSlot>)> {
        self.started.get_or_insert_with(Instant::now);
        self.iterations += u64::from(parts) * u64::from(self.chunked.iterations);
        self.parts = parts.saturating_mul(2).min(self.chunked.most_parts()).max(1);
        if self.iterations >= u64::from(self.chunked.bound) {
            return None;
        }
        let read = ReadSlot::new();
        self.chunks.push_back(LoopChunk { seq, read: read.clone(), goes_on: None });
        let table = self.part.run.plan.control.as_ref().expect("bug: a loop without a table");
        Some((self.chunked.state(table), read))
    }

    /// Returns the error that ends the loop before its next chunk: the context is ending, or the loop has run for
    /// `limit`.
    pub(crate) fn stop(&self, ending: bool, limit: Option<Duration>) -> Option<Error> {
        let (graph, launch) = (self.part.run.plan.label.to_string(), self.part.run.at);
        if ending {
            return Some(Kind::Cancelled { graph }.into());
        }
        let limit = limit.filter(|limit| self.started.is_some_and(|start| start.elapsed() > *limit))?;
        let iterations = self.iterations.min(self.chunked.bound.into());
        Some(Kind::LoopTooLong { graph, launch, iterations, limit }.into())
    }

    /// Returns the slot for the time of a chunk that is about to be planned in batch `seq`, if the loop is timed. The
    /// `bool` is `true` if the device measures the time.
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

    /// Returns the batch of the chunk that the planner waits for.
    pub(crate) fn awaited(&self) -> Option<Seq> {
        self.chunks.iter().find(|chunk| chunk.goes_on.is_none()).map(|chunk| chunk.seq)
    }
}
