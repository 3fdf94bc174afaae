//! Access to the bytes of blocks on the CPU.

use crate::memory::block::{Block, Memory};
use std::ops::Range;

/// Copies the bytes of a block from `offset` into `out`.
pub(super) fn read(block: &Block, offset: u64, out: &mut [u8]) {
    match &block.memory {
        Memory::Host(memory) => memory.read(offset, out),
        #[cfg(cpu_code)]
        Memory::Shared(memory) => memory.read(offset, out),
        Memory::Wgpu(_) => foreign(block),
    }
}

/// Copies `bytes` to `offset` of a block.
pub(super) fn write(block: &Block, offset: u64, bytes: &[u8]) {
    match &block.memory {
        Memory::Host(memory) => memory.write(offset, bytes),
        #[cfg(cpu_code)]
        Memory::Shared(memory) => memory.write(offset, bytes),
        Memory::Wgpu(_) => foreign(block),
    }
}

/// Returns a copy of a range of a block.
pub(super) fn copy(block: &Block, range: Range<u64>) -> Vec<u8> {
    let mut bytes = vec![0; (range.end - range.start) as usize];
    read(block, range.start, &mut bytes);
    bytes
}

/// Copies a range of a block to `offset` of a block, which may be the same one.
pub(super) fn transfer(src: &Block, range: Range<u64>, dst: &Block, offset: u64) {
    #[cfg(cpu_code)]
    if let (Memory::Shared(src), Memory::Shared(dst)) = (&src.memory, &dst.memory) {
        return dst.copy_from(offset, src, &range);
    }
    write(dst, offset, &copy(src, range));
}

/// Returns the word at an index of a block of words.
pub(super) fn word(block: &Block, index: u32) -> u32 {
    let mut bytes = [0; 4];
    read(block, 4 * u64::from(index), &mut bytes);
    u32::from_ne_bytes(bytes)
}

/// Stores a word at an index of a block of words.
pub(super) fn store_word(block: &Block, index: u32, value: u32) {
    write(block, 4 * u64::from(index), &value.to_ne_bytes());
}

fn foreign(block: &Block) -> ! {
    unreachable!("bug: {block:?} does not belong to the CPU")
}
