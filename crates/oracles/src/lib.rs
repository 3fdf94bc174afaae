//! Functions that compute what the verbs of `fencepost-algorithms` compute, one element after the other. Tests and
//! benches compare the two.
//!
//! Each verb with a result has a function with its name, without `_in_place`. Functions for parts of an array end in
//! `_axis` or `_segments`; for first elements, pass `&x[..count]`. `min`, `max`, and the searches that end in `_with`
//! take the treatment of NaNs as an argument. `scan_with_total` corresponds to `scan_and_total`, and `fold` to `reduce`
//! of a whole array. `map`, `zip` and `fold` take a closure instead of a text, and `repeated` returns an input of a map
//! with the shape of the results. `rolling` takes closures instead of options, and `sum_threshold` a single row. Fourier
//! transforms and the verbs made of them compute with `f64`. Functions that begin with `exact_` compute what a verb does
//! with `Determinism::Everywhere`. `flag_interference` also returns how close a number is to a threshold. `warm_up` and
//! `value_of` have no function.

mod along;
mod bins;
mod channels;
mod elementwise;
mod equations;
mod exact;
mod filters;
mod fourier;
mod grouped;
mod interference;
mod matrices;
mod moves;
mod of_segments;
mod order;
mod places;
mod products;
mod quantiles;
mod random;
mod selection;
mod sparse;
mod windows;

pub use along::{all_axis, any_axis, argmax_axis, argmin_axis, count_nonzero_axis, mean_axis, reduce};
pub use bins::{histogram, histogram_fixed, histogram_weighted};
pub use channels::{channel_products, channel_results, convolve_channels};
pub use elementwise::{axpy, cast, clamp, iota, map, repeated, where_, zip};
pub use equations::{
    cholesky, determinant, eigh, eigvalsh, inverse, log_determinant, lu, qr, solve, solve_triangular,
};
pub use exact::{exact_dot, exact_mean, exact_norm, exact_sum};
pub use filters::{beside, convolve_2d, convolve_separable, correlate_2d, correlate_separable};
pub use fourier::{
    Complex, FramesOf, convolve, correlate, fft, fftshift, ifft, ifftshift, irfft, istft, rfft, stft, welch,
};
pub use grouped::{reduce_by_key, reduce_segments, run_lengths, scan_by_key, scan_segments};
pub use interference::flag_interference;
pub use matrices::matmul;
pub use moves::{copy_strided, gather, permute, scatter, scatter_add, transpose};
pub use of_segments::{
    all_segments, any_segments, argmax_segments, argmax_segments_with, argmin_segments, argmin_segments_with,
    count_nonzero_segments, mean_segments, norm_segments,
};
pub use order::{argsort, kth, merge, searchsorted, sort, sort_pairs, sort_segments, top_k};
pub use places::{argmax_axis_with, argmax_with, argmin_axis_with, argmin_with};
pub use products::{dot_axis, dot_segments, norm_axis};
pub use quantiles::{mad, median, quantile, quantile_axis, quantile_segments};
pub use random::{fill_random, random_permutation};
pub use selection::{nonzero, partition, select, unique};
pub use sparse::{Sparse, matmul_sparse};
pub use windows::{rolling, sum_threshold};

pub use fencepost_algorithms::for_oracles::Nan;
use fencepost_algorithms::for_oracles::{ScanParts, scan_parts};
use fencepost_algorithms::{Operation, Reducible, Scan};

/// Returns the sum. Integers wrap, and the sum of no elements is 0. Floats are added in another order than on a device,
/// and so may be rounded differently.
///
/// # Example
/// ```
/// assert_eq!(fencepost_oracles::sum(&[u32::MAX, 3]), 2);
/// ```
pub fn sum<T: Reducible>(x: &[T]) -> T {
    x.iter().fold(T::identity(Operation::Sum), |all, &one| T::combined(Operation::Sum, all, one))
}

