//! The CPU recorder: executes batches on host memory, one operation at a time, in any allowed order.
//!
//! A seed chooses the order. Steps that no wait, queue or lane orders really run in random order here, so a missing
//! wait shows as wrong bytes. The steps are executed by threads that poll or wait for a fence; in a browser, also in
//! turns of the event loop.
//!
//! After a step fails, the later steps of its queue are not executed.

use crate::device::checks::{CheckOptions, DeviceNumber};
use crate::device::wgpu_device::BacklogLimit;
use crate::device::{
    CostModel, ExecutionFailure, KeptResources, LAUNCH_LIMIT, Lane, LaneValue, Recorder, SubmitFailure,
};
use crate::error::{Error, ErrorDetail, Result};
use crate::memory::allocations::ByteMeter;
use crate::memory::block::BlockId;
use crate::memory::uses::Policy;
use crate::record::cpu::cpu_device::{CpuDevice, CpuForm, DeviceClock, NextTurn, PAGE_SLICE};
use crate::record::cpu::cpu_work::{CpuVisitor, RunsLaunches, code_of, run_function, run_program};
use crate::record::cpu::kernel_checks::KernelChecks;
use crate::record::cpu::run_order::{NextWork, RunningBatch, StepPart, TakenWork};
use crate::record::walk::{visit, visit_node};
use crate::work::kernel_launch::Launch;
use crate::work::step::{HostCode, Step, Work};
use fencepost_kernels::ParamsBlock;
use fencepost_sync::backend::Fence;
use fencepost_sync::prim::{Mutex, lock};
use fencepost_sync::{Lost, Slot, Stamp, TimelineValue};
use rustc_hash::FxHashSet;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, TryLockError};
use std::time::Duration;
use web_time::Instant;

/// Number of steps that a waiting thread executes before it yields. With more threads than cores, a yield takes much
/// longer than a step.
const STEPS_PER_YIELD: u32 = 64;

/// Options of the simulator. A seed chooses the order of unordered steps, and the times of delays and failures.
///
/// # Example
/// ```
/// use fencepost::{Context, SimulatorOptions};
/// let ctx = Context::simulated(SimulatorOptions::default().seed(7).lanes(2));
/// let queue = ctx.queue("main");
/// let x = queue.array(&[1_u32, 2, 3])?;
/// assert_eq!(queue.read(&x).wait()?, [1, 2, 3]);
/// # Ok::<(), fencepost::Error>(())
/// ```
#[cfg(feature = "cpu")] // as on the module: the documentation of `fencepost` shows only this condition
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub struct SimulatorOptions {
    /// Seed of the run. In a context without threads, the same seed and the same calls on one thread give the same run.
    pub seed: u64,
    /// Policy for uses of the same bytes that the program does not order.
    pub policy: Policy,
    /// Number of simulated hardware queues.
    pub lanes: usize,
    /// `true` if lanes have threads. Without threads, only calls that flush or wait make progress. In a browser, this
    /// option is ignored: the work goes on in turns of the event loop.
    pub threads: bool,
    /// Limit of all allocations together, in bytes. An upload also fails if its staging memory would exceed the limit.
    pub memory: u64,
    /// The same as [`ContextOptions::launch_limit`](crate::ContextOptions::launch_limit). In the simulator, a stopped
    /// launch writes nothing, and in a browser a launch is not divided: until it ends or is stopped, the page waits.
    pub launch_limit: Duration,
    /// The same as [`ContextOptions::backlog`](crate::ContextOptions::backlog).
    pub backlog: BacklogLimit,
    /// Checks of each launch, as in [`ContextOptions::check`](crate::ContextOptions::check). With checks, launches of
    /// built-in kernels run their WGSL text, in an order of the invocations that the seed chooses.
    pub check: Option<CheckOptions>,
    /// The same as [`ContextOptions::portable_wgsl`](crate::ContextOptions::portable_wgsl).
    pub portable_wgsl: bool,
}

impl Default for SimulatorOptions {
    fn default() -> Self {
        Self {
            seed: 0,
            policy: Policy::default(),
            lanes: 1,
            threads: true,
            memory: 1 << 34,
            launch_limit: LAUNCH_LIMIT,
            backlog: BacklogLimit::default(),
            check: None,
            portable_wgsl: false,
        }
    }
}

