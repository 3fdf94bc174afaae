//! The lane of a wgpu device. Its recorder and its fence depend on the way in which batches are submitted.
//!
//! At each replay, the commands of a graph are recorded again, except launches that were recorded once.

use crate::device::wgpu_device::{SubmitPath, WgpuDevice};
use crate::device::{Lane, Recorder};
#[cfg(native)]
use crate::driver::backend::{Backend, BackendVisitor, with_backend};
#[cfg(target_arch = "wasm32")]
use crate::driver::page::{after, after_the_event_loop, contains_naga};
use crate::error::{ErrorDetail, Result};
#[cfg(native)]
use crate::record::hal::hal_recorder::HalRecorder;
use crate::record::transfers::DownloadBuffer;
use crate::record::wgpu::wgpu_recorder::WgpuRecorder;
use crate::work::graph::nodes::GraphNode;
use crate::work::graph::plan::GraphPlan;
use crate::work::step::Work;
use fencepost_sync::TimelineValue;
#[cfg(native)]
use fencepost_sync::backend::HalFence;
use fencepost_sync::backend::{Arrival, Fence, PortableFence};
use std::sync::Arc;
#[cfg(target_arch = "wasm32")]
use std::sync::Weak;
#[cfg(target_arch = "wasm32")]
use std::time::Duration;
use std::{env, fmt};

/// Returns the lane of the device's only queue.
///
/// # Errors
/// Returns `Device` if the driver cannot make the objects that a native recorder needs.
pub(crate) fn open_lanes(device: &Arc<WgpuDevice>) -> Result<Vec<Lane>> {
    let (recorder, fence) = recorder(device)?;
    let parts = &device.parts;
    let executes_in_submit = device.raw().adapter_info().backend == wgpu::Backend::Gl;
    let async_submit = parts.async_submit;
    let cost_model = parts.cost_model;
    Ok(vec![Lane { recorder, fence, async_submit, executes_in_submit, cost_model }])
}

/// A recorder, and the fence that reports the completion of its submissions.
type LaneParts = (Box<dyn Recorder>, Arc<dyn Fence>);

/// Makes the native recorder of a device, or the wgpu recorder if the device does not use a native one.
fn recorder(device: &Arc<WgpuDevice>) -> Result<LaneParts> {
    #[cfg(native)]
    if device.parts.native.is_some() && device.parts.submit_path != SubmitPath::Wgpu {
        let native = with_backend(device.raw().adapter_info().backend, NativeRecorder(device));
        if let Some(recording) = native {
            return recording;
        }
    }
    let fence = LaneFence::new(device);
    let shared = fence.shared();
    Ok((Box::new(WgpuRecorder::new(device.clone(), fence)), shared))
}

/// The maker of a device's native recorder, for [`with_backend`].
#[cfg(native)]
struct NativeRecorder<'a>(&'a Arc<WgpuDevice>);

#[cfg(native)]
impl BackendVisitor for NativeRecorder<'_> {
    type Output = Result<LaneParts>;

    fn visit<A: Backend>(self) -> Result<LaneParts> {
        let device = self.0.clone();
        if device.parts.submit_path == SubmitPath::Hal {
            let fence = LaneFence::new(&device);
            let shared = fence.shared();
            return Ok((Box::new(HalRecorder::<A>::through_wgpu(device, fence)), shared));
        }
        let made = HalFence::<A>::new(device.raw(), device.lost().clone(), device.gate().turn().clone());
        let refused = |error: fencepost_sync::Error| ErrorDetail::Device {
            object: "a fence".into(),
            message: error.to_string(),
        };
        let fence = Arc::new(made.map_err(refused)?);
        Ok((Box::new(HalRecorder::direct(device, fence.clone())), fence))
    }
}

const VARIABLE: &str = "FENCEPOST_RECORDER";

/// The recorder that turns the batches of a context into calls of its device. Every choice gives the same results.
///
/// # Example
/// ```no_run
/// use fencepost::{Context, ContextOptions, RecorderChoice};
/// let options = ContextOptions::default().recorder(RecorderChoice::Hal);
/// let ctx = Context::with_options(options).wait()?;
/// assert!(ctx.diagnostics().state_dump().contains("recorder hal"));   // if the device supports it
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecorderChoice {
    /// The recorder that `FENCEPOST_RECORDER` names: `wgpu`, `hal` or `direct`. Without the variable, this is
    /// [`Direct`](Self::Direct) on Vulkan, and [`Wgpu`](Self::Wgpu) on other backends and on adopted devices.
    #[default]
    Auto,
    /// Recording and submission through wgpu. This is safe Rust and works on every device.
    Wgpu,
    /// Recording through wgpu-hal, with as few barriers as possible, and submission through wgpu. In a browser, this is
    /// [`Wgpu`](Self::Wgpu).
    Hal,
    /// Recording and submission through wgpu-hal. This is the fastest. If other code also submits to the device, this
    /// is [`Hal`](Self::Hal).
    Direct,
}

