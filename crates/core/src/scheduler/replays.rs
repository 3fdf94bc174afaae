//! Replays of graphs, and chunked loops. A graph of several contexts has commands in each of them. S is the state lock.
//!
//! A chunked loop is a single command, which stays at the front of its queue until the loop ends. The planner plans it
//! in chunks, each at the end of a batch, and keeps two chunks planned. When the first of them completes, a thread
//! reads the word that tells if the loop goes on, and the queue is planned again.

#[cfg(all(test, not(fencepost_loom)))]
mod loop_tests;

use crate::error::{CommandKind, Error, ErrorDetail, Result};
use crate::memory::read_slot::{ReadSlot, ReadState};
use crate::memory::staging::{ReplaySource, Staged};
use crate::scheduler::batch::{Batches, Callback, Command, Op};
use crate::scheduler::complete::PointHistory;
use crate::scheduler::engine::Engine;
use crate::scheduler::ordering;
use crate::scheduler::ordering::Admission;
use crate::scheduler::queue::{HoldReason, PointProgress, QueueState};
use crate::scheduler::queues::Queues;
use crate::scheduler::state::State;
use crate::scheduler::wakers::{WakeCondition, Wakers};
use crate::work::graph::control::ChunkedLoop;
use crate::work::graph::plan::GraphPlan;
use crate::work::graph::run::{GraphRun, GraphStep};
use crate::work::step::{Span, Work};
use crate::work::time_slot::TimeSlot;
use fencepost_profile::WaitCause;
use fencepost_sync::prim::{Mutex, lock};
use fencepost_sync::{HoldId, Point, Seq, Slot, Stamp};
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::task::{Wake, Waker};
use std::time::Duration;
use web_time::Instant;

/// End of a graph's last replay. If the graph's replays take turns, the next one waits for it.
#[derive(Default)]
pub(crate) struct ReplayTurn(Mutex<Option<Point>>);

impl ReplayTurn {
    /// Returns the end of the last replay.
    pub(crate) fn last_end(&self) -> Option<Point> {
        *lock(&self.0)
    }

    /// Records the end of a replay.
    pub(crate) fn set_last_end(&self, end: Point) {
        *lock(&self.0) = Some(end);
    }
}

impl State {
    /// Checks works as if their queue already came after `ends`, the ends of the earlier replays that they must follow.
    /// Enqueues nothing, so that a refused replay adds no waits.
    ///
    /// # Errors
    /// Returns `Mapped`, or `Hazard` under `Checked`.
    pub(crate) fn check_after(&mut self, by: Admission, works: &[Work], ends: &[Point]) -> Result<()> {
        let clock = self.queue(by.slot).clock.clone();
        ends.iter().for_each(|end| self.queue_mut(by.slot).clock.see(end.slot, end.stamp));
        let checked = works.iter().try_for_each(|work| self.check_work(by, work));
        self.queue_mut(by.slot).clock = clock;
        checked
    }

    /// Adds a command to the end of a queue and returns its stamp.
    fn push_op(&mut self, by: Admission, op: Op) -> Stamp {
        let stamp = self.next_stamp();
        self.queue_mut(by.slot).end_times();
        match op {
            Op::Work(work) => self.push_stamped(by, stamp, work),
            op => self.queue_mut(by.slot).push(Command { stamp, op }),
        }
        stamp
    }

    /// Records if a loop goes on after a chunk, and releases the queues that the loop holds. Another thread may already
    /// have recorded it, and the queue may have failed meanwhile.
    fn note_chunk(&mut self, hold: HoldId, read: &Arc<ReadSlot>, result: &Result<bool, Error>) {
        let Some(slot) = self.loops.queue_of(hold, &self.queues) else { return };
        let queue = self.queue_mut(slot);
        let Some(front) = queue.pending.front_mut() else { return };
        let Op::Loop(run) = &mut front.op else { return };
        let chunk = run.chunks.iter_mut().find(|chunk| Arc::ptr_eq(&chunk.read, read));
        match (chunk, result) {
            (None, _) => {}
            (Some(chunk), Ok(goes_on)) => {
                chunk.goes_on = Some(*goes_on);
                self.release(HoldReason::Loop(hold));
            }
            (Some(_), Err(error)) => {
                let stamp = front.stamp;
                self.fail_queue(slot, stamp, error.clone());
            }
        }
    }

