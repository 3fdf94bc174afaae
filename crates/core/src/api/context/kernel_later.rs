//! Kernels that a thread compiles while the program continues.

use crate::api::context::compile_job::Job;
use crate::error::Result;
use crate::runtime::owner::Owner;
use crate::runtime::wait_mode::{LateSteps, WaitMode};
#[cfg(not(target_arch = "wasm32"))]
use crate::scheduler::engine::Engine;
use crate::scheduler::thread_posts::replace_lane_thread;
use crate::work::compiled_kernel::KernelInner;
use fencepost_sync::prim::{Condvar, Mutex, lock, sleep_for};
use std::sync::Arc;
use std::task::Waker;

/// A function that makes the program's handle of a compiled kernel, typed or untyped.
type Make<K> = Box<dyn FnOnce(&Owner, Arc<KernelInner>) -> Result<K> + Send>;

/// Result of a compilation, or the payload of its panic.
type CompileOutcome = std::thread::Result<Result<Arc<KernelInner>>>;

/// A late kernel, which a thread of the context compiles.
pub(crate) struct KernelLate<K> {
    owner: Owner,
    job: Arc<Job>,
    /// Slot for the outcome from the compiler thread; `None` if no thread compiles the kernel.
    desk: Option<Arc<CompileSlot>>,
    make: Option<Make<K>>,
}

/// The outcome of a compilation, on its way from the compiler thread to the pending result.
#[derive(Default)]
struct CompileSlot {
    state: Mutex<CompileSlotState>,
    left: Condvar,
}

/// State of a slot. There is an outcome only after `begun` is `true`.
#[derive(Default)]
struct CompileSlotState {
    /// `true` once a thread has begun to compile.
    begun: bool,
    outcome: Option<CompileOutcome>,
    task: Option<Waker>,
}

impl CompileSlot {
    /// Claims the compilation for the caller, and returns `true` if no other thread has claimed it before.
    fn begin(&self) -> bool {
        !std::mem::replace(&mut lock(&self.state).begun, true)
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn leave(&self, outcome: CompileOutcome) {
        let mut state = lock(&self.state);
        debug_assert!(state.begun, "bug: a compilation ends that no thread has begun");
        state.outcome = Some(outcome);
        let task = state.task.take();
        drop(state);
        self.left.notify_all();
        if let Some(task) = task {
            task.wake();
        }
    }
}

impl<K> KernelLate<K> {
    pub(crate) fn new(owner: &Owner, job: Job, make: Make<K>) -> Self {
        let job = Arc::new(job);
        let desk = start(owner, &job);
        Self { owner: owner.clone(), job, desk, make: Some(make) }
    }

    fn finish(&mut self, outcome: CompileOutcome) -> Result<K> {
        let inner = outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        let make = self.make.take().expect("bug: a pending kernel was polled again after it was ready");
        make(&self.owner, inner)
    }

    /// Compiles on the calling thread.
    fn finish_here(&mut self) -> Result<K> {
        let compiled = self.job.run_on(self.owner.engine(), self.owner.kernels());
        self.finish(Ok(compiled))
    }
}

/// Passes the compilation to a thread of the context. Returns `None` if the kernel is already compiled, or if the
/// context has no threads.
#[cfg(not(target_arch = "wasm32"))]
fn start(owner: &Owner, job: &Arc<Job>) -> Option<Arc<CompileSlot>> {
    let found = owner.kernels().find(&job.key());
    if !owner.engine().threads || found.is_some_and(|kernel| kernel.pipeline.unfinished().is_none()) {
        return None;
    }
    let (desk, kernels) = (Arc::<CompileSlot>::default(), owner.kernels().clone());
    let (leave, job) = (desk.clone(), job.clone());
    let compile = move |engine: &Engine| {
        if Arc::strong_count(&leave) == 1 || !leave.begin() {
            return; // the program has dropped its `Pending`, or a waiting thread compiles
        }
        let compile = std::panic::AssertUnwindSafe(|| job.run_on(engine, &kernels));
        leave.leave(std::panic::catch_unwind(compile));
    };
    owner.compilers().add(owner.threads(), owner.engine(), Box::new(compile));
    Some(desk)
}

#[cfg(target_arch = "wasm32")]
fn start(_: &Owner, _: &Arc<Job>) -> Option<Arc<CompileSlot>> {
    None
}

impl<K> LateSteps<K> for KernelLate<K> {
    fn advance(&mut self, mode: &WaitMode<'_>) -> Option<Result<K>> {
        if let Err(gone) = self.owner.engine().check_device() {
            return Some(Err(gone));
        }
        let Some(desk) = self.desk.clone() else { return Some(self.finish_here()) };
        match mode {
            WaitMode::Poll(task) => {
                // The clone and the drop of a waker are user code, so they run without the lock.
                let task = (*task).clone();
                let mut state = lock(&desk.state);
                let outcome = state.outcome.take();
                let before = if outcome.is_none() { state.task.replace(task) } else { Some(task) };
                drop(state);
                drop(before);
                outcome.map(|outcome| self.finish(outcome))
            }
            WaitMode::Block(deadline) if deadline.is_endless() && desk.begin() => {
                // Every compiler thread may be blocked in a waker that waits for a kernel, so the waiting thread
                // compiles.
                Some(self.finish_here())
            }
            WaitMode::Block(deadline) => {
                replace_lane_thread();
                let mut state = lock(&desk.state);
                loop {
                    if let Some(outcome) = state.outcome.take() {
                        drop(state);
                        return Some(self.finish(outcome));
                    }
                    if deadline.has_passed() {
                        return None;
                    }
                    state = sleep_for(&desk.left, state, deadline.slice());
                }
            }
        }
    }
}
