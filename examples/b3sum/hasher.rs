//! The compute queue of b3sum: its kernels, and the reduction of an uploaded piece to one value of the tree.
//!
//! Nothing here waits, so the page of `examples/web` uses this file too.

use bytemuck::{Pod, Zeroable};
use fencepost::prelude::*;

use super::tree::{Piece, Value};

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
pub(crate) struct Block {
    p: [u32; 4],
    q: [u32; 4],
    r: [u32; 4],
    s: [u32; 4],
}

/// A value of the tree in the layout of the shader's `Blake3Value`.
#[derive(Clone, Copy, Pod, Zeroable, Element)]
#[repr(C)]
pub(crate) struct Halves {
    low: [u32; 4],
    high: [u32; 4],
}

impl Halves {
    /// Returns the words of the value in their order.
    pub(crate) fn value(self) -> Value {
        bytemuck::cast(self)
    }
}

/// The compute queue, its kernels, and two arrays of values. The levels of the tree write to the arrays in turn.
pub(crate) struct Hasher {
    compute: CommandQueue,
    chunks: Kernel<Blake3Chunks<'static>>,
    parents: Kernel<Blake3Parents<'static>>,
    values: [DeviceArray<Halves>; 2],
}

impl Hasher {
    /// Compiles the kernels, and prepares the memory for pieces of `piece_chunks` chunks.
    ///
    /// # Errors
    /// Fails if the device lacks the memory, or its driver cannot compile a kernel.
    pub(crate) fn new(ctx: &Context, piece_chunks: usize) -> Result<Self> {
        Ok(Self {
            compute: ctx.queue("compute"),
            chunks: ctx.kernel::<Blake3Chunks>()?,
            parents: ctx.kernel::<Blake3Parents>()?,
            values: [ctx.zeros([piece_chunks])?, ctx.zeros([piece_chunks])?],
        })
    }

    /// Enqueues the reduction of a piece, which comes after `uploaded`. Records `hashed` when `input` is free again.
    /// Returns an array that receives the value.
    ///
    /// # Errors
    /// Fails if the device has no memory for the value, or has failed.
    pub(crate) fn reduce(
        &mut self,
        piece: Piece,
        input: &DeviceArray<Block>,
        uploaded: &Event,
        hashed: &Event,
    ) -> Result<DeviceArray<Halves>> {
        self.compute.wait_for(uploaded)?;
        self.launch_chunks(piece, input)?;
        hashed.record(&self.compute)?;
        self.launch_parents(piece)?;
        self.value(piece)
    }

    /// Reads a value that [`reduce`](Self::reduce) has returned.
    pub(crate) fn read(&self, value: &DeviceArray<Halves>) -> Pending<Vec<Halves>> {
        self.compute.read(value)
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
        self.compute.launch(&self.chunks, Grid::threads([piece.chunks()]), args)
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

#[cfg(test)]
mod tests {
    use fencepost::SimulatorOptions;

    use super::super::tree::CHUNK;
    use super::*;

    #[test]
    fn the_counter_of_a_chunk_past_four_tebibytes_has_a_high_word() {
        let ctx = Context::simulated(SimulatorOptions::default().seed(2).policy(Policy::Checked));
        let mut hasher = Hasher::new(&ctx, 4).unwrap();
        let first_chunk = (1 << 32) - 1;
        let message = [9; 2 * CHUNK];
        let piece = Piece { bytes: message.len(), first_chunk, last: true };
        let blocks: Vec<Block> = bytemuck::pod_collect_to_vec(&message);
        let queue = hasher.compute.clone();
        let input = queue.array(&blocks).unwrap();
        hasher.launch_chunks(piece, &input).unwrap();
        let found = queue.read(&hasher.values[0].slice(0..2).unwrap()).wait().unwrap();
        let found: Vec<Value> = found.into_iter().map(Halves::value).collect();
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
