//! Submits batches: no other file calls `Recorder::submit`. S is the state lock; the token of a lane is the right
//! to submit to it.

use crate::device::recorder::LaneValue;
use crate::error::Kind;
use crate::scheduler::batch::{Batch, Status, Submitted};
use crate::scheduler::engine::Engine;
use crate::scheduler::plan::due_commands::DueCommands;
use crate::scheduler::priority::Priority;
use crate::scheduler::state::State;
use crate::scheduler::thread_wakeups::ThreadWakeups;
use fencepost_sync::TimelineValue;
use fencepost_sync::prim::{MutexGuard, lock};
use std::sync::Arc;

/// A batch that is being submitted under the lane's token.
struct SubmittingBatch {
    batch: Batch,
    /// Values of other lanes that the device waits for before it starts the batch.
    waits: Vec<LaneValue>,
    value: TimelineValue,
    /// Time at which the batch was taken, while a profile is noted.
    at: Option<web_time::Instant>,
}

impl Engine {
    /// Plans the `due` commands of a lane and submits its next batch. Returns `false` if no batch can be submitted. The
    /// submission runs without S, under the lane's token.
    pub(crate) fn submit_next<'a>(
        &'a self,
        lane: usize,
        mut state: MutexGuard<'a, State>,
        due: Option<DueCommands>,
    ) -> bool {
        if let Some(due) = due {
            state.plan_lane(lane, due);
        }
        if !state.after.is_empty() {
            // The wakers run before the token is taken because a waker may wait for the next batch.
            self.unlock(state);
            state = self.lock();
        }
        let submitting = state.next_batch(lane);
        drop(state);
        submitting.map(|submitting| self.submit(lane, submitting, false)).is_some()
    }

    /// Submits the next planned batch.
    #[cfg(test)]
    pub(crate) fn submit_one(&self, lane: usize) -> bool {
        self.submit_next(lane, self.lock(), None)
    }

    /// Submits the next batch of a lane, if possible, for a caller that polls the fence itself afterwards. The
    /// completer is not notified, which saves a wake-up.
    pub(crate) fn submit_watched<'a>(
        &'a self,
        state: MutexGuard<'a, State>,
        lane: usize,
    ) -> MutexGuard<'a, State> {
        self.unlock_with(state, &ThreadWakeups::default());
        let submitting = self.lock().next_batch(lane);
        if let Some(submitting) = submitting {
            self.submit(lane, submitting, true);
        }
        self.lock()
    }

    /// Encodes and submits one batch without holding S. If `watched` is true, the caller polls the fence itself
    /// afterwards, and the completer is not notified. A CPU device is then not started, because the caller executes the
    /// batch. If the caller does not wait, the completer starts the device.
    fn submit(&self, lane: usize, submitting: SubmittingBatch, watched: bool) {
        let SubmittingBatch { mut batch, waits, value, at } = submitting;
        let Batch { seq, expected, .. } = batch;
        let (steps, submitted_at) = (Arc::new(std::mem::take(&mut batch.steps)), web_time::Instant::now());
        let submit = || lock(&self.lanes[lane].recorder).uncounted().submit(&steps, &waits, value);
        let outcome = submit().or_else(|failure| {
            // If memory is exhausted, tries again after free blocks are released.
            let again = matches!(failure.error.kind(), Kind::OutOfMemory { .. }) && self.trim() > 0;
            if again { submit() } else { Err(failure) }
        });
        match outcome {
            Ok(keep) => {
                if !watched {
                    self.lanes[lane].fence.start(value);
                }
                let mut state = self.lock();
                if state.lost.is_some() {
                    drop(state);
                    return std::mem::forget((steps, keep)); // the device may still use them
                }
                state.lanes[lane].token = false;
                state.lanes[lane].timeline.submit(value);
                state.lanes[lane].submitted.push_back(Submitted {
                    seq,
                    value,
                    steps,
                    keep,
                    expected,
                    submitted_at,
                });
                state.lanes[lane].debug_check();
                state.batches.set(seq, Status::Submitted(value));
                if state.wakers.has_submission_wakers() {
                    let due = state.take_submitted();
                    state.after.wakers.extend(due);
                }
                if let Some(at) = at {
                    state.note_submit(seq, lane, at);
                }
                let is_over = state.lanes[lane].executes_in_submit;
                if watched && !state.after.has_code() {
                    self.unlock_watched(state, lane);
                } else {
                    self.unlock(state);
                }
                if is_over {
                    self.poll_lane(lane); // the next submission follows at once
                }
            }
            Err(failure) => self.fail_batch(lane, batch, steps, failure),
        }
    }
}

impl State {
    /// Returns the priority whose front batch can be submitted on a lane now.
    pub(crate) fn choose(&self, lane: usize) -> Option<Priority> {
        let at = &self.lanes[lane];
        let submitted = |batch: &Batch| batch.deps.iter().all(|&seq| self.batches.is_submitted(seq));
        let priority = at.choose(submitted)?;
        at.has_room_for(priority, self.urgent_above(priority)).then_some(priority)
    }

    /// Takes the token and the next batch of a lane, with its value and its device waits.
    ///
    /// Every dependency of the batch has been submitted. So all submissions have one order in which each waits only
    /// for earlier ones, and no deadlock can exist.
    fn next_batch(&mut self, lane: usize) -> Option<SubmittingBatch> {
        if self.lost.is_some() || self.lanes[lane].token {
            return None;
        }
        let Self { lanes, batches, .. } = &mut *self;
        lanes[lane].promote_overtaken(|batch| batch.deps.iter().all(|&seq| batches.is_submitted(seq)));
        let priority = self.choose(lane)?;
        let batch = self.lanes[lane].take(priority)?;
        self.lanes[lane].token = true;
        self.batches.set(batch.seq, Status::Encoding);
        let waits = self.device_waits(lane, &batch);
        let (value, at) =
            (self.lanes[lane].timeline.pending(), self.log.as_ref().map(|_| web_time::Instant::now()));
        Some(SubmittingBatch { batch, waits, value, at })
    }

    /// Returns the values of other lanes that a batch waits for: the largest one for each lane.
    fn device_waits(&self, lane: usize, batch: &Batch) -> Vec<LaneValue> {
        let mut waits: Vec<LaneValue> = Vec::new();
        for wait in batch.deps.iter().filter_map(|&seq| self.batches.get(seq)?.device_wait(lane)) {
            match waits.iter_mut().find(|w| w.lane == wait.lane) {
                Some(known) => known.value = known.value.max(wait.value),
                None => waits.push(wait),
            }
        }
        waits
    }
}
