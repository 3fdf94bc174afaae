//! The context's own commands: what fills the arrays that it makes.
//!
//! They wait for nothing, and every later command of every queue may need them without a wait. So they are planned before the
//! first command with a later stamp, and those that take little time even earlier, with the first batch that there is.
use crate::scheduler::plan::{FrontStep, LARGEST, Planner};
use crate::scheduler::state::State;
use fencepost_sync::{Point, Slot, Stamp};

/// The most of them in one planning: each costs the planner as much as several launches.
pub(crate) const MOST: usize = 512;

impl State {
    /// The stamp of the first own command that is not planned; after all others if there is none.
    pub(crate) fn first_context_command(&self) -> Stamp {
        self.queue(Slot::CONTEXT).pending.front().map_or(Stamp(u64::MAX), |front| front.stamp)
    }

    /// Whether the threads plan the own commands though nothing needs them: the program has asked for them, or they are many.
    pub(crate) fn context_commands_are_due(&self) -> bool {
        let queue = self.queue(Slot::CONTEXT);
        queue.is_asked() || queue.pending.len() >= MOST
    }
}

impl Planner<'_> {
    /// Puts the own commands up to the last of `roots` in front of everything, as far as that makes nothing behind them late.
    pub(crate) fn begin_with_context_commands(&mut self, roots: &[Point]) {
        if let Some(upto) = roots.iter().map(|root| root.stamp).max()
            && self.has_only_context_commands()
        {
            self.drain_context_commands(upto, self.state.lanes[0].costs.bound);
        }
    }

    /// Plans the own commands up to a stamp. What is in the open batches ends first: its results need none of them.
    pub(crate) fn own(&mut self, upto: Stamp) -> FrontStep {
        if self.state.first_context_command() > upto {
            return FrontStep::Reached;
        }
        if !self.has_only_context_commands() {
            return FrontStep::Later;
        }
        self.drain_context_commands(upto, f32::INFINITY);
        FrontStep::Again
    }

    /// Whether nothing is in the open batches but own commands.
    fn has_only_context_commands(&self) -> bool {
        self.open.iter().flatten().all(|open| open.firsts().all(|(slot, _)| slot == Slot::CONTEXT))
    }

    /// Moves own commands up to a stamp, of at most so many seconds together, into the open batch of their lane.
    fn drain_context_commands(&mut self, upto: Stamp, seconds: f32) {
        let (mut left, mut count) = (seconds, 0);
        while self.taken < LARGEST && self.state.first_context_command() <= upto {
            if self.state.queue(Slot::CONTEXT).front_is_dead() {
                self.discard(crate::scheduler::plan::PlanGoal { slot: Slot::CONTEXT, upto, needed: false });
                continue;
            }
            let cost = self.cost(Slot::CONTEXT);
            left -= cost;
            if left < 0.0 {
                break;
            }
            self.append(Slot::CONTEXT, cost);
            count += 1;
            if count >= MOST {
                self.taken = self.taken.max(LARGEST); // the rest after others could have S
                break;
            }
        }
        if let Some(open) = self.open[0].as_mut().filter(|_| count > 0) {
            open.come_behind();
        }
    }
}
