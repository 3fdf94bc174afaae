//! Graphics interfaces below wgpu, and what they do differently.

use crate::device::hal_pipeline::HalPipeline;
use crate::device::native_backend::{Bare, Direct};
use crate::device::recorder::Recorder;
use crate::device::wgpu_device::{Reach, WgpuDevice};
use crate::error::{Kind, Result};
use crate::memory::native_memory as native;
use crate::memory::native_memory::{NativeMemory, Refused};
use crate::memory::wgpu_memory::Wanted;
use crate::record::hal::hal_recorder::HalRecorder;
use crate::record::lane_fence::LaneFence;
use crate::work::compiled_kernel::{Pipeline, Recipe};
use fencepost_sync::backend::HalFence;
use std::marker::PhantomData;
use std::sync::Arc;
use wgpu::hal::{self, api};

/// A graphics interface, as the native recorder uses it.
pub(crate) trait Backend: hal::Api {
    /// The most of a device's memory that the host can reach for good.
    const REACH: Reach;
    /// Whether a buffer has to be in exactly the state of its use, rather than in one that covers it.
    const EXACT: bool = false;
    /// Whether what a submission wrote is visible to the next without a barrier.
    const VISIBLE: bool = true;
}

#[cfg(vulkan)]
impl Backend for api::Vulkan {
    const REACH: Reach = Reach::All;
}

#[cfg(gles)]
impl Backend for api::Gles {
    /// Mapping waits for whatever else goes on there.
    const REACH: Reach = Reach::Nothing;
    /// Commands are played one submission after the other, as if they were one list.
    const VISIBLE: bool = false;
}

#[cfg(metal)]
impl Backend for api::Metal {
    const REACH: Reach = Reach::All;
}

#[cfg(dx12)]
impl Backend for api::Dx12 {
    const REACH: Reach = Reach::Staging;
    const EXACT: bool = true;
}

impl Backend for api::Noop {
    const REACH: Reach = Reach::All;
}

/// The backend of a device, if it is one of those that can be used past wgpu.
pub(crate) fn bare(backend: wgpu::Backend) -> Option<&'static dyn Bare> {
    match backend {
        #[cfg(vulkan)]
        wgpu::Backend::Vulkan => Some(&Of::<api::Vulkan>(PhantomData)),
        #[cfg(gles)]
        wgpu::Backend::Gl => Some(&Of::<api::Gles>(PhantomData)),
        #[cfg(metal)]
        wgpu::Backend::Metal => Some(&Of::<api::Metal>(PhantomData)),
        #[cfg(dx12)]
        wgpu::Backend::Dx12 => Some(&Of::<api::Dx12>(PhantomData)),
        wgpu::Backend::Noop => Some(&Of::<api::Noop>(PhantomData)),
        _ => None,
    }
}

struct Of<A>(PhantomData<fn(A)>);

impl<A: Backend> Bare for Of<A> {
    fn reach(&self) -> Reach {
        A::REACH
    }

    fn allocate(&self, device: &wgpu::Device, wanted: Wanted<'_>) -> Result<Option<NativeMemory>, Refused> {
        native::allocate::<A>(device, wanted)
    }

    fn compile(&self, device: &WgpuDevice, recipe: &Recipe<'_>) -> Result<Pipeline> {
        let made = HalPipeline::<A>::new(device, recipe)?;
        Ok(Pipeline::Hal(Box::new(made)))
    }

    fn knows(&self, device: &wgpu::Device) -> bool {
        crate::record::hal::hal_recorder::knows::<A>(device)
    }

    fn address(&self, device: &wgpu::Device) -> Option<usize> {
        native::address::<A>(device)
    }

    fn driver_key(&self, device: &wgpu::Device) -> Option<[u8; 16]> {
        native::driver_key::<A>(device)
    }

    fn recorder(&self, device: Arc<WgpuDevice>, fence: LaneFence) -> Box<dyn Recorder> {
        Box::new(HalRecorder::<A>::through_wgpu(device, fence))
    }

    fn direct(&self, device: Arc<WgpuDevice>) -> Result<Direct> {
        let (lost, turn) = (device.lost().clone(), device.gate().turn().clone());
        let made = HalFence::<A>::new(device.raw(), lost, turn);
        let refused = |error: fencepost_sync::Error| Kind::Device {
            object: "a fence".into(),
            message: error.to_string(),
        };
        let fence = Arc::new(made.map_err(refused)?);
        Ok((Box::new(HalRecorder::direct(device, fence.clone())), fence))
    }
}
