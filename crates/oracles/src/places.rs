//! Host functions for searches that may ignore NaNs.

use super::along::along;
use super::{argmax, argmin};
use crate::Nan;
use fencepost_algorithms::Reducible;

/// Returns the place of the smallest element as [`argmin`] does, or `None` if there are no elements. NaNs are treated
/// as `nan` says. If all elements are NaNs, the place is 0.
///
/// # Example
/// ```
/// use fencepost_oracles::{self as host, Nan};
/// assert_eq!(host::argmin_with(&[f32::NAN, 3.0, -7.0], Nan::Ignore), Some(2));
/// assert_eq!(host::argmin_with(&[2.0, f32::NAN, -7.0], Nan::Propagate), Some(1));
/// ```
pub fn argmin_with<T: Reducible>(x: &[T], nan: Nan) -> Option<usize> {
    of_kept(x, nan, argmin)
}

/// Returns the place of the largest element, as [`argmin_with`] does for the smallest one.
///
/// # Example
/// ```
/// use fencepost_oracles::{self as host, Nan};
/// assert_eq!(host::argmax_with(&[f32::NAN; 2], Nan::Ignore), Some(0));
/// ```
pub fn argmax_with<T: Reducible>(x: &[T], nan: Nan) -> Option<usize> {
    of_kept(x, nan, argmax)
}

/// Searches among the elements that are not ignored, and returns the place of the result in the whole list.
fn of_kept<T: Reducible>(x: &[T], nan: Nan, search: impl Fn(&[T]) -> Option<usize>) -> Option<usize> {
    let is_number = |x: T| x.partial_cmp(&x).is_some();
    let kept: Vec<usize> = (0..x.len()).filter(|&i| nan == Nan::Propagate || is_number(x[i])).collect();
    let elements: Vec<T> = kept.iter().map(|&i| x[i]).collect();
    search(&elements).map(|place| kept[place]).or_else(|| (!x.is_empty()).then_some(0))
}

/// Returns the places of the smallest elements along an axis, as [`argmin_with`] does. Returns `None` if the list does
/// not have this shape or axis, or if the axis has no elements.
///
/// # Example
/// ```
/// use fencepost_oracles::{self as host, Nan};
/// let x = [f32::NAN, 3.0, 1.0, 2.0];
/// assert_eq!(host::argmin_axis_with(&x, [2, 2], 1, Nan::Ignore), Some(vec![1, 0]));
/// ```
pub fn argmin_axis_with<T: Reducible, const D: usize>(
    x: &[T],
    shape: [usize; D],
    axis: usize,
    nan: Nan,
) -> Option<Vec<u32>> {
    along(x, shape, axis, |list| argmin_with(list, nan).map(|place| place as u32))
}

/// Returns the places of the largest elements along an axis, as [`argmax_with`] does. Returns `None` if the list does
/// not have this shape or axis, or if the axis has no elements.
///
/// # Example
/// ```
/// use fencepost_oracles::{self as host, Nan};
/// let x = [f32::NAN, 3.0, 1.0, 2.0];
/// assert_eq!(host::argmax_axis_with(&x, [2, 2], 0, Nan::Ignore), Some(vec![1, 0]));
/// ```
pub fn argmax_axis_with<T: Reducible, const D: usize>(
    x: &[T],
    shape: [usize; D],
    axis: usize,
    nan: Nan,
) -> Option<Vec<u32>> {
    along(x, shape, axis, |list| argmax_with(list, nan).map(|place| place as u32))
}
