//! Execution of the launches of a level side by side: their workgroups are distributed over the threads of the process.
//!
//! The process has one set of helper threads, which help the lane threads of all devices with long work.
#![allow(unsafe_code, reason = "threads of the pool run borrowed work")]

use crate::error::{Error, Result};
use crate::record::cpu::cpu_recorder::FailedSteps;
use crate::record::cpu::cpu_work::{RunsLaunches, cells, code_of, ended_early, groups, run_function};
use crate::record::cpu::kernel_checks::KernelChecks;
use crate::record::cpu::launch_timer::LaunchTimer;
use crate::work::graph::run::GraphStep;
use crate::work::kernel_launch::Launch;
use crate::work::step::{HostCode, Step};
use fencepost_cpu::{Cells, CpuKernel, GridRun};
use fencepost_kernels::ParamsBlock;
use fencepost_sync::Process;
use rayon_core::{ThreadPool, ThreadPoolBuilder};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

/// Time for which the lane thread works alone. Waking other threads for less work than this would cost more.
const ALONE: Duration = Duration::from_micros(20);
/// Number of pieces of a grid per thread, so that a late thread delays the grid only a little.
const PIECES: u64 = 8;

/// The launches of a level, kept until they are executed.
pub(super) struct SideBySide<'e, 'l> {
    launches: Vec<KeptLaunch<'e>>,
    steps: &'e [Step],
    /// Index of the step that is visited.
    step: usize,
    /// Node that is visited, if the step replays a graph.
    node: Option<(&'e GraphStep, u32)>,
    launch_limit: Duration,
    failed: &'l FailedSteps,
    /// Checks of the launches, which then run one after the other.
    checks: Option<&'l KernelChecks>,
}

/// A kept launch, which depends on no other launch of the level.
struct KeptLaunch<'e> {
    launch: &'e Launch,
    params: ParamsBlock,
    step: &'e Step,
    node: Option<(&'e GraphStep, u32)>,
}

/// A launch that is distributed over threads.
struct SharedLaunch<'k> {
    kernel: &'k CpuKernel,
    kept: &'k KeptLaunch<'k>,
    cells: Vec<Cells<'k>>,
    groups: [u32; 3],
    all: u64,
    /// Number of workgroups in the largest piece.
    piece: u64,
    /// First workgroup that no thread has taken.
    next: AtomicU64,
    limit: Duration,
    /// Timer of the launch, from its first workgroup on.
    timer: OnceLock<LaunchTimer>,
    /// First error of a piece. After it, no further pieces are taken.
    error: OnceLock<Error>,
}

impl<'e, 'l> SideBySide<'e, 'l> {
    /// Makes the list for the launches of `steps`. Steps that fail are added to `failed`.
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
        !self.failed.skip(&self.steps[at])
    }

    fn begin_node(&mut self, graph: &'e GraphStep, node: u32) -> bool {
        self.node = Some((graph, node));
        !self.failed.skip(&self.steps[self.step])
    }

    fn launch(&mut self, launch: &'e Launch, params: &ParamsBlock) {
        self.failed.begin(launch);
        let step = &self.steps[self.step];
        let node = self.node;
        self.launches.push(KeptLaunch { launch, params: params.clone(), step, node });
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
                HostCode::Program(kernel) => {
                    shared.extend(SharedLaunch::new(kernel, kept, self.launch_limit))
                }
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

impl KeptLaunch<'_> {
    /// Returns the queue's error for an error of the launch, which names the node if the launch belongs to a graph.
    fn error(&self, error: Error) -> Error {
        match self.node {
            Some((graph, node)) => graph.failure(node, error),
            None => error,
        }
    }
}

impl<'k> SharedLaunch<'k> {
    /// Returns the launch for sharing, or `None` if it has no workgroups.
    fn new(kernel: &'k CpuKernel, kept: &'k KeptLaunch<'k>, limit: Duration) -> Option<Self> {
        let groups = groups(kept.launch);
        let all = GridRun::all(groups);
        let cells = cells(kept.launch);
        let piece = (all / (PIECES * (count() as u64 + 1))).max(1);
        let next = AtomicU64::new(0);
        let timer = OnceLock::new();
        let error = OnceLock::new();
        let shared = Self { kernel, kept, cells, groups, all, piece, next, limit, timer, error };
        (all > 0).then_some(shared)
    }

