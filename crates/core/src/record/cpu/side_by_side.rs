//! Executes the launches of a level side by side: their workgroups are shared out to the threads of the process.
#![allow(
    unsafe_code,
    reason = "several threads write the memory of one array, as the invocations of a grid do"
)]

use super::cpu_work::RunsLaunches;
use super::kernel_checks::KernelChecks;
use super::run_code::{code_of, groups, run_on_copies};
use super::running_time::RunningTime;
use crate::memory::block::Memory;
use crate::work::host_code::HostCode;
use crate::work::kernel_launch::Launch;
use fencepost_cpu::{Bound, Cells, CpuKernel, Fault, GridRun};
use fencepost_kernels::ParamsBlock;
use fencepost_sync::Lost;
use rayon_core::{ThreadPool, ThreadPoolBuilder};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

/// Is the time that the lane thread works alone. Less work than this costs less than the wake-up of other threads.
const ALONE: Duration = Duration::from_micros(20);
/// Counts the pieces of a grid for each thread, so that a thread that is late holds up little.
const PIECES: u64 = 8;

/// Holds the threads that all devices of the process share. It is `None` if the system gives no thread.
static HELPERS: LazyLock<Option<ThreadPool>> = LazyLock::new(|| {
    let name = |number| format!("fencepost cpu {number}");
    ThreadPoolBuilder::new().num_threads(helpers()).thread_name(name).build().ok().filter(|_| helpers() > 0)
});

/// Counts the threads that help the thread of a lane.
fn helpers() -> usize {
    available_parallelism().map_or(0, |count| count.get() - 1)
}

/// Keeps the launches of a level until they are executed.
pub(super) struct SideBySide<'e, 'l> {
    launches: Vec<Kept<'e>>,
    time: &'l RunningTime,
    /// Checks the launches, one after the other.
    checks: Option<&'l KernelChecks>,
}

/// Holds a launch that depends on no other launch of the level.
struct Kept<'e> {
    launch: &'e Launch,
    params: ParamsBlock,
}

/// Holds a launch whose workgroups are shared out.
struct Shared<'k> {
    kernel: &'k CpuKernel,
    launch: &'k Launch,
    params: &'k [u8],
    cells: Vec<Cells<'k>>,
    groups: [u32; 3],
    all: u64,
    /// Counts the workgroups of a piece.
    piece: u64,
    /// Is the first workgroup that no thread has taken.
    next: AtomicU64,
}

impl<'l> SideBySide<'_, 'l> {
    pub(super) fn new(time: &'l RunningTime, checks: Option<&'l KernelChecks>) -> Self {
        Self { launches: Vec::new(), time, checks }
    }
}

impl<'e> RunsLaunches<'e> for SideBySide<'e, '_> {
    fn launch(&mut self, launch: &'e Launch, params: &ParamsBlock) -> Result<(), Lost> {
        self.launches.push(Kept { launch, params: params.clone() });
        Ok(())
    }

    fn settle(&mut self) -> Result<(), Lost> {
        if self.launches.is_empty() {
            return Ok(());
        }
        self.time.begin();
        let launches = std::mem::take(&mut self.launches);
        let mut shared = Vec::new();
        for Kept { launch, params } in &launches {
            match code_of(launch) {
                HostCode::Function(_) => run_on_copies(launch, params, 0)?,
                HostCode::Program(kernel) => shared.extend(Shared::new(kernel, launch, params)),
            }
        }
        match self.checks {
            Some(checks) => {
                shared.iter().try_for_each(|launch| launch.run_checked(checks, self.time.stop()))?
            }
            None => run_shared(&shared, self.time.stop())?,
        }
        self.time.end();
        Ok(())
    }
}

impl<'k> Shared<'k> {
    /// Takes a launch, or returns `None` if the launch has no workgroup.
    fn new(kernel: &'k CpuKernel, launch: &'k Launch, params: &'k ParamsBlock) -> Option<Self> {
        let groups = groups(launch);
        let all = GridRun::all(groups);
        let cells = launch.bindings.iter().map(|bound| {
            let Memory::Shared(memory) = &bound.block.memory else {
                unreachable!("bug: {:?} does not belong to the device", bound.block)
            };
            let start = memory.at(&(bound.offset..bound.offset + bound.size));
            // SAFETY: a block begins at a multiple of 64, the offset of a binding is a multiple of 32, and its size is one
            // of 4. The batch keeps the block. No reference to the bytes exists: the host accesses them only when the
            // scheduler grants it, which is after this batch.
            unsafe { Cells::from_raw(start.as_ptr(), bound.size as usize) }
        });
        let piece = (all / (PIECES * (helpers() as u64 + 1))).max(1);
        let (cells, params, next) = (cells.collect(), params.bytes(), AtomicU64::new(0));
        (all > 0).then_some(Self { kernel, launch, params, cells, groups, all, piece, next })
    }

    /// Executes the next piece. Returns `false` if there is none left.
    fn run_piece(&self, stop: &AtomicBool) -> Result<bool, Lost> {
        let start = self.next.fetch_add(self.piece, Ordering::Relaxed);
        if start >= self.all {
            return Ok(false);
        }
        let range = start..(start + self.piece).min(self.all);
        let Self { groups, params, cells, .. } = self;
        let run = GridRun { groups: *groups, range, params, buffers: cells, seed: 0, stop };
        let ended = self.kernel.run_groups(&run);
        ended.map(|()| true).map_err(|fault| self.lost(&fault))
    }

    /// Executes the whole launch with checks.
    fn run_checked(&self, checks: &KernelChecks, stop: &AtomicBool) -> Result<(), Lost> {
        let Self { groups, params, cells, .. } = self;
        let run = GridRun { groups: *groups, range: 0..self.all, params, buffers: cells, seed: 0, stop };
        let bindings = self.launch.bindings.iter();
        let bound: Vec<Bound> =
            bindings.map(|bound| Bound { buffer: bound.block.id.0, offset: bound.offset }).collect();
        checks.run(self.kernel, &run, &bound).map_err(|fault| self.lost(&fault))
    }

    /// Returns the loss of the device for a kernel that ended early.
    fn lost(&self, fault: &Fault) -> Lost {
        Lost { reason: format!("kernel `{}`: {fault}", self.launch.kernel().name) }
    }
}

/// Executes all workgroups of the launches. Other threads help if the work takes long.
///
/// # Errors
/// Returns the loss of the device if a kernel ends early.
fn run_shared(launches: &[Shared<'_>], stop: &AtomicBool) -> Result<(), Lost> {
    let lost = Mutex::new(None);
    let note = |error| *lost.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    let failed = AtomicBool::new(false);
    let next = || {
        let piece = launches
            .iter()
            .find_map(|launch| launch.run_piece(stop).map(|ran| ran.then_some(())).transpose());
        match piece {
            Some(Err(error)) => {
                failed.store(true, Ordering::Relaxed);
                note(error);
                false
            }
            piece => piece.is_some() && !failed.load(Ordering::Relaxed),
        }
    };
    let begun = Instant::now();
    while next() {
        let Some(threads) = HELPERS.as_ref().filter(|_| begun.elapsed() > ALONE) else { continue };
        threads.in_place_scope(|scope| {
            for _ in 0..helpers() {
                scope.spawn(|_| while next() {});
            }
            while next() {}
        });
    }
    lost.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}
