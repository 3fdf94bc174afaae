//! Host functions for the verbs along an axis.

use super::{all, any, argmax, argmin, count_nonzero, extreme, mean, nan, prod, sum};
use fencepost_algorithms::{Operation, Reducible};

/// Returns the elements along an axis combined by an operation, for a list of elements in C order. Returns `None` if
/// the list does not have this shape or axis, or if there are no elements but the smallest or largest one is wanted.
///
/// # Example
/// ```
/// use fencepost_algorithms::Operation;
/// use fencepost_oracles as host;
/// let sums = host::reduce(&[1, 2, 3, 4, 5, 6], [2, 3], Operation::Sum, 1);
/// assert_eq!(sums, Some(vec![6, 15]));
/// ```
pub fn reduce<T: Reducible, const D: usize>(
    x: &[T],
    shape: [usize; D],
    operation: Operation,
    axis: usize,
) -> Option<Vec<T>> {
    along(x, shape, axis, |list| match operation {
        Operation::Sum => Some(sum(list)),
        Operation::Product => Some(prod(list)),
        _ => extreme(list, operation, nan(operation)),
    })
}

/// Returns the result for each row or column along an axis. Returns `None` if one of them has no result, or if the list
/// does not have this shape or axis.
pub(super) fn along<T: Reducible, U, const D: usize>(
    x: &[T],
    shape: [usize; D],
    axis: usize,
    result: impl Fn(&[T]) -> Option<U>,
) -> Option<Vec<U>> {
    let n = *shape.get(axis)?;
    let count = |axes: &[usize]| axes.iter().try_fold(1_usize, |all, &n| all.checked_mul(n));
    if count(&shape)? != x.len() {
        return None;
    }
    let outer = count(&shape[..axis])?;
    let inner = count(&shape[axis + 1..])?;
    let column = |at: usize| (0..n).map(|i| x[(at / inner * n + i) * inner + at % inner]).collect::<Vec<T>>();
    (0..outer.checked_mul(inner)?).map(|at| result(&column(at))).collect()
}

/// Returns the means along an axis. Returns `None` if the list does not have this shape or axis, or if the axis has no
/// elements.
///
/// # Example
/// ```
/// use fencepost_oracles as host;
/// assert_eq!(host::mean_axis(&[1.0, 2.0, 5.0, 6.0], [2, 2], 0), Some(vec![3.0, 4.0]));
/// ```
pub fn mean_axis<const D: usize>(x: &[f32], shape: [usize; D], axis: usize) -> Option<Vec<f32>> {
    along(x, shape, axis, mean)
}

/// Returns the numbers of elements along an axis that are not zero. Returns `None` if the list does not have this shape
/// or axis.
///
/// # Example
/// ```
/// use fencepost_oracles as host;
/// assert_eq!(host::count_nonzero_axis(&[1, 0, 5, 6], [2, 2], 1), Some(vec![1, 2]));
/// ```
pub fn count_nonzero_axis<T: Reducible, const D: usize>(
    x: &[T],
    shape: [usize; D],
    axis: usize,
) -> Option<Vec<u32>> {
    along(x, shape, axis, |list| Some(count_nonzero(list) as u32))
}

/// Returns 1 where an element along an axis is not zero, else 0. Returns `None` if the list does not have this shape or
/// axis.
///
/// # Example
/// ```
/// use fencepost_oracles as host;
/// assert_eq!(host::any_axis(&[1, 0, 5, 0], [2, 2], 0), Some(vec![1, 0]));
/// ```
pub fn any_axis<T: Reducible, const D: usize>(x: &[T], shape: [usize; D], axis: usize) -> Option<Vec<u32>> {
    along(x, shape, axis, |list| Some(u32::from(any(list))))
}

/// Returns 1 where no element along an axis is zero, else 0. Returns `None` if the list does not have this shape or
/// axis.
///
/// # Example
/// ```
/// use fencepost_oracles as host;
/// assert_eq!(host::all_axis(&[1, 0, 5, 6], [2, 2], 1), Some(vec![0, 1]));
/// ```
pub fn all_axis<T: Reducible, const D: usize>(x: &[T], shape: [usize; D], axis: usize) -> Option<Vec<u32>> {
    along(x, shape, axis, |list| Some(u32::from(all(list))))
}

/// Returns the places of the smallest elements along an axis, as [`argmin`](super::argmin) does. Returns `None` if the
/// list does not have this shape or axis, or if the axis has no elements.
///
/// # Example
/// ```
/// use fencepost_oracles as host;
/// assert_eq!(host::argmin_axis(&[3, 0, 5, 5], [2, 2], 1), Some(vec![1, 0]));
/// ```
pub fn argmin_axis<T: Reducible, const D: usize>(
    x: &[T],
    shape: [usize; D],
    axis: usize,
) -> Option<Vec<u32>> {
    along(x, shape, axis, |list| argmin(list).map(|place| place as u32))
}

/// Returns the places of the largest elements along an axis, as [`argmax`](super::argmax) does. Returns `None` if the
/// list does not have this shape or axis, or if the axis has no elements.
///
/// # Example
/// ```
/// use fencepost_oracles as host;
/// assert_eq!(host::argmax_axis(&[1, 7, 5, 6], [2, 2], 0), Some(vec![1, 0]));
/// ```
pub fn argmax_axis<T: Reducible, const D: usize>(
    x: &[T],
    shape: [usize; D],
    axis: usize,
) -> Option<Vec<u32>> {
    along(x, shape, axis, |list| argmax(list).map(|place| place as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_with_more_elements_than_a_number_counts_has_no_reduction() {
        let reduce = |shape: [usize; 3]| reduce::<u32, 3>(&[], shape, Operation::Sum, 2);
        assert_eq!(reduce([usize::MAX, 2, 0]), None);
        assert_eq!(reduce([2, usize::MAX, 3]), None);
        assert_eq!(reduce([2, 2, 0]), Some(vec![0; 4]));
    }
}
