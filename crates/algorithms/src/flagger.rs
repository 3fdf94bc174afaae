//! Flags of interference in samples over time and frequency.

use crate::axis::{Steps, View, along_with};
use crate::elementwise::{flat, same_shape};
use crate::fft::count_of;
use crate::flagger_plane::{Plane, StepMemory, UNFLAGGED, box_radius, memory};
use crate::inputs::Inputs;
use crate::map::{map, map_in_place};
use crate::quantile::Medians;
use crate::reducible::Operation;
use crate::refusals::check;
use crate::rolling::{Rolling, rolling};
use crate::selection::Division;
use crate::strided::{CopiedAxis, copy_axes};
use crate::verb_queue::{VerbQueue, subject};
use fencepost_core::{DeviceArray, Error, ErrorDetail, Result, args};

/// Maximum length of a window, so that the loops of the kernel have few rounds.
const MOST_IN_WINDOW: usize = 128;
/// Maximum width of an extension, as of any window of `rolling`.
const MOST_EXTENDED: usize = 2047;
/// Maximum radius of a moving mean: a filter has at most 8,192 weights.
const MOST_RADIUS: usize = 1023;
/// Maximum number of bins: an invocation looks for the ends of a gap in a loop.
const MOST_BINS: usize = 65_000;
/// Maximum number of iterations, each of which takes 24 launches.
const MOST_ITERATIONS: usize = 100;

/// Condition for the bits of a NaN or of an infinite number.
const IS_NOT_FINITE: &str = "(x & 0x7f800000u) == 0x7f800000u";
/// Condition for the bits of a NaN.
const IS_NAN: &str = "(m & 0x7fffffffu) > 0x7f800000u";

/// Options of [`flag_interference`](crate::Algorithms::flag_interference), with the names and the defaults of
/// katsdpsigproc's class `SumThresholdFlagger`.
///
/// # Example
/// ```
/// use fencepost::prelude::*;
/// let options = SumThresholdFlagger::default().freq_chunks(1).background(2.0, 3);
/// assert_eq!((options.freq_chunks, options.background_iterations, options.rho), (1, 3, 1.3));
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SumThresholdFlagger<'a> {
    /// Threshold of a single sample, in standard deviations.
    pub outlier_nsigma: f64,
    /// Lengths of the windows along the time. A longer one than the array is left out.
    pub windows_time: &'a [usize],
    /// Lengths of the windows along the frequency, in channels. A window that is longer than the array is left out.
    pub windows_freq: &'a [usize],
    /// Distance from the background, in standard deviations, above which a sample is not a part of it.
    pub background_reject: f64,
    /// Number of times that samples are left out of the background.
    pub background_iterations: usize,
    /// Standard deviation of the Gaussian that makes the background, along the time.
    pub spike_width_time: f64,
    /// Standard deviation of the Gaussian that makes the background, along the frequency, in channels.
    pub spike_width_freq: f64,
    /// Number of times, an odd one, around a flag that are flagged with it.
    pub time_extend: usize,
    /// Number of channels, an odd one, around a flag that are flagged with it.
    pub freq_extend: usize,
    /// Number of parts of the channels, each of which has a noise of its own.
    pub freq_chunks: usize,
    /// Number of channels whose mean is one sample of the steps.
    pub average_freq: usize,
    /// Fraction of the times of a channel above which all of them are flagged.
    pub flag_all_time_frac: f64,
    /// Fraction of the channels of a time above which all of them are flagged.
    pub flag_all_freq_frac: f64,
    /// Factor by which the threshold decreases when the length of a window doubles.
    pub rho: f64,
}

impl Default for SumThresholdFlagger<'_> {
    fn default() -> Self {
        Self {
            outlier_nsigma: 4.5,
            windows_time: &[1, 2, 4, 8],
            windows_freq: &[1, 2, 4, 8],
            background_reject: 2.0,
            background_iterations: 1,
            spike_width_time: 12.5,
            spike_width_freq: 10.0,
            time_extend: 3,
            freq_extend: 3,
            freq_chunks: 10,
            average_freq: 1,
            flag_all_time_frac: 0.6,
            flag_all_freq_frac: 0.8,
            rho: 1.3,
        }
    }
}