/// Returns the product. Integers wrap, and the product of no elements is 1.
///
/// # Example
/// ```
/// assert_eq!(fencepost_oracles::prod(&[2.0_f32, 0.5, 8.0]), 8.0);
/// ```
pub fn prod<T: Reducible>(x: &[T]) -> T {
    x.iter().fold(T::identity(Operation::Product), |all, &one| T::combined(Operation::Product, all, one))
}

/// Returns the smallest element, or `None` if there are no elements. NaNs are treated as `nan` says, and -0 is smaller
/// than +0.
///
/// # Example
/// ```
/// use fencepost_oracles::{self as host, Nan};
/// assert_eq!(host::min(&[2.0_f32, f32::NAN, -1.0], Nan::Ignore), Some(-1.0));
/// assert!(host::min(&[2.0_f32, f32::NAN, -1.0], Nan::Propagate).unwrap().is_nan());
/// ```
pub fn min<T: Reducible>(x: &[T], nan: Nan) -> Option<T> {
    extreme(x, Operation::Smallest, nan)
}

/// Returns the largest element, or `None` if there are no elements. NaNs are treated as `nan` says, and +0 is larger
/// than -0.
///
/// # Example
/// ```
/// use fencepost_oracles::{self as host, Nan};
/// assert_eq!(host::max(&[3_i32, -7], Nan::Propagate), Some(3));
/// ```
pub fn max<T: Reducible>(x: &[T], nan: Nan) -> Option<T> {
    extreme(x, Operation::Largest, nan)
}

