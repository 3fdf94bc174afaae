//! The lane of the CPU device in a browser. The page has one thread, so turns of its event loop execute the batches. A
//! turn ends after a slice of time, even in the middle of a launch, and the next turn continues the launch. In between,
//! the page handles its events.

use crate::device::checks::CheckOptions;
use crate::device::{CostModel, Device, KeptResources, Lane, LaneValue, Recorder, SubmitFailure};
use crate::error::Result;
use crate::memory::allocations::ByteMeter;
use crate::record::cpu::cpu_device::{CpuDevice, CpuForm, DeviceClock, NextTurn, PAGE_SLICE};
use crate::record::cpu::cpu_recorder::FailedSteps;
use crate::record::cpu::cpu_work::{
    CpuVisitor, RunsLaunches, STEPS_A_LOOK, cells, code_of, ended_early, groups, run_function,
};
use crate::record::cpu::kernel_checks::KernelChecks;
use crate::record::cpu::launch_timer::LaunchTimer;
use crate::record::cpu::run_order::{NextWork, RunningBatch, StepPart, TakenWork};
use crate::record::walk::{visit, visit_node};
use crate::work::kernel_launch::Launch;
use crate::work::step::{HostCode, Step};
use fencepost_cpu::{CpuKernel, Fault, GridRun, PausedRun};
use fencepost_kernels::ParamsBlock;
use fencepost_sync::backend::Fence;
use fencepost_sync::{Lost, TimelineValue};
use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use web_time::Instant;

/// The side of the lane that submits batches.
struct PageRecorder {
    lane: Arc<PageLane>,
    device: Arc<CpuDevice>,
}

/// State that the recorder, the fence and the turns share.
struct PageLane {
    state: Mutex<PageState>,
    next_turn: NextTurn,
    /// Function that is called after a value has passed, and after the loss of the device.
    moved: OnceLock<Box<dyn Fn() + Send + Sync>>,
    launch_limit: Duration,
    staging: Arc<ByteMeter>,
    checks: Option<Arc<KernelChecks>>,
    failed: Arc<FailedSteps>,
}

/// The submitted batches that no turn has begun, and the progress of the lane.
struct PageState {
    batches: VecDeque<(Arc<Vec<Step>>, TimelineValue)>,
    completed: TimelineValue,
    lost: Option<Lost>,
    /// `true` while a turn is scheduled.
    is_scheduled: bool,
    /// `None` during a turn.
    executor: Option<PageExecutor>,
}

/// The batch that turns execute, and the clock of the device. A turn takes it out of the state, because a host function
/// in a batch may submit work.
struct PageExecutor {
    clock: DeviceClock,
    /// Batch that has begun and not ended.
    batch: Option<RunningBatch>,
    /// Operation of that batch that the last slice left unfinished.
    operation: Option<BegunOperation>,
}

/// An operation of a batch, and its progress.
struct BegunOperation {
    work: TakenWork,
    /// Launch of the operation, if a slice has ended in the middle of it.
    launch: Option<BegunLaunch>,
    /// Level and time at which the operation began, if it is timed.
    started: Option<(u32, u64)>,
}

/// A launch that a slice left unfinished.
struct BegunLaunch {
    run: PausedRun,
    /// Number of workgroups along each axis, as read when the launch began.
    groups: [u32; 3],
    /// Time of the slices so far.
    spent: Duration,
}

/// Opens the CPU device, with the `lateness`, the `launch_limit` and the `checks` of the context's options. `next_turn`
/// schedules the turns that execute its work.
pub(crate) fn open(
    lateness: Duration,
    launch_limit: Duration,
    checks: Option<CheckOptions>,
    next_turn: NextTurn,
) -> (Arc<CpuDevice>, Vec<Lane>) {
    let (device, lane) = open_lane(launch_limit, checks, next_turn);
    let cost_model =
        if lateness == Duration::MAX { CostModel::Unknown } else { CostModel::Measured(lateness) };
    let lane = lane_of(&device, &lane, cost_model);
    (device, vec![lane])
}

