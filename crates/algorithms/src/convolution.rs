//! Convolutions and correlations of real numbers along the last axis.

use crate::elementwise::flat;
use crate::fft::{AlongAxis, ComplexArray, End, FftLaunches, Frames, compiled, count_of, scratch};
use crate::fft_plan::Transform;
use crate::fft_table::{FftTable, is_length, most_in_one};
use crate::inputs::Inputs;
use crate::map::map_in_place;
use crate::refusals::check;
use crate::strided::{CopiedAxis, copy_axes};
use crate::tuning::{WIDE, limit};
use crate::typed_kernel::value;
use crate::verb_queue::{VerbQueue, subject};
use fencepost_core::{DeviceArray, ErrorDetail, Grid, IntoArg, Result, args};

/// Part of a convolution that is computed, by the names of NumPy. n is the number of elements of a row, and m the
/// number of weights.
///
/// With more weights than elements, `Same` is that of SciPy, and `Valid` is refused; NumPy exchanges the two arguments.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum ConvolveMode {
    /// All n + m - 1 results; elements outside of the row count as 0.
    #[default]
    Full,
    /// The n middle results, from number (m - 1) / 2 on.
    Same,
    /// The n - m + 1 results that need no element outside of the row.
    Valid,
}

impl ConvolveMode {
    /// Returns options that multiply any number of weights one by one, as `method="direct"` of SciPy does.
    ///
    /// # Cost
    /// One invocation adds the products of a result: n or m of them, whichever is less.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, weights, mut out) = (ctx.full([300], 3.0)?, ctx.full([100], 5.0)?, ctx.zeros([201])?);
    /// queue.convolve(&x, &weights, ConvolveMode::Valid.direct(), &mut out)?;
    /// assert_eq!(queue.read(&out).wait()?, [1500.0; 201]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[must_use]
    pub fn direct(self) -> Convolve {
        Convolve { mode: self, direct: true }
    }
}

/// Options of [`convolve`](crate::Algorithms::convolve) and [`correlate`](crate::Algorithms::correlate), which a
/// [`ConvolveMode`] becomes.
#[non_exhaustive]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Convolve {
    /// Part of the results that is computed.
    pub mode: ConvolveMode,
    /// `true` if all elements and weights are multiplied one by one.
    pub direct: bool,
}

impl From<ConvolveMode> for Convolve {
    fn from(mode: ConvolveMode) -> Self {
        Self { mode, direct: false }
    }
}

/// Maximum number of products of a result that are added one by one. With more, spectra are multiplied.
const DIRECT: usize = 64;