impl SimulatorOptions {
    /// Sets the seed of the run.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets the policy for uses that the program does not order.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets the number of simulated hardware queues.
    #[must_use]
    pub fn lanes(mut self, lanes: usize) -> Self {
        self.lanes = lanes;
        self
    }

    /// With `false`, makes a context without threads.
    #[must_use]
    pub fn threads(mut self, threads: bool) -> Self {
        self.threads = threads;
        self
    }

    /// Sets the limit of all allocations together, in bytes.
    #[must_use]
    pub fn memory(mut self, memory: u64) -> Self {
        self.memory = memory;
        self
    }

    /// Sets the time limit of a launch, and of a chunked loop.
    #[must_use]
    pub fn launch_limit(mut self, launch_limit: Duration) -> Self {
        self.launch_limit = launch_limit;
        self
    }

    /// Sets the limit of the work that is enqueued but not yet given to the device.
    #[must_use]
    pub fn backlog(mut self, backlog: BacklogLimit) -> Self {
        self.backlog = backlog;
        self
    }

    /// Sets the checks of launches.
    #[must_use]
    pub fn check(mut self, check: impl Into<Option<CheckOptions>>) -> Self {
        self.check = check.into();
        self
    }

    /// With `true`, refuses WGSL that a browser would refuse.
    #[must_use]
    pub fn portable_wgsl(mut self, portable_wgsl: bool) -> Self {
        self.portable_wgsl = portable_wgsl;
        self
    }
}

/// Faults that the simulator injects, for tests.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuFaults {
    /// `true` if a wait for a fence sometimes sleeps, and the expected times of commands are random.
    pub delays: bool,
    /// Fraction of submissions that the device refuses, from 0 to 1.
    pub refusals: f64,
    /// Number of steps after which the device is lost.
    pub lost_after: Option<u64>,
}

/// A device that executes one step at a time, on the thread that asks for it.
struct CpuDevices {
    lanes: Mutex<CpuLanes>,
    /// Locked while a step executes. The lanes are not locked then, because a host function in the step may submit
    /// work.
    executor: Mutex<StepExecutor>,
    failed: Arc<FailedSteps>,
    delays: bool,
    /// Function that schedules turns of the event loop, which execute steps; `None` outside of a browser.
    next_turn: Option<NextTurn>,
    /// `true` while a turn is scheduled.
    is_scheduled: AtomicBool,
    /// For each lane, a function that is called after a turn.
    moved: Vec<OnceLock<MovedFn>>,
}

/// A function that is called after the values of a fence may have passed.
type MovedFn = Box<dyn Fn() + Send + Sync>;

/// All lanes of a device, with the batches that they still have to execute.
struct CpuLanes {
    /// Random choice of the next step.
    rng: fastrand::Rng,
    /// Number of steps until the injected loss of the device.
    steps_left: Option<u64>,
    lost: Option<Lost>,
    lanes: Vec<CpuLane>,
}

/// State that the execution of a step uses.
struct StepExecutor {
    clock: DeviceClock,
    staging: Arc<ByteMeter>,
    launch_limit: Duration,
    checks: Option<Arc<KernelChecks>>,
}

/// The step that a lane executes next.
struct ChosenStep {
    lane: usize,
    /// `None` in a batch without steps.
    work: Option<TakenWork>,
    /// Seed for the order of a launch's invocations.
    seed: u64,
}

#[derive(Default)]
struct CpuLane {
    batches: VecDeque<RunningBatch>,
    completed: TimelineValue,
}

struct CpuRecorder {
    devices: Arc<CpuDevices>,
    lane: usize,
    /// Random choice of the submissions that are refused.
    rng: fastrand::Rng,
    refusals: f64,
}

struct CpuFence {
    devices: Arc<CpuDevices>,
    lane: usize,
}

/// Opens a CPU device that injects no faults and postpones nothing, for tests that count batches.
#[cfg(test)]
pub(crate) fn open(options: &SimulatorOptions) -> (Arc<CpuDevice>, Vec<Lane>) {
    lanes_of(CpuDevice::new(CpuForm::Recorder, options.memory), options, &CpuFaults::default(), None)
}

