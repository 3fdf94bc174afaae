//! Drives the two queues, so that both stay busy.

use std::collections::VecDeque;

use anyhow::Result;
use fencepost::Profiler;
use fencepost::prelude::*;

use super::hasher::{Block, Halves, Hasher};
use super::input::Input;
use super::tree::{self, CHUNK, Piece, Value};

// Pieces in memory at a time: one is uploaded while the other is hashed.
const SLOTS: usize = 2;

/// A context with its two queues, and the memory for the pieces of every file.
pub(crate) struct Gpu {
    ctx: Context,
    copy: CommandQueue,
    slots: [Slot; SLOTS],
    hasher: Hasher,
}

// The memory of one piece, and the events that order the two queues.
struct Slot {
    staging: HostArray<Block, Upload>,
    input: DeviceArray<Block>,
    uploaded: Event,
    hashed: Event,
}

impl Gpu {
    /// Prepares a context for pieces of `piece_chunks` chunks.
    ///
    /// # Errors
    /// Fails if the device lacks the memory, or its driver cannot compile a kernel.
    pub(crate) fn new(ctx: Context, piece_chunks: usize) -> Result<Self> {
        let slot = |_| Slot::new(&ctx, piece_chunks * CHUNK / size_of::<Block>());
        let slots = (0..SLOTS).map(slot).collect::<Result<Vec<_>>>()?;
        let slots = slots.try_into().ok().expect("bug: SLOTS slots were made");
        let hasher = Hasher::new(&ctx, piece_chunks)?;
        Ok(Self { copy: ctx.queue("copy"), slots, hasher, ctx })
    }

    /// Begins to record the commands of the queues.
    pub(crate) fn profile(&self) -> Profiler {
        self.ctx.profile()
    }

    /// Returns the adapter's name.
    pub(crate) fn adapter(&self) -> String {
        self.ctx.info().to_string()
    }

    /// Computes the hash of an input. `seen` receives the bytes of each piece.
    ///
    /// The host is at most `SLOTS` pieces ahead of the last value that it read, so memory does not grow.
    ///
    /// # Errors
    /// Fails if the input cannot be read, or the device fails.
    pub(crate) fn hash(&mut self, input: &mut Input, mut seen: impl FnMut(&[u8])) -> Result<Value> {
        let mut tree = tree::Tree::default();
        let mut late = VecDeque::new();
        let mut slot = 0;
        let mut piece = self.upload(0, input, &mut seen)?;
        while !piece.last {
            let next = (slot + 1) % SLOTS;
            let uploaded = self.upload(next, input, &mut seen)?;
            late.push_back(self.reduce(slot, piece)?);
            for late in late.drain(..late.len().saturating_sub(SLOTS)) {
                tree.push(value(late)?);
            }
            (slot, piece) = (next, uploaded);
        }
        late.push_back(self.reduce(slot, piece)?);
        for late in late {
            tree.push(value(late)?);
        }
        Ok(tree.finish())
    }

    // Reads the next piece into pinned memory, and enqueues its upload on the copy queue.
    fn upload(&mut self, slot: usize, input: &mut Input, seen: &mut impl FnMut(&[u8])) -> Result<Piece> {
        let Slot { staging, input: array, uploaded, hashed } = &mut self.slots[slot];
        // Waits until the earlier upload from this staging memory is done.
        let mut blocks = staging.host_mut()?;
        let bytes = bytemuck::cast_slice_mut(&mut blocks[..]);
        let piece = input.read(bytes)?;
        seen(&bytes[..piece.bytes]);
        drop(blocks);
        let blocks = piece.bytes.div_ceil(size_of::<Block>());
        self.copy.wait_for(hashed)?;
        self.copy.upload(&staging.slice(0..blocks)?, &mut array.slice(0..blocks)?)?;
        uploaded.record(&self.copy)?;
        Ok(piece)
    }

    // Enqueues the reduction of an uploaded piece to its value on the compute queue.
    fn reduce(&mut self, slot: usize, piece: Piece) -> Result<Pending<Vec<Halves>>> {
        let Slot { input, uploaded, hashed, .. } = &self.slots[slot];
        let value = self.hasher.reduce(piece, input, uploaded, hashed)?;
        // The flush also starts the upload of the next piece, which is independent. The read alone would start
        // only this piece.
        self.ctx.flush()?;
        Ok(self.hasher.read(&value))
    }
}

impl Slot {
    fn new(ctx: &Context, blocks: usize) -> Result<Self> {
        let staging = ctx.pinned([blocks])?;
        let input = ctx.zeros([blocks])?;
        Ok(Self { staging, input, uploaded: ctx.event(), hashed: ctx.event() })
    }
}

fn value(late: Pending<Vec<Halves>>) -> Result<Value> {
    Ok(late.wait()?[0].value())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use fencepost::SimulatorOptions;

    use super::*;

    // The CPU recorder runs commands in any order that the events allow, and `Checked` rejects missing events.
    fn on_cpu(seed: u64) -> Gpu {
        let options = SimulatorOptions::default().seed(seed);
        Gpu::new(Context::simulated(options.policy(Policy::Checked)), 4).unwrap()
    }

    fn hash(gpu: &mut Gpu, message: &[u8]) -> String {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(message).unwrap();
        tree::hex(gpu.hash(&mut Input::open(file.path()).unwrap(), |_| {}).unwrap())
    }

    #[test]
    fn the_events_are_sufficient_in_any_order_of_execution() {
        let all: Vec<u8> = (0..40 * CHUNK + 1).map(|i| (i % 251) as u8).collect();
        for seed in 0..8 {
            let mut gpu = on_cpu(seed);
            for length in [0, 1, 1023, 1024, 1025, 4096, 4097, 3 * 4096, 40 * CHUNK + 1] {
                let message = &all[..length];
                let expected = blake3::hash(message).to_string();
                assert_eq!(hash(&mut gpu, message), expected, "{length} bytes, seed {seed}");
            }
        }
    }
}
