//! Free staging buffers of wgpu, kept for later.

use crate::driver::gl_gate::GlGate;
use crate::memory::byte_meter::MeteredBytes;
use crate::memory::free_list::FreeMemory;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The free buffers for transfers in one direction, to the device or to the host.
pub(crate) struct SpareBuffers {
    gate: Arc<GlGate>,
    free: FreeMemory<SpareBuffer>,
}

/// A free staging buffer.
pub(crate) struct SpareBuffer {
    pub(crate) buffer: wgpu::Buffer,
    pub(crate) mapped: bool,
}

impl SpareBuffers {
    /// Makes an empty list that keeps at most `limit` bytes.
    pub(crate) fn new(gate: &Arc<GlGate>, limit: u64) -> Arc<Self> {
        Arc::new(Self { gate: gate.clone(), free: FreeMemory::new(limit) })
    }

    /// Takes a buffer whose size is in `sizes`, if one is free.
    pub(crate) fn take(&self, sizes: RangeInclusive<u64>) -> Option<(MeteredBytes, SpareBuffer)> {
        self.free.take(sizes)
    }

    /// Keeps a buffer if the limit allows its bytes, and drops the buffer otherwise.
    pub(crate) fn keep(&self, count: MeteredBytes, spare: SpareBuffer) {
        if let Some(over) = self.free.keep(count, spare) {
            self.gate.drop_in_turn(over.buffer);
        }
    }

    /// Drops all free buffers and returns the number of their bytes.
    pub(crate) fn trim(&self) -> u64 {
        let (spares, bytes) = self.free.drain();
        for (_, spare) in spares {
            self.gate.drop_in_turn(spare.buffer);
        }
        bytes
    }
}