/// Opens a CPU device that injects faults, and postpones work at calls that the seed chooses. In a browser, `next_turn`
/// schedules its work.
pub(crate) fn open_with(
    options: &SimulatorOptions,
    faults: &CpuFaults,
    next_turn: Option<NextTurn>,
) -> (Arc<CpuDevice>, Vec<Lane>) {
    let device = CpuDevice::new(CpuForm::Recorder, options.memory).postponing(options.seed);
    lanes_of(device, options, faults, next_turn)
}

fn lanes_of(
    mut device: CpuDevice,
    options: &SimulatorOptions,
    faults: &CpuFaults,
    next_turn: Option<NextTurn>,
) -> (Arc<CpuDevice>, Vec<Lane>) {
    let count = options.lanes.max(1);
    device.checks = options.check.map(|options| Arc::new(KernelChecks::new(options)));
    let device = Arc::new(device);
    let devices = Arc::new(CpuDevices {
        lanes: Mutex::new(CpuLanes {
            rng: fastrand::Rng::with_seed(options.seed),
            steps_left: faults.lost_after,
            lost: None,
            lanes: (0..count).map(|_| CpuLane::default()).collect(),
        }),
        executor: Mutex::new(StepExecutor {
            clock: DeviceClock::new(),
            staging: device.staging.clone(),
            launch_limit: options.launch_limit,
            checks: device.checks.clone(),
        }),
        failed: device.failed.clone(),
        delays: faults.delays,
        next_turn,
        is_scheduled: AtomicBool::new(false),
        moved: (0..count).map(|_| OnceLock::new()).collect(),
    });
    let lane = |lane: usize| Lane {
        recorder: Box::new(CpuRecorder {
            devices: devices.clone(),
            lane,
            rng: fastrand::Rng::with_seed(options.seed ^ (lane as u64 + 1) << 32),
            refusals: faults.refusals,
        }),
        fence: Arc::new(CpuFence { devices: devices.clone(), lane }),
        async_submit: true,
        executes_in_submit: false,
        cost_model: cost_model(options, faults, lane as u64),
    };
    (device, (0..count).map(lane).collect())
}

/// Returns the cost model of a lane. Without threads, the batches must depend only on the calls, and not on measured
/// times.
fn cost_model(options: &SimulatorOptions, faults: &CpuFaults, lane: u64) -> CostModel {
    match options.threads {
        _ if faults.delays => CostModel::Drawn(options.seed.rotate_left(17) ^ lane),
        true => CostModel::Measured(CostModel::LATENESS),
        false => CostModel::Unknown,
    }
}

impl Recorder for CpuRecorder {
    fn submit(
        &mut self,
        steps: &Arc<Vec<Step>>,
        waits: &[LaneValue],
        signal: TimelineValue,
    ) -> Result<KeptResources, SubmitFailure> {
        if self.rng.f64() < self.refusals {
            let step = self.rng.bool().then(|| self.rng.usize(..steps.len()));
            let object = "a submission".into();
            let message = "refused by `CpuFaults::refusals`".into();
            return Err(SubmitFailure {
                step,
                error: ErrorDetail::Device { object, message }.into(),
                lost: false,
            });
        }
        let running = RunningBatch::new(steps, waits, signal);
        lock(&self.devices.lanes).lanes[self.lane].batches.push_back(running);
        self.devices.schedule();
        Ok(None)
    }
}

impl CpuDevices {
    /// Executes one of the steps that may come next. Returns `false` if there is none, if the device is lost, or if a
    /// step is already executing: in another thread, or because its host function called this.
    fn step(&self) -> bool {
        let mut executor = match self.executor.try_lock() {
            Ok(executor) => executor,
            Err(TryLockError::WouldBlock) => return false,
            Err(TryLockError::Poisoned(_)) => panic!("bug: a panic held the executor"),
        };
        let chosen = lock(&self.lanes).choose(&self.failed);
        let Some(chosen) = chosen else { return false };
        let next = chosen.work.as_ref().map(TakenWork::work);
        if let Some(next) = next.filter(|next| !self.failed.skip(next.step)) {
            executor.execute(&next, chosen.seed, &self.failed);
        }
        lock(&self.lanes).finish(chosen.lane);
        true
    }

    /// In a browser, schedules a turn of the event loop that executes steps, unless one is scheduled.
    fn schedule(self: &Arc<Self>) {
        let Some(next_turn) = self.next_turn else { return };
        if !self.is_scheduled.swap(true, Ordering::Relaxed) {
            let devices = self.clone();
            next_turn(Box::new(move || devices.turn()));
        }
    }

