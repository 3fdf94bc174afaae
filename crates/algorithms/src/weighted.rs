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
use fencepost_core::{DeviceArray, ErrorDetail, Result};
use fencepost_derive::KernelArgs;

/// Maximum number of fraction bits of a weight.
const MOST_FRACTION_BITS: u32 = 31;

#[track_caller]
pub(crate) fn histogram_weighted<T: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<T, D>,
    weights: &DeviceArray<u32, D>,
    bins: Bins<'_, T>,
    sums: &mut DeviceArray<u32>,
) -> Result<()> {
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
pub(crate) fn histogram_fixed<T: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<T, D>,
    weights: &DeviceArray<f32, D>,
    fraction_bits: u32,
    bins: Bins<'_, T>,
    sums: &mut DeviceArray<f32>,
) -> Result<()> {
    same_shape(queue, x, "weights", weights)?;
    if fraction_bits > MOST_FRACTION_BITS {
        let object = "the number of bits after the point of a weight".into();
        let found = fraction_bits.to_string();
        return Err(ErrorDetail::Value { object, found, needed: "a number in 0..=31" }.into());
    }
    let x = bits(x)?;
    let weights = bits(weights)?;
    let results = bits(sums)?;
    let binning = Binning::of(queue.verb, &bins, results.len())?;
    check(queue, &[("x", &x), ("weights", &weights)], &[("sums", &results)])?;
    let mut whole = queue.empty::<u32, 1>([results.len()])?;
    let add = Weighted { x, weights, binning, flips: flips::<T>(false), fraction_bits: Some(fraction_bits) };
    add.enqueue(queue, &mut whole)?;
    // A multiplication by a power of two is exact.
    let number = format!("f32(x) * {:e}", 2_f32.powi(-(fraction_bits as i32)));
    map::map(queue, (&whole.cast_bits::<i32>()).into(), &number, &sums.reshape([sums.len()])?)
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
    /// Enqueues the clearing of the sums, and the launch that adds to them.
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
