//! Plans the context commands, which fill the arrays that the context makes.
//!
//! A context command waits for nothing, and every later command of every queue may need it without a wait. So the
//! planner plans a context command before the first command with a later stamp, and a short context command even
//! earlier, with the next batch.
use crate::scheduler::plan::{FrontStep, LARGEST_BATCH, Planner};
use crate::scheduler::state::State;
use fencepost_sync::{Point, Slot, Stamp};

/// Limits the context commands of one planning, which holds the state lock (S). Each costs the planner as much as
/// several launches.
pub(crate) const MOST_CONTEXT_COMMANDS: usize = 512;

impl State {
    /// Returns `true` if the thread of a lane plans the context commands now.
    pub(crate) fn plans_context_on(&self, lane: usize) -> bool {
        let queue = self.queue(Slot::CONTEXT);
        !queue.pending.is_empty()
            && queue.lane == lane
            && queue.hold.is_none()
            && self.context_commands_are_due()
    }

    /// Returns `true` if the threads plan the context commands although no other command needs them: the program
    /// requested them, or at least [`MOST_CONTEXT_COMMANDS`] are pending.
    pub(crate) fn context_commands_are_due(&self) -> bool {
        let queue = self.queue(Slot::CONTEXT);
        queue.is_requested() || queue.pending.len() >= MOST_CONTEXT_COMMANDS
    }
}

impl Planner<'_> {
    /// Puts the context commands up to the last of `roots` first in the batch, as long as they delay no later command
    /// by more than the bound of the lane.
    pub(crate) fn begin_with_context_commands(&mut self, roots: &[Point]) {
        if let Some(upto) = roots.iter().map(|root| root.stamp).max()
            && self.has_only_context_commands()
        {
            self.drain_context_commands(upto, self.state.lanes[0].costs.bound);
        }
    }

    /// Plans the context commands up to a stamp. While an open batch contains other commands, returns
    /// [`FrontStep::Later`]: that batch ends first because its results need no context command.
    pub(crate) fn plan_context_commands(&mut self, upto: Stamp) -> FrontStep {
        if self.state.first_context_command() > upto {
            return FrontStep::Planned;
        }
        if !self.has_only_context_commands() {
            return FrontStep::Later;
        }
        self.drain_context_commands(upto, f32::INFINITY);
        FrontStep::Again
    }

    /// Returns `true` if the open batches contain only context commands.
    fn has_only_context_commands(&self) -> bool {
        self.open.iter().flatten().all(|open| open.firsts().all(|(slot, _)| slot == Slot::CONTEXT))
    }

    /// Moves context commands up to a stamp into the open batch of their lane, at most `seconds` of them together.
    fn drain_context_commands(&mut self, upto: Stamp, seconds: f32) {
        let (mut left, mut count) = (seconds, 0);
        while self.taken < LARGEST_BATCH && self.state.first_context_command() <= upto {
            if self.state.queue(Slot::CONTEXT).front_has_failed() {
                self.discard_failed(crate::scheduler::plan::PlanGoal {
                    slot: Slot::CONTEXT,
                    upto,
                    needed: false,
                });
                continue;
            }
            let cost = self.cost(Slot::CONTEXT);
            left -= cost;
            if left < 0.0 {
                break;
            }
            self.append(Slot::CONTEXT, cost);
            count += 1;
            if count >= MOST_CONTEXT_COMMANDS {
                self.taken = self.taken.max(LARGEST_BATCH); // the rest is planned after other threads could take S
                break;
            }
        }
        if let Some(open) = self.open[0].as_mut().filter(|_| count > 0) {
            open.end_context_commands();
        }
    }
}
