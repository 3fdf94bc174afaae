//! The graphics interfaces below wgpu, and their differences.

use crate::driver::gl_gate::HostReach;
#[cfg(vulkan)]
use crate::driver::native_queue;
use crate::driver::native_queue::NativeQueue;
#[cfg(vulkan)]
use crate::driver::reusable_encoders::VulkanEncoders;
use crate::driver::reusable_encoders::{NoopEncoders, ReusableEncoders};
use fencepost_sync::backend::FenceApi;
use wgpu::hal::api;

/// A graphics interface that the native recorder supports.
pub(crate) trait Backend: FenceApi {
    /// The largest part of a device's memory that the host can keep mapped.
    const REACH: HostReach;
    /// `true` if a buffer must be in exactly the state of its use. Otherwise a state that includes the use is enough.
    const EXACT: bool = false;
    /// `true` if the next submission sees the writes of a submission without a barrier.
    const VISIBLE: bool = true;

    /// Returns the object that makes encoders for commands that are submitted many times, or `None` if the backend has
    /// none. `adapter` opened the device; it is `None` for a user's device.
    fn reusable_encoders(
        _device: &wgpu::Device,
        _queue: &wgpu::Queue,
        _adapter: Option<&wgpu::Adapter>,
    ) -> Option<Box<dyn ReusableEncoders<Self>>> {
        None
    }

    /// Returns the queue below wgpu-hal, or `None` if the backend needs none, because the host sees all writes and the
    /// device executes submissions one after the other.
    fn native_queue(_device: &wgpu::Device, _queue: &wgpu::Queue) -> Option<Box<dyn NativeQueue<Self>>> {
        None
    }
}

#[cfg(vulkan)]
impl Backend for api::Vulkan {
    const REACH: HostReach = HostReach::All;

    fn reusable_encoders(
        device: &wgpu::Device,
        _: &wgpu::Queue,
        adapter: Option<&wgpu::Adapter>,
    ) -> Option<Box<dyn ReusableEncoders<Self>>> {
        Some(Box::new(VulkanEncoders::new(device, adapter?)?))
    }

    fn native_queue(device: &wgpu::Device, queue: &wgpu::Queue) -> Option<Box<dyn NativeQueue<Self>>> {
        native_queue::of_vulkan(device, queue)
    }
}

#[cfg(gles)]
impl Backend for api::Gles {
    /// Nothing stays mapped, because a mapping call waits for all other work of the GL context.
    const REACH: HostReach = HostReach::Nothing;
    /// GL executes all submissions like a single command list, so each must end with a barrier.
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

    fn reusable_encoders(
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        _: Option<&wgpu::Adapter>,
    ) -> Option<Box<dyn ReusableEncoders<Self>>> {
        Some(Box::new(NoopEncoders { device: device.clone(), queue: queue.clone() }))
    }
}

/// Code that is generic over the backend.
pub(crate) trait BackendVisitor {
    type Output;

    fn visit<A: Backend>(self) -> Self::Output;
}

/// Calls `visitor` with the backend of a device. Returns `None` if that backend cannot be used without wgpu.
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
