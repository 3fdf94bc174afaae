//! External buffers, which are wgpu buffers of the program with arrays on them.

use crate::memory::heap::BlockId;
use std::sync::Arc;
#[cfg(native)]
use std::sync::atomic::{AtomicBool, Ordering};

/// Keeps the blocks of external buffers.
pub(crate) trait ExternalOwner: Send + Sync {
    /// Removes a dropped block. Another block of the same buffer may have taken its place, and stays.
    fn remove(&self, buffer: &wgpu::Buffer, id: BlockId);
}

/// Holds the state of an external buffer that its block owns.
pub(crate) struct ExternalBuffer {
    id: BlockId,
    buffer: wgpu::Buffer,
    /// Is `true` if wgpu treats all bytes of the buffer as written. Otherwise wgpu zeroes the bytes before it uses
    /// them.
    #[cfg(native)]
    settled: AtomicBool,
    all: Arc<dyn ExternalOwner>,
}

impl ExternalBuffer {
    pub(crate) fn new(id: BlockId, buffer: &wgpu::Buffer, all: Arc<dyn ExternalOwner>) -> Self {
        Self {
            id,
            buffer: buffer.clone(),
            #[cfg(native)]
            settled: AtomicBool::new(false),
            all,
        }
    }

    /// Returns `true` until [`settle`](Self::settle) is called. Only the thread that holds the lane's token calls this.
    #[cfg(native)]
    pub(crate) fn unsettled(&self) -> bool {
        !self.settled.load(Ordering::Relaxed)
    }

    /// Records that wgpu treats all bytes as written.
    #[cfg(native)]
    pub(crate) fn settle(&self) {
        self.settled.store(true, Ordering::Relaxed);
    }
}

impl Drop for ExternalBuffer {
    fn drop(&mut self) {
        self.all.remove(&self.buffer, self.id);
    }
}

/// Records a transition of `buffers` to `STORAGE_READ_WRITE`. That is the state in which the native recorder expects,
/// and leaves, every buffer that wgpu also tracks.
///
/// wgpu refuses the commands if it refuses any other use of one of the buffers.
pub(crate) fn transition_external<'a>(
    encoder: &mut wgpu::CommandEncoder,
    buffers: impl Iterator<Item = &'a wgpu::Buffer>,
) {
    let state = wgpu::BufferUses::STORAGE_READ_WRITE;
    let transitions = buffers.map(|buffer| wgpu::wgt::BufferTransition { buffer, state });
    encoder.transition_resources(transitions, std::iter::empty());
}
