//! Replacement of `native_memory` on targets without mapped memory. No value of these types exists.

use crate::memory::block::BufferRequest;
use crate::memory::host_view::HostView;
use crate::memory::staging::StagingClaim;
use fencepost_sync::TimelineValue;
use fencepost_sync::backend::Fence;

/// An uninhabited type: this target has no native memory.
pub(crate) enum NativeMemory {}

/// An uninhabited type: on this target, memory is never refused here.
pub(crate) type MemoryRefused = std::convert::Infallible;

/// Returns `true` if the driver is out of memory.
pub(crate) fn out_of_memory(refused: &MemoryRefused) -> bool {
    match *refused {}
}

/// Does nothing, because it is never called on this target.
pub(crate) fn share_with_wgpu(
    _: &wgpu::Device,
    memory: &NativeMemory,
    _: BufferRequest<'_>,
) -> Option<wgpu::Buffer> {
    match *memory {}
}

impl NativeMemory {
    pub(crate) fn write_piece(
        &self,
        _: &mut StagingClaim,
        _: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), MemoryRefused> {
        match *self {}
    }

    pub(crate) fn read_piece(
        &self,
        _: &StagingClaim,
        _: (&dyn Fence, TimelineValue),
        _: &mut dyn FnMut(&[u8]),
    ) -> Result<(), MemoryRefused> {
        match *self {}
    }

    pub(crate) fn view(&self) -> Option<&HostView> {
        match *self {}
    }
}

/// Returns `None`, because a browser does not report its memory.
pub(crate) fn device_memory(_: &wgpu::Adapter) -> Option<u64> {
    None
}
