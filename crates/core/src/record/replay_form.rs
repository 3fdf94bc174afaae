//! The form in which the replays of a graph reach the device: recorded at each replay, or recorded once.

use crate::device::wgpu_device::{SubmitPath, WgpuDevice};
use crate::work::graph_data::graph_node::GraphNode;
use crate::work::graph_data::graph_plan::GraphPlan;
use crate::work::step::Work;
use std::fmt;

/// The way in which the second and later replays of a graph reach the device, as
/// [`Graph::statistics`](crate::Graph::statistics) reports it. A profiled replay records all commands in any case.
///
/// # Example
/// ```
/// use fencepost::ReplayForm;
/// # let (ctx, queue) = fencepost::doctest();
/// let mut x = ctx.zeros::<u32, 1>([4])?;
/// let (graph, ()) = queue.capture(|c| c.fill(&mut x, 7))?;
/// assert!(matches!(graph.statistics().replay, ReplayForm::Encoded { .. }));
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ReplayForm {
    /// The device executes `launches` launches from command buffers that were recorded once. Each replay records the
    /// other commands.
    Native {
        /// Number of launches that were recorded once.
        launches: usize,
    },
    /// Each replay records all commands.
    Encoded {
        /// Reason why no launch is recorded once.
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

/// Returns the form of the replays of a plan. The device is `None` on the CPU recorder.
pub(crate) fn replay_form(device: Option<&WgpuDevice>, plan: &GraphPlan) -> ReplayForm {
    let Some(device) = device else {
        return ReplayForm::Encoded { reason: "the CPU recorder executes the commands itself" };
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
        0 => ReplayForm::Encoded { reason: "no stretch of plain launches is long enough" },
        launches => ReplayForm::Native { launches },
    }
}

/// Returns the reason why no replay on the device is native, if there is one.
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

/// Returns `None` if the node ends a stretch, and otherwise whether the device executes it.
fn executes_plainly(device: &WgpuDevice, node: &GraphNode) -> Option<bool> {
    let Work::Launch(launch) = &node.command.work else { return None };
    let bytes = 4 * launch.params.words().len();
    let is_plain = node.gate.is_none()
        && launch.indirect.is_none()
        && bytes <= device.parts.caps.max_immediates as usize
        && !launch.bindings.iter().any(|bound| bound.block.is_external());
    is_plain.then(|| !launch.groups.contains(&0))
}
