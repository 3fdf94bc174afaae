//! The external buffers that a batch uses.

use crate::device::recorder::Failure;
use crate::device::wgpu_device::WgpuDevice;
use crate::memory::block::Block;
use crate::work::step::Step;
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// An external block, with the index of the first step of a batch that uses it.
pub(crate) type NamedExternal<'a> = (usize, &'a Arc<Block>);

/// Returns the external blocks that `steps` use, each once and with the index of its first step.
pub(crate) fn named<'a>(device: &WgpuDevice, steps: &'a [Step]) -> Vec<NamedExternal<'a>> {
    let mut named = Vec::new();
    if !device.external().any() {
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

/// Attributes the failure of a whole batch to the first step whose external buffer wgpu refuses, if there is one. wgpu
/// refuses a buffer that is mapped or destroyed.
pub(crate) fn attribute(device: &WgpuDevice, steps: &[Step], failure: Failure) -> Failure {
    if failure.lost || failure.step.is_some() {
        return failure;
    }
    let refused = |&(at, block): &NamedExternal<'_>| {
        let label = block.order().label.clone();
        device.refusal(block.wgpu_buffer(), &label).map(|error| (at, error))
    };
    match named(device, steps).iter().find_map(refused) {
        Some((at, error)) => Failure { step: Some(at), error, lost: false },
        None => failure,
    }
}