impl RecorderChoice {
    /// Returns `self`, or if it is `Auto`, the choice that the environment variable names.
    ///
    /// # Errors
    /// Returns `Setting` if the variable names no recorder.
    pub(crate) fn or_variable(self) -> Result<Self> {
        match self {
            Self::Auto => named(&env::var_os(VARIABLE).unwrap_or_default().to_string_lossy()),
            chosen => Ok(chosen),
        }
    }

    /// Returns how batches are submitted to a device of this adapter.
    pub(crate) fn submit_path(self, adapter: &wgpu::AdapterInfo) -> SubmitPath {
        match self {
            Self::Auto if adapter.backend == wgpu::Backend::Vulkan => SubmitPath::Direct,
            Self::Auto | Self::Wgpu => SubmitPath::Wgpu,
            Self::Hal => SubmitPath::Hal,
            Self::Direct => SubmitPath::Direct,
        }
    }
}

fn named(value: &str) -> Result<RecorderChoice> {
    match value {
        "" => Ok(RecorderChoice::Auto),
        "wgpu" => Ok(RecorderChoice::Wgpu),
        "hal" => Ok(RecorderChoice::Hal),
        "direct" => Ok(RecorderChoice::Direct),
        other => Err(unknown(other)),
    }
}

fn unknown(value: &str) -> crate::error::Error {
    ErrorDetail::Setting { name: VARIABLE, value: value.into(), needed: "`wgpu`, `hal` or `direct`" }.into()
}

/// The way in which later replays of a graph reach the device, as reported by
/// [`Graph::statistics`](crate::Graph::statistics). While a profiler runs, replays record all commands in any case.
///
/// # Example
/// ```
/// use fencepost::graph::ReplayForm;
/// # let (ctx, queue) = fencepost::doctest();
/// let mut x = ctx.zeros::<u32, 1>([4])?;
/// let (graph, ()) = queue.capture(|c| c.fill(&mut x, 7))?;
/// assert!(matches!(graph.statistics().replay, ReplayForm::Encoded { .. }));
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ReplayForm {
    /// Some launches are in command buffers that were recorded once. Each replay records only the other commands.
    Native {
        /// Number of launches that were recorded once.
        launches: usize,
    },
    /// Each replay records all commands.
    Encoded {
        /// Reason why no launch can be recorded once.
        reason: &'static str,
    },
}

impl fmt::Display for ReplayForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Native { launches } => write!(f, "native: {launches} launches are recorded once"),
            Self::Encoded { reason } => write!(f, "encoded: {reason}"),
        }
    }
}

/// Reason why a graph has no launches that are recorded once, although its device could replay them.
const TOO_SHORT: &str = "fewer than 100 launches are in a row: other commands, named values, bodies, and grids from the \
                         device end a row";

/// Returns the form of the replays of a plan. `device` is `None` for the CPU device and the simulator.
pub(crate) fn replay_form(device: Option<&WgpuDevice>, plan: &GraphPlan) -> ReplayForm {
    let Some(device) = device else {
        return ReplayForm::Encoded {
            reason: "the CPU device and the simulator execute the commands themselves",
        };
    };
    if let Some(reason) = obstacle(device) {
        return ReplayForm::Encoded { reason };
    }
    let limit = device.parts.native_replay_from.max(1);
    let launches = plan.segments.iter().flat_map(|segment| {
        let mut stretches = vec![0];
        for &node in &segment.order.sorted {
            let node = plan.nodes.get(node);
            let has_values = plan.values_of(&node.command).next().is_some();
            match executes_plainly(device, node).filter(|_| !has_values) {
                None => stretches.push(0),
                Some(counts) => *stretches.last_mut().expect("bug: no stretch") += usize::from(counts),
            }
        }
        stretches
    });
    match launches.filter(|&length| length >= limit).sum() {
        0 => ReplayForm::Encoded { reason: TOO_SHORT },
        launches => ReplayForm::Native { launches },
    }
}

/// Returns the reason why replays on this device cannot be native, if there is one.
fn obstacle(device: &WgpuDevice) -> Option<&'static str> {
    let backend = device.raw().adapter_info().backend;
    if !matches!(backend, wgpu::Backend::Vulkan | wgpu::Backend::Noop) {
        return Some("only Vulkan submits a command buffer many times");
    }
    if device.parts.submit_path != SubmitPath::Direct {
        return Some("another recorder than the direct one was chosen");
    }
    if backend == wgpu::Backend::Vulkan && device.parts.adapter.is_none() {
        return Some("the program opened the device");
    }
    None
}

