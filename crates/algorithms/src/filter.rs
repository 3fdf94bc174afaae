//! Filters of images: convolutions and correlations with a few weights.

use crate::elementwise::flat;
use crate::grid::folded;
use crate::reducible::{Operation, Reducible};
use crate::refusals::check;
use crate::tuning::{WIDE, by_adapter, limit};
use crate::typed_kernel::{compiled, value};
use crate::verb_queue::{VerbQueue, subject};
use fencepost_core::{DeviceArray, Error, ErrorDetail, Grid, IntoArg, NamedArg, Result};

/// Elements beside an image that a filter reads, by the names of `scipy.ndimage`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Boundary<T> {
    /// The elements in reverse order, the last one first: `d c b a | a b c d | d c b a`.
    Reflect,
    /// The elements in reverse order after the last one: `d c b | a b c d | c b a`.
    Mirror,
    /// The last element: `a a a a | a b c d | d d d d`.
    Nearest,
    /// The elements from the opposite side on: `a b c d | a b c d | a b c d`.
    Wrap,
    /// This number: `k k k k | a b c d | k k k k`.
    Constant(T),
    /// None: there are results only where a filter needs no elements beside the image. With n weights along an axis, the
    /// results have n - 1 elements less along it.
    Valid,
}

impl<T> Boundary<T> {
    /// Returns the value of the override `BOUNDARY` in `filter_direct.wgsl`.
    fn number(&self) -> f64 {
        match self {
            Self::Constant(_) => 0.0,
            // Valid results need no element beside an image.
            Self::Nearest | Self::Valid => 1.0,
            Self::Reflect => 2.0,
            Self::Mirror => 3.0,
            Self::Wrap => 4.0,
        }
    }
}

/// Options of the filters of images, such as [`convolve_2d`](crate::Algorithms::convolve_2d).
///
/// By default, the elements beside an image are [reflected](Boundary::Reflect), and the last two axes of an array are the
/// height and the width of its images.
///
/// # Example
/// ```
/// use fencepost::prelude::*;
/// # let (ctx, queue) = fencepost::doctest();
/// // Two rows of three pixels with two colours each.
/// let x = ctx.array(&[1, 10, 2, 20, 3, 30, 4, 40, 5, 50, 6, 60])?.reshape([2, 3, 2])?;
/// let weights = ctx.array(&[1, 0, -1])?.reshape([1, 3])?;
/// let mut out = ctx.zeros([2, 1, 2])?;
/// let filter = Filter::default().boundary(Boundary::Valid).channels_last();
/// queue.correlate_2d(&x, &weights, &mut out, filter)?;
/// assert_eq!(queue.read(&out).wait()?, [-2, -20, -2, -20]);
/// # Ok::<(), fencepost::Error>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Filter<T> {
    /// Elements beside an image.
    pub boundary: Boundary<T>,
    /// `true` if the last axis of an array has the channels of an element, such as its colours, and the two axes before
    /// it are the height and the width. Each channel is filtered alone.
    pub channels_last: bool,
}

impl<T> Default for Filter<T> {
    fn default() -> Self {
        Self { boundary: Boundary::Reflect, channels_last: false }
    }
}

impl<T> Filter<T> {
    /// Sets the elements beside an image.
    #[must_use]
    pub fn boundary(mut self, boundary: Boundary<T>) -> Self {
        self.boundary = boundary;
        self
    }

    /// Takes the last axis of an array as the channels of an element, such as its colours.
    #[must_use]
    pub fn channels_last(mut self) -> Self {
        self.channels_last = true;
        self
    }
}

/// Maximum number of weights of a filter. An invocation loads at most five elements for each.
const MOST_WEIGHTS: usize = 8192;
/// Number of results of an invocation of the direct kernel.
const ROWS: usize = 4;
/// Sizes of workgroup memory, in words, that the kernel in tiles is compiled for.
const ROOMS: [usize; 3] = [1024, 2048, 4096];

