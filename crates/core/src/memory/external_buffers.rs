//! Buffers of the program's own, on which arrays lie.

use crate::memory::heap::BlockId;
use std::sync::Arc;
#[cfg(native)]
use std::sync::atomic::{AtomicBool, Ordering};

/// The books of the blocks on buffers of the program.
pub(crate) trait ExternalOwner: Send + Sync {
    /// Forgets a block that is gone. Another block on the same buffer may have taken its place.
    fn remove(&self, buffer: &wgpu::Buffer, id: BlockId);
}

/// What the memory of such a block knows of itself.
pub(crate) struct ExternalBuffer {
    id: BlockId,
    buffer: wgpu::Buffer,
    /// Whether wgpu counts all of its bytes as written: if not, it zeroes them before it uses them.
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

    /// Whether wgpu has to be told yet that all bytes count as written. Only for who holds the lane's token.
    #[cfg(native)]
    pub(crate) fn unsettled(&self) -> bool {
        !self.settled.load(Ordering::Relaxed)
    }

    /// It was told.
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

/// Records that `buffers` are used next by whoever records natively: in the one state in which those expect, and leave,
/// whatever wgpu knows too.
///
/// wgpu refuses the commands if it would refuse any other use of one of the buffers.
pub(crate) fn transition_external<'a>(
    encoder: &mut wgpu::CommandEncoder,
    buffers: impl Iterator<Item = &'a wgpu::Buffer>,
) {
    let state = wgpu::BufferUses::STORAGE_READ_WRITE;
    let transitions = buffers.map(|buffer| wgpu::wgt::BufferTransition { buffer, state });
    encoder.transition_resources(transitions, std::iter::empty());
}
