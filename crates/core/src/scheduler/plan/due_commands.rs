//! Plans the commands that are due on one lane.

use crate::scheduler::lane_state::Plannable;
use crate::scheduler::priority::Priority;
use crate::scheduler::state::State;
use fencepost_sync::{Point, Slot};

/// The commands of a lane to plan.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum DueCommands {
    /// Commands that the program requested with a flush or a wait.
    Requested,
    /// All pending commands, so that they share a batch.
    All,
    /// Requested commands of every queue but this one. They are planned even while planned batches are not yet
    /// submitted.
    RequestedExcept(Slot),
}

impl State {
    /// Plans the `due` commands of the queues on `lane`, with one priority in each batch, as far as
    /// [`plannable`](State::plannable) permits.
    pub(crate) fn plan_lane(&mut self, lane: usize, due: DueCommands) {
        let all = due == DueCommands::All;
        if !self.queues.can_plan_any(lane, !all) && !self.plans_context_on(lane) {
            return;
        }
        let except = if let DueCommands::RequestedExcept(slot) = due { Some(slot) } else { None };
        let plannable = Priority::ORDER.map(|priority| match except {
            Some(_) => Plannable::All,
            None => self.plannable(lane, priority),
        });
        let mut any_short = None;
        for (priority, plannable) in Priority::ORDER.into_iter().zip(plannable) {
            if plannable == Plannable::Nothing {
                continue;
            }
            let mut slots = self.queues.to_plan(lane, priority, !all);
            if priority == self.queue(Slot::CONTEXT).priority && self.plans_context_on(lane) {
                slots.push(Slot::CONTEXT);
            }
            if slots.is_empty() {
                continue;
            }
            let queues = slots.into_iter().map(|slot| (slot, self.queue(slot)));
            let roots: Vec<Point> = if all {
                queues.map(|(slot, q)| q.end(slot)).collect()
            } else {
                let queues = queues.filter(|(slot, q)| except != Some(*slot) && q.is_requested());
                queues.map(|(slot, q)| q.end_of_requested(slot)).collect()
            };
            if plannable == Plannable::Short {
                any_short = Some(self.plan_short(roots, priority) || any_short == Some(true));
            } else if !roots.is_empty() {
                self.plan(roots, priority);
                self.lanes[lane].own_plannings = 0;
            }
        }
        if let Some(any) = any_short {
            self.note_short(any);
        }
    }
}