    /// Executes steps in a turn of the event loop, until none is left or the slice is over. In the latter case,
    /// schedules another turn.
    fn turn(self: &Arc<Self>) {
        self.is_scheduled.store(false, Ordering::Relaxed);
        let begun = Instant::now();
        while self.step() && begun.elapsed() < PAGE_SLICE {}
        for moved in self.moved.iter().filter_map(OnceLock::get) {
            moved();
        }
        if lock(&self.lanes).has_work() {
            self.schedule();
        }
    }

    /// Returns a time to sleep in one of four calls, if the faults delay the device.
    fn delay(&self) -> Option<Duration> {
        let micros = self.delays.then(|| lock(&self.lanes).rng.u64(0..200));
        micros.filter(|&micros| micros > 150).map(Duration::from_micros)
    }
}

impl CpuLanes {
    /// Takes one of the steps that may come next. Returns `None` if there is none or the device is lost.
    fn choose(&mut self, failed: &FailedSteps) -> Option<ChosenStep> {
        let choices: Vec<usize> = (0..self.lanes.len()).map(|lane| self.choices(lane)).collect();
        let all: usize = choices.iter().sum();
        if all == 0 || self.lost.is_some() {
            return None;
        }
        self.lost = failed.loss();
        if self.lost.is_some() {
            return None;
        }
        if self.steps_left == Some(0) {
            self.lost = Some(Lost { reason: "loss injected by `CpuFaults::lost_after`".into() });
            return None;
        }
        self.steps_left = self.steps_left.map(|left| left - 1);
        let mut lane = 0;
        let mut choice = self.rng.usize(..all);
        while choice >= choices[lane] {
            choice -= choices[lane];
            lane += 1;
        }
        let work = self.lanes[lane].batches[0].take(choice);
        Some(ChosenStep { lane, work, seed: self.rng.u64(1..) })
    }

    /// Counts the steps of a lane that may come next.
    fn choices(&self, lane: usize) -> usize {
        let front = self.lanes[lane].batches.front();
        let passed = |wait: &LaneValue| self.lanes[wait.lane].completed >= wait.value;
        front.filter(|running| running.waits.iter().all(passed)).map_or(0, RunningBatch::choices)
    }

    /// Completes the first batch of a lane if all steps of the batch were executed.
    fn finish(&mut self, lane: usize) {
        let lane = &mut self.lanes[lane];
        if lane.batches.front().is_some_and(RunningBatch::is_over)
            && let Some(running) = lane.batches.pop_front()
        {
            lane.completed = running.signal;
        }
    }

    /// Returns `true` if a lane has a batch, and the device is not lost.
    fn has_work(&self) -> bool {
        self.lost.is_none() && self.lanes.iter().any(|lane| !lane.batches.is_empty())
    }

    /// Returns the value that the lane has completed, or the loss of the device.
    fn progress(&self, lane: usize) -> Result<TimelineValue, Lost> {
        self.lost.clone().map_or(Ok(self.lanes[lane].completed), Err)
    }
}

impl Fence for CpuFence {
    fn completed(&self) -> Result<TimelineValue, Lost> {
        // The device has no thread, so a poll executes up to two steps.
        let steps = lock(&self.devices.lanes).rng.usize(0..3);
        for _ in 0..steps {
            self.devices.step();
        }
        lock(&self.devices.lanes).progress(self.lane)
    }

    /// Returns at once in a browser, where no call blocks.
    fn wait(&self, value: TimelineValue, limit: Duration) -> Result<TimelineValue, Lost> {
        if cfg!(target_arch = "wasm32") {
            return self.completed();
        }
        let deadline = Instant::now() + limit;
        let mut steps = 0_u32;
        loop {
            let reached = lock(&self.devices.lanes).progress(self.lane)?;
            if reached >= value || Instant::now() >= deadline {
                return Ok(reached);
            }
            let moved = self.devices.step();
            match self.devices.delay() {
                Some(delay) => std::thread::sleep(delay),
                None if !moved => std::thread::sleep(Duration::from_micros(20)),
                None => {
                    steps = steps.wrapping_add(1);
                    if steps.is_multiple_of(STEPS_PER_YIELD) {
                        std::thread::yield_now();
                    }
                }
            }
        }
    }

    fn on_move(&self, moved: MovedFn) {
        // A second function is ignored: the first one stays registered.
        let _ = self.devices.moved[self.lane].set(moved);
    }
}

