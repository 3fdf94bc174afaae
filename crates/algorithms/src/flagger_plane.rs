//! The steps of a flagger of interference for a plane of samples: a smooth background, and flags of windows that deviate
//! from it.

use crate::axis::View;
use crate::fft::count_of;
use crate::filter::{Boundary, Filter, filter};
use crate::flagger::SumThresholdFlagger;
use crate::inputs::Inputs;
use crate::map::{map, map_in_place};
use crate::quantile::Medians;
use crate::rearrange::{Outside, gather, permute};
use crate::refusals::check;
use crate::selection::Division;
use crate::trusted;
use crate::verb_queue::VerbQueue;
use fencepost_core::{DeviceArray, Grid, Result, args};
use fencepost_derive::KernelArgs;

/// Ratio of the standard deviation of normal numbers to the median of their magnitudes.
const DEVIATION: f64 = 1.4826;
/// Bits of an amplitude, or of a NaN if it is flagged.
pub(crate) const UNFLAGGED: &str = "select(bitcast<u32>(abs(x)), 0x7fc00000u, f != 0u)";

/// Returns scratch memory, or an error if the launches would refuse its size.
#[track_caller]
pub(crate) fn memory(queue: &VerbQueue<'_>, len: usize) -> Result<DeviceArray<u32>> {
    let array = queue.scratch(len)?;
    check(queue, &[], &[("scratch memory", &array)])?;
    Ok(array)
}

/// Memory for the steps, of which a plane takes the first elements.
#[derive(Clone)]
pub(crate) struct StepMemory {
    /// Flags of the samples that are not part of the background.
    mask: DeviceArray<u32>,
    /// Background, as bits. It is a NaN where all samples around are masked.
    background: DeviceArray<u32>,
    /// Magnitudes whose medians are wanted, as bits. A flagged one is a NaN.
    pub(crate) magnitudes: DeviceArray<u32>,
    /// The same with other axes.
    rows: DeviceArray<u32>,
    pub(crate) first: DeviceArray<u32>,
    pub(crate) second: DeviceArray<u32>,
    third: DeviceArray<u32>,
}

impl StepMemory {
    #[track_caller]
    pub(crate) fn new(queue: &VerbQueue<'_>, len: usize) -> Result<Self> {
        Ok(Self {
            mask: memory(queue, len)?,
            background: memory(queue, len)?,
            magnitudes: memory(queue, len)?,
            rows: memory(queue, len)?,
            first: memory(queue, len)?,
            second: memory(queue, len)?,
            third: memory(queue, len)?,
        })
    }

    /// Returns the first elements.
    fn of_first(&self, len: usize) -> Result<Self> {
        let part = |array: &DeviceArray<u32>| array.slice(0..len);
        Ok(Self {
            mask: part(&self.mask)?,
            background: part(&self.background)?,
            magnitudes: part(&self.magnitudes)?,
            rows: part(&self.rows)?,
            first: part(&self.first)?,
            second: part(&self.second)?,
            third: part(&self.third)?,
        })
    }
}

/// Weights of a filter that is almost a Gaussian: four moving means of the same length, one after the other.
struct BoxWeights {
    values: Vec<f32>,
    array: DeviceArray<f32>,
}

impl BoxWeights {
    #[track_caller]
    fn new(queue: &VerbQueue<'_>, sigma: f64) -> Result<Self> {
        let values = box_weights(sigma);
        let array = memory(queue, values.len())?.cast_bits();
        Ok(Self { values, array })
    }

    #[track_caller]
    fn upload(&self, queue: &VerbQueue<'_>) -> Result<()> {
        queue.upload(&self.values, &mut self.array.clone())
    }
}

/// Returns the number of samples on each side of a moving mean, of which four have almost a standard deviation.
pub(crate) fn box_radius(sigma: f64) -> usize {
    (0.5 * (3.0 * sigma * sigma + 1.0).sqrt()) as usize
}

fn box_weights(sigma: f64) -> Vec<f32> {
    let length = 2 * box_radius(sigma) + 1;
    let mut weights = vec![1.0];
    for _ in 0..4 {
        let mut wider = vec![0.0; weights.len() + length - 1];
        for (at, weight) in weights.iter().enumerate() {
            wider[at..at + length].iter_mut().for_each(|sum| *sum += weight / length as f64);
        }
        weights = wider;
    }
    weights.into_iter().map(|weight| weight as f32).collect()
}