/// An axis of images, along which a filter has some weights.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct FilterAxis {
    len: usize,
    taps: usize,
    results: usize,
    /// Number of elements before the image that the first result needs.
    pad: usize,
    /// Distance after which the indices of the elements beside an image repeat.
    period: usize,
}

impl FilterAxis {
    /// Returns an axis with at least one weight, or `None` if there are more weights than valid results allow.
    fn of<T>(len: usize, taps: usize, is_convolution: bool, boundary: &Boundary<T>) -> Option<Self> {
        let (results, pad) = match boundary {
            Boundary::Valid => (len.saturating_add(1).checked_sub(taps)?, 0),
            _ if is_convolution => (len, (taps - 1) / 2),
            _ => (len, taps / 2),
        };
        let period = match boundary {
            Boundary::Reflect => len.saturating_mul(2),
            Boundary::Mirror => len.saturating_mul(2).saturating_sub(2),
            Boundary::Wrap => len,
            _ => 1,
        };
        Some(Self { len, taps, results, pad, period: period.max(1) })
    }

    /// Returns a number that, added to an index beside the image, makes it an index of a later repetition.
    fn lift(&self) -> usize {
        (self.period - self.pad % self.period) % self.period
    }
}

/// A filter of a batch of images: its axes, and what the elements have in common.
#[derive(Clone, Copy, Debug)]
struct Planes<T> {
    images: usize,
    channels: usize,
    y: FilterAxis,
    x: FilterAxis,
    boundary: Boundary<T>,
    /// `true` if the weights are read from the last one on.
    is_reversed: bool,
}

impl<T: Reducible> Planes<T> {
    /// Returns the number of numbers in a line of the results.
    fn line(&self) -> usize {
        self.x.results * self.channels
    }

    /// Returns the number of results.
    fn results(&self) -> usize {
        self.images * self.y.results * self.line()
    }

    /// Returns the same filter along the columns alone, and the one along the rows of its results alone.
    fn passes(&self) -> [Self; 2] {
        let unfiltered =
            |side: FilterAxis, len: usize| FilterAxis { len, taps: 1, results: len, pad: 0, ..side };
        let columns = Self { x: unfiltered(self.x, self.x.len), ..*self };
        let rows = Self { y: unfiltered(self.y, self.y.results), ..*self };
        [columns, rows]
    }

    /// Returns the first weight of a list, and the step to the next one.
    fn order(&self, weights: usize) -> [u32; 2] {
        if self.is_reversed { [weights as u32 - 1, u32::MAX] } else { [0, 1] }
    }

