//! The options with which a context is opened.

use crate::device::adapter::AdapterChoice;
use crate::device::checks::CheckOptions;
use crate::device::wgpu_device::BacklogLimit;
use crate::device::{CostModel, LAUNCH_LIMIT};
use crate::memory::uses::Policy;
use crate::record::lanes::RecorderChoice;
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
    /// Treatment of uses of the same bytes that the program does not order.
    pub policy: Policy,
    /// Recorder of the work for the device.
    pub recorder: RecorderChoice,
    /// Longest delay of a result in device time: a result may be reported this late, so that later work shares the
    /// submission of the result's work. The default is 1 ms (rule E02). A longer time makes fewer submissions; with
    /// `Duration::MAX`, no batch ends for a result.
    pub lateness: Duration,
    /// Folder that keeps compiled kernels for the next run of a program; with `None`, none are kept.
    ///
    /// The folder is made when the first kernel is compiled. The folder has one file for each form of a kernel, device
    /// and driver. A file that is damaged, or that belongs to another device or driver, is ignored, and its kernel is
    /// compiled again. If the folder cannot be written, the log has a warning. Several programs may share the folder,
    /// even at the same time. Drivers read the files: only trusted programs may have write access to the folder. Only
    /// Vulkan drivers return compiled kernels; elsewhere nothing is kept. The driver decides what the files contain:
    /// the drivers llvmpipe and SwiftShader store no code, and many drivers have a folder of their own. A relative path
    /// is relative to the working folder at the time of opening.
    pub kernel_folder: Option<PathBuf>,
    /// If set, each launch on the CPU as a device is checked; other adapters ignore the option. The environment
    /// variable `FENCEPOST_CHECK=1` does the same with the default options; a value other than `0` and `1` is an error.
    ///
    /// A check finds races between invocations and between workgroups, reads of device memory that nothing wrote,
    /// indices out of range, barriers that only some invocations reach, and what [`CheckOptions`] adds.
    /// [`Diagnostics::take_findings`](crate::Diagnostics::take_findings) returns what was found, each mistake once, and the log
    /// has it as errors. A checked kernel is interpreted, and mostly runs two to four times as long as an interpreted
    /// one without checks. A new array never has memory that an unfinished command uses, so a checked program may need
    /// more memory.
    pub check: Option<CheckOptions>,
    /// Longest time of each launch on the CPU as a device, and of each loop with
    /// [`Bound::Chunked`](crate::Bound::Chunked) on any device. The default is 60 seconds, and `Duration::MAX` means no
    /// limit.
    ///
    /// A loop that runs longer ends after the chunks that are submitted, and ends its queue with
    /// [`LoopTooLong`](crate::ErrorDetail::LoopTooLong). Its time is measured by the host's clock, from its first chunk on.
    ///
    /// A launch that runs longer is stopped and ends its queue with [`LaunchTooLong`](crate::ErrorDetail::LaunchTooLong); its
    /// writes so far stay. Until it is stopped, the launch holds up the other queues of the context. Its time is
    /// measured by the host's clock, from its first workgroup on. A host function that replaces a kernel has no limit.
    /// On other adapters the system limits the time of a kernel, and the device is lost.
    pub launch_limit: Duration,
    /// If `true`, a WGSL text that a browser would refuse is an error. The default is `false`: then the text runs, and
    /// [`DynKernel::warnings`](crate::DynKernel::warnings) and the log say what a browser would refuse (rule K13).
    pub portable_wgsl: bool,
    /// Limit of the work that is enqueued and not given to the device (rule Q16).
    pub backlog: BacklogLimit,
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

    /// Sets the treatment of uses that the program does not order.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets the recorder of the work.
    #[must_use]
    pub fn recorder(mut self, recorder: RecorderChoice) -> Self {
        self.recorder = recorder;
        self
    }

    /// Sets the longest delay of a result.
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

    /// Sets the checks of launches on the CPU as a device.
    #[must_use]
    pub fn check(mut self, check: impl Into<Option<CheckOptions>>) -> Self {
        self.check = check.into();
        self
    }

    /// Sets the longest time of a launch on the CPU as a device, and of a chunked loop.
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

    /// Sets the limit of the work that is enqueued and not given to the device.
    #[must_use]
    pub fn backlog(mut self, backlog: BacklogLimit) -> Self {
        self.backlog = backlog;
        self
    }
}

/// The options of [`Context::adopt`](crate::Context::adopt), which makes a context of a wgpu device.
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
    /// Treatment of uses of the same bytes that the program does not order.
    pub policy: Policy,
    /// Recorder of the work for the device.
    pub recorder: RecorderChoice,
    /// `true` if the program itself submits nothing to the queue while the context exists. The context may then submit
    /// past wgpu, with a native fence. Several contexts on one device submit through wgpu. The context submits the
    /// commands that the program passes to [`submit_foreign`](crate::CommandQueue::submit_foreign).
    pub exclusive: bool,
    /// `true` if the context has threads. Without threads, a call that flushes or waits does the work of the threads
    /// itself, so that the same calls have the same effects in each run.
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
        }
    }
}

impl AdoptOptions {
    /// Sets the treatment of uses that the program does not order.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets the recorder of the work.
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

    /// Sets the longest delay of a result.
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

    /// Sets the longest time of a chunked loop.
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

    /// Sets the limit of the work that is enqueued and not given to the device.
    #[must_use]
    pub fn backlog(mut self, backlog: BacklogLimit) -> Self {
        self.backlog = backlog;
        self
    }
}
