//! Blocks whose memory the device zeroes before the first use.

use crate::memory::block::Block;
use std::sync::Arc;

/// Blocks that a batch zeroes before it uses them. The drop marks them as not zeroed, unless the batch was submitted.
#[derive(Default)]
pub(crate) struct ZeroFills(Vec<Arc<Block>>);

impl ZeroFills {
    /// Adds a block that the batch zeroes. The caller has marked it as zeroed.
    #[cold]
    pub(crate) fn add(&mut self, block: &Arc<Block>) {
        self.0.push(block.clone());
    }

    /// Returns `true` if the batch zeroes no block.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keeps the blocks marked as zeroed, because the batch was submitted.
    pub(crate) fn settle(&mut self) {
        self.0.clear();
    }
}

impl Drop for ZeroFills {
    fn drop(&mut self) {
        for block in &self.0 {
            if let Some(memory) = block.memory.native() {
                memory.still_blank();
            }
        }
    }
}