    /// Returns the batch of the chunk that must complete first, if a loop holds the queue of an unplanned point.
    pub(crate) fn chunk_before(&self, point: Point) -> Option<Seq> {
        let Some(HoldReason::Loop(hold)) = self.queue(point.slot).hold else { return None };
        if self.reached(point) != PointProgress::Unplanned {
            return None;
        }
        let held = self.queues.held(HoldReason::Loop(hold)).into_iter();
        held.filter_map(|slot| self.queue(slot).front_loop()).find(|run| run.hold == hold)?.awaited()
    }
}

impl Engine {
    /// Copies the pinned arrays that a replay of the plan uploads to staging memory, on a device without pinned memory.
    ///
    /// # Errors
    /// Returns `OpenGuard`, or the error of an allocation.
    pub(crate) fn stage_uploads(&self, plan: &GraphPlan) -> Result<Vec<Staged>> {
        let stage = |source: &Arc<dyn ReplaySource>| {
            let mut copied = Ok(());
            let staged =
                self.stage(source.size(), &mut |staging: &mut [u8]| copied = source.copy_to(staging))?;
            copied.map(|()| staged)
        };
        plan.sources.iter().map(stage).collect()
    }

    /// Cancels a replay, unless it is completely planned. Its commands are those after `before` up to `end`. Commands
    /// enqueued after it so far are cancelled too, because they may use what the replay would have written.
    pub(crate) fn cancel_replay(&self, before: Stamp, end: Point, graph: &str) {
        let mut state = self.lock();
        let over = state.reached(end) != PointProgress::Unplanned || state.queue(end.slot).error.is_some();
        if state.lost.is_some() || over {
            return;
        }
        let next = state.next_stamp();
        let queue = state.queue_mut(end.slot);
        let error = ErrorDetail::Cancelled { graph: graph.into() };
        queue.cancel(Stamp(before.0 + 1), error.into(), next);
        queue.end_times();
        // A running callback keeps its hold. Any other hold belongs to a cancelled command, or planning will find it
        // again.
        let held = queue.hold.filter(|held| !matches!(held, HoldReason::Callback(_)));
        if let Some(held) = held {
            state.release(held);
        }
        state.queue_mut(end.slot).request(next);
        self.unlock(state);
        if !self.threads {
            self.make_progress(Duration::ZERO);
        }
    }