impl<'a> SumThresholdFlagger<'a> {
    /// Sets the threshold of a single sample, in standard deviations.
    #[must_use]
    pub fn outlier_nsigma(self, outlier_nsigma: f64) -> Self {
        Self { outlier_nsigma, ..self }
    }

    /// Sets the lengths of the windows along the time and along the frequency, each up to 128.
    #[must_use]
    pub fn windows(self, windows_time: &'a [usize], windows_freq: &'a [usize]) -> Self {
        Self { windows_time, windows_freq, ..self }
    }

    /// Sets the distance from the background, in standard deviations, above which samples are left out of it, and the
    /// number of times that they are. The Gaussian of the first time is as many times wider than that of the last one.
    #[must_use]
    pub fn background(self, background_reject: f64, background_iterations: usize) -> Self {
        Self { background_reject, background_iterations, ..self }
    }

    /// Sets the standard deviations of the Gaussian that makes the background, along the time and along the frequency.
    #[must_use]
    pub fn spike_width(self, spike_width_time: f64, spike_width_freq: f64) -> Self {
        Self { spike_width_time, spike_width_freq, ..self }
    }

    /// Sets the numbers of times and of channels around a flag that are flagged with it. They are odd, and at most 2,047.
    #[must_use]
    pub fn extend(self, time_extend: usize, freq_extend: usize) -> Self {
        Self { time_extend, freq_extend, ..self }
    }

    /// Sets the number of parts of the channels, each of which has a noise of its own.
    #[must_use]
    pub fn freq_chunks(self, freq_chunks: usize) -> Self {
        Self { freq_chunks, ..self }
    }

    /// Sets the number of channels whose mean is one sample of the steps.
    #[must_use]
    pub fn average_freq(self, average_freq: usize) -> Self {
        Self { average_freq, ..self }
    }

    /// Sets the fraction of the times of a channel, and that of the channels of a time, above which all of them are
    /// flagged.
    #[must_use]
    pub fn flag_all_frac(self, flag_all_time_frac: f64, flag_all_freq_frac: f64) -> Self {
        Self { flag_all_time_frac, flag_all_freq_frac, ..self }
    }

    /// Sets the factor by which the threshold decreases when the length of a window doubles.
    #[must_use]
    pub fn rho(self, rho: f64) -> Self {
        Self { rho, ..self }
    }

    /// Returns the standard deviation of the Gaussian along the bins.
    pub(crate) fn sigma_of_bins(&self) -> f64 {
        self.spike_width_freq / self.average_freq as f64
    }

    /// Returns the lengths of the windows that fit into some times.
    fn of_times(&self, times: usize) -> Vec<usize> {
        self.windows_time.iter().copied().filter(|&window| window <= times).collect()
    }

    /// Returns the lengths of the windows in bins that fit into some of them, in ascending order.
    fn of_bins(&self, bins: usize) -> Vec<usize> {
        let in_bins = self.windows_freq.iter().map(|window| window.div_ceil(self.average_freq));
        let mut windows: Vec<usize> = in_bins.filter(|&window| window <= bins).collect();
        windows.sort_unstable();
        windows.dedup();
        windows
    }