fn open_lane(
    launch_limit: Duration,
    checks: Option<CheckOptions>,
    next_turn: NextTurn,
) -> (Arc<CpuDevice>, Arc<PageLane>) {
    let mut device = CpuDevice::new(CpuForm::Device, u64::MAX);
    device.checks = checks.map(|options| Arc::new(KernelChecks::new(options)));
    let executor = PageExecutor { clock: DeviceClock::new(), batch: None, operation: None };
    let state = PageState {
        batches: VecDeque::new(),
        completed: TimelineValue(0),
        lost: None,
        is_scheduled: false,
        executor: Some(executor),
    };
    let lane = PageLane {
        state: Mutex::new(state),
        next_turn,
        moved: OnceLock::new(),
        launch_limit,
        staging: device.staging.clone(),
        checks: device.checks.clone(),
        failed: device.failed.clone(),
    };
    (Arc::new(device), Arc::new(lane))
}

fn lane_of(device: &Arc<CpuDevice>, lane: &Arc<PageLane>, cost_model: CostModel) -> Lane {
    let recorder = Box::new(PageRecorder { lane: lane.clone(), device: device.clone() });
    Lane { recorder, fence: lane.clone(), async_submit: true, executes_in_submit: false, cost_model }
}

impl PageLane {
    fn state(&self) -> MutexGuard<'_, PageState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Schedules a turn, unless one is scheduled.
    fn schedule(self: &Arc<Self>) {
        if !std::mem::replace(&mut self.state().is_scheduled, true) {
            let lane = self.clone();
            (self.next_turn)(Box::new(move || lane.turn()));
        }
    }

    /// Executes a slice of the work. If work is left, schedules the next turn.
    fn turn(self: &Arc<Self>) {
        let begun = Instant::now();
        if self.run_slice(&|| begun.elapsed()) {
            self.schedule();
        }
    }

    /// Executes work until none is left or the slice is over. Returns `true` if work is left. `elapsed` returns the time
    /// since the slice began.
    fn run_slice(&self, elapsed: &dyn Fn() -> Duration) -> bool {
        let mut state = self.state();
        state.is_scheduled = false;
        let executor = state.executor.take();
        drop(state);
        let Some(mut executor) = executor else { return false };
        let mut has_moved = false;
        while self.run_batch(&mut executor, elapsed) {
            has_moved = true;
        }
        let mut state = self.state();
        let has_work = executor.batch.is_some() || !state.batches.is_empty();
        let goes_on = has_work && state.lost.is_none();
        state.executor = Some(executor);
        drop(state);
        if let Some(moved) = self.moved.get().filter(|_| has_moved) {
            moved();
        }
        goes_on
    }

    /// Continues the batch that has begun, or begins the next one. Returns `true` if the batch has ended, and `false` if
    /// the slice is over first, or if there is no batch.
    fn run_batch(&self, executor: &mut PageExecutor, elapsed: &dyn Fn() -> Duration) -> bool {
        let PageExecutor { clock, batch, operation } = executor;
        if batch.is_none() {
            *batch = self.state().begin_batch();
        }
        let Some(running) = batch else { return false };
        while operation.is_some() || !running.is_over() {
            if elapsed() >= PAGE_SLICE {
                return false;
            }
            let next = operation.take().or_else(|| running.take(0).map(BegunOperation::new));
            *operation = next.and_then(|next| self.execute(clock, next, elapsed));
        }
        let value = running.signal;
        // After the fence has passed the value, the scheduler drops the last reference to the steps.
        *batch = None;
        self.state().end_batch(value, self.failed.loss());
        true
    }

