//! Medians and other quantiles, and deviations from medians.

use crate::axis::View;
use crate::elementwise::{bits, flat};
use crate::passes::{no_element, one_count};
use crate::reducible::Reducible;
use crate::refusals::{Named, check};
use crate::selection::{Division, QuantilePlace, Ranking, Selection};
use crate::typed_kernel::type_number;
use crate::verb_queue::{VerbQueue, subject};
use fencepost_core::{Candidates, DeviceArray, ErrorDetail, Over, Parts, Result, Scalar};
use fencepost_kernels::PART_COUNT;

/// Definition of a [`quantile`](crate::Algorithms::quantile), with the names of `numpy.quantile`.
///
/// The place of a quantile among n sorted elements, counted from 0, is a number such as q (n - 1). It is rounded to a
/// multiple of 2^-32, and to an element or the middle between two if it is within floor(n / 2^21) multiples of that,
/// because the float next to a number such as 0.7 moves it so far. A place before the first or after the last element
/// counts as this element. For a place between two elements, a method takes one of them or interpolates. The numbers are
/// those of Hyndman and Fan.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum QuantileMethod {
    /// Interpolation at q (n - 1): number 7.
    #[default]
    Linear,
    /// The element at or before q (n - 1).
    Lower,
    /// The element at or after q (n - 1).
    Higher,
    /// The element nearest to q (n - 1); in the middle of two, the one with an even place.
    Nearest,
    /// The middle of the two elements around q (n - 1).
    Midpoint,
    /// The element at or after q n - 1: number 1.
    InvertedCdf,
    /// The element after q n - 1; if there is an element at q n - 1, the middle of both: number 2.
    AveragedInvertedCdf,
    /// The element nearest to q n - 1; in the middle of two, the one with an odd place: number 3.
    ClosestObservation,
    /// Interpolation at q n - 1: number 4.
    InterpolatedInvertedCdf,
    /// Interpolation at q n - 1/2: number 5.
    Hazen,
    /// Interpolation at q (n + 1) - 1: number 6.
    Weibull,
    /// Interpolation at q (n + 1/3) - 2/3: number 8.
    MedianUnbiased,
    /// Interpolation at q (n + 1/4) - 5/8: number 9.
    NormalUnbiased,
}

impl QuantileMethod {
    /// Returns the place of a quantile, which is from 0 to 1.
    fn place(self, q: f64) -> QuantilePlace {
        let (offset, rounding) = match self {
            Self::Linear => (q, 0),
            Self::Lower => (q, 1),
            Self::Higher => (q, 2),
            Self::Nearest => (q, 3),
            Self::Midpoint => (q, 4),
            Self::InvertedCdf => (1.0, 2),
            Self::AveragedInvertedCdf => (1.0, 5),
            Self::ClosestObservation => (1.5, 6),
            Self::InterpolatedInvertedCdf => (1.0, 0),
            Self::Hazen => (0.5, 0),
            Self::Weibull => (1.0 - q, 0),
            Self::MedianUnbiased => (2.0 / 3.0 - q / 3.0, 0),
            Self::NormalUnbiased => (0.625 - q / 4.0, 0),
        };
        QuantilePlace { factor: fixed_point(q), offset: fixed_point(offset), rounding }
    }
}

/// The quantiles of a [`quantile`](crate::Algorithms::quantile): one number from 0 to 1, or a list of them, and a
/// method.
///
/// An argument `impl Into<Quantiles>` can be `0.25` for one quantile, or `&[0.25, 0.75]` for several; both are linear.
///
/// # Example
/// ```
/// use fencepost::prelude::*;
/// # let (ctx, queue) = fencepost::doctest();
/// let x = ctx.array(&[1.0_f32, 2.0, 4.0, 8.0])?;
/// let (mut one, mut ends) = (ctx.zeros([1])?, ctx.zeros([2])?);
/// queue.quantile(&x, Quantiles::at(0.5).method(QuantileMethod::Lower), &mut one)?;
/// queue.quantile(&x, &[0.0, 1.0], &mut ends)?;
/// assert_eq!(queue.read(&one).wait()?, [2.0]);
/// assert_eq!(queue.read(&ends).wait()?, [1.0, 8.0]);
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Quantiles<'a> {
    list: QuantileList<'a>,
    method: QuantileMethod,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum QuantileList<'a> {
    One(f64),
    Several(&'a [f64]),
}

impl<'a> Quantiles<'a> {
    /// Returns one quantile: 0 is the smallest element, 0.5 the median and 1 the largest element.
    pub const fn at(q: f64) -> Self {
        Self { list: QuantileList::One(q), method: QuantileMethod::Linear }
    }

