//! The memory into which a launch writes its messages.

use crate::arrays::storage::Storage;
use crate::memory::message_source::MessageSource;
use crate::memory::read_slot::ReadSlot;
use crate::work::kernel_launch::BoundArray;
use crate::work::span::{Pattern, Span};
use crate::work::step::Work;
use fencepost_kernels::Access;
use std::sync::Arc;

/// The message buffer of a launch. No other launch of a graph uses the memory, because each replay reads it after all
/// nodes.
pub(crate) struct MessageBuffer {
    pub(crate) storage: Arc<Storage>,
    pub(crate) size: u64,
    pub(crate) source: Arc<MessageSource>,
}

impl MessageBuffer {
    /// Returns the buffer as the binding `at` of its kernel.
    pub(crate) fn bound(&self, at: usize) -> BoundArray {
        let (block, used) = (self.storage.block().clone(), Some(Access::ReadWrite));
        BoundArray { at: at as u32, block, offset: 0, size: self.size, used }
    }

    /// Returns the work that clears the buffer before a launch.
    pub(crate) fn clear(&self) -> Work {
        let size = self.source.messages.zeros().into();
        let dst = Span { block: self.storage.block().clone(), offset: 0, size };
        Work::Fill { dst, pattern: Pattern::ZERO }
    }

    /// Returns the work that reads the buffer after a launch.
    pub(crate) fn read(&self) -> Work {
        let src = Span { block: self.storage.block().clone(), offset: 0, size: self.size };
        Work::Read { src, slot: ReadSlot::of_messages(self.source.clone()) }
    }
}
