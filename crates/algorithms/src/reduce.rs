//! Reductions of whole arrays: sum, product, smallest and largest element.

use crate::passes::{self, NO_EXTREME, Passes, no_element, one_element, value_of};
use crate::reducible::{Operation, Reducible};
use crate::refusals::check;
use crate::shares::Shares;
use crate::verb_queue::VerbQueue;
use crate::wide::Wide;
use fencepost_core::{CommandQueue, DeviceArray, Pending, Result, Scalar};
use fencepost_kernels::PART_COUNT;

/// Treatment of NaNs in a search for the smallest or the largest number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Nan {
    /// If a number is a NaN, the result is a NaN.
    #[default]
    Propagate,
    /// NaNs are left out. If all numbers are NaNs, the result is a NaN.
    Ignore,
}

/// Combines all elements of an array into one, which stays on the device.
///
/// An array of any shape is combined as a whole. The result is written to `out`, an array of one element. The types are
/// `f32`, `i32` and `u32`.
///
/// # Cost
/// Up to 16,384 elements take one launch, more elements take two. The second one combines up to 1,024 partial results, in
/// as many words of scratch memory. Each element is read once.
///
/// # Determinism
/// The order of the operations depends on the number of elements and the kind of the device, so one device and driver give the same
/// bits in each run, and in each replay of a capture. Sums and products of `f32` may differ between devices, because WGSL lets a device reorder and fuse operations.
///
/// # Source
/// Each invocation combines every 256th element of a share in four chains, and a tree of 8 steps combines the invocations: a
/// reduction in two passes, as in Mark Harris, *Optimizing Parallel Reduction in CUDA*, 2007. On a processor, an invocation loads
/// 16 elements at a time if their number is a multiple of that.
pub trait Reduce {
    /// *Enqueues* out = the sum of all elements of `x`. Integers wrap, and the sum of no elements is 0.
    ///
    /// # Error bound
    /// For `f32`, the error is at most `d u` times the sum of the magnitudes, with `d` = 52 + n / 2^20 for n elements. `u` is
    /// 2^-24 on a device that rounds to the nearest number. The bound holds unless the sum of some of the elements, in any order, exceeds the largest number: then the result may be infinite or
    /// a NaN. A device may take subnormal numbers as 0. Then the result may be wrong by up to 2^-126 more for each operation.
    ///
    /// # Errors
    /// [`Kind::Shape`](fencepost_core::Kind::Shape) if `out` does not have exactly one element;
    /// [`Kind::Padding`](fencepost_core::Kind::Padding) if an array is padded; the errors of a launch, and
    /// the queue's own error.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::Reduce;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = ctx.full([300, 200], 0.5_f32)?;
    /// let mut total = ctx.zeros([1])?;
    /// queue.sum(&x, &mut total)?;
    /// assert_eq!(queue.read(&total).wait()?, [30_000.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn sum<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<T>,
    ) -> Result<()>;

    /// *Enqueues* the sum as [`sum`](Self::sum) does, and returns it to the host.
    ///
    /// # Errors
    /// The [`Pending`] returns the errors of [`sum`](Self::sum).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::Reduce;
    /// # let (ctx, queue) = fencepost::doctest();
    /// assert_eq!(queue.sum_of(&ctx.array(&[1_u32, 2, 3])?).wait()?, 6);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn sum_of<T: Reducible, const D: usize>(&self, x: &DeviceArray<T, D>) -> Pending<T>;

    /// *Enqueues* out = the product of all elements of `x`. Integers wrap, and the product of no elements is 1.
    ///
    /// # Error bound
    /// For `f32`, the relative error is at most about n times 2^-23, unless a partial product is infinite or below the
    /// smallest normal number.
    ///
    /// # Errors
    /// Returns the errors of [`sum`](Self::sum).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::Reduce;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut product = ctx.zeros([1])?;
    /// queue.prod(&ctx.array(&[2.0_f32, 3.0, 0.5])?, &mut product)?;
    /// assert_eq!(queue.read(&product).wait()?, [3.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn prod<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<T>,
    ) -> Result<()>;

    /// *Enqueues* out = the smallest element of `x`. If a number is a NaN, the result is a NaN. The result is exact.
    ///
    /// # Errors
    /// Returns the errors of [`sum`](Self::sum), and [`Kind::Shape`](fencepost_core::Kind::Shape) if `x` has no element.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::Reduce;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut least = ctx.zeros([1])?;
    /// queue.min(&ctx.array(&[3_i32, -7, 5])?, &mut least)?;
    /// assert_eq!(queue.read(&least).wait()?, [-7]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn min<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<T>,
    ) -> Result<()>;

    /// *Enqueues* out = the smallest element of `x`, as [`min`](Self::min) does. A NaN is treated as `nan` says.
    ///
    /// # Errors
    /// Returns the errors of [`min`](Self::min).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Nan, Reduce};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut least = ctx.zeros([1])?;
    /// queue.min_with(&ctx.array(&[3.0, f32::NAN, 2.5])?, &mut least, Nan::Ignore)?;
    /// assert_eq!(queue.read(&least).wait()?, [2.5]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn min_with<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<T>,
        nan: Nan,
    ) -> Result<()>;

    /// *Enqueues* out = the largest element of `x`. If a number is a NaN, the result is a NaN. The result is exact.
    ///
    /// # Errors
    /// Returns the errors of [`min`](Self::min).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::Reduce;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut most = ctx.zeros([1])?;
    /// queue.max(&ctx.array(&[3_u32, 7, 5])?, &mut most)?;
    /// assert_eq!(queue.read(&most).wait()?, [7]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn max<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<T>,
    ) -> Result<()>;

    /// *Enqueues* out = the largest element of `x`, as [`max`](Self::max) does. A NaN is treated as `nan` says.
    ///
    /// # Errors
    /// Returns the errors of [`min`](Self::min).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Nan, Reduce};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut most = ctx.zeros([1])?;
    /// queue.max_with(&ctx.array(&[3.0, f32::NAN, 2.5])?, &mut most, Nan::Ignore)?;
    /// assert_eq!(queue.read(&most).wait()?, [3.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn max_with<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<T>,
        nan: Nan,
    ) -> Result<()>;
}

