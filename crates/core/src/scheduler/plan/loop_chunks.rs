//! The plan of loops in chunks: each chunk ends its batch, so that its end is known as early as possible.

use crate::scheduler::loop_run::LoopStep;
use crate::scheduler::plan::{FrontStep, LARGEST_BATCH, PlanGoal, Planner, host_conflict};
use crate::scheduler::queue_state::Hold;
use crate::scheduler::wakers::WakeCondition;

/// A chunk of several parts is expected to take at most this many times the bound of rule E02. While a queue of higher
/// priority exists, the limit is the bound itself.
const LONGEST_CHUNK: f32 = 10.0;

impl Planner<'_> {
    /// Plans the next chunk of the loop at the front of a queue, or removes the loop if it has ended.
    pub(super) fn plan_loop(&mut self, goal: PlanGoal) -> FrontStep {
        let host_uses = self.state.host_uses;
        let (ending, limit) = (self.state.ends_loops, self.state.loop_limit);
        let Some((stamp, run)) = self.state.front_loop_mut(goal.slot) else { return FrontStep::Planned };
        let (most, work) = match run.next() {
            LoopStep::Ended => {
                run.end_time();
                return self.skip_front(goal.slot);
            }
            LoopStep::Held(hold) => return FrontStep::Held(Hold::Loop(hold)),
            LoopStep::Chunk(most) => match run.stop(ending, limit) {
                Some(error) => {
                    self.state.fail_queue(goal.slot, stamp, error);
                    return FrontStep::Again;
                }
                None => (most, run.work()),
            },
        };
        if let Some(hold) = host_conflict(host_uses, &work) {
            return FrontStep::Held(hold);
        }
        let lane = self.state.queue(goal.slot).lane;
        let each = self.state.lanes[lane].costs.of_work(&work);
        let factor = if self.state.urgent_above(self.priority) { 1.0 } else { LONGEST_CHUNK };
        let longest = factor * self.state.lanes[lane].costs.bound;
        let is_long = each.is_finite() && each * most as f32 > longest;
        let parts = if is_long { ((longest / each) as u32).clamp(1, most) } else { most };
        if !self.fits(goal.slot, each * parts as f32) {
            return FrontStep::Later;
        }
        if self.open[lane].as_ref().is_some_and(|open| open.steps.len() >= LARGEST_BATCH) {
            self.close(lane);
        }
        let seq = self.join_batch(goal.slot, lane);
        self.taken += parts as usize;
        let Some((_, run)) = self.state.front_loop_mut(goal.slot) else { return FrontStep::Planned };
        let hold = run.hold;
        let (time, read, waker) = (run.time_chunk(seq), run.add_chunk(seq, parts), run.waker().clone());
        let works = (0..parts).map(|_| run.work()).collect();
        let time = time.and_then(|(time, clocked)| clocked.then_some(time));
        if let Some(open) = self.open[lane].as_mut() {
            open.add_together(goal.slot, stamp, works, each, time);
            if let Some((src, slot)) = &read {
                open.add_staged_read(goal.slot, stamp, src.clone(), slot.clone());
            }
        }
        if read.is_some() {
            if !self.state.loops.contains(&(goal.slot, hold)) {
                self.state.loops.push((goal.slot, hold));
            }
            self.state.wakers.register(WakeCondition::Batch(seq), &waker);
        }
        self.state.queue_mut(goal.slot).note_part(seq);
        self.close(lane);
        FrontStep::Again
    }
}
