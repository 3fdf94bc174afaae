//! Memory that the device zeroes before its first use.

use crate::memory::{Block, Memory};
use std::sync::Arc;

/// Blocks that a batch zeroes before it does anything else with them. Unless it is submitted they are still blank.
#[derive(Default)]
pub(super) struct Zeroed(Vec<Arc<Block>>);

impl Zeroed {
    /// Whether `block` has to be zeroed now; then it is noted.
    pub(super) fn take(&mut self, block: &Arc<Block>) -> bool {
        let blank = matches!(&block.memory, Memory::Wgpu(memory) if memory.take_blank());
        if blank {
            self.0.push(block.clone());
        }
        blank
    }

    /// The batch was submitted.
    pub(super) fn settle(&mut self) {
        self.0.clear();
    }
}

impl Drop for Zeroed {
    fn drop(&mut self) {
        for block in &self.0 {
            if let Memory::Wgpu(memory) = &block.memory {
                memory.still_blank();
            }
        }
    }
}
