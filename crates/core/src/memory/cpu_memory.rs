//! The memory of the CPU recorder.

use fencepost_sync::prim::{Mutex, lock};

/// Bytes of a block of the CPU recorder. The recorder and the host hold the lock only for one copy at a time, so
/// neither waits long for the other.
pub(crate) struct CpuMemory(Mutex<Vec<u8>>);

impl CpuMemory {
    pub(crate) fn zeroed(size: u64) -> Self {
        Self(Mutex::new(vec![0; size as usize]))
    }

    /// Copies the bytes from `offset` into `out`.
    pub(crate) fn read(&self, offset: u64, out: &mut [u8]) {
        let at = offset as usize;
        out.copy_from_slice(&lock(&self.0)[at..at + out.len()]);
    }

    /// Copies `bytes` to `offset`.
    pub(crate) fn write(&self, offset: u64, bytes: &[u8]) {
        let at = offset as usize;
        lock(&self.0)[at..at + bytes.len()].copy_from_slice(bytes);
    }
}
