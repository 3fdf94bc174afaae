//! Noticing what the device has done.

use super::batch::Submitted;
use super::engine::Engine;
use super::shield;
use super::state::State;
use crate::error::{Error, Kind};
use crate::recorder::KeepAlive;
use fencepost_sync::Value;
use std::sync::Arc;
use std::task::Waker;
use web_time::Instant;

impl Engine {
    /// Waits on the fence of a lane, holding nothing, and notes how far it got.
    pub(crate) fn wait_native(&self, lane: usize, value: Value, limit: std::time::Duration) {
        let fence = &self.lanes[lane].fence;
        let reached = if limit.is_zero() { fence.completed() } else { fence.wait(value, limit) };
        match reached {
            Ok(reached) => {
                if reached < value {
                    self.device.look_for_loss(); // some losses are told only to who asks
                }
                self.advance(lane, reached);
            }
            Err(lost) => self.lose(&lost.reason),
        }
    }

    /// Looks how far a lane is, and notes it.
    pub(crate) fn look(&self, lane: usize) {
        match self.lanes[lane].fence.completed() {
            Ok(reached) => self.advance(lane, reached),
            Err(lost) => self.lose(&lost.reason),
        }
    }

    /// Looks how far all lanes are; if the device has nothing, whether it is still there.
    pub(crate) fn look_at_all(&self) {
        let busy = self.lock().lanes.iter().any(|lane| lane.timeline.in_flight() > 0);
        if busy {
            (0..self.lanes.len()).for_each(|lane| self.look(lane));
        } else {
            self.look_for_loss();
        }
    }

    /// Asks whether the device is still there, for who waits for what the device does not have.
    pub(crate) fn look_for_loss(&self) {
        if self.lock().lost.is_some() {
            return;
        }
        self.device.look_for_loss();
        (0..self.lanes.len()).for_each(|lane| self.look(lane));
    }

    /// The outcome of a call of the device: whatever one says that is gone, it is gone.
    pub(crate) fn checked<T>(&self, outcome: Result<T, Error>) -> Result<T, Error> {
        if outcome.is_err() && self.lock().lost.is_none() && self.device.is_gone() {
            (0..self.lanes.len()).for_each(|lane| self.look(lane));
        }
        match outcome {
            Err(error) => Err(self.lock().lost.clone().unwrap_or(error)),
            done => done,
        }
    }

    /// Notes that a lane has passed `reached`. What was kept for it is dropped, and who waits is woken, after S.
    pub(crate) fn advance(&self, lane: usize, reached: Value) {
        let mut state = self.lock();
        if state.lost.is_some() || !state.lanes[lane].timeline.complete(reached) {
            return;
        }
        let (done, wakers) = state.complete(lane);
        if self.threads {
            // Without threads the same calls do the same, however long they take.
            state.estimate(lane, done.iter().map(|batch| batch.steps.len()).sum());
        }
        let (alarm, surplus) = (state.alarm(), state.pool.has_surplus());
        drop(state);
        // The memory of what is done is free before anybody is told of it.
        for Submitted { steps, keep, .. } in done {
            drop(keep);
            Arc::into_inner(steps).into_iter().for_each(|steps| self.launches.take_back(steps));
        }
        self.ring(&alarm);
        shield::wake_all(wakers);
        if surplus {
            self.let_surplus_go();
        }
        self.tidy_up(lane);
    }

    /// Lets the driver tidy up after what has been dropped: some of it comes back only then. Leaves that to the lane's
    /// thread if it looks round soon, so that a waiting caller need not do it.
    fn tidy_up(&self, lane: usize) {
        if self.threads {
            let mut state = self.lock();
            let at = &mut state.lanes[lane];
            if !at.rest.is_deep() {
                at.untidy = true;
                return;
            }
        }
        if !self.device.tick() && self.threads {
            self.lock().lanes[lane].untidy = true;
            self.work[lane].notify_all();
        }
    }

    /// Gives the device up. Every wait ends, every later call says so again; no call is made to the device from now
    /// on, and what it may still be using is never freed.
    pub(crate) fn lose(&self, reason: &str) {
        let mut state = self.lock();
        if state.lost.is_some() {
            return;
        }
        let device = self.device.caps().adapter.clone();
        log::error!("device `{device}` was lost: {reason}");
        state.lost = Some(Kind::DeviceLost { device, reason: reason.into() }.into());
        let (leaked, wakers) = state.give_up();
        drop(state);
        log::warn!("{} submissions and everything in them are leaked with the device", leaked.len());
        std::mem::forget(leaked);
        self.stir();
        shield::wake_all(wakers);
    }
}

impl State {
    /// Takes what a lane has passed, and whom to wake for it.
    fn complete(&mut self, lane: usize) -> (Vec<Submitted>, Vec<Waker>) {
        let completed = self.lanes[lane].timeline.completed();
        let (mut done, mut wakers) = (Vec::new(), Vec::new());
        while self.lanes[lane].submitted.front().is_some_and(|batch| batch.value <= completed) {
            let Some(batch) = self.lanes[lane].submitted.pop_front() else { break };
            self.note_complete(batch.seq);
            wakers.extend(self.settle(batch.seq));
            done.push(batch);
        }
        (done, wakers)
    }

    /// Learns how long a step takes, from the time between completions of a lane that was never idle between.
    fn estimate(&mut self, lane: usize, steps: usize) {
        let now = Instant::now();
        let busy = self.lanes[lane].timeline.in_flight() > 0;
        let at = &mut self.lanes[lane];
        if let Some(last) = at.last_finish.filter(|_| steps > 0) {
            let seconds = (now - last).as_secs_f64() / steps as f64;
            at.step_seconds =
                if at.step_seconds == 0.0 { seconds } else { 0.8 * at.step_seconds + 0.2 * seconds };
        }
        at.last_finish = busy.then_some(now);
    }

    /// Takes everything there is, for good.
    fn give_up(&mut self) -> (Vec<Box<dyn KeepAlive>>, Vec<Waker>) {
        let mut leaked: Vec<Box<dyn KeepAlive>> = Vec::new();
        for lane in &mut self.lanes {
            let (batches, submitted) = lane.take_all();
            batches.into_iter().for_each(|batch| leaked.push(Box::new(batch)));
            submitted.into_iter().for_each(|batch| leaked.push(Box::new(batch)));
        }
        let mut wakers = Vec::new();
        for queue in &mut self.queues {
            leaked.push(Box::new(std::mem::take(&mut queue.pending)));
            queue.hold = None;
            wakers.extend(queue.wakers.take_all());
        }
        wakers.extend(std::mem::take(&mut self.batch_wakers).into_iter().map(|(_, waker)| waker));
        wakers.extend(std::mem::take(&mut self.user_wakers).into_iter().map(|(_, waker)| waker));
        wakers.extend(std::mem::take(&mut self.sent_wakers).into_iter().map(|(_, waker)| waker));
        leaked.push(Box::new(std::mem::take(&mut self.calls)));
        leaked.push(Box::new(std::mem::take(&mut self.pool)));
        leaked.push(Box::new(std::mem::take(&mut self.foreign)));
        (leaked, wakers)
    }

    /// The error of a lost device.
    pub(crate) fn lost(&self) -> Result<(), Error> {
        self.lost.clone().map_or(Ok(()), Err)
    }
}