/// Enqueues the convolution of each row with the weights, or the correlation, which reads the weights from the last one
/// on.
#[track_caller]
pub(crate) fn convolve<const D: usize>(
    queue: &VerbQueue<'_>,
    correlate: bool,
    x: &DeviceArray<f32, D>,
    weights: &DeviceArray<f32>,
    Convolve { mode, direct }: Convolve,
    out: &DeviceArray<f32, D>,
) -> Result<()> {
    let Some(&n) = x.shape().last() else {
        let array = x.label().into();
        return Err(ErrorDetail::Axis { verb: queue.verb, array, axis: 0, rank: D }.into());
    };
    let m = weights.len();
    if m == 0 {
        return Err(queue.wrong_shape("weights", weights, [1], "pass at least one weight"));
    }
    let (size, first) = match mode {
        ConvolveMode::Full => (n + m - 1, 0),
        ConvolveMode::Same => (n, (m - 1) / 2),
        ConvolveMode::Valid if m > n => {
            let remedy = "the valid results need at most as many weights as a row has elements";
            return Err(queue.wrong_shape("weights", weights, [n], remedy));
        }
        ConvolveMode::Valid => (n - m + 1, m - 1),
    };
    let mut expected = x.shape();
    expected[D - 1] = size; // there is an axis
    if out.shape() != expected {
        let remedy = "the length of the last axis depends on the mode: n + m - 1, n, or n - m + 1 for n elements and m \
                      weights";
        return Err(queue.wrong_shape("out", out, expected, remedy));
    }
    let x = flat(x)?;
    let weights = flat(weights)?;
    let mut out = flat(out)?;
    let reads = [("x", &x.cast_bits()), ("weights", &weights.cast_bits())];
    check(queue, &reads, &[("out", &out.cast_bits())])?;
    if out.is_empty() {
        return Ok(());
    }
    if x.is_empty() {
        return queue.fill(&mut out, 0.0);
    }
    let rows = x.len() / n;
    let shape = Convolution { rows, n, m, size, first };
    let reversed = if correlate { Some(queue.scratch(m)?) } else { None };
    let read = reversed.as_ref().unwrap_or(&weights);
    if direct || m.min(n) <= limit(DIRECT, 4) {
        let kernel = compiled(queue, "convolve", &WIDE)?;
        reverse(queue, &weights, reversed.as_ref())?;
        let counts = [("n", rows * size), ("size", size), ("x_size", n), ("count", m), ("first", first)];
        let mut args: Vec<_> = counts.map(|(name, count)| value(name, count as u32)).into();
        args.push((Some("x".into()), (&x).into_arg()));
        args.push((Some("weights".into()), read.into_arg()));
        args.push((Some("out".into()), (&mut out).into_arg()));
        return queue.launch_dyn(&kernel, Grid::threads([rows * size]), args);
    }
    let prepared = Spectral::new(queue, shape, &x, read, &out)?;
    reverse(queue, &weights, reversed.as_ref())?;
    prepared.enqueue(queue)
}

/// Sizes of a convolution: rows, elements of a row, weights, results of a row, and the first result among all.
#[derive(Clone, Copy)]
struct Convolution {
    rows: usize,
    n: usize,
    m: usize,
    size: usize,
    first: usize,
}

/// Enqueues the copy of the weights in reversed order, if there is an array for it.
#[track_caller]
fn reverse(
    queue: &VerbQueue<'_>,
    weights: &DeviceArray<f32>,
    reversed: Option<&DeviceArray<f32>>,
) -> Result<()> {
    let Some(reversed) = reversed else { return Ok(()) };
    let m = weights.len();
    let axis = CopiedAxis { count: m, from: -1, to: 1 };
    copy_axes(queue, &[axis], (&weights.cast_bits(), m - 1), (&mut reversed.cast_bits(), 0))
}

/// A convolution by spectra: long rows are cut into blocks that overlap by one element less than there are weights, and
/// only the results of a block that do not depend on its neighbours are kept.
struct Spectral<'a> {
    values: Vec<[f32; 2]>,
    table: ComplexArray,
    to_spectra: FftLaunches<'a>,
    of_rows: DeviceArray<[f32; 2], 2>,
    of_weights: ComplexArray,
    from_spectra: FftLaunches<'a>,
}

impl<'a> Spectral<'a> {
    /// Takes the memory and makes the launches.
    #[track_caller]
    fn new(
        queue: &'a VerbQueue<'a>,
        shape: Convolution,
        x: &DeviceArray<f32>,
        weights: &DeviceArray<f32>,
        out: &DeviceArray<f32>,
    ) -> Result<Self> {
        let Convolution { rows, n, m, size, .. } = shape;
        let Some(RowBlocks { len: block, count, hop, pad, skip }) = RowBlocks::of(shape) else {
            let object = format!("{}: the number of weights", subject(queue.verb));
            let needed = "a number up to 4194304, or up to 16777217 together with the elements of a row,";
            return Err(ErrorDetail::Value { object, found: m.to_string(), needed }.into());
        };
        let mut table = FftTable::default();
        let transform = Transform::of_real(&mut table, block);
        let values = table.values;
        let bins = block / 2 + 1;
        let table = scratch(queue, values.len())?;
        let blocks = count_of([rows, count]);
        let spectra = scratch(queue, count_of([blocks, bins]))?;
        let of_weights = scratch(queue, bins)?;
        let once = AlongAxis {
            transform: &transform,
            batches: 1,
            columns: 1,
            inverse: false,
            factor: 1.0,
            frames: Frames::ONE,
        };
        let frames = Frames { count, hop, pad, ..Frames::ONE };
        let forward = AlongAxis { batches: blocks, frames, ..once };
        let frames = Frames { pad: 0, skip, ..frames };
        let backward = AlongAxis { inverse: true, factor: 1.0 / block as f64, frames, ..forward };
        let mut to_spectra = FftLaunches::new(queue, &table);
        to_spectra.forward_real(once, block, &End::real(weights, m, block), &of_weights)?;
        to_spectra.forward_real(forward, block, &End::real(x, n, block), &spectra)?;
        let mut from_spectra = FftLaunches::new(queue, &table);
        from_spectra.inverse_real(backward, block, &spectra, &End::real(out, size, block))?;
        let of_rows = spectra.reshape([blocks, bins])?;
        Ok(Self { values, table, to_spectra, of_rows, of_weights, from_spectra })
    }

