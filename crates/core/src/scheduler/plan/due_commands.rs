//! Plans the commands that are due on one lane.

use crate::scheduler::lane_state::Plannable;
use crate::scheduler::priority::Priority;
use crate::scheduler::queue_state::QueueState;
use crate::scheduler::state::State;
use fencepost_sync::{Point, Slot};

/// Selects the commands of a lane to plan.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum DueCommands {
    /// Selects the commands that the program requested with a flush or a wait.
    Requested,
    /// Selects all pending commands, so that they share a batch.
    All,
    /// Selects the requested commands of every queue but this one. They are planned even while planned batches are
    /// not yet submitted.
    RequestedExcept(Slot),
}

impl State {
    /// Plans the `due` commands of the queues on `lane`, with one priority in each batch, as far as
    /// [`plannable`](State::plannable) permits.
    pub(crate) fn plan_lane(&mut self, lane: usize, due: DueCommands) {
        let waits = |q: &QueueState| q.lane == lane && q.hold.is_none() && !q.pending.is_empty();
        let mut any = [false; 3];
        let first = self.first_due_queue();
        for queue in self.queues.iter().skip(first).filter(|queue| waits(queue)) {
            any[queue.priority as usize] = true;
        }
        let except = if let DueCommands::RequestedExcept(slot) = due { Some(slot) } else { None };
        let plannable = Priority::ORDER.map(|priority| match except {
            Some(_) => Plannable::All,
            None => self.plannable(lane, priority),
        });
        let mut any_short = None;
        for (priority, plannable) in Priority::ORDER.into_iter().zip(plannable) {
            if plannable == Plannable::Nothing || !any[priority as usize] {
                continue;
            }
            let queues = self.slots().skip(first).map(|slot| (slot, self.queue(slot)));
            let queues = queues.filter(|(_, q)| q.priority == priority && waits(q));
            let roots: Vec<Point> = match due {
                DueCommands::All => queues.map(|(slot, q)| q.end(slot)).collect(),
                DueCommands::Requested | DueCommands::RequestedExcept(_) => {
                    let queues = queues.filter(|(slot, _)| except != Some(*slot));
                    queues
                        .filter(|(_, q)| q.is_requested())
                        .map(|(slot, q)| q.end_of_requested(slot))
                        .collect()
                }
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
