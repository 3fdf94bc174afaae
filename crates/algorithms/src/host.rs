//! Functions of the host that compute what the verbs compute, one element after the other. Tests compare the two.

mod along;
mod grouped;
mod of_segments;
mod places;
mod products;
mod selection;

pub use along::{all_axis, any_axis, argmax_axis, argmin_axis, count_nonzero_axis, mean_axis, reduce};
pub use grouped::{reduce_by_key, reduce_segments, run_lengths, scan_by_key, scan_segments};
pub use of_segments::{
    all_segments, any_segments, argmax_segments, argmin_segments, count_nonzero_segments, mean_segments,
    norm_segments,
};
pub use places::{argmax_axis_with, argmax_with, argmin_axis_with, argmin_with};
pub use products::{dot_axis, dot_segments, norm_axis};
pub use selection::{nonzero, partition, select, unique};
mod bins;
mod order;

pub use bins::{histogram, histogram_fixed, histogram_weighted};
pub use order::{argsort, kth, merge, searchsorted, sort, sort_pairs, sort_segments, top_k};

use crate::distribution::{Distribution, numbers};
use crate::random::Philox;
use crate::rearrange::{Integer, Outside};
use crate::reduce::Nan;
use crate::reducible::{Operation, Reducible};
use crate::scan::Scan;
use crate::strided::{Strides, check_places};
use fencepost_core::Result;

/// Returns the sum. Integers wrap, and the sum of no elements is 0. The order of the additions differs from that of a
/// device, and so does the rounding of floats.
///
/// # Example
/// ```
/// assert_eq!(fencepost::algorithms::host::sum(&[u32::MAX, 3]), 2);
/// ```
pub fn sum<T: Reducible>(x: &[T]) -> T {
    x.iter().fold(T::identity(Operation::Sum), |all, &one| T::combined(Operation::Sum, all, one))
}

/// Returns the product. Integers wrap, and the product of no elements is 1.
///
/// # Example
/// ```
/// assert_eq!(fencepost::algorithms::host::prod(&[2.0_f32, 0.5, 8.0]), 8.0);
/// ```
pub fn prod<T: Reducible>(x: &[T]) -> T {
    x.iter().fold(T::identity(Operation::Product), |all, &one| T::combined(Operation::Product, all, one))
}

/// Returns the smallest element, or `None` of no elements. A NaN is treated as `nan` says, and -0 is smaller than +0.
///
/// # Example
/// ```
/// use fencepost::algorithms::{Nan, host};
/// assert_eq!(host::min(&[2.0_f32, f32::NAN, -1.0], Nan::Ignore), Some(-1.0));
/// assert!(host::min(&[2.0_f32, f32::NAN, -1.0], Nan::Propagate).unwrap().is_nan());
/// ```
pub fn min<T: Reducible>(x: &[T], nan: Nan) -> Option<T> {
    T::extreme(x, Operation::Smallest, nan)
}

/// Returns the largest element, or `None` of no elements. A NaN is treated as `nan` says, and +0 is larger than -0.
///
/// # Example
/// ```
/// use fencepost::algorithms::{Nan, host};
/// assert_eq!(host::max(&[3_i32, -7], Nan::Propagate), Some(3));
/// ```
pub fn max<T: Reducible>(x: &[T], nan: Nan) -> Option<T> {
    T::extreme(x, Operation::Largest, nan)
}

/// Returns each element combined with all elements before it, or after it if the scan is [reversed](Scan::reversed). If a
/// number is a NaN, the smallest and the largest number from there on are NaNs, unless the operation leaves NaNs out.
///
/// # Example
/// ```
/// use fencepost::algorithms::{Operation, Scan, host};
/// assert_eq!(host::scan(&[3_u32, 1, 4], Scan::inclusive(Operation::Sum)), [3, 4, 8]);
/// assert_eq!(host::scan(&[3_u32, 1, 4], Scan::inclusive(Operation::Sum).reversed()), [8, 5, 4]);
/// ```
pub fn scan<T: Reducible>(x: &[T], scan: Scan<T>) -> Vec<T> {
    let mut running = scan.initial();
    let next = |&element: &T| {
        let before = running;
        running = combined(scan.operation, running, element);
        if scan.exclusive { before } else { running }
    };
    if scan.reversed {
        let mut results: Vec<T> = x.iter().rev().map(next).collect();
        results.reverse();
        return results;
    }
    x.iter().map(next).collect()
}

/// Returns two elements combined. A NaN makes a NaN, or is left out, as the operation says.
fn combined<T: Reducible>(operation: Operation, a: T, b: T) -> T {
    let extreme = || T::extreme(&[a, b], operation, operation.nan());
    let extreme = operation.needs_an_element().then(extreme).flatten();
    extreme.unwrap_or_else(|| T::combined(operation, a, b))
}