    /// Returns an error for an option that is out of its range.
    fn check(&self, verb: &str) -> Result<()> {
        let is_number = |number: f64| number.is_finite() && number >= 0.0;
        let numbers = [
            ("outlier_nsigma", self.outlier_nsigma),
            ("background_reject", self.background_reject),
            ("flag_all_time_frac", self.flag_all_time_frac),
            ("flag_all_freq_frac", self.flag_all_freq_frac),
            ("spike_width_time", self.spike_width_time),
            ("spike_width_freq", self.spike_width_freq),
        ];
        if let Some((option, found)) = numbers.into_iter().find(|&(_, number)| !is_number(number)) {
            return Err(refused(verb, option, found, "a finite number of at least 0"));
        }
        if !(self.rho.is_finite() && self.rho > 0.0) {
            return Err(refused(verb, "rho", self.rho, "a finite number above 0"));
        }
        for (option, windows) in [("windows_time", self.windows_time), ("windows_freq", self.windows_freq)] {
            if let Some(window) = windows.iter().find(|window| !(1..=MOST_IN_WINDOW).contains(*window)) {
                return Err(refused(verb, option, *window, "numbers from 1 to 128"));
            }
        }
        for (option, extend) in [("time_extend", self.time_extend), ("freq_extend", self.freq_extend)] {
            if extend.is_multiple_of(2) || extend > MOST_EXTENDED {
                return Err(refused(verb, option, extend, "an odd number up to 2047"));
            }
        }
        for (option, count) in [("freq_chunks", self.freq_chunks), ("average_freq", self.average_freq)] {
            if count == 0 {
                return Err(refused(verb, option, count, "at least 1"));
            }
        }
        if self.background_iterations > MOST_ITERATIONS {
            return Err(refused(
                verb,
                "background_iterations",
                self.background_iterations,
                "a number up to 100",
            ));
        }
        let widest = self.spike_width_time.max(self.sigma_of_bins());
        let widest = widest * self.background_iterations.max(1) as f64;
        if box_radius(widest) > MOST_RADIUS {
            let option = "the larger spike width in samples, times the number of iterations,";
            return Err(refused(verb, option, widest, "a number up to 1182"));
        }
        Ok(())
    }
}

fn refused(verb: &str, option: &str, found: impl std::fmt::Debug, needed: &'static str) -> Error {
    let object = format!("{}, argument `options`: {option}", subject(verb));
    ErrorDetail::Value { object, found: format!("{found:?}"), needed }.into()
}

/// Enqueues the flags of the samples of `x`.
#[track_caller]
pub(crate) fn flag_interference<const D: usize>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<f32, D>,
    known: &DeviceArray<u32, D>,
    out: &DeviceArray<u32, D>,
    options: SumThresholdFlagger<'_>,
) -> Result<()> {
    let shape = x.shape();
    let [times, channels, ref others @ ..] = shape[..] else {
        let array = x.label().into();
        return Err(ErrorDetail::Axis { verb: queue.verb, array, axis: 1, rank: D }.into());
    };
    same_shape(queue, x, "known", known)?;
    same_shape(queue, x, "out", out)?;
    options.check(queue.verb)?;
    let x = flat(x)?.cast_bits();
    let known = flat(known)?;
    let out = flat(out)?;
    check(queue, &[("x", &x), ("known", &known)], &[("out", &out)])?;
    if x.is_empty() {
        return Ok(());
    }
    let series = others.iter().product();
    let windows_time = options.of_times(times);
    let sizes = FlaggerSizes::new(queue, options, [times, channels, series])?;
    let windows_freq = options.of_bins(sizes.bins);
    // With as many chunks as bins, each bin has its own.
    let options = SumThresholdFlagger { freq_chunks: options.freq_chunks.min(sizes.bins), ..options };
    let work = StepMemory::new(queue, count_of(sizes.of_bins()))?;
    let samples = Channels::new(queue, sizes, &work, [x, known, out])?;
    let mut all = Plane::new(queue, options, &work, sizes.of_bins())?;
    let mut spectrum = Spectrum::new(queue, options, sizes, &work)?;
    let found = memory(queue, count_of(sizes.of_bins()))?.reshape(sizes.of_bins())?;
    // All memory is taken before the first command.
    samples.average(&all)?;
    spectrum.flag(&all, &windows_freq)?;
    all.enter()?;
    all.add_flags(&spectrum.found)?;
    all.subtract_background()?;
    all.magnitudes()?;
    spectrum.medians.enqueue(queue, &mut spectrum.of_times)?;
    let of_times = all.flag_times(&windows_time, &spectrum.of_times)?;
    let inputs = args![x = &of_times, f = &spectrum.found];
    map(queue, &Inputs::from(inputs), "u32(x != 0u || f != 0u)", &found)?;
    all.add_flags(&found)?;
    let of_bins = all.flag_bins(&windows_freq)?;
    let mut all_found = found.clone();
    let inputs = args![x = &mut all_found, f = &of_bins];
    map_in_place(queue, &Inputs::from(inputs), "u32(x != 0u || f != 0u)")?;
    samples.extend(&found, options)
}

