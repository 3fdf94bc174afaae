//! The lane of the CPU device. Its thread executes batches in the order of their submission, unless a caller that waits
//! for a batch executes it itself. At most one thread executes batches at a time.

use crate::device::checks::CheckOptions;
use crate::device::{CostModel, Device, KeptResources, Lane, LaneValue, Recorder, SubmitFailure};
use crate::error::{ErrorDetail, Result};
use crate::memory::allocations::ByteMeter;
use crate::record::cpu::cpu_device::{CpuDevice, CpuForm, DeviceClock};
use crate::record::cpu::cpu_recorder::FailedSteps;
use crate::record::cpu::cpu_work::CpuVisitor;
use crate::record::cpu::kernel_checks::KernelChecks;
use crate::record::cpu::side_by_side::SideBySide;
use crate::record::walk::StepOrder;
use crate::work::step::Step;
use fencepost_kernels::report;
use fencepost_sync::backend::Fence;
use fencepost_sync::loader::wait_for_start;
use fencepost_sync::{Lost, TimelineValue};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The side of the lane that submits batches to its thread.
struct LaneRecorder {
    lane: Arc<ThreadLane>,
    thread: Option<JoinHandle<()>>,
    device: Arc<CpuDevice>,
}

/// State that the thread, the recorder and the fence share.
struct ThreadLane {
    state: Mutex<LaneProgress>,
    /// Notified when the thread of the lane has a batch to execute, and when the lane closes.
    work: Condvar,
    /// Notified when a batch is complete or the device is lost.
    moved: Condvar,
    launch_limit: Duration,
    staging: Arc<ByteMeter>,
    checks: Option<Arc<KernelChecks>>,
    failed: Arc<FailedSteps>,
}

/// Opens the CPU device, with the `lateness`, the `launch_limit` and the `checks` of the context's options.
///
/// # Errors
/// Returns `Device` if the system cannot start a thread.
pub(crate) fn open(
    lateness: Duration,
    launch_limit: Duration,
    checks: Option<CheckOptions>,
) -> Result<(Arc<CpuDevice>, Vec<Lane>)> {
    let mut device = CpuDevice::new(CpuForm::Device, u64::MAX);
    device.checks = checks.map(|options| Arc::new(KernelChecks::new(options)));
    let device = Arc::new(device);
    let lane = Arc::new(ThreadLane {
        state: Mutex::new(LaneProgress::new()),
        work: Condvar::new(),
        moved: Condvar::new(),
        launch_limit,
        staging: device.staging.clone(),
        checks: device.checks.clone(),
        failed: device.failed.clone(),
    });
    let running = lane.clone();
    let (runs, started) = channel();
    let run = move || {
        drop(runs);
        running.run();
    };
    let thread = std::thread::Builder::new().name("fencepost cpu".into()).spawn(run);
    let thread = thread.map_err(|error| {
        let object = "the thread of the CPU".into();
        let message = error.to_string();
        crate::error::Error::from(ErrorDetail::Device { object, message })
    })?;
    wait_for_start(&started);
    let cost_model =
        if lateness == Duration::MAX { CostModel::Unknown } else { CostModel::Measured(lateness) };
    let fence: Arc<dyn Fence> = lane.clone();
    let recorder = Box::new(LaneRecorder { lane, thread: Some(thread), device: device.clone() });
    Ok((device, vec![Lane { recorder, fence, async_submit: true, executes_in_submit: false, cost_model }]))
}

impl ThreadLane {
    fn state(&self) -> MutexGuard<'_, LaneProgress> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Executes batches until the lane closes or the device is lost.
    fn run(&self) {
        while let Some(taken) = self.next() {
            self.execute(taken);
        }
    }

    /// Waits for the next batch. Returns `None` if the lane closes or the device is lost.
    fn next(&self) -> Option<TakenBatch> {
        let mut state = self.state();
        loop {
            if state.is_over() {
                return None;
            }
            if let Some(taken) = state.take_started() {
                return Some(taken);
            }
            state.thread_sleeps = true;
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.thread_sleeps = false;
        }
    }

