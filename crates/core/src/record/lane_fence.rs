//! The fence of a lane that submits through wgpu.

use crate::record::mapped_buffers::DownloadBuffer;
use fencepost_sync::TimelineValue;
use fencepost_sync::backend::{Fence, PortableFence};
use std::sync::Arc;

/// A fence that passes a value when wgpu's own callbacks for its submission have run. A native signal would not be
/// reliable, because another submission to the same queue, such as one of user code, could carry the signal.
#[derive(Clone)]
pub(crate) struct LaneFence(Arc<PortableFence>);

impl LaneFence {
    pub(crate) fn new(fence: PortableFence) -> Self {
        Self(Arc::new(fence))
    }

    pub(crate) fn shared(&self) -> Arc<dyn Fence> {
        self.0.clone()
    }

    /// Makes the fence pass `value` after the callback of the last submission and after the maps of `reads`, the
    /// download buffers of that submission.
    pub(crate) fn arm(&self, queue: &wgpu::Queue, value: TimelineValue, reads: &[DownloadBuffer]) {
        let mut arrivals = self.0.arm(value, reads.len() + 1).into_iter();
        for (read, arrival) in reads.iter().zip(arrivals.by_ref()) {
            read.map(arrival);
        }
        for arrival in arrivals {
            queue.on_submitted_work_done(move || drop(arrival));
        }
    }
}
