//! Host functions for the verbs on segments. See [`reduce_segments`](super::reduce_segments) for the offsets.

use super::grouped::segments;
use super::{all, any, argmax, argmax_with, argmin, argmin_with, count_nonzero, mean, norm};
use crate::Nan;
use fencepost_algorithms::Reducible;

/// Returns the mean of each segment, which is a NaN for an empty one.
///
/// # Example
/// ```
/// use fencepost_oracles as host;
/// assert_eq!(host::mean_segments(&[3.0, 1.0, 4.0], &[0, 2, 3]), [2.0, 4.0]);
/// assert!(host::mean_segments(&[3.0], &[1, 1])[0].is_nan());
/// ```
pub fn mean_segments(x: &[f32], offsets: &[u32]) -> Vec<f32> {
    segments(x, offsets).map(|segment| mean(segment).unwrap_or(f32::NAN)).collect()
}

/// Returns the number of elements of each segment that are not zero.
///
/// # Example
/// ```
/// use fencepost_oracles as host;
/// assert_eq!(host::count_nonzero_segments(&[3, 0, 4], &[0, 2, 2, 3]), [1, 0, 1]);
/// ```
pub fn count_nonzero_segments<T: Reducible>(x: &[T], offsets: &[u32]) -> Vec<u32> {
    segments(x, offsets).map(|segment| count_nonzero(segment) as u32).collect()
}

/// Returns 1 for each segment with an element that is not zero, else 0.
///
/// # Example
/// ```
/// use fencepost_oracles as host;
/// assert_eq!(host::any_segments(&[3, 0, 0], &[0, 2, 2, 3]), [1, 0, 0]);
/// ```
pub fn any_segments<T: Reducible>(x: &[T], offsets: &[u32]) -> Vec<u32> {
    segments(x, offsets).map(|segment| u32::from(any(segment))).collect()
}

/// Returns 1 for each segment without a zero, else 0.
///
/// # Example
/// ```
/// use fencepost_oracles as host;
/// assert_eq!(host::all_segments(&[3, 0, 4], &[0, 2, 2, 3]), [0, 1, 1]);
/// ```
pub fn all_segments<T: Reducible>(x: &[T], offsets: &[u32]) -> Vec<u32> {
    segments(x, offsets).map(|segment| u32::from(all(segment))).collect()
}

/// Returns the square root of the sum of the squares of each segment.
///
/// # Example
/// ```
/// use fencepost_oracles as host;
/// assert_eq!(host::norm_segments(&[3.0, 4.0, -2.0], &[0, 2, 2, 3]), [5.0, 0.0, 2.0]);
/// ```
pub fn norm_segments(x: &[f32], offsets: &[u32]) -> Vec<f32> {
    segments(x, offsets).map(norm).collect()
}

/// Returns the place of the smallest element in each segment, as [`argmin`](super::argmin) does, or `u32::MAX` for an
/// empty one.
///
/// # Example
/// ```
/// use fencepost_oracles as host;
/// assert_eq!(host::argmin_segments(&[3, 0, 4], &[0, 2, 2, 3]), [1, u32::MAX, 0]);
/// ```
pub fn argmin_segments<T: Reducible>(x: &[T], offsets: &[u32]) -> Vec<u32> {
    segments(x, offsets).map(|segment| place(argmin(segment))).collect()
}

/// Returns the place of the largest element in each segment, as [`argmax`](super::argmax) does, or `u32::MAX` for an
/// empty one.
///
/// # Example
/// ```
/// use fencepost_oracles as host;
/// assert_eq!(host::argmax_segments(&[3, 0, 4], &[0, 2, 2, 3]), [0, u32::MAX, 0]);
/// ```
pub fn argmax_segments<T: Reducible>(x: &[T], offsets: &[u32]) -> Vec<u32> {
    segments(x, offsets).map(|segment| place(argmax(segment))).collect()
}

/// Returns the place of the smallest element in each segment, as [`argmin_with`] does, or `u32::MAX` for an empty one.
///
/// # Example
/// ```
/// use fencepost_oracles::{self as host, Nan};
/// assert_eq!(host::argmin_segments_with(&[f32::NAN, 3.0, 1.0], &[0, 3], Nan::Ignore), [2]);
/// ```
pub fn argmin_segments_with<T: Reducible>(x: &[T], offsets: &[u32], nan: Nan) -> Vec<u32> {
    segments(x, offsets).map(|segment| place(argmin_with(segment, nan))).collect()
}

/// Returns the place of the largest element in each segment, as [`argmax_with`] does, or `u32::MAX` for an empty one.
///
/// # Example
/// ```
/// use fencepost_oracles::{self as host, Nan};
/// assert_eq!(host::argmax_segments_with(&[f32::NAN, 3.0, 1.0], &[0, 3], Nan::Ignore), [1]);
/// ```
pub fn argmax_segments_with<T: Reducible>(x: &[T], offsets: &[u32], nan: Nan) -> Vec<u32> {
    segments(x, offsets).map(|segment| place(argmax_with(segment, nan))).collect()
}

/// Returns a place in the form that the verbs write.
fn place(place: Option<usize>) -> u32 {
    place.map_or(u32::MAX, |place| place as u32)
}
