//! The inner product of two arrays, and the root and the mean of sums.

use crate::launches::launch_dyn;
use crate::passes::{self, Passes, one_element, value_of};
use crate::reduce::{Nan, wide};
use crate::reducible::sealed::Combine;
use crate::reducible::{Finish, FinishedSum, Operation, Reducible};
use crate::refusals::check;
use crate::shares::Shares;
use crate::tuning::tuned;
use crate::typed_kernel::{self, value};
use crate::verb_queue::VerbQueue;
use crate::wide::Wide;
use fencepost_core::{CommandQueue, DeviceArray, DynKernel, IntoArg, Pending, Result};

/// Combines arrays by sums of products, and by sums with one more operation.
///
/// Arrays of any shape are combined as a whole. The result is written to `out`, an array of one element.
///
/// # Cost
/// Up to 16,384 elements take one launch, more elements take two. The second one combines up to 1,024 partial results, in
/// as many words of scratch memory. Each element is read once.
///
/// # Determinism
/// As for [`Reduce`](crate::Reduce), one device and driver give the same bits in each run.
pub trait InnerProduct {
    /// *Enqueues* out = the sum of `x[i] * y[i]`. Integers wrap, and the sum of no elements is 0.
    ///
    /// # Shape
    /// `x` and `y`: the same shape.
    ///
    /// # Error bound
    /// For `f32`, the error is at most `d u` times the sum of the magnitudes of the products, with `d` = 53 + n / 2^20 for n
    /// elements. `u` is 2^-24 on a device that rounds to the nearest number.
    /// The bound holds unless a product, or the sum of some of the products, in any order, exceeds the largest number: then
    /// the result may be infinite or a NaN. A device may take subnormal numbers as 0. Then the result is that of the elements
    /// with 0 in their place, and each sum and each product may be wrong by up to 2^-126 more.
    ///
    /// # Errors
    /// [`Kind::Shape`](fencepost_core::Kind::Shape) if the shapes differ, or `out` does not have exactly one element;
    /// [`Kind::Padding`](fencepost_core::Kind::Padding) if an array is padded; the errors of a launch, and the queue's own error.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::InnerProduct;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, y) = (ctx.array(&[1.0_f32, 2.0, 3.0])?, ctx.array(&[4.0_f32, 0.5, -1.0])?);
    /// let mut product = ctx.zeros([1])?;
    /// queue.dot(&x, &y, &mut product)?;
    /// assert_eq!(queue.read(&product).wait()?, [2.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn dot<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        y: &DeviceArray<T, D>,
        out: &mut DeviceArray<T>,
    ) -> Result<()>;

    /// *Enqueues* the product as [`dot`](Self::dot) does, and returns it to the host.
    ///
    /// # Errors
    /// The [`Pending`] returns the errors of [`dot`](Self::dot).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::InnerProduct;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = ctx.array(&[1_u32, 2, 3])?;
    /// assert_eq!(queue.dot_of(&x, &x).wait()?, 14);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn dot_of<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        y: &DeviceArray<T, D>,
    ) -> Pending<T>;

    /// *Enqueues* out = the square root of the sum of the squares of `x`. The norm of no elements is 0.
    ///
    /// # Error bound
    /// The relative error is at most `d u`, with `d` = 36 + n / 2^21 for n elements and `u` as for [`dot`](Self::dot), if the sum
    /// of the squares is a normal number. Elements from about 2^64 on give an infinite norm, and those below 2^-63 may give 0.
    ///
    /// # Errors
    /// Returns the errors of [`dot`](Self::dot).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::InnerProduct;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut norm = ctx.zeros([1])?;
    /// queue.norm(&ctx.array(&[3.0, -4.0])?, &mut norm)?;
    /// assert_eq!(queue.read(&norm).wait()?, [5.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn norm<const D: usize>(&self, x: &DeviceArray<f32, D>, out: &mut DeviceArray<f32>) -> Result<()>;

    /// *Enqueues* the norm as [`norm`](Self::norm) does, and returns it to the host.
    ///
    /// # Errors
    /// The [`Pending`] returns the errors of [`dot`](Self::dot).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::InnerProduct;
    /// # let (ctx, queue) = fencepost::doctest();
    /// assert_eq!(queue.norm_of(&ctx.full([2, 2], 1.5)?).wait()?, 3.0);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn norm_of<const D: usize>(&self, x: &DeviceArray<f32, D>) -> Pending<f32>;

    /// *Enqueues* out = the mean of the elements of `x`.
    ///
    /// # Error bound
    /// The error is that of the [sum](crate::Reduce::sum), divided by the number of elements, and 5 `u` of the result more. If
    /// the sum of some of the elements, in any order, exceeds the largest number, the mean may be infinite or a NaN. A device
    /// that takes subnormal numbers as 0 gives 0 for a mean below 2^-126.
    ///
    /// # Errors
    /// Returns the errors of [`dot`](Self::dot), and [`Kind::Shape`](fencepost_core::Kind::Shape) if `x` has no element.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::InnerProduct;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut mean = ctx.zeros([1])?;
    /// queue.mean(&ctx.array(&[1.0, 2.0, 6.0, 3.0])?, &mut mean)?;
    /// assert_eq!(queue.read(&mean).wait()?, [3.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn mean<const D: usize>(&self, x: &DeviceArray<f32, D>, out: &mut DeviceArray<f32>) -> Result<()>;

    /// *Enqueues* the mean as [`mean`](Self::mean) does, and returns it to the host.
    ///
    /// # Errors
    /// The [`Pending`] returns the errors of [`mean`](Self::mean).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::InnerProduct;
    /// # let (ctx, queue) = fencepost::doctest();
    /// assert_eq!(queue.mean_of(&ctx.array(&[0.5, 1.5])?).wait()?, 1.0);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn mean_of<const D: usize>(&self, x: &DeviceArray<f32, D>) -> Pending<f32>;
}

