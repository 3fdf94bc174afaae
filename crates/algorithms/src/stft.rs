//! Spectra of overlapping frames: short-time Fourier transforms and their inverse, and mean power spectra.

use crate::axis::{Steps, View, along_with};
use crate::elementwise::{flat, words};
use crate::fft::{AlongAxis, ComplexArray, End, FftLaunches, Frames, compiled, complex, count_of, scratch};
use crate::fft_plan::{Transform, check_length, uploaded};
use crate::fft_table::FftTable;
use crate::inputs::Inputs;
use crate::map::{map, map_in_place};
use crate::refusals::check;
use crate::strided::{CopiedAxis, copy_axes};
use crate::tuning::WIDE;
use crate::typed_kernel::value;
use crate::verb_queue::{VerbQueue, subject};
use fencepost_core::{
    ComplexNumber, Context, DeviceArray, Element, ErrorDetail, Grid, IntoArg, Result, args,
};
use std::sync::Arc;

/// Maximum number of frames that overlap at one sample: an invocation adds them in a loop.
const MOST_OVERLAPPING: usize = 65_535;

/// Plan of [`stft`](crate::Algorithms::stft), [`istft`](crate::Algorithms::istft) and
/// [`welch`](crate::Algorithms::welch): a window, the distance of frames, and tables on the device. A clone is a cheap
/// handle, and shares the tables.
///
/// Frame k has the samples from k hop on, as many as the window. It is multiplied by the window, zeros follow up to the
/// length of the transform, and the spectrum of these real numbers is computed. Only whole frames are computed, unless
/// the plan is [centered](Self::centered) or [padded at its end](Self::pad_end).
///
/// # Example
/// ```
/// use fencepost::prelude::*;
/// # let (ctx, queue) = fencepost::doctest();
/// let plan = StftPlan::new(&ctx, &Window::Hann.periodic(64), 16)?;
/// assert_eq!((plan.frames(160), plan.bins()), (7, 33));
/// let tone: Vec<f32> = (0..160).map(|i| (std::f32::consts::TAU * i as f32 / 8.0).cos()).collect();
/// let (x, mut spectra) = (ctx.array(&tone)?, ctx.zeros::<[f32; 2], 2>([7, 33])?);
/// queue.stft(&plan, &x, &mut spectra)?;
/// // Eight samples are one turn, so 64 samples have eight turns.
/// let [re, im] = queue.get(&spectra, [3, 8]).wait()?;
/// assert!((re - 16.0).abs() + im.abs() < 1e-3);
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct StftPlan {
    /// Number of elements of a transform.
    n: usize,
    hop: usize,
    window: Arc<[f32]>,
    centered: bool,
    pads_end: bool,
    transform: Arc<Transform>,
    /// Place of the window in the table.
    place: usize,
    table: ComplexArray,
}

impl StftPlan {
    /// Makes a plan with transforms as long as the window. `hop` is the distance of the first samples of two frames.
    ///
    /// # Errors
    /// Returns the errors of [`padded`](Self::padded).
    #[track_caller]
    pub fn new(ctx: &Context, window: &[f32], hop: usize) -> Result<Self> {
        Self::padded(ctx, window, hop, window.len())
    }

    /// Makes a plan with transforms of `n` elements: after the window come zeros.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::Value`] if `n` is not a length of a [plan](crate::FftPlan::new) or is less than that of
    /// the window, if a factor of the window is not finite, if the hop is 0, or if more than 65,535 frames overlap at a
    /// sample. Returns the errors of [`Context::array`].
    #[track_caller]
    pub fn padded(ctx: &Context, window: &[f32], hop: usize, n: usize) -> Result<Self> {
        check_length(n)?;
        if window.is_empty() || window.len() > n {
            let object = "the number of factors of a window".into();
            let found = window.len().to_string();
            let needed = "a number from 1 to the length of the transforms";
            return Err(ErrorDetail::Value { object, found, needed }.into());
        }
        if let Some(factor) = window.iter().find(|factor| !factor.is_finite()) {
            let object = "a factor of a window".into();
            let found = factor.to_string();
            return Err(ErrorDetail::Value { object, found, needed: "a finite number" }.into());
        }
        if hop == 0 || window.len().div_ceil(hop) > MOST_OVERLAPPING {
            let object = "the distance of two frames".into();
            let found = hop.to_string();
            let needed = "at least one sample, and so many that at most 65535 frames overlap,";
            return Err(ErrorDetail::Value { object, found, needed }.into());
        }
        let mut table = FftTable::default();
        let transform = Arc::new(Transform::of_real(&mut table, n).with_long(ctx, &mut table));
        let place = table.pairs(window);
        let table = uploaded(ctx, table)?;
        let window = window.into();
        Ok(Self { n, hop, window, centered: false, pads_end: false, transform, place, table })
    }

