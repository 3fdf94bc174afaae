//! Staging buffers of wgpu's that nobody uses, kept for later.

use crate::driver::gl_gate::GlGate;
use crate::memory::byte_meter::MeteredBytes;
use fencepost_sync::prim::{Mutex, lock};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The spare buffers of one direction.
pub(crate) struct SpareBuffers {
    gate: Arc<GlGate>,
    /// Bytes of all that are kept.
    cache: u64,
    free: Mutex<Vec<SpareBuffer>>,
}

/// A staging buffer that nobody uses.
pub(crate) struct SpareBuffer {
    pub(crate) buffer: wgpu::Buffer,
    pub(crate) count: MeteredBytes,
    pub(crate) mapped: bool,
}

impl SpareBuffers {
    pub(crate) fn new(gate: &Arc<GlGate>, cache: u64) -> Arc<Self> {
        Arc::new(Self { gate: gate.clone(), cache, free: Mutex::default() })
    }

    /// One of such a size, if there is one.
    pub(crate) fn take(&self, sizes: RangeInclusive<u64>) -> Option<SpareBuffer> {
        let mut free = lock(&self.free);
        let at = free.iter().position(|spare| sizes.contains(&spare.buffer.size()))?;
        let SpareBuffer { buffer, count, mapped } = free.swap_remove(at);
        Some(SpareBuffer { buffer, count: count.set_free(false), mapped })
    }

    /// Keeps a buffer, if that is not too many bytes.
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

    /// Gives all of them back; the bytes of that.
    pub(crate) fn trim(&self) -> u64 {
        let free = std::mem::take(&mut *lock(&self.free));
        let bytes = free.iter().map(|spare| spare.buffer.size()).sum();
        free.into_iter().for_each(|spare| self.gate.drop_in_turn(spare.buffer));
        bytes
    }
}
