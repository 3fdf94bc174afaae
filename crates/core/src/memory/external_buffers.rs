//! External buffers: the user's wgpu buffers, with arrays on them. All arrays on one buffer share one block.

use crate::memory::block::{Block, BlockId};
use fencepost_sync::prim::{Mutex, lock};
use rustc_hash::FxHashMap;
#[cfg(native)]
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

/// The state of a block's external buffer. Dropping it removes the block from its list.
pub(crate) struct ExternalBuffer {
    id: BlockId,
    buffer: wgpu::Buffer,
    /// `true` if wgpu treats all bytes of the buffer as written. Otherwise its next command on the buffer would zero
    /// bytes that the native recorder has written.
    #[cfg(native)]
    settled: AtomicBool,
    all: Arc<ExternalBlocks>,
}

impl ExternalBuffer {
    pub(crate) fn new(id: BlockId, buffer: &wgpu::Buffer, all: Arc<ExternalBlocks>) -> Self {
        Self {
            id,
            buffer: buffer.clone(),
            #[cfg(native)]
            settled: AtomicBool::new(false),
            all,
        }
    }

    /// Returns `true` until [`settle`](Self::settle) is called. Only the thread that holds the lane's token may call
    /// this.
    #[cfg(native)]
    pub(crate) fn is_unsettled(&self) -> bool {
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

/// Records a transition of `buffers` to `STORAGE_READ_WRITE`, the state in which the native recorder expects and leaves
/// every buffer that wgpu also tracks.
///
/// wgpu refuses these commands for a buffer that no command may use, such as a destroyed one.
pub(crate) fn transition_external<'a>(
    encoder: &mut wgpu::CommandEncoder,
    buffers: impl Iterator<Item = &'a wgpu::Buffer>,
) {
    let state = wgpu::BufferUses::STORAGE_READ_WRITE;
    let transitions = buffers.map(|buffer| wgpu::wgt::BufferTransition { buffer, state });
    encoder.transition_resources(transitions, std::iter::empty());
}

/// Dropped blocks that may still be in a recorder's bind groups.
pub(crate) type DroppedBlocks = Arc<Mutex<Vec<BlockId>>>;

/// The blocks of external buffers, by buffer. All arrays on one buffer share one block and its uses.
pub(crate) struct ExternalBlocks {
    blocks: Mutex<FxHashMap<wgpu::Buffer, (BlockId, Weak<Block>)>>,
    gone: DroppedBlocks,
}

impl ExternalBlocks {
    pub(crate) fn new(gone: &DroppedBlocks) -> Arc<Self> {
        Arc::new(Self { blocks: Mutex::default(), gone: gone.clone() })
    }

    /// Returns `true` if there is an external block.
    pub(crate) fn has_blocks(&self) -> bool {
        !lock(&self.blocks).is_empty()
    }

    /// Returns the block of `buffer`, and calls `make` if no array is on the buffer.
    pub(crate) fn block(&self, buffer: &wgpu::Buffer, make: impl FnOnce() -> Arc<Block>) -> Arc<Block> {
        let mut blocks = lock(&self.blocks);
        let known = blocks.get(buffer).and_then(|(_, block)| block.upgrade());
        known.unwrap_or_else(|| {
            let block = make();
            blocks.insert(buffer.clone(), (block.id, Arc::downgrade(&block)));
            block
        })
    }

    /// Removes the block `id`, which is being dropped, from the list. A newer block of the same buffer stays.
    fn remove(&self, buffer: &wgpu::Buffer, id: BlockId) {
        lock(&self.gone).push(id);
        let mut blocks = lock(&self.blocks);
        let current = blocks.get(buffer).is_some_and(|(known, _)| *known == id);
        let removed = current.then(|| blocks.remove_entry(buffer));
        drop(blocks);
        drop(removed); // the wgpu buffer is dropped without the lock
    }
}
