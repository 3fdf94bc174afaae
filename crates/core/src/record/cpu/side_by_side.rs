//! Executes the launches of a level side by side: their workgroups are shared out to the threads of the process.
#![allow(
    unsafe_code,
    reason = "several threads write the memory of one array, as the invocations of a grid do"
)]

use super::cpu_work::RunsLaunches;
use super::failed_steps::FailedSteps;
use super::fault_error::ended_early;
use super::helper_threads;
use super::kernel_checks::KernelChecks;
use super::launch_timer::LaunchTimer;
use super::run_code::{code_of, groups, run_function};
use crate::error::{Error, Result};
use crate::memory::block::Memory;
use crate::work::graph_data::graph_run::GraphStep;
use crate::work::host_code::HostCode;
use crate::work::kernel_launch::Launch;
use crate::work::step::Step;
use fencepost_cpu::{Cells, CpuKernel, GridRun};
use fencepost_kernels::ParamsBlock;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Is the time that the lane thread works alone. Less work than this costs less than the wake-up of other threads.
const ALONE: Duration = Duration::from_micros(20);
/// Counts the pieces of a grid for each thread, so that a thread that is late holds up little.
const PIECES: u64 = 8;

/// Keeps the launches of a level until they are executed.
pub(super) struct SideBySide<'e, 'l> {
    launches: Vec<Kept<'e>>,
    steps: &'e [Step],
    /// Is the index of the step that is visited.
    step: usize,
    /// Is the node that is visited, if the step replays a graph.
    node: Option<(&'e GraphStep, u32)>,
    launch_limit: Duration,
    failed: &'l FailedSteps,
    /// Checks the launches, one after the other.
    checks: Option<&'l KernelChecks>,
}

/// Holds a launch that depends on no other launch of the level.
struct Kept<'e> {
    launch: &'e Launch,
    params: ParamsBlock,
    step: &'e Step,
    node: Option<(&'e GraphStep, u32)>,
}

/// Holds a launch whose workgroups are shared out.
struct Shared<'k> {
    kernel: &'k CpuKernel,
    kept: &'k Kept<'k>,
    cells: Vec<Cells<'k>>,
    groups: [u32; 3],
    all: u64,
    /// Counts the workgroups of the largest piece.
    piece: u64,
    /// Is the first workgroup that no thread has taken.
    next: AtomicU64,
    limit: Duration,
    /// Measures the launch from its first workgroup on.
    timer: OnceLock<LaunchTimer>,
    /// Holds the first error of a piece. No thread takes a further piece then.
    error: OnceLock<Error>,
}

impl<'e, 'l> SideBySide<'e, 'l> {
    /// Executes launches of `steps`. A step that fails is added to `failed`.
    pub(super) fn new(
        steps: &'e [Step],
        launch_limit: Duration,
        failed: &'l FailedSteps,
        checks: Option<&'l KernelChecks>,
    ) -> Self {
        Self { launches: Vec::new(), steps, step: 0, node: None, launch_limit, failed, checks }
    }
}

impl<'e> RunsLaunches<'e> for SideBySide<'e, '_> {
    fn begin_step(&mut self, at: usize) -> bool {
        self.step = at;
        self.node = None;
        !self.failed.contain(&self.steps[at])
    }

    fn begin_node(&mut self, graph: &'e GraphStep, node: u32) -> bool {
        self.node = Some((graph, node));
        !self.failed.contain(&self.steps[self.step])
    }

    fn launch(&mut self, launch: &'e Launch, params: &ParamsBlock) {
        let (step, node) = (&self.steps[self.step], self.node);
        self.launches.push(Kept { launch, params: params.clone(), step, node });
    }

    fn settle(&mut self) {
        if self.launches.is_empty() {
            return;
        }
        let launches = std::mem::take(&mut self.launches);
        let mut shared = Vec::new();
        for kept in &launches {
            match code_of(kept.launch) {
                HostCode::Function(function) => {
                    let ran = run_function(&**function, kept.launch, &kept.params, self.failed, self.checks);
                    if let Err(error) = ran {
                        self.failed.add(kept.step, kept.error(error));
                    }
                }
                HostCode::Program(kernel) => shared.extend(Shared::new(kernel, kept, self.launch_limit)),
            }
        }
        match self.checks {
            Some(checks) => shared.iter().for_each(|launch| launch.run_checked(checks)),
            None => run_shared(&shared),
        }
        for launch in &shared {
            if let Some(error) = launch.error.get() {
                self.failed.add(launch.kept.step, launch.kept.error(error.clone()));
            }
        }
    }
}