    /// Returns several quantiles. The results have one more axis, the first one, with an index for each quantile.
    pub const fn several(list: &'a [f64]) -> Self {
        Self { list: QuantileList::Several(list), method: QuantileMethod::Linear }
    }

    /// Sets the method.
    pub const fn method(self, method: QuantileMethod) -> Self {
        Self { method, ..self }
    }

    /// Returns the length of the list, or `None` for one quantile.
    fn listed(self) -> Option<usize> {
        match self.list {
            QuantileList::One(_) => None,
            QuantileList::Several(list) => Some(list.len()),
        }
    }

    /// Returns the places of the quantiles, or an error if one is not a number from 0 to 1.
    fn places(self, verb: &str) -> Result<Vec<QuantilePlace>> {
        let list: &[f64] = match &self.list {
            QuantileList::One(q) => std::slice::from_ref(q),
            QuantileList::Several(list) => list,
        };
        let place = |&q: &f64| -> Result<QuantilePlace> {
            if !(0.0..=1.0).contains(&q) {
                let object = format!("{}: a quantile", subject(verb));
                let found = format!("{q:?}");
                return Err(ErrorDetail::Value { object, found, needed: "a number from 0 to 1" }.into());
            }
            Ok(self.method.place(q))
        };
        list.iter().map(place).collect()
    }
}

impl From<f64> for Quantiles<'_> {
    fn from(q: f64) -> Self {
        Self::at(q)
    }
}

impl<'a> From<&'a [f64]> for Quantiles<'a> {
    fn from(list: &'a [f64]) -> Self {
        Self::several(list)
    }
}

impl<'a, const N: usize> From<&'a [f64; N]> for Quantiles<'a> {
    fn from(list: &'a [f64; N]) -> Self {
        Self::several(list)
    }
}

/// Returns a number from 0 to 2 as words with the weights 2^-64, 2^-32 and 1.
fn fixed_point(number: f64) -> [u32; 3] {
    let fraction = (number.fract() * 2_f64.powi(64)) as u64;
    [fraction as u32, (fraction >> 32) as u32, number as u32]
}

/// Remedy for the median of no elements.
const NO_MEDIAN: &str = "pass at least one element, because an empty array has no median and no quantile";

/// Enqueues the quantiles of each part.
#[track_caller]
pub(crate) fn quantile<T: Reducible, const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    x: Candidates<'_, T, D>,
    quantiles: Quantiles<'_>,
    out: &DeviceArray<T, E>,
) -> Result<()> {
    let places = quantiles.places(queue.verb)?;
    let Some(mut of) = Parted::new(queue, x, quantiles.listed(), out)? else { return Ok(()) };
    let mut selection = Selection::new(queue, &of.division, of.ranking)?;
    let results = of.division.results();
    of.division.enter(queue)?;
    for (at, place) in places.into_iter().enumerate() {
        selection.enqueue(queue, &of.division, None, place, at * results, &mut of.out)?;
    }
    Ok(())
}

/// Enqueues the median of the deviations from the median of each part.
#[track_caller]
pub(crate) fn mad<const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    x: Candidates<'_, f32, D>,
    out: &DeviceArray<f32, E>,
) -> Result<()> {
    let Some(mut of) = Parted::new(queue, x, None, out)? else { return Ok(()) };
    let mut medians = Selection::new(queue, &of.division, of.ranking)?;
    let mut deviations = Selection::new(queue, &of.division, Ranking { deviations: true, ..of.ranking })?;
    let mut centers = queue.scratch(of.division.results())?;
    let middle = QuantileMethod::Linear.place(0.5);
    of.division.enter(queue)?;
    medians.enqueue(queue, &of.division, None, middle, 0, &mut centers)?;
    deviations.enqueue(queue, &of.division, Some(&centers), middle, 0, &mut of.out)
}

/// Medians of `f32` as a step of another verb, prepared before the first command of that verb. NaNs are left out, and the
/// median of no numbers is a NaN.
pub(crate) struct Medians {
    division: Division,
    selection: Selection,
}

impl Medians {
    /// Compiles the kernels and takes the scratch memory.
    #[track_caller]
    pub(crate) fn new(queue: &VerbQueue<'_>, division: Division) -> Result<Self> {
        let none = f32::NAN.to_bits();
        let ranking = Ranking { type_number: type_number::<f32>(), skips_nan: true, deviations: false, none };
        Ok(Self { selection: Selection::new(queue, &division, ranking)?, division })
    }

