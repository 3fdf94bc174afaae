//! Buffers of the program's own, on which arrays lie.

use crate::memory::block::{Block, BlockId};
use fencepost_sync::prim::{Mutex, lock};
use rustc_hash::FxHashMap;
#[cfg(native)]
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

/// Blocks that are gone and may still be bound in a recorder's groups.
pub(crate) type Gone = Arc<Mutex<Vec<BlockId>>>;

/// The blocks on buffers of the program's own. All arrays on one buffer share its block, and with it the uses of its
/// bytes.
pub(crate) struct ForeignBlocks {
    blocks: Mutex<FxHashMap<wgpu::Buffer, (BlockId, Weak<Block>)>>,
    gone: Gone,
}

/// What the memory of such a block knows of itself.
pub(crate) struct Foreign {
    id: BlockId,
    buffer: wgpu::Buffer,
    /// Whether wgpu counts all of its bytes as written: if not, it zeroes them before it uses them.
    #[cfg(native)]
    settled: AtomicBool,
    all: Arc<ForeignBlocks>,
}

impl ForeignBlocks {
    pub(crate) fn new(gone: &Gone) -> Arc<Self> {
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

    /// Forgets a block that is gone. Another on the same buffer may have taken its place.
    fn remove(&self, buffer: &wgpu::Buffer, id: BlockId) {
        lock(&self.gone).push(id);
        let mut blocks = lock(&self.blocks);
        let current = blocks.get(buffer).is_some_and(|(known, _)| *known == id);
        let removed = current.then(|| blocks.remove_entry(buffer));
        drop(blocks);
        drop(removed); // a buffer of wgpu's goes outside the lock
    }
}

impl Foreign {
    pub(crate) fn new(id: BlockId, buffer: &wgpu::Buffer, all: &Arc<ForeignBlocks>) -> Self {
        Self {
            id,
            buffer: buffer.clone(),
            #[cfg(native)]
            settled: AtomicBool::new(false),
            all: all.clone(),
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

impl Drop for Foreign {
    fn drop(&mut self) {
        self.all.remove(&self.buffer, self.id);
    }
}

/// Records that `buffers` are used next by whoever records natively: in the one state in which those expect, and leave,
/// whatever wgpu knows too.
///
/// wgpu refuses the commands if it would refuse any other use of one of the buffers.
pub(crate) fn bring_home<'a>(
    encoder: &mut wgpu::CommandEncoder,
    buffers: impl Iterator<Item = &'a wgpu::Buffer>,
) {
    let state = wgpu::BufferUses::STORAGE_READ_WRITE;
    let transitions = buffers.map(|buffer| wgpu::wgt::BufferTransition { buffer, state });
    encoder.transition_resources(transitions, std::iter::empty());
}