    /// Returns the parameters that the kernels have in common.
    fn parameters(&self) -> Vec<NamedArg<'static>> {
        let Self { channels, y, x, boundary, .. } = self;
        let constant = if let Boundary::Constant(constant) = boundary { *constant } else { zero() };
        let size = |name, n: usize| value(name, n as u32);
        vec![
            size("rows", y.results),
            size("line", self.line()),
            size("height", y.len),
            size("width", x.len),
            size("channels", *channels),
            size("taps_y", y.taps),
            size("taps_x", x.taps),
            size("pad_y", y.pad),
            size("pad_x", x.pad),
            size("lift_y", y.lift()),
            size("lift_x", x.lift()),
            size("period_y", y.period),
            size("period_x", x.period),
            value("constant", constant),
        ]
    }

    /// Enqueues the launch that reads each element around a result.
    #[track_caller]
    fn direct(
        &self,
        queue: &VerbQueue<'_>,
        source: &DeviceArray<T>,
        weights: &DeviceArray<T>,
        out: &DeviceArray<T>,
    ) -> Result<()> {
        let overrides = [WIDE[0], ("BOUNDARY", self.boundary.number())];
        let kernel = compiled::<T>(queue, "filter_direct", &overrides)?;
        let blocks = self.y.results.div_ceil(ROWS);
        let count = self.images * blocks * self.line();
        let [first, step] = self.order(weights.len());
        let mut out = out.clone();
        let mut args: Vec<NamedArg<'_>> = self.parameters();
        args.push(value("count", count as u32));
        args.push(value("blocks", blocks as u32));
        args.push(value("first", first));
        args.push(value("step", step));
        args.push((Some("x".into()), source.into_arg()));
        args.push((Some("weights".into()), weights.into_arg()));
        args.push((Some("out".into()), (&mut out).into_arg()));
        queue.launch_dyn(&kernel, Grid::threads([count]), args)
    }

    /// Enqueues the launch that filters tiles along the columns and then along the rows.
    #[track_caller]
    fn in_tiles(
        &self,
        queue: &VerbQueue<'_>,
        (tile, room): (FilterTile, usize),
        source: &DeviceArray<T>,
        [down, across]: [&DeviceArray<T>; 2],
        out: &DeviceArray<T>,
    ) -> Result<()> {
        let overrides = [
            ("ACROSS", tile.across as f64),
            ("DOWN", tile.down as f64),
            ("TALL", tile.tall as f64),
            ("ROOM", room as f64),
            ("BOUNDARY", self.boundary.number()),
        ];
        let kernel = compiled::<T>(queue, "filter_separable", &overrides)?;
        let tiles = self.line().div_ceil(tile.across);
        let bands = self.y.results.div_ceil(tile.tall);
        let groups = self.images * bands * tiles;
        let [first_y, step] = self.order(down.len());
        let [first_x, _] = self.order(across.len());
        let mut out = out.clone();
        let mut args: Vec<NamedArg<'_>> = self.parameters();
        args.push(value("groups", groups as u32));
        args.push(value("tiles", tiles as u32));
        args.push(value("bands", bands as u32));
        args.push(value("first_y", first_y));
        args.push(value("first_x", first_x));
        args.push(value("step", step));
        args.push((Some("x".into()), source.into_arg()));
        args.push((Some("down".into()), down.into_arg()));
        args.push((Some("across".into()), across.into_arg()));
        args.push((Some("out".into()), (&mut out).into_arg()));
        queue.launch_dyn(&kernel, Grid::groups(folded(groups)), args)
    }
}

/// Sizes of the tiles of results of a workgroup, and of the workgroup.
#[derive(Clone, Copy, Debug)]
struct FilterTile {
    across: usize,
    /// Number of rows of the workgroup.
    down: usize,
    /// Number of rows of the results.
    tall: usize,
}

impl FilterTile {
    /// Returns the tiles of a filter and the words of workgroup memory for them, or `None` if two launches are better, or
    /// the elements of a tile do not fit.
    fn of<T: Reducible>(queue: &VerbQueue<'_>, planes: &Planes<T>) -> Option<(Self, usize)> {
        // On a processor, the barriers of a tile take longer than another launch.
        if by_adapter(queue, true, false) {
            return None;
        }
        let tile = Self { across: limit(32, 4), down: limit(8, 2), tall: limit(16, 4) };
        let wide = tile.across + (planes.x.taps - 1).checked_mul(planes.channels)?;
        let words = wide.checked_mul(2 * tile.tall + planes.y.taps - 1)?;
        let room = ROOMS.into_iter().find(|&room| words <= room)?;
        let context = queue.context();
        let info = context.info();
        let invocations = (tile.across * tile.down) as u32;
        let bytes = 4 * room as u64;
        let fits = info.max_invocations >= invocations && info.max_workgroup_memory >= bytes;
        fits.then_some((tile, room))
    }
}

/// The argument with the weights along an axis.
struct Taps<'a> {
    argument: &'static str,
    label: &'a str,
    shape: &'a [usize],
    axis: usize,
}

impl Taps<'_> {
    fn count(&self) -> usize {
        self.shape[self.axis]
    }

    /// Returns the axis of images with these weights, or an error if the weights do not fit.
    fn side<T: Reducible>(
        &self,
        queue: &VerbQueue<'_>,
        len: usize,
        is_convolution: bool,
        boundary: &Boundary<T>,
    ) -> Result<FilterAxis> {
        if self.count() == 0 {
            return Err(self.refused(queue, 1, "pass at least one weight"));
        }
        FilterAxis::of(len, self.count(), is_convolution, boundary).ok_or_else(|| {
            let remedy = "valid results need at most as many weights as an image has elements along an axis";
            self.refused(queue, len, remedy)
        })
    }

    fn refused(&self, queue: &VerbQueue<'_>, count: usize, remedy: &'static str) -> Error {
        let mut expected = self.shape.to_vec();
        expected[self.axis] = count;
        queue.wrong_shape_of(self.argument, self.label, self.shape.into(), expected, remedy)
    }
}