/// Sizes of the arrays of a flagger.
#[derive(Clone, Copy, Debug)]
struct FlaggerSizes {
    times: usize,
    channels: usize,
    /// Number of series of samples, each of which is flagged alone.
    series: usize,
    bins: usize,
    /// Number of channels of a bin. The last bin may have fewer.
    width: usize,
}

impl FlaggerSizes {
    /// Returns the sizes for at least one sample, or an error for too many bins.
    fn new(
        queue: &VerbQueue<'_>,
        options: SumThresholdFlagger<'_>,
        [times, channels, series]: [usize; 3],
    ) -> Result<Self> {
        let width = options.average_freq.min(channels);
        let bins = channels.div_ceil(width);
        if bins > MOST_BINS {
            let needed = "a number up to 65000, by a larger `average_freq`,";
            return Err(refused(queue.verb, "the number of bins of channels", bins, needed));
        }
        Ok(Self { times, channels, series, bins, width })
    }

    fn of_bins(self) -> [usize; 3] {
        [self.times, self.bins, self.series]
    }

    fn of_channels(self) -> [usize; 3] {
        [self.times, self.channels, self.series]
    }

    /// Returns the shape with all channels of the last bin.
    fn of_whole_bins(self) -> [usize; 4] {
        [self.times, self.bins, self.width, self.series]
    }

    /// Returns the view whose middle axis has the channels of a bin.
    fn view_of_bins(self) -> View {
        View { outer: self.times * self.bins, n: self.width, inner: self.series }
    }

    /// Returns the number of samples of a time, and the number with all channels of the last bin.
    fn lines(self) -> [usize; 2] {
        [self.channels * self.series, self.bins * self.width * self.series]
    }

    /// Returns the axes of a copy of the channels of all times, between arrays with lines of these lengths.
    fn axes(self, from: usize, to: usize) -> [CopiedAxis; 2] {
        let [own, _] = self.lines();
        let times = CopiedAxis { count: self.times, from: from as isize, to: to as isize };
        [times, CopiedAxis { count: own, from: 1, to: 1 }]
    }

    /// Returns `true` if the last bin has as many channels as the others.
    fn is_divided(self) -> bool {
        self.bins * self.width == self.channels
    }
}

/// The medians over time, and their flags.
struct Spectrum<'a> {
    queue: &'a VerbQueue<'a>,
    plane: Plane<'a>,
    /// Medians of the magnitudes over time.
    medians: Medians,
    /// Results of the medians, as bits.
    of_times: DeviceArray<u32>,
    magnitudes: DeviceArray<u32>,
    found: DeviceArray<u32, 3>,
}

impl<'a> Spectrum<'a> {
    #[track_caller]
    fn new(
        queue: &'a VerbQueue<'a>,
        options: SumThresholdFlagger<'a>,
        sizes: FlaggerSizes,
        work: &StepMemory,
    ) -> Result<Self> {
        let FlaggerSizes { times, bins, series, .. } = sizes;
        let len = count_of([bins, series]);
        let magnitudes = work.magnitudes.clone();
        let division = Division::along(queue, &magnitudes, View { outer: 1, n: times, inner: len })?;
        Ok(Self {
            queue,
            plane: Plane::new(queue, options, work, [1, bins, series])?,
            medians: Medians::new(queue, division)?,
            of_times: memory(queue, len)?,
            magnitudes,
            found: memory(queue, len)?.reshape([1, bins, series])?,
        })
    }

