//! Parks a blocked caller until other threads make progress. S is the state lock.

use crate::scheduler::batch::Status;
use crate::scheduler::engine::Engine;
use crate::scheduler::parked_caller::ParkedCaller;
use crate::scheduler::queue_state::PointProgress;
use crate::scheduler::state::State;
use fencepost_sync::prim::{Condvar, MutexGuard, sleep_for};
use fencepost_sync::{Point, Seq};
use smallvec::SmallVec;
use std::sync::Arc;
use std::time::Duration;
use web_time::Instant;

impl Engine {
    /// Parks until a change is notified, and polls for device loss if `limit` passes first. With a zero `limit` it does
    /// not park, because even the shortest park lasts for a tick of the system timer.
    pub(crate) fn park(&self, mut state: MutexGuard<'_, State>, limit: Duration) {
        let start = Instant::now();
        if !limit.is_zero() {
            state.callers_asleep += 1;
            state = sleep_for(&self.done, state, limit);
            state.callers_asleep -= 1;
        }
        drop(state);
        self.poll_loss_after(start, limit);
    }

    /// Like [`park`](Self::park), but also wakes when `point` no longer depends on batch `seq` (without a point: when
    /// the batch is done), or when this thread can submit or wait on its own fence.
    pub(crate) fn park_for(
        &self,
        mut state: MutexGuard<'_, State>,
        point: Option<Point>,
        seq: Seq,
        limit: Duration,
    ) {
        let start = Instant::now();
        if !limit.is_zero() {
            let wakeup = Arc::new(Condvar::new());
            state.parked.push(ParkedCaller { point, seq, wakeup: wakeup.clone(), notified: false });
            state = sleep_for(&wakeup, state, limit);
            state.parked.retain(|caller| !Arc::ptr_eq(&caller.wakeup, &wakeup));
        }
        drop(state);
        self.poll_loss_after(start, limit);
    }

    fn poll_loss_after(&self, start: Instant, limit: Duration) {
        if start.elapsed() >= limit {
            self.poll_loss();
        }
    }
}

impl State {
    /// Returns the condition variables of the parked callers that can go on, and marks these callers as notified.
    ///
    /// For each idle lane that can submit a batch, one caller can go on: the caller that waits for this batch, or else
    /// any other one, since each caller can submit the batches of the others.
    pub(crate) fn due_callers(&mut self) -> SmallVec<[Arc<Condvar>; 2]> {
        let mut due = SmallVec::new();
        if self.parked.is_empty() {
            return due;
        }
        let mut parked = std::mem::take(&mut self.parked);
        let mut notify = |caller: &mut ParkedCaller| {
            caller.notified = true;
            due.push(caller.wakeup.clone());
        };
        let waiting = |caller: &&mut ParkedCaller| !caller.notified;
        parked.iter_mut().filter(waiting).filter(|caller| self.can_go_on(caller)).for_each(&mut notify);
        for next in (0..self.lanes.len()).filter_map(|lane| self.next_on_idle(lane)) {
            let own = parked.iter().position(|caller| caller.seq == next);
            let submitter = match own {
                Some(own) => parked.get_mut(own),
                None => parked.iter_mut().find(waiting),
            };
            submitter.filter(waiting).into_iter().for_each(&mut notify);
        }
        self.parked = parked;
        due
    }

    /// Returns `true` if a parked caller no longer waits for its batch, or can wait for the fence of the batch.
    fn can_go_on(&self, caller: &ParkedCaller) -> bool {
        let waits = match caller.point.map(|point| self.reached(point)) {
            None => !self.batches.is_done(caller.seq),
            Some(progress) => progress == PointProgress::Planned(caller.seq),
        };
        !waits || self.finished() || matches!(self.batches.status(caller.seq), Status::Submitted(_))
    }

    /// Returns the batch that a lane submits next, if nothing is in flight on the lane.
    fn next_on_idle(&self, lane: usize) -> Option<Seq> {
        let priority = self.choose(lane).filter(|_| self.can_submit(lane))?;
        self.lanes[lane].ready[priority as usize].front().map(|batch| batch.seq)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::priority::Priority;
    use crate::scheduler::test_engine::{batch_of, engine, enqueue, queues};
    use fencepost_sync::Slot;

    /// Plans a batch of each of three queues on one lane, and parks a caller for each batch.
    fn parked() -> Arc<Engine> {
        let engine = engine(false);
        let slots: [Slot; 3] = queues(&engine);
        for slot in slots {
            let point = enqueue(&engine, slot);
            let mut state = engine.lock();
            state.plan([point], Priority::Normal);
            let (seq, wakeup) = (batch_of(&state, point), Arc::new(Condvar::new()));
            let point = (slot != slots[1]).then_some(point);
            state.parked.push(ParkedCaller { point, seq, wakeup, notified: false });
        }
        engine
    }

    fn notified(engine: &Engine) -> Vec<bool> {
        engine.lock().parked.iter().map(|caller| caller.notified).collect()
    }

    #[test]
    fn e02_a_parked_caller_is_notified_once_its_batch_can_be_submitted() {
        let engine = parked();
        assert_eq!(engine.lock().due_callers().len(), 1);
        assert_eq!(notified(&engine), [true, false, false]);
        engine.submit_one(0);
        assert_eq!(notified(&engine), [true, false, false], "the lane is busy");
        while engine.lock().lanes[0].timeline.in_flight() > 0 {
            engine.poll_lane(0);
        }
        assert_eq!(notified(&engine), [true, true, false]);
    }

    /// Each caller can submit the batches of the others, so the callers make progress without the threads of the context.
    #[test]
    fn e02_one_parked_caller_is_notified_if_a_batch_of_another_caller_can_be_submitted() {
        let engine = parked();
        engine.lock().parked.remove(0);
        assert_eq!(engine.lock().due_callers().len(), 1);
        assert_eq!(notified(&engine), [true, false]);
    }

    #[test]
    fn e02_a_parked_caller_is_notified_once_its_batch_is_submitted() {
        let engine = parked();
        (0..2).for_each(|_| assert!(engine.submit_one(0)));
        engine.notify_due_threads();
        assert_eq!(notified(&engine), [true, true, false]);
    }

    #[test]
    fn e02_a_parked_caller_is_notified_once_its_batch_is_done() {
        let engine = parked();
        let seqs: Vec<_> = engine.lock().parked.iter().map(|caller| caller.seq).collect();
        while seqs.iter().any(|&seq| !engine.lock().batches.is_done(seq)) {
            engine.lock().parked.iter_mut().for_each(|caller| caller.notified = false);
            engine.submit_one(0);
            engine.poll_lane(0);
        }
        let state = engine.lock();
        assert!(state.parked.last().is_some_and(|caller| caller.notified), "its batch is the last one");
    }

    #[test]
    fn e02_the_loss_of_the_device_notifies_every_parked_caller() {
        let engine = parked();
        engine.lose("the test loses the device");
        assert_eq!(notified(&engine), [true; 3]);
    }
}
