//! What the threads of a context do: two a lane, one for host callbacks.

use super::engine::{Engine, SLICE};
use super::state::State;
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

impl State {
    /// Whether threads have nothing left to do, ever.
    pub(crate) fn finished(&self) -> bool {
        self.lost.is_some() || self.closing
    }

    /// Whether the device has something of a lane whose end no caller looks for.
    pub(super) fn unwatched(&self, lane: usize) -> bool {
        self.lanes[lane].timeline.in_flight() > 0 && self.lanes[lane].watchers == 0
    }

    /// Whether the thread of a lane could submit or plan something.
    pub(super) fn something_for(&self, lane: usize) -> bool {
        let at = &self.lanes[lane];
        if self.lost.is_some() || at.token {
            return false;
        }
        if at.has_ready() {
            return self.choose(lane).is_some();
        }
        let waiting =
            |q: &super::queue::QueueState| q.lane == lane && q.hold.is_none() && !q.pending.is_empty();
        at.has_room(false) && self.queues.iter().skip(1).any(waiting)
    }
}