/// Samples of some times, bins of channels and series, and the memory to flag them.
pub(crate) struct Plane<'a> {
    queue: &'a VerbQueue<'a>,
    options: SumThresholdFlagger<'a>,
    /// Counts of times, bins and series.
    shape: [usize; 3],
    /// Amplitudes, and later their deviations from the background.
    pub(crate) data: DeviceArray<f32>,
    /// Flags of the samples that no estimate takes.
    pub(crate) flags: DeviceArray<u32>,
    work: StepMemory,
    /// Weights along the times and the bins, the narrowest ones first.
    weights: Vec<[BoxWeights; 2]>,
    /// Medians of the chunks of each series, of the samples of all times.
    of_chunks: ChunkMedians,
    /// Medians of the chunks of each time and series.
    of_times: ChunkMedians,
    /// Places of the chunks of each bin and series in the medians, and the medians there.
    places: DeviceArray<u32>,
    limits: DeviceArray<f32>,
}

impl<'a> Plane<'a> {
    /// Takes the memory for samples of a shape.
    #[track_caller]
    pub(crate) fn new(
        queue: &'a VerbQueue<'a>,
        options: SumThresholdFlagger<'a>,
        work: &StepMemory,
        shape: [usize; 3],
    ) -> Result<Self> {
        let [times, bins, series] = shape;
        let len = count_of(shape);
        let work = work.of_first(len)?;
        let mut weights = Vec::new();
        for step in 1..=options.background_iterations.max(1) {
            // A single time has no neighbours.
            let along_times = if times == 1 { 0.0 } else { options.spike_width_time * step as f64 };
            let along_bins = options.sigma_of_bins() * step as f64;
            weights.push([BoxWeights::new(queue, along_times)?, BoxWeights::new(queue, along_bins)?]);
        }
        let chunks = options.freq_chunks;
        let of_times = ChunkMedians::new(queue, &work.rows, count_of([times, series]), [bins, chunks, 1])?;
        Ok(Self {
            queue,
            options,
            shape,
            data: memory(queue, len)?.cast_bits(),
            flags: memory(queue, len)?,
            of_chunks: ChunkMedians::new(queue, &work.rows, series, [bins, chunks, times])?,
            of_times,
            work,
            weights,
            places: memory(queue, count_of([bins, series]))?,
            limits: memory(queue, count_of([bins, series]))?.cast_bits(),
        })
    }

    /// Enqueues the tables of the steps. Call it before all of them.
    #[track_caller]
    pub(crate) fn enter(&self) -> Result<()> {
        for weights in self.weights.iter().flatten() {
            weights.upload(self.queue)?;
        }
        self.of_chunks.enter(self.queue)?;
        self.of_times.enter(self.queue)?;
        let [_, bins, series] = self.shape.map(|n| n as u32);
        let chunks = self.options.freq_chunks as u32;
        let place = "i % series * chunks + ((i / series + 1u) * chunks - 1u) / bins";
        let inputs = args![bins = bins, series = series, chunks = chunks];
        map(self.queue, &Inputs::from(inputs), place, &self.places)
    }

    /// Enqueues further flags, of all times or of one that repeats.
    #[track_caller]
    pub(crate) fn add_flags(&self, found: &DeviceArray<u32, 3>) -> Result<()> {
        let mut flags = self.flags.reshape(self.shape)?;
        let inputs = args![f = &mut flags, found = found];
        map_in_place(self.queue, &Inputs::from(inputs), "u32(f != 0u || found != 0u)")
    }

    /// Enqueues the differences between the samples and a smooth background.
    ///
    /// The background is the mean of the samples around each one, without those that are flagged or that differ from an
    /// earlier, wider mean by more than their chunk allows. Where there are none, it is a line between its neighbours.
    #[track_caller]
    pub(crate) fn subtract_background(&mut self) -> Result<()> {
        self.queue.copy(&self.flags, &mut self.work.mask.clone())?;
        for step in (1..=self.options.background_iterations).rev() {
            self.smooth(step)?;
            self.mask_outliers()?;
        }
        self.smooth(1)?;
        let [_, bins, series] = self.shape;
        let count = self.data.len();
        let mut bridged = self.work.first.cast_bits::<f32>();
        let args = BridgeGapsArgs {
            n: bins as u32,
            inner: series as u32,
            count: count as u32,
            x: &self.work.background,
            out: &mut bridged,
        };
        let kernel = trusted::kernel::<BridgeGapsArgs<'_>>(self.queue)?;
        self.queue.launch(&kernel, Grid::threads([count]), args)?;
        let mut data = self.data.clone();
        map_in_place(self.queue, &Inputs::from(args![x = &mut data, g = &bridged]), "x - g")
    }