    /// Begins or continues an operation. Returns it if the slice is over before the operation has ended.
    fn execute(
        &self,
        clock: &mut DeviceClock,
        mut operation: BegunOperation,
        elapsed: &dyn Fn() -> Duration,
    ) -> Option<BegunOperation> {
        let BegunOperation { work, launch, started } = &mut operation;
        let is_paused = {
            let next = work.work();
            if launch.is_none() && self.failed.skip(next.step) {
                return None;
            }
            let launches = InSlices { lane: self, next: &next, begun: launch, elapsed };
            let mut visitor = CpuVisitor::new(clock, &self.staging, launches, self.checks.as_deref());
            visitor.started = *started;
            let visited = match next.part {
                StepPart::Whole => visit(&mut visitor, 0, &next.step.work),
                StepPart::Node(graph, node) => visit_node(&mut visitor, 0, graph, node),
                StepPart::End => Ok(()),
            };
            debug_assert!(visited.is_ok(), "bug: a step of the CPU returned an error");
            let is_paused = visitor.launches.begun.is_some();
            if !is_paused {
                visitor.settle();
            }
            *started = visitor.started;
            is_paused
        };
        is_paused.then_some(operation)
    }
}

impl PageState {
    /// Takes the next batch. Returns `None` if there is none or the device is lost.
    fn begin_batch(&mut self) -> Option<RunningBatch> {
        let next = if self.lost.is_none() { self.batches.pop_front() } else { None };
        next.map(|(steps, value)| RunningBatch::new(&steps, &[], value))
    }

    /// Records the end of a batch, after which the device may be lost.
    fn end_batch(&mut self, value: TimelineValue, lost: Option<Lost>) {
        match lost {
            None => self.completed = value,
            lost => self.lost = lost,
        }
    }

    /// Returns the value of the last executed batch.
    fn completed(&self) -> Result<TimelineValue, Lost> {
        self.lost.clone().map_or(Ok(self.completed), Err)
    }
}

impl BegunOperation {
    fn new(work: TakenWork) -> Self {
        Self { work, launch: None, started: None }
    }
}

impl Recorder for PageRecorder {
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
        state.batches.push_back((steps.clone(), signal));
        drop(state);
        self.lane.schedule();
        Ok(None)
    }
}

impl Fence for PageLane {
    fn completed(&self) -> Result<TimelineValue, Lost> {
        self.state().completed()
    }

    /// Returns at once, because no call blocks in a browser.
    fn wait(&self, _: TimelineValue, _: Duration) -> Result<TimelineValue, Lost> {
        self.completed()
    }

    /// Executes the batches for the end of a context, which waits in a test and not in a browser.
    #[cfg(test)]
    fn execute_up_to(&self, value: TimelineValue) {
        while self.completed().is_ok_and(|completed| completed < value) {
            let begun = Instant::now();
            self.run_slice(&|| begun.elapsed());
        }
    }

    fn on_move(&self, moved: Box<dyn Fn() + Send + Sync>) {
        // A second function is ignored: the first one stays registered.
        let _ = self.moved.set(moved);
    }
}

/// Executor of launches that begins or continues each, and stores it in `begun` if the slice is over before its end.
struct InSlices<'a> {
    lane: &'a PageLane,
    next: &'a NextWork<'a>,
    begun: &'a mut Option<BegunLaunch>,
    /// Time since the slice began.
    elapsed: &'a dyn Fn() -> Duration,
}

impl<'e> RunsLaunches<'e> for InSlices<'_> {
    fn launch(&mut self, launch: &'e Launch, params: &ParamsBlock) {
        let PageLane { failed, checks, .. } = self.lane;
        if self.begun.is_none() {
            failed.begin(launch);
        }
        let ran = match code_of(launch) {
            HostCode::Function(function) => {
                run_function(&**function, launch, params, failed, checks.as_deref())
            }
            HostCode::Program(kernel) => self.run(kernel, launch, params),
        };
        if let Err(error) = ran {
            let error = match self.next.part {
                StepPart::Node(graph, node) => graph.failure(node, error),
                _ => error,
            };
            failed.add(self.next.step, error);
        }
    }
}

