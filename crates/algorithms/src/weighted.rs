//! Histograms with weights.

use crate::counted::SizedKernel;
use crate::elementwise::{bits, same_shape};
use crate::histogram::{Binning, Bins};
use crate::inputs::Inputs;
use crate::map;
use crate::order::flips;
use crate::passes::checked_count;
use crate::reducible::Reducible;
use crate::refusals::check;
use crate::shares::Shares;
use crate::trusted;
use crate::tuning::{WIDE, tuned};
use crate::verb_queue::{VerbQueue, subject};
use fencepost_core::{DeviceArray, ErrorDetail, Grid, Prefix, Result, Scalar};
use fencepost_derive::KernelArgs;
use fencepost_kernels::PART_COUNT;

/// Maximum number of fraction bits of a weight.
const MOST_FRACTION_BITS: u32 = 31;

/// Number of words of a bin in `bin_exact.wgsl`: an exact sum of `f32`, and the kinds of weights that are not finite.
const WORDS_OF_BIN: usize = 11;

/// Enqueues the addition of floats to the elements of `out` at places. Each becomes an exact sum, rounded once.
#[track_caller]
pub(crate) fn add_floats(
    queue: &VerbQueue<'_>,
    [x, places]: [&DeviceArray<u32>; 2],
    first: Option<DeviceArray<u32>>,
    out: &mut DeviceArray<u32>,
) -> Result<()> {
    let count = first.as_ref().map(|first| (PART_COUNT, first));
    let reads = [("x", x), ("places", places)].into_iter().chain(count);
    check(queue, &reads.collect::<Vec<_>>(), &[("out", out)])?;
    if x.is_empty() || out.is_empty() {
        return Ok(());
    }
    let what = "argument `out`: the number of elements";
    check_sums(queue, what, out.len(), WORDS_OF_BIN, "a smaller number")?;
    let binning = Binning::of_places(out.len());
    let flips = flips::<u32>(false);
    let add = Weighted { x: places.clone(), weights: x.clone(), first, binning, flips };
    add.enqueue_exact(queue, true, out)
}

/// Enqueues the sums of the weights: integers wrap, and sums of `f32` are exact and rounded once.
#[track_caller]
pub(crate) fn histogram_weighted<T: Reducible, W: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    x: Prefix<'_, T, D>,
    weights: &DeviceArray<W, D>,
    bins: Bins<'_, T>,
    sums: &mut DeviceArray<W>,
) -> Result<()> {
    let mut sums = bits(sums)?;
    let add = Weighted::checked(queue, x, weights, bins, &sums)?;
    match W::DTYPE.scalar() {
        Some(Scalar::F32) if add.x.is_empty() => queue.fill(&mut sums, 0),
        Some(Scalar::F32) => {
            let what = "argument `sums`: the number of bins";
            let needed =
                "a smaller number, or a call of `histogram_fixed`, which takes 4 bytes for each bin,";
            check_sums(queue, what, sums.len(), WORDS_OF_BIN, needed)?;
            add.enqueue_exact(queue, false, &mut sums)
        }
        _ => add.enqueue(queue, None, &mut sums),
    }
}

#[track_caller]
pub(crate) fn histogram_fixed<T: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    x: Prefix<'_, T, D>,
    weights: &DeviceArray<f32, D>,
    fraction_bits: u32,
    bins: Bins<'_, T>,
    sums: &mut DeviceArray<f32>,
) -> Result<()> {
    if fraction_bits > MOST_FRACTION_BITS {
        let object = "the number of fraction bits of a weight".into();
        let found = fraction_bits.to_string();
        return Err(ErrorDetail::Value { object, found, needed: "a number in 0..=31" }.into());
    }
    let results = bits(sums)?;
    let add = Weighted::checked(queue, x, weights, bins, &results)?;
    let mut whole = queue.scratch::<u32>(results.len())?;
    add.enqueue(queue, Some(fraction_bits), &mut whole)?;
    // A multiplication by a power of two is exact.
    let number = format!("f32(x) * {:e}", 2_f32.powi(-(fraction_bits as i32)));
    map::map(queue, &Inputs::from(&whole.cast_bits::<i32>()), &number, &sums.reshape([sums.len()])?)
}

/// A checked histogram with weights.
struct Weighted {
    x: DeviceArray<u32>,
    weights: DeviceArray<u32>,
    /// Number of first elements, if the others are not added.
    first: Option<DeviceArray<u32>>,
    binning: Binning,
    flips: [u32; 2],
}

impl Weighted {
    #[track_caller]
    fn checked<T: Reducible, W: Reducible, const D: usize>(
        queue: &VerbQueue<'_>,
        x: Prefix<'_, T, D>,
        weights: &DeviceArray<W, D>,
        bins: Bins<'_, T>,
        sums: &DeviceArray<u32>,
    ) -> Result<Self> {
        same_shape(queue, x.array(), "weights", weights)?;
        let first = checked_count(queue, x)?;
        let x = bits(x.array())?;
        let weights = bits(weights)?;
        let binning = Binning::of(queue.verb, &bins, sums.len())?;
        let count = first.as_ref().map(|first| (PART_COUNT, first));
        let reads = [("x", &x), ("weights", &weights)].into_iter().chain(count);
        check(queue, &reads.collect::<Vec<_>>(), &[("sums", sums)])?;
        Ok(Self { x, weights, first, binning, flips: flips::<T>(false) })
    }

