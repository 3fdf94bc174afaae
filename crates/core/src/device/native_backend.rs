//! The operations of a graphics interface below wgpu that the other modules need.

#[cfg(native)]
use crate::device::hal_pipeline::HalPipeline;
use crate::device::kernel_folder::CompileTarget;
#[cfg(native)]
use crate::driver::backend::{Backend, BackendVisitor, with_backend};
use crate::driver::gl_gate::HostReach;
#[cfg(native)]
use crate::driver::native_queue;
use crate::error::Result;
use crate::memory::block::BufferRequest;
#[cfg(native)]
use crate::memory::native_memory;
use crate::memory::native_memory::{MemoryRefused, NativeMemory};
#[cfg(native)]
use crate::work::kernel_launch::DevicePipeline;
use crate::work::kernel_launch::{Pipeline, PipelineDescriptor};
#[cfg(native)]
use std::marker::PhantomData;

/// A `Backend` as a trait object, so that its users are not generic.
pub(crate) trait NativeBackend: Send + Sync {
    /// Returns the largest part of a device's memory that the host can keep mapped.
    fn reach(&self) -> HostReach;

    /// Allocates memory that wgpu does not track. Returns `None` if the device has no such memory.
    ///
    /// # Errors
    /// Returns the driver's error.
    fn allocate(
        &self,
        device: &wgpu::Device,
        wanted: BufferRequest<'_>,
    ) -> Result<Option<NativeMemory>, MemoryRefused>;

    /// Compiles one entry point.
    ///
    /// # Errors
    /// Returns the errors of [`WgpuPipeline::new`](crate::device::wgpu_pipeline::WgpuPipeline::new).
    fn compile(&self, target: CompileTarget<'_>, recipe: &PipelineDescriptor<'_>) -> Result<Pipeline>;

    /// Returns `true` if wgpu still records for the device. For a lost device, wgpu accepts submissions without an
    /// error.
    fn still_records(&self, device: &wgpu::Device) -> bool;

    /// Records a barrier after which the host sees all writes of the device's queue so far. Returns `None` if no
    /// barrier is needed for that.
    fn host_barrier(&self, device: &wgpu::Device, queue: &wgpu::Queue) -> Option<wgpu::CommandBuffer>;

    /// Returns the address of the native device below wgpu, or `None` if wgpu has dropped that device.
    fn address(&self, device: &wgpu::Device) -> Option<usize>;

    /// Returns a key of the driver's build, if the driver can return compiled pipelines.
    fn driver_key(&self, device: &wgpu::Device) -> Option<[u8; 16]>;
}

/// Returns the backend of a device if it can be used without wgpu.
#[cfg(native)]
pub(crate) fn native_backend(backend: wgpu::Backend) -> Option<&'static dyn NativeBackend> {
    struct Find;
    impl BackendVisitor for Find {
        type Output = &'static dyn NativeBackend;

        fn visit<A: Backend>(self) -> &'static dyn NativeBackend {
            &NativeBackendOf::<A>(PhantomData)
        }
    }
    with_backend(backend, Find)
}

/// Returns `None`, because no backend on this target can be used without wgpu.
#[cfg(not(native))]
pub(crate) fn native_backend(_: wgpu::Backend) -> Option<&'static dyn NativeBackend> {
    None
}

#[cfg(native)]
struct NativeBackendOf<A>(PhantomData<fn(A)>);

#[cfg(native)]
impl<A: Backend> NativeBackend for NativeBackendOf<A> {
    fn reach(&self) -> HostReach {
        A::REACH
    }

    fn allocate(
        &self,
        device: &wgpu::Device,
        wanted: BufferRequest<'_>,
    ) -> Result<Option<NativeMemory>, MemoryRefused> {
        native_memory::allocate::<A>(device, wanted)
    }

    fn compile(&self, target: CompileTarget<'_>, recipe: &PipelineDescriptor<'_>) -> Result<Pipeline> {
        let made = HalPipeline::<A>::new(target, recipe)?;
        Ok(Pipeline::Device(DevicePipeline::new(made)))
    }

    fn still_records(&self, device: &wgpu::Device) -> bool {
        native_queue::still_records::<A>(device)
    }

    fn host_barrier(&self, device: &wgpu::Device, queue: &wgpu::Queue) -> Option<wgpu::CommandBuffer> {
        let queue = A::native_queue(device, queue)?;
        let record = |encoder: &mut A::CommandEncoder| {
            queue.end_batch(encoder);
            Ok::<_, ()>(())
        };
        let (commands, ()) = native_queue::record::<A, _, ()>(device, record, || Ok(()))?.ok()?;
        Some(commands)
    }

    fn address(&self, device: &wgpu::Device) -> Option<usize> {
        native_memory::address::<A>(device)
    }

    fn driver_key(&self, device: &wgpu::Device) -> Option<[u8; 16]> {
        native_memory::driver_key::<A>(device)
    }
}
