//! What the threads of a context do: two a lane, one for host callbacks.

use crate::scheduler::callbacks::Inside;
use crate::scheduler::engine::{Engine, SLICE};
use crate::scheduler::lane_state::ThreadRest;
use crate::scheduler::plan::DueCommands;
use crate::scheduler::state::State;
use crate::scheduler::thread_posts::is_replaced;
use crate::scheduler::thread_state::this_thread;
use fencepost_sync::Value;
use fencepost_sync::prim::{MutexGuard, sleep, sleep_for, yield_now};
use std::time::Duration;
use web_time::Instant;

/// How long the thread of a lane does not look round while the lane is in use.
const TICK: Duration = Duration::from_millis(1);
/// Naps after the last submission.
const TICKS: u32 = if cfg!(fencepost_loom) { 1 } else { 8 };

/// How the thread of a lane has rested since somebody last submitted.
#[derive(Default)]
struct IdleTicks {
    ticks: u32,
    upto: Value,
    /// Whether the last rest was a nap: then the program had the time to ask for what is there.
    ticked: bool,
}

impl IdleTicks {
    /// Whether another rest is a nap, in a lane whose next submission has value `pending`.
    fn after(&mut self, pending: Value) -> bool {
        if pending != self.upto {
            (self.ticks, self.upto) = (0, pending);
        }
        self.ticks += 1;
        self.ticks <= TICKS
    }
}

impl Engine {
    /// The thread of a lane: plans what came together, submits what can be, sleeps.
    pub(crate) fn lane_thread(&self, lane: usize) {
        let mut resting = IdleTicks::default();
        while !is_replaced() {
            self.let_others();
            let mut state = self.lock();
            while !(state.urgent_for(lane) || (resting.ticked && state.something_for(lane))) {
                if state.finished() {
                    return;
                }
                state = self.park_lane_thread(lane, state, &mut resting);
            }
            let due = std::mem::take(&mut resting.ticked) || state.plans_for(lane);
            self.submit_next(lane, state, due.then_some(DueCommands::All));
        }
    }

    /// Naps as long as the lane is in use, and for a moment more, then sleeps.
    fn park_lane_thread<'a>(
        &'a self,
        lane: usize,
        mut state: MutexGuard<'a, State>,
        resting: &mut IdleTicks,
    ) -> MutexGuard<'a, State> {
        let has_work = state.something_for(lane);
        let at = &mut state.lanes[lane];
        let tick = resting.after(at.timeline.pending()) || at.untidy || has_work;
        resting.ticked = tick;
        at.rest = if tick { ThreadRest::Ticking } else { ThreadRest::Asleep };
        let mut state = match tick {
            true => self.park_for_tick(lane, state),
            false if state.needs_guard(lane) => self.idle_poll(lane, state),
            false => sleep(&self.work[lane], state),
        };
        state.lanes[lane].rest = ThreadRest::Awake;
        self.idle_round(lane, state)
    }

    /// Sleeps for a moment at most, which in a model is over at once.
    fn park_for_tick<'a>(&'a self, lane: usize, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        if cfg!(fencepost_loom) {
            drop(state);
            yield_now();
            return self.lock();
        }
        sleep_for(&self.work[lane], state, TICK)
    }

    /// Sleeps for a slice at most, and then asks whether the device is still there.
    fn idle_poll<'a>(&'a self, lane: usize, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        state.lanes[lane].rest = ThreadRest::Guarding;
        let start = Instant::now();
        let state = sleep_for(&self.work[lane], state, SLICE);
        if start.elapsed() < SLICE {
            return state;
        }
        drop(state);
        self.poll_loss();
        self.lock()
    }

    /// Does what callers left to do: wakes the completer for what nobody waits for, lets the driver tidy up.
    fn idle_round<'a>(&'a self, lane: usize, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let unwatched = state.unwatched(lane);
        let at = &mut state.lanes[lane];
        let (completer, untidy) = (at.idle && unwatched, std::mem::take(&mut at.untidy));
        if !completer && !untidy {
            return state;
        }
        at.idle &= !completer;
        drop(state);
        if completer {
            self.in_flight[lane].notify_all();
        }
        let tidied = !untidy || self.device.poll_loss();
        let mut state = self.lock();
        state.lanes[lane].untidy |= !tidied;
        state
    }

    /// The second thread of a lane: waits natively for the next value, for the sake of futures, callbacks and
    /// memory that can be used again.
    pub(crate) fn completer(&self, lane: usize) {
        while !is_replaced() {
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
        let _inside = Inside::enter(); // a waker that blocks here keeps callbacks from running
        let mut state = self.lock();
        state.callbacks.thread = Some(this_thread());
        loop {
            while let Some((id, slot, run)) = state.calls.pop_front() {
                state = self.call(state, id, slot, run);
            }
            if state.finished() {
                state.callbacks.thread = None;
                return;
            }
            state.calls_idle = true;
            state = sleep(&self.calls, state);
            state.calls_idle = false;
        }
    }
}
