//! Functions of the host that compute what the verbs compute, one element after the other. Tests compare the two.

use crate::reduce::Nan;
use crate::reducible::{Operation, Reducible};

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