    /// Executes the whole launch with checks.
    fn run_checked(&self, checks: &KernelChecks) {
        self.note(checks.run(self.kernel, &self.run(0..self.all), self.kept.launch, self.limit));
    }

    /// Begins a run of some workgroups.
    fn run(&self, range: Range<u64>) -> GridRun<'_> {
        let groups = self.groups;
        let params = self.kept.params.bytes();
        let buffers = &self.cells;
        GridRun { groups, range, params, buffers, seed: 0, stop: self.timer().stop() }
    }

    /// Returns the timer of the launch. The first call starts it.
    fn timer(&self) -> &LaunchTimer {
        self.timer.get_or_init(|| LaunchTimer::start(self.limit))
    }

    /// Keeps the error of a run, and stops the other threads that work on this launch.
    fn note(&self, ended: Result<()>) {
        if let Err(error) = ended {
            self.error.get_or_init(|| error);
            self.timer().stop().store(true, Ordering::Relaxed);
        }
    }
}

/// Work that several threads execute in pieces.
trait Pieces: Sync {
    /// Executes the next piece. Returns its number of workgroups, or `None` if there is no piece left.
    fn run_piece(&self) -> Option<u64>;

    /// Counts all workgroups.
    fn workgroups(&self) -> u64;

    /// Returns `true` if a workgroup is left that no thread has taken.
    fn has_more(&self) -> bool;

    /// Returns the expected time of all workgroups, according to earlier launches.
    fn expected_time(&self) -> Duration;

    /// Records the time that a piece took.
    fn note_time(&self, workgroups: u64, time: Duration);
}

impl Pieces for SharedLaunch<'_> {
    fn run_piece(&self) -> Option<u64> {
        let range = take(&self.next, self.all, self.piece).filter(|_| self.error.get().is_none())?;
        let count = range.end - range.start;
        let ended = self.kernel.run_groups(&self.run(range));
        self.note(ended.map_err(|fault| ended_early(self.kept.launch, &fault, self.limit)));
        Some(count)
    }

    fn workgroups(&self) -> u64 {
        self.all
    }

    fn has_more(&self) -> bool {
        self.next.load(Ordering::Relaxed) < self.all
    }

    fn expected_time(&self) -> Duration {
        self.kernel.expected_time(self.all)
    }

    fn note_time(&self, workgroups: u64, time: Duration) {
        self.kernel.note_time(workgroups, time);
    }
}

/// Takes the next piece of `all` workgroups, at most `piece` of them. The first pieces are small, so that a thread that
/// works alone soon knows how long the workgroups take.
fn take(next: &AtomicU64, all: u64, piece: u64) -> Option<Range<u64>> {
    let after = |start: u64| start + piece.min(start + 1).min(all - start);
    let take = |start| (start < all).then(|| after(start));
    let start = next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok()?;
    Some(start..after(start))
}

/// Executes all workgroups of the launches. Other threads help if the work is long: from the start if earlier launches
/// of the kernels were long, else as soon as the first pieces show it.
fn run_shared(launches: &[impl Pieces]) {
    let sum = |total: Duration, launch| total.saturating_add(Pieces::expected_time(launch));
    let is_long = launches.iter().fold(Duration::ZERO, sum) > ALONE;
    let is_single = launches.iter().map(Pieces::workgroups).eq([1]);
    if is_single || !is_long {
        let begun = Instant::now();
        let mut before = Duration::ZERO;
        while before <= ALONE {
            let Some((launch, workgroups)) = run_next(launches) else { return };
            let now = begun.elapsed();
            launch.note_time(workgroups, now - before);
            before = now;
        }
    }
    if launches.iter().any(Pieces::has_more) {
        share(&|| {
            let mut begun = Instant::now();
            while let Some((launch, workgroups)) = run_next(launches) {
                launch.note_time(workgroups, begun.elapsed());
                begun = Instant::now();
            }
        });
    }
}