impl Reduce for CommandQueue {
    #[track_caller]
    fn sum<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<T>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "sum");
        reduce(queue, Operation::Sum, Nan::Propagate, x, None, out)
    }

    #[track_caller]
    fn sum_of<T: Reducible, const D: usize>(&self, x: &DeviceArray<T, D>) -> Pending<T> {
        let queue = &VerbQueue::new(self, "sum_of");
        value_of!(queue, "sum(&x, &mut out)", total => reduce(queue, Operation::Sum, Nan::Propagate, x, None, &mut total))
    }

    #[track_caller]
    fn prod<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<T>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "prod");
        reduce(queue, Operation::Product, Nan::Propagate, x, None, out)
    }

    #[track_caller]
    fn min<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<T>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "min");
        reduce(queue, Operation::Smallest, Nan::Propagate, x, None, out)
    }

    #[track_caller]
    fn min_with<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<T>,
        nan: Nan,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "min_with");
        reduce(queue, Operation::Smallest, nan, x, None, out)
    }

    #[track_caller]
    fn max<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<T>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "max");
        reduce(queue, Operation::Largest, Nan::Propagate, x, None, out)
    }

    #[track_caller]
    fn max_with<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<T>,
        nan: Nan,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "max_with");
        reduce(queue, Operation::Largest, nan, x, None, out)
    }
}

/// Enqueues the reduction of an array, or of a part with a count.
#[track_caller]
pub(crate) fn reduce<T: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    operation: Operation,
    nan: Nan,
    x: &DeviceArray<T, D>,
    count: Option<&DeviceArray<u32>>,
    out: &mut DeviceArray<T>,
) -> Result<()> {
    let mut out = one_element(queue, "out", out)?;
    let array = x;
    let x = x.reshape([x.len()])?;
    if !x.is_empty() {
        let shares = Shares::of(x.len());
        let wide = if count.is_none() { wide(queue, operation, nan, shares, &x)? } else { None };
        if let Some(wide) = wide.as_ref().filter(|_| shares.count == 1) {
            return wide.launch(queue, 1, shares, &mut out);
        }
        let of_shares = count.map(|_| T::kernel(queue, operation, nan, None)).transpose()?;
        let kernel = T::kernel(queue, operation, nan, count)?;
        let passes = Reduction { kernel, wide, of_shares, operation, x: &x };
        return passes::enqueue(queue, &passes, x.len(), &mut out);
    }
    let bits = x.cast_bits();
    let reads: Vec<_> = [("x", &bits)].into_iter().chain(count.map(|count| (PART_COUNT, count))).collect();
    check(queue, &reads, &[("out", &out.cast_bits())])?;
    if count.is_some() {
        return queue.fill(&mut out, T::of_none(operation, nan));
    }
    if operation.needs_an_element() {
        return no_element(queue, array, NO_EXTREME);
    }
    queue.fill(&mut out, T::identity(operation))
}

/// Returns the kernel with loads of several elements, or `None` if the device does not gain by it. A search that leaves out NaNs
/// has no such kernel.
pub(crate) fn wide<T: Reducible>(
    queue: &VerbQueue<'_>,
    operation: Operation,
    nan: Nan,
    shares: Shares,
    x: &DeviceArray<T>,
) -> Result<Option<Wide>> {
    let keys = operation.needs_an_element() && T::DTYPE.scalar() == Some(Scalar::F32);
    if keys && nan == Nan::Ignore {
        return Ok(None);
    }
    Wide::of(queue, operation, keys, shares, x)
}

struct Reduction<'a, T: Reducible> {
    kernel: T::Kernel,
    /// Kernel with loads of several elements for each share, if the device gains by it.
    wide: Option<Wide>,
    /// Kernel that combines the shares' results of a part. There is a result for every share, even past the part.
    of_shares: Option<T::Kernel>,
    operation: Operation,
    x: &'a DeviceArray<T>,
}

impl<T: Reducible> Passes for Reduction<'_, T> {
    type Partial = T;

    fn first(&self, queue: &VerbQueue<'_>, shares: Shares, out: &mut DeviceArray<T>) -> Result<()> {
        match &self.wide {
            Some(wide) => wide.launch(queue, 1, shares, out),
            None => T::launch(queue, &self.kernel, self.operation, shares, self.x, out),
        }
    }

    fn last(
        &self,
        queue: &VerbQueue<'_>,
        shares: Shares,
        partials: &DeviceArray<T>,
        out: &mut DeviceArray<T>,
    ) -> Result<()> {
        let kernel = self.of_shares.as_ref().unwrap_or(&self.kernel);
        T::launch(queue, kernel, self.operation, shares, partials, out)
    }
}
