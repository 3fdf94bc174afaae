//! The memory of new arrays.

use crate::api::graph::tape::CapturedQueue;
use crate::api::queue::transfer::ArrayOps;
use crate::arrays::storage::Storage;
use crate::error::Result;
use crate::memory::heap::Heap;
use crate::memory::pool::size_for;
use std::sync::Arc;

impl ArrayOps<'_> {
    /// Allocates an array in the order of the queue.
    pub(crate) fn allocate(&self, bytes: u64, label: &Arc<str>) -> Result<Arc<Storage>> {
        let storage = Storage::allocate(self.owner, Heap::Device, bytes, label, self.by)?;
        self.owner.engine().note_making(self.by, storage.block());
        Ok(storage)
    }

    /// Allocates an array of a capture, on the memory of a dropped array of the capture if there is one.
    #[cold]
    pub(crate) fn allocate_captured(
        &self,
        captured: &CapturedQueue,
        bytes: u64,
        label: &Arc<str>,
    ) -> Result<Arc<Storage>> {
        let size = size_for(bytes, self.owner.device().caps().max_block);
        if let Some(block) = captured.reuse(size, label, self.by.at)? {
            return Ok(Storage::on_reused_block(self.owner, block, bytes, label, self.by));
        }
        let storage = Storage::allocate(self.owner, Heap::Device, bytes, label, self.by)?;
        captured.adopt(storage.block(), self.by.at)?;
        Ok(storage)
    }
}