impl InnerProduct for CommandQueue {
    #[track_caller]
    fn dot<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        y: &DeviceArray<T, D>,
        out: &mut DeviceArray<T>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "dot");
        dot(queue, x, y, out)
    }

    #[track_caller]
    fn dot_of<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        y: &DeviceArray<T, D>,
    ) -> Pending<T> {
        let queue = &VerbQueue::new(self, "dot_of");
        value_of!(queue, "dot(&x, &y, &mut out)", out => dot(queue, x, y, &mut out))
    }

    #[track_caller]
    fn norm<const D: usize>(&self, x: &DeviceArray<f32, D>, out: &mut DeviceArray<f32>) -> Result<()> {
        let queue = &VerbQueue::new(self, "norm");
        norm(queue, x, out)
    }

    #[track_caller]
    fn norm_of<const D: usize>(&self, x: &DeviceArray<f32, D>) -> Pending<f32> {
        let queue = &VerbQueue::new(self, "norm_of");
        value_of!(queue, "norm(&x, &mut out)", out => norm(queue, x, &mut out))
    }

    #[track_caller]
    fn mean<const D: usize>(&self, x: &DeviceArray<f32, D>, out: &mut DeviceArray<f32>) -> Result<()> {
        let queue = &VerbQueue::new(self, "mean");
        mean(queue, x, out)
    }

    #[track_caller]
    fn mean_of<const D: usize>(&self, x: &DeviceArray<f32, D>) -> Pending<f32> {
        let queue = &VerbQueue::new(self, "mean_of");
        value_of!(queue, "mean(&x, &mut out)", out => mean(queue, x, &mut out))
    }
}

#[track_caller]
fn dot<T: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<T, D>,
    y: &DeviceArray<T, D>,
    out: &mut DeviceArray<T>,
) -> Result<()> {
    one_shape(queue, x, y)?;
    let mut out = one_element(queue, "out", out)?;
    let x = x.reshape([x.len()])?;
    let y = y.reshape([y.len()])?;
    if x.is_empty() {
        check(queue, &[("x", &x.cast_bits()), ("y", &y.cast_bits())], &[("out", &out.cast_bits())])?;
        return queue.fill(&mut out, T::identity(Operation::Sum));
    }
    let products = kernel::<T>(queue, false)?;
    let sum = T::kernel(queue, Operation::Sum, Nan::Propagate, None)?;
    passes::enqueue(queue, &Dot { products, sum, x: &x, y: &y }, x.len(), &mut out)
}

/// Returns an error if the arrays of an inner product differ in their shapes.
pub(crate) fn one_shape<T: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<T, D>,
    y: &DeviceArray<T, D>,
) -> Result<()> {
    if x.shape() == y.shape() {
        return Ok(());
    }
    Err(queue.wrong_shape("y", y, x.shape(), "the arrays of an inner product have one shape"))
}

