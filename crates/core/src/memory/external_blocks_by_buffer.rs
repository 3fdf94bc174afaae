//! The blocks of external buffers.

use crate::memory::block::Block;
use crate::memory::external_buffers::ExternalOwner;
use crate::memory::heap::BlockId;
use fencepost_sync::prim::{Mutex, lock};
use rustc_hash::FxHashMap;
use std::sync::{Arc, Weak};

/// Dropped blocks that a recorder's bind groups may still bind.
pub(crate) type DroppedBlocks = Arc<Mutex<Vec<BlockId>>>;

/// The blocks of external buffers, by buffer. All arrays on one buffer share one block, and its list of uses.
pub(crate) struct ExternalBlocks {
    blocks: Mutex<FxHashMap<wgpu::Buffer, (BlockId, Weak<Block>)>>,
    gone: DroppedBlocks,
}

impl ExternalBlocks {
    pub(crate) fn new(gone: &DroppedBlocks) -> Arc<Self> {
        Arc::new(Self { blocks: Mutex::default(), gone: gone.clone() })
    }

    /// Returns `true` if there is an external block.
    pub(crate) fn any(&self) -> bool {
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
}

impl ExternalOwner for ExternalBlocks {
    fn remove(&self, buffer: &wgpu::Buffer, id: BlockId) {
        lock(&self.gone).push(id);
        let mut blocks = lock(&self.blocks);
        let current = blocks.get(buffer).is_some_and(|(known, _)| *known == id);
        let removed = current.then(|| blocks.remove_entry(buffer));
        drop(blocks);
        drop(removed); // the wgpu buffer is dropped without the lock
    }
}