    /// Lets the middle of frame k be at sample k hop: zeros come before and after the samples.
    #[must_use]
    pub fn centered(self) -> Self {
        Self { centered: true, ..self }
    }

    /// Adds a last frame, with zeros after the samples, if the others leave samples over, as `padded=True` of SciPy
    /// does. In a centered plan, half a window of zeros after the samples counts as samples.
    #[must_use]
    pub fn pad_end(self) -> Self {
        Self { pads_end: true, ..self }
    }

    /// Returns the number of frames of a signal of `n` samples.
    pub fn frames(&self, n: usize) -> usize {
        // The zeros around a centered signal are as many as the first frame has elements.
        match n.checked_sub(if self.centered { 0 } else { self.window.len() }) {
            _ if n == 0 => 0,
            Some(rest) if self.pads_end => 1 + rest.div_ceil(self.hop),
            Some(rest) => 1 + rest / self.hop,
            None => usize::from(self.pads_end),
        }
    }

    /// Returns the number of frequencies of a spectrum.
    pub fn bins(&self) -> usize {
        self.n / 2 + 1
    }

    /// Returns the number of zeros before the first sample.
    fn pad(&self) -> usize {
        if self.centered { self.window.len() / 2 } else { 0 }
    }

    /// Returns a power of two by which the largest factor of the window is near 1. So no sum of squares is too large or
    /// too small, whatever the unit of the factors is.
    fn unit(&self) -> f32 {
        let largest = self.window.iter().fold(0.0, |most: f32, factor| most.max(factor.abs()));
        // Beyond these exponents, the power is no normal number.
        2_f32.powi(-largest.log2().floor().clamp(-126.0, 126.0) as i32)
    }

    /// Returns the transforms of all frames of signals of `n` samples, with the window.
    fn along(&self, signals: usize, n: usize) -> AlongAxis<'_> {
        let count = self.frames(n);
        let frames = Frames { count, hop: self.hop, pad: self.pad(), skip: 0, window: 1 + self.place };
        AlongAxis {
            transform: &self.transform,
            batches: count_of([signals, count]),
            columns: 1,
            inverse: false,
            factor: 1.0,
            frames,
        }
    }
}

/// Kind of the spectra of [`welch`](crate::Algorithms::welch).
///
/// # Example
/// ```
/// use fencepost::prelude::*;
/// # let (ctx, queue) = fencepost::doctest();
/// let plan = StftPlan::new(&ctx, &Window::Hann.periodic(64), 32)?;
/// let mut noise = ctx.zeros::<f32, 1>([4096])?;
/// queue.fill_random(&mut noise, Philox::seed(7), Normal { mean: 3.0, deviation: 1.0 })?;
/// let mut density = ctx.zeros::<f32, 1>([33])?;
/// queue.welch(&plan, Welch::density(100.0), &noise, &mut density)?;
/// // The power of 1 is spread over frequencies from 0 to 50.
/// let density = queue.read(&density).wait()?;
/// assert!(density[2..32].iter().all(|power| (power - 0.02).abs() < 0.01), "{density:?}");
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Welch {
    /// Sampling rate, if the power is divided by the frequency.
    rate: Option<f64>,
    keeps_mean: bool,
}

impl Welch {
    /// Computes the power for each unit of frequency: the sum over all frequencies, times their distance, is the power
    /// of the signal. `rate` is the number of samples for each unit of time, and above 0.
    pub fn density(rate: f64) -> Self {
        Self { rate: Some(rate), keeps_mean: false }
    }

    /// Computes the power at each frequency: a tone gives its power as the height of its peak. The sum of the window
    /// must not be 0.
    pub fn spectrum() -> Self {
        Self { rate: None, keeps_mean: false }
    }

    /// Leaves the samples as they are. By default, the mean of each frame is subtracted first.
    #[must_use]
    pub fn keep_mean(self) -> Self {
        Self { keeps_mean: true, ..self }
    }

    /// Returns the factor of magnitudes whose squares are powers.
    fn factor(self, window: &[f32]) -> f32 {
        let factors = window.iter().map(|&factor| f64::from(factor));
        let unit = match self.rate {
            Some(rate) => rate * factors.map(|factor| factor * factor).sum::<f64>(),
            None => factors.sum::<f64>().powi(2),
        };
        unit.sqrt().recip() as f32
    }
}

/// Count of signals, and of the samples of each. The last axis of an array has the samples.
fn signals_of<T: Element, const D: usize>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<T, D>,
) -> Result<(usize, usize)> {
    let shape = x.shape();
    let Some((&n, others)) = shape.split_last() else {
        let array = x.label().into();
        return Err(ErrorDetail::Axis { verb: queue.verb, array, axis: 0, rank: D }.into());
    };
    Ok((others.iter().fold(1_usize, |count, &n| count.saturating_mul(n)), n))
}

