//! The wgpu instance of the process.

use std::env;
use std::sync::OnceLock;

/// Environment variable that switches the drivers' validation layers on if its value is 1.
const VALIDATION: &str = "FENCEPOST_VALIDATION";

/// Returns `true` if the program was built with a graphics interface of this system.
pub(crate) fn has_interface() -> bool {
    wgpu::Instance::enabled_backend_features().intersects(backends())
}

pub(crate) fn backends() -> wgpu::Backends {
    use wgpu::Backends as B;
    B::VULKAN | B::METAL | B::DX12 | B::GL | B::BROWSER_WEBGPU
}

/// Returns the one instance of the process.
pub(crate) fn instance() -> &'static wgpu::Instance {
    static INSTANCE: OnceLock<wgpu::Instance> = OnceLock::new();
    INSTANCE.get_or_init(|| make_instance(backends()))
}

/// Makes an instance. wgpu passes on messages of the validation layers only if debug names are on. The names are off
/// without `FENCEPOST_VALIDATION=1`, because layers from before 2024 report errors about the names themselves.
pub(crate) fn make_instance(backends: wgpu::Backends) -> wgpu::Instance {
    let mut flags = wgpu::InstanceFlags::VALIDATION_INDIRECT_CALL;
    if env::var(VALIDATION).is_ok_and(|value| value == "1") {
        flags |= wgpu::InstanceFlags::VALIDATION | wgpu::InstanceFlags::DEBUG;
    }
    let descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    wgpu::Instance::new(wgpu::InstanceDescriptor { backends, flags, ..descriptor })
}

/// Returns the messages of the validation layers since the last call. There are messages only with the feature
/// `validation`, a debug build of wgpu-hal and `FENCEPOST_VALIDATION=1`.
#[cfg(feature = "validation")]
#[doc(hidden)]
pub fn validation_messages() -> Vec<String> {
    wgpu_hal::VALIDATION_CANARY.get_and_reset()
}
