//! The host's view of memory that it accesses in place: mapped buffers, and the memory of the CPU device.
#![allow(unsafe_code, reason = "access to bytes that the device accesses too")]

use crate::memory::host_access::HostRight;
use crate::memory::staging::StagingClaim;
use fencepost_sync::backend::Fence;
use fencepost_sync::{Lost, TimelineValue};
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

/// Address of memory that the host accesses in place. Access to the bytes needs a [`HostRight`] or a [`StagingClaim`].
pub(crate) struct HostView {
    bytes: NonNull<u8>,
    size: u64,
    /// Owner that keeps the bytes allocated and mapped.
    _owner: Arc<dyn Send + Sync>,
}

// SAFETY: the memory at `bytes` stays mapped while the owner lives, and every thread of the process may access it.
unsafe impl Send for HostView {}
// SAFETY: every access to the bytes needs a `HostRight` or a `StagingClaim`, which excludes a conflicting access.
unsafe impl Sync for HostView {}

impl HostView {
    /// Returns a view of bytes that `owner` keeps allocated.
    ///
    /// # Safety
    /// `size` initialised bytes are at the address while `owner` lives, and they are accessed through the view, or as a
    /// device accesses its memory: in the order that the scheduler gives.
    pub(crate) unsafe fn new(bytes: NonNull<u8>, size: u64, owner: Arc<dyn Send + Sync>) -> Self {
        Self { bytes, size, _owner: owner }
    }

    fn at(&self, range: &Range<u64>) -> NonNull<u8> {
        assert!(
            range.start <= range.end && range.end <= self.size,
            "bug: {range:?} of {} mapped bytes",
            self.size
        );
        // SAFETY: the assertion above checks that the range is inside the mapped bytes.
        unsafe { self.bytes.add(range.start as usize) }
    }

    /// Copies the bytes from `offset` on into `out`.
    pub(crate) fn read(&self, offset: u64, out: &mut [u8], right: &HostRight) {
        out.copy_from_slice(self.slice(offset..offset + out.len() as u64, right));
    }

    /// Copies `bytes` to `offset`.
    pub(crate) fn write(&self, offset: u64, bytes: &[u8], _: &HostRight) {
        let to = self.at(&(offset..offset + bytes.len() as u64));
        // SAFETY: `at` checks the bounds, and the memory is mapped and coherent. The scheduler granted the access, so
        // neither the device nor another host access uses these bytes. `bytes` is a reference, so `bytes` and the
        // mapped memory do not overlap.
        unsafe { to.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len()) };
    }

    /// Returns the bytes of `range`.
    pub(crate) fn slice<'a>(&'a self, range: Range<u64>, _: &'a HostRight) -> &'a [u8] {
        // SAFETY: `at` checks the bounds, and the memory is mapped, coherent and initialised. The scheduler granted the
        // access, so nothing writes these bytes during the access.
        unsafe { std::slice::from_raw_parts(self.at(&range).as_ptr(), (range.end - range.start) as usize) }
    }

    /// Returns the bytes of `range` for writes.
    pub(crate) fn slice_mut<'a>(&'a self, range: Range<u64>, _: &'a mut HostRight) -> &'a mut [u8] {
        // SAFETY: the reasons given in `slice` hold, and the right is borrowed mutably, so no other slice of this right
        // exists.
        unsafe {
            std::slice::from_raw_parts_mut(self.at(&range).as_ptr(), (range.end - range.start) as usize)
        }
    }

    /// Returns the bytes of a piece of staging memory that no submission uses yet.
    pub(crate) fn claimed_mut<'a>(&'a self, claim: &'a mut StagingClaim) -> &'a mut [u8] {
        let range = claim.range();
        // SAFETY: `at` checks the bounds, and the memory is mapped and coherent. Claims on one chunk never overlap, and
        // this claim is borrowed mutably. A submission holds its pieces by shared references until it is complete.
        unsafe {
            std::slice::from_raw_parts_mut(self.at(&range).as_ptr(), (range.end - range.start) as usize)
        }
    }

    /// Returns the bytes of a piece of staging memory that the submission with the value `value` fills. Returns `None`
    /// until the submission is complete.
    ///
    /// # Errors
    /// Returns `Lost` if the device is lost.
    pub(crate) fn claimed<'a>(
        &'a self,
        claim: &'a StagingClaim,
        fence: &dyn Fence,
        value: TimelineValue,
    ) -> Result<Option<&'a [u8]>, Lost> {
        let range = claim.range();
        if fence.completed()? < value {
            return Ok(None);
        }
        // SAFETY: `at` checks the bounds, and the memory is mapped and coherent. Claims on one chunk never overlap, and
        // the one submission that writes this piece is complete.
        Ok(Some(unsafe {
            std::slice::from_raw_parts(self.at(&range).as_ptr(), (range.end - range.start) as usize)
        }))
    }
}
