//! Opens the one lane of a wgpu device, with the recorder and the fence of the device's submit path.

use crate::device::Lane;
use crate::device::recorder::Recorder;
#[cfg(native)]
use crate::device::wgpu_device::SubmitPath;
use crate::device::wgpu_device::WgpuDevice;
#[cfg(native)]
use crate::driver::backend::{Backend, BackendVisitor, with_backend};
#[cfg(native)]
use crate::error::Kind;
use crate::error::Result;
#[cfg(native)]
use crate::record::hal::hal_recorder::HalRecorder;
use crate::record::lane_fence::LaneFence;
use crate::record::wgpu::wgpu_recorder::WgpuRecorder;
#[cfg(native)]
use fencepost_sync::backend::HalFence;
use fencepost_sync::backend::{Fence, PortableFence};
use std::sync::Arc;

/// Returns the lane of the device's one queue.
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
    let fence = wgpu_fence(device);
    let shared = fence.shared();
    Ok((Box::new(WgpuRecorder::new(device.clone(), fence)), shared))
}

fn wgpu_fence(device: &WgpuDevice) -> LaneFence {
    LaneFence::new(PortableFence::new(device.raw(), device.lost().clone(), device.gate().turn().clone()))
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
            let fence = wgpu_fence(&device);
            let shared = fence.shared();
            return Ok((Box::new(HalRecorder::<A>::through_wgpu(device, fence)), shared));
        }
        let made = HalFence::<A>::new(device.raw(), device.lost().clone(), device.gate().turn().clone());
        let refused = |error: fencepost_sync::Error| Kind::Device {
            object: "a fence".into(),
            message: error.to_string(),
        };
        let fence = Arc::new(made.map_err(refused)?);
        Ok((Box::new(HalRecorder::direct(device, fence.clone())), fence))
    }
}
