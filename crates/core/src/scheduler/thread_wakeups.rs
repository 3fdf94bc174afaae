//! Who is woken when S is released: whoever sleeps and has something to do now, and nobody else.

use crate::scheduler::engine::Engine;
use crate::scheduler::lane_state::ThreadRest;
use crate::scheduler::queue_state::QueueState;
use crate::scheduler::state::State;
use fencepost_sync::prim::{Condvar, MutexGuard, sleep_for};
use std::time::Duration;
use web_time::Instant;

/// Whom to wake. Found out under S, carried out when it is released.
#[derive(Default)]
pub(crate) struct ThreadWakeups {
    /// For each lane: its thread, its completer.
    lanes: smallvec::SmallVec<[(bool, bool); 2]>,
    calls: bool,
    callers: bool,
}

impl ThreadWakeups {
    /// For a caller about to sleep: others who wait as it does have nothing new to see.
    pub(crate) fn without_callers(self) -> Self {
        Self { callers: false, ..self }
    }
}

impl State {
    /// Whom to wake, after whatever has changed.
    pub(crate) fn wakeups(&mut self) -> ThreadWakeups {
        let over = self.finished();
        let mut wakeups = ThreadWakeups::default();
        for lane in 0..self.lanes.len() {
            let thread = match self.lanes[lane].rest {
                ThreadRest::Awake => false,
                ThreadRest::Ticking => over || self.urgent_for(lane),
                ThreadRest::Asleep => over || self.something_for(lane) || self.needs_guard(lane),
                ThreadRest::Guarding => over || self.something_for(lane),
            };
            let completer = self.lanes[lane].idle && (over || self.unwatched(lane));
            let at = &mut self.lanes[lane];
            if thread {
                at.rest = ThreadRest::Awake;
            }
            at.idle &= !completer;
            wakeups.lanes.push((thread, completer));
        }
        wakeups.calls = self.calls_idle && (over || !self.calls.is_empty());
        self.calls_idle &= !wakeups.calls;
        wakeups.callers = self.callers_asleep > 0;
        wakeups
    }
}

impl State {
    /// Whether threads have nothing left to do, ever.
    pub(crate) fn finished(&self) -> bool {
        self.lost.is_some() || self.closing
    }

    /// Whether the device has something of a lane whose end no caller looks for.
    pub(crate) fn unwatched(&self, lane: usize) -> bool {
        self.lanes[lane].timeline.in_flight() > 0 && self.lanes[lane].watchers == 0
    }

    /// Whether the thread of a lane could submit or plan something.
    pub(crate) fn something_for(&self, lane: usize) -> bool {
        self.work_for(lane, |queue| !queue.pending.is_empty())
    }

    /// Whether it could submit or plan something now that the program has asked for, or that is a lot.
    pub(crate) fn urgent_for(&self, lane: usize) -> bool {
        self.work_for(lane, QueueState::urgent)
    }

    /// Whether somebody awaits what nobody is at: then the first lane's thread looks whether the device is still there.
    pub(crate) fn needs_guard(&self, lane: usize) -> bool {
        let idle = || self.lanes.iter().all(|lane| lane.timeline.in_flight() == 0);
        lane == 0 && self.wakers.await_ends() && idle()
    }

    fn work_for(&self, lane: usize, counts: impl Fn(&QueueState) -> bool) -> bool {
        let at = &self.lanes[lane];
        self.lost.is_none() && !at.token && (self.choose(lane).is_some() || self.could_plan(lane, counts))
    }

    /// Whether a lane has something urgent to plan.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn plans_for(&self, lane: usize) -> bool {
        self.could_plan(lane, QueueState::urgent)
    }

    /// Whether there is room on a lane for a batch of a queue that counts, behind no planned batch of its priority: there it
    /// gathers.
    fn could_plan(&self, lane: usize, counts: impl Fn(&QueueState) -> bool) -> bool {
        let at = &self.lanes[lane];
        let gathers = |q: &QueueState| !at.ready[q.priority as usize].is_empty();
        let waiting = |q: &QueueState| q.lane == lane && q.hold.is_none() && !gathers(q) && counts(q);
        let own = usize::from(!self.context_commands_are_due());
        at.has_room(false) && self.queues.iter().skip(own).any(waiting)
    }
}

impl Engine {
    /// Wakes whoever has something to do now.
    pub(crate) fn notify_due_threads(&self) {
        self.unlock(self.lock());
    }

    pub(crate) fn notify(&self, wakeups: &ThreadWakeups) {
        let wake = |condvar: &Condvar, due: bool| {
            if due {
                condvar.notify_all();
            }
        };
        for (lane, &(thread, completer)) in wakeups.lanes.iter().enumerate() {
            wake(&self.work[lane], thread);
            wake(&self.in_flight[lane], completer);
        }
        wake(&self.calls, wakeups.calls);
        wake(&self.done, wakeups.callers);
    }

    /// Sleeps until something has moved; if nothing has within `limit`, asks whether the device is still there. A sleep of no
    /// time would last as long as the timer of the system is coarse.
    pub(crate) fn park(&self, mut state: MutexGuard<'_, State>, limit: Duration) {
        let start = Instant::now();
        if !limit.is_zero() {
            state.callers_asleep += 1;
            state = sleep_for(&self.done, state, limit);
            state.callers_asleep -= 1;
        }
        drop(state);
        if start.elapsed() >= limit {
            self.poll_loss();
        }
    }
}