    /// Enqueues the means of the samples around each one that are not masked, with the weights of a step.
    #[track_caller]
    fn smooth(&self, step: usize) -> Result<()> {
        let StepMemory { mask, background, first, second, .. } = &self.work;
        let sums = first.cast_bits::<f32>();
        let counts = second.cast_bits::<f32>();
        map(self.queue, &Inputs::from(args![x = &self.data, m = mask]), "select(x, 0.0, m != 0u)", &sums)?;
        map(self.queue, &Inputs::from(args![m = mask]), "f32(m == 0u)", &counts)?;
        self.filter(&sums, step)?;
        self.filter(&counts, step)?;
        let mean = "select(bitcast<u32>(x / select(c, 1.0, c == 0.0)), 0x7fc00000u, c == 0.0)";
        map(self.queue, &Inputs::from(args![x = &sums, c = &counts]), mean, background)
    }

    /// Enqueues the weighted sums of the elements around each one. Elements beside the plane count as 0.
    #[track_caller]
    fn filter(&self, x: &DeviceArray<f32>, step: usize) -> Result<()> {
        let [down, across] = &self.weights[step - 1];
        let x = x.reshape(self.shape)?;
        let filtered = self.work.third.cast_bits::<f32>().reshape(self.shape)?;
        let down = down.array.reshape([down.values.len(), 1])?;
        let across = across.array.reshape([1, across.values.len()])?;
        let edges = Filter::default().boundary(Boundary::Constant(0.0)).channels_last();
        filter(self.queue, false, &x, &down, &filtered, edges)?;
        filter(self.queue, false, &filtered, &across, &x, edges)
    }

    /// Enqueues the mask of the samples that differ from the background too much for their chunk.
    #[track_caller]
    fn mask_outliers(&mut self) -> Result<()> {
        let StepMemory { mask, background, magnitudes, rows, .. } = &self.work;
        let background = background.cast_bits::<f32>();
        let inputs = args![x = &self.data, g = &background, f = mask];
        let magnitude = "select(bitcast<u32>(abs(x - g)), 0x7fc00000u, f != 0u)";
        map(self.queue, &Inputs::from(inputs), magnitude, magnitudes)?;
        let [times, bins, series] = self.shape;
        let magnitudes = magnitudes.reshape(self.shape)?;
        permute(self.queue, &magnitudes, [2, 1, 0], &rows.reshape([series, bins, times])?)?;
        self.of_chunks.enqueue(self.queue)?;
        let places = (&self.places).into();
        let mut limits = self.limits.cast_bits::<u32>();
        gather(self.queue, &self.of_chunks.out, places, Outside::Last, &mut limits)?;
        let limits = self.limits.reshape([1, bins, series])?;
        let by = (DEVIATION * self.options.background_reject) as f32;
        let mut mask = mask.reshape(self.shape)?;
        let magnitudes = magnitudes.cast_bits::<f32>();
        let inputs = args![f = &mut mask, x = &magnitudes, limit = &limits, by = by];
        map_in_place(self.queue, &Inputs::from(inputs), "select(f, 1u, x > by * limit)")
    }

    /// Enqueues the magnitudes of the deviations that are not flagged.
    #[track_caller]
    pub(crate) fn magnitudes(&self) -> Result<()> {
        let inputs = args![x = &self.data, f = &self.flags];
        map(self.queue, &Inputs::from(inputs), UNFLAGGED, &self.work.magnitudes)
    }

    /// Enqueues the flags of windows along the bins. The noise is that of a chunk of a time. Returns the array with the
    /// flags, which later steps overwrite.
    #[track_caller]
    pub(crate) fn flag_bins(&mut self, windows: &[usize]) -> Result<DeviceArray<u32, 3>> {
        self.magnitudes()?;
        let [times, bins, series] = self.shape;
        let rows = self.work.rows.reshape([times, series, bins])?;
        permute(self.queue, &self.work.magnitudes.reshape(self.shape)?, [0, 2, 1], &rows)?;
        self.of_times.enqueue(self.queue)?;
        let view = View { outer: times, n: bins, inner: series };
        self.flag_windows(view, self.options.freq_chunks, windows, &self.of_times.out)
    }

    /// Enqueues the flags of windows along the times, for the median magnitude of each bin and series. Returns the array
    /// with the flags, as [`flag_bins`](Self::flag_bins) does.
    #[track_caller]
    pub(crate) fn flag_times(
        &self,
        windows: &[usize],
        medians: &DeviceArray<u32>,
    ) -> Result<DeviceArray<u32, 3>> {
        let [times, bins, series] = self.shape;
        let view = View { outer: 1, n: times, inner: count_of([bins, series]) };
        self.flag_windows(view, 1, windows, medians)
    }

