//! Work that the device refused.

use super::batch::{Seq, Status};
use super::engine::Engine;
use super::queue::Priority;
use super::state::State;
use crate::command::{Command, Step, Work};
use crate::error::Error;
use crate::recorder::Failure;
use fencepost_sync::{Slot, Stamp};
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

impl Engine {
    /// Ends the queue whose command could not be encoded, and has the commands of the others encoded again without
    /// it. If no single command is to blame, all queues in the batch end.
    pub(crate) fn fail_batch(&self, lane: usize, seq: Seq, steps: Arc<Vec<Step>>, failure: Failure) {
        if failure.lost {
            self.lose(&failure.error.to_string());
            std::mem::forget(steps);
            return;
        }
        // The recorder gave its share back, so the steps are ours alone.
        let Ok(steps) = Arc::try_unwrap(steps) else { panic!("bug: a recorder kept a batch that it refused") };
        let blamed = failure.step.and_then(|at| steps.get(at)).map(|step| step.slot);
        let (bad, good): (Vec<Step>, Vec<Step>) =
            steps.into_iter().partition(|step| blamed.is_none_or(|slot| step.slot == slot));
        let mut state = self.lock();
        state.lanes[lane].token = false;
        bad.iter().for_each(leave_in_place);
        let dropped = state.fail_steps(&bad, &failure.error);
        let wakers = state.retry(lane, seq, good);
        state.after.wakers.extend(wakers);
        state.after.dropped.extend(dropped.into_iter().flatten());
        self.unlock(state);
        drop(bad);
    }
}

impl State {
    fn fail_steps(&mut self, bad: &[Step], error: &Error) -> Vec<VecDeque<Command>> {
        let mut firsts: Vec<(Slot, Stamp)> = Vec::new();
        for step in bad.iter().filter(|step| step.stamp != Stamp(u64::MAX)) {
            if !firsts.iter().any(|(slot, _)| *slot == step.slot) {
                firsts.push((step.slot, step.stamp));
            }
        }
        firsts.into_iter().map(|(slot, stamp)| self.drain_failed(slot, stamp, error.clone())).collect()
    }

    /// Puts what is left of a refused batch back in front, or ends the batch.
    fn retry(&mut self, lane: usize, seq: Seq, mut good: Vec<Step>) -> Vec<Waker> {
        if good.iter().all(|step| step.stamp == Stamp(u64::MAX)) {
            return self.settle(seq);
        }
        // Indices of steps have moved: one after the other, by levels, keeps every order there was.
        good.sort_by_key(|step| (step.level, step.stamp));
        for (at, step) in good.iter_mut().enumerate() {
            step.after = at.checked_sub(1).map(|before| before as u32).into_iter().collect();
        }
        self.batches.set(seq, Status::Ready(Priority::High));
        let batch = super::batch::Batch { seq, steps: good, deps: Default::default() };
        self.lanes[lane].list(Priority::High).push_front(batch);
        Vec::new()
    }

    /// Ends a queue from `first` on with a sticky error. The waits for it go on: they ask for order only.
    pub(crate) fn fail_queue(&mut self, slot: Slot, first: Stamp, error: Error) {
        let dropped = self.drain_failed(slot, first, error);
        // Arrays in it must not be dropped under S.
        self.after.dropped.extend(dropped);
    }

    fn drain_failed(&mut self, slot: Slot, first: Stamp, error: Error) -> VecDeque<Command> {
        log::error!("queue `{}` failed: {error}", self.queue(slot).label);
        let held = self.queue(slot).hold;
        let dropped = self.queue_mut(slot).fail(first, error);
        if let Some(held) = held {
            // Who was held only because this queue was looks again.
            self.release(|hold| hold == held);
        }
        dropped
    }
}

/// The writer before which a read's bytes were to be saved does not run: they stay where they are.
fn leave_in_place(step: &Step) {
    if let Work::Read { src, slot } = &step.work
        && slot.forget_late()
    {
        src.block.order().lazy.push((src.range(), slot.clone()));
    }
}
