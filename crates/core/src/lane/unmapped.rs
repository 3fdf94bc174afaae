//! Stands for mapped memory on targets where there is none.

use crate::memory::{Claim, Heap};
use crate::scheduler::HostAccess;
use fencepost_sync::Value;
use fencepost_sync::backend::Fence;
use std::ops::Range;

/// The bytes of a buffer, where they are: on this target there is no such thing.
pub(crate) enum HostView {}

/// Why a driver gave no memory.
pub(crate) type Refused = std::convert::Infallible;

/// Whether it has none left.
pub(crate) fn out_of_memory(refused: &Refused) -> bool {
    match *refused {}
}

/// Never makes a buffer.
#[allow(clippy::unnecessary_wraps, reason = "the same signature as where there is such memory")]
pub(crate) fn allocate(
    _: &wgpu::Device,
    _: Heap,
    _: u64,
    _: &str,
) -> Result<Option<(wgpu::Buffer, HostView)>, Refused> {
    Ok(None)
}

impl HostView {
    pub(crate) fn read(&self, _: u64, _: &mut [u8], _: &HostAccess) {
        match *self {}
    }

    pub(crate) fn write(&self, _: u64, _: &[u8], _: &HostAccess) {
        match *self {}
    }

    pub(crate) fn slice<'a>(&'a self, _: Range<u64>, _: &'a HostAccess) -> &'a [u8] {
        match *self {}
    }

    pub(crate) fn slice_mut<'a>(&'a self, _: Range<u64>, _: &'a mut HostAccess) -> &'a mut [u8] {
        match *self {}
    }

    pub(crate) fn claimed_mut<'a>(&'a self, _: &'a mut Claim) -> &'a mut [u8] {
        match *self {}
    }

    pub(crate) fn claimed<'a>(&'a self, _: &'a Claim, _: &dyn Fence, _: Value) -> Option<&'a [u8]> {
        match *self {}
    }
}