/// Returns an error unless an array has the shape of another one with the last axis replaced by others.
fn check_shape<T: Element, U: Element, const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    signals: &DeviceArray<U, D>,
    (argument, array): (&str, &DeviceArray<T, E>),
    last: &[usize],
    remedy: &'static str,
) -> Result<()> {
    let mut expected = signals.shape().to_vec();
    expected.pop();
    expected.extend_from_slice(last);
    if array.shape()[..] == expected[..] {
        return Ok(());
    }
    Err(queue.wrong_shape(argument, array, expected, remedy))
}

/// Remedy for spectra of another shape.
const SPECTRA: &str =
    "in place of the samples, spectra have an axis of `frames(n)` frames and one of `bins()` frequencies";

#[track_caller]
pub(crate) fn stft<C: ComplexNumber, const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    plan: &StftPlan,
    x: &DeviceArray<f32, D>,
    out: &DeviceArray<C, E>,
) -> Result<()> {
    let (signals, n) = signals_of(queue, x)?;
    check_shape(queue, x, ("out", out), &[plan.frames(n), plan.bins()], SPECTRA)?;
    let x = flat(x)?;
    let out = complex(out)?;
    let reads = [("x", &x.cast_bits()), ("plan", &words(&plan.table)?)];
    check(queue, &reads, &[("out", &words(&out)?)])?;
    if out.is_empty() {
        return Ok(());
    }
    let mut launches = FftLaunches::new(queue, &plan.table);
    let from = End::real(&x, n, plan.window.len());
    launches.forward_real(plan.along(signals, n), plan.n, &from, &out)?;
    launches.enqueue()
}

#[track_caller]
pub(crate) fn istft<C: ComplexNumber, const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    plan: &StftPlan,
    x: &DeviceArray<C, E>,
    out: &DeviceArray<f32, D>,
) -> Result<()> {
    let (signals, n) = signals_of(queue, out)?;
    let count = plan.frames(n);
    check_shape(queue, out, ("x", x), &[count, plan.bins()], SPECTRA)?;
    let x = complex(x)?;
    let mut out = flat(out)?;
    let reads = [("x", &words(&x)?), ("plan", &words(&plan.table)?)];
    check(queue, &reads, &[("out", &out.cast_bits())])?;
    if x.is_empty() {
        return if out.is_empty() { Ok(()) } else { queue.fill(&mut out, 0.0) };
    }
    let frames: DeviceArray<f32> = real_scratch(queue, count_of([signals, count, plan.n]))?;
    let along = plan.along(signals, n);
    let along = AlongAxis { inverse: true, factor: 1.0 / plan.n as f64, frames: Frames::ONE, ..along };
    let mut launches = FftLaunches::new(queue, &plan.table);
    launches.inverse_real(along, plan.n, &x, &End::real(&frames, plan.n, plan.n))?;
    let kernel = compiled(queue, "overlap_add", &WIDE)?;
    launches.enqueue()?;
    let counts = [
        ("n", out.len()),
        ("size", n),
        ("x_size", plan.n),
        ("frames", count),
        ("hop", plan.hop),
        ("pad", plan.pad()),
        ("width", plan.window.len()),
        ("window", plan.place),
    ];
    let mut args: Vec<_> = counts.map(|(name, count)| value(name, count as u32)).into();
    args.push(value("unit", plan.unit()));
    args.push((Some("x".into()), (&frames).into_arg()));
    args.push((Some("table".into()), (&plan.table).into_arg()));
    let grid = Grid::threads([out.len()]);
    args.push((Some("out".into()), (&mut out).into_arg()));
    queue.launch_dyn(&kernel, grid, args)
}

