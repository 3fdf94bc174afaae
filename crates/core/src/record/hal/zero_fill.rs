//! Memory that the device zeroes before its first use.

use crate::memory::block::{Block, Memory};
use crate::memory::native_memory::NativeMemory;
use std::sync::Arc;

/// Blocks that a batch zeroes before it does anything else with them. Unless it is submitted they are still blank.
#[derive(Default)]
pub(crate) struct ZeroFills(Vec<Arc<Block>>);

impl ZeroFills {
    /// Whether `block` has to be zeroed now; then it is noted.
    pub(crate) fn take(&mut self, block: &Arc<Block>) -> bool {
        let blank = native(block).is_some_and(NativeMemory::take_blank);
        if blank {
            self.0.push(block.clone());
        }
        blank
    }

    /// The batch was submitted.
    pub(crate) fn settle(&mut self) {
        self.0.clear();
    }
}

impl Drop for ZeroFills {
    fn drop(&mut self) {
        for block in &self.0 {
            native(block).into_iter().for_each(NativeMemory::still_blank);
        }
    }
}

fn native(block: &Block) -> Option<&NativeMemory> {
    match &block.memory {
        Memory::Wgpu(memory) => memory.native(),
        Memory::Host(_) => None,
    }
}