    /// Enqueues the flags of the spectrum of a plane.
    #[track_caller]
    fn flag(&mut self, all: &Plane<'_>, windows: &[usize]) -> Result<()> {
        let Self { queue, plane, medians, of_times, magnitudes, found } = self;
        plane.enter()?;
        let inputs = args![x = &all.data, f = &all.flags];
        map(queue, &Inputs::from(inputs), UNFLAGGED, &*magnitudes)?;
        medians.enqueue(queue, of_times)?;
        let inputs = Inputs::from(args![m = &*of_times]);
        map(queue, &inputs, &format!("select(m, 0u, {IS_NAN})"), &plane.data.cast_bits::<u32>())?;
        map(queue, &inputs, &format!("u32({IS_NAN})"), &plane.flags)?;
        plane.subtract_background()?;
        let of_bins = plane.flag_bins(windows)?;
        map(queue, &Inputs::from(args![x = &of_bins]), "u32(x != 0u)", &*found)
    }
}

/// The samples of all channels, their means in bins, and the memory for both.
struct Channels<'a> {
    queue: &'a VerbQueue<'a>,
    sizes: FlaggerSizes,
    x: DeviceArray<u32>,
    known: DeviceArray<u32>,
    out: DeviceArray<u32>,
    /// Arrays for the sums and the counts of the samples of bins.
    sums: [DeviceArray<u32>; 2],
    /// Array for all channels of whole bins.
    whole: DeviceArray<u32>,
    /// Arrays for the channels.
    channels: [DeviceArray<u32>; 2],
    /// Partial sums of bins, of the channels of a time, and of the times of a channel.
    of_bins: Option<DeviceArray<f32>>,
    of_rows: Option<DeviceArray<u32>>,
    of_columns: Option<DeviceArray<u32>>,
    /// Counts of the flags of each time, and of each channel.
    rows: DeviceArray<u32>,
    columns: DeviceArray<u32>,
}

impl<'a> Channels<'a> {
    #[track_caller]
    fn new(
        queue: &'a VerbQueue<'a>,
        sizes: FlaggerSizes,
        work: &StepMemory,
        [x, known, out]: [DeviceArray<u32>; 3],
    ) -> Result<Self> {
        let FlaggerSizes { times, channels, series, width, .. } = sizes;
        let len = x.len();
        let sums = [work.first.clone(), work.second.clone()];
        let is_averaged = width > 1;
        let whole =
            if is_averaged { memory(queue, count_of(sizes.of_whole_bins()))? } else { sums[0].clone() };
        let first = if sizes.is_divided() { whole.clone() } else { memory(queue, len)? };
        let second = if is_averaged { memory(queue, len)? } else { sums[1].clone() };
        Ok(Self {
            queue,
            sizes,
            x,
            known,
            out,
            sums,
            whole,
            channels: [first, second],
            of_bins: sizes.view_of_bins().partials(queue)?,
            of_rows: View { outer: times, n: channels, inner: series }.partials(queue)?,
            of_columns: View { outer: 1, n: times, inner: count_of([channels, series]) }.partials(queue)?,
            rows: memory(queue, count_of([times, series]))?,
            columns: memory(queue, count_of([channels, series]))?,
        })
    }

