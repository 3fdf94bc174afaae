//! Chooses and takes the next step of a blocked caller. S is the state lock.

use crate::error::Result;
use crate::scheduler::batch::Status;
use crate::scheduler::deadline::Deadline;
use crate::scheduler::engine::Engine;
use crate::scheduler::priority::Priority;
use crate::scheduler::relay::Relay;
use crate::scheduler::state::State;
use crate::scheduler::thread_wakeups::ThreadWakeups;
use crate::scheduler::wait_target::WaitTarget;
use fencepost_sync::prim::MutexGuard;
use fencepost_sync::{Seq, TimelineValue};
use std::sync::Arc;

/// Next step of a blocked caller.
pub(crate) enum WaitStep {
    /// The batch of the target is submitted to this lane: the caller waits until the fence reaches this value.
    Native(usize, TimelineValue),
    /// This lane has a batch that can be submitted, and the target may depend on it: the caller submits that batch.
    Submit(usize),
    /// A user event of another context holds the queue of the target: the caller waits through this relay.
    OtherContext(Arc<Relay>),
    /// A chunk of a loop is complete, and the caller reads whether the loop goes on.
    ContinueLoop,
    /// Another thread must make progress with this batch first: the caller parks until the batch is done.
    SleepFor(Seq),
    /// Another thread must make progress first: the caller parks. In a context without threads, the caller does the
    /// work of the threads instead.
    Sleep,
}

impl State {
    /// Returns `true` if a lane has nothing in flight and a batch that can be submitted now.
    pub(crate) fn can_submit(&self, lane: usize) -> bool {
        let at = &self.lanes[lane];
        at.timeline.in_flight() == 0 && !at.token && self.choose(lane).is_some()
    }
}

impl Engine {
    /// Returns the next step for a target that cannot be planned yet.
    pub(crate) fn step_of_unplanned(&self, state: &mut State, target: WaitTarget<'_>) -> WaitStep {
        let WaitTarget::Point(point) = target else { return WaitStep::Sleep };
        match state.chunk_before(point) {
            Some(seq) if state.batches.is_done(seq) => WaitStep::ContinueLoop,
            Some(seq) => self.next_step(state, seq),
            None => state.held_by(point).map_or(WaitStep::Sleep, WaitStep::OtherContext),
        }
    }

    /// Returns the next step of a caller that waits for a planned batch. A batch that is not submitted moves, with its
    /// dependencies, to the front of its list and to normal priority at least.
    pub(crate) fn next_step(&self, state: &mut State, seq: Seq) -> WaitStep {
        let Some(lane) = state.batches.get(seq).map(|info| info.lane) else { return WaitStep::Sleep };
        match state.batches.status(seq) {
            Status::Submitted(value) => WaitStep::Native(lane, value),
            Status::Ready(_) => {
                state.raise_priority(seq, Priority::Normal);
                state.move_to_front(seq);
                // If the batch depends on an unsubmitted batch of another lane, only that lane can submit now, so the
                // search tries every lane.
                let mut lanes = std::iter::once(lane).chain(0..self.lanes.len());
                let ready_lane = lanes.find(|&lane| self.lanes[lane].async_submit && state.can_submit(lane));
                ready_lane.map_or(WaitStep::SleepFor(seq), WaitStep::Submit)
            }
            _ => WaitStep::SleepFor(seq),
        }
    }

    /// Takes the next step of a blocked caller, which lasts at most one slice of time, and releases S.
    pub(crate) fn take_step(
        &self,
        mut state: MutexGuard<'_, State>,
        step: WaitStep,
        deadline: Deadline,
        target: WaitTarget<'_>,
    ) -> Result<()> {
        let slice = deadline.slice();
        match step {
            // Deferred user code runs before this caller counts as a watcher of the lane. That code may take long or
            // wait for this lane, and the completer sleeps while the lane has a watcher.
            WaitStep::Native(..) if state.after.has_code() => self.unlock(state),
            WaitStep::Native(lane, value) => {
                // The completer sleeps while the lane has a watcher. So a caller counts as a watcher only if it
                // waits for the oldest submission: otherwise no thread would process the submissions before that
                // value.
                let next = TimelineValue(state.lanes[lane].timeline.completed().0 + 1);
                let watch = u32::from(value == next);
                state.lanes[lane].watchers += watch;
                self.unlock_with(state, &ThreadWakeups::default());
                if deadline.is_endless() {
                    self.lanes[lane].fence.execute_up_to(value);
                }
                self.wait_watched(lane, value, slice, watch);
                // A completion has notified the parked callers already.
                let mut state = self.lock();
                let wakeups = state.wakeups().without_callers();
                self.unlock_with(state, &wakeups);
            }
            WaitStep::OtherContext(relay) => {
                self.unlock(state);
                relay.wait(slice)?;
            }
            WaitStep::ContinueLoop => {
                self.unlock(state);
                self.continue_loops();
            }
            WaitStep::Submit(lane) if self.threads => drop(self.submit_watched(state, lane)),
            step if self.threads || !state.busy() => {
                // The caller parks only if no action is deferred, because a deferred action may complete the
                // target.
                let after = std::mem::take(&mut state.after);
                if after.is_empty() {
                    let wakeups = state.wakeups().without_callers();
                    self.notify(&wakeups);
                    match step {
                        WaitStep::SleepFor(seq) if self.threads => {
                            self.park_for(state, target.point(), seq, slice)
                        }
                        _ => self.park(state, slice),
                    }
                } else {
                    state.after = after;
                    self.unlock(state);
                }
            }
            _ => {
                self.unlock(state);
                // In a context without threads, only a caller makes progress.
                self.make_progress(deadline.left().min(target.longest_slice()));
            }
        }
        Ok(())
    }
}
