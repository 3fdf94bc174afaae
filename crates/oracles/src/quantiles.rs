//! Medians and other quantiles on the host.

use super::along::along;
use super::elementwise::cast;
use super::grouped::segments;
use crate::Nan;
use fencepost_algorithms::for_oracles::order_key;
use fencepost_algorithms::{Operation, QuantileMethod, Reducible};
use fencepost_core::Scalar;

/// Number of units of one. A place is rounded to a unit.
const UNITS: i128 = 1 << 32;
/// Number of elements for which a quantile that is rounded to a float may move a place by one unit.
const FOR_A_UNIT: usize = 1 << 21;

/// Returns the median, or `None` if there are no elements.
///
/// # Example
/// ```
/// use fencepost_oracles::{self as host, Nan};
/// assert_eq!(host::median(&[3.0_f32, 1.0, 2.5, 2.0], Nan::Propagate), Some(2.25));
/// assert_eq!(host::median(&[3, 2], Nan::Propagate), Some(2));
/// ```
pub fn median<T: Reducible>(x: &[T], nan: Nan) -> Option<T> {
    quantile(x, 0.5, QuantileMethod::Linear, nan)
}

/// Returns a quantile, or `None` if there are no elements, or if `q` is not a number from 0 to 1. A number between two
/// integers is rounded down.
///
/// # Example
/// ```
/// use fencepost_algorithms::QuantileMethod;
/// use fencepost_oracles::{self as host, Nan};
/// let x = [1.0_f32, 2.0, 4.0, 8.0];
/// assert_eq!(host::quantile(&x, 0.25, QuantileMethod::Linear, Nan::Propagate), Some(1.75));
/// assert_eq!(host::quantile(&x, 0.25, QuantileMethod::Higher, Nan::Propagate), Some(2.0));
/// assert_eq!(host::quantile(&x, 1.25, QuantileMethod::Higher, Nan::Propagate), None);
/// ```
pub fn quantile<T: Reducible>(x: &[T], q: f64, method: QuantileMethod, nan: Nan) -> Option<T> {
    if x.is_empty() || !(0.0..=1.0).contains(&q) {
        return None;
    }
    let mut numbers: Vec<T> = x.iter().copied().filter(|x| x.partial_cmp(x).is_some()).collect();
    if numbers.is_empty() || (nan == Nan::Propagate && numbers.len() < x.len()) {
        return Some(T::neutral(Operation::SmallestNumber));
    }
    numbers.sort_by_key(|&x| order_key(x));
    let (rank, fraction) = place(numbers.len(), q, method);
    let low = numbers[rank];
    Some(if fraction == 0 { low } else { between(low, numbers[rank + 1], fraction) })
}

/// Returns the rank of a quantile, and the units from there to the place of the quantile.
fn place(count: usize, q: f64, method: QuantileMethod) -> (usize, i128) {
    let offset = match method {
        QuantileMethod::InvertedCdf
        | QuantileMethod::AveragedInvertedCdf
        | QuantileMethod::InterpolatedInvertedCdf => 1.0,
        QuantileMethod::ClosestObservation => 1.5,
        QuantileMethod::Hazen => 0.5,
        QuantileMethod::Weibull => 1.0 - q,
        QuantileMethod::MedianUnbiased => 2.0 / 3.0 - q / 3.0,
        QuantileMethod::NormalUnbiased => 0.625 - q / 4.0,
        _ => q,
    };
    // Units of 2^-64 are exact.
    let fine = |number: f64| (number * 2_f64.powi(64)) as i128;
    let exact = count as i128 * fine(q) - fine(offset);
    let rounded = (exact + UNITS / 2).div_euclid(UNITS);
    let half = UNITS / 2;
    let of_halves = (rounded + half / 2).div_euclid(half) * half;
    let is_near = (rounded - of_halves).abs() <= (count / FOR_A_UNIT) as i128;
    let units = if is_near { of_halves } else { rounded };
    if units < 0 {
        return (0, 0);
    }
    let rank = units / UNITS;
    let fraction = units % UNITS;
    if rank >= count as i128 - 1 {
        return (count - 1, 0);
    }
    let before = (rank as usize, 0);
    let after = (rank as usize + 1, 0);
    let middle = (rank as usize, UNITS / 2);
    let is_even = rank % 2 == 0;
    match method {
        QuantileMethod::Lower => before,
        QuantileMethod::Higher | QuantileMethod::InvertedCdf if fraction == 0 => before,
        QuantileMethod::Higher | QuantileMethod::InvertedCdf => after,
        QuantileMethod::Nearest if fraction > UNITS / 2 || (fraction == UNITS / 2 && !is_even) => after,
        QuantileMethod::Nearest => before,
        QuantileMethod::Midpoint if fraction == 0 => before,
        QuantileMethod::Midpoint => middle,
        QuantileMethod::AveragedInvertedCdf if fraction == 0 => middle,
        QuantileMethod::AveragedInvertedCdf => after,
        QuantileMethod::ClosestObservation if fraction == 0 && !is_even => before,
        QuantileMethod::ClosestObservation => after,
        _ => (rank as usize, fraction),
    }
}

