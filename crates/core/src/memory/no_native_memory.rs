//! Replacement of `native_memory` on targets without mapped memory. No value of these types exists.

use crate::memory::block::BufferRequest;
use crate::memory::host_access::HostRight;
use crate::memory::staging::StagingClaim;
use fencepost_sync::backend::Fence;
use fencepost_sync::{Lost, TimelineValue};
use std::ops::Range;

/// An uninhabited type: this target has no native memory.
pub(crate) enum NativeMemory {}

/// An uninhabited type: this target has no mapped buffers.
pub(crate) enum HostView {}

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

impl HostView {
    pub(crate) fn read(&self, _: u64, _: &mut [u8], _: &HostRight) {
        match *self {}
    }

    pub(crate) fn write(&self, _: u64, _: &[u8], _: &HostRight) {
        match *self {}
    }

    pub(crate) fn slice<'a>(&'a self, _: Range<u64>, _: &'a HostRight) -> &'a [u8] {
        match *self {}
    }

    pub(crate) fn slice_mut<'a>(&'a self, _: Range<u64>, _: &'a mut HostRight) -> &'a mut [u8] {
        match *self {}
    }

    pub(crate) fn claimed_mut<'a>(&'a self, _: &'a mut StagingClaim) -> &'a mut [u8] {
        match *self {}
    }

    pub(crate) fn claimed<'a>(
        &'a self,
        _: &'a StagingClaim,
        _: &dyn Fence,
        _: TimelineValue,
    ) -> Result<Option<&'a [u8]>, Lost> {
        match *self {}
    }
}

/// Returns `None`, because a browser does not report its memory.
pub(crate) fn device_memory(_: &wgpu::Adapter) -> Option<u64> {
    None
}
