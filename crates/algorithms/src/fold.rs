//! Reductions of whole arrays by any operation.

use crate::axis::View;
use crate::monoid::Associative;
use crate::passes::one_element;
use crate::reduce_axis::combine;
use crate::verb_queue::VerbQueue;
use fencepost_core::{CommandQueue, DeviceArray, Element, Result};

/// Combines all elements of an array into one, by a built-in operation or one from user code.
///
/// # Determinism
/// The order of the operations is that of the elements if the operation is a [`Monoid`](crate::Monoid). The device groups the
/// elements in the same way in each run, so it gives the same bits.
///
/// # Source
/// Each invocation combines neighbouring elements, and a tree combines the invocations, as for
/// [`PrefixScan`](crate::PrefixScan).
pub trait Fold {
    /// *Enqueues* out = all elements of `x`, in C order, combined by an operation. If a number is a NaN, the smallest and the
    /// largest one are NaNs.
    ///
    /// # Shape
    /// `x` has any shape, and `out` has one element. No elements give the identity of the operation.
    ///
    /// # Cost
    /// Up to 16,384 elements take one launch. More elements take two, with up to 1,024 elements of scratch memory. Each element
    /// is read once.
    ///
    /// # Errors
    /// [`Kind::Shape`](fencepost_core::Kind::Shape) if `out` does not have exactly one element, or if no elements have
    /// a smallest or a largest one; [`Kind::Kernel`](fencepost_core::Kind::Kernel) if the text of a
    /// [`Monoid`](crate::Monoid) is not one expression of the type; [`Kind::Padding`](fencepost_core::Kind::Padding) if
    /// an array is padded; the errors of a launch, and the queue's own error.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Fold, Monoid};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, mut all) = (ctx.array(&[0b1110_u32, 0b0111])?, ctx.zeros([1])?);
    /// queue.fold(&x, Monoid::new("a & b", u32::MAX), &mut all)?;
    /// assert_eq!(queue.read(&all).wait()?, [0b0110]);
    ///
    /// let error = queue.fold(&x, Monoid::new("a & c", u32::MAX), &mut all).unwrap_err();
    /// assert!(error.to_string().ends_with("  | a & c\n  |     ^"), "{error}");
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn fold<T: Element, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        operation: impl Associative<T>,
        out: &mut DeviceArray<T>,
    ) -> Result<()>;
}

impl Fold for CommandQueue {
    #[track_caller]
    fn fold<T: Element, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        operation: impl Associative<T>,
        out: &mut DeviceArray<T>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "fold");
        let view = View { outer: 1, n: x.len(), inner: 1 };
        combine(queue, view, x, operation, &mut one_element(queue, "out", out)?)
    }
}
