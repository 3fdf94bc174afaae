//! A lane on a modelled device, for tests of native fences. Each model of a graphics API implements [`Model`].
//!
//! A model obeys the documented rules of its API and panics if the fence or the lane breaks one.

use super::native::{NativeCalls, NativeFence};
use super::{Fence, LostFlag};
use crate::prim::{Mutex, lock};
use crate::{Lost, Timeline, TimelineValue};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Limit of a wait that ends long before.
pub(super) const LIMIT: Duration = Duration::from_secs(60);

/// A device with one queue.
pub(super) trait Model: Clone + Send + Sync {
    type Calls: NativeCalls;

    /// Makes a device with these batches. If `is_alone` is `true`, the device works during the calls of the only
    /// thread; otherwise, another thread calls [`work`](Self::work).
    fn new(batches: Batches, is_alone: bool) -> Self;

    /// Returns the calls of the fence.
    fn calls(&self) -> Self::Calls;

    /// Submits a batch of commands, which the API records with `allocator`. Its submission signals `value`.
    fn submit(&self, calls: &Self::Calls, value: u64, allocator: usize) -> Result<(), String>;

    /// Does one thing that the device or the driver has to do. Returns `false` if there is nothing.
    fn work(&self) -> bool;

    fn with_batches<T>(&self, run: impl FnOnce(&mut Batches) -> T) -> T;
}

/// The batches of a device, which executes them in order until it fails.
pub(super) struct Batches {
    rng: fastrand::Rng,
    calls: u64,
    /// Number of the call of the API during which the device fails, or 0.
    fails_at: u64,
    /// `true` if the device has failed and the fence can know.
    pub(super) is_lost: bool,
    submitted: u64,
    waiting: VecDeque<u64>,
    executed: BTreeSet<u64>,
    /// Value of the last batch that was recorded with each allocator.
    recorded: Vec<u64>,
}

impl Batches {
    pub(super) fn new(seed: u64, fails_at: u64) -> Self {
        Self {
            rng: fastrand::Rng::with_seed(seed),
            calls: 0,
            fails_at,
            is_lost: false,
            submitted: 0,
            waiting: VecDeque::new(),
            executed: BTreeSet::new(),
            recorded: Vec::new(),
        }
    }

    /// Counts a call of the API. Returns `true` if the device fails during this call.
    pub(super) fn count_call(&mut self) -> bool {
        self.calls += 1;
        self.calls == self.fails_at
    }

    /// Returns a random number below `count`, or `None` if there is none.
    pub(super) fn below(&mut self, count: u32) -> Option<u32> {
        (count > 0).then(|| self.rng.u32(0..count))
    }

    /// Returns `true` once in `count` calls, at random.
    pub(super) fn once_in(&mut self, count: u32) -> bool {
        self.below(count) == Some(0)
    }

    /// Records a batch with an allocator, which resets the allocator.
    ///
    /// # Panics
    /// If the device may still execute the commands of an earlier batch with this allocator.
    pub(super) fn record(&mut self, allocator: usize, value: u64) {
        if allocator == self.recorded.len() {
            self.recorded.push(0);
        }
        let earlier = self.recorded[allocator];
        assert!(
            earlier == 0 || self.executed.contains(&earlier),
            "allocator {allocator} is reset, and batch {earlier} is not complete"
        );
        self.recorded[allocator] = value;
    }

    /// # Panics
    /// If `value` does not follow the value of the submission before.
    pub(super) fn submit(&mut self, value: u64) {
        assert_eq!(value, self.submitted + 1, "the values of submissions follow each other");
        self.submitted = value;
        self.waiting.push_back(value);
    }

    /// # Panics
    /// If no submission signals `value`: a wait for it would never end.
    pub(super) fn check_awaited(&self, value: u64) {
        assert!(value <= self.submitted, "value {value} is awaited, and no submission signals it");
    }

    /// Executes the next batch, and returns its value.
    pub(super) fn execute(&mut self) -> Option<u64> {
        let value = self.waiting.pop_front()?;
        self.executed.insert(value);
        Some(value)
    }

    /// Removes the next batch without executing it, and returns its value.
    pub(super) fn abort(&mut self) -> Option<u64> {
        self.waiting.pop_front()
    }

    /// # Panics
    /// If the device has not executed all batches up to `passed`.
    fn check_passed(&self, passed: u64) {
        assert!(passed <= self.submitted, "value {passed} has passed, of {} submitted", self.submitted);
        let missing = (1..=passed).find(|value| !self.executed.contains(value));
        assert_eq!(missing, None, "value {passed} has passed without a batch");
    }
}

/// A lane, as the scheduler has it: a batch in flight keeps its allocator, and a completed one returns it for reuse.
pub(super) struct Lane<M: Model> {
    model: M,
    pub(super) fence: NativeFence<M::Calls>,
    lost: LostFlag,
    state: Mutex<LaneState>,
}

#[derive(Default)]
struct LaneState {
    timeline: Timeline,
    in_flight: VecDeque<(TimelineValue, usize)>,
    idle: Vec<usize>,
    allocators: usize,
}

