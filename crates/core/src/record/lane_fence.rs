//! The fence of a lane whose submissions wgpu makes.

use crate::record::mapped_buffers::DownloadBuffer;
use fencepost_sync::Value;
use fencepost_sync::backend::{Fence, PortableFence};
use std::sync::Arc;

/// A fence that follows wgpu's own callbacks. A native signal could not be trusted: whoever else submits to the queue,
/// as the program may, would take it along.
#[derive(Clone)]
pub(crate) struct LaneFence(Arc<PortableFence>);

impl LaneFence {
    pub(crate) fn new(fence: PortableFence) -> Self {
        Self(Arc::new(fence))
    }

    pub(crate) fn shared(&self) -> Arc<dyn Fence> {
        self.0.clone()
    }

    /// After a submission: has the fence wait for its callbacks and for the maps of `reads`.
    pub(crate) fn arm(&self, queue: &wgpu::Queue, value: Value, reads: &[DownloadBuffer]) {
        let mut arrivals = self.0.arm(value, reads.len() + 1).into_iter();
        for (read, arrival) in reads.iter().zip(arrivals.by_ref()) {
            read.map(arrival);
        }
        for arrival in arrivals {
            queue.on_submitted_work_done(move || drop(arrival));
        }
    }
}
