//! Opens wgpu devices without a context.

use super::subject::{Place, Subject};

const FEATURES: wgpu::Features = wgpu::Features::IMMEDIATES;

/// Opens a device and its queue on the subject's adapter, with wgpu alone.
pub fn open(subject: &Subject) -> (wgpu::Device, wgpu::Queue) {
    device(&adapter(subject.place()), FEATURES, |_| ())
}

/// Like [`open`], with timestamps only at the boundaries of passes.
pub fn open_timed(subject: &Subject) -> (wgpu::Device, wgpu::Queue) {
    device(&adapter(subject.place()), FEATURES | wgpu::Features::TIMESTAMP_QUERY, |_| ())
}

/// Like [`open`], with limits that differ from the adapter's.
pub fn open_with(subject: &Subject, limit: impl FnOnce(&mut wgpu::Limits)) -> (wgpu::Device, wgpu::Queue) {
    device(&adapter(subject.place()), FEATURES, limit)
}

/// Opens two devices of one wgpu instance, with their queues.
pub fn open_two(subject: &Subject) -> [(wgpu::Device, wgpu::Queue); 2] {
    if cfg!(target_arch = "wasm32") {
        return [(); 2].map(|()| open(subject)); // an adapter of a browser opens one device
    }
    let adapter = adapter(subject.place());
    [device(&adapter, FEATURES, |_| ()), device(&adapter, FEATURES, |_| ())]
}

/// Returns the adapter of a place, from a new instance.
pub fn adapter(place: &Place) -> wgpu::Adapter {
    let info = place.info().expect("an adapter");
    let mut flags = wgpu::InstanceFlags::empty();
    // Messages of the layers are delivered only if debug names are enabled.
    let watch = wgpu::InstanceFlags::VALIDATION | wgpu::InstanceFlags::DEBUG;
    flags.set(watch, std::env::var("FENCEPOST_VALIDATION").is_ok_and(|value| value == "1"));
    let descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor { flags, ..descriptor });
    if cfg!(target_arch = "wasm32") {
        // A browser does not list its adapters.
        return crate::common::block_on(instance.request_adapter(&Default::default())).expect("an adapter");
    }
    let backend = match info.backend {
        "Vulkan" => wgpu::Backends::VULKAN,
        "Metal" => wgpu::Backends::METAL,
        "DX12" => wgpu::Backends::DX12,
        _ => wgpu::Backends::GL,
    };
    let adapters = crate::common::block_on(instance.enumerate_adapters(backend));
    adapters.into_iter().find(|adapter| adapter.get_info().name == info.name).expect("the same adapter")
}

fn device(
    adapter: &wgpu::Adapter,
    features: wgpu::Features,
    limit: impl FnOnce(&mut wgpu::Limits),
) -> (wgpu::Device, wgpu::Queue) {
    let required_features = adapter.features() & features;
    let mut required_limits = wgpu::Limits { max_bind_groups: 4, ..adapter.limits() };
    limit(&mut required_limits);
    let memory_hints = wgpu::MemoryHints::MemoryUsage; // a lost device keeps its memory
    let descriptor =
        wgpu::DeviceDescriptor { required_features, required_limits, memory_hints, ..Default::default() };
    crate::common::block_on(adapter.request_device(&descriptor)).expect("a device")
}