    /// Enqueues the commands of a replay, with no other command between them. `turns` are the turns of the graph and of
    /// its nested graphs. `message_reads` read the message buffers of the graph after its commands. Returns the stamp
    /// before the first command, and the point of the last one with its history.
    ///
    /// # Errors
    /// Returns the queue's own error, `Mapped`, or `Hazard` under `Checked`.
    pub(crate) fn enqueue_replay(
        &self,
        by: Admission,
        run: &Arc<GraphRun>,
        ops: Vec<Op>,
        turns: &[(u64, Arc<ReplayTurn>)],
        message_reads: Vec<Work>,
    ) -> Result<(Stamp, Point, Arc<PointHistory>)> {
        let step = GraphStep { run: run.clone(), segment: None };
        let whole = [Work::Graph(Box::new(step.clone()))];
        let mut state = self.lock_with_room(by.slot)?;
        state.check(by.slot)?;
        if run.plan.takes_turns {
            let ends: SmallVec<[Point; 2]> = turns.iter().filter_map(|(_, turn)| turn.last_end()).collect();
            if ends.iter().any(|end| end.slot != by.slot) {
                state.check_after(by, &whole, &ends)?;
            }
            ends.iter().for_each(|&end| state.push_wait(by.slot, end, WaitCause::Policy, by.at));
        }
        state.check_all(by, &whole)?;
        let before = state.last_stamp();
        state.queue_mut(by.slot).note_replay();
        self.time_replay(&mut state, by, &step);
        let mut last = None;
        for op in ops {
            let stamp = state.next_stamp();
            match op {
                Op::Work(Work::Graph(step)) => {
                    last = Some(stamp);
                    state.push_replay(by, stamp, (*step).clone());
                }
                Op::Callback(callback) => {
                    let callback = state.note_callback(by.slot, callback, by.at);
                    // The note needs a separate stamp.
                    let stamp = state.next_stamp();
                    let queue = state.queue_mut(by.slot);
                    queue.end_times();
                    queue.push(Command { stamp, op: Op::Callback(callback) });
                }
                Op::Loop(mut run) => {
                    self.begin_loop(&mut state, by, stamp, &mut run);
                    let queue = state.queue_mut(by.slot);
                    queue.end_times();
                    queue.push(Command { stamp, op: Op::Loop(run) });
                }
                op => {
                    let queue = state.queue_mut(by.slot);
                    queue.end_times();
                    queue.push(Command { stamp, op });
                }
            }
        }
        for read in message_reads {
            let stamp = state.next_stamp();
            let by = Admission { what: CommandKind::Read, ..by };
            ordering::record(&state, by, stamp, &read);
            state.push_stamped(by, stamp, read);
            // Commands that come after a use of the graph must come after its messages too.
            last = Some(stamp);
        }
        if let Some(last) = last {
            ordering::record(&state, by, last, &whole[0]);
        }
        let (point, past) = state.queues.marker(by.slot);
        turns.iter().for_each(|(_, turn)| turn.set_last_end(point));
        self.notify_lane(state, by.slot);
        Ok((before, point, past))
    }

    /// Checks that the commands of a replay could be enqueued now, after `turns`, but enqueues nothing.
    ///
    /// # Errors
    /// Returns the errors of [`enqueue_parts`](Self::enqueue_parts).
    pub(crate) fn check_parts(
        &self,
        by: Admission,
        commands: &[PartCommand],
        turns: &[&Arc<ReplayTurn>],
    ) -> Result<()> {
        let mut state = self.lock();
        state.check(by.slot)?;
        let works: Vec<Work> = commands.iter().flat_map(PartCommand::uses).collect();
        state.check_after(by, &works, &last_ends(turns))
    }

    /// Enqueues the commands of a replay in one context, all of them or none, with no other command between them. The
    /// commands come after `turns`, and the last one becomes the new end of each turn. Returns a result for each
    /// command.
    ///
    /// # Errors
    /// Returns the queue's own error, `Mapped`, or `Hazard` under `Checked`.
    pub(crate) fn enqueue_parts(
        &self,
        by: Admission,
        commands: Vec<PartCommand>,
        turns: &[&Arc<ReplayTurn>],
    ) -> Result<Vec<EnqueuedPart>> {
        let mut state = self.lock();
        state.check(by.slot)?;
        let uses: Vec<Vec<Work>> = commands.iter().map(PartCommand::uses).collect();
        let ends = last_ends(turns);
        uses.iter().try_for_each(|works| state.check_after(by, works, &ends))?;
        ends.iter().for_each(|&end| state.push_wait(by.slot, end, WaitCause::Policy, by.at));
        let mut answers = Vec::with_capacity(commands.len());
        for (command, uses) in commands.into_iter().zip(uses) {
            // The waits of a part come directly before that part. If they came earlier, other contexts that wait for an
            // earlier part would wait for them too.
            state.check_all(by, &uses).expect("bug: a command is refused after its check");
            let answer = self.push_part(&mut state, by, command);
            if let EnqueuedPart::Stamps(stamps) = &answer
                && let Some(&last) = stamps.last()
            {
                uses.iter().for_each(|work| ordering::record(&state, by, last, work));
            }
            answers.push(answer);
        }
        let (end, _) = state.queues.marker(by.slot);
        turns.iter().for_each(|turn| turn.set_last_end(end));
        self.notify_lane(state, by.slot);
        Ok(answers)
    }

