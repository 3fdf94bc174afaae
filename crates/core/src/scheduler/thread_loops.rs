//! Runs the threads of a context: two for each lane, and one for host callbacks.

use crate::scheduler::callbacks::Inside;
use crate::scheduler::engine::{Engine, SLICE};
use crate::scheduler::lane_state::ThreadRest;
use crate::scheduler::plan::due_commands::DueCommands;
use crate::scheduler::state::State;
use crate::scheduler::thread_posts::is_replaced;
use crate::scheduler::thread_state::this_thread;
use fencepost_sync::TimelineValue;
use fencepost_sync::prim::{MutexGuard, lock, sleep, sleep_for, yield_now};
use std::time::Duration;
use web_time::Instant;

/// Longest park of a lane thread while its lane is in use.
const TICK: Duration = Duration::from_millis(1);
/// Number of ticks after the last submission before the lane thread parks without a timeout.
const TICKS: u32 = if cfg!(fencepost_loom) { 1 } else { 8 };

/// Ticks of a lane thread since the last submission.
#[derive(Default)]
struct IdleTicks {
    ticks: u32,
    /// Value of the next submission when the count began.
    upto: TimelineValue,
    /// `true` if the last park was a tick. The program then had time to enqueue more commands for the next batch, so
    /// pending commands are planned.
    ticked: bool,
}

impl IdleTicks {
    /// Counts the next park of a lane thread, where the next submission of the lane has value `pending`. Returns
    /// `true` if that park is a tick.
    fn after(&mut self, pending: TimelineValue) -> bool {
        if pending != self.upto {
            self.ticks = 0;
            self.upto = pending;
        }
        self.ticks += 1;
        self.ticks <= TICKS
    }
}

impl Engine {
    /// Runs the thread of a lane: it plans pending commands, submits batches and parks. Commands that are not urgent
    /// wait for a tick, so that a program has time to enqueue more of them for the same batch.
    pub(crate) fn lane_thread(&self, lane: usize) {
        let mut resting = IdleTicks::default();
        while !is_replaced() {
            // Other threads take S, the state lock, between two batches.
            self.yield_lock();
            let mut state = self.lock();
            while !(state.urgent_for(lane) || (resting.ticked && state.something_for(lane))) {
                if state.finished() {
                    return;
                }
                state = self.park_lane_thread(lane, state, &mut resting);
            }
            // Without a tick and without urgent commands, the thread only submits, so that pending commands gather.
            let due = std::mem::take(&mut resting.ticked) || state.plans_for(lane);
            self.submit_next(lane, state, due.then_some(DueCommands::All));
        }
    }

    /// Parks for one tick while the lane is in use and for [`TICKS`] ticks after that. Later it parks until it is
    /// notified.
    fn park_lane_thread<'a>(
        &'a self,
        lane: usize,
        mut state: MutexGuard<'a, State>,
        resting: &mut IdleTicks,
    ) -> MutexGuard<'a, State> {
        let has_work = state.something_for(lane);
        let at = &mut state.lanes[lane];
        let tick = resting.after(at.timeline.pending()) || at.needs_cleanup || has_work;
        resting.ticked = tick;
        at.rest = if tick { ThreadRest::Ticking } else { ThreadRest::Asleep };
        let mut state = match tick {
            true => self.park_for_tick(lane, state),
            false if state.needs_loss_poll(lane) => self.idle_poll(lane, state),
            false => sleep(&self.work[lane], state),
        };
        state.lanes[lane].rest = ThreadRest::Awake;
        if lane == 0 && state.deliveries.running.is_some() {
            let limit = lock(&self.print_options).limit;
            state.announce_overdue(limit);
            self.unlock(state);
            state = self.lock();
        }
        self.idle_round(lane, state)
    }

    /// Parks for one tick. In a model the tick ends at once.
    fn park_for_tick<'a>(&'a self, lane: usize, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        if cfg!(fencepost_loom) {
            drop(state);
            yield_now();
            return self.lock();
        }
        sleep_for(&self.work[lane], state, TICK)
    }

    /// Parks for at most one slice. If the slice passes, polls for device loss.
    fn idle_poll<'a>(&'a self, lane: usize, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        state.lanes[lane].rest = ThreadRest::PollingForLoss;
        let start = Instant::now();
        let state = sleep_for(&self.work[lane], state, SLICE);
        if start.elapsed() < SLICE {
            return state;
        }
        drop(state);
        self.poll_loss();
        self.lock()
    }

    /// Notifies the completer if no caller waits for the batches in flight, and lets the driver release resources. A
    /// caller that submits a batch in order to wait for it does not notify the completer, and may then drop the result
    /// instead.
    fn idle_round<'a>(&'a self, lane: usize, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let unwatched = state.unwatched(lane);
        let at = &mut state.lanes[lane];
        let (completer, needs_cleanup) = (at.idle && unwatched, std::mem::take(&mut at.needs_cleanup));
        if !completer && !needs_cleanup {
            return state;
        }
        at.idle &= !completer;
        drop(state);
        if completer {
            self.in_flight[lane].notify_all();
        }
        let tidied = !needs_cleanup || self.device.poll_loss();
        let mut state = self.lock();
        state.lanes[lane].needs_cleanup |= !tidied;
        state
    }

    /// Runs the second thread of a lane: it waits natively for the next value, so that futures and callbacks make
    /// progress and memory is reused.
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
                TimelineValue(state.lanes[lane].timeline.completed().0 + 1)
            };
            self.wait_native(lane, next, SLICE);
        }
    }

    /// Runs the callback thread: it calls the due callbacks in order until the context ends.
    pub(crate) fn callback_thread(&self) {
        let _inside = Inside::enter(); // a waker that waits here delays the callbacks
        let mut state = self.lock();
        state.callbacks.thread = Some(this_thread());
        loop {
            state = self.run_callbacks(state);
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