    /// Executes a batch on this thread.
    fn execute(&self, taken: TakenBatch) {
        let TakenBatch { steps, value, mut executor } = taken;
        let done = catch_unwind(AssertUnwindSafe(|| self.execute_steps(&steps, &mut executor)));
        // Drop the steps first: after the fence has passed the value, the scheduler drops the last reference to them.
        drop(steps);
        let panicked = |_| Lost { reason: "its thread panicked, which is a bug".into() };
        let done = done.map_err(panicked).and_then(|()| self.failed.loss().map_or(Ok(value), Err));
        let mut state = self.state();
        let wakes_thread = state.end(executor, done);
        let wakes_callers = state.sleeping_callers > 0;
        drop(state);
        if wakes_thread {
            self.work.notify_one();
        }
        if wakes_callers {
            self.moved.notify_all();
        }
    }

    fn execute_steps(&self, steps: &[Step], Executor { clock, order }: &mut Executor) {
        order.sort(steps);
        let checks = self.checks.as_deref();
        let launches = SideBySide::new(steps, self.launch_limit, &self.failed, checks);
        let mut visitor = CpuVisitor::new(clock, &self.staging, launches, checks);
        let walked = order.walk(steps, &mut visitor);
        debug_assert!(walked.is_ok(), "bug: a step of the CPU returned an error");
        visitor.settle();
    }
}

impl Recorder for LaneRecorder {
    fn submit(
        &mut self,
        steps: &Arc<Vec<Step>>,
        _waits: &[LaneValue], // the device has no other lane
        signal: TimelineValue,
    ) -> Result<KeptResources, SubmitFailure> {
        let mut state = self.lane.state();
        if let Some(lost) = state.lost.clone() {
            let error = self.device.caps().lost(lost).into();
            return Err(SubmitFailure { step: None, error, lost: true });
        }
        state.push(steps.clone(), signal);
        Ok(None)
    }
}

impl Drop for LaneRecorder {
    /// Ends the thread. The context has already waited for its work.
    fn drop(&mut self) {
        if self.lane.state().close() {
            self.lane.work.notify_one();
        }
        if let Some(thread) = self.thread.take()
            && let Err(panic) = thread.join()
        {
            report!(Error, "the thread of the CPU panicked: {panic:?}");
        }
    }
}

impl Fence for ThreadLane {
    fn completed(&self) -> Result<TimelineValue, Lost> {
        self.state().completed()
    }

    fn wait(&self, value: TimelineValue, limit: Duration) -> Result<TimelineValue, Lost> {
        let begun = Instant::now();
        self.start(value);
        let mut state = self.state();
        loop {
            let reached = state.completed()?;
            let left = limit.saturating_sub(begun.elapsed());
            if reached >= value || left.is_zero() {
                return Ok(reached);
            }
            state.sleeping_callers += 1;
            let waited = self.moved.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            state.sleeping_callers -= 1;
        }
    }

    fn start(&self, value: TimelineValue) {
        if self.state().start(value) {
            self.work.notify_one();
        }
    }

    fn execute_up_to(&self, value: TimelineValue) {
        loop {
            // The lock must be free again before the batch is executed.
            let taken = self.state().take_up_to(value);
            let Some(taken) = taken else { return };
            self.execute(taken);
        }
    }
}

/// Objects that all batches reuse. Only the thread that holds them may execute batches.
pub(super) struct Executor {
    pub(super) clock: DeviceClock,
    pub(super) order: StepOrder,
}

/// A batch, together with the right to execute it.
pub(super) struct TakenBatch {
    pub(super) steps: Arc<Vec<Step>>,
    pub(super) value: TimelineValue,
    pub(super) executor: Executor,
}

/// The submitted batches that are not yet executed, and the progress of the lane.
pub(super) struct LaneProgress {
    batches: VecDeque<(Arc<Vec<Step>>, TimelineValue)>,
    /// Largest value of a batch that the lane's thread may execute. Later batches are left to the callers that
    /// submitted them, until one of these calls [`start`](Self::start).
    started: TimelineValue,
    completed: TimelineValue,
    /// `None` while a thread executes a batch.
    executor: Option<Executor>,
    pub(super) lost: Option<Lost>,
    /// `true` while the lane's thread sleeps and was not notified.
    pub(super) thread_sleeps: bool,
    /// Number of callers that sleep until a batch is complete.
    pub(super) sleeping_callers: u32,
    closing: bool,
}

