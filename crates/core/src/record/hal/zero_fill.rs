//! Memory that the device zeroes before its first use.

use crate::memory::block::Block;
use crate::memory::native_memory::NativeMemory;
use crate::memory::wgpu_memory::WgpuMemory;
use std::sync::Arc;

/// Lists the blocks that a batch zeroes before it uses them. The drop marks them as not zeroed, unless the batch was
/// submitted.
#[derive(Default)]
pub(crate) struct ZeroFills(Vec<Arc<Block>>);

impl ZeroFills {
    /// Returns `true` if the batch must zero `block` before its next use. The block is then marked as zeroed.
    pub(crate) fn take(&mut self, block: &Arc<Block>) -> bool {
        let blank = native(block).is_some_and(NativeMemory::take_blank);
        if blank {
            self.0.push(block.clone());
        }
        blank
    }

    /// Keeps the blocks marked as zeroed, because the batch was submitted.
    pub(crate) fn settle(&mut self) {
        self.0.clear();
    }
}

impl Drop for ZeroFills {
    fn drop(&mut self) {
        for block in &self.0 {
            if let Some(memory) = native(block) {
                memory.still_blank();
            }
        }
    }
}

fn native(block: &Block) -> Option<&NativeMemory> {
    block.memory.wgpu().and_then(WgpuMemory::native)
}
