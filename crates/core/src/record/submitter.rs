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
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Command buffers of a recorded batch: one for most batches.
pub(crate) type CommandBuffers = SmallVec<[wgpu::CommandBuffer; 2]>;

/// The submissions of one lane of a wgpu device.
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
    let mut recorded = None;
    let submit = || {
        let (commands, kept) = record()?;
        recorded = Some(kept);
        device.queue().submit(commands);
        Ok(device.responds())
    };
    // wgpu panics for some of its own faults, and in a destructor at the end of a thread.
    let submitted = catch_unwind(AssertUnwindSafe(|| scoped(device.raw(), submit)));
    let (outcome, error) = match submitted {
        Ok(submitted) => submitted,
        Err(panic) => return Err(panicked(device, recorded, &*panic)),
    };
    if error.is_some() {
        device.with_groups(BindGroups::clear); // the cache may hold a bind group whose creation failed
    }
    if error.is_some() || outcome.is_err() {
        device.probe(); // a lost device reports many different errors
    }
    let responds = match outcome {
        Err(_) if device.lost().is_raised() => return Err(failure(device, None, false)),
        outcome => outcome?,
    };
    let kept = recorded.expect("bug: a submission has no resources");
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

/// Returns the failure of a batch for which wgpu panicked. If the panic came after the recording, the device may
/// execute the batch, so the device is marked as lost and its resources stay.
fn panicked<K>(device: &WgpuDevice, recorded: Option<K>, panic: &(dyn Any + Send)) -> Failure {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no text");
    if recorded.is_some() {
        device.lost().raise("wgpu panicked in a submission");
        std::mem::forget(recorded);
    }
    let message = format!("wgpu panicked: {text}");
    device.failure(|| Kind::Device { object: "a submission".into(), message }.into())
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