impl InSlices<'_> {
    /// Runs a launch on the memory of its arrays, for at most the limit of the lane. A launch with checks is not divided
    /// into slices, because they compare the accesses of all workgroups.
    ///
    /// # Errors
    /// Returns the error of a launch that [ended early](ended_early), or with mistakes that end its queue.
    fn run(&mut self, kernel: &CpuKernel, launch: &Launch, params: &ParamsBlock) -> Result<()> {
        let limit = self.lane.launch_limit;
        let groups = self.begun.as_ref().map_or_else(|| groups(launch), |begun| begun.groups);
        let range = 0..GridRun::all(groups);
        let cells = cells(launch);
        let stop = AtomicBool::new(false);
        let run = GridRun { groups, range, params: params.bytes(), buffers: &cells, seed: 0, stop: &stop };
        if let Some(checks) = &self.lane.checks {
            let timer = LaunchTimer::start(limit);
            return checks.run(kernel, &GridRun { stop: timer.stop(), ..run }, launch, limit);
        }
        let begun = self.begun.take();
        let mut begun =
            begun.unwrap_or_else(|| BegunLaunch { run: kernel.begin(&run), groups, spent: Duration::ZERO });
        let before = begun.spent;
        let start = (self.elapsed)();
        loop {
            let resumed = kernel.resume(&run, &mut begun.run, STEPS_A_LOOK);
            if resumed.map_err(|fault| ended_early(launch, &fault, limit))? {
                return Ok(());
            }
            let now = (self.elapsed)();
            begun.spent = before + now.saturating_sub(start);
            if begun.spent > limit {
                return Err(ended_early(launch, &Fault::Stopped, limit));
            }
            if now >= PAGE_SLICE {
                *self.begun = Some(begun);
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::context::Context;
    use crate::api::grid::Grid;
    use crate::device::LAUNCH_LIMIT;
    use crate::device::adapter::AdapterInfo;
    use crate::error::ErrorDetail;
    use crate::memory::uses::Policy;
    use crate::runtime::owner::Owner;
    use crate::runtime::pending::Pending;
    use crate::scheduler::engine::Engine;
    use fencepost_kernels::args;
    use std::cell::{Cell, RefCell};
    use std::future::Future;
    use std::pin::Pin;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::task::{self, Poll, Waker};

    /// Kernels of many workgroups, of a long workgroup, of one that never ends, and of two invocations that race.
    const KERNELS: &str = "
        @group(0) @binding(0) var<storage, read_write> x: array<u32>;
        @compute @workgroup_size(4) fn triangles(@builtin(global_invocation_id) id: vec3<u32>) {
            for (var n = 0u; n <= id.x; n++) { x[id.x] += n; }
        }
        @compute @workgroup_size(1) fn counts() {
            for (var n = 0u; n < 100000u; n++) { x[0] += 1u; }
        }
        @compute @workgroup_size(1) fn endless() { while x[0] != 1u { } }
        @compute @workgroup_size(2) fn races(@builtin(local_invocation_index) i: u32) { x[0] = i; }";

    thread_local! {
        /// Turns of an event loop that are scheduled.
        static TURNS: RefCell<VecDeque<Box<dyn FnOnce()>>> = const { RefCell::new(VecDeque::new()) };
    }

    fn later(turn: Box<dyn FnOnce()>) {
        TURNS.with_borrow_mut(|turns| turns.push_back(turn));
    }

    /// Executes the next turn of the event loop. Returns `false` if none is scheduled.
    fn turn() -> bool {
        let next = TURNS.with_borrow_mut(VecDeque::pop_front);
        next.map(|turn| turn()).is_some()
    }

    fn of(device: &Arc<CpuDevice>, lane: Lane) -> Context {
        let engine = Engine::new(device.clone(), vec![lane], Policy::default(), false);
        Context::of(Owner::new(engine, Some(device.clone()), None, AdapterInfo::cpu()))
    }

    /// Makes a context whose turns never come: the test executes slices instead.
    fn page(launch_limit: Duration, checks: Option<CheckOptions>) -> (Context, Arc<PageLane>) {
        let (device, lane) = open_lane(launch_limit, checks, |_| ());
        (of(&device, lane_of(&device, &lane, CostModel::Unknown)), lane)
    }

    /// Returns a clock that is a millisecond later at each look.
    fn ticking() -> impl Fn() -> Duration {
        let looks = Cell::new(0);
        move || {
            looks.set(looks.get() + 1);
            Duration::from_millis(looks.get())
        }
    }

    /// Returns a result, which is polled after each call of `slice`.
    fn arrives<T: Unpin>(mut pending: Pending<T>, mut slice: impl FnMut()) -> Result<T> {
        let mut task = task::Context::from_waker(Waker::noop());
        for _ in 0..100_000 {
            if let Poll::Ready(result) = Pin::new(&mut pending).poll(&mut task) {
                return result;
            }
            slice();
        }
        panic!("the result never comes");
    }

    /// Returns `true` if the last slice ended in the middle of a launch.
    fn is_in_launch(lane: &PageLane) -> bool {
        let state = lane.state();
        let operation = state.executor.as_ref().and_then(|executor| executor.operation.as_ref());
        operation.is_some_and(|operation| operation.launch.is_some())
    }

    #[test]
    fn a_slice_ends_by_the_clock_and_slices_give_the_bytes_of_one_run() {
        let triangles: Vec<u32> = (0..1024).map(|n| n * (n + 1) / 2).collect();
        for (entry, groups, expected) in [("triangles", 256, triangles), ("counts", 1, vec![100_000])] {
            let (ctx, lane) = page(LAUNCH_LIMIT, None);
            let queue = ctx.queue("q");
            let kernel = ctx.kernel_from(KERNELS, entry).expect("it compiles");
            let mut x = queue.zeros::<u32, 1>([expected.len()]).expect("memory");
            queue.launch_dyn(&kernel, Grid::groups([groups]), args![x = &mut x]).expect("a launch");
            let mut unfinished = 0;
            let words = arrives(queue.read(&x), || {
                lane.run_slice(&ticking());
                unfinished += u32::from(is_in_launch(&lane));
            });
            assert_eq!(words.expect("a read"), expected, "{entry}");
            assert!(unfinished > 10, "{entry}: {unfinished} slices ended in the launch");
        }
    }

    #[test]
    fn a_launch_over_the_limit_of_time_fails_its_queue_and_other_queues_go_on() {
        const LIMIT: Duration = Duration::from_millis(50);
        let (ctx, lane) = page(LIMIT, None);
        let slice = || _ = lane.run_slice(&ticking());
        let queue = ctx.queue("main");
        let other = ctx.queue("other");
        let endless = ctx.kernel_from(KERNELS, "endless").expect("it compiles");
        let [mut x, mut y, mut z] = [(); 3].map(|()| ctx.zeros::<u32, 1>([4]).expect("memory"));
        queue.launch_dyn(&endless, Grid::groups([1000]), args![x = &mut x]).expect("a launch");
        queue.fill(&mut y, 7).expect("a fill");
        other.fill(&mut z, 7).expect("a fill");

        let error = arrives(queue.finish(), slice).expect_err("the kernel never ends");
        let is_expected = matches!(
            error.detail(),
            ErrorDetail::LaunchTooLong { kernel, limit, .. } if kernel == "endless" && *limit == LIMIT
        );
        assert!(is_expected, "{error}");
        assert_eq!(arrives(other.read(&z), slice).expect("the other queue goes on"), [7; 4]);
        let read = arrives(other.read(&y), slice).expect("the other queue goes on");
        assert_eq!(read, [0; 4], "a later command of the failed queue is not executed");
        assert!(queue.take_error().is_some());
        queue.fill(&mut y, 3).expect("the error was taken");
        assert_eq!(arrives(queue.read(&y), slice).expect("the error was taken"), [3; 4]);
    }

    #[test]
    fn a_turn_is_scheduled_once_while_work_is_left_and_tells_that_values_have_passed() {
        let (_device, mut lanes) = open(CostModel::LATENESS, LAUNCH_LIMIT, None, later);
        let Lane { recorder, fence, .. } = &mut lanes[0];
        let calls = Arc::new(AtomicU32::new(0));
        let counter = calls.clone();
        fence.on_move(Box::new(move || {
            counter.fetch_add(1, Ordering::Relaxed);
        }));
        for last in [3, 5] {
            let before = fence.completed().expect("it is not lost");
            let calls_before = calls.load(Ordering::Relaxed);
            for value in before.0 + 1..=last {
                assert!(recorder.submit(&Arc::default(), &[], TimelineValue(value)).is_ok());
            }
            assert_eq!(fence.completed(), Ok(before), "a submission executes nothing");
            assert_eq!(TURNS.with_borrow(VecDeque::len), 1);
            while turn() {}
            assert_eq!(fence.completed(), Ok(TimelineValue(last)));
            assert!(calls.load(Ordering::Relaxed) > calls_before);
        }
    }

    #[test]
    fn turns_of_an_event_loop_execute_a_program_that_awaits() {
        let (device, mut lanes) = open(CostModel::LATENESS, LAUNCH_LIMIT, None, later);
        let ctx = of(&device, lanes.remove(0));
        let queue = ctx.queue("q");
        let kernel = ctx.kernel_from(KERNELS, "triangles").expect("it compiles");
        let mut x = queue.zeros::<u32, 1>([64]).expect("memory");
        for round in 1..=3 {
            queue.launch_dyn(&kernel, Grid::groups([16]), args![x = &mut x]).expect("a launch");
            let words = arrives(queue.read(&x), || _ = turn()).expect("a read");
            let expected: Vec<u32> = (0..64).map(|n| round * n * (n + 1) / 2).collect();
            assert_eq!(words, expected);
        }
    }

    #[test]
    fn a_timed_launch_begins_with_its_first_slice() {
        let (ctx, lane) = page(LAUNCH_LIMIT, None);
        let queue = ctx.queue("q");
        let kernel = ctx.kernel_from(KERNELS, "counts").expect("it compiles");
        let mut x = queue.zeros::<u32, 1>([1]).expect("memory");
        let captured = queue.capture(|c| c.launch_dyn(&kernel, Grid::groups([1]), args![x = &mut x]));
        let (graph, ()) = captured.expect("a graph");
        let profiler = ctx.profile();
        queue.replay(&graph).expect("a replay");
        let started = || {
            let state = lane.state();
            let operation = state.executor.as_ref()?.operation.as_ref()?;
            operation.started
        };
        let mut starts = Vec::new();
        let done = arrives(queue.finish(), || {
            lane.run_slice(&ticking());
            starts.extend(started());
        });
        done.expect("no error");
        drop(profiler);
        assert!(starts.len() > 10 && starts.iter().all(|start| *start == starts[0]), "{starts:?}");
    }

    #[test]
    fn a_checked_launch_finds_the_mistakes_of_all_its_workgroups() {
        let (ctx, lane) = page(LAUNCH_LIMIT, Some(CheckOptions::default()));
        let queue = ctx.queue("q");
        let kernel = ctx.kernel_from(KERNELS, "races").expect("it compiles");
        let mut x = queue.zeros::<u32, 1>([1]).expect("memory");
        queue.launch_dyn(&kernel, Grid::groups([2]), args![x = &mut x]).expect("a launch");
        arrives(queue.finish(), || _ = lane.run_slice(&ticking())).expect("mistakes fail no queue");
        assert!(!ctx.diagnostics().take_findings().is_empty());
    }

    #[test]
    fn a_lost_device_executes_no_later_batch_and_refuses_submissions() {
        let (device, lane) = open_lane(LAUNCH_LIMIT, None, later);
        let Lane { mut recorder, fence, .. } = lane_of(&device, &lane, CostModel::Unknown);
        for value in 1..=2 {
            assert!(recorder.submit(&Arc::default(), &[], TimelineValue(value)).is_ok());
        }
        device.lose();
        while turn() {}
        assert!(fence.completed().is_err());
        assert_eq!(lane.state().batches.len(), 1, "the second batch is not begun");
        let refused = recorder.submit(&Arc::default(), &[], TimelineValue(3));
        assert!(refused.is_err_and(|failure| failure.lost));
        assert!(!turn(), "no turn is scheduled");
    }
}
