//! Submissions through wgpu, each with a value that the lane's fence passes when the submission is complete.

use crate::device::bind_groups::BindGroups;
use crate::device::recorder::Failure;
use crate::device::wgpu_device::WgpuDevice;
use crate::driver::error_scopes::{Operation, scoped};
use crate::error::Kind;
use crate::record::lane_fence::LaneFence;
use crate::record::mapped_buffers::DownloadBuffer;
use fencepost_sync::TimelineValue;
use smallvec::SmallVec;
use std::sync::Arc;

/// Holds the command buffers of a recorded batch: one for most batches.
pub(crate) type CommandBuffers = SmallVec<[wgpu::CommandBuffer; 2]>;

/// Submits for one lane of a wgpu device.
#[derive(Clone)]
pub(crate) struct Submitter {
    device: Arc<WgpuDevice>,
    fence: LaneFence,
}

impl Submitter {
    pub(crate) fn new(device: Arc<WgpuDevice>, fence: LaneFence) -> Self {
        Self { device, fence }
    }

    pub(crate) fn device(&self) -> &Arc<WgpuDevice> {
        &self.device
    }

    pub(crate) fn fence(&self) -> &LaneFence {
        &self.fence
    }

    /// Submits the command buffers that `record` returns, and arms the lane's fence: it passes `signal` when the
    /// submission is complete and wgpu has mapped the buffers of `reads`. Returns the resources that the submission
    /// needs until it is complete.
    pub(crate) fn submit<K>(
        &self,
        signal: TimelineValue,
        record: impl FnOnce() -> Result<(CommandBuffers, K), Failure>,
        reads: impl FnOnce(&K) -> &[DownloadBuffer],
    ) -> Result<K, Failure> {
        let follow = |kept: &K| {
            self.fence.arm(self.device.queue(), signal, reads(kept));
            Ok(())
        };
        submit(&self.device, record, follow)
    }
}

/// Submits the command buffers that `record` returns, then calls `follow`, which makes a fence report the end of the
/// submission. Returns the resources that the submission needs until it is complete.
pub(crate) fn submit<K>(
    device: &WgpuDevice,
    record: impl FnOnce() -> Result<(CommandBuffers, K), Failure>,
    follow: impl FnOnce(&K) -> Result<(), Failure>,
) -> Result<K, Failure> {
    if device.lost().is_raised() {
        return Err(failure(device, None, false));
    }
    let _inside = device.gate().enter_to_submit();
    let submit = || {
        let (commands, kept) = record()?;
        device.queue().submit(commands);
        Ok((kept, device.responds()))
    };
    let (outcome, error) = scoped(device.raw(), submit);
    if error.is_some() {
        device.with_groups(BindGroups::clear); // the cache may hold a bind group whose creation failed
    }
    if error.is_some() || outcome.is_err() {
        device.probe(); // a lost device reports many different errors
    }
    let (kept, responds) = match outcome {
        Err(_) if device.lost().is_raised() => return Err(failure(device, None, false)),
        outcome => outcome?,
    };
    let gone = !responds && error.is_none(); // wgpu then dropped the submission
    let failed = if gone || error.is_some() || device.lost().is_raised() {
        Err(failure(device, error.as_ref(), gone))
    } else {
        follow(&kept)
    };
    match failed {
        Ok(()) => Ok(kept),
        Err(failure) => {
            if failure.lost {
                std::mem::forget(kept); // the device may still use it, and no fence reports the end
            }
            Err(failure)
        }
    }
}

/// Returns the failure of a whole batch, which the scheduler receives. If `gone` is `true`, wgpu no longer records for
/// the device, and the device is marked as lost.
pub(crate) fn failure(device: &WgpuDevice, error: Option<&wgpu::Error>, gone: bool) -> Failure {
    if gone {
        device.lost().raise("wgpu no longer records for the device");
    }
    let object = "a submission";
    device.failure(|| match error {
        Some(error) => Operation { object, bytes: 0 }.failed(error),
        None => Kind::Device { object: object.into(), message: "wgpu reported no reason".into() }.into(),
    })
}