    #[track_caller]
    fn enqueue(self, queue: &VerbQueue<'_>) -> Result<()> {
        let Self { values, mut table, to_spectra, mut of_rows, of_weights, from_spectra } = self;
        queue.upload(&values, &mut table)?;
        to_spectra.enqueue()?;
        let inputs = Inputs::from(args![x = &mut of_rows, y = &of_weights]);
        map_in_place(queue, &inputs, "vec2(x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x)")?;
        from_spectra.enqueue()
    }
}

/// The blocks of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct RowBlocks {
    /// Number of elements of a block.
    len: usize,
    /// Number of blocks.
    count: usize,
    /// Distance of the first elements of two blocks.
    hop: usize,
    /// Elements of the first block that come before the row.
    pad: usize,
    /// Results at the beginning of a block that are not written.
    skip: usize,
}

impl RowBlocks {
    /// Returns the blocks, or `None` if there is no transform of their length.
    fn of(Convolution { n, m, size, first, .. }: Convolution) -> Option<Self> {
        let all = n + m - 1;
        let usual = if 2 * m <= most_in_one() {
            most_in_one()
        } else {
            m.checked_mul(4)?.checked_next_power_of_two()?
        };
        let len = usual.min(all.checked_next_power_of_two()?);
        if !is_length(len) {
            return None;
        }
        // A block with room for all results has none that depend on other blocks.
        if len >= all {
            return Some(Self { len, count: 1, hop: len, pad: 0, skip: first });
        }
        let hop = len - (m - 1);
        Some(Self { len, count: size.div_ceil(hop), hop, pad: m - 1 - first, skip: m - 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the blocks of all results.
    fn blocks(n: usize, m: usize) -> Option<RowBlocks> {
        RowBlocks::of(Convolution { rows: 1, n, m, size: n + m - 1, first: 0 })
    }

    #[test]
    fn a_short_row_is_one_block_however_many_weights_there_are() {
        for (n, m) in [(65, 65), (600, 400), (100, 65_437), (8, 131_065), (65, (1 << 24) - 64)] {
            let blocks = blocks(n, m).unwrap();
            assert!(blocks.count == 1 && blocks.len >= n + m - 1, "{blocks:?} for {n} and {m}");
            assert!(blocks.len < 2 * (n + m), "{blocks:?} for {n} and {m}");
        }
    }

    #[test]
    fn blocks_of_a_long_row_overlap_by_one_element_less_than_weights() {
        let expected = RowBlocks { len: 1024, count: 4, hop: 925, pad: 99, skip: 99 };
        assert_eq!(blocks(3000, 100), Some(expected));
        let valid = Convolution { rows: 1, n: 3000, m: 100, size: 2901, first: 99 };
        assert_eq!(RowBlocks::of(valid), Some(RowBlocks { pad: 0, ..expected }));
        assert_eq!(blocks(1 << 25, (1 << 22) + 1), None);
    }
}
