//! The commands of a replay in one context, for a graph with work of several contexts. S is the state lock.

use crate::error::Result;
use crate::scheduler::command::{Callback, Command, Op};
use crate::scheduler::engine::Engine;
use crate::scheduler::failure_history::PointHistory;
use crate::scheduler::ordering;
use crate::scheduler::ordering::admission::Admission;
use crate::scheduler::replay_turn::ReplayTurn;
use crate::scheduler::state::State;
use crate::work::graph_data::graph_run::GraphStep;
use crate::work::step::Work;
use fencepost_profile::WaitCause;
use fencepost_sync::{Point, Stamp};
use smallvec::SmallVec;
use std::sync::Arc;

/// A command of a replay.
pub(crate) enum PartCommand {
    /// A part of the graph.
    Nodes(GraphStep),
    /// One side of a copy between contexts, with its uses.
    Copy(Vec<Op>, Vec<Work>),
    /// A wait for another context.
    Wait(Op),
    /// A host callback.
    Host(Callback),
    /// No command. The answer has the point of the commands so far.
    Mark,
}

/// Answer for one command.
pub(crate) enum EnqueuedPart {
    /// Stamps of the commands.
    Stamps(Vec<Stamp>),
    Mark(Point, Arc<PointHistory>),
}

impl PartCommand {
    /// Returns the uses of the command.
    fn uses(&self) -> Vec<Work> {
        match self {
            PartCommand::Nodes(step) => {
                let whole = GraphStep { run: step.run.clone(), segment: None };
                vec![Work::Graph(Box::new(whole))]
            }
            PartCommand::Copy(_, uses) => uses.iter().map(Work::duplicate).collect(),
            PartCommand::Wait(_) | PartCommand::Host(_) | PartCommand::Mark => Vec::new(),
        }
    }
}

/// Lists the ends of the last replays.
fn ends(turns: &[&Arc<ReplayTurn>]) -> SmallVec<[Point; 2]> {
    turns.iter().filter_map(|turn| turn.last()).collect()
}

impl Engine {
    /// Checks that the commands of a replay can be enqueued now, after `turns`. Enqueues nothing.
    ///
    /// # Errors
    /// Returns the errors of [`enqueue_parts`](Self::enqueue_parts).
    pub(crate) fn check_parts(
        &self,
        by: Admission,
        commands: &[PartCommand],
        turns: &[&Arc<ReplayTurn>],
    ) -> Result<()> {
        let mut state = self.lock();
        state.check(by.slot)?;
        let works: Vec<Work> = commands.iter().flat_map(PartCommand::uses).collect();
        state.check_behind(by, &works, &ends(turns))
    }

    /// Enqueues the commands of a replay in one context, all of them or none, with no other command between them. The
    /// commands come after `turns`, and each turn is set to the last command. Returns an answer for each command.
    ///
    /// # Errors
    /// Returns the queue's own error, `Mapped`, or `Hazard` under `Checked`.
    pub(crate) fn enqueue_parts(
        &self,
        by: Admission,
        commands: Vec<PartCommand>,
        turns: &[&Arc<ReplayTurn>],
    ) -> Result<Vec<EnqueuedPart>> {
        let mut state = self.lock();
        state.check(by.slot)?;
        let uses: Vec<Vec<Work>> = commands.iter().map(PartCommand::uses).collect();
        let ends = ends(turns);
        uses.iter().try_for_each(|works| state.check_behind(by, works, &ends))?;
        ends.iter().for_each(|&end| state.push_wait(by.slot, end, WaitCause::Policy, by.at));
        let mut answers = Vec::with_capacity(commands.len());
        for (command, uses) in commands.into_iter().zip(uses) {
            // The waits of a part come directly before it, so that other contexts, which may wait for an earlier part,
            // do not wait for them.
            state.check_all(by, &uses).expect("bug: a command is refused after its check");
            let answer = self.push_part(&mut state, by, command);
            if let EnqueuedPart::Stamps(stamps) = &answer
                && let Some(&last) = stamps.last()
            {
                uses.iter().for_each(|work| ordering::admit::record(&state, by, last, work));
            }
            answers.push(answer);
        }
        let (end, _) = state.marker(by.slot);
        turns.iter().for_each(|turn| turn.set(end));
        self.notify_lane(state, by.slot);
        Ok(answers)
    }

    /// Adds one command to the end of a queue.
    fn push_part(&self, state: &mut State, by: Admission, command: PartCommand) -> EnqueuedPart {
        match command {
            PartCommand::Nodes(step) => {
                self.time_replay(state, by, &step);
                let stamp = state.next_stamp();
                state.push_replay(by, stamp, step);
                EnqueuedPart::Stamps(vec![stamp])
            }
            PartCommand::Copy(ops, _) => {
                EnqueuedPart::Stamps(ops.into_iter().map(|op| state.push_op(by, op)).collect())
            }
            PartCommand::Wait(op) => EnqueuedPart::Stamps(vec![state.push_op(by, op)]),
            PartCommand::Host(function) => {
                let callback = state.note_callback(by.slot, function, by.at);
                EnqueuedPart::Stamps(vec![state.push_op(by, Op::Callback(callback))])
            }
            PartCommand::Mark => {
                let (point, past) = state.marker(by.slot);
                // Another context waits for the point.
                state.queue_mut(by.slot).note_use();
                EnqueuedPart::Mark(point, past)
            }
        }
    }
}

impl State {
    /// Adds a command to the end of a queue and returns its stamp.
    fn push_op(&mut self, by: Admission, op: Op) -> Stamp {
        let stamp = self.next_stamp();
        self.queue_mut(by.slot).end_times();
        match op {
            Op::Work(work) => self.push_stamped(by, stamp, work),
            op => self.queue_mut(by.slot).push(Command { stamp, op }),
        }
        stamp
    }
}
