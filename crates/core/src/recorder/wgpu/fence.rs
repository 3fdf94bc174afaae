//! The fence of a lane, as its recorder signals it.

use fencepost_sync::Value;
use fencepost_sync::backend::{Fence, PortableFence, VulkanFence};
use std::sync::Arc;

/// One of the fences that wgpu submissions can signal.
#[derive(Clone)]
pub(crate) enum LaneFence {
    Vulkan(Arc<VulkanFence>),
    Portable(Arc<PortableFence>),
}

impl LaneFence {
    pub(crate) fn shared(&self) -> Arc<dyn Fence> {
        match self {
            Self::Vulkan(fence) => fence.clone(),
            Self::Portable(fence) => fence.clone(),
        }
    }

    /// Makes the next submission signal `value`; `false` if the device is gone.
    pub(super) fn stage_signal(&self, queue: &wgpu::Queue, value: Value) -> bool {
        match self {
            Self::Vulkan(fence) => fence.stage_signal(queue, value),
            Self::Portable(_) => true,
        }
    }

    /// Makes the next submission wait for `value`; `false` if the device is gone. Portable lanes share one queue,
    /// where the order of submissions is enough.
    pub(super) fn stage_wait(&self, queue: &wgpu::Queue, value: Value) -> bool {
        match self {
            Self::Vulkan(fence) => fence.stage_wait(queue, value),
            Self::Portable(_) => true,
        }
    }

    pub(super) fn unstage_wait(&self, queue: &wgpu::Queue) {
        if let Self::Vulkan(fence) = self {
            fence.unstage_wait(queue);
        }
    }

    /// Takes a staged signal back; `false` if a submission took it, and so went through.
    pub(super) fn unstage_signal(&self, queue: &wgpu::Queue, value: Value) -> bool {
        match self {
            Self::Vulkan(fence) => fence.unstage_signal(queue, value),
            Self::Portable(_) => true,
        }
    }

    /// Whether a submission that wgpu did not complain about never was one: its signal is still staged, and taken
    /// back now. So wgpu treats submissions to a device that it knows to be dead.
    pub(super) fn swallowed(&self, queue: &wgpu::Queue, value: Value) -> bool {
        matches!(self, Self::Vulkan(fence) if fence.unstage_signal(queue, value))
    }

    /// After a submission: has the portable fence wait for its callbacks and for the maps of `reads`.
    pub(super) fn arm(&self, queue: &wgpu::Queue, value: Value, reads: &[super::portable::ReadBuffer]) {
        let Self::Portable(fence) = self else { return };
        let mut arrivals = fence.arm(value, reads.len() + 1).into_iter();
        for (read, arrival) in reads.iter().zip(arrivals.by_ref()) {
            read.map(arrival);
        }
        for arrival in arrivals {
            queue.on_submitted_work_done(move || drop(arrival));
        }
    }
}
