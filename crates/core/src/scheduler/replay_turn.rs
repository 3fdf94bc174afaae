//! Enqueues the replays of a graph. S is the state lock.

use crate::error::site::CommandKind;
use crate::error::{Kind, Result};
use crate::memory::staged_bytes::{ReplaySource, Staged};
use crate::scheduler::command::{Command, Op};
use crate::scheduler::engine::Engine;
use crate::scheduler::failure_history::PointHistory;
use crate::scheduler::ordering;
use crate::scheduler::ordering::admission::Admission;
use crate::scheduler::queue_state::{Hold, PointProgress};
use crate::scheduler::state::State;
use crate::work::graph_data::graph_plan::GraphPlan;
use crate::work::graph_data::graph_run::{GraphRun, GraphStep};
use crate::work::step::Work;
use fencepost_profile::WaitCause;
use fencepost_sync::prim::{Mutex, lock};
use fencepost_sync::{Point, Stamp};
use smallvec::SmallVec;
use std::sync::Arc;
use std::time::Duration;

/// End of a graph's last replay. The next replay waits for it if the replays of the graph take turns.
#[derive(Default)]
pub(crate) struct ReplayTurn(Mutex<Option<Point>>);

impl ReplayTurn {
    /// Returns the end of the last replay.
    pub(crate) fn last(&self) -> Option<Point> {
        *lock(&self.0)
    }

    /// Records the end of a replay.
    pub(crate) fn set(&self, end: Point) {
        *lock(&self.0) = Some(end);
    }
}

impl State {
    /// Checks works as if their queue came after `ends`, the ends of the earlier replays that they must follow.
    /// Enqueues nothing, so that a refused replay leaves no wait.
    ///
    /// # Errors
    /// Returns `Mapped`, or `Hazard` under `Checked`.
    pub(crate) fn check_behind(&mut self, by: Admission, works: &[Work], ends: &[Point]) -> Result<()> {
        let clock = self.queue(by.slot).clock.clone();
        ends.iter().for_each(|end| self.queue_mut(by.slot).clock.see(end.slot, end.stamp));
        let checked = works.iter().try_for_each(|work| self.check_work(by, work));
        self.queue_mut(by.slot).clock = clock;
        checked
    }
}

impl Engine {
    /// Copies the pinned arrays that a replay of the plan uploads to staging memory, on a device without pinned memory.
    ///
    /// # Errors
    /// Returns the error of an allocation.
    pub(crate) fn stage_uploads(&self, plan: &GraphPlan) -> Result<Vec<Staged>> {
        let stage = |source: &Arc<dyn ReplaySource>| {
            self.stage(source.size(), &mut |staging: &mut [u8]| source.copy_to(staging))
        };
        plan.sources.iter().map(stage).collect()
    }

    /// Cancels a replay, unless it is already planned to its end. Its commands are those after `before` up to `end`.
    /// Commands enqueued after it so far are cancelled too, because they may use what the replay does not write.
    pub(crate) fn cancel_replay(&self, before: Stamp, end: Point, graph: &str) {
        let mut state = self.lock();
        let over = state.reached(end) != PointProgress::Unplanned || state.queue(end.slot).error.is_some();
        if state.lost.is_some() || over {
            return;
        }
        let next = state.next_stamp();
        let queue = state.queue_mut(end.slot);
        let error = Kind::Cancelled { graph: graph.into() };
        queue.cancel(Stamp(before.0 + 1), error.into(), next);
        queue.end_times();
        // A running callback keeps its hold. Any other hold belongs to a cancelled command, or planning finds it again.
        let held = queue.hold.filter(|held| !matches!(held, Hold::Callback(_)));
        if let Some(held) = held {
            state.release(held);
        }
        state.queue_mut(end.slot).request(next);
        self.unlock(state);
        if !self.threads {
            self.make_progress(Duration::ZERO);
        }
    }

    /// Enqueues the commands of a replay, with no other command between them. `turns` are the turns of the graph and of
    /// the graphs in it. `message_reads` read the message buffers of the graph, after its commands. Returns the stamp
    /// that the commands come after, and the point of the last command with its history.
    ///
    /// # Errors
    /// Returns the queue's own error, `Mapped`, or `Hazard` under `Checked`.
    pub(crate) fn enqueue_replay(
        &self,
        by: Admission,
        run: &Arc<GraphRun>,
        ops: Vec<Op>,
        turns: &[(u64, Arc<ReplayTurn>)],
        message_reads: Vec<Work>,
    ) -> Result<(Stamp, Point, Arc<PointHistory>)> {
        let step = GraphStep { run: run.clone(), segment: None };
        let whole = [Work::Graph(Box::new(step.clone()))];
        let mut state = self.lock_with_room(by.slot)?;
        state.check(by.slot)?;
        if run.plan.takes_turns {
            let ends: SmallVec<[Point; 2]> = turns.iter().filter_map(|(_, turn)| turn.last()).collect();
            if ends.iter().any(|end| end.slot != by.slot) {
                state.check_behind(by, &whole, &ends)?;
            }
            ends.iter().for_each(|&end| state.push_wait(by.slot, end, WaitCause::Policy, by.at));
        }
        state.check_all(by, &whole)?;
        let before = state.last_stamp();
        self.time_replay(&mut state, by, &step);
        let mut last = None;
        for op in ops {
            let stamp = state.next_stamp();
            match op {
                Op::Work(Work::Graph(step)) => {
                    last = Some(stamp);
                    state.push_replay(by, stamp, GraphStep::of(&*step).clone());
                }
                Op::Callback(callback) => {
                    let callback = state.note_callback(by.slot, callback, by.at);
                    // The note takes a stamp of its own.
                    let stamp = state.next_stamp();
                    let queue = state.queue_mut(by.slot);
                    queue.end_times();
                    queue.push(Command { stamp, op: Op::Callback(callback) });
                }
                Op::Loop(mut run) => {
                    self.begin_loop(&mut state, by, stamp, &mut run);
                    let queue = state.queue_mut(by.slot);
                    queue.end_times();
                    queue.push(Command { stamp, op: Op::Loop(run) });
                }
                op => state.queue_mut(by.slot).push(Command { stamp, op }),
            }
        }
        for read in message_reads {
            let stamp = state.next_stamp();
            let by = Admission { what: CommandKind::Read, ..by };
            ordering::admit::record(&state, by, stamp, &read);
            state.push_stamped(by, stamp, read);
            // A command that comes after a use of the graph comes after its messages too.
            last = Some(stamp);
        }
        if let Some(last) = last {
            ordering::admit::record(&state, by, last, &whole[0]);
        }
        let (point, past) = state.marker(by.slot);
        turns.iter().for_each(|(_, turn)| turn.set(point));
        self.notify_lane(state, by.slot);
        Ok((before, point, past))
    }
}