/// Returns `None` if the node ends a stretch, and otherwise `true` if the device executes it.
fn executes_plainly(device: &WgpuDevice, node: &GraphNode) -> Option<bool> {
    let Work::Launch(launch) = &node.command.work else { return None };
    let bytes = 4 * launch.params.words().len();
    let is_plain = node.gate.is_none()
        && launch.indirect.is_none()
        && bytes <= device.parts.caps.max_immediates as usize
        && !launch.bindings.iter().any(|bound| bound.block.is_external());
    is_plain.then(|| !launch.groups.contains(&0))
}

/// A fence that passes a value when wgpu's own callbacks for its submission have run. A native signal would not be
/// reliable, because it could be attached to another submission to the same queue, such as one of user code.
#[derive(Clone)]
pub(crate) struct LaneFence {
    fence: Arc<PortableFence>,
    #[cfg(target_arch = "wasm32")]
    check: Option<LossCheck>,
}

impl LaneFence {
    pub(crate) fn new(device: &WgpuDevice) -> Self {
        let turn = device.gate().turn().clone();
        Self {
            fence: Arc::new(PortableFence::new(device.raw(), device.lost().clone(), turn)),
            #[cfg(target_arch = "wasm32")]
            check: contains_naga().then(|| LossCheck::new(device.raw())),
        }
    }

    pub(crate) fn shared(&self) -> Arc<dyn Fence> {
        self.fence.clone()
    }

    /// Makes the fence pass `value` after the callback of the last submission and after the maps of `reads`, the
    /// download buffers of the batch. `value` also waits for the returned arrivals, whose number is `late`. Each stands
    /// for the errors of a part of the batch.
    pub(crate) fn arm(
        &self,
        queue: &wgpu::Queue,
        value: TimelineValue,
        reads: &[&DownloadBuffer],
        late: usize,
    ) -> std::vec::IntoIter<Arrival> {
        let mut arrivals = self.fence.arm(value, reads.len() + 1 + late).into_iter();
        for (read, arrival) in reads.iter().zip(arrivals.by_ref()) {
            read.map(arrival);
        }
        let done = arrivals.next();
        #[cfg(not(target_arch = "wasm32"))]
        queue.on_submitted_work_done(move || drop(done));
        #[cfg(target_arch = "wasm32")]
        {
            self.check.iter().for_each(LossCheck::ask);
            // The loss arrives in a task of its own, so the end waits for one.
            queue.on_submitted_work_done(move || after_the_event_loop(move || drop(done)));
            nudge(Arc::downgrade(&self.fence), queue.clone(), value, FIRST_NUDGE);
        }
        arrivals
    }
}

/// A mappable buffer that is never used. Firefox reports the loss of a device that the program has destroyed only when the
/// device is used or ten times a second, and a submission is no such use: its end would come first, and look like success.
#[cfg(target_arch = "wasm32")]
#[derive(Clone)]
struct LossCheck(wgpu::Buffer);

#[cfg(target_arch = "wasm32")]
impl LossCheck {
    fn new(device: &wgpu::Device) -> Self {
        let label = Some("check for a loss");
        let usage = wgpu::BufferUsages::MAP_READ;
        Self(device.create_buffer(&wgpu::BufferDescriptor {
            label,
            size: 4,
            usage,
            mapped_at_creation: false,
        }))
    }

    /// Makes the browser report a loss before the end of work whose end is asked for next.
    fn ask(&self) {
        self.0.slice(..).map_async(wgpu::MapMode::Read, drop);
        self.0.unmap();
    }
}

/// Time from a submission in a page to the empty one that follows it. Each next one follows after twice the time, up to
/// [`LONGEST_NUDGE`].
#[cfg(target_arch = "wasm32")]
const FIRST_NUDGE: Duration = Duration::from_millis(1);
/// Longest time between empty submissions, by which the end of work is noticed late.
#[cfg(target_arch = "wasm32")]
const LONGEST_NUDGE: Duration = Duration::from_millis(8);

/// Makes empty submissions until the device has completed `value`, or another submission follows. Firefox looks for
/// completed work when something is submitted, and otherwise ten times a second.
#[cfg(target_arch = "wasm32")]
fn nudge(fence: Weak<PortableFence>, queue: wgpu::Queue, value: TimelineValue, delay: Duration) {
    // Without timers, the browser finds the completed work later.
    let _ = after(delay, move || {
        if fence.upgrade().is_some_and(|fence| fence.awaited() == Some(value)) {
            queue.submit([]);
            nudge(fence, queue, value, LONGEST_NUDGE.min(2 * delay));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_names_a_recorder_or_is_an_error() {
        assert_eq!(named("hal").ok(), Some(RecorderChoice::Hal));
        assert_eq!(named("").ok(), Some(RecorderChoice::Auto));
        assert_eq!(RecorderChoice::Direct.or_variable().ok(), Some(RecorderChoice::Direct));
        let error = named("cuda").expect_err("there is no such recorder");
        assert_eq!(
            error.to_string(),
            "variable `FENCEPOST_RECORDER` is `cuda`; it must be `wgpu`, `hal` or `direct`"
        );
    }
}
