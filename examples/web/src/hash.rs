//! The BLAKE3 hash of a file that arrives in slices: one is uploaded while the device hashes another.

use std::collections::VecDeque;
use std::ops::Range;

use fencepost::prelude::*;
use wasm_bindgen::prelude::wasm_bindgen;
use web_time::Instant;

use crate::device::Device;
use crate::units;

#[path = "../../b3sum/hasher.rs"]
mod hasher;
#[path = "../../b3sum/tree.rs"]
mod tree;

use hasher::{Block, Halves, Hasher};
use tree::{CHUNK, Piece, Tree};

/// Chunks of a slice on a GPU and on the CPU device. A slice is a piece of the tree, so the numbers are powers of two.
const CHUNKS: [usize; 2] = [4096, 64];
/// Slices on the device at a time.
const SLOTS: usize = 2;

/// The slices of a file, in order. Even an empty file has one.
struct Slices {
    /// Bytes of the file.
    length: u64,
    /// Bytes of a full slice.
    full: u64,
    /// First byte of the present slice.
    start: u64,
    /// `true` after the last slice.
    is_done: bool,
}

impl Slices {
    fn new(length: u64, full: u64) -> Self {
        Self { length, full, start: 0, is_done: false }
    }

    /// Returns the bytes of the present slice.
    fn range(&self) -> Range<u64> {
        self.start..(self.start + self.full).min(self.length)
    }

    /// Returns the present slice as a piece of the tree.
    fn piece(&self) -> Piece {
        let Range { start, end } = self.range();
        Piece { bytes: (end - start) as usize, first_chunk: start / CHUNK as u64, last: end == self.length }
    }

    /// Goes on to the next slice.
    fn advance(&mut self) {
        self.start = self.range().end;
        self.is_done = self.start == self.length;
    }
}

/// The memory of a slice, and the events that order the two queues.
struct Slot {
    input: DeviceArray<Block>,
    uploaded: Event,
    hashed: Event,
}

impl Slot {
    fn new(ctx: &Context, blocks: usize) -> Result<Self> {
        Ok(Self { input: ctx.zeros([blocks])?, uploaded: ctx.event(), hashed: ctx.event() })
    }
}

/// The hash of a file, so far.
#[wasm_bindgen]
pub struct FileHash {
    ctx: Context,
    copy: CommandQueue,
    slots: [Slot; SLOTS],
    /// Index of the slot for the present slice.
    slot: usize,
    hasher: Hasher,
    slices: Slices,
    /// Values of slices that were not read yet, the oldest first.
    late: VecDeque<Pending<Vec<Halves>>>,
    tree: Tree,
    begin: Instant,
}

/// The result of a hash.
#[wasm_bindgen(getter_with_clone)]
#[derive(Clone, Debug, PartialEq)]
pub struct Hashed {
    /// Hash in hexadecimal.
    pub hash: String,
    /// Size of the file, with the time and the rate.
    pub speed: String,
}

impl FileHash {
    /// Prepares the hash of a file of `length` bytes.
    ///
    /// # Errors
    /// Fails if the device has no memory, or cannot compile the kernels.
    pub fn new(device: &Device, length: u64) -> Result<Self> {
        let ctx = device.ctx.clone();
        let chunks = device.choose(CHUNKS[0], CHUNKS[1]);
        let full = chunks * CHUNK;
        let blocks = full / size_of::<Block>();
        Ok(Self {
            copy: ctx.queue("copy"),
            slots: [Slot::new(&ctx, blocks)?, Slot::new(&ctx, blocks)?],
            slot: 0,
            hasher: Hasher::new(&ctx, chunks)?,
            slices: Slices::new(length, full as u64),
            late: VecDeque::new(),
            tree: Tree::default(),
            begin: Instant::now(),
            ctx,
        })
    }

    /// Returns the bytes of the file that [`take`](Self::take) needs next; `None` after the last slice.
    pub fn needed(&self) -> Option<Range<u64>> {
        (!self.slices.is_done).then(|| self.slices.range())
    }