#[track_caller]
fn norm<const D: usize>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<f32, D>,
    out: &mut DeviceArray<f32>,
) -> Result<()> {
    let mut out = one_element(queue, "out", out)?;
    let x = x.reshape([x.len()])?;
    if x.is_empty() {
        check(queue, &[("x", &x.cast_bits())], &[("out", &out.cast_bits())])?;
        return queue.fill(&mut out, 0.0);
    }
    let squares = kernel::<f32>(queue, Shares::of(x.len()).count == 1)?;
    let root = FinishedSum::new(queue, Finish::Root, x.len())?;
    passes::enqueue(queue, &Norm { squares, root, x: &x }, x.len(), &mut out)
}

#[track_caller]
fn mean<const D: usize>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<f32, D>,
    out: &mut DeviceArray<f32>,
) -> Result<()> {
    let mut out = one_element(queue, "out", out)?;
    if x.is_empty() {
        return passes::no_element(queue, x, "pass at least one element, because no elements have no mean");
    }
    let x = x.reshape([x.len()])?;
    let quotient = FinishedSum::new(queue, Finish::Divide, x.len())?;
    let wide = wide(queue, Operation::Sum, Nan::Propagate, Shares::of(x.len()), &x)?;
    let sum = f32::kernel(queue, Operation::Sum, Nan::Propagate, None)?;
    passes::enqueue(queue, &Mean { sum, wide, quotient, x: &x }, x.len(), &mut out)
}

fn kernel<T: Reducible>(queue: &VerbQueue<'_>, root: bool) -> Result<DynKernel> {
    typed_kernel::compiled::<T>(queue, "inner_product", &tuned(queue, &[("ROOT", f64::from(root))]))
}

#[track_caller]
fn products<T: Reducible>(
    queue: &VerbQueue<'_>,
    kernel: &DynKernel,
    shares: Shares,
    x: &DeviceArray<T>,
    y: &DeviceArray<T>,
    out: &mut DeviceArray<T>,
) -> Result<()> {
    let [n, share] = [shares.elements, shares.share].map(|n| n as u32);
    let args = [
        value("n", n),
        value("share", share),
        (Some("x".into()), x.into_arg()),
        (Some("y".into()), y.into_arg()),
        (Some("out".into()), out.into_arg()),
    ];
    launch_dyn(queue, kernel, shares.count, args)
}

struct Dot<'a, T: Reducible> {
    products: DynKernel,
    sum: T::Kernel,
    x: &'a DeviceArray<T>,
    y: &'a DeviceArray<T>,
}

impl<T: Reducible> Passes for Dot<'_, T> {
    type Partial = T;

    fn first(&self, queue: &VerbQueue<'_>, shares: Shares, out: &mut DeviceArray<T>) -> Result<()> {
        products(queue, &self.products, shares, self.x, self.y, out)
    }

    fn last(
        &self,
        queue: &VerbQueue<'_>,
        shares: Shares,
        partials: &DeviceArray<T>,
        out: &mut DeviceArray<T>,
    ) -> Result<()> {
        T::launch(queue, &self.sum, Operation::Sum, shares, partials, out)
    }
}

struct Norm<'a> {
    squares: DynKernel,
    root: FinishedSum,
    x: &'a DeviceArray<f32>,
}

impl Passes for Norm<'_> {
    type Partial = f32;

    fn first(&self, queue: &VerbQueue<'_>, shares: Shares, out: &mut DeviceArray<f32>) -> Result<()> {
        products(queue, &self.squares, shares, self.x, self.x, out)
    }

    fn last(
        &self,
        queue: &VerbQueue<'_>,
        shares: Shares,
        partials: &DeviceArray<f32>,
        out: &mut DeviceArray<f32>,
    ) -> Result<()> {
        self.root.launch(queue, shares, partials, out)
    }
}

struct Mean<'a> {
    sum: <f32 as Combine>::Kernel,
    /// Kernel with loads of several elements for each share, if the device gains by it.
    wide: Option<Wide>,
    quotient: FinishedSum,
    x: &'a DeviceArray<f32>,
}

impl Passes for Mean<'_> {
    type Partial = f32;

    fn first(&self, queue: &VerbQueue<'_>, shares: Shares, out: &mut DeviceArray<f32>) -> Result<()> {
        if shares.count == 1 {
            return self.quotient.launch(queue, shares, self.x, out);
        }
        if let Some(wide) = &self.wide {
            return wide.launch(queue, 1, shares, out);
        }
        f32::launch(queue, &self.sum, Operation::Sum, shares, self.x, out)
    }

    fn last(
        &self,
        queue: &VerbQueue<'_>,
        shares: Shares,
        partials: &DeviceArray<f32>,
        out: &mut DeviceArray<f32>,
    ) -> Result<()> {
        self.quotient.launch(queue, shares, partials, out)
    }
}