impl StepExecutor {
    /// Executes an operation.
    fn execute(&mut self, next: &NextWork<'_>, seed: u64, failed: &FailedSteps) {
        let checks = self.checks.as_deref();
        let launches = AtOnce { seed, next, failed, launch_limit: self.launch_limit, checks };
        let mut visitor = CpuVisitor::new(&mut self.clock, &self.staging, launches, checks);
        let executed = match next.part {
            StepPart::Whole => visit(&mut visitor, 0, &next.step.work),
            StepPart::Node(graph, node) => visit_node(&mut visitor, 0, graph, node),
            StepPart::End => Ok(()),
        };
        visitor.settle();
        debug_assert!(executed.is_ok(), "bug: a step of the CPU recorder returned an error");
    }
}

/// Executor of launches that runs each at once. The seed chooses the order of the invocations.
struct AtOnce<'a> {
    seed: u64,
    next: &'a NextWork<'a>,
    failed: &'a FailedSteps,
    launch_limit: Duration,
    checks: Option<&'a KernelChecks>,
}

impl<'e> RunsLaunches<'e> for AtOnce<'_> {
    fn launch(&mut self, launch: &'e Launch, params: &ParamsBlock) {
        self.failed.begin(launch);
        let ran = match code_of(launch) {
            HostCode::Function(function) => {
                run_function(&**function, launch, params, self.failed, self.checks)
            }
            HostCode::Program(program) => {
                let seed = self.seed;
                let limit = self.launch_limit;
                run_program(program, launch, params, seed, limit, self.checks)
            }
        };
        if let Err(error) = ran {
            let error = match self.next.part {
                StepPart::Node(graph, node) => graph.failure(node, error),
                _ => error,
            };
            self.failed.add(self.next.step, error);
        }
    }
}

/// Failures of the device, which the lane's thread adds and the scheduler takes.
#[derive(Default)]
pub(super) struct FailedSteps {
    /// `true` once a step has failed. Avoids a lock as long as nothing has failed.
    any: AtomicBool,
    runs: Mutex<Vec<FailedRun>>,
    /// Message buffers of launches that the device has begun and whose messages no command has read yet.
    messages: Mutex<FxHashSet<BlockId>>,
    /// `true` once a test has lost the device.
    is_lost: AtomicBool,
}

/// A run of commands of one queue that are not executed.
struct FailedRun {
    slot: Slot,
    first: Stamp,
    /// Last command that the failure affects, set when the scheduler takes the failure.
    last: Option<Stamp>,
    error: Error,
}

impl FailedSteps {
    /// Returns the number of the device that these failures belong to.
    pub(super) fn device(&self) -> DeviceNumber {
        DeviceNumber(std::ptr::from_ref(self).addr())
    }

    /// Loses the device when it next executes an operation.
    pub(super) fn lose_device(&self) {
        self.is_lost.store(true, Ordering::Release);
    }

    /// Returns the loss of the device, if a test has lost it.
    pub(super) fn loss(&self) -> Option<Lost> {
        let is_lost = self.is_lost.load(Ordering::Acquire);
        is_lost.then(|| Lost { reason: "loss injected by `testing::lose`".into() })
    }

    /// Records that the device could not execute a step.
    pub(super) fn add(&self, step: &Step, error: Error) {
        let mut runs = lock(&self.runs);
        if runs.iter().any(|run| run.slot == step.slot && run.last.is_none()) {
            return; // the queue has already failed
        }
        // The commands of this queue's earlier failure came before this step.
        runs.retain(|run| run.slot != step.slot);
        runs.push(FailedRun { slot: step.slot, first: step.stamp, last: None, error });
        self.any.store(true, Ordering::Release);
    }

    /// Records that the device begins a launch, so that the launch's messages are read even if it fails.
    pub(super) fn begin(&self, launch: &Launch) {
        if let Some(buffer) = launch.message_buffer() {
            lock(&self.messages).insert(buffer.id);
        }
    }

    /// Returns `true` if a step must be skipped because its queue has failed earlier. The messages of begun launches
    /// are still read.
    pub(super) fn skip(&self, step: &Step) -> bool {
        let is_read = match &step.work {
            Work::Read { src, slot } if slot.messages().is_some() => {
                lock(&self.messages).remove(&src.block.id)
            }
            _ => false,
        };
        !is_read && self.contain(step)
    }

