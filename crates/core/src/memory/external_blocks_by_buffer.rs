//! The blocks on wgpu buffers of the program.

use crate::memory::block::Block;
use crate::memory::external_buffers::ExternalOwner;
use crate::memory::heap::BlockId;
use fencepost_sync::prim::{Mutex, lock};
use rustc_hash::FxHashMap;
use std::sync::{Arc, Weak};

/// Blocks that are gone and may still be bound in a recorder's groups.
pub(crate) type DroppedBlocks = Arc<Mutex<Vec<BlockId>>>;

/// The blocks on buffers of the program's own. All arrays on one buffer share its block, and with it the uses of its
/// bytes.
pub(crate) struct ExternalBlocks {
    blocks: Mutex<FxHashMap<wgpu::Buffer, (BlockId, Weak<Block>)>>,
    gone: DroppedBlocks,
}

impl ExternalBlocks {
    pub(crate) fn new(gone: &DroppedBlocks) -> Arc<Self> {
        Arc::new(Self { blocks: Mutex::default(), gone: gone.clone() })
    }

    /// Whether there are any.
    pub(crate) fn any(&self) -> bool {
        !lock(&self.blocks).is_empty()
    }

    /// The block on `buffer`; `make` makes it if no array lies there.
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
        drop(removed); // a buffer of wgpu's goes outside the lock
    }
}
