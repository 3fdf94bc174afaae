//! Means, norms and inner products along one axis of an array, and comparisons of elements with zero.

use crate::axis::{Axis, Steps, View, along, is_done};
use crate::elementwise::flat;
use crate::inner_product::one_shape;
use crate::passes::no_element;
use crate::reducible::{Finish, Operation, Reducible};
use crate::typed_kernel::nonzero_bits;
use crate::verb_queue::VerbQueue;
use fencepost_core::{CommandQueue, DeviceArray, Result};

/// Takes means, norms and inner products along one axis of an array, and compares the elements along it with zero.
///
/// # Shape
/// `out` has the shape of `x`, with 1 element along the axis.
///
/// # Cost
/// One launch for up to 16,384 elements along the last axis, and for up to 1,024 along another one. More elements take two, with
/// up to 1,024 words of scratch memory for each element of `out`. Each element is read once.
///
/// # Determinism
/// The order of the operations depends on the shape and the adapter, so one device and driver give the same bits in each run.
pub trait AlongAxis {
    /// *Enqueues* out = the means of the elements of `x` along an axis.
    ///
    /// # Error bound
    /// The error is that of the sum of [`reduce`](crate::ReduceAxis::reduce), divided by the number of elements along the axis,
    /// and 5 `u` of the result more; `u` is 2^-24 on a device that rounds to the nearest number. If the sum exceeds the largest
    /// number, the mean is infinite.
    ///
    /// # Errors
    /// [`Kind::Axis`](fencepost_core::Kind::Axis) if `x` does not have the axis;
    /// [`Kind::Shape`](fencepost_core::Kind::Shape) if the shape of `out` differs, or if there is no element along the axis for a
    /// result; [`Kind::Padding`](fencepost_core::Kind::Padding) if an array is padded; the errors of a launch, and the queue's
    /// own error.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{AlongAxis, Axis};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = ctx.array(&[1.0, 2.0, 3.0, 5.0, 6.0, 7.0])?.reshape([2, 3])?;
    /// let mut means = ctx.zeros([1, 3])?;
    /// queue.mean_axis(&x, Axis(0), &mut means)?;
    /// assert_eq!(queue.read(&means).wait()?, [3.0, 4.0, 5.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn mean_axis<const D: usize>(
        &self,
        x: &DeviceArray<f32, D>,
        axis: Axis,
        out: &mut DeviceArray<f32, D>,
    ) -> Result<()>;

    /// *Enqueues* out = the square roots of the sums of the squares of `x` along an axis. The norm of no elements is 0.
    ///
    /// # Error bound
    /// The relative error is at most `d u` if the sum of the squares is a normal number, with `d` = 36 + n / 2^21 for n elements along
    /// the last axis, and 175 + n / 2^13 along another one; `u` is 2^-24 on a device
    /// that rounds to the nearest number. Elements from about 2^64 on give an infinite norm, and those below 2^-63 may give 0.
    ///
    /// # Errors
    /// Returns the errors of [`count_nonzero_axis`](Self::count_nonzero_axis).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{AlongAxis, Axis};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = ctx.array(&[3.0, -4.0, 0.0, -2.0])?.reshape([2, 2])?;
    /// let mut norms = ctx.zeros([2, 1])?;
    /// queue.norm_axis(&x, Axis(1), &mut norms)?;
    /// assert_eq!(queue.read(&norms).wait()?, [5.0, 2.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn norm_axis<const D: usize>(
        &self,
        x: &DeviceArray<f32, D>,
        axis: Axis,
        out: &mut DeviceArray<f32, D>,
    ) -> Result<()>;

    /// *Enqueues* out = the sums of the products of the elements of `x` and `y` along an axis. Integers wrap, and the sum of no
    /// products is 0.
    ///
    /// # Shape
    /// `x` and `y`: the same shape.
    ///
    /// # Error bound
    /// For `f32`, the error is at most `d u` times the sum of the magnitudes of the products, with `d` = 53 + n / 2^20 for n elements
    /// along the last axis, and 331 + n / 2^12 along another one; `u` is 2^-24 on a
    /// device that rounds to the nearest number. The bound holds under the conditions of
    /// [`dot`](crate::InnerProduct::dot).
    ///
    /// # Errors
    /// Returns the errors of [`count_nonzero_axis`](Self::count_nonzero_axis), and
    /// [`Kind::Shape`](fencepost_core::Kind::Shape) if the shape of `y` differs.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{AlongAxis, Axis};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = ctx.array(&[1_u32, 2, 3, 4, 5, 6])?.reshape([2, 3])?;
    /// let mut products = ctx.zeros([1, 3])?;
    /// queue.dot_axis(&x, &x, Axis(0), &mut products)?;
    /// assert_eq!(queue.read(&products).wait()?, [17, 29, 45]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn dot_axis<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        y: &DeviceArray<T, D>,
        axis: Axis,
        out: &mut DeviceArray<T, D>,
    ) -> Result<()>;

    /// *Enqueues* out = the numbers of elements of `x` along an axis that are not zero. -0 is zero; a NaN and each number below
    /// the smallest normal one are not. The number of no elements is 0. The results are exact.
    ///
    /// # Errors
    /// [`Kind::Axis`](fencepost_core::Kind::Axis) if `x` does not have the axis;
    /// [`Kind::Shape`](fencepost_core::Kind::Shape) if the shape of `out` differs;
    /// [`Kind::Padding`](fencepost_core::Kind::Padding) if an array is padded; the errors of a launch, and the queue's own
    /// error.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{AlongAxis, Axis};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = ctx.array(&[0.0_f32, 2.0, f32::NAN, -0.0, 0.0, 1.0])?.reshape([2, 3])?;
    /// let mut counts = ctx.zeros([2, 1])?;
    /// queue.count_nonzero_axis(&x, Axis(1), &mut counts)?;
    /// assert_eq!(queue.read(&counts).wait()?, [2, 1]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn count_nonzero_axis<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        axis: Axis,
        out: &mut DeviceArray<u32, D>,
    ) -> Result<()>;

    /// *Enqueues* out = 1 where any element of `x` along an axis is not zero, else 0. The result of no elements is 0.
    ///
    /// # Errors
    /// Returns the errors of [`count_nonzero_axis`](Self::count_nonzero_axis).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{AlongAxis, Axis};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = ctx.array(&[0, 2, 0, -3])?.reshape([2, 2])?;
    /// let mut any = ctx.zeros([1, 2])?;
    /// queue.any_axis(&x, Axis(0), &mut any)?;
    /// assert_eq!(queue.read(&any).wait()?, [0, 1]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn any_axis<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        axis: Axis,
        out: &mut DeviceArray<u32, D>,
    ) -> Result<()>;

    /// *Enqueues* out = 1 where no element of `x` along an axis is zero, else 0. The result of no elements is 1.
    ///
    /// # Errors
    /// Returns the errors of [`count_nonzero_axis`](Self::count_nonzero_axis).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{AlongAxis, Axis};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = ctx.array(&[1_u32, 2, 0, 3])?.reshape([2, 2])?;
    /// let mut all = ctx.zeros([2, 1])?;
    /// queue.all_axis(&x, Axis(1), &mut all)?;
    /// assert_eq!(queue.read(&all).wait()?, [1, 0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn all_axis<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        axis: Axis,
        out: &mut DeviceArray<u32, D>,
    ) -> Result<()>;
}