impl LaneState {
    fn complete(&mut self, passed: TimelineValue) {
        self.timeline.complete(passed);
        let completed = self.timeline.completed();
        while self.in_flight.front().is_some_and(|&(value, _)| value <= completed) {
            self.idle.extend(self.in_flight.pop_front().map(|(_, allocator)| allocator));
        }
    }

    fn take_allocator(&mut self) -> usize {
        self.idle.pop().unwrap_or_else(|| {
            self.allocators += 1;
            self.allocators - 1
        })
    }
}

impl<M: Model> Lane<M> {
    pub(super) fn new(model: &M) -> Self {
        let lost = LostFlag::default();
        let fence = NativeFence::new(model.calls(), lost.clone(), Arc::default());
        Self { model: model.clone(), fence, lost, state: Mutex::default() }
    }

    /// Records and submits a batch.
    pub(super) fn submit(&self) -> Result<TimelineValue, Lost> {
        let passed = self.completed()?;
        let mut state = lock(&self.state);
        state.complete(passed);
        let value = state.timeline.pending();
        let allocator = state.take_allocator();
        if let Err(reason) = self.model.submit(self.fence.calls(), value.0, allocator) {
            self.lost.raise(&reason);
            return Err(Lost { reason });
        }
        self.fence.submitted(value);
        state.timeline.submit(value);
        state.in_flight.push_back((value, allocator));
        Ok(value)
    }

    pub(super) fn wait(&self, value: TimelineValue) -> Result<(), Lost> {
        let passed = self.checked(self.fence.wait(value, LIMIT))?;
        assert!(passed >= value, "the wait for {value} has ended at its limit, at {passed}");
        Ok(())
    }

    pub(super) fn completed(&self) -> Result<TimelineValue, Lost> {
        self.checked(self.fence.completed())
    }

    fn checked(&self, passed: Result<TimelineValue, Lost>) -> Result<TimelineValue, Lost> {
        if let Ok(TimelineValue(passed)) = passed {
            self.model.with_batches(|batches| batches.check_passed(passed));
        }
        passed
    }

    /// Lets the device end its work. Then checks that the fence knows a loss, and reports none otherwise.
    fn check_end(&self) {
        while self.model.work() {}
        let passed = self.completed();
        let is_lost = self.model.with_batches(|batches| batches.is_lost) || self.lost.is_raised();
        assert_eq!(passed.is_err(), is_lost, "{passed:?}");
        if is_lost {
            let last = self.fence.last_submitted();
            assert!(self.fence.wait(last, LIMIT).is_err(), "a wait for the lost device succeeds");
        }
    }
}

/// Runs a program of one thread on a device that fails during one call. Returns the number of its calls.
fn run_alone<M: Model>(seed: u64, fails_at: u64) -> u64 {
    let model = M::new(Batches::new(seed, fails_at), true);
    let lane = Lane::new(&model);
    let program = || {
        for round in 0..6 {
            let first = lane.submit()?;
            let second = lane.submit()?;
            lane.wait(if round % 2 == 0 { second } else { first })?;
            lane.submit()?;
            lane.completed()?;
        }
        lane.wait(lane.fence.last_submitted())
    };
    let ended = program();
    assert!(ended.is_ok() || fails_at > 0, "{ended:?}");
    lane.check_end();
    model.with_batches(|batches| batches.calls)
}

/// Lets the device fail during each call of a program in turn.
pub(super) fn fail_at_each_call<M: Model>() {
    for seed in 0..8 {
        let calls = run_alone::<M>(seed, 0);
        assert!(calls > 40, "{calls} calls");
        for fails_at in 1..=calls {
            run_alone::<M>(seed, fails_at);
        }
    }
}

/// Runs threads that submit, wait and poll at random, on a device that may fail.
pub(super) fn run_threads<M: Model>(seed: u64) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let fails_at = if rng.bool() { 0 } else { rng.u64(1..400) };
    let model = M::new(Batches::new(rng.u64(..), fails_at), false);
    let lane = Lane::new(&model);
    let has_ended = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !has_ended.load(Ordering::Relaxed) {
                if !model.work() {
                    thread::yield_now();
                }
            }
        });
        let lane = &lane;
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let rng = rng.fork();
                scope.spawn(move || act(lane, rng))
            })
            .collect();
        let ended: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
        has_ended.store(true, Ordering::Relaxed);
        for ended in ended {
            let ended = ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            assert!(ended.is_ok() || fails_at > 0, "seed {seed}: {ended:?}");
        }
    });
    lane.check_end();
}

fn act<M: Model>(lane: &Lane<M>, mut rng: fastrand::Rng) -> Result<(), Lost> {
    for _ in 0..40 {
        let last = lane.fence.last_submitted().0;
        match rng.u32(0..4) {
            0 | 1 => lane.submit().map(|_| ())?,
            2 if last > 0 => lane.wait(TimelineValue(rng.u64(1..=last)))?,
            _ => lane.completed().map(|_| ())?,
        }
    }
    lane.wait(lane.fence.last_submitted())
}
