//! Diagnostics of a context: its text dump, its report of waits, its pool, and the messages of its kernels.
//!
//! If `FENCEPOST_DUMP` names a folder, the WGSL of each kernel is also written there.

use crate::api::context::Context;
use crate::arrays::storage::AllocationTracker;
use crate::memory::pool::PoolStats;
use crate::runtime::context_watch::ContextWatch;
use crate::runtime::owner::Owner;
use crate::scheduler::messages::PrintOptions;
use crate::scheduler::ordering::WaitReport;
use fencepost_kernels::{ShaderSource, report};
use fencepost_sync::prim::lock;
use siphasher::sip::SipHasher13;
use std::fmt;
use std::hash::Hasher as _;
use std::path::PathBuf;
use std::sync::LazyLock;

/// The folder of `FENCEPOST_DUMP`, if the variable is set.
static FOLDER: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
    std::env::var_os("FENCEPOST_DUMP").filter(|folder| !folder.is_empty()).map(PathBuf::from)
});

/// Maximum number of characters of an entry point in a file name.
const LONGEST: usize = 80;

/// Writes the text of a kernel, and the snippets that it uses, to the folder of `FENCEPOST_DUMP`, if there is one. If
/// that fails, logs a warning.
pub(crate) fn write(source: &ShaderSource, entry: &str) {
    let Some(folder) = &*FOLDER else { return };
    let Ok(text) = source.whole_text() else { return };
    let path = folder.join(name(entry, &text));
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, text));
    if let Err(error) = written {
        report!(Warn, "`FENCEPOST_DUMP`: cannot write {}: {error}", path.display());
    }
}

/// Returns the file name of a text. Different texts have different names.
fn name(entry: &str, text: &str) -> String {
    let mut hash = SipHasher13::new();
    hash.write(text.as_bytes());
    let entry: String = entry.chars().take(LONGEST).collect();
    format!("{entry}-{:016x}.wgsl", hash.finish())
}

impl Context {
    /// Returns the diagnostics of the context.
    pub fn diagnostics(&self) -> Diagnostics<'_> {
        Diagnostics { owner: &self.owner }
    }

    /// Returns the memory pool of the context.
    pub fn pool(&self) -> Pool<'_> {
        Pool { owner: &self.owner }
    }
}

/// Diagnostics of a context: its state, its waits, and the mistakes of its kernels.
///
/// # Example
/// ```
/// # let (ctx, _) = fencepost::doctest();
/// assert!(ctx.diagnostics().state_dump().contains("queue"));
/// ```
#[derive(Clone, Copy)]
pub struct Diagnostics<'a> {
    owner: &'a Owner,
}

/// The memory pool of a context. All arrays of the context come from it.
///
/// # Example
/// ```
/// # let (ctx, _) = fencepost::doctest();
/// drop(ctx.zeros::<f32, 1>([1024])?);
/// ctx.synchronize().wait()?;
/// ctx.pool().trim();
/// assert_eq!(ctx.pool().stats().used, 0);
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Pool<'a> {
    owner: &'a Owner,
}

impl fmt::Debug for Diagnostics<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Diagnostics({})", self.owner.info())
    }
}

impl fmt::Debug for Pool<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pool({:?})", self.stats())
    }
}