/// Returns the images of an array with their filter, or an error if an array does not fit.
fn planes<T: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    is_convolution: bool,
    x: &DeviceArray<T, D>,
    [down, across]: &[Taps<'_>; 2],
    out: &DeviceArray<T, D>,
    filter: Filter<T>,
) -> Result<Planes<T>> {
    let of_channels = usize::from(filter.channels_last);
    let Some(images) = D.checked_sub(2 + of_channels) else {
        let array = x.label().into();
        return Err(ErrorDetail::Axis { verb: queue.verb, array, axis: 1 + of_channels, rank: D }.into());
    };
    let mut shape = x.shape();
    let y = down.side(queue, shape[images], is_convolution, &filter.boundary)?;
    let of_x = across.side(queue, shape[images + 1], is_convolution, &filter.boundary)?;
    let channels = if filter.channels_last { shape[D - 1] } else { 1 };
    let count = shape[..images].iter().fold(1_usize, |count, &n| count.saturating_mul(n));
    shape[images] = y.results;
    shape[images + 1] = of_x.results;
    if out.shape() != shape {
        let remedy = "the results have the shape of `x`; valid results have, for n weights along an axis, n - 1 elements less \
                      along it";
        return Err(queue.wrong_shape("out", out, shape, remedy));
    }
    Ok(Planes { images: count, channels, y, x: of_x, boundary: filter.boundary, is_reversed: is_convolution })
}

/// Returns an error if a filter has more weights than an invocation may load.
fn check_count(queue: &VerbQueue<'_>, weights: usize) -> Result<()> {
    if weights <= MOST_WEIGHTS {
        return Ok(());
    }
    let object = format!("{}: the number of weights", subject(queue.verb));
    Err(ErrorDetail::Value { object, found: weights.to_string(), needed: "a number up to 8192" }.into())
}

/// Enqueues the filter of images with weights along both axes.
#[track_caller]
pub(crate) fn filter<T: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    is_convolution: bool,
    x: &DeviceArray<T, D>,
    weights: &DeviceArray<T, 2>,
    out: &DeviceArray<T, D>,
    filter: Filter<T>,
) -> Result<()> {
    let shape = &weights.shape();
    let taps = [0, 1].map(|axis| Taps { argument: "weights", label: weights.label(), shape, axis });
    let planes = planes(queue, is_convolution, x, &taps, out, filter)?;
    check_count(queue, weights.len())?;
    let x = flat(x)?;
    let weights = flat(weights)?;
    let out = flat(out)?;
    if out.is_empty() {
        return check(
            queue,
            &[("x", &x.cast_bits()), ("weights", &weights.cast_bits())],
            &[("out", &out.cast_bits())],
        );
    }
    planes.direct(queue, &x, &weights, &out)
}

/// Enqueues the filter of images with weights along the columns, and then along the rows.
#[track_caller]
pub(crate) fn separable<T: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    is_convolution: bool,
    x: &DeviceArray<T, D>,
    [down, across]: [&DeviceArray<T>; 2],
    out: &DeviceArray<T, D>,
    filter: Filter<T>,
) -> Result<()> {
    let shapes = [down.shape(), across.shape()];
    let taps = [
        Taps { argument: "down", label: down.label(), shape: &shapes[0], axis: 0 },
        Taps { argument: "across", label: across.label(), shape: &shapes[1], axis: 0 },
    ];
    let planes = planes(queue, is_convolution, x, &taps, out, filter)?;
    check_count(queue, down.len())?;
    check_count(queue, across.len())?;
    let x = flat(x)?;
    let down = flat(down)?;
    let across = flat(across)?;
    let out = flat(out)?;
    // All refusals come before the first launch.
    let reads = [("x", &x.cast_bits()), ("down", &down.cast_bits()), ("across", &across.cast_bits())];
    check(queue, &reads, &[("out", &out.cast_bits())])?;
    if out.is_empty() {
        return Ok(());
    }
    if let Some(tile) = FilterTile::of(queue, &planes) {
        return planes.in_tiles(queue, tile, &x, [&down, &across], &out);
    }
    let [columns, rows] = planes.passes();
    let filtered = queue.scratch::<T>(columns.results())?;
    columns.direct(queue, &x, &down, &filtered)?;
    rows.direct(queue, &filtered, &across, &out)
}

