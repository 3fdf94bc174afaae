//! The form in which the replays of a graph reach the device: recorded at each replay, or recorded once.

use crate::device::wgpu_device::{SubmitPath, WgpuDevice};
use crate::work::graph_data::graph_node::NodeCommand;
use crate::work::graph_data::graph_plan::GraphPlan;
use crate::work::step::Work;

/// Says how the second replay of a graph and later ones reach the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReplayForm {
    /// The device executes this many launches from command buffers that were recorded once.
    Native { launches: usize },
    /// Each replay records all commands, for this reason.
    Encoded { reason: &'static str },
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
        let sorted = segment.order.sorted.iter().map(|&node| plan.command(node));
        let mut stretches = vec![0];
        for command in sorted {
            match executes_plainly(device, command) {
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

/// Returns `None` if the command ends a stretch, and otherwise whether the device executes it.
fn executes_plainly(device: &WgpuDevice, command: &NodeCommand) -> Option<bool> {
    let Work::Launch(launch) = &command.work else { return None };
    let bytes = 4 * launch.params.words().len();
    let is_plain = launch.indirect.is_none()
        && bytes <= device.parts.caps.max_immediates as usize
        && !launch.bindings.iter().any(|bound| bound.block.is_external());
    is_plain.then(|| !launch.groups.contains(&0))
}
