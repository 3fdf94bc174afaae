//! Detects completed batches and a lost device. S is the state lock. A *watcher* of a lane is a caller that polls
//! the lane's fence itself; the completer sleeps meanwhile.

use crate::device::recorder::KeepAlive;
use crate::error::{Error, Kind};
use crate::scheduler::batch::Submitted;
use crate::scheduler::command_costs::ExpectedCost;
use crate::scheduler::deferred_calls::wake_all;
use crate::scheduler::engine::Engine;
use crate::scheduler::state::State;
use crate::work::step::Step;
use fencepost_kernels::report;
use fencepost_sync::TimelineValue;
use std::sync::Arc;
use std::task::Waker;
use web_time::Instant;

impl Engine {
    /// Waits on the fence of a lane without any lock, and processes the batches that have completed.
    pub(crate) fn wait_native(&self, lane: usize, value: TimelineValue, limit: std::time::Duration) {
        self.wait_watched(lane, value, limit, 0);
    }

    /// Like [`wait_native`](Self::wait_native). `watch` is 1 if the caller counts as a watcher of the lane, and 0
    /// otherwise. The caller no longer counts as a watcher when wakers and destructors of the program run, because that
    /// user code may wait for this lane itself.
    pub(crate) fn wait_watched(
        &self,
        lane: usize,
        value: TimelineValue,
        limit: std::time::Duration,
        watch: u32,
    ) {
        let fence = &self.lanes[lane].fence;
        let reached = if limit.is_zero() { fence.completed() } else { fence.wait(value, limit) };
        match reached {
            Ok(reached) if reached >= value => self.advance(lane, reached, watch),
            Ok(reached) => {
                self.unwatch(lane, watch);
                self.device.poll_loss(); // some drivers report a loss only when they are polled
                self.advance(lane, reached, 0);
            }
            Err(lost) => {
                self.unwatch(lane, watch);
                self.lose(&lost.reason);
            }
        }
    }

    /// Ends the caller's count as a watcher. After the last one, the completer is notified.
    fn unwatch(&self, lane: usize, watch: u32) {
        if watch > 0 {
            let mut state = self.lock();
            state.lanes[lane].watchers -= watch;
            self.unlock(state);
        }
    }

    /// Reads the fence of a lane and processes the batches that have completed.
    pub(crate) fn poll_lane(&self, lane: usize) {
        match self.lanes[lane].fence.completed() {
            Ok(reached) => self.advance(lane, reached, 0),
            Err(lost) => self.lose(&lost.reason),
        }
    }

    /// Polls the fences of all lanes. If no lane has a batch in flight, polls for device loss, which no fence would
    /// report.
    pub(crate) fn poll_lanes(&self) {
        let busy = self.lock().lanes.iter().any(|lane| lane.timeline.in_flight() > 0);
        if busy {
            (0..self.lanes.len()).for_each(|lane| self.poll_lane(lane));
        } else {
            self.poll_loss();
        }
    }

    /// Polls for device loss, for a waiter whose work is not in flight, and then polls the fences of all lanes.
    pub(crate) fn poll_loss(&self) {
        if self.lock().lost.is_some() {
            return;
        }
        self.device.poll_loss();
        (0..self.lanes.len()).for_each(|lane| self.poll_lane(lane));
    }

    /// Returns `outcome`, the result of a device call. If the device is lost, an error is replaced by the loss.
    pub(crate) fn checked<T>(&self, outcome: Result<T, Error>) -> Result<T, Error> {
        if outcome.is_err() && self.lock().lost.is_none() && self.device.is_gone() {
            (0..self.lanes.len()).for_each(|lane| self.poll_lane(lane));
        }
        match outcome {
            Err(error) => Err(self.lock().lost.clone().unwrap_or(error)),
            done => done,
        }
    }

    /// Records that the fence of a lane has reached `reached`, and that the caller no longer counts as `watch`
    /// watchers. After S is released, drops the resources of the completed batches and calls the wakers that wait
    /// for them.
    fn advance(&self, lane: usize, reached: TimelineValue, watch: u32) {
        let mut state = self.lock();
        state.lanes[lane].watchers -= watch;
        let mut state = self.fail_executed(state);
        if state.lost.is_some() || !state.lanes[lane].timeline.complete(reached) {
            return;
        }
        let (done, wakers) = state.complete(lane);
        state.learn(lane, &done);
        let (wakeups, surplus) = (state.wakeups(), state.pool.has_surplus());
        let times = std::mem::take(&mut state.after.times);
        drop(state);
        drop(times);
        // The memory of the completed batches is free before a waiter is woken.
        for Submitted { steps, keep, .. } in done {
            drop(keep);
            if let Some(steps) = Arc::into_inner(steps) {
                self.launches.take_back(steps.into_iter().map(Step::launch));
            }
        }
        self.notify(&wakeups);
        if !wakers.is_empty() {
            wake_all(wakers);
        }
        if surplus {
            self.release_surplus();
        }
        self.tick_driver(lane);
    }

