//! The options for opening a context.

use crate::device::adapter::AdapterChoice;
use crate::device::checks::CheckOptions;
use crate::device::wgpu_device::BacklogLimit;
use crate::device::{CostModel, LAUNCH_LIMIT};
use crate::memory::uses::Policy;
use crate::record::lanes::RecorderChoice;
use crate::runtime::context_tuning::TuningChoice;
use std::path::PathBuf;
use std::time::Duration;

/// The options of [`Context::with_options`](crate::Context::with_options).
///
/// # Example
/// ```no_run
/// use fencepost::{AdapterChoice, Context, ContextOptions, Policy};
/// let options = ContextOptions::default().adapter(AdapterChoice::Name("llvmpipe".into())).policy(Policy::Checked);
/// let ctx = Context::with_options(options).wait()?;
/// # Ok::<(), fencepost::Error>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct ContextOptions {
    /// Adapter to open.
    pub adapter: AdapterChoice,
    /// Policy for uses of the same bytes that the program does not order.
    pub policy: Policy,
    /// Recorder that records and submits the work.
    pub recorder: RecorderChoice,
    /// Longest delay of a result, in device time. Later work may join the submission of a result's work as long as the
    /// result is at most this late. A longer time means fewer submissions; with `Duration::MAX`, no batch is closed
    /// early for the sake of a result. The default is 1 ms (rule E02).
    pub lateness: Duration,
    /// Folder that keeps compiled kernels for the next run of the program, or `None` to keep none.
    ///
    /// The folder is made when the first kernel is compiled. Each variant of a kernel has one file for each device and
    /// driver. If a file is damaged, or belongs to another device or driver, it is ignored and the kernel is compiled
    /// again. If the folder cannot be written, the log has a warning. Several programs may share the folder at the same
    /// time. Drivers trust the files, so only trusted programs may have write access to the folder. Files are kept only
    /// on Vulkan, and the driver decides what they contain. A relative path starts at the working directory at the time
    /// of opening.
    ///
    /// The folder also has a file with the measured choices of [`tuning`](Self::tuning), for every kind of adapter.
    pub kernel_folder: Option<PathBuf>,
    /// If set, every launch on the CPU device is checked; other adapters ignore this option. The environment variable
    /// `FENCEPOST_CHECK=1` turns on the default checks; a value other than `0` and `1` is an error.
    ///
    /// A check finds races between invocations and between workgroups, reads of device memory that nothing wrote,
    /// indices out of range, barriers that only some invocations reach, and what [`CheckOptions`] adds.
    /// [`Diagnostics::take_findings`](crate::Diagnostics::take_findings) returns each mistake once, and the log shows
    /// it as an error. A checked kernel is interpreted, which makes it much slower. New arrays never reuse memory that
    /// an unfinished command uses, so a checked program may need more memory. In a browser, the page waits until a checked
    /// launch ends.
    pub check: Option<CheckOptions>,
    /// Time limit of each launch on the CPU device, and of each loop with [`Bound::Chunked`](crate::Bound::Chunked) on
    /// any device. The default is 60 seconds, and `Duration::MAX` means no limit.
    ///
    /// A loop that exceeds the limit ends after its submitted chunks, and its queue fails with
    /// [`LoopTooLong`](crate::ErrorDetail::LoopTooLong). The host's clock measures the time from the first chunk on.
    ///
    /// A launch that exceeds the limit is stopped, and its queue fails with
    /// [`LaunchTooLong`](crate::ErrorDetail::LaunchTooLong); its writes so far stay. Until then, the launch holds up
    /// the other queues of the context. The host's clock measures the time from the first workgroup on; in a browser, only
    /// the time in which the page executes the launch. A host function that replaces a kernel has no limit, and in a
    /// browser a launch with checks has none. On other adapters, the operating system may limit the time of a kernel, and
    /// then the device is lost.
    pub launch_limit: Duration,
    /// If `true`, a WGSL text that a browser would refuse is an error. If `false`, the default, the text runs anyway,
    /// and [`DynKernel::warnings`](crate::DynKernel::warnings) and the log list what a browser would refuse (rule K13).
    pub portable_wgsl: bool,
    /// Limit of the work that is enqueued but not yet given to the device (rule Q16).
    pub backlog: BacklogLimit,
    /// Source of the choices among the variants of the verbs' kernels (rule A26).
    pub tuning: TuningChoice,
}

impl Default for ContextOptions {
    fn default() -> Self {
        Self {
            adapter: AdapterChoice::default(),
            policy: Policy::default(),
            recorder: RecorderChoice::default(),
            lateness: CostModel::LATENESS,
            kernel_folder: None,
            check: None,
            launch_limit: LAUNCH_LIMIT,
            portable_wgsl: false,
            backlog: BacklogLimit::default(),
            tuning: TuningChoice::default(),
        }
    }
}

impl ContextOptions {
    /// Sets the adapter to open.
    #[must_use]
    pub fn adapter(mut self, adapter: AdapterChoice) -> Self {
        self.adapter = adapter;
        self
    }

    /// Sets the policy for uses that the program does not order.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets the recorder.
    #[must_use]
    pub fn recorder(mut self, recorder: RecorderChoice) -> Self {
        self.recorder = recorder;
        self
    }

    /// Sets the longest delay of a result, in device time.
    #[must_use]
    pub fn lateness(mut self, lateness: Duration) -> Self {
        self.lateness = lateness;
        self
    }

