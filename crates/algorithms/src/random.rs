//! Verbs that fill arrays with random numbers.

use crate::distribution::{Distribution, Words};
use crate::elementwise::{bits, iota};
use crate::radix::{Arrays, Payload, PreparedSort};
use crate::reducible::Reducible;
use crate::refusals::check;
use crate::sort::Sort;
use crate::trusted;
use crate::verb_queue::VerbQueue;
use fencepost_core::{DeviceArray, Grid, Result};
use fencepost_derive::KernelArgs;

/// A sequence of random numbers of the generator Philox4x32-10.
///
/// A number of the sequence depends only on the seed, the stream and its position, not on the device, the grid, or the
/// parts in which an array is filled. Streams of one seed are independent: use a separate stream for each purpose and
/// each queue. [`fill_random`](crate::Algorithms::fill_random) writes the numbers to an array.
///
/// # Algorithm
/// Salmon, Moraes, Dror and Shaw: *Parallel Random Numbers: As Easy as 1, 2, 3* (2011). A block of four words is a
/// function of its number, the stream and the seed. Each sequence has 2^64 blocks. Not suited to cryptography.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Philox {
    pub(crate) seed: u64,
    pub(crate) stream: u64,
    pub(crate) position: u64,
}

impl Philox {
    /// Returns the beginning of stream 0 of a seed.
    pub fn seed(seed: u64) -> Self {
        Self { seed, stream: 0, position: 0 }
    }

    /// Selects another stream.
    pub fn stream(self, stream: u64) -> Self {
        Self { stream, ..self }
    }

    /// Begins at the number `position` of the sequence, counted in numbers of the distribution.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (mut whole, mut part) = (ctx.zeros::<u32, 1>([100])?, ctx.zeros::<u32, 1>([30])?);
    /// queue.fill_random(&mut whole, Philox::seed(7), Words)?;
    /// queue.fill_random(&mut part, Philox::seed(7).position(70), Words)?;
    /// assert_eq!(queue.read(&part).wait()?, queue.read(&whole).wait()?[70..]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn position(self, position: u64) -> Self {
        Self { position, ..self }
    }

    /// Returns the generators of the two lists of words that are the sort keys for `n` numbers.
    pub(crate) fn twice(self, n: usize) -> [Self; 2] {
        [self, self.position(self.position.wrapping_add(n as u64))]
    }

    /// Returns the words of the sequence.
    pub(crate) fn words(self) -> impl Iterator<Item = u32> {
        let blocks = (0..).map(move |at| self.block((self.position / 4).wrapping_add(at)));
        blocks.flatten().skip((self.position % 4) as usize)
    }

    /// Returns the four words of a block.
    pub(crate) fn block(self, block: u64) -> [u32; 4] {
        let halves = |number: u64| [number as u32, (number >> 32) as u32];
        let ([a, b], [c, d], mut key) = (halves(block), halves(self.stream), halves(self.seed));
        let mut words = [a, b, c, d];
        for _ in 0..10 {
            let [first, second] =
                [u64::from(words[0]) * 0xD251_1F53, u64::from(words[2]) * 0xCD9E_8D57].map(halves);
            words = [second[1] ^ words[1] ^ key[0], second[0], first[1] ^ words[3] ^ key[1], first[0]];
            key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
        }
        words
    }
}

#[track_caller]
pub(crate) fn random_permutation(
    queue: &VerbQueue<'_>,
    out: &mut DeviceArray<u32>,
    generator: Philox,
) -> Result<()> {
    check(queue, &[], &[("out", out)])?;
    let n = out.len();
    let order = Sort::ascending().order::<u32>(Payload::Values)?;
    let keys = queue.scratch::<u32>(n)?;
    let pairs = || Arrays { keys: Some(keys.clone()), values: Some(out.clone()) };
    let sorts = [
        PreparedSort::new(queue, &order, n, None, None, pairs())?,
        PreparedSort::new(queue, &order, n, None, None, pairs())?,
    ];
    trusted::kernel_with::<RandomArgs>(queue, &[("KIND", 0.0)])?;
    iota(queue, out, 0, 1)?;
    for (sort, generator) in sorts.into_iter().zip(generator.twice(n)) {
        fill(queue, &keys, generator, Words)?;
        sort.enqueue(queue)?;
    }
    Ok(())
}

/// Enqueues random numbers of a distribution for all elements of an array.
#[track_caller]
pub(crate) fn fill<T: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    out: &DeviceArray<T, D>,
    generator: Philox,
    distribution: impl Distribution<T>,
) -> Result<()> {
    let drawing = distribution.drawing()?;
    let mut out = bits(out)?;
    let n = out.len();
    let count = u64::from(drawing.numbers_of_a_block);
    let block = generator.position / count;
    let skip = (generator.position % count) as u32;
    let [low, high] = [|number: u64| number as u32, |number: u64| (number >> 32) as u32];
    let args = RandomArgs {
        n: n as u32,
        skip,
        block_low: low(block),
        block_high: high(block),
        stream_low: low(generator.stream),
        stream_high: high(generator.stream),
        seed_low: low(generator.seed),
        seed_high: high(generator.seed),
        a: drawing.a,
        b: drawing.b,
        out: &mut out,
    };
    let kernel = trusted::kernel_with::<RandomArgs>(queue, &[("KIND", f64::from(drawing.kind))])?;
    let blocks = if n == 0 { 0 } else { (n + skip as usize).div_ceil(count as usize) };
    queue.launch(&kernel, Grid::threads([blocks]), args)
}

#[derive(KernelArgs)]
#[kernel(source = "random.wgsl", crate = fencepost_kernels)]
struct RandomArgs<'a> {
    n: u32,
    skip: u32,
    block_low: u32,
    block_high: u32,
    stream_low: u32,
    stream_high: u32,
    seed_low: u32,
    seed_high: u32,
    a: u32,
    b: u32,
    out: &'a mut DeviceArray<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected blocks are from the authors' implementation, Random123.
    #[test]
    fn blocks_are_the_known_answers() {
        let block = |low: u64, stream: u64, seed: u64| Philox::seed(seed).stream(stream).block(low);
        assert_eq!(block(0, 0, 0), [0x6627_E8D5, 0xE169_C58D, 0xBC57_AC4C, 0x9B00_DBD8]);
        let ones = u64::MAX;
        assert_eq!(block(ones, ones, ones), [0x408F_276D, 0x41C8_3B0E, 0xA20B_C7C6, 0x6D54_51FD]);
        let pi = block(0x85A3_08D3_243F_6A88, 0x0370_7344_1319_8A2E, 0x299F_31D0_A409_3822);
        assert_eq!(pi, [0xD16C_FE09, 0x94FD_CCEB, 0x5001_E420, 0x2412_6EA1]);
    }
}