/// Executes the next piece of the launches. Returns its launch and its number of workgroups, or `None` if no piece is
/// left.
fn run_next<P: Pieces>(launches: &[P]) -> Option<(&P, u64)> {
    launches.iter().find_map(|launch| launch.run_piece().map(|workgroups| (launch, workgroups)))
}

/// The helper threads; `None` if the system cannot start them.
static HELPERS: LazyLock<Option<(Process, ThreadPool)>> = LazyLock::new(|| {
    let name = |number| format!("fencepost cpu {number}");
    let pool = ThreadPoolBuilder::new().num_threads(count()).thread_name(name).build();
    pool.ok().filter(|_| count() > 0).map(|pool| (Process::this(), pool))
});

/// Maximum number of calls that wait for a free thread. Without a limit, they would pile up while one launch keeps all
/// threads busy.
const MOST_WAITING: usize = 4096;

/// Number of calls that wait for a free thread.
static WAITING: AtomicUsize = AtomicUsize::new(0);

/// Returns the number of threads that help a lane's thread. The system is asked only once, because that takes longer
/// than a small launch.
pub(super) fn count() -> usize {
    static COUNT: LazyLock<usize> =
        LazyLock::new(|| available_parallelism().map_or(0, |count| count.get() - 1));
    *COUNT
}

/// Calls `work` on this thread, and also on each helper thread that becomes free meanwhile. Waits for the threads that
/// have begun, but not for those that are busy with other work.
///
/// # Panics
/// Panics if `work` panics on one of the threads.
pub(super) fn share(work: &(dyn Fn() + Sync)) {
    match HELPERS.as_ref() {
        Some((process, threads)) if !process.is_left() => share_on(threads, work),
        _ => work(), // a child of fork(2) does not have its parent's threads
    }
}

