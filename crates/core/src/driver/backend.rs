//! Graphics interfaces below wgpu, and what they do differently.

use crate::driver::reach::HostReach;
use wgpu::hal::{self, api};

/// A graphics interface, as the native recorder uses it.
pub(crate) trait Backend: hal::Api {
    /// The most of a device's memory that the host can reach for good.
    const REACH: HostReach;
    /// Whether a buffer has to be in exactly the state of its use, rather than in one that covers it.
    const EXACT: bool = false;
    /// Whether what a submission wrote is visible to the next without a barrier.
    const VISIBLE: bool = true;
}

#[cfg(vulkan)]
impl Backend for api::Vulkan {
    const REACH: HostReach = HostReach::All;
}

#[cfg(gles)]
impl Backend for api::Gles {
    /// Mapping waits for whatever else goes on there.
    const REACH: HostReach = HostReach::Nothing;
    /// Commands are played one submission after the other, as if they were one list.
    const VISIBLE: bool = false;
}

#[cfg(metal)]
impl Backend for api::Metal {
    const REACH: HostReach = HostReach::All;
}

#[cfg(dx12)]
impl Backend for api::Dx12 {
    const REACH: HostReach = HostReach::Staging;
    const EXACT: bool = true;
}

impl Backend for api::Noop {
    const REACH: HostReach = HostReach::All;
}

/// Runs code that is generic over the backend.
pub(crate) trait BackendVisitor {
    type Output;

    fn visit<A: Backend>(self) -> Self::Output;
}

/// Calls `visitor` with the backend of a device; `None` if that backend cannot be used past wgpu.
pub(crate) fn with_backend<V: BackendVisitor>(backend: wgpu::Backend, visitor: V) -> Option<V::Output> {
    match backend {
        #[cfg(vulkan)]
        wgpu::Backend::Vulkan => Some(visitor.visit::<api::Vulkan>()),
        #[cfg(gles)]
        wgpu::Backend::Gl => Some(visitor.visit::<api::Gles>()),
        #[cfg(metal)]
        wgpu::Backend::Metal => Some(visitor.visit::<api::Metal>()),
        #[cfg(dx12)]
        wgpu::Backend::Dx12 => Some(visitor.visit::<api::Dx12>()),
        wgpu::Backend::Noop => Some(visitor.visit::<api::Noop>()),
        _ => None,
    }
}
