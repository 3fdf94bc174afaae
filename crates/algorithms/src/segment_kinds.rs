//! Means, norms, inner products and comparisons with zero of segments of an array.

use crate::elementwise::flat;
use crate::inner_product::one_shape;
use crate::operator::Operator;
use crate::reducible::{Finish, Operation, Reducible};
use crate::segments::{Form, Lists};
use crate::typed_kernel::nonzero_bits;
use crate::verb_queue::VerbQueue;
use fencepost_core::{CommandQueue, DeviceArray, Result};

/// Takes means, norms and inner products of segments of an array, and compares their elements with zero.
///
/// # Shape
/// Segment s is the elements from `offsets[s]` up to `offsets[s + 1]`, so `offsets` has one element more than `out`. The offsets are
/// those of [`reduce_segments`](crate::ReduceSegments::reduce_segments): an offset past the last element counts as the
/// end, and the results of decreasing offsets are not specified.
///
/// # Cost
/// The launches and the scratch memory are those of `reduce_segments`: a fill, one launch for up to 16,384 elements, and two with up
/// to 2,049 words of scratch memory for more.
///
/// # Determinism
/// The order of the operations depends on the number of elements, the offsets and the adapter, so one device and driver give the same
/// bits in each run.
pub trait InSegments {
    /// *Enqueues* `out[s]` = the mean of the elements of segment s. An empty segment has no mean, so its result is a NaN.
    ///
    /// # Error bound
    /// The error is that of the sum of [`reduce_segments`](crate::ReduceSegments::reduce_segments), divided by the number of elements
    /// of the segment, and 5 `u` of the result more; `u` is 2^-24 on a device that rounds to the nearest number. If the sum exceeds
    /// the largest number, the mean is infinite.
    ///
    /// # Errors
    /// [`Kind::Shape`](fencepost_core::Kind::Shape) if `out` does not have one element less than `offsets`;
    /// [`Kind::Padding`](fencepost_core::Kind::Padding) if an array is padded; the errors of a launch, and the queue's own error.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::InSegments;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, offsets) = (ctx.array(&[3.0_f32, 1.0, 4.0, 1.0, 7.0])?, ctx.array(&[0_u32, 2, 2, 5])?);
    /// let mut out = ctx.zeros([3])?;
    /// queue.mean_segments(&x, &offsets, &mut out)?;
    /// let means = queue.read(&out).wait()?;
    /// assert!(means[0] == 2.0 && means[1].is_nan() && means[2] == 4.0);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn mean_segments<const D: usize>(
        &self,
        x: &DeviceArray<f32, D>,
        offsets: &DeviceArray<u32>,
        out: &mut DeviceArray<f32>,
    ) -> Result<()>;

    /// *Enqueues* `out[s]` = the number of elements of segment s that are not zero. -0 is zero; a NaN and each number below the
    /// smallest normal one are not. An empty segment has 0. The results are exact.
    ///
    /// # Errors
    /// Returns the errors of [`mean_segments`](Self::mean_segments).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::InSegments;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, offsets) = (ctx.array(&[0.0_f32, 2.0, f32::NAN, -0.0, 1.0])?, ctx.array(&[0_u32, 2, 2, 5])?);
    /// let mut out = ctx.zeros([3])?;
    /// queue.count_nonzero_segments(&x, &offsets, &mut out)?;
    /// assert_eq!(queue.read(&out).wait()?, [1, 0, 2]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn count_nonzero_segments<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        offsets: &DeviceArray<u32>,
        out: &mut DeviceArray<u32>,
    ) -> Result<()>;

    /// *Enqueues* `out[s]` = 1 if any element of segment s is not zero, else 0. An empty segment has 0.
    ///
    /// # Errors
    /// Returns the errors of [`mean_segments`](Self::mean_segments).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::InSegments;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, offsets) = (ctx.array(&[0_u32, 0, 4, 0, 7])?, ctx.array(&[0_u32, 2, 2, 5])?);
    /// let mut out = ctx.zeros([3])?;
    /// queue.any_segments(&x, &offsets, &mut out)?;
    /// assert_eq!(queue.read(&out).wait()?, [0, 0, 1]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn any_segments<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        offsets: &DeviceArray<u32>,
        out: &mut DeviceArray<u32>,
    ) -> Result<()>;

    /// *Enqueues* `out[s]` = 1 if no element of segment s is zero, else 0. An empty segment has 1.
    ///
    /// # Errors
    /// Returns the errors of [`mean_segments`](Self::mean_segments).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::InSegments;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, offsets) = (ctx.array(&[3, 1, 4, 0, 7])?, ctx.array(&[0_u32, 2, 2, 5])?);
    /// let mut out = ctx.zeros([3])?;
    /// queue.all_segments(&x, &offsets, &mut out)?;
    /// assert_eq!(queue.read(&out).wait()?, [1, 1, 0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn all_segments<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        offsets: &DeviceArray<u32>,
        out: &mut DeviceArray<u32>,
    ) -> Result<()>;

    /// *Enqueues* `out[s]` = the square root of the sum of the squares of segment s. An empty segment has 0.
    ///
    /// # Error bound
    /// The relative error is at most `d u`, with `d` = 80 + n / 2^16 for the n elements of `x`, if the sum of the squares is a normal
    /// number; `u` is 2^-24 on a device that rounds to the nearest number. Elements from about 2^64 on give an infinite norm, and
    /// those below 2^-63 may give 0.
    ///
    /// # Errors
    /// Returns the errors of [`mean_segments`](Self::mean_segments).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::InSegments;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, offsets) = (ctx.array(&[3.0_f32, 4.0, 2.0, 3.0, -6.0])?, ctx.array(&[0_u32, 2, 2, 5])?);
    /// let mut out = ctx.zeros([3])?;
    /// queue.norm_segments(&x, &offsets, &mut out)?;
    /// assert_eq!(queue.read(&out).wait()?, [5.0, 0.0, 7.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn norm_segments<const D: usize>(
        &self,
        x: &DeviceArray<f32, D>,
        offsets: &DeviceArray<u32>,
        out: &mut DeviceArray<f32>,
    ) -> Result<()>;

    /// *Enqueues* `out[s]` = the sum of the products of the elements of `x` and `y` in segment s. Integers wrap, and an empty segment
    /// has 0.
    ///
    /// # Shape
    /// `x` and `y`: the same shape.
    ///
    /// # Error bound
    /// For `f32`, the error is at most `d u` times the sum of the magnitudes of the products, with `d` = 141 + n / 2^15 for the n
    /// elements of `x`; `u` is 2^-24 on a device that rounds to the nearest number. The bound holds under the
    /// conditions of [`dot`](crate::InnerProduct::dot).
    ///
    /// # Errors
    /// Returns the errors of [`mean_segments`](Self::mean_segments), and [`Kind::Shape`](fencepost_core::Kind::Shape) if the shape of
    /// `y` differs.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::InSegments;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, y) = (ctx.array(&[3_u32, 1, 4, 1, 5])?, ctx.array(&[1_u32, 2, 0, 7, 2])?);
    /// let (offsets, mut out) = (ctx.array(&[0_u32, 2, 2, 5])?, ctx.zeros([3])?);
    /// queue.dot_segments(&x, &y, &offsets, &mut out)?;
    /// assert_eq!(queue.read(&out).wait()?, [5, 0, 17]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn dot_segments<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        y: &DeviceArray<T, D>,
        offsets: &DeviceArray<u32>,
        out: &mut DeviceArray<T>,
    ) -> Result<()>;
}