impl LaneProgress {
    pub(super) fn new() -> Self {
        Self {
            batches: VecDeque::new(),
            started: TimelineValue(0),
            completed: TimelineValue(0),
            executor: Some(Executor { clock: DeviceClock::new(), order: StepOrder::default() }),
            lost: None,
            thread_sleeps: false,
            sleeping_callers: 0,
            closing: false,
        }
    }

    /// Returns the value of the last executed batch.
    pub(super) fn completed(&self) -> Result<TimelineValue, Lost> {
        self.lost.clone().map_or(Ok(self.completed), Err)
    }

    /// Adds a batch at the end. Until [`start`](Self::start) is called with the batch's value, only a caller that waits
    /// for the batch may execute it.
    pub(super) fn push(&mut self, steps: Arc<Vec<Step>>, value: TimelineValue) {
        self.batches.push_back((steps, value));
    }

    /// Lets the lane's thread execute the batches up to `value`. Returns `true` if the caller must notify that thread.
    #[must_use]
    pub(super) fn start(&mut self, value: TimelineValue) -> bool {
        self.started = self.started.max(value);
        self.wakes_thread()
    }

    /// Lets the lane's thread execute all batches and end. Returns `true` if the caller must notify that thread.
    #[must_use]
    pub(super) fn close(&mut self) -> bool {
        self.started = TimelineValue(u64::MAX);
        self.closing = true;
        std::mem::take(&mut self.thread_sleeps)
    }

    /// Returns `true` if the lane's thread has nothing more to do.
    pub(super) fn is_over(&self) -> bool {
        self.lost.is_some() || (self.closing && self.batches.is_empty())
    }

    /// Takes the next started batch, for the lane's thread.
    pub(super) fn take_started(&mut self) -> Option<TakenBatch> {
        self.take_up_to(self.started)
    }

    /// Takes the next batch, if its value is at most `value` and no other thread is executing a batch.
    pub(super) fn take_up_to(&mut self, value: TimelineValue) -> Option<TakenBatch> {
        let is_due = self.lost.is_none() && self.batches.front().is_some_and(|&(_, front)| front <= value);
        let executor = if is_due { self.executor.take() } else { None }?;
        let (steps, value) = self.batches.pop_front()?;
        Some(TakenBatch { steps, value, executor })
    }

    /// Records the end of a batch, and gives back the right to execute. Returns `true` if the caller must notify the
    /// lane's thread.
    #[must_use]
    pub(super) fn end(&mut self, executor: Executor, outcome: Result<TimelineValue, Lost>) -> bool {
        self.executor = Some(executor);
        match outcome {
            Ok(value) => self.completed = value,
            Err(lost) => self.lost = Some(lost),
        }
        self.wakes_thread()
    }

    /// Returns `true` if the lane's thread sleeps and has a batch to execute. Later calls return `false` until it
    /// sleeps again.
    fn wakes_thread(&mut self) -> bool {
        let has_batch = self.batches.front().is_some_and(|&(_, front)| front <= self.started);
        let wakes = self.thread_sleeps && (self.lost.is_some() || (has_batch && self.executor.is_some()));
        self.thread_sleeps &= !wakes;
        wakes
    }
}

#[cfg(test)]
mod cpu_lane_tests {
    use super::*;
    use crate::api::context::Context;
    use crate::api::grid::Grid;
    use crate::device::LAUNCH_LIMIT;
    use crate::device::adapter::AdapterInfo;
    use crate::memory::uses::Policy;
    use crate::runtime::owner::Owner;
    use crate::scheduler::engine::Engine;
    use fencepost_kernels::{HostBuffer, args};
    use std::thread::ThreadId;

    fn context() -> Context {
        of(open(CostModel::LATENESS, LAUNCH_LIMIT, None).expect("a thread"))
    }

    fn of((device, lanes): (Arc<CpuDevice>, Vec<Lane>)) -> Context {
        let engine = Engine::new(device.clone(), lanes, Policy::default(), true);
        Context::of(Owner::new(engine, Some(device), None, AdapterInfo::cpu()))
    }

    const ONE: &str = "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
        @compute @workgroup_size(1) fn k() { x[0] = 1u; }";