    /// Returns `true` if a step belongs to a queue that has failed before this step.
    fn contain(&self, step: &Step) -> bool {
        if !self.any.load(Ordering::Acquire) || !step.is_own() {
            return false;
        }
        let fails = |run: &FailedRun| {
            run.slot == step.slot && run.first <= step.stamp && run.last.is_none_or(|last| step.stamp <= last)
        };
        lock(&self.runs).iter().any(fails)
    }

    /// Returns the failures that were not yet taken, each extended to the command `last`.
    pub(super) fn take(&self, last: Stamp) -> Vec<ExecutionFailure> {
        if !self.any.load(Ordering::Acquire) {
            return Vec::new();
        }
        let mut runs = lock(&self.runs);
        let untaken = runs.iter_mut().filter(|run| run.last.is_none());
        untaken
            .map(|run| {
                run.last = Some(last);
                ExecutionFailure {
                    slot: run.slot,
                    first: run.first,
                    error: run.error.clone(),
                    refused: false,
                    alone: false,
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorDetail;
    use crate::work::step::Work;
    use smallvec::SmallVec;
    use std::cell::RefCell;
    use std::sync::atomic::AtomicU32;

    thread_local! {
        /// Turns of an event loop that are scheduled.
        static TURNS: RefCell<Vec<Box<dyn FnOnce()>>> = const { RefCell::new(Vec::new()) };
    }

    fn later(turn: Box<dyn FnOnce()>) {
        TURNS.with_borrow_mut(|turns| turns.push(turn));
    }

    #[test]
    fn turns_of_an_event_loop_execute_the_batches_that_no_thread_waits_for() {
        let options = SimulatorOptions::default().lanes(2);
        let (_device, mut lanes) = open_with(&options, &CpuFaults::default(), Some(later));
        let calls = Arc::new(AtomicU32::new(0));
        for lane in &mut lanes {
            let calls = calls.clone();
            lane.fence.on_move(Box::new(move || {
                calls.fetch_add(1, Ordering::Relaxed);
            }));
            for value in 1..=3 {
                assert!(lane.recorder.submit(&Arc::default(), &[], TimelineValue(value)).is_ok());
            }
        }
        assert_eq!(TURNS.with_borrow(Vec::len), 1, "one turn is scheduled for all batches");
        while let Some(turn) = TURNS.with_borrow_mut(Vec::pop) {
            turn();
        }
        assert!(calls.load(Ordering::Relaxed) >= 2, "each lane has told that values have passed");
        // A poll executes up to two steps, which are fewer than the three batches of the first lane.
        assert_eq!(lanes[0].fence.completed(), Ok(TimelineValue(3)));
        assert_eq!(lanes[1].fence.completed(), Ok(TimelineValue(3)));
    }

    fn step(slot: u32, stamp: u64) -> Step {
        let slot = Slot(slot);
        let stamp = Stamp(stamp);
        Step { work: Work::QueueFence, slot, stamp, level: 0, after: SmallVec::new() }
    }

    #[test]
    fn a_failure_affects_the_commands_of_its_queue_up_to_those_that_the_scheduler_fails() {
        let failed = FailedSteps::default();
        assert!(!failed.contain(&step(1, 5)) && failed.take(Stamp(9)).is_empty());
        failed.add(&step(1, 5), ErrorDetail::Busy { array: "x".into() }.into());
        failed.add(&step(1, 6), ErrorDetail::Busy { array: "y".into() }.into());
        let contains = |failed: &FailedSteps| [4, 5, 9, 10].map(|stamp| failed.contain(&step(1, stamp)));
        assert_eq!(contains(&failed), [false, true, true, true]);
        assert!(!failed.contain(&step(2, 7)), "another queue goes on");

        let taken = failed.take(Stamp(9));
        assert_eq!(taken.len(), 1, "a queue fails once");
        assert_eq!((taken[0].slot, taken[0].first), (Slot(1), Stamp(5)));
        assert!(failed.take(Stamp(12)).is_empty(), "a failure is taken once");
        assert_eq!(contains(&failed), [false, true, true, false]);

        failed.add(&step(1, 20), ErrorDetail::Busy { array: "z".into() }.into());
        assert_eq!(failed.take(Stamp(30))[0].first, Stamp(20));
    }
}
