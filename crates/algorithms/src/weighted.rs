//! Histograms with weights.

use crate::elementwise::{bits, same_shape};
use crate::histogram::{Binning, Bins};
use crate::launches::launch;
use crate::map;
use crate::order::flips;
use crate::reducible::Reducible;
use crate::refusals::check;
use crate::shares::Shares;
use crate::trusted;
use crate::tuning::tuned;
use crate::verb_queue::VerbQueue;
use fencepost_core::{CommandQueue, DeviceArray, Kind, Result};
use fencepost_derive::KernelArgs;

/// Most fraction bits of a weight.
const MOST_FRACTION_BITS: u32 = 31;

/// Adds the weights of the elements of an array in bins.
///
/// The bins are those of a [`histogram`](crate::Histogram::histogram). Earlier sums are overwritten.
///
/// # Shape
/// `x` and the weights have one shape. The sums have one element for each bin, of which there is at least one.
///
/// # Cost
/// A fill and a launch, and with a fixed point one launch more and a word of scratch memory for each bin. With edges,
/// the keys of the edges are uploaded to scratch memory before. Each element and each weight is read once. As in a
/// histogram, up to 256 bins are added in the memory of each workgroup.
///
/// # Source
/// The weights are whole numbers or become whole numbers, because sums of whole numbers do not depend on their order.
/// So atomic operations of any order give the same sums.
pub trait WeightedHistogram {
    /// *Enqueues* sums = the sum of the weights of the elements of `x` in each bin. A sum wraps at 2^32.
    ///
    /// # Determinism
    /// The sums are exact, on all devices.
    ///
    /// # Errors
    /// Returns the errors of [`histogram`](crate::Histogram::histogram), and [`Kind::Shape`] if the shapes of `x` and
    /// the weights differ.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Bins, WeightedHistogram};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, weights) = (ctx.array(&[0.5_f32, 1.5, 0.25])?, ctx.array(&[10, 20, 30])?);
    /// let mut sums = ctx.zeros([2])?;
    /// queue.histogram_weighted(&x, &weights, Bins::even(0.0..2.0), &mut sums)?;
    /// assert_eq!(queue.read(&sums).wait()?, [40, 20]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn histogram_weighted<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        weights: &DeviceArray<u32, D>,
        bins: Bins<'_, T>,
        sums: &mut DeviceArray<u32>,
    ) -> Result<()>;

    /// *Enqueues* sums = the sum of the weights of the elements of `x` in each bin, as
    /// [`histogram_weighted`](Self::histogram_weighted) does, with weights of `f32`. Each weight is rounded to a number
    /// of 32 bits, of which `fraction_bits` are after the binary point, and these numbers are added.
    ///
    /// # Error bound
    /// With `fraction_bits` = b, the weights and the sums must be between -2^(31 - b) and 2^(31 - b). The error of a
    /// sum of n weights is then at most n 2^-(b + 1), and 2^-23 of the sum more. A weight out of the range counts as
    /// its nearest end, a sum out of the range wraps, and a NaN counts as 0.
    ///
    /// # Determinism
    /// The sums of the rounded weights are the same on all devices. A sum with more than 24 bits is rounded by the
    /// device, so two devices may differ by its last bit.
    ///
    /// # Errors
    /// Returns the errors of [`histogram_weighted`](Self::histogram_weighted), and [`Kind::Value`] for more than 31
    /// fraction bits.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Bins, WeightedHistogram};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, weights) = (ctx.array(&[0_u32, 1, 0])?, ctx.array(&[0.5_f32, -2.0, 0.25])?);
    /// let mut sums = ctx.zeros([2])?;
    /// queue.histogram_fixed(&x, &weights, 16, Bins::modulo(), &mut sums)?;
    /// assert_eq!(queue.read(&sums).wait()?, [0.75, -2.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn histogram_fixed<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        weights: &DeviceArray<f32, D>,
        fraction_bits: u32,
        bins: Bins<'_, T>,
        sums: &mut DeviceArray<f32>,
    ) -> Result<()>;
}

impl WeightedHistogram for CommandQueue {
    #[track_caller]
    fn histogram_weighted<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        weights: &DeviceArray<u32, D>,
        bins: Bins<'_, T>,
        sums: &mut DeviceArray<u32>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "histogram_weighted");
        same_shape(queue, x, "weights", weights)?;
        let x = bits(x)?;
        let weights = bits(weights)?;
        let mut sums = bits(sums)?;
        let binning = Binning::of(queue.verb, &bins, sums.len())?;
        check(queue, &[("x", &x), ("weights", &weights)], &[("sums", &sums)])?;
        let add = Weighted { x, weights, binning, flips: flips::<T>(false), fraction_bits: None };
        add.enqueue(queue, &mut sums)
    }

    #[track_caller]
    fn histogram_fixed<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        weights: &DeviceArray<f32, D>,
        fraction_bits: u32,
        bins: Bins<'_, T>,
        sums: &mut DeviceArray<f32>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "histogram_fixed");
        same_shape(queue, x, "weights", weights)?;
        if fraction_bits > MOST_FRACTION_BITS {
            let object = "the number of bits behind the point of a weight".into();
            let found = fraction_bits.to_string();
            return Err(Kind::Value { object, found, needed: "a number in 0..=31" }.into());
        }
        let x = bits(x)?;
        let weights = bits(weights)?;
        let results = bits(sums)?;
        let binning = Binning::of(queue.verb, &bins, results.len())?;
        check(queue, &[("x", &x), ("weights", &weights)], &[("sums", &results)])?;
        let mut whole = queue.empty::<u32, 1>([results.len()])?;
        let add =
            Weighted { x, weights, binning, flips: flips::<T>(false), fraction_bits: Some(fraction_bits) };
        add.enqueue(queue, &mut whole)?;
        // A product with a power of two is exact.
        let number = format!("f32(x) * {:e}", 2_f32.powi(-(fraction_bits as i32)));
        map::map(queue, &whole.cast_bits::<i32>(), None, &number, &mut sums.reshape([sums.len()])?)
    }
}

/// A checked histogram with weights.
struct Weighted {
    x: DeviceArray<u32>,
    weights: DeviceArray<u32>,
    binning: Binning,
    flips: [u32; 2],
    /// Number of fraction bits of a weight, if the weights are `f32`.
    fraction_bits: Option<u32>,
}

impl Weighted {
    /// Enqueues a fill of the sums and the launch that adds to them.
    #[track_caller]
    fn enqueue(&self, queue: &VerbQueue<'_>, sums: &mut DeviceArray<u32>) -> Result<()> {
        if self.x.is_empty() {
            return queue.fill(sums, 0);
        }
        let fixed = f64::from(u8::from(self.fraction_bits.is_some()));
        let kernel = trusted::kernel_with::<BinWeightsArgs>(queue, &tuned(queue, &[("FIXED", fixed)]))?;
        let edges = self.binning.edges(queue, &self.x)?;
        let shares = Shares::of(self.x.len());
        let ([flip_clear, flip_set], bits) = (self.flips, self.fraction_bits.unwrap_or(0) as i32);
        queue.fill(sums, 0)?;
        let args = BinWeightsArgs {
            n: shares.elements as u32,
            share: shares.share as u32,
            bins: sums.len() as u32,
            flip_clear,
            flip_set,
            between: self.binning.between,
            copies: self.binning.copies,
            scale: 2_f32.powi(bits),
            limit: 2_f32.powi(31 - bits).to_bits(),
            x: &self.x,
            weights: &self.weights,
            edges: &edges,
            sums,
        };
        launch(queue, &kernel, shares.count, args)
    }
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
