//! The memory of the CPU device. Kernels and the host access the same bytes.
#![allow(unsafe_code, reason = "memory that several threads of the device write")]

use crate::memory::host_view::HostView;
use fencepost_cpu::Cells;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

/// Alignment of allocations: a cache line.
const CACHE_LINE: usize = 64;

/// Bytes of a block.
pub(crate) struct SharedMemory {
    start: NonNull<u8>,
    size: u64,
    view: HostView,
}

/// Owner of an allocation.
struct OwnedBytes {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the allocation is only freed through this value, and any thread may free it.
unsafe impl Send for OwnedBytes {}
// SAFETY: a shared reference gives access to nothing.
unsafe impl Sync for OwnedBytes {}

// SAFETY: any thread may access the bytes. The scheduler orders the accesses of the host and of the device.
unsafe impl Send for SharedMemory {}
// SAFETY: see above.
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    /// Allocates bytes that are zero. Returns `None` if the system has no memory for them.
    pub(crate) fn zeroed(size: u64) -> Option<Self> {
        let layout = Layout::from_size_align(usize::try_from(size.max(1)).ok()?, CACHE_LINE).ok()?;
        // SAFETY: the size of the layout is not 0.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        let owner = Arc::new(OwnedBytes { start, layout });
        // SAFETY: `owner` keeps `size` zeroed bytes at the address. The scheduler orders all accesses to a block.
        let view = unsafe { HostView::new(start, size, owner) };
        Some(Self { start, size, view })
    }

    /// Returns the host's view.
    pub(crate) fn view(&self) -> &HostView {
        &self.view
    }

    /// Returns the address of a range.
    ///
    /// # Panics
    /// Panics if the range ends after the end of the memory, which is a bug.
    pub(crate) fn at(&self, range: &Range<u64>) -> NonNull<u8> {
        let fits = range.start <= range.end && range.end <= self.size;
        assert!(fits, "bug: {range:?} of {} bytes", self.size);
        // SAFETY: the assertion above checks that the range is inside the allocation.
        unsafe { self.start.add(range.start as usize) }
    }

    /// Returns a range for a kernel that runs now. The range begins at a multiple of 16, and its size is a multiple of 4.
    ///
    /// # Panics
    /// Panics if the range does not, or ends after the end of the memory, which is a bug.
    pub(crate) fn cells(&self, range: &Range<u64>) -> Cells<'_> {
        let start = self.at(range);
        let size = (range.end - range.start) as usize;
        let is_aligned = start.addr().get().is_multiple_of(16) && size.is_multiple_of(4);
        assert!(is_aligned, "bug: a kernel binds the range {range:?}");
        // SAFETY: the assertion above checks the alignment, and `at` the bounds; the bytes live as long as `self`. No
        // reference to them exists: the host accesses them only when the scheduler grants it, which is after the batch
        // of the kernel.
        unsafe { Cells::from_raw(start.as_ptr(), size) }
    }

    /// Copies the bytes from `offset` on into `out`.
    pub(crate) fn read(&self, offset: u64, out: &mut [u8]) {
        let from = self.at(&(offset..offset + out.len() as u64));
        // SAFETY: `at` checks the bounds. `out` is a reference, so it does not overlap the memory of a block.
        unsafe { from.copy_to_nonoverlapping(NonNull::from(&mut *out).cast(), out.len()) };
    }

    /// Copies `bytes` to `offset`.
    pub(crate) fn write(&self, offset: u64, bytes: &[u8]) {
        let to = self.at(&(offset..offset + bytes.len() as u64));
        // SAFETY: `at` checks the bounds. `bytes` is a reference, so it does not overlap the memory of a block.
        unsafe { to.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len()) };
    }

    /// Copies a range of other memory, or of this one, to `offset`.
    pub(crate) fn copy_from(&self, offset: u64, src: &Self, range: &Range<u64>) {
        let len = range.end - range.start;
        let from = src.at(range);
        let to = self.at(&(offset..offset + len));
        // SAFETY: `at` checks the bounds of both. The ranges may overlap.
        unsafe { to.copy_from(from, len as usize) };
    }
}

impl Drop for OwnedBytes {
    fn drop(&mut self) {
        // SAFETY: `alloc_zeroed` returned the address for this layout, and nothing else frees it.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_are_zero_until_they_are_written_and_copies_may_overlap() {
        let memory = SharedMemory::zeroed(64).expect("there are 64 bytes");
        memory.write(0, &[1, 2, 3, 4]);
        memory.copy_from(2, &memory, &(0..4));
        let mut out = [9; 8];
        memory.read(0, &mut out);
        assert_eq!(out, [1, 2, 1, 2, 3, 4, 0, 0]);
    }

    #[test]
    #[should_panic(expected = "bug: 60..68 of 64 bytes")]
    fn a_range_past_the_end_is_a_bug() {
        SharedMemory::zeroed(64).expect("there are 64 bytes").write(60, &[0; 8]);
    }

    #[test]
    fn memory_that_the_system_does_not_have_is_refused() {
        assert!(SharedMemory::zeroed(u64::MAX).is_none());
    }
}