#[track_caller]
pub(crate) fn welch<const D: usize>(
    queue: &VerbQueue<'_>,
    plan: &StftPlan,
    welch: Welch,
    x: &DeviceArray<f32, D>,
    out: &DeviceArray<f32, D>,
) -> Result<()> {
    if plan.centered || plan.pads_end {
        let object = format!("{}, argument `plan`: the place of its frames", subject(queue.verb));
        let found = "partly outside of the samples".into();
        let needed = "a plan without `centered` and `pad_end`";
        return Err(ErrorDetail::Value { object, found, needed }.into());
    }
    let (signals, n) = signals_of(queue, x)?;
    let remedy = "in place of the samples, a spectrum has an axis of `bins()` frequencies";
    check_shape(queue, x, ("out", out), &[plan.bins()], remedy)?;
    let width = plan.window.len();
    let count = plan.frames(n);
    if count == 0 {
        let mut expected = x.shape();
        expected[D - 1] = width;
        let remedy = "a spectrum needs a frame, and a frame as many samples as the window";
        return Err(queue.wrong_shape("x", x, expected, remedy));
    }
    let factor = welch.factor(&plan.window);
    if !factor.is_normal() {
        let object = format!("{}, argument `welch`: the factor of its unit", subject(queue.verb));
        let needed = "a positive finite rate, or for a spectrum a window whose sum is not 0,";
        return Err(ErrorDetail::Value { object, found: factor.to_string(), needed }.into());
    }
    let x = flat(x)?;
    let mut out = flat(out)?;
    let reads = [("x", &x.cast_bits()), ("plan", &words(&plan.table)?)];
    check(queue, &reads, &[("out", &out.cast_bits())])?;
    if out.is_empty() {
        return Ok(());
    }
    // All memory is taken before the first command.
    let bins = plan.bins();
    let frames = count_of([signals, count]);
    let spectra = scratch(queue, count_of([frames, bins]))?;
    let power = real_scratch(queue, count_of([frames, bins]))?;
    let of_bins = View { outer: signals, n: count, inner: bins };
    let partials = of_bins.partials(queue)?;
    let mut launches = FftLaunches::new(queue, &plan.table);
    if welch.keeps_mean {
        launches.forward_real(plan.along(signals, n), plan.n, &End::real(&x, n, width), &spectra)?;
    } else {
        let copies = WithoutMeans::new(queue, frames, width)?;
        let along = plan.along(signals, n);
        let one = Frames { window: along.frames.window, ..Frames::ONE };
        let from = End::real(&copies.frames, width, width);
        launches.forward_real(AlongAxis { frames: one, ..along }, plan.n, &from, &spectra)?;
        copies.enqueue(queue, (&x, signals, n), (count, plan.hop))?;
    }
    launches.enqueue()?;
    let rows = spectra.reshape([frames, bins])?;
    let power_rows = power.reshape([frames, bins])?;
    // Each frequency but 0, and but the last one of an even length, stands for a negative one too.
    let last = if plan.n.is_multiple_of(2) { bins - 1 } else { bins } as u32;
    let inputs = args![x = &rows, factor = factor, bins = bins as u32, last = last];
    let expression = "dot(x * factor, x * factor) * select(2.0, 1.0, i % bins == 0u || i % bins == last)";
    map(queue, &Inputs::from(inputs), expression, &power_rows)?;
    along_with(queue, Steps::mean(), of_bins, [&power; 2], partials, &mut out)
}

/// Copies of frames without their means.
struct WithoutMeans {
    frames: DeviceArray<f32>,
    means: DeviceArray<f32>,
    partials: Option<DeviceArray<f32>>,
    view: View,
}

impl WithoutMeans {
    /// Takes the memory for frames of `width` samples.
    #[track_caller]
    fn new(queue: &VerbQueue<'_>, count: usize, width: usize) -> Result<Self> {
        let view = View { outer: count, n: width, inner: 1 };
        let frames = real_scratch(queue, count_of([count, width]))?;
        Ok(Self { frames, means: queue.scratch(count)?, partials: view.partials(queue)?, view })
    }

    /// Enqueues the copies of the frames of signals.
    #[track_caller]
    fn enqueue(
        self,
        queue: &VerbQueue<'_>,
        (x, signals, n): (&DeviceArray<f32>, usize, usize),
        (count, hop): (usize, usize),
    ) -> Result<()> {
        let Self { frames, mut means, partials, view } = self;
        let width = view.n;
        let axes = [
            CopiedAxis { count: signals, from: n as isize, to: (count * width) as isize },
            CopiedAxis { count, from: hop as isize, to: width as isize },
            CopiedAxis { count: width, from: 1, to: 1 },
        ];
        copy_axes(queue, &axes, (&x.cast_bits(), 0), (&mut frames.cast_bits(), 0))?;
        along_with(queue, Steps::mean(), view, [&frames; 2], partials, &mut means)?;
        let mut rows = frames.reshape([view.outer, width])?;
        let means = means.reshape([view.outer, 1])?;
        map_in_place(queue, &Inputs::from(args![x = &mut rows, mean = &means]), "x - mean")
    }
}

/// Returns scratch memory for real numbers, or an error if the launches would refuse its size.
#[track_caller]
fn real_scratch(queue: &VerbQueue<'_>, len: usize) -> Result<DeviceArray<f32>> {
    let array: DeviceArray<f32> = queue.scratch(len)?;
    check(queue, &[], &[("scratch memory", &array.cast_bits())])?;
    Ok(array)
}