impl Diagnostics<'_> {
    /// Starts (`true`) or stops (`false`) recording the waits that the policy adds, and the redundant waits of the
    /// program. Stopping discards the records. Recording is off at first, and costs nothing while it is off.
    pub fn record_waits(&self, on: bool) {
        self.owner.engine().lock().notes.waits = on.then(Box::default);
    }

    /// Returns the waits since the call of [`record_waits`](Self::record_waits). The report is empty if recording is
    /// off.
    ///
    /// A wait counts as added even if the device had already reached the awaited point. Host waits are not listed. The
    /// policies `Checked` and `Unchecked` add no waits.
    ///
    /// # Example
    /// ```
    /// # let (ctx, _) = fencepost::doctest();
    /// let (a, b) = (ctx.queue("a"), ctx.queue("b"));
    /// let mut x = ctx.zeros::<u32, 1>([4])?;
    /// ctx.diagnostics().record_waits(true);
    /// a.fill(&mut x, 1)?;
    /// b.fill(&mut x, 2)?;                // the policy makes `b` wait for `a`
    /// b.wait_for(&a)?;                   // `b` waits for `a` already
    /// let report = ctx.diagnostics().wait_report();
    /// assert_eq!((&*report.added[0].later.queue, &*report.added[0].earlier.queue), ("b", "a"));
    /// assert_eq!((report.redundant[0].location.file(), report.redundant[0].count), (file!(), 1));
    /// assert!(report.to_string().contains(file!()));         // two tables, with source lines
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn wait_report(&self) -> WaitReport {
        let state = self.owner.engine().lock();
        state.notes.waits.as_ref().map(|log| log.report(&state)).unwrap_or_default()
    }

    /// Returns the state of all queues and lanes as text. It helps to find the wait that blocks a program.
    pub fn state_dump(&self) -> String {
        self.owner.engine().dump(self.owner.info())
    }

    /// Returns a watch that can show [`state_dump`](Self::state_dump) later. It does not keep the context alive.
    pub fn watch(&self) -> ContextWatch {
        self.owner.watch()
    }

    /// Returns the mistakes of kernels that the checks of [`ContextOptions::check`](crate::ContextOptions::check) have
    /// found so far, and clears the list. Without checks, and on every adapter other than the CPU, the list is always
    /// empty.
    ///
    /// If several launches from one source line make the same mistake, they are one finding with a count. At most 1,000
    /// findings are kept.
    ///
    /// # Example
    /// ```
    /// use fencepost::{AdapterChoice, CheckOptions, Context, ContextOptions, Grid, args};
    /// let check = Some(CheckOptions::default());
    /// let options = ContextOptions::default().adapter(AdapterChoice::Cpu).check(check);
    /// let ctx = Context::with_options(options).wait()?;
    /// let text = "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
    ///     @compute @workgroup_size(4) fn k(@builtin(local_invocation_index) i: u32) { x[i / 2u] = i; }";
    /// let (queue, kernel) = (ctx.queue("main"), ctx.kernel_from(text, "k")?);
    /// let mut x = ctx.zeros::<u32, 1>([4])?;
    /// queue.launch_dyn(&kernel, Grid::groups([1]), args![x = &mut x])?;
    /// queue.finish().wait()?;
    /// let findings = ctx.diagnostics().take_findings();
    /// assert!(findings[0].to_string().contains("x[0]"), "two invocations write it: {}", findings[0]);
    /// assert_eq!(findings[0].launch.unwrap().file(), file!());
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[cfg(feature = "cpu")] // `cfg(cpu)`, in a form that the documentation shows
    pub fn take_findings(&self) -> Vec<crate::api::kernel_check::Finding> {
        let cpu = self.owner.cpu().filter(|_| !self.owner.engine().is_in_child());
        cpu.map_or_else(Vec::new, |cpu| cpu.take_findings())
    }
}

impl Pool<'_> {
    /// Returns the statistics of the memory pool and of the staging memory, which is not part of the pool.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = ctx.zeros::<f32, 1>([1024])?;
    /// let stats = ctx.pool().stats();
    /// assert!(stats.used >= 4096 && stats.high_water >= stats.used && stats.arrays == 1);
    /// assert!(stats.total() >= stats.used + stats.free + stats.staging);
    /// # drop((x, queue));
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn stats(&self) -> PoolStats {
        let engine = self.owner.engine();
        let (staging, staging_free) = engine.device.staging();
        PoolStats { staging, staging_free, ..engine.lock().memory.pool.stats() }
    }

    /// Resets the high-water mark to the bytes in use now.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// drop(ctx.zeros::<f32, 1>([1024])?);
    /// ctx.pool().reset_high_water();
    /// assert_eq!(ctx.pool().stats().high_water, 0);
    /// # drop(queue);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn reset_high_water(&self) {
        self.owner.engine().lock().memory.pool.reset_high_water();
    }

    /// Limits the bytes that the driver allocates for the pool. Pinned arrays and free memory count towards the limit;
    /// staging memory does not. `None`, the default, leaves the limit to the driver. The limit is in bytes and not a
    /// fraction, because drivers do not report how much memory there is.
    ///
    /// If a new array would exceed the limit, the pool first returns free memory to the driver. If the array still does
    /// not fit, the call returns [`ErrorDetail::OutOfMemory`](crate::ErrorDetail::OutOfMemory). Existing arrays remain, even if the
    /// limit is below their size.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// ctx.pool().set_limit(Some(1 << 20));
    /// let error = ctx.zeros::<f32, 1>([1 << 20]).unwrap_err();
    /// assert!(error.to_string().contains("arrays use 0 of the 1048576 bytes that the pool may allocate"));
    /// ctx.pool().set_limit(None);
    /// assert!(ctx.zeros::<f32, 1>([1 << 20]).is_ok());
    /// # drop(queue);
    /// ```
    pub fn set_limit(&self, bytes: Option<u64>) {
        self.owner.engine().lock().memory.pool.limit = bytes;
    }

    /// Limits the free bytes that the pool keeps for later arrays. The pool returns the surplus to the driver as soon
    /// as no enqueued or running work uses it. `u64::MAX` keeps all free bytes until [`trim`](Self::trim).
    ///
    /// `None`, the default, keeps twice the recent peak of the bytes used by arrays and running work, and at least 16
    /// MiB. The recent peak covers at least the last 1024 drops of arrays. The pool returns the surplus when a block is
    /// made or a batch completes, starting with the memory that has been free for the longest time.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// ctx.pool().set_release_threshold(Some(0));
    /// drop(ctx.zeros::<f32, 1>([1024])?);
    /// assert_eq!(ctx.pool().stats().free, 0);
    /// # drop(queue);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn set_release_threshold(&self, bytes: Option<u64>) {
        self.owner.engine().lock().memory.pool.threshold = bytes;
        self.owner.engine().release_surplus();
    }

    /// Gives back to the driver all free memory that no enqueued or running work uses, and all idle staging memory.
    /// Returns the number of bytes given back.
    pub fn trim(&self) -> u64 {
        self.owner.engine().trim()
    }

    /// Records every array that is made from now on, until the tracker is dropped; see [`AllocationTracker`]. Without a
    /// tracker, nothing is recorded.
    pub fn track(&self) -> AllocationTracker {
        AllocationTracker::new(self.owner.clone())
    }
}