    /// Lets the driver release resources whose handles were dropped: some memory returns only then. Leaves this to the
    /// lane thread if that thread ticks soon, so that a waiting caller spends no time on it.
    fn tick_driver(&self, lane: usize) {
        if self.threads {
            let mut state = self.lock();
            let at = &mut state.lanes[lane];
            if !at.rest.is_deep() {
                at.needs_cleanup = true;
                return;
            }
        }
        if !self.device.tick() && self.threads {
            self.lock().lanes[lane].needs_cleanup = true;
            self.work[lane].notify_all();
        }
    }

    /// Marks the device as lost. Every wait ends and every later call returns the loss. The device is not called from
    /// now on, and resources that it may still use are never freed.
    pub(crate) fn lose(&self, reason: &str) {
        let mut state = self.lock();
        if state.lost.is_some() {
            return;
        }
        let device = self.device.caps().adapter.clone();
        report!(Error, "device `{device}` was lost: {reason}");
        state.lost = Some(Kind::DeviceLost { device, reason: reason.into() }.into());
        let (leaked, wakers) = state.give_up();
        drop(state);
        report!(Warn, "{} submissions and everything in them are leaked with the device", leaked.len());
        std::mem::forget(leaked);
        self.notify_due_threads();
        wake_all(wakers);
    }
}

impl State {
    /// Removes the batches that a lane has completed. Returns them with the wakers that are due.
    fn complete(&mut self, lane: usize) -> (Vec<Submitted>, Vec<Waker>) {
        let completed = self.lanes[lane].timeline.completed();
        let (mut done, mut wakers) = (Vec::new(), Vec::new());
        while self.lanes[lane].submitted.front().is_some_and(|batch| batch.value <= completed) {
            let Some(batch) = self.lanes[lane].submitted.pop_front() else { break };
            if self.log.is_some() {
                self.note_complete(batch.seq);
            }
            wakers.extend(self.complete_batch(batch.seq));
            done.push(batch);
        }
        self.lanes[lane].debug_check();
        (done, wakers)
    }

    /// Learns from completed batches how long commands take. The measured time starts at the submission of the
    /// first one, or at the previous completion on the lane if that was later.
    fn learn(&mut self, lane: usize, done: &[Submitted]) {
        let Some(first) = done.first() else { return };
        let (now, at) = (Instant::now(), &mut self.lanes[lane]);
        let start =
            at.last_finish.replace(now).map_or(first.submitted_at, |last| last.max(first.submitted_at));
        let expected = done.iter().fold(ExpectedCost::default(), |all, batch| all.and(batch.expected));
        let steps = done.iter().flat_map(|batch| batch.steps.iter());
        at.costs.learn(steps, expected, (now - start).as_secs_f32());
    }

    /// Removes all work and all wakers from the scheduler. The caller leaks the work and wakes the wakers.
    fn give_up(&mut self) -> (Vec<Box<dyn KeepAlive>>, Vec<Waker>) {
        let mut leaked: Vec<Box<dyn KeepAlive>> = Vec::new();
        for lane in &mut self.lanes {
            let (batches, submitted) = lane.take_all();
            batches.into_iter().for_each(|batch| leaked.push(Box::new(batch)));
            submitted.into_iter().for_each(|batch| leaked.push(Box::new(batch)));
        }
        self.queues.for_each(|queue| {
            leaked.push(Box::new(queue.take_pending()));
            queue.hold = None;
        });
        leaked.push(Box::new(std::mem::take(&mut self.calls)));
        leaked.push(Box::new(self.deliveries.take()));
        leaked.push(Box::new(std::mem::take(&mut self.pool)));
        leaked.push(Box::new(std::mem::take(&mut self.external)));
        (leaked, self.wakers.take_all())
    }

    /// Returns the error of a lost device.
    pub(crate) fn lost(&self) -> Result<(), Error> {
        self.lost.clone().map_or(Ok(()), Err)
    }
}

#[cfg(all(test, not(fencepost_loom)))]
mod tests {
    use super::*;
    use crate::device::recorder::{Failure, Keep, LaneValue, Recorder};
    use crate::device::{Device, Lane};
    use crate::driver::caps::Caps;
    use crate::memory::block::{Allocate, Block, Memory};
    use crate::memory::heap::Heap;
    use crate::memory::staged_bytes::Staged;
    use crate::record::cpu::cpu_recorder as cpu;
    use crate::record::cpu::cpu_recorder::CpuOptions;
    use crate::runtime::context_threads::ContextThreads;
    use crate::scheduler::ordering::policy::Policy;
    use crate::scheduler::test_engine::{enqueue, finish, queue};
    use crate::work::compiled_kernel::{Pipeline, Recipe};
    use crate::work::step::Step;
    use std::sync::{Condvar, Mutex, MutexGuard};
    use std::time::Duration;

