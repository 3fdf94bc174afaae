//! Barriers behind which the host sees all earlier writes. The barriers of wgpu-hal name buffers.
#![allow(unsafe_code, reason = "barriers that name no buffer")]

use wgpu::hal;

/// Records a barrier behind which the host sees all earlier writes, into an open encoder outside a pass.
pub(crate) trait HostBarrier<A: hal::Api>: Fn(&mut A::CommandEncoder) + Send + Sync {}
impl<A: hal::Api, F: Fn(&mut A::CommandEncoder) + Send + Sync> HostBarrier<A> for F {}

/// Returns a recorder of barriers behind which the host sees the writes of all earlier kernels and copies. Returns `None` if
/// wgpu has dropped the device.
#[cfg(vulkan)]
pub(crate) fn of_vulkan(device: &wgpu::Device) -> Option<Box<dyn HostBarrier<hal::api::Vulkan>>> {
    use ash::vk;
    use std::ptr::null;

    // SAFETY: only a function is read, and only wgpu destroys the device.
    let known = unsafe { device.as_hal::<hal::api::Vulkan>() }?;
    let barrier = known.raw_device().fp_v1_0().cmd_pipeline_barrier;
    let from = vk::PipelineStageFlags::COMPUTE_SHADER | vk::PipelineStageFlags::TRANSFER;
    let to = vk::PipelineStageFlags::HOST;
    let memory = vk::MemoryBarrier::default()
        .src_access_mask(vk::AccessFlags::SHADER_WRITE | vk::AccessFlags::TRANSFER_WRITE)
        .dst_access_mask(vk::AccessFlags::HOST_READ | vk::AccessFlags::HOST_WRITE);
    let flags = vk::DependencyFlags::empty();
    Some(Box::new(move |encoder: &mut hal::vulkan::CommandEncoder| {
        // SAFETY: the function is that of the encoder's device, the encoder is open outside a pass, and the pointer is
        // valid during the call.
        unsafe { barrier(encoder.raw_handle(), from, to, flags, 1, &raw const memory, 0, null(), 0, null()) }
    }))
}