impl AlongAxis for CommandQueue {
    #[track_caller]
    fn mean_axis<const D: usize>(
        &self,
        x: &DeviceArray<f32, D>,
        axis: Axis,
        out: &mut DeviceArray<f32, D>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "mean_axis");
        let view = View::of(queue, x, axis, out)?;
        if x.is_empty() && !out.is_empty() {
            return no_element(queue, x, "pass at least one element, because no elements have no mean");
        }
        let x = x.reshape([x.len()])?;
        let mut out = out.reshape([out.len()])?;
        if is_done(queue, &[("x", &x.cast_bits())], &mut out, 0.0)? {
            return Ok(());
        }
        let steps = Steps { finish: Finish::Divide, ..Steps::of(Operation::Sum) };
        along(queue, steps, view, [&x; 2], &mut out)
    }

    #[track_caller]
    fn norm_axis<const D: usize>(
        &self,
        x: &DeviceArray<f32, D>,
        axis: Axis,
        out: &mut DeviceArray<f32, D>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "norm_axis");
        let steps = Steps { products: true, finish: Finish::Root, ..Steps::of(Operation::Sum) };
        products(queue, steps, [x, x], axis, out)
    }

    #[track_caller]
    fn dot_axis<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        y: &DeviceArray<T, D>,
        axis: Axis,
        out: &mut DeviceArray<T, D>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "dot_axis");
        one_shape(queue, x, y)?;
        products(queue, Steps { products: true, ..Steps::of(Operation::Sum) }, [x, y], axis, out)
    }

    #[track_caller]
    fn count_nonzero_axis<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        axis: Axis,
        out: &mut DeviceArray<u32, D>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "count_nonzero_axis");
        compare(queue, Operation::Sum, x, axis, out)
    }

    #[track_caller]
    fn any_axis<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        axis: Axis,
        out: &mut DeviceArray<u32, D>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "any_axis");
        compare(queue, Operation::Largest, x, axis, out)
    }

    #[track_caller]
    fn all_axis<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        axis: Axis,
        out: &mut DeviceArray<u32, D>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "all_axis");
        compare(queue, Operation::Smallest, x, axis, out)
    }
}

/// Enqueues the sums of the products of two arrays.
#[track_caller]
fn products<T: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    steps: Steps,
    [x, y]: [&DeviceArray<T, D>; 2],
    axis: Axis,
    out: &mut DeviceArray<T, D>,
) -> Result<()> {
    let view = View::of(queue, x, axis, out)?;
    let x = flat(x)?;
    let y = flat(y)?;
    let mut out = flat(out)?;
    let reads = [("x", &x.cast_bits()), ("y", &y.cast_bits())];
    if is_done(queue, &reads, &mut out, T::identity(Operation::Sum))? {
        return Ok(());
    }
    along(queue, steps, view, [&x, &y], &mut out)
}

/// Enqueues the comparison: an element that is not zero stands for 1, and a zero for 0.
#[track_caller]
fn compare<T: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    operation: Operation,
    x: &DeviceArray<T, D>,
    axis: Axis,
    out: &mut DeviceArray<u32, D>,
) -> Result<()> {
    let view = View::of(queue, x, axis, out)?;
    let x = x.reshape([x.len()])?.cast_bits();
    let mut out = out.reshape([out.len()])?;
    if is_done(queue, &[("x", &x)], &mut out, u32::from(operation == Operation::Smallest))? {
        return Ok(());
    }
    let steps = Steps { bits: nonzero_bits::<T>(), ..Steps::of(operation) };
    along::<u32>(queue, steps, view, [&x; 2], &mut out)
}