    /// Sets the folder that keeps compiled kernels.
    #[must_use]
    pub fn kernel_folder(mut self, kernel_folder: impl Into<PathBuf>) -> Self {
        self.kernel_folder = Some(kernel_folder.into());
        self
    }

    /// Sets the checks of launches on the CPU device.
    #[must_use]
    pub fn check(mut self, check: impl Into<Option<CheckOptions>>) -> Self {
        self.check = check.into();
        self
    }

    /// Sets the time limit of a launch on the CPU device, and of a chunked loop.
    #[must_use]
    pub fn launch_limit(mut self, launch_limit: Duration) -> Self {
        self.launch_limit = launch_limit;
        self
    }

    /// With `true`, refuses WGSL that a browser would refuse.
    #[must_use]
    pub fn portable_wgsl(mut self, portable_wgsl: bool) -> Self {
        self.portable_wgsl = portable_wgsl;
        self
    }

    /// Sets the limit of the work that is enqueued but not yet given to the device.
    #[must_use]
    pub fn backlog(mut self, backlog: BacklogLimit) -> Self {
        self.backlog = backlog;
        self
    }

    /// Sets the source of the choices among the variants of the verbs' kernels.
    #[must_use]
    pub fn tuning(mut self, tuning: TuningChoice) -> Self {
        self.tuning = tuning;
        self
    }
}

/// The options of [`Context::adopt`](crate::Context::adopt), which makes a context on an existing wgpu device.
///
/// # Example
/// ```
/// use fencepost::AdoptOptions;
/// let options = AdoptOptions::default();
/// assert!(!options.exclusive && options.threads);
/// ```
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct AdoptOptions {
    /// Policy for uses of the same bytes that the program does not order.
    pub policy: Policy,
    /// Recorder that records and submits the work.
    pub recorder: RecorderChoice,
    /// `true` if the program itself submits nothing to the wgpu queue while the context exists. Then the context may
    /// bypass wgpu and submit with a native fence, unless several contexts share the device. The program can still pass
    /// commands to [`submit_foreign`](crate::CommandQueue::submit_foreign).
    pub exclusive: bool,
    /// `true` if the context has threads. Without threads, calls that flush or wait do the threads' work themselves,
    /// which makes runs reproducible.
    pub threads: bool,
    /// The same as [`ContextOptions::lateness`].
    pub lateness: Duration,
    /// The same as [`ContextOptions::kernel_folder`], for a device that was made with `wgpu::Features::PIPELINE_CACHE`.
    pub kernel_folder: Option<PathBuf>,
    /// The same as [`ContextOptions::launch_limit`], for loops.
    pub launch_limit: Duration,
    /// The same as [`ContextOptions::portable_wgsl`].
    pub portable_wgsl: bool,
    /// The same as [`ContextOptions::backlog`].
    pub backlog: BacklogLimit,
    /// The same as [`ContextOptions::tuning`].
    pub tuning: TuningChoice,
}

impl Default for AdoptOptions {
    fn default() -> Self {
        let options = ContextOptions::default();
        Self {
            policy: options.policy,
            recorder: options.recorder,
            exclusive: false,
            threads: true,
            lateness: options.lateness,
            kernel_folder: options.kernel_folder,
            launch_limit: options.launch_limit,
            portable_wgsl: options.portable_wgsl,
            backlog: options.backlog,
            tuning: options.tuning,
        }
    }
}

impl AdoptOptions {
    /// Sets the policy for uses that the program does not order.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets the recorder.
    #[must_use]
    pub fn recorder(mut self, recorder: RecorderChoice) -> Self {
        self.recorder = recorder;
        self
    }

    /// With `true`, promises that the program itself submits nothing to the queue.
    #[must_use]
    pub fn exclusive(mut self, exclusive: bool) -> Self {
        self.exclusive = exclusive;
        self
    }

    /// With `false`, makes a context without threads.
    #[must_use]
    pub fn threads(mut self, threads: bool) -> Self {
        self.threads = threads;
        self
    }

    /// Sets the longest delay of a result, in device time.
    #[must_use]
    pub fn lateness(mut self, lateness: Duration) -> Self {
        self.lateness = lateness;
        self
    }

    /// Sets the folder that keeps compiled kernels.
    #[must_use]
    pub fn kernel_folder(mut self, kernel_folder: impl Into<PathBuf>) -> Self {
        self.kernel_folder = Some(kernel_folder.into());
        self
    }

    /// Sets the time limit of a chunked loop.
    #[must_use]
    pub fn launch_limit(mut self, launch_limit: Duration) -> Self {
        self.launch_limit = launch_limit;
        self
    }

    /// With `true`, refuses WGSL that a browser would refuse.
    #[must_use]
    pub fn portable_wgsl(mut self, portable_wgsl: bool) -> Self {
        self.portable_wgsl = portable_wgsl;
        self
    }

    /// Sets the limit of the work that is enqueued but not yet given to the device.
    #[must_use]
    pub fn backlog(mut self, backlog: BacklogLimit) -> Self {
        self.backlog = backlog;
        self
    }
    /// Sets the source of the choices among the variants of the verbs' kernels.
    #[must_use]
    pub fn tuning(mut self, tuning: TuningChoice) -> Self {
        self.tuning = tuning;
        self
    }
}