    /// Enqueues the median of each part of the division, as bits.
    #[track_caller]
    pub(crate) fn enqueue(&mut self, queue: &VerbQueue<'_>, out: &mut DeviceArray<u32>) -> Result<()> {
        self.division.enter(queue)?;
        let middle = QuantileMethod::Linear.place(0.5);
        self.selection.enqueue(queue, &self.division, None, middle, 0, out)
    }
}

/// Checked elements and results of a verb.
struct Parted {
    division: Division,
    ranking: Ranking,
    out: DeviceArray<u32>,
}

impl Parted {
    /// Checks the arguments. There are as many results of each part as are listed, or one. Returns `None` if nothing is
    /// left to compute.
    #[track_caller]
    fn new<T: Reducible, const D: usize, const E: usize>(
        queue: &VerbQueue<'_>,
        x: Candidates<'_, T, D>,
        listed: Option<usize>,
        out: &DeviceArray<T, E>,
    ) -> Result<Option<Self>> {
        let over = x.over();
        let array = over.array();
        check_results(queue, over, listed, out)?;
        let given = match over.parts() {
            Parts::Segments(offsets) => Some(("offsets", flat(offsets)?)),
            Parts::First(count) => Some((PART_COUNT, one_count(queue, count)?)),
            _ => None,
        };
        let elements = bits(array)?;
        let mut out = bits(out)?;
        let reads = [("x", &elements)].into_iter().chain(given.iter().map(|(name, array)| (*name, array)));
        check(queue, &reads.collect::<Vec<Named<'_>>>(), &[("out", &out)])?;
        let is_float = T::DTYPE.scalar() == Some(Scalar::F32);
        let none = if is_float { f32::NAN.to_bits() } else { 0 };
        if out.is_empty() {
            return Ok(None);
        }
        if elements.is_empty() {
            if given.is_none() {
                no_element(queue, array, NO_MEDIAN)?;
            }
            queue.fill(&mut out, none)?;
            return Ok(None);
        }
        let division = match (over.parts(), given) {
            (Parts::Axis(axis), _) => Division::along(queue, &elements, View::along(queue, array, axis)?)?,
            (Parts::Segments(_), Some((_, offsets))) => Division::of_segments(&elements, &offsets),
            (Parts::First(_), Some((_, count))) => Division::of_first(queue, &elements, &count)?,
            _ => Division::along(queue, &elements, View { outer: 1, n: array.len(), inner: 1 })?,
        };
        let skips_nan = is_float && x.skips_nan();
        let ranking = Ranking { type_number: type_number::<T>(), skips_nan, deviations: false, none };
        Ok(Some(Self { division, ranking, out }))
    }
}

/// Returns an error if `out` does not have the shape of the results: one for each part, and with a list, one for each
/// quantile of it and each part.
fn check_results<T: Reducible, const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    x: Over<'_, T, D>,
    listed: Option<usize>,
    out: &DeviceArray<T, E>,
) -> Result<()> {
    if let Parts::Axis(axis) = x.parts() {
        View::along(queue, x.array(), axis)?;
        let mut shape = x.array().shape().to_vec();
        shape[axis] = 1;
        if let Some(count) = listed {
            shape.insert(0, count);
        }
        if out.shape()[..] == shape[..] {
            return Ok(());
        }
        let remedy = "the result has one element along the axis, and the shape of `x` else; with a list of quantiles, \
                      their number comes before";
        return Err(queue.wrong_shape("out", out, shape, remedy));
    }
    let parts = match x.parts() {
        Parts::Segments(offsets) => offsets.len().saturating_sub(1),
        _ => 1,
    };
    let results = parts.saturating_mul(listed.unwrap_or(1));
    if out.len() == results {
        return Ok(());
    }
    let remedy = "there is one result for each part, and with a list of quantiles, one for each of them and each part; \
                  a segment lies between two offsets";
    Err(queue.wrong_shape("out", out, [results], remedy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_point_number_has_the_bits_of_the_float() {
        assert_eq!(fixed_point(0.0), [0, 0, 0]);
        assert_eq!(fixed_point(1.5), [0, 1 << 31, 1]);
        assert_eq!(fixed_point(0.75 + 2_f64.powi(-50)), [1 << 14, 3 << 30, 0]);
    }

    #[test]
    fn a_number_outside_of_0_to_1_is_no_quantile() {
        for q in [-0.1, 1.5, f64::NAN, f64::INFINITY] {
            assert!(Quantiles::at(q).places("quantile").is_err(), "{q}");
        }
        assert_eq!(Quantiles::several(&[0.0, 1.0]).places("quantile").unwrap().len(), 2);
    }
}
