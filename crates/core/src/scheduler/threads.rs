//! What the threads of a context do: two a lane, one for host callbacks.

use super::engine::{Engine, SLICE};
use fencepost_sync::Value;
use fencepost_sync::prim::sleep;

impl Engine {
    /// The thread of a lane: plans what came together, submits what can be, sleeps.
    pub(crate) fn lane_thread(&self, lane: usize) {
        loop {
            let mut state = self.lock();
            while !state.something_for(lane) {
                if state.finished() {
                    return;
                }
                state.lanes[lane].asleep = true;
                state = sleep(&self.work[lane], state);
                state.lanes[lane].asleep = false;
            }
            if !state.lanes[lane].has_ready() {
                state.plan_lane(lane);
            }
            self.unlock(state);
            self.pump(lane, usize::MAX);
        }
    }

    /// The second thread of a lane: waits natively for the next value, for the sake of futures, callbacks and
    /// memory that can be used again.
    pub(crate) fn completer(&self, lane: usize) {
        loop {
            let next = {
                let mut state = self.lock();
                while !state.unwatched(lane) {
                    if state.finished() {
                        return;
                    }
                    state.lanes[lane].idle = true;
                    state = sleep(&self.in_flight[lane], state);
                    state.lanes[lane].idle = false;
                }
                if state.lost.is_some() {
                    return;
                }
                Value(state.lanes[lane].timeline.completed().0 + 1)
            };
            self.wait_native(lane, next, SLICE);
        }
    }

    /// The callback thread: runs what is due, one after the other, until the context ends.
    pub(crate) fn callback_thread(&self) {
        let mut state = self.lock();
        loop {
            while let Some((id, slot, run)) = state.calls.pop_front() {
                state = self.call(state, id, slot, run);
            }
            if state.finished() {
                return;
            }
            state.calls_idle = true;
            state = sleep(&self.calls, state);
            state.calls_idle = false;
        }
    }
}