    /// Enqueues a fill that clears the sums, and the launch that adds to them. Weights of `f32` become numbers with
    /// `fraction_bits` bits after the binary point.
    #[track_caller]
    fn enqueue(
        &self,
        queue: &VerbQueue<'_>,
        fraction_bits: Option<u32>,
        sums: &mut DeviceArray<u32>,
    ) -> Result<()> {
        if self.x.is_empty() {
            return queue.fill(sums, 0);
        }
        let fixed = f64::from(u8::from(fraction_bits.is_some()));
        let overrides = tuned(queue, &[("FIXED", fixed)]);
        let kernel =
            SizedKernel::<BinWeightsArgs<'static>>::compiled(queue, &overrides, self.first.as_ref())?;
        let edges = self.binning.edges(queue, &self.x)?;
        let shares = Shares::of(self.x.len());
        let [flip_clear, flip_set] = self.flips;
        let fraction = fraction_bits.unwrap_or(0) as i32;
        queue.fill(sums, 0)?;
        let args = BinWeightsArgs {
            n: shares.elements as u32,
            share: shares.share as u32,
            bins: sums.len() as u32,
            flip_clear,
            flip_set,
            between: self.binning.between,
            copies: self.binning.copies,
            scale: 2_f32.powi(fraction),
            limit: 2_f32.powi(31 - fraction).to_bits(),
            x: &self.x,
            weights: &self.weights,
            edges: &edges,
            sums,
        };
        kernel.launch(queue, shares.count, args)
    }

    /// Enqueues the exact sums of weights of `f32` in scratch memory, and the launch that rounds them. If `adds`, the
    /// elements of `sums` are terms too. There must be at least one weight.
    ///
    /// A sum of whole numbers does not depend on their order, and each finite `f32` is a whole number of the smallest
    /// one. So atomic operations of any order give the same words, and the result is rounded once.
    #[track_caller]
    fn enqueue_exact(&self, queue: &VerbQueue<'_>, adds: bool, sums: &mut DeviceArray<u32>) -> Result<()> {
        let bins = sums.len();
        let kernel = SizedKernel::compiled(queue, &tuned(queue, &[]), self.first.as_ref())?;
        let [size] = WIDE;
        let rounding =
            trusted::kernel_with::<RoundExactArgs>(queue, &[size, ("ADD", f64::from(u8::from(adds)))])?;
        let mut words = queue.scratch::<u32>(WORDS_OF_BIN * bins)?;
        // Before anything is enqueued, refuse what the launch would refuse. It reads no edges yet.
        self.add_exact(queue, &kernel, 0, &self.x, &mut words)?;
        let edges = self.binning.edges(queue, &self.x)?;
        queue.fill(&mut words, 0)?;
        self.add_exact(queue, &kernel, Shares::of(self.x.len()).count, &edges, &mut words)?;
        let args = RoundExactArgs { bins: bins as u32, sums: &words, out: sums };
        queue.launch(&rounding, Grid::threads([bins]), args)
    }

    /// Enqueues or checks the launch that adds weights of `f32` to words, as [`launch`](crate::launches::launch) does.
    #[track_caller]
    fn add_exact(
        &self,
        queue: &VerbQueue<'_>,
        kernel: &SizedKernel<BinExactArgs<'static>>,
        groups: usize,
        edges: &DeviceArray<u32>,
        words: &mut DeviceArray<u32>,
    ) -> Result<()> {
        let shares = Shares::of(self.x.len());
        let [flip_clear, flip_set] = self.flips;
        let args = BinExactArgs {
            n: shares.elements as u32,
            share: shares.share as u32,
            bins: (words.len() / WORDS_OF_BIN) as u32,
            flip_clear,
            flip_set,
            between: self.binning.between,
            copies: self.binning.copies,
            x: &self.x,
            weights: &self.weights,
            edges,
            sums: words,
        };
        kernel.launch(queue, groups, args)
    }
}

/// Returns an error if the device cannot bind an array of `count` exact sums with this number of words each. `what` says
/// in which argument the number is, and what it counts.
pub(crate) fn check_sums(
    queue: &VerbQueue<'_>,
    what: &str,
    count: usize,
    words: usize,
    needed: &'static str,
) -> Result<()> {
    let ctx = queue.context();
    let bytes = (words * size_of::<u32>()) as u64;
    let most = ctx.info().max_binding.min(ctx.info().max_array) / bytes;
    if count as u64 <= most {
        return Ok(());
    }
    let object = format!("{}, {what}", subject(queue.verb));
    let found = format!("{count}, and this device sums `f32` in at most {most}, with {bytes} bytes for each");
    Err(ErrorDetail::Value { object, found, needed }.into())
}

#[derive(KernelArgs)]
#[kernel(source = "bin_weights.wgsl", crate = fencepost_kernels)]
struct BinWeightsArgs<'a> {
    n: u32,
    share: u32,
    bins: u32,
    flip_clear: u32,
    flip_set: u32,
    between: u32,
    copies: u32,
    scale: f32,
    limit: u32,
    x: &'a DeviceArray<u32>,
    weights: &'a DeviceArray<u32>,
    edges: &'a DeviceArray<u32>,
    sums: &'a mut DeviceArray<u32>,
}

#[derive(KernelArgs)]
#[kernel(source = "bin_exact.wgsl", crate = fencepost_kernels)]
struct BinExactArgs<'a> {
    n: u32,
    share: u32,
    bins: u32,
    flip_clear: u32,
    flip_set: u32,
    between: u32,
    copies: u32,
    x: &'a DeviceArray<u32>,
    weights: &'a DeviceArray<u32>,
    edges: &'a DeviceArray<u32>,
    sums: &'a mut DeviceArray<u32>,
}

#[derive(KernelArgs)]
#[kernel(source = "round_exact.wgsl", crate = fencepost_kernels)]
struct RoundExactArgs<'a> {
    bins: u32,
    sums: &'a DeviceArray<u32>,
    out: &'a mut DeviceArray<u32>,
}
