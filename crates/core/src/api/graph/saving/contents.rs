//! The bytes of an array that a file contains.

use crate::api::queue::transfer::ArrayOps;
use crate::error::Result;
use crate::error::site::CommandKind;
use crate::memory::block::Block;
use crate::runtime::owner::Owner;
use crate::runtime::wait_mode::late;
use crate::scheduler::ordering::admission::Admission;
use crate::scheduler::priority::Priority;
use crate::scheduler::wait_target::Caller;
use crate::work::span::Span;
use std::panic::Location;
use std::sync::Arc;

/// Blocks until the first `size` bytes of a block are on the host, and returns them. They have the values after the
/// last command enqueued so far.
pub(super) fn read_block(
    owner: &Owner,
    block: &Arc<Block>,
    size: u64,
    at: &'static Location<'static>,
) -> Result<Vec<u8>> {
    let engine = owner.engine();
    let slot = engine.helper("the save of a graph", Priority::Normal)?;
    engine.wait_for_all(slot, at);
    let by = Admission { slot, what: CommandKind::Inspect, at };
    let span = Span { block: block.clone(), offset: 0, size };
    let words = (size / 4) as usize;
    let reader = ArrayOps { owner, by, captured: None };
    let reading = reader.read_words::<u32>(span, words, Vec::new()).and_then(|reading| {
        engine.flush(slot, Caller::Waits)?;
        Ok(reading)
    });
    engine.release_helper(slot);
    Ok(bytemuck::cast_slice(&late(reading?).wait()?).to_vec())
}
