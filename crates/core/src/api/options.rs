//! How contexts are opened.

use crate::device::CostModel;
use crate::device::adapter_choice::AdapterChoice;
use crate::record::recorder_choice::RecorderChoice;
use crate::scheduler::ordering::policy::Policy;
use std::path::PathBuf;
use std::time::Duration;

/// How a context is opened.
///
/// # Example
/// ```no_run
/// use fencepost::{AdapterChoice, Context, ContextOptions, Policy};
/// let options = ContextOptions {
///     adapter: AdapterChoice::Name("llvmpipe".into()),
///     policy: Policy::Checked,
///     ..ContextOptions::default()
/// };
/// let ctx = Context::with_options(options).wait()?;
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ContextOptions {
    /// Which adapter.
    pub adapter: AdapterChoice,
    /// What to do about uses of the same bytes that the program leaves unordered.
    pub policy: Policy,
    /// What records the work for the device.
    pub recorder: RecorderChoice,
    /// How much device time late a result may be reported, so that later work shares its submission: 1 ms (rule E02). More
    /// time makes fewer submissions; with `Duration::MAX` no batch ends for a result.
    pub lateness: Duration,
    /// A folder in which compiled kernels are kept for the next run of a program; `None`: nowhere.
    ///
    /// It is made when the first kernel is compiled, and has one file for each form of a kernel, device and driver. What is
    /// damaged, or of another device or driver, is ignored and compiled anew; a folder that cannot be written is a warning of
    /// the log. Programs may share it, also at the same time. Drivers read the files: the folder must be one that only
    /// trusted programs write. Vulkan's drivers give such data out; elsewhere nothing is kept. What a driver
    /// puts into it is the driver's affair: those of llvmpipe and SwiftShader keep no code, and many drivers have a folder of
    /// their own. A relative path is one of the working folder at the time of opening.
    pub kernel_folder: Option<PathBuf>,
}

impl Default for ContextOptions {
    fn default() -> Self {
        let (adapter, policy, recorder, kernel_folder) = Default::default();
        Self { adapter, policy, recorder, lateness: CostModel::LATENESS, kernel_folder }
    }
}

/// How a context takes over a wgpu device: [`Context::adopt`](crate::Context::adopt).
///
/// # Example
/// ```
/// use fencepost::AdoptOptions;
/// let options = AdoptOptions::default();
/// assert!(!options.alone && options.threads);
/// ```
#[derive(Clone, Debug)]
pub struct AdoptOptions {
    /// What to do about uses of the same bytes that the program leaves unordered.
    pub policy: Policy,
    /// What records the work for the device.
    pub recorder: RecorderChoice,
    /// The program submits nothing to the queue as long as the context lives: then submissions may go past wgpu, with a native
    /// fence. What it hands to [`submit_foreign`](crate::CommandQueue::submit_foreign) the context submits.
    pub alone: bool,
    /// The context has threads. Without them a call that flushes or waits does their work on its own thread, and the same calls
    /// do the same each time.
    pub threads: bool,
    /// As [`ContextOptions::lateness`].
    pub lateness: Duration,
    /// As [`ContextOptions::kernel_folder`], for a device that was made with `wgpu::Features::PIPELINE_CACHE`.
    pub kernel_folder: Option<PathBuf>,
}

impl Default for AdoptOptions {
    fn default() -> Self {
        let (policy, recorder, kernel_folder) = Default::default();
        let lateness = CostModel::LATENESS;
        Self { policy, recorder, alone: false, threads: true, lateness, kernel_folder }
    }
}
