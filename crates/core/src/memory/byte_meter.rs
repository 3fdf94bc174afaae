//! The counters of staging memory.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of the bytes of one device's staging memory.
#[derive(Default)]
pub(crate) struct ByteMeter {
    used: AtomicU64,
    free: AtomicU64,
}

/// Bytes of staging memory that stay in the counters until the drop.
pub(crate) struct MeteredBytes {
    meter: Arc<ByteMeter>,
    pub(crate) bytes: u64,
    free: bool,
}

/// Staging memory that is ordinary host memory.
pub(crate) struct MeteredVec {
    bytes: Box<[u8]>,
    _count: MeteredBytes,
}

impl ByteMeter {
    /// Counts `bytes` of new memory as used.
    pub(crate) fn count(self: &Arc<Self>, bytes: u64) -> MeteredBytes {
        self.used.fetch_add(bytes, Ordering::Relaxed);
        MeteredBytes { meter: self.clone(), bytes, free: false }
    }

    /// Returns the bytes in use and the bytes kept for later use.
    pub(crate) fn read(&self) -> (u64, u64) {
        (self.used.load(Ordering::Relaxed), self.free.load(Ordering::Relaxed))
    }
}

impl MeteredBytes {
    /// Moves the bytes to the free counter if `free` is `true`, and to the used counter otherwise.
    pub(crate) fn set_free(mut self, free: bool) -> Self {
        if free != self.free {
            self.counter().fetch_sub(self.bytes, Ordering::Relaxed);
            self.free = free;
            self.counter().fetch_add(self.bytes, Ordering::Relaxed);
        }
        self
    }

    fn counter(&self) -> &AtomicU64 {
        if self.free { &self.meter.free } else { &self.meter.used }
    }
}

impl Drop for MeteredBytes {
    fn drop(&mut self) {
        self.counter().fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl MeteredVec {
    pub(crate) fn new(bytes: impl Into<Box<[u8]>>, meter: &Arc<ByteMeter>) -> Self {
        let bytes = bytes.into();
        Self { _count: meter.count(bytes.len() as u64), bytes }
    }
}

impl Deref for MeteredVec {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}
