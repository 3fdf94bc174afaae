//! The number of elements of a shape.

use crate::error::{Kind, Result};
use fencepost_kernels::Element;

/// Returns the number of elements of a shape: 0 if an axis has length 0. The number saturates at `usize::MAX`, which
/// [`elements`] reports as an error.
pub(crate) fn count(shape: &[usize]) -> usize {
    if shape.contains(&0) { 0 } else { shape.iter().fold(1, |all, &n| all.saturating_mul(n)) }
}

/// Returns the number of elements of a shape, after a check that their bytes fit in the address space.
///
/// # Errors
/// Returns [`Kind::Uncountable`] if the bytes of the elements exceed the address space.
pub(crate) fn elements<T: Element>(object: &str, shape: &[usize]) -> Result<usize> {
    const { assert!(size_of::<T>() == T::DTYPE.size(), "an element's DTYPE has another size than the type") };
    let size = T::DTYPE.size();
    if shape.contains(&0) {
        return Ok(0);
    }
    let count = shape.iter().try_fold(1_usize, |all, &n| all.checked_mul(n));
    count.filter(|n| n.checked_mul(size).is_some_and(|bytes| bytes <= isize::MAX as usize)).ok_or_else(|| {
        Kind::Uncountable { object: object.into(), shape: shape.into(), size, limit: isize::MAX as u64 }
            .into()
    })
}