    /// Enqueues the upload and the hash of the needed bytes. Waits while the device has more slices than slots, so
    /// memory does not grow.
    ///
    /// # Errors
    /// Fails if there are more or fewer bytes than needed, or if the device fails.
    pub async fn take(&mut self, bytes: &[u8]) -> Result<()> {
        let piece = self.slices.piece();
        if self.slices.is_done || bytes.len() != piece.bytes {
            let object = "the slice of the file".into();
            let found = format!("{} bytes long instead of {}", bytes.len(), piece.bytes);
            let needed = "the file as it was when its hash began";
            return Err(ErrorDetail::Value { object, found, needed }.into());
        }
        let Slot { input, uploaded, hashed } = &self.slots[self.slot];
        let blocks: Vec<Block> = bytemuck::pod_collect_to_vec(bytes); // fills the last block with zeros
        self.copy.wait_for(hashed)?;
        self.copy.upload(&blocks, &mut input.slice(0..blocks.len())?)?;
        uploaded.record(&self.copy)?;
        let value = self.hasher.reduce(piece, input, uploaded, hashed)?;
        self.ctx.flush()?;
        self.late.push_back(self.hasher.read(&value));
        self.slices.advance();
        self.slot = (self.slot + 1) % SLOTS;
        while self.late.len() > SLOTS {
            self.join_oldest().await?;
        }
        Ok(())
    }

    /// Returns the hash, after the last slice.
    ///
    /// # Errors
    /// Fails if slices are missing, or if the device fails.
    pub async fn result(mut self) -> Result<Hashed> {
        if let Some(missing) = self.needed() {
            let object = "the part of the file that was read".into();
            let found = format!("{} bytes long", missing.start);
            let needed = "the whole file";
            return Err(ErrorDetail::Value { object, found, needed }.into());
        }
        while !self.late.is_empty() {
            self.join_oldest().await?;
        }
        let seconds = self.begin.elapsed().as_secs_f64();
        let length = self.slices.length as f64;
        let [size, time] = [units::size(length), units::time(seconds)];
        let speed = format!("{size} in {time}, {}", units::rate(length, seconds));
        Ok(Hashed { hash: tree::hex(self.tree.finish()), speed })
    }

    /// Waits for the oldest value, and adds it to the tree.
    async fn join_oldest(&mut self) -> Result<()> {
        if let Some(late) = self.late.pop_front() {
            self.tree.push(late.await?[0].value());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use pollster::block_on;

    use super::*;
    use crate::device::tests::on_cpu;

    /// Bytes of a full slice on the CPU device.
    const FULL: usize = CHUNKS[1] * CHUNK;

    /// Hashes a file as the page does.
    async fn hashed(device: &Device, file: &[u8]) -> Result<Hashed> {
        let mut hash = FileHash::new(device, file.len() as u64)?;
        while let Some(Range { start, end }) = hash.needed() {
            hash.take(&file[start as usize..end as usize]).await?;
        }
        hash.result().await
    }

    #[test]
    fn the_hash_by_slices_is_that_of_the_crate_blake3() {
        let device = on_cpu();
        let all: Vec<u8> = (0..5 * FULL + 1).map(|i| (i % 251) as u8).collect();
        for length in [0, 1, 63, 64, 1024, 1025, FULL - 1, FULL, FULL + 1, 4 * FULL, 5 * FULL + 1] {
            let file = &all[..length];
            let found = block_on(hashed(&device, file)).expect("it is hashed");
            assert_eq!(found.hash, blake3::hash(file).to_string(), "{length} bytes");
        }
    }

    #[test]
    fn the_slices_are_the_file_in_order() {
        for length in [0, 1, 9, 10, 11, 20, 95] {
            let mut slices = Slices::new(length, 10);
            let mut end = 0;
            let mut count = 0;
            while !slices.is_done {
                let range = slices.range();
                assert_eq!(range.start, end);
                assert_eq!(slices.piece().last, range.end == length);
                end = range.end;
                count += 1;
                slices.advance();
            }
            assert_eq!((end, count), (length, length.div_ceil(10).max(1)), "{length} bytes");
        }
    }

    #[test]
    fn a_slice_of_another_length_is_refused_and_the_right_one_is_taken_afterwards() {
        let mut hash = FileHash::new(&on_cpu(), 3).expect("it is made");
        let error = block_on(hash.take(&[1, 2])).expect_err("a byte is missing").to_string();
        assert!(error.contains("2 bytes long instead of 3"), "{error}");
        block_on(hash.take(&[1, 2, 3])).expect("these are the bytes");
        let found = block_on(hash.result()).expect("it is hashed").hash;
        assert_eq!(found, blake3::hash(&[1, 2, 3]).to_string());
    }

    #[test]
    fn a_result_before_the_last_slice_is_refused() {
        let hash = FileHash::new(&on_cpu(), 3).expect("it is made");
        let error = block_on(hash.result()).expect_err("no byte was read").to_string();
        assert!(error.contains("the part of the file that was read is 0 bytes long"), "{error}");
    }
}
