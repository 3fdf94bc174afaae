//! Free staging buffers of wgpu, kept for later.

use crate::driver::gl_gate::GlGate;
use crate::memory::byte_meter::MeteredBytes;
use fencepost_sync::prim::{Mutex, lock};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Holds the free buffers of one direction.
pub(crate) struct SpareBuffers {
    gate: Arc<GlGate>,
    /// Limits the bytes of all free buffers.
    cache: u64,
    free: Mutex<Vec<SpareBuffer>>,
}

/// Holds a free staging buffer.
pub(crate) struct SpareBuffer {
    pub(crate) buffer: wgpu::Buffer,
    pub(crate) count: MeteredBytes,
    pub(crate) mapped: bool,
}

impl SpareBuffers {
    pub(crate) fn new(gate: &Arc<GlGate>, cache: u64) -> Arc<Self> {
        Arc::new(Self { gate: gate.clone(), cache, free: Mutex::default() })
    }

    /// Takes a buffer whose size is in `sizes`, if one is free.
    pub(crate) fn take(&self, sizes: RangeInclusive<u64>) -> Option<SpareBuffer> {
        let mut free = lock(&self.free);
        let at = free.iter().position(|spare| sizes.contains(&spare.buffer.size()))?;
        let SpareBuffer { buffer, count, mapped } = free.swap_remove(at);
        Some(SpareBuffer { buffer, count: count.set_free(false), mapped })
    }

    /// Keeps a buffer if the limit allows its bytes, and drops the buffer otherwise.
    pub(crate) fn keep(&self, spare: SpareBuffer) {
        let mut free = lock(&self.free);
        let kept: u64 = free.iter().map(|spare| spare.buffer.size()).sum();
        if kept + spare.buffer.size() <= self.cache {
            free.push(SpareBuffer { count: spare.count.set_free(true), ..spare });
        } else {
            drop(free);
            self.gate.drop_in_turn(spare.buffer);
        }
    }

    /// Drops all free buffers and returns their bytes.
    pub(crate) fn trim(&self) -> u64 {
        let free = std::mem::take(&mut *lock(&self.free));
        let bytes = free.iter().map(|spare| spare.buffer.size()).sum();
        free.into_iter().for_each(|spare| self.gate.drop_in_turn(spare.buffer));
        bytes
    }
}
