//! Drives the two queues, so that both stay busy.

use std::collections::VecDeque;

use anyhow::Result;
use bytemuck::{Pod, Zeroable};
use fencepost::Profiler;
use fencepost::prelude::*;

use super::input::Input;
use super::tree::{self, CHUNK, Piece, Value};

#[derive(KernelArgs)]
#[kernel(source = "blake3_chunks.wgsl")]
struct Blake3Chunks<'a> {
    bytes: u32,
    counter_low: u32,
    counter_high: u32,
    root: u32,
    input: &'a DeviceArray<Block>,
    values: &'a mut DeviceArray<Halves>,
}

#[derive(KernelArgs)]
#[kernel(source = "blake3_parents.wgsl")]
struct Blake3Parents<'a> {
    count: u32,
    root: u32,
    children: &'a DeviceArray<Halves>,
    parents: &'a mut DeviceArray<Halves>,
}

/// 64 bytes of a file in the layout of the shader's `Blake3Block`.
#[derive(Clone, Copy, Pod, Zeroable, Element)]
#[repr(C)]
struct Block {
    p: [u32; 4],
    q: [u32; 4],
    r: [u32; 4],
    s: [u32; 4],
}

/// A value of the tree in the layout of the shader's `Blake3Value`.
#[derive(Clone, Copy, Pod, Zeroable, Element)]
#[repr(C)]
struct Halves {
    low: [u32; 4],
    high: [u32; 4],
}

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

// The compute queue, its kernels, and two arrays of values. The levels of the tree write to the arrays in turn.
struct Hasher {
    compute: CommandQueue,
    chunks: Kernel<Blake3Chunks<'static>>,
    parents: Kernel<Blake3Parents<'static>>,
    values: [DeviceArray<Halves>; 2],
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
        self.hasher.compute.wait_for(uploaded)?;
        self.hasher.launch_chunks(piece, input)?;
        hashed.record(&self.hasher.compute)?;
        self.hasher.launch_parents(piece)?;
        let value = self.hasher.value(piece)?;
        // The flush also starts the upload of the next piece, which is independent. The read alone would start
        // only this piece.
        self.ctx.flush()?;
        Ok(self.hasher.compute.read(&value))
    }
}

impl Slot {
    fn new(ctx: &Context, blocks: usize) -> Result<Self> {
        let staging = ctx.pinned([blocks])?;
        let input = ctx.zeros([blocks])?;
        Ok(Self { staging, input, uploaded: ctx.event(), hashed: ctx.event() })
    }
}

impl Hasher {
    fn new(ctx: &Context, piece_chunks: usize) -> Result<Self> {
        Ok(Self {
            compute: ctx.queue("compute"),
            chunks: ctx.kernel::<Blake3Chunks>()?,
            parents: ctx.kernel::<Blake3Parents>()?,
            values: [ctx.zeros([piece_chunks])?, ctx.zeros([piece_chunks])?],
        })
    }

    fn launch_chunks(&mut self, piece: Piece, input: &DeviceArray<Block>) -> Result<()> {
        let args = Blake3Chunks {
            bytes: piece.bytes as u32,
            counter_low: piece.first_chunk as u32,
            counter_high: (piece.first_chunk >> 32) as u32,
            root: u32::from(piece.whole() && piece.chunks() == 1),
            input,
            values: &mut self.values[0],
        };
        Ok(self.compute.launch(&self.chunks, Grid::threads([piece.chunks()]), args)?)
    }

    // Launches one kernel for each level, until one value remains.
    fn launch_parents(&mut self, piece: Piece) -> Result<()> {
        let [mut children, mut parents] = self.values.each_mut();
        for count in piece.levels() {
            let root = u32::from(piece.whole() && count == 2);
            let args = Blake3Parents { count: count as u32, root, children, parents };
            self.compute.launch(&self.parents, Grid::threads([count.div_ceil(2)]), args)?;
            (children, parents) = (parents, children);
        }
        Ok(())
    }

    // Copies the value to its own array. Otherwise the first launch of the next piece would have to save the
    // bytes of a pending read.
    fn value(&self, piece: Piece) -> Result<DeviceArray<Halves>> {
        let mut value = self.compute.empty([1])?;
        let last = &self.values[piece.levels().count() % 2];
        self.compute.copy(&last.slice(0..1)?, &mut value)?;
        Ok(value)
    }
}

fn value(late: Pending<Vec<Halves>>) -> Result<Value> {
    Ok(bytemuck::cast(late.wait()?[0]))
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

    #[test]
    fn the_counter_of_a_chunk_past_four_tebibytes_has_a_high_word() {
        let mut gpu = on_cpu(2);
        let first_chunk = (1 << 32) - 1;
        let message = [9; 2 * CHUNK];
        let piece = Piece { bytes: message.len(), first_chunk, last: true };
        let blocks: Vec<Block> = bytemuck::pod_collect_to_vec(&message);
        let queue = gpu.hasher.compute.clone();
        queue.upload(&blocks, &mut gpu.slots[0].input.slice(0..blocks.len()).unwrap()).unwrap();
        gpu.hasher.launch_chunks(piece, &gpu.slots[0].input).unwrap();
        let found = queue.read(&gpu.hasher.values[0].slice(0..2).unwrap()).wait().unwrap();
        let found: Vec<Value> = bytemuck::cast_vec(found);
        assert_eq!(
            found,
            [chunk_value(&message[..CHUNK], first_chunk), chunk_value(&message[CHUNK..], 1 << 32)]
        );
    }

    fn chunk_value(chunk: &[u8], number: u64) -> Value {
        use blake3::hazmat::HasherExt;
        let mut hasher = blake3::Hasher::new();
        hasher.set_input_offset(number * CHUNK as u64).update(chunk);
        let bytes = hasher.finalize_non_root();
        std::array::from_fn(|i| u32::from_le_bytes(std::array::from_fn(|byte| bytes[4 * i + byte])))
    }
}