fn share_on(threads: &ThreadPool, work: &(dyn Fn() + Sync)) {
    // SAFETY: only the lifetime in the type of the pointer changes. The call in `SharedWork::help` says why the work
    // lives.
    let pointer: *const (dyn Fn() + Sync) =
        unsafe { std::mem::transmute::<*const (dyn Fn() + Sync + '_), _>(std::ptr::from_ref(work)) };
    let shared = Arc::new(SharedWork { work: pointer, state: Mutex::default(), left: Condvar::new() });
    for _ in 0..threads.current_num_threads() {
        if WAITING.fetch_add(1, Ordering::Relaxed) >= MOST_WAITING {
            WAITING.fetch_sub(1, Ordering::Relaxed);
            break; // the threads are busy, and will be for long
        }
        let shared = shared.clone();
        threads.spawn(move || {
            WAITING.fetch_sub(1, Ordering::Relaxed);
            shared.help();
        });
    }
    let guard = CloseOnDrop(&shared);
    work();
    drop(guard);
    assert!(!shared.state().panicked, "bug: shared work panicked on a helping thread");
}

/// Work that several threads execute.
struct SharedWork {
    work: *const (dyn Fn() + Sync),
    state: Mutex<WorkState>,
    /// Notified when the last helper thread has ended its part.
    left: Condvar,
}

// SAFETY: the work is `Sync`, so several threads may call it. The other fields are `Send` and `Sync`.
unsafe impl Send for SharedWork {}
// SAFETY: as above.
unsafe impl Sync for SharedWork {}

#[derive(Default)]
struct WorkState {
    /// `true` once no further thread may begin.
    closed: bool,
    /// Number of threads that have begun but not ended.
    helping: usize,
    panicked: bool,
}

impl SharedWork {
    fn state(&self) -> MutexGuard<'_, WorkState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls the work, unless its owner has closed it.
    fn help(&self) {
        if !self.begin() {
            return;
        }
        // SAFETY: this thread is between `begin` and `end`. `close` returns only when no thread is between them and
        // none can begin, and the owner calls `close` before its borrow of the work ends, even if the work panics.
        let work = unsafe { &*self.work };
        let panicked = catch_unwind(AssertUnwindSafe(work)).is_err();
        self.end(panicked);
    }

    fn begin(&self) -> bool {
        let mut state = self.state();
        state.helping += usize::from(!state.closed);
        !state.closed
    }

    fn end(&self, panicked: bool) {
        let mut state = self.state();
        state.helping -= 1;
        state.panicked |= panicked;
        if state.helping == 0 {
            self.left.notify_all();
        }
    }

    /// Keeps further threads from beginning, and waits for those that have begun.
    fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        while state.helping > 0 {
            state = self.left.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Guard that closes shared work, even if the owner's own part panics.
struct CloseOnDrop<'s>(&'s SharedWork);

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
    use std::sync::mpsc::{channel, sync_channel};

    /// A launch of one workgroup, which waits until a thread has begun the other launch.
    struct Meeting<'t> {
        begun: &'t AtomicU64,
        is_taken: AtomicBool,
        has_met: AtomicBool,
    }

    impl Pieces for Meeting<'_> {
        fn run_piece(&self) -> Option<u64> {
            if self.is_taken.swap(true, Ordering::Relaxed) {
                return None;
            }
            self.begun.fetch_add(1, Ordering::Relaxed);
            let end = Instant::now() + Duration::from_secs(10);
            while self.begun.load(Ordering::Relaxed) < 2 && Instant::now() < end {
                std::thread::yield_now();
            }
            self.has_met.store(self.begun.load(Ordering::Relaxed) == 2, Ordering::Relaxed);
            Some(1)
        }

        fn workgroups(&self) -> u64 {
            1
        }

        fn has_more(&self) -> bool {
            !self.is_taken.load(Ordering::Relaxed)
        }

        fn expected_time(&self) -> Duration {
            2 * ALONE
        }

        fn note_time(&self, _: u64, _: Duration) {}
    }

    #[test]
    fn launches_of_one_workgroup_that_are_known_to_be_long_overlap() {
        if count() == 0 {
            return; // a single thread executes the launches one after the other
        }
        let begun = AtomicU64::new(0);
        let meeting =
            || Meeting { begun: &begun, is_taken: AtomicBool::new(false), has_met: AtomicBool::new(false) };
        let launches = [meeting(), meeting()];
        run_shared(&launches);
        assert!(launches.iter().all(|launch| launch.has_met.load(Ordering::Relaxed)));
    }

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

    fn threads(count: usize) -> ThreadPool {
        ThreadPoolBuilder::new().num_threads(count).build().expect("the system gives threads")
    }

    #[test]
    fn work_does_not_wait_for_threads_that_are_busy() {
        let threads = threads(1);
        let (busy, is_busy) = channel();
        let (free, is_free) = channel::<()>();
        threads.spawn(move || {
            busy.send(()).expect("the test receives");
            let _ = is_free.recv();
        });
        is_busy.recv().expect("the thread is busy");
        let calls = AtomicU32::new(0);
        share_on(&threads, &|| {
            calls.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(calls.load(Ordering::Relaxed), 1);
        drop(free);
        threads.install(|| ()); // by now the thread has found the work closed
        assert_eq!(calls.load(Ordering::Relaxed), 1, "closed work is not executed");
    }

    #[test]
    fn work_waits_for_the_threads_that_help() {
        let threads = threads(1);
        let own = std::thread::current().id();
        let turn = std::sync::Barrier::new(2);
        let ended = AtomicU32::new(0);
        share_on(&threads, &|| {
            turn.wait(); // both threads have begun
            if std::thread::current().id() != own {
                (0..1000).for_each(|_| std::thread::yield_now());
            }
            ended.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(ended.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn a_panic_of_a_helping_thread_is_a_panic_of_the_owner() {
        let threads = threads(1);
        let own = std::thread::current().id();
        let (sender, receiver) = sync_channel(1);
        let receiver = Mutex::new(receiver);
        let shared = catch_unwind(AssertUnwindSafe(|| {
            share_on(&threads, &|| {
                if std::thread::current().id() == own {
                    receiver.lock().expect("one call").recv().expect("the other thread has begun");
                } else {
                    sender.send(()).expect("the owner receives");
                    std::panic::resume_unwind(Box::new("on purpose"));
                }
            });
        }));
        assert!(shared.is_err());
    }
}