    /// Adds one command to the end of a queue.
    fn push_part(&self, state: &mut State, by: Admission, command: PartCommand) -> EnqueuedPart {
        match command {
            PartCommand::Nodes(step) => {
                self.time_replay(state, by, &step);
                let stamp = state.next_stamp();
                state.push_replay(by, stamp, step);
                EnqueuedPart::Stamps(vec![stamp])
            }
            PartCommand::Copy(ops, _) => {
                EnqueuedPart::Stamps(ops.into_iter().map(|op| state.push_op(by, op)).collect())
            }
            PartCommand::Wait(op) => EnqueuedPart::Stamps(vec![state.push_op(by, op)]),
            PartCommand::Host(function) => {
                let callback = state.note_callback(by.slot, function, by.at);
                EnqueuedPart::Stamps(vec![state.push_op(by, Op::Callback(callback))])
            }
            PartCommand::Mark => {
                let (point, past) = state.queues.marker(by.slot);
                // Another context waits for the point.
                state.queue_mut(by.slot).note_use();
                EnqueuedPart::Mark(point, past)
            }
        }
    }

    /// Prepares a loop for being enqueued.
    pub(crate) fn begin_loop(&self, state: &mut State, by: Admission, stamp: Stamp, run: &mut LoopRun) {
        let clocked = state.queue(by.slot).timing.as_ref().map(|timing| timing.clocked);
        let time = clocked.map(|clocked| (Arc::<TimeSlot>::default(), clocked));
        if let Some((whole, _)) = &time {
            state.note_work(by, stamp, None, Some(whole));
        }
        run.begin(state.new_hold(), Arc::new(LoopWaker(self.me.clone())).into(), time);
    }

