//! Host functions for norms and inner products along an axis and of segments.

use super::along::along;
use super::{combined, norm, reduce, reduce_segments};
use fencepost_algorithms::{Operation, Reducible};

/// Returns the square roots of the sums of the squares along an axis. Returns `None` if the list does not have this
/// shape or axis.
///
/// # Example
/// ```
/// use fencepost_oracles as host;
/// assert_eq!(host::norm_axis(&[3.0, 4.0, 0.0, -2.0], [2, 2], 1), Some(vec![5.0, 2.0]));
/// ```
pub fn norm_axis<const D: usize>(x: &[f32], shape: [usize; D], axis: usize) -> Option<Vec<f32>> {
    along(x, shape, axis, |list| Some(norm(list)))
}

/// Returns the sums of the products of two lists along an axis. Returns `None` if one of the lists does not have this
/// shape or axis.
///
/// # Example
/// ```
/// use fencepost_oracles as host;
/// assert_eq!(host::dot_axis(&[1, 2, 3, 4], &[5, 6, 7, 8], [2, 2], 0), Some(vec![26, 44]));
/// ```
pub fn dot_axis<T: Reducible, const D: usize>(
    x: &[T],
    y: &[T],
    shape: [usize; D],
    axis: usize,
) -> Option<Vec<T>> {
    if x.len() != y.len() {
        return None;
    }
    reduce(&products(x, y), shape, Operation::Sum, axis)
}

/// Returns the sum of the products of two lists in each segment. If the lengths differ, the rest of the longer list is
/// ignored.
///
/// # Example
/// ```
/// use fencepost_oracles as host;
/// assert_eq!(host::dot_segments(&[3, 1, 4], &[1, 2, 5], &[0, 2, 2, 3]), [5, 0, 20]);
/// ```
pub fn dot_segments<T: Reducible>(x: &[T], y: &[T], offsets: &[u32]) -> Vec<T> {
    reduce_segments(&products(x, y), offsets, Operation::Sum)
}

fn products<T: Reducible>(x: &[T], y: &[T]) -> Vec<T> {
    x.iter().zip(y).map(|(&x, &y)| combined(Operation::Product, x, y)).collect()
}