/// Returns the place of the smallest element, or `None` of no elements. The first of equal elements is the result, and so is
/// the first NaN if there is one. -0 and +0 are equal.
///
/// # Example
/// ```
/// use fencepost::algorithms::host;
/// assert_eq!(host::argmin(&[2.0_f32, -0.0, 0.0]), Some(1));
/// assert_eq!(host::argmin(&[2.0_f32, f32::NAN, -1.0]), Some(1));
/// ```
pub fn argmin<T: Reducible>(x: &[T]) -> Option<usize> {
    place(x, |a, b| a < b)
}

/// Returns the place of the largest element, as [`argmin`] does for the smallest one.
///
/// # Example
/// ```
/// assert_eq!(fencepost::algorithms::host::argmax(&[3_i32, 7, -7, 7]), Some(1));
/// ```
pub fn argmax<T: Reducible>(x: &[T]) -> Option<usize> {
    place(x, |a, b| a > b)
}

/// Returns the first place whose element is a NaN, or else the first one that no other element comes before.
fn place<T: Reducible>(x: &[T], comes_before: impl Fn(T, T) -> bool) -> Option<usize> {
    let is_nan = |x: &T| x.partial_cmp(x).is_none();
    let better = |best: usize, i: usize| if comes_before(x[i], x[best]) { i } else { best };
    x.iter().position(is_nan).or_else(|| (0..x.len()).reduce(better))
}

/// Returns the number of elements that are not zero.
///
/// # Example
/// ```
/// assert_eq!(fencepost::algorithms::host::count_nonzero(&[0.0_f32, -0.0, f32::NAN]), 1);
/// ```
pub fn count_nonzero<T: Reducible>(x: &[T]) -> usize {
    x.iter().filter(|&&x| x != T::identity(Operation::Sum)).count()
}

/// Returns `true` if an element is not zero.
///
/// # Example
/// ```
/// assert!(fencepost::algorithms::host::any(&[0, -3]));
/// ```
pub fn any<T: Reducible>(x: &[T]) -> bool {
    count_nonzero(x) > 0
}

/// Returns `true` if no element is zero.
///
/// # Example
/// ```
/// assert!(!fencepost::algorithms::host::all(&[0, -3]));
/// ```
pub fn all<T: Reducible>(x: &[T]) -> bool {
    count_nonzero(x) == x.len()
}

/// Returns the sum of the products of two lists. Integers wrap. If the lengths differ, the rest of the longer list is left
/// out.
///
/// # Example
/// ```
/// assert_eq!(fencepost::algorithms::host::dot(&[1_u32, 2, 3], &[4, 5, 6]), 32);
/// ```
pub fn dot<T: Reducible>(x: &[T], y: &[T]) -> T {
    let products: Vec<T> = x.iter().zip(y).map(|(&x, &y)| T::combined(Operation::Product, x, y)).collect();
    sum(&products)
}

/// Returns the square root of the sum of the squares.
///
/// # Example
/// ```
/// assert_eq!(fencepost::algorithms::host::norm(&[3.0, -4.0]), 5.0);
/// ```
pub fn norm(x: &[f32]) -> f32 {
    dot(x, x).sqrt()
}

/// Returns the mean, or `None` of no elements.
///
/// # Example
/// ```
/// assert_eq!(fencepost::algorithms::host::mean(&[1.0, 2.0, 6.0]), Some(3.0));
/// ```
pub fn mean(x: &[f32]) -> Option<f32> {
    (!x.is_empty()).then(|| sum(x) / x.len() as f32)
}

/// Returns an element converted as the operator `as` does.
///
/// # Example
/// ```
/// assert_eq!(fencepost::algorithms::host::cast::<f32, i32>(-2.9), -2);
/// ```
pub fn cast<T: Reducible, U: Reducible>(x: T) -> U {
    U::of_types(x.as_types())
}

/// Returns `low` for an element below it, else `high` for an element above it, else the element.
///
/// # Example
/// ```
/// assert_eq!(fencepost::algorithms::host::clamp(300, 0, 255), 255);
/// ```
pub fn clamp<T: Reducible>(x: T, low: T, high: T) -> T {
    if x < low {
        low
    } else if x > high {
        high
    } else {
        x
    }
}

/// Fills a list with the numbers of a random sequence.
///
/// # Errors
/// Returns an error if the distribution has a value out of its range.
///
/// # Example
/// ```
/// use fencepost::algorithms::{Philox, Whole, host};
/// let (mut whole, mut rest) = ([0_i32; 10], [0; 4]);
/// let dice = Whole { low: 1, high: 7 };
/// host::fill_random(&mut whole, Philox::seed(7), dice)?;
/// host::fill_random(&mut rest, Philox::seed(7).position(6), dice)?;
/// assert_eq!(whole[6..], rest);
/// # Ok::<(), fencepost::Error>(())
/// ```
pub fn fill_random<T: Reducible>(
    out: &mut [T],
    generator: Philox,
    distribution: impl Distribution<T>,
) -> Result<()> {
    let numbers = numbers(generator, distribution)?;
    out.iter_mut().zip(numbers).for_each(|(out, number)| *out = number);
    Ok(())
}

