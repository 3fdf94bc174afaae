//! Operations on all queues of a context.

use crate::error::Result;
use crate::scheduler::command::{Command, Op};
use crate::scheduler::engine::Engine;
use crate::scheduler::failure_history::PointHistory;
use crate::scheduler::ordering::policy::Policy;
use crate::scheduler::priority::Priority;
use crate::scheduler::state::State;
use crate::work::step::Work;
use fencepost_profile::WaitCause;
use fencepost_sync::prim::MutexGuard;
use fencepost_sync::{Clock, Point, Slot};
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

impl Engine {
    /// Plans all enqueued commands.
    ///
    /// # Errors
    /// `DeviceLost`.
    pub(crate) fn flush_all(&self) -> Result<()> {
        let state = self.lock();
        state.lost()?;
        let ends: Vec<Point> =
            state.queues.unplanned().into_iter().map(|slot| state.queue(slot).end(slot)).collect();
        self.submit_all_up_to(state, &ends);
        Ok(())
    }

    /// Plans all enqueued commands. Returns the end of each queue with the history of that point, the oldest queue
    /// first. If `behind` is true, it also enqueues a fence that completes after everything that any context has
    /// submitted to the hardware queue.
    ///
    /// # Errors
    /// `DeviceLost`.
    pub(crate) fn finish_all(&self, behind: bool) -> Result<Vec<(Point, Arc<PointHistory>)>> {
        let mut state = self.lock();
        state.lost()?;
        if behind {
            let stamp = state.next_stamp();
            state.queue_mut(Slot::CONTEXT).push(Command { stamp, op: Op::Work(Work::QueueFence) });
        }
        let ends = state.all_ends();
        let unplanned = ends.iter().map(|(end, _)| *end);
        let unplanned = unplanned.filter(|end| !state.queue(end.slot).pending.is_empty()).collect::<Vec<_>>();
        self.submit_all_up_to(state, &unplanned);
        Ok(ends)
    }

    fn submit_all_up_to(&self, mut state: MutexGuard<'_, State>, ends: &[Point]) {
        for priority in Priority::ORDER {
            let roots = ends.iter().copied().filter(|end| state.queue(end.slot).priority == priority);
            let roots: Vec<Point> = roots.collect();
            state.plan(roots, priority);
        }
        self.unlock(state);
        if !self.threads {
            self.make_progress(Duration::ZERO);
        }
    }

    /// Orders the next commands of `slot` after everything enqueued so far on any queue. Only needed under `Unchecked`,
    /// which orders nothing by itself; under other policies it does nothing.
    pub(crate) fn wait_for_all(&self, slot: Slot, at: &'static Location<'static>) {
        let mut state = self.lock();
        if state.policy() != Policy::Unchecked || state.lost.is_some() {
            return;
        }
        let ends: Vec<Point> = state.ends().into_iter().filter(|end| end.slot != slot).collect();
        for point in ends {
            state.push_wait(slot, point, WaitCause::Policy, at);
        }
    }

    /// Orders the next commands of `slot` after everything enqueued so far on `before`, even if `slot` has failed.
    pub(crate) fn order_after(&self, slot: Slot, before: Slot, at: &'static Location<'static>) {
        let mut state = self.lock();
        if state.lost.is_none() && slot != before {
            let (point, past) = state.marker(before);
            state.queue_mut(slot).clock.join(&past.clock);
            state.push_wait(slot, point, WaitCause::Queue, at);
            // If `slot` has failed, the new wait has failed with it.
            state.queue_mut(slot).extend_failure();
        }
    }
}

impl State {
    /// Returns the ends of all existing queues, the oldest queue first. The work of queues that no longer exist is
    /// done. The first end belongs to the context's own queue. Its clock covers everything enqueued so far, so a report
    /// that this end is complete reports that everything is complete.
    fn all_ends(&mut self) -> Vec<(Point, Arc<PointHistory>)> {
        let mut here: Vec<Slot> = self.slots().filter(|&slot| !self.queue(slot).free).collect();
        here.sort_unstable_by_key(|&slot| self.queue(slot).born);
        let mut ends: Vec<(Point, Arc<PointHistory>)> =
            here.into_iter().map(|slot| self.marker(slot)).collect();
        Arc::make_mut(&mut ends[0].1).clock = Clock::after_all(self.last_stamp());
        ends
    }
}
