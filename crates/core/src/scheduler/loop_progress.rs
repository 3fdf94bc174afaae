//! The progress of loops in chunks: what happens when a chunk is complete. S is the state lock.

use crate::error::{Error, Kind};
use crate::memory::read_slot::{ReadSlot, ReadState};
use crate::scheduler::command::Op;
use crate::scheduler::engine::Engine;
use crate::scheduler::loop_run::LoopRun;
use crate::scheduler::ordering::admission::Admission;
use crate::scheduler::queue_state::{Hold, PointProgress, QueueState};
use crate::scheduler::state::State;
use crate::scheduler::wakers::WakeCondition;
use crate::work::time_slot::TimeSlot;
use fencepost_sync::{HoldId, Point, Seq, Slot, Stamp};
use std::sync::{Arc, Weak};
use std::task::Wake;

/// Waker that continues the loops of a context.
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
        let clocked = state.queue(by.slot).timing.as_ref().map(|timing| timing.clocked);
        let time = clocked.map(|clocked| (Arc::<TimeSlot>::default(), clocked));
        if let Some((whole, _)) = &time {
            state.note_work(by, stamp, None, Some(whole));
        }
        run.begin(state.new_hold(), Arc::new(LoopWaker(self.me.clone())).into(), time);
    }

    /// For each loop whose first chunk is complete, reads whether the loop goes on, and releases its queues. Any thread
    /// may call this. The words are read without S, because the read may call the device.
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
    /// Returns the reads of the complete chunks that were not read yet, each with the hold of its loop. Wakers of
    /// incomplete chunks are registered again, because a waker may be called early.
    fn complete_chunks(&mut self) -> Vec<(HoldId, Arc<ReadSlot>)> {
        let Self { queues, batches, wakers, loops, .. } = self;
        let mut complete = Vec::new();
        let goes_on =
            |&(slot, hold): &(Slot, HoldId)| front_loop(&queues[slot]).is_some_and(|run| run.hold == hold);
        loops.retain(goes_on);
        for run in loops.iter().filter_map(|&(slot, _)| front_loop(&queues[slot])) {
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

    /// Stores whether a loop goes on after a chunk, and releases the queues that the loop holds. Another thread may
    /// have stored it already, and the queue may have failed meanwhile.
    fn note_chunk(&mut self, hold: HoldId, read: &Arc<ReadSlot>, result: &Result<bool, Error>) {
        let Some(&(slot, _)) = self.loops.iter().find(|(slot, of)| {
            *of == hold && front_loop(self.queue(*slot)).is_some_and(|run| run.hold == hold)
        }) else {
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
                self.release(Hold::Loop(hold));
            }
            (Some(_), Err(error)) => {
                let stamp = front.stamp;
                self.fail_queue(slot, stamp, error.clone());
            }
        }
    }

    /// If a loop holds the queue of an unplanned point, returns the batch of the chunk that must complete before the
    /// point can be planned.
    pub(crate) fn chunk_before(&self, point: Point) -> Option<Seq> {
        let Some(Hold::Loop(hold)) = self.queue(point.slot).hold else { return None };
        if self.reached(point) != PointProgress::Unplanned {
            return None;
        }
        let held = self.queues.held(Hold::Loop(hold)).into_iter();
        held.filter_map(|slot| front_loop(self.queue(slot))).find(|run| run.hold == hold)?.awaited()
    }

    /// Returns the loop at the front of a queue, to plan it.
    pub(crate) fn front_loop_mut(&mut self, slot: Slot) -> Option<(Stamp, &mut LoopRun)> {
        let front = self.queue_mut(slot).pending.front_mut()?;
        let stamp = front.stamp;
        if let Op::Loop(run) = &mut front.op { Some((stamp, run)) } else { None }
    }
}

#[cfg(all(test, not(fencepost_loom)))]
mod loop_tests;
