//! Reductions along one axis of an array, by any operation.

use crate::axis::{Axis, View, is_done};
use crate::elementwise::words;
use crate::monoid::Associative;
use crate::passes::{NO_EXTREME, no_element};
use crate::verb_queue::VerbQueue;
#[cfg(doc)]
use fencepost_core::Kind;
use fencepost_core::{CommandQueue, DeviceArray, Element, Result};

/// Combines the elements along one axis of an array.
pub trait ReduceAxis {
    /// *Enqueues* out = the elements of `x` along an axis, combined by an operation: a built-in one, or a
    /// [`Monoid`](crate::Monoid) from user code, which combines them in their order. If a number is a NaN, the smallest
    /// and the largest one are NaNs; [`SmallestNumber`](crate::Operation::SmallestNumber) and
    /// [`LargestNumber`](crate::Operation::LargestNumber) leave NaNs out.
    ///
    /// # Shape
    /// `out` has the shape of `x`, with 1 element along the axis. An axis without elements gives sums of 0 and products of 1.
    ///
    /// # Cost
    /// One launch for up to 16,384 elements along the last axis, and for up to 1,024 along another one. More elements take two,
    /// with up to 1,024 words of scratch memory for each element of `out`. Each element is read once.
    ///
    /// # Error bound
    /// Integers are exact and wrap, and so is the smallest and the largest number. The error of a sum of `f32` is at most `d u`
    /// times the sum of the magnitudes, with `d` = 52 + n / 2^20 for n elements along the last axis, and 330 + n / 2^12 along
    /// another one; `u` is 2^-24 on a device that rounds to the nearest number. The relative error of a product of `f32` is at most
    /// about n times 2^-23. Both hold unless the sum or the product of some elements is infinite, or such a product is
    /// below the smallest normal number.
    ///
    /// # Errors
    /// [`Kind::Axis`] if `x` does not have the axis; [`Kind::Shape`] if the shape of `out` differs, or if no elements have a
    /// smallest or a largest one; [`Kind::Padding`] if an array is padded; the errors of a launch, and the queue's own error.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Axis, Operation, ReduceAxis};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = ctx.array(&[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?.reshape([2, 3])?;
    /// let (mut rows, mut columns) = (ctx.zeros([2, 1])?, ctx.zeros([1, 3])?);
    /// queue.reduce(&x, Operation::Sum, Axis(1), &mut rows)?;
    /// queue.reduce(&x, Operation::Largest, Axis(0), &mut columns)?;
    /// assert_eq!(queue.read(&rows).wait()?, [6.0, 15.0]);
    /// assert_eq!(queue.read(&columns).wait()?, [4.0, 5.0, 6.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn reduce<T: Element, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        operation: impl Associative<T>,
        axis: Axis,
        out: &mut DeviceArray<T, D>,
    ) -> Result<()>;
}

impl ReduceAxis for CommandQueue {
    #[track_caller]
    fn reduce<T: Element, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        operation: impl Associative<T>,
        axis: Axis,
        out: &mut DeviceArray<T, D>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "reduce");
        combine(queue, View::of(queue, x, axis, out)?, x, operation, out)
    }
}

/// Enqueues the combined elements of each row or column.
#[track_caller]
pub(crate) fn combine<T: Element, const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    view: View,
    x: &DeviceArray<T, D>,
    operation: impl Associative<T>,
    out: &mut DeviceArray<T, E>,
) -> Result<()> {
    if x.is_empty() && !out.is_empty() && operation.needs_an_element() {
        return no_element(queue, x, NO_EXTREME);
    }
    let x = x.reshape([x.len()])?;
    let mut out = out.reshape([out.len()])?;
    if is_done(queue, &[("x", &words(&x)?)], &mut out, operation.identity())? {
        return Ok(());
    }
    operation.combine_along(queue, view, &x, &mut out)
}