    #[test]
    fn a_batch_runs_while_the_program_goes_on() {
        let ctx = context();
        let (go, told) = channel::<()>();
        let told = Mutex::new(told);
        let run = move |_: [u32; 3], _: [u32; 3], _: &[u8], buffers: &mut [HostBuffer<'_>]| {
            told.lock().expect("one run").recv().expect("the test goes on");
            buffers[0].bytes_mut()[0] = 7;
        };
        ctx.host_kernel("k", Arc::new(run)).expect("the CPU runs it");
        let queue = ctx.queue("q");
        let kernel = ctx.kernel_from(ONE, "k").expect("it compiles");
        let mut x = queue.zeros::<u32, 1>([1]).expect("memory");
        queue.launch_dyn(&kernel, Grid::groups([1]), args![x = &mut x]).expect("a launch");
        let done = queue.finish();
        assert!(!queue.marker().is_complete().expect("no error"), "the function waits for this test");
        go.send(()).expect("the function waits");
        done.wait().expect("no error");
        assert_eq!(queue.read(&x).wait().expect("a read"), [7]);
    }

    /// Makes a context in which kernel `k` sends the id of its executing thread.
    fn context_with_sender() -> (Context, std::sync::mpsc::Receiver<ThreadId>) {
        let ctx = context();
        let (sender, threads) = channel();
        let sender = Mutex::new(sender);
        let run = move |_: [u32; 3], _: [u32; 3], _: &[u8], _: &mut [HostBuffer<'_>]| {
            let sent = sender.lock().expect("one run").send(std::thread::current().id());
            sent.expect("the test receives");
        };
        ctx.host_kernel("k", Arc::new(run)).expect("the CPU runs it");
        (ctx, threads)
    }

    /// Longest wait for a result that must come.
    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_batch_that_no_caller_waits_for_is_executed() {
        let (ctx, threads) = context_with_sender();
        let queue = ctx.queue("q");
        let kernel = ctx.kernel_from(ONE, "k").expect("it compiles");
        let mut x = queue.zeros::<u32, 1>([1]).expect("memory");
        for _ in 0..100 {
            queue.launch_dyn(&kernel, Grid::groups([1]), args![x = &mut x]).expect("a launch");
            let done = queue.finish();
            threads.recv_timeout(LONG).expect("the kernel is executed");
            drop(done);
        }
    }

    #[test]
    fn a_caller_that_waits_without_a_limit_executes_its_batches_and_one_with_a_limit_does_not() {
        let (ctx, threads) = context_with_sender();
        let queue = ctx.queue("q");
        let kernel = ctx.kernel_from(ONE, "k").expect("it compiles");
        let mut x = queue.zeros::<u32, 1>([1]).expect("memory");
        let own = std::thread::current().id();
        let mut on_own = [0, 0];
        for turn in 0..2000 {
            queue.launch_dyn(&kernel, Grid::groups([1]), args![x = &mut x]).expect("a launch");
            let mut done = queue.finish();
            match turn % 2 {
                0 => done.wait().expect("no error"),
                _ => assert!(done.wait_timeout(LONG).expect("no error").is_some()),
            }
            on_own[turn % 2] += u32::from(threads.recv().expect("it has run") == own);
        }
        // The lane's thread may be faster than the caller, but not each time.
        assert!(on_own[0] > 0 && on_own[1] == 0, "{on_own:?} of 1000 each");
    }

    #[test]
    fn a_caller_executes_the_batches_up_to_its_value_and_a_start_or_a_wait_executes_the_others() {
        let (_device, mut lanes) = open(CostModel::LATENESS, LAUNCH_LIMIT, None).expect("a thread");
        let Lane { recorder, fence, .. } = &mut lanes[0];
        let completed = |value| assert_eq!(fence.completed().expect("it is not lost"), TimelineValue(value));
        for value in 1..=4 {
            assert!(recorder.submit(&Arc::default(), &[], TimelineValue(value)).is_ok());
        }
        completed(0);
        fence.execute_up_to(TimelineValue(2));
        completed(2);
        fence.start(TimelineValue(3));
        while fence.completed().expect("it is not lost") < TimelineValue(3) {
            std::thread::yield_now();
        }
        assert_eq!(fence.wait(TimelineValue(4), LONG).expect("it is not lost"), TimelineValue(4));
    }

