//! The lane of the CPU as a device. Its thread executes batches in the order of their submission, unless a caller that
//! waits for a batch executes it itself.

use super::cpu_device::{CpuDevice, CpuForm};
use super::cpu_work::CpuVisitor;
use super::failed_steps::FailedSteps;
use super::kernel_checks::KernelChecks;
use super::lane_progress::{Executor, LaneProgress, TakenBatch};
use super::side_by_side::SideBySide;
use crate::device::check_options::CheckOptions;
use crate::device::recorder::{Failure, Keep, LaneValue, Recorder};
use crate::device::{CostModel, Device, Lane};
use crate::error::{Kind, Result};
use crate::memory::byte_meter::ByteMeter;
use crate::work::step::Step;
use fencepost_kernels::report;
use fencepost_sync::backend::Fence;
use fencepost_sync::{Lost, TimelineValue};
use std::panic::{AssertUnwindSafe, catch_unwind};
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

/// Opens the CPU as a device, with the `lateness`, the `launch_limit` and the `checks` of the context's options.
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
    let thread = std::thread::Builder::new().name("fencepost cpu".into()).spawn(move || running.run());
    let thread = thread.map_err(|error| {
        let (object, message) = ("the thread of the CPU".into(), error.to_string());
        crate::error::Error::from(Kind::Device { object, message })
    })?;
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
        // The scheduler drops the last reference to the steps, after the fence has passed the value.
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
    ) -> Result<Keep, Failure> {
        let mut state = self.lane.state();
        if let Some(lost) = state.lost.clone() {
            let error = self.device.caps().lost(lost).into();
            return Err(Failure { step: None, error, lost: true });
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
            // The lock is free again before the batch is executed.
            let taken = self.state().take_up_to(value);
            let Some(taken) = taken else { return };
            self.execute(taken);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::context::Context;
    use crate::api::grid::Grid;
    use crate::device::LAUNCH_LIMIT;
    use crate::device::adapter_info::AdapterInfo;
    use crate::runtime::owner::Owner;
    use crate::scheduler::engine::Engine;
    use crate::scheduler::ordering::policy::Policy;
    use fencepost_kernels::{HostBuffer, args};
    use std::sync::mpsc::channel;
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
        let (queue, kernel) = (ctx.queue("q"), ctx.kernel_from(ONE, "k").expect("it compiles"));
        let mut x = queue.zeros::<u32, 1>([1]).expect("memory");
        queue.launch_dyn(&kernel, Grid::groups([1]), args![x = &mut x]).expect("a launch");
        let done = queue.finish();
        assert!(!queue.is_complete().expect("no error"), "the function waits for this test");
        go.send(()).expect("the function waits");
        done.wait().expect("no error");
        assert_eq!(queue.read(&x).wait().expect("a read"), [7]);
    }

    /// Makes a context in which kernel `k` sends the id of the thread that executes it.
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
        let (queue, kernel) = (ctx.queue("q"), ctx.kernel_from(ONE, "k").expect("it compiles"));
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
        let (queue, kernel) = (ctx.queue("q"), ctx.kernel_from(ONE, "k").expect("it compiles"));
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
        // The thread of the lane may be earlier than the caller, but not each time.
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
        let (queue, kernel) = (ctx.queue("q"), ctx.kernel_from(text, "k").expect("it compiles"));
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