    /// Reads, for each loop whose first chunk is complete, if the loop goes on, and releases its queues. Any thread may
    /// call this. The words are read outside S, because reading may call the device.
    pub(crate) fn continue_loops(&self) {
        let mut state = self.lock();
        let State { queues, batches, waiters, loops, .. } = &mut *state;
        let complete = loops.complete_chunks(queues, batches, &mut waiters.wakers);
        drop(state);
        if complete.is_empty() {
            return;
        }
        let read = |read: &ReadSlot| -> Result<bool, Error> {
            let ReadState::Staged(staging) = read.state() else {
                let object = "a loop".into();
                let message = "its state was not copied".into();
                return Err(ErrorDetail::Device { object, message }.into());
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
            state.wake_all_waiters(); // without threads, only polls make progress, perhaps on another thread
        }
        self.unlock(state);
        #[cfg(target_arch = "wasm32")]
        self.schedule();
    }
}

/// A command of a replay.
pub(crate) enum PartCommand {
    /// A part of the graph.
    Nodes(GraphStep),
    /// One side of a copy between contexts, with its uses.
    Copy(Vec<Op>, Vec<Work>),
    /// A wait for another context.
    Wait(Op),
    /// A host callback.
    Host(Callback),
    /// No command. The result is the point of the commands so far.
    Mark,
}

/// Result of enqueueing one command.
pub(crate) enum EnqueuedPart {
    /// Stamps of the commands.
    Stamps(Vec<Stamp>),
    Mark(Point, Arc<PointHistory>),
}

impl PartCommand {
    /// Returns works that use the same bytes as the command.
    fn uses(&self) -> Vec<Work> {
        match self {
            PartCommand::Nodes(step) => {
                let whole = GraphStep { run: step.run.clone(), segment: None };
                vec![Work::Graph(Box::new(whole))]
            }
            PartCommand::Copy(_, uses) => uses.iter().map(Work::duplicate).collect(),
            PartCommand::Wait(_) | PartCommand::Host(_) | PartCommand::Mark => Vec::new(),
        }
    }
}

/// Returns the end of the last replay of each turn.
fn last_ends(turns: &[&Arc<ReplayTurn>]) -> SmallVec<[Point; 2]> {
    turns.iter().filter_map(|turn| turn.last_end()).collect()
}

/// Number of planned chunks after which the loop is not yet known to go on: one that the device executes, and one
/// submitted ahead.
const CHUNKS_AHEAD: usize = 2;

/// A chunked loop of one replay.
pub(crate) struct LoopRun {
    /// One part of the loop. Its nodes have no times, because they execute repeatedly.
    part: GraphStep,
    chunked: ChunkedLoop,
    /// Hold of the queue while the planner waits for a chunk.
    pub(crate) hold: HoldId,
    /// Waker that is called when a chunk is complete.
    waker: Waker,
    /// Time at which the first chunk was planned.
    started: Option<Instant>,
    /// Number of planned iterations.
    iterations: u64,
    /// Number of parts of the next chunk.
    parts: u32,
    /// Planned chunks, except those after which the loop is known to go on.
    pub(crate) chunks: VecDeque<LoopChunk>,
    time: Option<LoopTime>,
}

/// A planned chunk.
pub(crate) struct LoopChunk {
    pub(crate) seq: Seq,
    pub(crate) read: Arc<ReadSlot>,
    /// `true` if the loop goes on after the chunk; `None` until this has been read.
    pub(crate) goes_on: Option<bool>,
}

/// Time of a measured loop.
pub(crate) struct LoopTime {
    whole: Arc<TimeSlot>,
    /// `true` if the device has a clock.
    clocked: bool,
    /// Time slots of the first chunk and of the chunks that are planned last.
    first: Option<Arc<TimeSlot>>,
    last: VecDeque<Arc<TimeSlot>>,
}

/// Next step of the planner for a loop.
pub(crate) enum LoopStep {
    /// The loop has ended, or its bound allows no more iterations than are planned.
    Ended,
    /// A chunk must complete before the next one is planned.
    Held(HoldId),
    /// The next chunk, with this many parts.
    Chunk(u32),
}

impl LoopRun {
    pub(crate) fn new(run: &GraphRun, segment: u32, chunked: ChunkedLoop) -> Self {
        let part = GraphRun::new(run.plan.clone(), Vec::new(), Vec::new(), run.at);
        Self {
            part: GraphStep { run: part, segment: Some(segment) },
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

    /// Prepares the loop for being enqueued. `time` receives its time; the `bool` is `true` if the device measures it.
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

    /// Returns one part of the loop as work.
    pub(crate) fn work(&self) -> Work {
        Work::Graph(Box::new(self.part.clone()))
    }

    /// Records that a chunk is planned in batch `seq`. Returns the read of the word that tells if the loop goes on,
    /// unless the bound allows no further iteration.
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

    /// Returns an error if the loop must end before its next chunk: because the context is ending, or because the loop
    /// has run for `limit`.
    pub(crate) fn stop(&self, ending: bool, limit: Option<Duration>) -> Option<Error> {
        let graph = self.part.run.plan.label.to_string();
        let launch = self.part.run.at;
        if ending {
            return Some(ErrorDetail::Cancelled { graph }.into());
        }
        let limit = limit.filter(|limit| self.started.is_some_and(|start| start.elapsed() > *limit))?;
        let iterations = self.iterations.min(self.chunked.bound.into());
        Some(ErrorDetail::LoopTooLong { graph, launch, iterations, limit }.into())
    }

    /// Returns the time slot of the next chunk, which is planned in batch `seq`, if the loop is timed. The `bool` is
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

    /// Stores the time of the ended loop: from the start of its first chunk to the end of the chunk in which it ended.
    pub(crate) fn end_time(&self) {
        let Some(LoopTime { whole, first: Some(first), last, .. }) = &self.time else { return };
        let ended = self.chunks.front().is_some_and(|chunk| chunk.goes_on == Some(false));
        let end = if ended { last.front() } else { last.back() };
        if let Some(end) = end {
            whole.set_span(first, end);
        }
    }

    pub(crate) fn waker(&self) -> &Waker {
        &self.waker
    }

    /// Describes the loop for a dump of the state.
    pub(crate) fn describe(&self) -> String {
        let graph = &self.part.run.plan.label;
        let bound = self.chunked.bound;
        let planned = self.iterations.min(u64::from(bound));
        format!("loop of graph `{graph}`, {planned} of at most {bound} iterations planned")
    }

    /// Returns the batch of the chunk that the planner waits for.
    pub(crate) fn awaited(&self) -> Option<Seq> {
        self.chunks.iter().find(|chunk| chunk.goes_on.is_none()).map(|chunk| chunk.seq)
    }
}

/// Chunked loops of a context.
///
/// Every loop that waits for one of its chunks is listed, so that the queue of the loop can be released once the chunk
/// completes.
#[derive(Default)]
pub(crate) struct ContextLoops {
    /// Loops with a planned chunk, and their queues. Loops that have ended may still be listed.
    listed: Vec<(Slot, HoldId)>,
    /// Longest time for which the context continues a loop; `None` means no limit.
    pub(crate) limit: Option<Duration>,
    /// `true` if loops are to be stopped because the context is ending.
    pub(crate) ending: bool,
}

impl ContextLoops {
    /// Lists a loop that has a planned chunk.
    pub(crate) fn add(&mut self, slot: Slot, hold: HoldId) {
        if !self.listed.contains(&(slot, hold)) {
            self.listed.push((slot, hold));
        }
    }

    /// Returns the queue of a listed loop that has neither ended nor failed.
    fn queue_of(&self, hold: HoldId, queues: &Queues) -> Option<Slot> {
        let runs = |slot: Slot| queues[slot].running_loop().is_some_and(|run| run.hold == hold);
        self.listed.iter().find(|(slot, of)| *of == hold && runs(*slot)).map(|(slot, _)| *slot)
    }

    /// Returns the reads of the complete chunks that were not read yet, each with the hold of its loop. Registers the
    /// wakers of incomplete chunks again, because a waker may have been called early.
    ///
    /// A loop that has failed is no longer listed. Otherwise its refused chunk, which has no word to read, would be returned
    /// again by each call that the waker of a later chunk makes.
    fn complete_chunks(
        &mut self,
        queues: &Queues,
        batches: &Batches,
        wakers: &mut Wakers,
    ) -> Vec<(HoldId, Arc<ReadSlot>)> {
        let mut complete = Vec::new();
        let goes_on =
            |&(slot, hold): &(Slot, HoldId)| queues[slot].running_loop().is_some_and(|run| run.hold == hold);
        self.listed.retain(goes_on);
        for run in self.listed.iter().filter_map(|&(slot, _)| queues[slot].running_loop()) {
            for chunk in run.chunks.iter().filter(|chunk| chunk.goes_on.is_none()) {
                if batches.is_done(chunk.seq) {
                    complete.push((run.hold, chunk.read.clone()));
                } else {
                    wakers.register(WakeCondition::Batch(chunk.seq), run.waker());
                }
            }
        }
        complete
    }
}

impl QueueState {
    /// Returns the loop at the front of the queue.
    fn front_loop(&self) -> Option<&LoopRun> {
        match self.pending.front().map(|front| &front.op) {
            Some(Op::Loop(run)) => Some(run),
            _ => None,
        }
    }

    /// Returns the loop at the front of the queue, unless it has failed: then planning will drop it.
    fn running_loop(&self) -> Option<&LoopRun> {
        self.front_loop().filter(|_| !self.front_has_failed())
    }

    /// Returns the loop at the front of the queue and its stamp, for planning.
    pub(crate) fn front_loop_mut(&mut self) -> Option<(Stamp, &mut LoopRun)> {
        let front = self.pending.front_mut()?;
        let stamp = front.stamp;
        if let Op::Loop(run) = &mut front.op { Some((stamp, run)) } else { None }
    }
}

/// Waker that continues the loops of a context.
struct LoopWaker(Weak<Engine>);

impl Wake for LoopWaker {
    fn wake(self: Arc<Self>) {
        if let Some(engine) = self.0.upgrade() {
            engine.continue_loops();
        }
    }
}