fn zero<T: Reducible>() -> T {
    T::identity(Operation::Sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the index in place of one beside an image, as the kernels compute it.
    fn index(side: FilterAxis, boundary: Boundary<u32>, i: usize) -> usize {
        let place = (i + side.lift()) % side.period;
        match boundary {
            Boundary::Reflect => place.min(side.period - 1 - place),
            Boundary::Mirror => place.min(side.period - place),
            Boundary::Wrap => place,
            _ => i.max(side.pad).min(side.len + side.pad - 1) - side.pad,
        }
    }

    /// Returns the elements of a row, with those beside it that a correlation with `taps` weights needs.
    fn around(row: &str, taps: usize, boundary: Boundary<u32>) -> String {
        let row: Vec<char> = row.chars().collect();
        let side = FilterAxis::of(row.len(), taps, false, &boundary).unwrap();
        (0..side.results + taps - 1).map(|i| row[index(side, boundary, i)]).collect()
    }

    #[test]
    fn the_elements_beside_an_image_are_those_of_scipy() {
        for (boundary, expected) in [
            (Boundary::Reflect, "dcbaabcddcba"),
            (Boundary::Mirror, "cdcbabcdcbab"),
            (Boundary::Nearest, "aaaaabcddddd"),
            (Boundary::Wrap, "abcdabcdabcd"),
        ] {
            assert_eq!(around("abcd", 9, boundary), expected, "{boundary:?}");
        }
        assert_eq!(around("abcd", 3, Boundary::Valid), "abcd");
        // A filter may be wider than the image several times.
        assert_eq!(around("ab", 13, Boundary::Reflect), "baabbaabbaabba");
        assert_eq!(around("ab", 13, Boundary::Mirror), "ababababababab");
        for boundary in [Boundary::Reflect, Boundary::Mirror, Boundary::Nearest, Boundary::Wrap] {
            assert_eq!(around("a", 4, boundary), "aaaa", "{boundary:?}");
        }
    }

    #[test]
    fn the_middle_of_an_even_number_of_weights_is_that_of_scipy() {
        let pad = |taps, is_convolution| {
            FilterAxis::of(9, taps, is_convolution, &Boundary::<f32>::Reflect).map(|side| side.pad)
        };
        assert_eq!([1, 2, 3, 4].map(|taps| pad(taps, false)), [Some(0), Some(1), Some(1), Some(2)]);
        assert_eq!([1, 2, 3, 4].map(|taps| pad(taps, true)), [Some(0), Some(0), Some(1), Some(1)]);
    }

    #[test]
    fn valid_results_need_an_element_for_each_weight() {
        let results =
            |len, taps| FilterAxis::of(len, taps, true, &Boundary::<f32>::Valid).map(|side| side.results);
        assert_eq!([results(5, 1), results(5, 5), results(5, 6)], [Some(5), Some(1), Some(0)]);
        assert_eq!([results(5, 7), results(0, 1), results(0, 2)], [None, Some(0), None]);
    }

    #[test]
    fn no_loop_exceeds_the_iterations_of_a_device() {
        const MOST: usize = 65_535;
        for taps_x in (0..=13).map(|power| 1_usize << power) {
            let taps_y = MOST_WEIGHTS / taps_x;
            // The outer iterations count too.
            assert!(taps_x * (taps_y + ROWS) < MOST, "{taps_y} x {taps_x}");
        }
    }
}