impl Kept<'_> {
    /// Returns the error of the queue for an error of the launch. It names the node if the launch is one of a graph.
    fn error(&self, error: Error) -> Error {
        match self.node {
            Some((graph, node)) => graph.failure(node, error),
            None => error,
        }
    }
}

impl<'k> Shared<'k> {
    /// Takes a launch, or returns `None` if the launch has no workgroup.
    fn new(kernel: &'k CpuKernel, kept: &'k Kept<'k>, limit: Duration) -> Option<Self> {
        let groups = groups(kept.launch);
        let all = GridRun::all(groups);
        let cells = kept.launch.bindings.iter().map(|bound| {
            let Memory::Shared(memory) = &bound.block.memory else {
                unreachable!("bug: {:?} does not belong to the device", bound.block)
            };
            let start = memory.at(&(bound.offset..bound.offset + bound.size));
            // SAFETY: a block begins at a multiple of 64, the offset of a binding is a multiple of 32, and its size is one
            // of 4. The batch keeps the block. No reference to the bytes exists: the host accesses them only when the
            // scheduler grants it, which is after this batch.
            unsafe { Cells::from_raw(start.as_ptr(), bound.size as usize) }
        });
        let piece = (all / (PIECES * (helper_threads::count() as u64 + 1))).max(1);
        let (cells, next, timer, error) =
            (cells.collect(), AtomicU64::new(0), OnceLock::new(), OnceLock::new());
        let shared = Self { kernel, kept, cells, groups, all, piece, next, limit, timer, error };
        (all > 0).then_some(shared)
    }

    /// Executes the next piece. Returns `false` if there is none left.
    fn run_piece(&self) -> bool {
        let taken = take(&self.next, self.all, self.piece).filter(|_| self.error.get().is_none());
        let Some(range) = taken else { return false };
        let ended = self.kernel.run_groups(&self.run(range));
        self.note(ended.map_err(|fault| ended_early(self.kept.launch, &fault, self.limit)));
        true
    }

    /// Returns `true` if a workgroup is left that no thread has taken.
    fn has_more(&self) -> bool {
        self.next.load(Ordering::Relaxed) < self.all
    }

    /// Executes the whole launch with checks.
    fn run_checked(&self, checks: &KernelChecks) {
        self.note(checks.run(self.kernel, &self.run(0..self.all), self.kept.launch, self.limit));
    }

    /// Begins a run of some workgroups.
    fn run(&self, range: Range<u64>) -> GridRun<'_> {
        let (groups, params, buffers) = (self.groups, self.kept.params.bytes(), &self.cells);
        GridRun { groups, range, params, buffers, seed: 0, stop: self.timer().stop() }
    }

    /// Returns the timer of the launch. The first call starts it.
    fn timer(&self) -> &LaunchTimer {
        self.timer.get_or_init(|| LaunchTimer::start(self.limit))
    }

    /// Keeps the error of a run, and stops the other threads that run workgroups of this launch.
    fn note(&self, ended: Result<()>) {
        if let Err(error) = ended {
            self.error.get_or_init(|| error);
            self.timer().stop().store(true, Ordering::Relaxed);
        }
    }
}

/// Takes the next of `all` workgroups, at most `piece` of them. The pieces grow from one workgroup on, so that a thread that
/// works alone soon knows whether the workgroups take long.
fn take(next: &AtomicU64, all: u64, piece: u64) -> Option<Range<u64>> {
    let behind = |start: u64| start + piece.min(start + 1).min(all - start);
    let take = |start| (start < all).then(|| behind(start));
    let start = next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok()?;
    Some(start..behind(start))
}

/// Executes all workgroups of the launches. Other threads help if the work takes long.
fn run_shared(launches: &[Shared<'_>]) {
    let next = || launches.iter().any(Shared::run_piece);
    let begun = Instant::now();
    while next() {
        if begun.elapsed() > ALONE && launches.iter().any(Shared::has_more) {
            helper_threads::share(&|| while next() {});
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_grow_from_one_workgroup_and_cover_a_grid_once() {
        for (all, piece) in [(1, 1), (2, 1), (7, 3), (64, 4), (1 << 20, 1 << 12), (u64::MAX, u64::MAX / 16)] {
            let next = AtomicU64::new(0);
            let mut sizes = Vec::new();
            let mut end = 0;
            while let Some(range) = take(&next, all, piece) {
                assert_eq!(range.start, end, "pieces of {all} workgroups");
                end = range.end;
                sizes.push(range.end - range.start);
            }
            assert_eq!((end, sizes[0]), (all, 1));
            assert!(sizes.iter().all(|&size| (1..=piece).contains(&size)), "{sizes:?}");
            let (last, before) = sizes.split_last().expect("a piece");
            assert!(before.is_sorted() && *last <= piece, "{sizes:?}");
        }
    }
}