    #[test]
    fn each_workgroup_of_a_large_grid_runs_once() {
        let ctx = context();
        let text = "@group(0) @binding(0) var<storage, read_write> x: array<atomic<u32>>;
            @compute @workgroup_size(2) fn k(@builtin(workgroup_id) id: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>) {
                atomicAdd(&x[id.x + n.x * (id.y + n.y * id.z)], 1u);
            }";
        let queue = ctx.queue("q");
        let kernel = ctx.kernel_from(text, "k").expect("it compiles");
        let mut x = queue.zeros::<u32, 1>([41 * 13 * 7]).expect("memory");
        for _ in 0..3 {
            queue.launch_dyn(&kernel, Grid::groups([41, 13, 7]), args![x = &mut x]).expect("a launch");
        }
        let counts = queue.read(&x).wait().expect("a read");
        assert!(counts.iter().all(|&count| count == 6), "{counts:?}");
    }

    #[test]
    fn two_maps_are_the_same_memory() {
        let ctx = context();
        let x = ctx.array(&[1_u32, 2]).expect("memory");
        let first = x.map_read().wait().expect("a map").as_ptr();
        x.map_write().wait().expect("a map")[1] = 5;
        let second = x.map_read().wait().expect("a map");
        assert_eq!((second.as_ptr(), &second[..]), (first, &[1, 5][..]));
    }
}

#[cfg(test)]
mod lane_progress_tests {
    use super::*;

    const ONE: TimelineValue = TimelineValue(1);
    const TWO: TimelineValue = TimelineValue(2);

    fn two_batches() -> LaneProgress {
        let mut lane = LaneProgress::new();
        lane.push(Arc::default(), ONE);
        lane.push(Arc::default(), TWO);
        lane
    }

    #[test]
    fn the_thread_of_the_lane_takes_only_batches_that_are_started() {
        let mut lane = two_batches();
        assert!(lane.take_started().is_none());
        assert!(!lane.start(ONE), "the thread does not sleep");
        let taken = lane.take_started().expect("the first batch is started");
        assert_eq!(taken.value, ONE);
        assert!(!lane.end(taken.executor, Ok(ONE)));
        assert!(lane.take_started().is_none(), "the second batch is not started");
    }

    #[test]
    fn one_thread_executes_at_a_time_and_batches_stay_in_order() {
        let mut lane = two_batches();
        let first = lane.take_up_to(TWO).expect("it is free");
        assert_eq!(first.value, ONE);
        assert!(lane.take_up_to(TWO).is_none(), "another thread executes");
        assert!(!lane.end(first.executor, Ok(ONE)));
        assert_eq!(lane.completed().expect("it is not lost"), ONE);
        assert!(lane.take_up_to(ONE).is_none(), "the next value is larger");
        assert_eq!(lane.take_up_to(TWO).expect("it is free").value, TWO);
    }

    #[test]
    fn a_sleeping_thread_is_notified_once_when_it_has_a_batch() {
        let mut lane = two_batches();
        lane.thread_sleeps = true;
        let first = lane.take_up_to(ONE).expect("it is free");
        assert!(!lane.start(TWO), "a caller executes the first batch");
        assert!(lane.end(first.executor, Ok(ONE)), "the second batch is started");
        assert!(!lane.start(TWO), "the thread is already notified");
    }

    #[test]
    fn a_lost_lane_executes_nothing_and_its_thread_ends() {
        let mut lane = two_batches();
        lane.thread_sleeps = true;
        let first = lane.take_up_to(ONE).expect("it is free");
        assert!(lane.end(first.executor, Err(Lost { reason: "a test".into() })));
        assert!(lane.take_up_to(TWO).is_none() && lane.is_over());
    }

    #[test]
    fn the_thread_of_a_closing_lane_ends_after_the_last_batch() {
        let mut lane = two_batches();
        lane.thread_sleeps = true;
        assert!(lane.close());
        for value in [ONE, TWO] {
            assert!(!lane.is_over());
            let taken = lane.take_started().expect("a batch is left");
            assert!(!lane.end(taken.executor, Ok(value)));
        }
        assert!(lane.is_over());
    }
}
