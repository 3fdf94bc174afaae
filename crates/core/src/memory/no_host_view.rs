//! Replacement of `host_view` in builds in which the host accesses no memory in place. No value of the type exists.

use crate::memory::host_access::HostRight;
use crate::memory::staging::StagingClaim;
use fencepost_sync::backend::Fence;
use fencepost_sync::{Lost, TimelineValue};
use std::ops::Range;

/// An uninhabited type: this build has neither mapped buffers nor the CPU device.
pub(crate) enum HostView {}

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
