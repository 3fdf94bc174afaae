//! How many bytes of the heap the process has.
#![allow(unsafe_code, reason = "an allocator that counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering};

struct Counting;

/// May be less than nothing for a moment: another thread counts.
static BYTES: AtomicIsize = AtomicIsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: everything is the system's; only the sizes are added up besides.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's.
        count(unsafe { System.alloc(layout) }, layout)
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's.
        count(unsafe { System.alloc_zeroed(layout) }, layout)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller's.
        unsafe { System.dealloc(memory, layout) }
    }
}

fn count(memory: *mut u8, layout: Layout) -> *mut u8 {
    if !memory.is_null() {
        BYTES.fetch_add(layout.size() as isize, Ordering::Relaxed);
    }
    memory
}

/// The bytes that are allocated now, in Rust: what a driver takes itself is not counted.
pub(crate) fn bytes() -> isize {
    BYTES.load(Ordering::Relaxed)
}