    /// Observed calls to a driver, and the moment when a batch dropped its resources.
    #[derive(Default)]
    struct Seen {
        state: Mutex<Sight>,
        moved: Condvar,
    }

    #[derive(Default)]
    struct Sight {
        ticks: u32,
        /// Number of ticks when the resources of the batch were dropped.
        dropped_after: Option<u32>,
    }

    impl Seen {
        fn lock(&self) -> MutexGuard<'_, Sight> {
            self.state.lock().expect("no panic under the lock")
        }

        fn tick(&self) {
            self.lock().ticks += 1;
            self.moved.notify_all();
        }

        /// Waits until `holds` returns `true`. Returns `false` if `limit` passed first.
        fn wait(&self, limit: Duration, holds: impl Fn(&Sight) -> bool) -> bool {
            let waited = self.moved.wait_timeout_while(self.lock(), limit, |sight| !holds(sight));
            !waited.expect("no panic under the lock").1.timed_out()
        }
    }

    /// A resource of a batch. Its drop takes long enough for the lane thread to poll meanwhile.
    struct Kept(Arc<Seen>);

    impl Drop for Kept {
        fn drop(&mut self) {
            let before = self.0.lock().ticks;
            self.0.wait(Duration::from_millis(50), |sight| sight.ticks > before);
            let mut sight = self.0.lock();
            sight.dropped_after = Some(sight.ticks);
        }
    }

    struct Keeping(Box<dyn Recorder>, Arc<Seen>);

    impl Recorder for Keeping {
        fn submit(
            &mut self,
            steps: &Arc<Vec<Step>>,
            waits: &[LaneValue],
            signal: TimelineValue,
        ) -> Result<Keep, Failure> {
            self.0.submit(steps, waits, signal)?;
            Ok(Some(Box::new(Kept(self.1.clone()))))
        }
    }

    /// The CPU device with a driver that counts its ticks.
    struct Tidied(Arc<dyn Device>, Arc<Seen>);

    impl Allocate for Tidied {
        fn allocate(&self, heap: Heap, size: u64, label: &str) -> crate::error::Result<Memory> {
            self.0.allocate(heap, size, label)
        }
    }

    impl Device for Tidied {
        fn caps(&self) -> &Caps {
            self.0.caps()
        }

        fn recorder(&self) -> &'static str {
            self.0.recorder()
        }

        fn hardware(&self) -> Option<usize> {
            self.0.hardware()
        }

        fn pinned(&self) -> bool {
            self.0.pinned()
        }

        fn stage(&self, size: u64, fill: &mut dyn FnMut(&mut [u8])) -> crate::error::Result<Staged> {
            self.0.stage(size, fill)
        }

        fn staging(&self) -> (u64, u64) {
            self.0.staging()
        }

        fn trim_staging(&self) -> u64 {
            self.0.trim_staging()
        }

        fn compile(&self, recipe: &Recipe<'_>) -> crate::error::Result<Pipeline> {
            self.0.compile(recipe)
        }

        fn nanoseconds_a_tick(&self) -> f64 {
            self.0.nanoseconds_a_tick()
        }

        fn forget(&self, block: &Block) {
            self.0.forget(block);
        }

        fn tick(&self) -> bool {
            self.1.tick();
            true
        }

        fn poll_loss(&self) -> bool {
            self.tick()
        }

        fn is_gone(&self) -> bool {
            false
        }
    }

    #[test]
    fn the_driver_ticks_after_the_resources_of_a_batch_are_dropped() {
        let seen: Arc<Seen> = Arc::default();
        let (device, lanes) = cpu::open(&CpuOptions::default());
        let keeping = |lane: Lane| Lane { recorder: Box::new(Keeping(lane.recorder, seen.clone())), ..lane };
        let lanes = lanes.into_iter().map(keeping).collect();
        let engine = Engine::new(Arc::new(Tidied(device, seen.clone())), lanes, Policy::Ordered, true);
        let threads = ContextThreads::start(&engine);
        finish(&engine, enqueue(&engine, queue(&engine)));
        let tidied = |sight: &Sight| sight.dropped_after.is_some_and(|before| sight.ticks > before);
        assert!(seen.wait(Duration::from_secs(10), tidied), "the driver did not tick after the drop");
        threads.end(&engine, &Arc::default());
    }
}
