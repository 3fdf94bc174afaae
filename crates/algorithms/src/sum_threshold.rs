//! Flags of windows whose sum is above a threshold.

use crate::axis::View;
use crate::elementwise::{flat, same_shape};
use crate::refusals::check;
use crate::trusted;
use crate::verb_queue::{VerbQueue, subject};
use fencepost_core::{DeviceArray, ErrorDetail, Grid, Kernel, Result};
use fencepost_derive::KernelArgs;

/// Maximum number of lengths of windows, so that the loops of the kernel have few rounds.
const MOST_LENGTHS: u32 = 8;

/// Windows and thresholds of a [`sum_threshold`](crate::Algorithms::sum_threshold).
///
/// The windows have the lengths 1, 2, 4 and so on. The threshold of a window of length 2^i is the noise, times
/// `sigmas`, times `falloff`^-i for each of its elements.
///
/// # Example
/// ```
/// use fencepost::prelude::*;
/// # let (ctx, queue) = fencepost::doctest();
/// let x = ctx.array(&[0.0_f32, 9.0, 0.0, 3.5, 3.5, 0.0])?;
/// let (noise, mut flags) = (ctx.array(&[1.0_f32])?, ctx.zeros([6])?);
/// queue.sum_threshold(&x, &noise, &mut flags, SumThreshold::along(0, 4.0))?;
/// assert_eq!(queue.read(&flags).wait()?, [0, 1, 0, 1, 1, 0]);
/// queue.sum_threshold(&x, &noise, &mut flags, SumThreshold::along(0, 4.0).lengths(1).flag(5))?;
/// assert_eq!(queue.read(&flags).wait()?, [0, 5, 0, 0, 0, 0]);      // no element but 9 is above 4
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SumThreshold {
    axis: usize,
    sigmas: f64,
    lengths: u32,
    falloff: f64,
    flag: u32,
}

impl SumThreshold {
    /// Returns windows along an axis, of the four lengths 1, 2, 4 and 8, with a falloff of 1.2. The flag is 1.
    pub const fn along(axis: usize, sigmas: f64) -> Self {
        Self { axis, sigmas, lengths: 4, falloff: 1.2, flag: 1 }
    }

    /// Sets the number of lengths, from 1 to 8.
    pub const fn lengths(self, lengths: u32) -> Self {
        Self { lengths, ..self }
    }

    /// Sets the factor by which the threshold of an element decreases from one length to the next.
    pub const fn falloff(self, falloff: f64) -> Self {
        Self { falloff, ..self }
    }

    /// Sets the value of a flag, which is not 0.
    pub const fn flag(self, flag: u32) -> Self {
        Self { flag, ..self }
    }

    /// Returns an error for an option that is out of its range.
    fn check(self, verb: &str) -> Result<()> {
        let refused = |option: &str, found: String, needed: &'static str| {
            let object = format!("{}: {option}", subject(verb));
            Err(ErrorDetail::Value { object, found, needed }.into())
        };
        if !(1..=MOST_LENGTHS).contains(&self.lengths) {
            return refused("the number of lengths", self.lengths.to_string(), "a number from 1 to 8");
        }
        if self.flag == 0 {
            return refused("the flag", self.flag.to_string(), "a number that is not 0");
        }
        if !(self.sigmas.is_finite() && self.falloff.is_finite() && self.falloff > 0.0) {
            let found = format!("{:?} and {:?}", self.sigmas, self.falloff);
            return refused("the sigmas and the falloff", found, "finite numbers, and a falloff above 0");
        }
        Ok(())
    }
}

/// Enqueues the flags of the elements of `x`.
#[track_caller]
pub(crate) fn sum_threshold<const D: usize>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<f32, D>,
    noise: &DeviceArray<f32, D>,
    flags: &DeviceArray<u32, D>,
    options: SumThreshold,
) -> Result<()> {
    options.check(queue.verb)?;
    same_shape(queue, x, "flags", flags)?;
    let view = View::along(queue, x, options.axis)?;
    let mut shape = x.shape();
    shape[options.axis] = 1;
    if noise.shape() != shape {
        let remedy = "the noise has one element along the axis, and the shape of `x` else";
        return Err(queue.wrong_shape("noise", noise, shape, remedy));
    }
    let x = flat(x)?;
    let noise = flat(noise)?;
    let flags = flat(flags)?;
    check(queue, &[("x", &x.cast_bits()), ("noise", &noise.cast_bits())], &[("flags", &flags)])?;
    if x.is_empty() {
        return Ok(());
    }
    let kernel =
        |first: bool| trusted::kernel_with::<SumThresholdArgs<'_>>(queue, &[("FIRST", f64::from(first))]);
    let lengths = options.lengths;
    let first = kernel(true)?;
    let next = if lengths > 1 { Some(kernel(false)?) } else { None };
    let scratch = if lengths > 1 { Some(queue.scratch(x.len())?) } else { None };
    let windows = Windows { view, options, x: &x, noise: &noise };
    // The first launch does not read the array that is passed for the flags from before.
    let mut before = noise.cast_bits();
    for step in 0..lengths {
        // The last launch writes the flags of the caller, and those before it alternate.
        let is_scratch = (lengths - step).is_multiple_of(2);
        let mut out = scratch.as_ref().filter(|_| is_scratch).unwrap_or(&flags).clone();
        let kernel = next.as_ref().filter(|_| step > 0).unwrap_or(&first);
        windows.launch(queue, kernel, step, &before, &mut out)?;
        before = out;
    }
    Ok(())
}

/// Arguments of all launches.
struct Windows<'a> {
    view: View,
    options: SumThreshold,
    x: &'a DeviceArray<f32>,
    noise: &'a DeviceArray<f32>,
}

impl Windows<'_> {
    /// Enqueues the launch for one length of windows.
    #[track_caller]
    fn launch(
        &self,
        queue: &VerbQueue<'_>,
        kernel: &Kernel<SumThresholdArgs<'static>>,
        step: u32,
        flags: &DeviceArray<u32>,
        out: &mut DeviceArray<u32>,
    ) -> Result<()> {
        let Self { view, options, x, noise } = *self;
        let scale = (options.sigmas * options.falloff.powi(-(step as i32))) as f32;
        let [n, inner, count] = [view.n, view.inner, x.len()].map(|n| n as u32);
        let window = 1 << step;
        let flag = options.flag;
        let args = SumThresholdArgs { n, inner, count, window, scale, flag, x, noise, flags, out };
        queue.launch(kernel, Grid::threads([x.len()]), args)
    }
}

#[derive(KernelArgs)]
#[kernel(source = "sum_threshold.wgsl", crate = fencepost_kernels)]
struct SumThresholdArgs<'a> {
    n: u32,
    inner: u32,
    count: u32,
    window: u32,
    scale: f32,
    flag: u32,
    x: &'a DeviceArray<f32>,
    noise: &'a DeviceArray<f32>,
    flags: &'a DeviceArray<u32>,
    out: &'a mut DeviceArray<u32>,
}