/// Returns the element that is some units of the way from an element to a larger one.
fn between<T: Reducible>(low: T, high: T, units: i128) -> T {
    if low.to_word() == high.to_word() {
        return low;
    }
    if T::DTYPE.scalar() != Some(Scalar::F32) {
        let [a, b] = [low, high].map(whole);
        let number = a + ((b - a) * units).div_euclid(UNITS);
        return if a < 0 || b < 0 { cast(number as i32) } else { cast(number as u32) };
    }
    let [a, b] = [low, high].map(|x| f64::from(cast::<T, f32>(x)));
    let part = units as f64 / UNITS as f64;
    cast((a * (1.0 - part) + b * part) as f32)
}

/// Returns an integer.
fn whole<T: Reducible>(x: T) -> i128 {
    if T::DTYPE.scalar() == Some(Scalar::I32) {
        i128::from(cast::<T, i32>(x))
    } else {
        i128::from(cast::<T, u32>(x))
    }
}

/// Returns the median of the magnitudes of the differences from the median, or `None` if there are no elements. Equal
/// elements differ by 0, even infinite ones.
///
/// # Example
/// ```
/// use fencepost_oracles::{self as host, Nan};
/// assert_eq!(host::mad(&[1.0, 2.0, 4.0, 7.0, 1000.0], Nan::Propagate), Some(3.0));
/// ```
pub fn mad(x: &[f32], nan: Nan) -> Option<f32> {
    let center = median(x, nan)?;
    let difference = |&x: &f32| if x == center { 0.0 } else { (x - center).abs() };
    let differences: Vec<f32> = x.iter().map(difference).collect();
    median(&differences, nan)
}

/// Returns the quantiles along an axis. Returns `None` if the list does not have this shape or axis, or if a quantile is
/// `None` as [`quantile`] says.
///
/// # Example
/// ```
/// use fencepost_algorithms::QuantileMethod;
/// use fencepost_oracles::{self as host, Nan};
/// let of_rows = host::quantile_axis(&[1, 2, 9, 5, 4, 3], [2, 3], 1, 0.5, QuantileMethod::Linear, Nan::Propagate);
/// assert_eq!(of_rows, Some(vec![2, 4]));
/// ```
pub fn quantile_axis<T: Reducible, const D: usize>(
    x: &[T],
    shape: [usize; D],
    axis: usize,
    q: f64,
    method: QuantileMethod,
    nan: Nan,
) -> Option<Vec<T>> {
    along(x, shape, axis, |list| quantile(list, q, method, nan))
}

