//! The native buffer behind a block.

use crate::driver::backend::Backend;
use crate::memory::block::{Block, Memory};
use crate::memory::wgpu_memory::WgpuMemory;
use crate::record::hal::external_handles::ExternalHandles;

/// The buffer of a block, the program's own among them.
///
/// # Panics
/// If the block is another recorder's, or is not lent: a bug.
pub(crate) fn buffer_of<'a, A: Backend>(block: &'a Block, external: &'a ExternalHandles<A>) -> &'a A::Buffer {
    external.get(block.id).unwrap_or_else(|| native_of::<A>(block))
}

/// # Panics
/// If the block is not native memory: a bug.
pub(crate) fn native_of<A: Backend>(block: &Block) -> &A::Buffer {
    match &block.memory {
        Memory::Wgpu(memory) => native::<A>(memory),
        Memory::Host(_) => unreachable!("bug: {block:?} is the CPU recorder's"),
    }
}

/// # Panics
/// If the memory is wgpu's own: a bug.
pub(crate) fn native<A: Backend>(memory: &WgpuMemory) -> &A::Buffer {
    memory.native().and_then(|native| native.buffer::<A>()).expect("bug: memory that is not native")
}