impl Context {
    /// Sets what the context does with the lines that kernels `print`. The new capacity applies to later launches and
    /// captures; the new receiver gets all lines that are not yet delivered.
    ///
    /// # Example
    /// ```
    /// use fencepost::{Grid, PrintOptions, args};
    /// use fencepost::print::PrintTo;
    /// use std::sync::{Arc, Mutex};
    /// # use fencepost::{AdapterChoice, Context, ContextOptions};
    /// # let ctx = Context::with_options(ContextOptions::default().adapter(AdapterChoice::Cpu)).wait()?;
    /// # let queue = ctx.queue("main");
    /// let lines = Arc::new(Mutex::new(String::new()));
    /// let copy = lines.clone();
    /// let to = PrintTo::Function(Arc::new(move |printed| *copy.lock().unwrap() += &printed.to_string()));
    /// ctx.set_print(PrintOptions::default().to(to));
    /// let text = "@compute @workgroup_size(1) fn k(@builtin(global_invocation_id) id: vec3<u32>) {
    ///     print(\"invocation {} of {}\", id.x, 3);
    /// }";
    /// let kernel = ctx.kernel_from(text, "k")?;
    /// queue.launch_dyn(&kernel, Grid::groups([3]), args![])?;
    /// queue.finish().wait()?;
    /// assert_eq!(*lines.lock().unwrap(), "invocation 0 of 3\ninvocation 1 of 3\ninvocation 2 of 3\n");
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn set_print(&self, options: PrintOptions) {
        if self.owner.engine().is_in_child() {
            return; // launches cannot print there
        }
        let old = std::mem::replace(&mut *lock(&self.owner.engine().print_options), options);
        drop(old); // without the lock, because dropping a closure may run user code
    }
}

#[cfg(all(test, cpu))]
mod tests {
    use super::*;
    use crate::api::context::Context;
    use crate::record::cpu::cpu_recorder::SimulatorOptions;
    use std::process::Command;

    /// Compiles a kernel in the child process that the next test starts.
    #[test]
    #[ignore = "another test starts it with a folder"]
    fn a_kernel_is_compiled() {
        let ctx = Context::simulated(SimulatorOptions::default());
        let text = crate::builtin_shader("saxpy.wgsl").expect("it is a shader of the library");
        ctx.host_kernel("saxpy", fencepost_kernels::reference("saxpy").expect("it has one"))
            .expect("it is the CPU");
        ctx.kernel_from(text, "saxpy").expect("it compiles");
    }

    #[test]
    fn the_text_of_a_compiled_kernel_is_in_the_folder() {
        let folder = std::env::temp_dir().join(format!("fencepost-texts-{}", std::process::id()));
        let own = concat!(module_path!(), "::a_kernel_is_compiled");
        let (_, own) = own.split_once("::").expect("a path begins with the crate");
        let mut child = Command::new(std::env::current_exe().expect("it runs"));
        child.args(["--ignored", "--exact", own]).env("FENCEPOST_DUMP", &folder);
        assert!(child.output().expect("it starts").status.success());
        let files = std::fs::read_dir(&folder)
            .expect("the folder is made")
            .map(|file| file.expect("it is read").path());
        let texts: Vec<PathBuf> =
            files.filter(|file| file.extension().is_some_and(|kind| kind == "wgsl")).collect();
        let [file] = &texts[..] else { panic!("{texts:?}") };
        assert!(std::fs::read_to_string(file).expect("it is written").contains("fn saxpy("));
        std::fs::remove_dir_all(folder).expect("it is there");
    }

    #[test]
    fn equal_texts_have_one_file() {
        assert_eq!(name("sum", "a"), name("sum", "a"));
        assert_ne!(name("sum", "a"), name("sum", "b"));
        let long = name(&"é".repeat(200), "a");
        assert!(long.starts_with('é') && long.len() < 255, "{long}");
    }
}