/// Returns the quantile of each segment: for an empty one a NaN, or 0 for integers.
///
/// # Example
/// ```
/// use fencepost_algorithms::QuantileMethod;
/// use fencepost_oracles::{self as host, Nan};
/// let x = [3_u32, 1, 4, 1, 5];
/// let medians = host::quantile_segments(&x, &[0, 3, 3, 5], 0.5, QuantileMethod::Linear, Nan::Propagate);
/// assert_eq!(medians, [3, 0, 3]);
/// ```
pub fn quantile_segments<T: Reducible>(
    x: &[T],
    offsets: &[u32],
    q: f64,
    method: QuantileMethod,
    nan: Nan,
) -> Vec<T> {
    let is_float = T::DTYPE.scalar() == Some(Scalar::F32);
    let none = if is_float { T::neutral(Operation::SmallestNumber) } else { T::identity(Operation::Sum) };
    segments(x, offsets).map(|segment| quantile(segment, q, method, nan).unwrap_or(none)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use QuantileMethod::*;

    /// The numbers of an example in R's documentation of `quantile`, as `numpy.quantile` computes them.
    #[test]
    fn each_method_is_that_of_numpy() {
        let x = [15.0_f32, 20.0, 35.0, 40.0, 50.0];
        let of = |q: f64, method| quantile(&x, q, method, Nan::Propagate).unwrap();
        let at_40 = [
            (Linear, 29.0),
            (Lower, 20.0),
            (Higher, 35.0),
            (Nearest, 35.0),
            (Midpoint, 27.5),
            (InvertedCdf, 20.0),
            (AveragedInvertedCdf, 27.5),
            (ClosestObservation, 20.0),
            (InterpolatedInvertedCdf, 20.0),
            (Hazen, 27.5),
            (Weibull, 26.0),
        ];
        for (method, expected) in at_40 {
            assert_eq!(of(0.4, method), expected, "{method:?}");
        }
        assert!((of(0.4, MedianUnbiased) - 27.0).abs() < 1e-5);
        assert!((of(0.4, NormalUnbiased) - 27.125).abs() < 1e-5);
        for method in [Linear, Lower, Higher, Weibull, ClosestObservation, InvertedCdf] {
            assert_eq!((of(0.0, method), of(1.0, method)), (15.0, 50.0), "{method:?}");
        }
    }

    /// Number of parts of one in which each quantile and each offset of the test is a whole number.
    const PARTS: i128 = 24_000;

    /// Returns the rank of the quantile `thousandths` / 1000, and the parts from there to its place.
    fn exact_place(count: i128, thousandths: i128, method: QuantileMethod) -> (i128, i128) {
        let q = PARTS / 1000 * thousandths;
        let offset = match method {
            InvertedCdf | AveragedInvertedCdf | InterpolatedInvertedCdf => PARTS,
            ClosestObservation => PARTS * 3 / 2,
            Hazen => PARTS / 2,
            Weibull => PARTS - q,
            MedianUnbiased => (2 * PARTS - q) / 3,
            NormalUnbiased => (5 * PARTS - 2 * q) / 8,
            _ => q,
        };
        let place = count * q - offset;
        let last = PARTS * (count - 1);
        if place < 0 || place >= last {
            return (if place < 0 { 0 } else { count - 1 }, 0);
        }
        let floor = place / PARTS;
        let ceiling = (place + PARTS - 1) / PARTS;
        let parts = place % PARTS;
        match method {
            Lower => (floor, 0),
            Higher | InvertedCdf => (ceiling, 0),
            Nearest if 2 * parts == PARTS => (floor + floor % 2, 0),
            Nearest => (if 2 * parts > PARTS { ceiling } else { floor }, 0),
            Midpoint => (floor, if parts == 0 { 0 } else { PARTS / 2 }),
            AveragedInvertedCdf if parts == 0 => (floor, PARTS / 2),
            AveragedInvertedCdf => (ceiling, 0),
            // The place is whole in the middle of two elements, of which the one with an odd rank is nearest.
            ClosestObservation if parts == 0 => (floor + (floor + 1) % 2, 0),
            ClosestObservation => (ceiling, 0),
            _ => (floor, parts),
        }
    }

    #[test]
    fn a_place_is_that_of_the_decimal_number() {
        let methods = [
            Linear,
            Lower,
            Higher,
            Nearest,
            Midpoint,
            InvertedCdf,
            AveragedInvertedCdf,
            ClosestObservation,
            InterpolatedInvertedCdf,
            Hazen,
            Weibull,
            MedianUnbiased,
            NormalUnbiased,
        ];
        let large =
            [100, 101, 999, 1000, 1001, 1 << 20, (1 << 21) - 1, 1 << 21, 2_500_000, 3_000_000, 3_000_001];
        let largest = [3_000_005, 4_200_000, 30_000_000, 30_000_001, 500_000_000, 999_999_999, (1 << 30) - 1];
        for count in (1..12).chain(large).chain(largest) {
            for thousandths in (0..1001).filter(|i| i % 10 == 0 || i % 7 == 0) {
                for method in methods {
                    let (rank, parts) = exact_place(count, thousandths, method);
                    let (found, fraction) = place(count as usize, thousandths as f64 / 1000.0, method);
                    let message =
                        format!("{thousandths}/1000 of {count} by {method:?}: {found} and {fraction} units");
                    assert_eq!(found as i128, rank, "{message}");
                    let is_exact = 2 * parts % PARTS == 0;
                    let difference = (fraction * PARTS - parts * UNITS).abs();
                    let bound = if is_exact { 0 } else { PARTS * (1 + count / FOR_A_UNIT as i128) };
                    assert!(difference <= bound, "{message}, and {parts} parts of {PARTS}");
                }
            }
        }
        // A third is below its float's place, too.
        assert_eq!(place(3, 1.0 / 3.0, AveragedInvertedCdf), (0, UNITS / 2));
    }
}
