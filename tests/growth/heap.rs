//! Counts the heap bytes that the process has allocated.
#![allow(unsafe_code, reason = "an allocator counts its bytes")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering};

struct Counting;

/// Number of allocated bytes. It may be negative for a moment, because the count follows the allocation on each thread.
static BYTES: AtomicIsize = AtomicIsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every call goes to the system's allocator. The wrapper only adds up sizes.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller upholds the contract of the allocator.
        count(unsafe { System.alloc(layout) }, layout)
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller upholds the contract of the allocator.
        count(unsafe { System.alloc_zeroed(layout) }, layout)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller upholds the contract of the allocator.
        unsafe { System.dealloc(memory, layout) }
    }
}

fn count(memory: *mut u8, layout: Layout) -> *mut u8 {
    if !memory.is_null() {
        BYTES.fetch_add(layout.size() as isize, Ordering::Relaxed);
    }
    memory
}

/// Returns the bytes that Rust code has allocated now. Memory that a driver allocates itself is not counted.
pub(crate) fn bytes() -> isize {
    BYTES.load(Ordering::Relaxed)
}
