//! External buffers, which are wgpu buffers of the user with arrays on them.

use crate::memory::heap::BlockId;
use std::sync::Arc;
#[cfg(native)]
use std::sync::atomic::{AtomicBool, Ordering};

/// The list of the blocks of external buffers.
pub(crate) trait ExternalOwner: Send + Sync {
    /// Removes the block `id` of `buffer`, which is being dropped. A newer block of the same buffer stays.
    fn remove(&self, buffer: &wgpu::Buffer, id: BlockId);
}

/// The state of a block's external buffer. The drop removes the block from its list.
pub(crate) struct ExternalBuffer {
    id: BlockId,
    buffer: wgpu::Buffer,
    /// `true` if wgpu treats all bytes of the buffer as written. Otherwise the next command of wgpu on the buffer would
    /// zero bytes that the native recorder has written.
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

/// Records a transition of `buffers` to `STORAGE_READ_WRITE`. In this state the native recorder expects, and leaves,
/// every buffer that wgpu also tracks.
///
/// For a buffer that no command may use, such as a destroyed one, wgpu refuses these commands too.
pub(crate) fn transition_external<'a>(
    encoder: &mut wgpu::CommandEncoder,
    buffers: impl Iterator<Item = &'a wgpu::Buffer>,
) {
    let state = wgpu::BufferUses::STORAGE_READ_WRITE;
    let transitions = buffers.map(|buffer| wgpu::wgt::BufferTransition { buffer, state });
    encoder.transition_resources(transitions, std::iter::empty());
}
