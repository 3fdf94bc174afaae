//! The native buffer of a block.

use crate::driver::backend::Backend;
use crate::memory::block::{Block, Memory};
use crate::memory::wgpu_memory::WgpuMemory;
use crate::record::hal::external_handles::ExternalHandles;

/// Returns the native buffer of a block, which may be external.
///
/// # Panics
/// Panics if the block belongs to another recorder, or is an external block outside the batch, which is a bug.
pub(crate) fn buffer_of<'a, A: Backend>(
    block: &'a Block,
    external: Option<&'a ExternalHandles<A>>,
) -> &'a A::Buffer {
    let found = external.and_then(|external| external.get(block.id));
    found.unwrap_or_else(|| native_of::<A>(block))
}

/// Returns the native buffer of a block that is not external.
///
/// # Panics
/// Panics if the block's memory is not native, which is a bug.
pub(crate) fn native_of<A: Backend>(block: &Block) -> &A::Buffer {
    match &block.memory {
        Memory::Wgpu(memory) => native::<A>(memory),
        _ => unreachable!("bug: {block:?} belongs to the CPU"),
    }
}

/// Returns the native buffer of memory.
///
/// # Panics
/// Panics if the memory belongs to wgpu, which is a bug.
pub(crate) fn native<A: Backend>(memory: &WgpuMemory) -> &A::Buffer {
    memory.native().and_then(|native| native.buffer::<A>()).expect("bug: the memory is not native")
}
