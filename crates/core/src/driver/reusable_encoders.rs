//! Native encoders for command buffers that may be submitted many times. Command buffers of an ordinary wgpu-hal encoder
//! may be submitted only once.
#![allow(
    unsafe_code,
    reason = "command buffers that are submitted many times, which wgpu-hal does not offer"
)]

use wgpu::hal::{self, CommandEncoder as _, Device as _, DeviceError};

/// Maker of encoders for command buffers that may be submitted many times, even while still in flight.
pub(crate) trait ReusableEncoders<A: hal::Api>: Send + Sync {
    /// Makes an encoder.
    ///
    /// # Errors
    /// Returns the driver's error.
    fn encoder(&self) -> Result<A::CommandEncoder, DeviceError>;

    /// Opens an encoder of this maker.
    ///
    /// # Errors
    /// Returns the driver's error.
    fn open(&self, encoder: &mut A::CommandEncoder) -> Result<(), DeviceError>;
}

/// Maker for the noop backend, where ordinary command buffers may be submitted many times.
pub(crate) struct NoopEncoders {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
}

impl ReusableEncoders<hal::api::Noop> for NoopEncoders {
    fn encoder(&self) -> Result<<hal::api::Noop as hal::Api>::CommandEncoder, DeviceError> {
        // SAFETY: the device is only used to make an encoder, and only wgpu destroys it.
        let device = unsafe { self.device.as_hal::<hal::api::Noop>() }.ok_or(DeviceError::Lost)?;
        // SAFETY: the queue is only used to make an encoder, and only wgpu destroys it.
        let queue = unsafe { self.queue.as_hal::<hal::api::Noop>() }.ok_or(DeviceError::Lost)?;
        let desc = hal::CommandEncoderDescriptor { label: Some("graph"), queue: &*queue };
        // SAFETY: the queue belongs to the device.
        unsafe { device.create_command_encoder(&desc) }
    }

    fn open(&self, encoder: &mut <hal::api::Noop as hal::Api>::CommandEncoder) -> Result<(), DeviceError> {
        // SAFETY: the encoder is closed.
        unsafe { encoder.begin_encoding(Some("graph")) }
    }
}

#[cfg(vulkan)]
pub(crate) use vulkan::VulkanEncoders;

#[cfg(vulkan)]
mod vulkan {
    use super::ReusableEncoders;
    use ash::vk;
    use std::cell::Cell;
    use std::ffi::c_void;
    use wgpu::hal::api::Vulkan;
    use wgpu::hal::{self, CommandEncoder as _, Device as _, DeviceError};

    /// Maker of Vulkan encoders.
    ///
    /// wgpu-hal begins each command buffer with the flag for a single submission. The encoders made here belong to a
    /// second wgpu-hal device object for the same Vulkan device. Its function table has another `vkBeginCommandBuffer`,
    /// which replaces that flag.
    pub(crate) struct VulkanEncoders {
        begin: vk::PFN_vkBeginCommandBuffer,
        open: hal::OpenDevice<Vulkan>,
        /// The Vulkan device. The second device object does not own it, so it is dropped last.
        _device: wgpu::Device,
    }

    thread_local! {
        /// The driver's `vkBeginCommandBuffer`, set while this thread opens an encoder.
        static BEGIN: Cell<Option<vk::PFN_vkBeginCommandBuffer>> = const { Cell::new(None) };
    }

    /// Begins a command buffer such that it may be submitted many times.
    unsafe extern "system" fn begin_reusable(
        commands: vk::CommandBuffer,
        info: *const vk::CommandBufferBeginInfo<'_>,
    ) -> vk::Result {
        let Some(begin) = BEGIN.get() else { return vk::Result::ERROR_OUT_OF_HOST_MEMORY };
        // SAFETY: wgpu-hal passes a valid structure.
        let ordinary = unsafe { &*info };
        let flags = vk::CommandBufferUsageFlags::SIMULTANEOUS_USE;
        let reusable = vk::CommandBufferBeginInfo { flags, ..*ordinary };
        // SAFETY: the caller's command buffer belongs to the device of the function.
        unsafe { begin(commands, &raw const reusable) }
    }

    impl VulkanEncoders {
        /// Returns a maker for `device`, which `adapter` opened, or `None` if the driver refuses an object.
        pub(crate) fn new(device: &wgpu::Device, adapter: &wgpu::Adapter) -> Option<Self> {
            // SAFETY: the handle is only read, and only wgpu destroys the device.
            let known = unsafe { device.as_hal::<Vulkan>() }?;
            // SAFETY: the handle is only used to make an object for the same Vulkan device.
            let adapter = unsafe { adapter.as_hal::<Vulkan>() }?;
            let handle = known.raw_device().handle();
            let begin = known.raw_device().fp_v1_0().begin_command_buffer;
            let find = known.shared_instance().raw_instance().fp_v1_0().get_device_proc_addr;
            let load = |name: &std::ffi::CStr| -> *const c_void {
                if name == c"vkBeginCommandBuffer" {
                    return begin_reusable as *const c_void;
                }
                // SAFETY: the device is alive, and the name ends with a zero.
                let found = unsafe { find(handle, name.as_ptr()) };
                found.map_or(std::ptr::null(), |found| found as *const c_void)
            };
            // SAFETY: each function belongs to the device, or has the same signature and effect.
            let table = unsafe { ash::Device::load_with(load, handle) };
            // SAFETY: the adapter opened the device with these extensions and features, and the callback keeps the new
            // object from destroying the Vulkan device.
            let open = unsafe {
                adapter.device_from_raw(
                    table,
                    Some(Box::new(|| ())),
                    known.enabled_device_extensions(),
                    device.features(),
                    &device.limits(),
                    &wgpu::MemoryHints::MemoryUsage,
                    known.queue_family_index(),
                    known.queue_index(),
                )
            };
            Some(Self { begin, open: open.ok()?, _device: device.clone() })
        }
    }

    impl ReusableEncoders<Vulkan> for VulkanEncoders {
        fn encoder(&self) -> Result<<Vulkan as hal::Api>::CommandEncoder, DeviceError> {
            let desc = hal::CommandEncoderDescriptor { label: Some("graph"), queue: &self.open.queue };
            // SAFETY: the queue belongs to the device.
            unsafe { self.open.device.create_command_encoder(&desc) }
        }

        fn open(&self, encoder: &mut <Vulkan as hal::Api>::CommandEncoder) -> Result<(), DeviceError> {
            BEGIN.set(Some(self.begin));
            // SAFETY: the encoder is closed.
            let begun = unsafe { encoder.begin_encoding(Some("graph")) };
            BEGIN.set(None);
            begun
        }
    }
}
