//! Opens Vulkan devices without wgpu, so that a test can replace functions in their tables.
#![allow(unsafe_code, reason = "a device with another function table has to be made without wgpu")]

use ash::vk;
use wgpu::hal::api::Vulkan;

/// Opens a device of a Vulkan adapter with these features. `change` may replace some of its functions.
pub fn open(
    adapter: &wgpu::Adapter,
    features: wgpu::Features,
    change: impl FnOnce(&ash::Device) -> ash::Device,
) -> (wgpu::Device, wgpu::Queue) {
    // SAFETY: the handle is only used to make a device.
    let raw = unsafe { adapter.as_hal::<Vulkan>() }.expect("a Vulkan adapter");
    let limits = wgpu::Limits::default();
    let extensions = raw.required_device_extensions(features);
    let names: Vec<_> = extensions.iter().map(|name| name.as_ptr()).collect();
    let mut abilities = raw.physical_device_features(&extensions, features);
    let queues = [vk::DeviceQueueCreateInfo::default().queue_family_index(0).queue_priorities(&[1.0])];
    let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues).enabled_extension_names(&names);
    let info = abilities.add_to_device_create(info);
    let instance = raw.shared_instance().raw_instance();
    // SAFETY: the adapter reports these extensions and features.
    let made = unsafe { instance.create_device(raw.raw_physical_device(), &info, None) };
    let changed = change(&made.expect("a device"));
    let hints = wgpu::MemoryHints::MemoryUsage; // a lost device keeps its memory
    // SAFETY: the device comes from this adapter with the required extensions, and wgpu owns it from now on.
    let open = unsafe { raw.device_from_raw(changed, None, &extensions, features, &limits, &hints, 0, 0) };
    let desc =
        wgpu::DeviceDescriptor { required_features: features, required_limits: limits, ..Default::default() };
    // SAFETY: the device was opened from this adapter, with these features and limits.
    unsafe { adapter.create_device_from_hal(open.expect("an open device"), &desc) }.expect("wgpu takes it")
}