    /// Enqueues a launch for each length of windows. No window may be longer than the axis.
    #[track_caller]
    fn flag_windows(
        &self,
        view: View,
        chunks: usize,
        windows: &[usize],
        medians: &DeviceArray<u32>,
    ) -> Result<DeviceArray<u32, 3>> {
        let kernel = trusted::kernel::<FlagWindowsArgs<'_>>(self.queue)?;
        let mut before = self.work.first.clone();
        let mut after = self.work.second.clone();
        self.queue.fill(&mut before, 0)?;
        for &window in windows {
            let falloff = self.options.rho.powf((window as f64).log2());
            let args = FlagWindowsArgs {
                n: view.n as u32,
                inner: view.inner as u32,
                chunks: chunks as u32,
                count: before.len() as u32,
                window: window as u32,
                scale: (DEVIATION * self.options.outlier_nsigma / falloff) as f32,
                x: &self.data,
                noise: &medians.cast_bits(),
                flags: &before,
                out: &mut after,
            };
            self.queue.launch(&kernel, Grid::threads([before.len()]), args)?;
            std::mem::swap(&mut before, &mut after);
        }
        before.reshape(self.shape)
    }
}

/// Medians of the chunks of some rows.
struct ChunkMedians {
    medians: Medians,
    /// Number of bins of a row, of its chunks, and of the samples of a bin.
    sizes: [usize; 3],
    offsets: DeviceArray<u32>,
    out: DeviceArray<u32>,
}

impl ChunkMedians {
    #[track_caller]
    fn new(
        queue: &VerbQueue<'_>,
        x: &DeviceArray<u32>,
        rows: usize,
        [bins, chunks, samples]: [usize; 3],
    ) -> Result<Self> {
        let count = count_of([rows, chunks]);
        let offsets = memory(queue, count.saturating_add(1))?;
        let medians = Medians::new(queue, Division::of_segments(x, &offsets))?;
        Ok(Self { medians, sizes: [bins, chunks, samples], offsets, out: memory(queue, count)? })
    }

    /// Enqueues the offsets of the chunks.
    #[track_caller]
    fn enter(&self, queue: &VerbQueue<'_>) -> Result<()> {
        let [bins, chunks, samples] = self.sizes.map(|n| n as u32);
        let offset = "(i / chunks * bins + i % chunks * bins / chunks) * samples";
        let inputs = args![bins = bins, chunks = chunks, samples = samples];
        map(queue, &Inputs::from(inputs), offset, &self.offsets)
    }

    #[track_caller]
    fn enqueue(&mut self, queue: &VerbQueue<'_>) -> Result<()> {
        self.medians.enqueue(queue, &mut self.out)
    }
}

#[derive(KernelArgs)]
#[kernel(source = "bridge_gaps.wgsl", crate = fencepost_kernels)]
struct BridgeGapsArgs<'a> {
    n: u32,
    inner: u32,
    count: u32,
    x: &'a DeviceArray<u32>,
    out: &'a mut DeviceArray<f32>,
}

#[derive(KernelArgs)]
#[kernel(source = "flag_windows.wgsl", crate = fencepost_kernels)]
struct FlagWindowsArgs<'a> {
    n: u32,
    inner: u32,
    chunks: u32,
    count: u32,
    window: u32,
    scale: f32,
    x: &'a DeviceArray<f32>,
    noise: &'a DeviceArray<f32>,
    flags: &'a DeviceArray<u32>,
    out: &'a mut DeviceArray<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weights_are_those_of_four_moving_means() {
        assert_eq!(box_weights(0.0), [1.0]);
        let ninths = [1.0, 4.0, 10.0, 16.0, 19.0, 16.0, 10.0, 4.0, 1.0];
        for (weight, part) in box_weights(1.0).into_iter().zip(ninths) {
            assert!((weight - part / 81.0).abs() < 1e-7, "{weight} and {part}");
        }
        assert_eq!(box_weights(1.0).len(), 9);
    }

    #[test]
    fn the_weights_have_almost_the_standard_deviation() {
        for sigma in [5.0, 10.0, 12.5, 100.0] {
            let weights = box_weights(sigma);
            let middle = (weights.len() / 2) as f64;
            let square = |(at, &weight): (usize, &f32)| (at as f64 - middle).powi(2) * f64::from(weight);
            let found = weights.iter().enumerate().map(square).sum::<f64>().sqrt();
            assert!((found - sigma).abs() < 0.6, "{sigma} has {found}");
            assert!((weights.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        }
    }
}