    /// Enqueues the mean amplitude of the samples of each bin that are not flagged, and a flag for a bin without any.
    #[track_caller]
    fn average(&self, all: &Plane<'_>) -> Result<()> {
        let Self { queue, x, known, sums, .. } = self;
        let is_left_out = format!("f != 0u || {IS_NOT_FINITE}");
        let amplitude = format!("select(x & 0x7fffffffu, 0u, {is_left_out})");
        let one = 1_f32.to_bits();
        let counted = format!("select({one}u, 0u, {is_left_out})");
        for (text, sums) in [&amplitude, &counted].into_iter().zip(sums) {
            let inputs = Inputs::from(args![x = x, f = known]);
            if self.sizes.width == 1 {
                map(queue, &inputs, text, sums)?;
                continue;
            }
            map(queue, &inputs, text, &self.channels[0])?;
            self.widen()?;
            let whole = self.whole.cast_bits::<f32>();
            let steps = Steps::of(Operation::Sum);
            let view = self.sizes.view_of_bins();
            along_with(queue, steps, view, [&whole; 2], self.of_bins.clone(), &mut sums.cast_bits())?;
        }
        let [sums, counts] = sums.each_ref().map(|array| array.cast_bits::<f32>());
        map(queue, &Inputs::from(args![x = &sums, c = &counts]), "x / max(c, 1.0)", &all.data)?;
        map(queue, &Inputs::from(args![c = &counts]), "u32(c == 0.0)", &all.flags)
    }

    /// Enqueues the copy of the channels to whole bins. Further channels are 0.
    #[track_caller]
    fn widen(&self) -> Result<()> {
        if self.sizes.is_divided() {
            return Ok(());
        }
        let mut whole = self.whole.clone();
        self.queue.fill(&mut whole, 0)?;
        let [own, all] = self.sizes.lines();
        copy_axes(self.queue, &self.sizes.axes(own, all), (&self.channels[0], 0), (&mut whole, 0))
    }

    /// Enqueues the copy of the channels of whole bins.
    #[track_caller]
    fn narrow(&self) -> Result<()> {
        if self.sizes.is_divided() {
            return Ok(());
        }
        let mut channels = self.channels[0].clone();
        let [own, all] = self.sizes.lines();
        copy_axes(self.queue, &self.sizes.axes(all, own), (&self.whole, 0), (&mut channels, 0))
    }

    /// Enqueues the flags of all channels for those of the bins, with those around them and those of whole times and
    /// channels.
    #[track_caller]
    fn extend(&self, found: &DeviceArray<u32, 3>, options: SumThresholdFlagger<'_>) -> Result<()> {
        let Self { queue, sizes, channels: [first, second], .. } = self;
        let FlaggerSizes { times, channels, bins, series, width } = *sizes;
        let extended = self.sums[0].reshape(sizes.of_bins())?;
        rolling(queue, found, &extended, Rolling::max([options.time_extend, 1, 1]))?;
        if width > 1 {
            let bins = extended.reshape([times, bins, 1, series])?;
            let whole = self.whole.reshape(sizes.of_whole_bins())?;
            map(queue, &Inputs::from(args![x = &bins]), "x", &whole)?;
            self.narrow()?;
        }
        let shape = sizes.of_channels();
        let flags = second.reshape(shape)?;
        rolling(queue, &first.reshape(shape)?, &flags, Rolling::max([1, options.freq_extend, 1]))?;
        let steps = Steps::of(Operation::Sum);
        let view = View { outer: times, n: channels, inner: series };
        along_with(queue, steps, view, [second; 2], self.of_rows.clone(), &mut self.rows.clone())?;
        let view = View { outer: 1, n: times, inner: count_of([channels, series]) };
        along_with(queue, steps, view, [second; 2], self.of_columns.clone(), &mut self.columns.clone())?;
        let rows = self.rows.reshape([times, 1, series])?;
        let columns = self.columns.reshape([1, channels, series])?;
        let x = self.x.reshape(shape)?;
        let most_of_row = (options.flag_all_freq_frac * channels as f64) as u32;
        let most_of_column = (options.flag_all_time_frac * times as f64) as u32;
        let is_flagged =
            format!("f != 0u || row > most_of_row || column > most_of_column || {IS_NOT_FINITE}");
        let inputs = args![
            f = &flags,
            row = &rows,
            column = &columns,
            x = &x,
            most_of_row = most_of_row,
            most_of_column = most_of_column
        ];
        let out = self.out.reshape(shape)?;
        map(queue, &Inputs::from(inputs), &format!("u32({is_flagged})"), &out)
    }
}
