//! Releases S, the state lock, and then notifies the parked threads that have work to do.

use crate::scheduler::deferred_calls;
use crate::scheduler::engine::Engine;
use crate::scheduler::lane_state::{Plannable, ThreadRest};
use crate::scheduler::priority::Priority;
use crate::scheduler::state::{AfterUnlock, State};
use fencepost_sync::Slot;
use fencepost_sync::prim::{Condvar, MutexGuard};
use std::sync::Arc;

/// Threads to notify. The set is computed under S and used after S is released.
#[derive(Default)]
pub(crate) struct ThreadWakeups {
    /// For each lane, `true` to notify its thread, and `true` to notify its completer.
    lanes: smallvec::SmallVec<[(bool, bool); 2]>,
    /// `true` to notify the callback thread.
    calls: bool,
    /// `true` to notify the message thread.
    messages: bool,
    /// `true` to notify the parked callers.
    callers: bool,
    /// Condition variables of the callers that are parked for a batch and can go on.
    parked: smallvec::SmallVec<[Arc<Condvar>; 2]>,
}

impl ThreadWakeups {
    /// Returns the wakeups without the parked callers. Used by a caller that is about to park, because it has changed
    /// nothing that the other callers wait for. Callers that are parked for a batch stay, because each of them is
    /// notified only once.
    pub(crate) fn without_callers(self) -> Self {
        Self { callers: false, ..self }
    }
}

impl State {
    /// Returns the threads to notify after a change of the state, and marks them as awake, so that each is notified
    /// once.
    pub(crate) fn wakeups(&mut self) -> ThreadWakeups {
        let over = self.finished();
        let mut wakeups = ThreadWakeups::default();
        for lane in 0..self.lanes.len() {
            let thread = match self.lanes[lane].rest {
                ThreadRest::Awake => false,
                ThreadRest::Ticking => over || self.urgent_for(lane),
                ThreadRest::Asleep => over || self.something_for(lane) || self.needs_loss_poll(lane),
                ThreadRest::PollingForLoss => over || self.something_for(lane),
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
        wakeups.messages = self.deliveries.idle && (over || self.has_due_delivery());
        self.deliveries.idle &= !wakeups.messages;
        wakeups.callers = self.callers_asleep > 0;
        wakeups.parked = self.due_callers();
        wakeups
    }

    /// Returns `true` if the threads have no further work: the device is lost or the context is closing.
    pub(crate) fn finished(&self) -> bool {
        self.lost.is_some() || self.closing
    }

    /// Returns `true` if a batch of a lane is in flight and no caller polls the lane's fence. The completer must
    /// then wait for the fence.
    pub(crate) fn unwatched(&self, lane: usize) -> bool {
        self.lanes[lane].timeline.in_flight() > 0 && self.lanes[lane].watchers == 0
    }

    /// Returns `true` if the thread of a lane can submit or plan something.
    pub(crate) fn something_for(&self, lane: usize) -> bool {
        self.work_for(lane, false)
    }

    /// Returns `true` if the thread of a lane can submit something, or plan commands that were requested or are many.
    pub(crate) fn urgent_for(&self, lane: usize) -> bool {
        self.work_for(lane, true)
    }

    /// Returns `true` if a task waits while nothing is in flight. No fence would then report a lost device, so the
    /// thread of lane 0 polls for the loss.
    pub(crate) fn needs_loss_poll(&self, lane: usize) -> bool {
        let idle = || self.lanes.iter().all(|lane| lane.timeline.in_flight() == 0);
        lane == 0 && self.wakers.has_completion_wakers() && idle()
    }

    /// Returns `true` if the thread of a lane can submit a batch or plan a queue; with `urgent`, only an urgent queue
    /// counts. Returns `false` while the token is taken: its holder notifies the thread when it returns the token.
    fn work_for(&self, lane: usize, urgent: bool) -> bool {
        let at = &self.lanes[lane];
        self.lost.is_none() && !at.token && (self.choose(lane).is_some() || self.could_plan(lane, urgent))
    }

    /// Returns `true` if a lane has urgent commands to plan.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn plans_for(&self, lane: usize) -> bool {
        self.could_plan(lane, true)
    }

    /// Returns `true` if a lane has room for a batch of a queue; with `urgent`, only an urgent queue counts. A queue
    /// whose commands gather does not count.
    fn could_plan(&self, lane: usize, urgent: bool) -> bool {
        let gathers = |priority: Priority| self.plannable(lane, priority) == Plannable::Nothing;
        let own = self.queue(Slot::CONTEXT);
        let plans = |priority: Priority| {
            let plans_own =
                || priority == own.priority && (!urgent || own.urgent()) && self.plans_context_on(lane);
            (self.queues.can_plan(lane, priority, urgent) || plans_own()) && !gathers(priority)
        };
        self.lanes[lane].has_room(false) && Priority::ORDER.into_iter().any(plans)
    }
}

impl Engine {
    /// Releases S. Then drops everything whose drop was deferred, notifies the threads that have work, and calls the
    /// deferred wakers.
    pub(crate) fn unlock(&self, mut state: MutexGuard<'_, State>) {
        let wakeups = state.wakeups();
        self.unlock_with(state, &wakeups);
    }

    /// Releases S for a caller that polls the fence of a lane next. The caller counts as a watcher here, so the
    /// completer of that lane is not woken.
    pub(crate) fn unlock_watched(&self, mut state: MutexGuard<'_, State>, lane: usize) {
        state.lanes[lane].watchers += 1;
        let wakeups = state.wakeups();
        state.lanes[lane].watchers -= 1;
        self.unlock_with(state, &wakeups);
    }

    /// Like [`unlock`](Self::unlock), but notifies only the threads of `wakeups`.
    pub(crate) fn unlock_with(&self, mut state: MutexGuard<'_, State>, wakeups: &ThreadWakeups) {
        let AfterUnlock { dropped, wakers, times, planned_any: _ } = std::mem::take(&mut state.after);
        drop(state);
        drop(times);
        if !dropped.is_empty() {
            deferred_calls::drop_all(dropped);
        }
        self.notify(wakeups);
        if !wakers.is_empty() {
            deferred_calls::wake_all(wakers);
        }
    }

    /// Notifies the threads that have work to do now.
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
        wake(&self.messages, wakeups.messages);
        wake(&self.done, wakeups.callers);
        wakeups.parked.iter().for_each(|caller| caller.notify_all());
    }
}
