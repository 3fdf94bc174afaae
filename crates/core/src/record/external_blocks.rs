//! Buffers of the program's own in a batch.

use crate::device::recorder::Failure;
use crate::device::wgpu_device::WgpuDevice;
use crate::memory::block::{Block, Memory};
use crate::work::step::Step;
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// A foreign block, with the first step of a batch that names it.
pub(crate) type NamedExternal<'a> = (usize, &'a Arc<Block>);

/// The foreign blocks that `steps` name.
pub(crate) fn named<'a>(device: &WgpuDevice, steps: &'a [Step]) -> Vec<NamedExternal<'a>> {
    let mut named = Vec::new();
    if !device.foreign().any() {
        return named;
    }
    let mut seen = FxHashSet::default();
    for (at, step) in steps.iter().enumerate() {
        step.work.each_block(|block| {
            if block.is_external() && seen.insert(block.id) {
                named.push((at, block));
            }
        });
    }
    named
}

/// wgpu's buffer behind a foreign block.
///
/// # Panics
/// If the block is the CPU recorder's: a bug.
pub(crate) fn buffer(block: &Block) -> &wgpu::Buffer {
    match &block.memory {
        Memory::Wgpu(memory) => memory.buffer(),
        Memory::Host(_) => unreachable!("bug: {block:?} is the CPU recorder's"),
    }
}

/// Lays the blame for a batch that was refused as a whole on the step whose foreign buffer wgpu refuses, if there is one:
/// it is mapped, or was destroyed.
pub(crate) fn blame(device: &WgpuDevice, steps: &[Step], failure: Failure) -> Failure {
    if failure.lost || failure.step.is_some() {
        return failure;
    }
    let refused = |&(at, block): &NamedExternal<'_>| {
        let label = block.order().label.clone();
        device.refusal(buffer(block), &label).map(|error| (at, error))
    };
    match named(device, steps).iter().find_map(refused) {
        Some((at, error)) => Failure { step: Some(at), error, lost: false },
        None => failure,
    }
}