/// Returns the elements at a list of places.
///
/// # Example
/// ```
/// use fencepost::algorithms::{Outside, host};
/// assert_eq!(host::gather(&[10, 11, 12], &[2, 0, 9], Outside::Last), [12, 10, 12]);
/// ```
pub fn gather<T: Reducible>(x: &[T], places: &[u32], outside: Outside) -> Vec<T> {
    let last = x.last().filter(|_| outside == Outside::Last);
    places.iter().map(|&place| x.get(place as usize).or(last).copied().unwrap_or_else(T::zeroed)).collect()
}

/// Writes elements to places of a list, and leaves out the places outside of it. Of elements with one place, the last one stays.
///
/// # Example
/// ```
/// let mut out = [0; 3];
/// fencepost::algorithms::host::scatter(&[10, 11, 12], &[2, 0, 9], &mut out);
/// assert_eq!(out, [11, 0, 10]);
/// ```
pub fn scatter<T: Reducible>(x: &[T], places: &[u32], out: &mut [T]) {
    for (&x, &place) in x.iter().zip(places) {
        if let Some(out) = out.get_mut(place as usize) {
            *out = x;
        }
    }
}

/// Adds elements to places of a list, and leaves out the places outside of it. Sums wrap.
///
/// # Example
/// ```
/// let mut out = [10; 3];
/// fencepost::algorithms::host::scatter_add(&[1, 2, 4], &[2, 0, 2], &mut out);
/// assert_eq!(out, [12, 10, 15]);
/// ```
pub fn scatter_add<T: Integer>(x: &[T], places: &[u32], out: &mut [T]) {
    for (&x, &place) in x.iter().zip(places) {
        if let Some(out) = out.get_mut(place as usize) {
            *out = T::combined(Operation::Sum, *out, x);
        }
    }
}

/// Returns the elements of an array in C order, with its axes in another order. Returns `None` if the list has no such
/// shape, or if `axes` does not name each axis once.
///
/// # Example
/// ```
/// use fencepost::algorithms::host;
/// assert_eq!(host::permute(&[1, 2, 3, 4, 5, 6], [2, 3], [1, 0]), Some(vec![1, 4, 2, 5, 3, 6]));
/// ```
pub fn permute<T: Reducible, const D: usize>(x: &[T], shape: [usize; D], axes: [usize; D]) -> Option<Vec<T>> {
    let count = shape.iter().try_fold(1_usize, |all, &n| all.checked_mul(n))?;
    if count != x.len() || !(0..D).all(|axis| axes.contains(&axis)) {
        return None;
    }
    let stride = |axis: usize| shape[axis + 1..].iter().product::<usize>();
    let place = |mut at: usize| {
        let steps = axes.iter().rev().map(|&axis| {
            let index = at % shape[axis];
            at /= shape[axis];
            index * stride(axis)
        });
        steps.sum::<usize>()
    };
    Some((0..count).map(|at| x[place(at)]).collect())
}

/// Returns the numbers from 0 to n - 1 in a random order.
///
/// # Example
/// ```
/// use fencepost::algorithms::{Philox, host};
/// let mut order = host::random_permutation(5, Philox::seed(7));
/// order.sort();
/// assert_eq!(order, [0, 1, 2, 3, 4]);
/// ```
pub fn random_permutation(n: u32, generator: Philox) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n).collect();
    for generator in generator.twice(n as usize) {
        let mut pairs: Vec<(u32, u32)> = generator.words().zip(order).collect();
        pairs.sort_by_key(|&(word, _)| word);
        order = pairs.into_iter().map(|(_, number)| number).collect();
    }
    order
}

/// Copies elements as [`copy_strided`](crate::StridedCopy::copy_strided) does. Returns `None`, and copies nothing, if
/// the verb refuses the places.
///
/// # Example
/// ```
/// use fencepost::algorithms::{Strides, host};
/// let mut out = [0; 4];
/// let (from, to) = (Strides { first: 1, strides: [-1] }, Strides { first: 0, strides: [2] });
/// assert_eq!(host::copy_strided([2], &[7, 8], from, &mut out, to), Some(()));
/// assert_eq!(out, [8, 0, 7, 0]);
/// ```
pub fn copy_strided<T: Reducible, const R: usize>(
    shape: [usize; R],
    x: &[T],
    from: Strides<R>,
    out: &mut [T],
    to: Strides<R>,
) -> Option<()> {
    if shape.contains(&0) {
        return Some(());
    }
    check_places(shape, ("x", x.len(), &from), ("out", out.len(), &to)).ok()?;
    for i in 0..shape.iter().product() {
        let (mut rest, mut source, mut place) = (i, from.first as isize, to.first as isize);
        for axis in (0..R).rev() {
            let index = (rest % shape[axis]) as isize;
            rest /= shape[axis];
            source += index * from.strides[axis];
            place += index * to.strides[axis];
        }
        out[place as usize] = x[source as usize];
    }
    Some(())
}