impl InSegments for CommandQueue {
    #[track_caller]
    fn mean_segments<const D: usize>(
        &self,
        x: &DeviceArray<f32, D>,
        offsets: &DeviceArray<u32>,
        out: &mut DeviceArray<f32>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "mean_segments");
        finished(queue, Form { finish: Finish::Divide, ..Form::default() }, f32::NAN, x, offsets, out)
    }

    #[track_caller]
    fn count_nonzero_segments<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        offsets: &DeviceArray<u32>,
        out: &mut DeviceArray<u32>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "count_nonzero_segments");
        compare(queue, Operation::Sum, x, offsets, out)
    }

    #[track_caller]
    fn any_segments<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        offsets: &DeviceArray<u32>,
        out: &mut DeviceArray<u32>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "any_segments");
        compare(queue, Operation::Largest, x, offsets, out)
    }

    #[track_caller]
    fn all_segments<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        offsets: &DeviceArray<u32>,
        out: &mut DeviceArray<u32>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "all_segments");
        compare(queue, Operation::Smallest, x, offsets, out)
    }

    #[track_caller]
    fn norm_segments<const D: usize>(
        &self,
        x: &DeviceArray<f32, D>,
        offsets: &DeviceArray<u32>,
        out: &mut DeviceArray<f32>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "norm_segments");
        let form = Form { products: true, finish: Finish::Root, ..Form::default() };
        finished(queue, form, 0.0, x, offsets, out)
    }

    #[track_caller]
    fn dot_segments<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        y: &DeviceArray<T, D>,
        offsets: &DeviceArray<u32>,
        out: &mut DeviceArray<T>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "dot_segments");
        one_shape(queue, x, y)?;
        let lists = Lists::of(queue, x, offsets, out)?;
        let y = flat(y)?;
        let zero = T::identity(Operation::Sum);
        let form = Form { products: true, ..Form::default() };
        let sum = Operator::of_elements(Operation::Sum, zero);
        let verb = lists.segments(lists.x.clone(), lists.out.clone(), sum, form).times(&y);
        lists.enqueue(queue, &[("y", &y.cast_bits())], &verb, zero)
    }
}

/// Enqueues sums of elements or squares, with a last operation. An empty segment has the result `none`.
#[track_caller]
fn finished<const D: usize>(
    queue: &VerbQueue<'_>,
    form: Form,
    none: f32,
    x: &DeviceArray<f32, D>,
    offsets: &DeviceArray<u32>,
    out: &DeviceArray<f32>,
) -> Result<()> {
    let lists = Lists::of(queue, x, offsets, out)?;
    let sum = Operator::of_elements(Operation::Sum, 0.0);
    let verb = lists.segments(lists.x.clone(), lists.out.clone(), sum, form);
    lists.enqueue(queue, &[], &verb, none)
}

/// Enqueues the comparison: an element that is not zero stands for 1, and a zero for 0.
#[track_caller]
fn compare<T: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    operation: Operation,
    x: &DeviceArray<T, D>,
    offsets: &DeviceArray<u32>,
    out: &DeviceArray<u32>,
) -> Result<()> {
    let lists = Lists::of(queue, x, offsets, out)?;
    let operator = Operator::of_elements(operation, operation.identity_of_keys());
    let form = Form { bits: nonzero_bits::<T>(), ..Form::default() };
    let verb = lists.segments(lists.x.cast_bits(), lists.out.clone(), operator, form);
    lists.enqueue(queue, &[], &verb, u32::from(operation == Operation::Smallest))
}