/// Returns each element combined with all elements before it, or after it if the scan is [reversed](Scan::reversed). In
/// a search for the smallest or the largest number, all results from a NaN on are NaNs, unless the operation ignores
/// NaNs.
///
/// # Example
/// ```
/// use fencepost_algorithms::{Operation, Scan};
/// use fencepost_oracles as host;
/// assert_eq!(host::scan(&[3_u32, 1, 4], Scan::inclusive(Operation::Sum)), [3, 4, 8]);
/// assert_eq!(host::scan(&[3_u32, 1, 4], Scan::inclusive(Operation::Sum).reversed()), [8, 5, 4]);
/// ```
pub fn scan<T: Reducible>(x: &[T], scan: Scan<T>) -> Vec<T> {
    let scan = scan_parts(&scan);
    let mut running = scan.initial;
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

/// Returns a scan as [`scan`] does, and the initial value combined with all elements.
///
/// # Example
/// ```
/// use fencepost_algorithms::{Operation, Scan};
/// use fencepost_oracles as host;
/// let (starts, total) = host::scan_with_total(&[3_u32, 1, 4], Scan::exclusive(Operation::Sum));
/// assert_eq!((&starts[..], total), (&[0, 3, 4][..], 8));
/// ```
pub fn scan_with_total<T: Reducible>(x: &[T], of_all: Scan<T>) -> (Vec<T>, T) {
    let ScanParts { operation, reversed, initial, .. } = scan_parts(&of_all);
    let add = |all, &element: &T| combined(operation, all, element);
    let total = if reversed { x.iter().rev().fold(initial, add) } else { x.iter().fold(initial, add) };
    (scan(x, of_all), total)
}

/// Returns all elements, combined from the first on by a function instead of an expression. The result for no elements
/// is the identity.
///
/// # Example
/// ```
/// assert_eq!(fencepost_oracles::fold(&[0b1110_u32, 0b0111], u32::MAX, |a, b| a & b), 0b0110);
/// ```
pub fn fold<T: Copy>(x: &[T], identity: T, combine: impl FnMut(T, T) -> T) -> T {
    x.iter().copied().fold(identity, combine)
}

/// Returns two elements combined. The operation says if NaNs propagate or are ignored.
fn combined<T: Reducible>(operation: Operation, a: T, b: T) -> T {
    match operation {
        Operation::Sum | Operation::Product => T::combined(operation, a, b),
        _ => extreme(&[a, b], operation, nan(operation)).expect("bug: two elements have an extreme"),
    }
}

/// Returns the smallest or the largest element, as `operation` says.
fn extreme<T: Reducible>(x: &[T], operation: Operation, nan: Nan) -> Option<T> {
    let no_number = T::neutral(Operation::SmallestNumber);
    let is_number = |x: &T| x.partial_cmp(x).is_some();
    if nan == Nan::Propagate && !x.iter().all(is_number) {
        return Some(no_number);
    }
    let numbers = x.iter().copied().filter(is_number);
    numbers.reduce(|a, b| T::combined(operation, a, b)).or_else(|| (!x.is_empty()).then_some(no_number))
}

/// Returns the treatment of NaNs by an operation.
fn nan(operation: Operation) -> Nan {
    match operation {
        Operation::SmallestNumber | Operation::LargestNumber => Nan::Ignore,
        _ => Nan::Propagate,
    }
}

/// Returns the place of the smallest element, or `None` if there are no elements. If there is a NaN, the first NaN
/// counts as the smallest. Of equal elements, the first counts. -0 and +0 are equal.
///
/// # Example
/// ```
/// use fencepost_oracles as host;
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
/// assert_eq!(fencepost_oracles::argmax(&[3_i32, 7, -7, 7]), Some(1));
/// ```
pub fn argmax<T: Reducible>(x: &[T]) -> Option<usize> {
    place(x, |a, b| a > b)
}

/// Returns the place of the first NaN, or else of the first element that no other element comes before.
fn place<T: Reducible>(x: &[T], comes_before: impl Fn(T, T) -> bool) -> Option<usize> {
    let is_nan = |x: &T| x.partial_cmp(x).is_none();
    let better = |best: usize, i: usize| if comes_before(x[i], x[best]) { i } else { best };
    x.iter().position(is_nan).or_else(|| (0..x.len()).reduce(better))
}

/// Returns the number of elements that are not zero.
///
/// # Example
/// ```
/// assert_eq!(fencepost_oracles::count_nonzero(&[0.0_f32, -0.0, f32::NAN]), 1);
/// ```
pub fn count_nonzero<T: Reducible>(x: &[T]) -> usize {
    x.iter().filter(|&&x| x != T::identity(Operation::Sum)).count()
}

/// Returns `true` if an element is not zero.
///
/// # Example
/// ```
/// assert!(fencepost_oracles::any(&[0, -3]));
/// ```
pub fn any<T: Reducible>(x: &[T]) -> bool {
    count_nonzero(x) > 0
}

/// Returns `true` if no element is zero.
///
/// # Example
/// ```
/// assert!(!fencepost_oracles::all(&[0, -3]));
/// ```
pub fn all<T: Reducible>(x: &[T]) -> bool {
    count_nonzero(x) == x.len()
}

/// Returns the sum of the products of two lists. Integers wrap. If the lengths differ, the rest of the longer list is
/// ignored.
///
/// # Example
/// ```
/// assert_eq!(fencepost_oracles::dot(&[1_u32, 2, 3], &[4, 5, 6]), 32);
/// ```
pub fn dot<T: Reducible>(x: &[T], y: &[T]) -> T {
    let products: Vec<T> = x.iter().zip(y).map(|(&x, &y)| T::combined(Operation::Product, x, y)).collect();
    sum(&products)
}

/// Returns the square root of the sum of the squares.
///
/// # Example
/// ```
/// assert_eq!(fencepost_oracles::norm(&[3.0, -4.0]), 5.0);
/// ```
pub fn norm(x: &[f32]) -> f32 {
    dot(x, x).sqrt()
}

/// Returns the mean, or `None` if there are no elements.
///
/// # Example
/// ```
/// assert_eq!(fencepost_oracles::mean(&[1.0, 2.0, 6.0]), Some(3.0));
/// ```
pub fn mean(x: &[f32]) -> Option<f32> {
    (!x.is_empty()).then(|| sum(x) / x.len() as f32)
}
