//! The verbs, as one trait. A trait must be in one file, so this one is long; more than half of it is documentation.
//! The code of each verb is in the module of its family.

use crate::channels::{ChannelElement, ConvolveChannels};
use crate::convolution::Convolve;
use crate::count::Comparison;
use crate::distribution::Distribution;
use crate::factors::Triangle;
use crate::fft_plan::{FftPlan, RealFftPlan};
use crate::filter::Filter;
use crate::flagger::SumThresholdFlagger;
use crate::histogram::Bins;
use crate::inputs::Inputs;
use crate::matmul::{Factor, Matmul};
use crate::monoid::Associative;
use crate::quantile::Quantiles;
use crate::random::Philox;
use crate::rearrange::Outside;
use crate::reducible::{Operation, Reducible};
use crate::reductions::Floats;
use crate::rolling::Rolling;
use crate::scan::Scan;
use crate::select::Kept;
use crate::sort::Sort;
use crate::sorted::Side;
use crate::sparse::{Csr, MatmulSparse};
use crate::stft::{StftPlan, Welch};
use crate::sum_threshold::SumThreshold;
use crate::systems::Triangular;
use crate::verb_queue::VerbQueue;
use crate::{
    by_key, channels, convolution, eigen, elementwise, factors, fft, fft_shift, filter, flagger, histogram,
    map, matmul, quantile, random, rearrange, reductions, rolling, scan, select, sort, sorted, sparse, stft,
    strided, sum_threshold, systems, top, weighted,
};
use fencepost_core::{
    Candidates, CommandQueue, ComplexNumber, DeviceArray, Element, Matrices, Over, Pending, Prefix, Result,
    Strides, Terms,
};

/// Algorithms on arrays, as verbs of a [`CommandQueue`].
///
/// An argument says what a verb works on: `&x` is a whole array, in C order; [`x.axis(k)`](DeviceArray::axis),
/// [`x.segments(&offsets)`](DeviceArray::segments) and [`x.first(&count)`](DeviceArray::first) are parts of it. A
/// parameter of type [`Over`], [`Candidates`], [`Terms`] or [`Floats`] accepts all of them; a [`Prefix`] accepts whole
/// arrays and first elements.
///
/// Results of `f32` are the same in each run on one device. A sum, a mean, a norm and an inner product of
/// [`x.determinism(Determinism::Everywhere)`](DeviceArray::determinism) are the same on all devices, and so is a product
/// of matrices with [`Matmul::determinism`].
///
/// Elements are `f32`, `i32` or `u32`; some verbs also take vectors or structs. The crate documentation lists [costs,
/// error bounds and sources](crate#costs-error-bounds-and-sources).
///
/// # Shape
/// The result of a reduction has one element for a whole array or for first elements, and one element per segment for
/// segments. Along an axis, it has the shape of the array, but with length 1 along the axis. Counts and totals have one
/// element. All other arrays of a call have the same shape, unless the verb says otherwise. With first elements,
/// results after those of the first elements are not written.
///
/// # Errors
/// Every verb returns [`ErrorDetail::Shape`](fencepost_core::ErrorDetail::Shape) for an array with a wrong shape,
/// [`ErrorDetail::Axis`](fencepost_core::ErrorDetail::Axis) for an axis that the array does not have,
/// [`ErrorDetail::Padding`](fencepost_core::ErrorDetail::Padding) for a padded array,
/// [`ErrorDetail::Value`](fencepost_core::ErrorDetail::Value) for an option out of range, the errors of a launch, and
/// the queue's own error. A refused verb enqueues nothing.
pub trait Algorithms: sealed::Queue {
    /// Enqueues `out = sum(x)`. Integers wrap, and the sum of no elements is 0.
    ///
    /// [`Determinism::Everywhere`](fencepost_core::Determinism::Everywhere) gives the exact sum of `f32`, rounded once to
    /// the nearest one: so its bits are the same on each device and for each order of the elements. A sum beyond the
    /// largest number is infinite, and a sum of 0 is +0. An infinite element makes the sum infinite; a NaN, or
    /// infinities of both signs, make it a NaN.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = ctx.full([300, 200], 0.5_f32)?;
    /// let (mut total, mut of_columns) = (ctx.zeros([1])?, ctx.zeros([1, 200])?);
    /// queue.sum(&x, &mut total)?;
    /// queue.sum(x.axis(0), &mut of_columns)?;
    /// assert_eq!(queue.read(&total).wait()?, [30_000.0]);
    /// assert_eq!(queue.read(&of_columns).wait()?, [150.0; 200]);
    ///
    /// let x = ctx.array(&[1e30_f32, 1.0, -1e30])?;
    /// queue.sum(x.determinism(Determinism::Everywhere), &mut total)?;
    /// assert_eq!(queue.read(&total).wait()?, [1.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn sum<'a, T: Reducible, const D: usize, const E: usize>(
        &self,
        x: impl Into<Terms<'a, T, D>>,
        out: &mut DeviceArray<T, E>,
    ) -> Result<()> {
        reductions::sum(&VerbQueue::new(self.queue(), "sum")?, x.into(), out)
    }

    /// Enqueues `out = prod(x)`. Integers wrap, and the product of no elements is 1.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut product = ctx.zeros([1])?;
    /// queue.prod(&ctx.array(&[2.0_f32, 3.0, 0.5])?, &mut product)?;
    /// assert_eq!(queue.read(&product).wait()?, [3.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn prod<'a, T: Reducible, const D: usize, const E: usize>(
        &self,
        x: impl Into<Over<'a, T, D>>,
        out: &mut DeviceArray<T, E>,
    ) -> Result<()> {
        reductions::built_in(&VerbQueue::new(self.queue(), "prod")?, Operation::Product, x.into().into(), out)
    }

    /// Enqueues `out = min(x)`; -0 is smaller than +0. A NaN makes the result a NaN, unless
    /// [`skip_nan`](DeviceArray::skip_nan) ignores NaNs. An array or an axis must have at least one element. An empty
    /// segment, or a count of 0 first elements, gives the largest value of the type (infinity for `f32`);
    /// `x.first(&count).skip_nan()` gives a NaN if there is no number.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = ctx.array(&[3.0, f32::NAN, -7.0, 5.0])?;
    /// let (mut least, offsets, mut of_halves) = (ctx.zeros([1])?, ctx.array(&[0, 2, 4])?, ctx.zeros([2])?);
    /// queue.min(x.skip_nan(), &mut least)?;
    /// queue.min(x.segments(&offsets).skip_nan(), &mut of_halves)?;
    /// assert_eq!(queue.read(&least).wait()?, [-7.0]);
    /// assert_eq!(queue.read(&of_halves).wait()?, [3.0, -7.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn min<'a, T: Reducible, const D: usize, const E: usize>(
        &self,
        x: impl Into<Candidates<'a, T, D>>,
        out: &mut DeviceArray<T, E>,
    ) -> Result<()> {
        reductions::built_in(&VerbQueue::new(self.queue(), "min")?, Operation::Smallest, x.into(), out)
    }

    /// Enqueues `out = max(x)`, with the rules of [`min`](Self::min). An empty segment, or a count of 0 first elements,
    /// gives the smallest value of the type (minus infinity for `f32`).
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut most = ctx.zeros([1])?;
    /// queue.max(&ctx.array(&[3_u32, 7, 5])?, &mut most)?;
    /// assert_eq!(queue.read(&most).wait()?, [7]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn max<'a, T: Reducible, const D: usize, const E: usize>(
        &self,
        x: impl Into<Candidates<'a, T, D>>,
        out: &mut DeviceArray<T, E>,
    ) -> Result<()> {
        reductions::built_in(&VerbQueue::new(self.queue(), "max")?, Operation::Largest, x.into(), out)
    }

    /// Enqueues `out` = the elements combined by an [`Operation`] or a [`Monoid`](crate::Monoid). A monoid need not be
    /// commutative, because the order of the elements is kept; with no elements, the result is its identity. Its
    /// elements may be vectors, except in segments.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = ctx.array(&[3_u32, 1, 4, 1])?.reshape([2, 2])?;
    /// let (mut all, mut of_rows) = (ctx.zeros([1])?, ctx.zeros([2, 1])?);
    /// queue.reduce(&x, Monoid::new("a ^ b", 0), &mut all)?;
    /// queue.reduce(x.axis(1), Operation::Product, &mut of_rows)?;
    /// assert_eq!(queue.read(&all).wait()?, [3 ^ 1 ^ 4 ^ 1]);
    /// assert_eq!(queue.read(&of_rows).wait()?, [3, 4]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn reduce<'a, T: Element, const D: usize, const E: usize>(
        &self,
        x: impl Into<Over<'a, T, D>>,
        operation: impl Associative<T>,
        out: &mut DeviceArray<T, E>,
    ) -> Result<()> {
        reductions::combined(&VerbQueue::new(self.queue(), "reduce")?, x.into(), operation, out)
    }

    /// Enqueues `out = mean(x)`. An array or an axis must have at least one element. An empty segment, or a count of 0
    /// first elements, gives a NaN. [`Determinism::Everywhere`](fencepost_core::Determinism::Everywhere) gives the
    /// exact [sum](Self::sum), divided by the number of elements and rounded once.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut mean = ctx.zeros([1])?;
    /// queue.mean(&ctx.array(&[1.0, 2.0, 6.0])?, &mut mean)?;
    /// assert_eq!(queue.read(&mean).wait()?, [3.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn mean<'a, const D: usize, const E: usize>(
        &self,
        x: impl Floats<'a, D>,
        out: &mut DeviceArray<f32, E>,
    ) -> Result<()> {
        reductions::mean(&VerbQueue::new(self.queue(), "mean")?, x.into(), out)
    }

    /// Enqueues `out` = the square root of the sum of the squares. The norm of no elements is 0.
    /// [`Determinism::Everywhere`](fencepost_core::Determinism::Everywhere) gives the exact root, rounded once: so no
    /// square is too large or too small, and only a root beyond the largest number is infinite.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut norm = ctx.zeros([1])?;
    /// queue.norm(&ctx.array(&[3.0, -4.0])?, &mut norm)?;
    /// assert_eq!(queue.read(&norm).wait()?, [5.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn norm<'a, const D: usize, const E: usize>(
        &self,
        x: impl Floats<'a, D>,
        out: &mut DeviceArray<f32, E>,
    ) -> Result<()> {
        reductions::norm(&VerbQueue::new(self.queue(), "norm")?, x.into(), out)
    }

    /// Enqueues `out = sum(x * y)`. The parts of `y` are those of `x`. Integers wrap, and the result for no elements is
    /// 0.
    ///
    /// [`Determinism::Everywhere`](fencepost_core::Determinism::Everywhere) gives the exact sum of the exact products of
    /// `f32`, rounded once. A product of infinity and 0 makes it a NaN; the other rules are those of the
    /// [sum](Self::sum).
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, y) = (ctx.array(&[1_i32, 2, 3])?, ctx.array(&[4, -5, 6])?);
    /// let mut out = ctx.zeros([1])?;
    /// queue.dot(&x, &y, &mut out)?;
    /// assert_eq!(queue.read(&out).wait()?, [12]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn dot<'a, T: Reducible, const D: usize, const E: usize>(
        &self,
        x: impl Into<Terms<'a, T, D>>,
        y: &DeviceArray<T, D>,
        out: &mut DeviceArray<T, E>,
    ) -> Result<()> {
        reductions::dot(&VerbQueue::new(self.queue(), "dot")?, x.into(), y, out)
    }

    /// Enqueues `out` = the number of elements that are not zero. -0 is zero; a NaN and a subnormal number
    /// are not.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut count = ctx.zeros([1])?;
    /// queue.count_nonzero(&ctx.array(&[0.0_f32, -0.0, 2.5, f32::NAN])?, &mut count)?;
    /// assert_eq!(queue.read(&count).wait()?, [2]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn count_nonzero<'a, T: Reducible, const D: usize, const E: usize>(
        &self,
        x: impl Into<Over<'a, T, D>>,
        out: &mut DeviceArray<u32, E>,
    ) -> Result<()> {
        reductions::compared(
            &VerbQueue::new(self.queue(), "count_nonzero")?,
            Comparison::Count,
            x.into(),
            out,
        )
    }

    /// Enqueues `out` = 1 if any element is not zero, else 0. The result for no elements is 0.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, count, mut any) = (ctx.array(&[0_u32, 0, 5])?, ctx.array(&[2])?, ctx.zeros([1])?);
    /// queue.any(x.first(&count), &mut any)?;
    /// assert_eq!(queue.read(&any).wait()?, [0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn any<'a, T: Reducible, const D: usize, const E: usize>(
        &self,
        x: impl Into<Over<'a, T, D>>,
        out: &mut DeviceArray<u32, E>,
    ) -> Result<()> {
        reductions::compared(&VerbQueue::new(self.queue(), "any")?, Comparison::Any, x.into(), out)
    }

    /// Enqueues `out` = 1 if no element is zero, else 0. The result for no elements is 1.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut all = ctx.zeros([1])?;
    /// queue.all(&ctx.array(&[1_u32, 7, 2])?, &mut all)?;
    /// assert_eq!(queue.read(&all).wait()?, [1]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn all<'a, T: Reducible, const D: usize, const E: usize>(
        &self,
        x: impl Into<Over<'a, T, D>>,
        out: &mut DeviceArray<u32, E>,
    ) -> Result<()> {
        reductions::compared(&VerbQueue::new(self.queue(), "all")?, Comparison::All, x.into(), out)
    }

    /// Enqueues `out` = the place of the smallest element: the number of elements before it in the array, along the
    /// axis or in the segment. Of equal elements, the first one counts; -0 equals +0. A NaN counts as smaller than all
    /// numbers, unless [`skip_nan`](DeviceArray::skip_nan) ignores NaNs. If all elements are NaNs, the result is 0 in
    /// both cases. An array or an axis must have at least one element. An empty segment, or a count of 0 first
    /// elements, gives `u32::MAX`.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut place = ctx.zeros([1])?;
    /// queue.argmin(&ctx.array(&[3.0_f32, -1.0, 4.0, -1.0])?, &mut place)?;
    /// assert_eq!(queue.read(&place).wait()?, [1]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn argmin<'a, T: Reducible, const D: usize, const E: usize>(
        &self,
        x: impl Into<Candidates<'a, T, D>>,
        out: &mut DeviceArray<u32, E>,
    ) -> Result<()> {
        reductions::place(&VerbQueue::new(self.queue(), "argmin")?, false, x.into(), out)
    }

    /// Enqueues `out` = the place of the largest element, with the rules of [`argmin`](Self::argmin), except that a NaN
    /// counts as larger than all numbers.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = ctx.array(&[1_i32, 7, 5, 6])?.reshape([2, 2])?;
    /// let mut places = ctx.zeros([1, 2])?;
    /// queue.argmax(x.axis(0), &mut places)?;
    /// assert_eq!(queue.read(&places).wait()?, [1, 0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn argmax<'a, T: Reducible, const D: usize, const E: usize>(
        &self,
        x: impl Into<Candidates<'a, T, D>>,
        out: &mut DeviceArray<u32, E>,
    ) -> Result<()> {
        reductions::place(&VerbQueue::new(self.queue(), "argmax")?, true, x.into(), out)
    }

    /// Enqueues `out` = each element combined with all elements before it, or with all after it if the scan is
    /// [reversed](Scan::reversed). Each segment is scanned separately, and so are the elements along an axis for each
    /// index of the other axes. The elements before the first offset, and from the last offset on, are segments too.
    /// Elements may be vectors, except in segments and along an axis.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = ctx.array(&[3_u32, 1, 4, 1])?.reshape([2, 2])?;
    /// let mut out = ctx.zeros([2, 2])?;
    /// queue.scan(&x, &mut out, Scan::inclusive(Operation::Sum))?;
    /// assert_eq!(queue.read(&out).wait()?, [3, 4, 8, 9]);
    /// queue.scan(x.axis(0), &mut out, Scan::inclusive(Operation::Sum))?;
    /// assert_eq!(queue.read(&out).wait()?, [3, 1, 7, 2]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn scan<'a, T: Element, O: Associative<T>, const D: usize>(
        &self,
        x: impl Into<Over<'a, T, D>>,
        out: &mut DeviceArray<T, D>,
        scan: Scan<T, O>,
    ) -> Result<()> {
        scan::scan(&VerbQueue::new(self.queue(), "scan")?, x.into(), out, scan)
    }

    /// Enqueues a [`scan`](Self::scan), and `total` = the initial value combined with all elements.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (mut out, mut total) = (ctx.zeros([3])?, ctx.zeros([1])?);
    /// let sums = Scan::exclusive(Operation::Sum);
    /// queue.scan_and_total(&ctx.array(&[3_u32, 1, 4])?, &mut out, &mut total, sums)?;
    /// assert_eq!(queue.read(&out).wait()?, [0, 3, 4]);
    /// assert_eq!(queue.read(&total).wait()?, [8]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn scan_and_total<'a, T: Element, O: Associative<T>, const D: usize>(
        &self,
        x: impl Into<Prefix<'a, T, D>>,
        out: &mut DeviceArray<T, D>,
        total: &mut DeviceArray<T>,
        scan: Scan<T, O>,
    ) -> Result<()> {
        scan::scan_and_total(&VerbQueue::new(self.queue(), "scan_and_total")?, x.into(), out, total, scan)
    }

    /// Enqueues a [`scan`](Self::scan) of a whole array that writes to the array itself.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut x = ctx.array(&[2.0_f32, -1.0, 0.5])?;
    /// queue.scan_in_place(&mut x, Scan::inclusive(Operation::Product).from(10.0))?;
    /// assert_eq!(queue.read(&x).wait()?, [20.0, -20.0, -10.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn scan_in_place<T: Element, O: Associative<T>, const D: usize>(
        &self,
        x: &mut DeviceArray<T, D>,
        scan: Scan<T, O>,
    ) -> Result<()> {
        scan::scan_in_place(&VerbQueue::new(self.queue(), "scan_in_place")?, x, scan)
    }

    /// Enqueues a [`scan`](Self::scan) of each run separately. A run is a sequence of neighbours whose keys have equal
    /// bits. A reversed scan begins at the last element of each run.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (keys, x) = (ctx.array(&[7, 7, 2, 2, 7])?, ctx.array(&[1_u32, 2, 3, 4, 5])?);
    /// let mut out = ctx.zeros([5])?;
    /// queue.scan_by_key(&keys, &x, &mut out, Scan::inclusive(Operation::Sum))?;
    /// assert_eq!(queue.read(&out).wait()?, [1, 3, 3, 7, 5]);
    /// queue.scan_by_key(&keys, &x, &mut out, Scan::exclusive(Operation::Sum).from(10).reversed())?;
    /// assert_eq!(queue.read(&out).wait()?, [12, 10, 14, 10, 10]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn scan_by_key<'a, K: Reducible, T: Reducible, O: Associative<T>, const D: usize>(
        &self,
        keys: impl Into<Prefix<'a, K, D>>,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<T, D>,
        scan: Scan<T, O>,
    ) -> Result<()> {
        by_key::scan_by_key(&VerbQueue::new(self.queue(), "scan_by_key")?, keys.into(), x, out, scan)
    }

    /// Enqueues `kept` = the key of each run of keys with equal bits, `out` = the combined elements of each run, and
    /// `count` = the number of runs. `kept` and `out` are as long as `x`; their elements beyond the number of runs do
    /// not change.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (keys, x) = (ctx.array(&[7, 7, 2, 2, 7])?, ctx.array(&[1_u32, 2, 3, 4, 5])?);
    /// let (mut kept, mut out, mut count) = (ctx.zeros([5])?, ctx.zeros([5])?, ctx.zeros([1])?);
    /// queue.reduce_by_key(&keys, &x, Operation::Sum, &mut kept, &mut out, &mut count)?;
    /// assert_eq!(queue.read(&kept).wait()?, [7, 2, 7, 0, 0]);
    /// assert_eq!(queue.read(&out).wait()?, [3, 7, 5, 0, 0]);
    /// assert_eq!(queue.read(&count).wait()?, [3]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn reduce_by_key<'a, K: Reducible, T: Reducible, const D: usize>(
        &self,
        keys: impl Into<Prefix<'a, K, D>>,
        x: &DeviceArray<T, D>,
        operation: impl Associative<T>,
        kept: &mut DeviceArray<K>,
        out: &mut DeviceArray<T>,
        count: &mut DeviceArray<u32>,
    ) -> Result<()> {
        by_key::reduce_by_key(
            &VerbQueue::new(self.queue(), "reduce_by_key")?,
            keys.into(),
            x,
            operation,
            kept,
            out,
            count,
        )
    }

    /// Enqueues `kept` = the element of each run of elements with equal bits, `lengths` = the length of each run, and
    /// `count` = the number of runs. `kept` and `lengths` are as long as `x`; their elements beyond the number of runs
    /// do not change.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (mut kept, mut lengths, mut count) = (ctx.zeros([5])?, ctx.zeros([5])?, ctx.zeros([1])?);
    /// queue.run_lengths(&ctx.array(&[7.0_f32, 7.0, 2.0, 2.0, 7.0])?, &mut kept, &mut lengths, &mut count)?;
    /// assert_eq!(queue.read(&kept).wait()?, [7.0, 2.0, 7.0, 0.0, 0.0]);
    /// assert_eq!(queue.read(&lengths).wait()?, [2, 2, 1, 0, 0]);
    /// assert_eq!(queue.read(&count).wait()?, [3]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn run_lengths<'a, T: Reducible, const D: usize>(
        &self,
        x: impl Into<Prefix<'a, T, D>>,
        kept: &mut DeviceArray<T>,
        lengths: &mut DeviceArray<u32>,
        count: &mut DeviceArray<u32>,
    ) -> Result<()> {
        by_key::run_lengths(&VerbQueue::new(self.queue(), "run_lengths")?, x.into(), kept, lengths, count)
    }

    /// Enqueues `out` = the sorted elements: of the whole array, of each segment, or along the axis for each index of
    /// the other axes. The elements before the first offset, and from the last offset on, are segments too. Sorts are
    /// stable, even in descending order. Floats are ordered as by `f32::total_cmp`: -0 before +0, and NaNs without the
    /// sign bit last.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = ctx.array(&[4.0_f32, -1.0, 3.0, 7.0])?.reshape([2, 2])?;
    /// let mut out = ctx.zeros([2, 2])?;
    /// queue.sort(&x, &mut out, Sort::ascending())?;
    /// assert_eq!(queue.read(&out).wait()?, [-1.0, 3.0, 4.0, 7.0]);
    /// queue.sort(x.axis(1), &mut out, Sort::descending())?;
    /// assert_eq!(queue.read(&out).wait()?, [4.0, -1.0, 7.0, 3.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn sort<'a, T: Reducible, const D: usize>(
        &self,
        x: impl Into<Over<'a, T, D>>,
        out: &mut DeviceArray<T, D>,
        sort: Sort,
    ) -> Result<()> {
        sort::sort(&VerbQueue::new(self.queue(), "sort")?, x.into(), out, sort)
    }

    /// Enqueues a [`sort`](Self::sort) of an array that writes to the array itself.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut x = ctx.array(&[3_i32, -7, 5])?;
    /// queue.sort_in_place(&mut x, Sort::descending())?;
    /// assert_eq!(queue.read(&x).wait()?, [5, 3, -7]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn sort_in_place<T: Reducible>(&self, x: &mut DeviceArray<T>, sort: Sort) -> Result<()> {
        sort::sort_in_place(&VerbQueue::new(self.queue(), "sort_in_place")?, x, sort)
    }

    /// Enqueues `out_keys` = the sorted keys, as [`sort`](Self::sort) does, and `out_values` = the values in the order
    /// of their keys.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (keys, values) = (ctx.array(&[2_u32, 1, 2])?, ctx.array(&[0.5_f32, 1.5, 2.5])?);
    /// let (mut out_keys, mut out_values) = (ctx.zeros([3])?, ctx.zeros([3])?);
    /// queue.sort_pairs(&keys, &values, &mut out_keys, &mut out_values, Sort::ascending())?;
    /// assert_eq!(queue.read(&out_keys).wait()?, [1, 2, 2]);
    /// assert_eq!(queue.read(&out_values).wait()?, [1.5, 0.5, 2.5]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn sort_pairs<'a, T: Reducible, V: Reducible, const D: usize>(
        &self,
        keys: impl Into<Prefix<'a, T, D>>,
        values: &DeviceArray<V, D>,
        out_keys: &mut DeviceArray<T, D>,
        out_values: &mut DeviceArray<V, D>,
        sort: Sort,
    ) -> Result<()> {
        let out = [&out_keys.cast_bits(), &out_values.cast_bits()];
        sort::sort_pairs(&VerbQueue::new(self.queue(), "sort_pairs")?, keys.into(), values, out, sort)
    }

    /// Enqueues a sort of keys and values that writes to the same arrays.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (mut keys, mut values) = (ctx.array(&[2_u32, 1, 2])?, ctx.array(&[10_i32, 20, 30])?);
    /// queue.sort_pairs_in_place(&mut keys, &mut values, Sort::ascending())?;
    /// assert_eq!(queue.read(&values).wait()?, [20, 10, 30]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn sort_pairs_in_place<T: Reducible, V: Reducible>(
        &self,
        keys: &mut DeviceArray<T>,
        values: &mut DeviceArray<V>,
        sort: Sort,
    ) -> Result<()> {
        sort::sort_pairs_in_place(&VerbQueue::new(self.queue(), "sort_pairs_in_place")?, keys, values, sort)
    }

    /// Enqueues `places` = for each element that [`sort`](Self::sort) writes, its place: the number of elements before it
    /// in the array, along the axis or in the segment.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, mut places) = (ctx.array(&[3_u32, 1, 4, 1])?, ctx.zeros([4])?);
    /// queue.argsort(&x, &mut places, Sort::ascending())?;
    /// assert_eq!(queue.read(&places).wait()?, [1, 3, 0, 2]);
    /// let (table, mut of_columns) = (x.reshape([2, 2])?, ctx.zeros([2, 2])?);
    /// queue.argsort(table.axis(0), &mut of_columns, Sort::descending())?;
    /// assert_eq!(queue.read(&of_columns).wait()?, [1, 0, 0, 1]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn argsort<'a, T: Reducible, const D: usize>(
        &self,
        x: impl Into<Over<'a, T, D>>,
        places: &mut DeviceArray<u32, D>,
        sort: Sort,
    ) -> Result<()> {
        sort::argsort(&VerbQueue::new(self.queue(), "argsort")?, x.into(), places, sort)
    }

    /// Enqueues `values` = the k largest elements of `x`, the largest first, and `places` = their places: of the array,
    /// along the axis or in each segment. Of equal elements, earlier ones come first. If there are fewer first elements
    /// than k, or fewer elements in a segment, the results after theirs are not written: a program that reads the
    /// results then needs the number of elements too.
    ///
    /// The order is that of a [`sort`](Self::sort): a NaN is larger than infinity, and a NaN with a sign smaller than
    /// -infinity. No NaN is left out.
    ///
    /// # Shape
    /// For a whole array and for first elements, k is the length of both results, and at most that of the array. Along
    /// an axis, the results have the shape of `x`, but length k along the axis. For segments, they have the shape
    /// `[segments, k]`.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = ctx.array(&[3.0_f32, 7.0, -1.0, 7.0])?;
    /// let (mut values, mut places) = (ctx.zeros([3])?, ctx.zeros([3])?);
    /// queue.top_k(&x, &mut values, &mut places)?;
    /// assert_eq!(queue.read(&values).wait()?, [7.0, 7.0, 3.0]);
    /// assert_eq!(queue.read(&places).wait()?, [1, 3, 0]);
    ///
    /// let count = ctx.array(&[2])?;
    /// queue.top_k(x.first(&count), &mut values, &mut places)?;
    /// assert_eq!(queue.read(&values.slice(0..2)?).wait()?, [7.0, 3.0]);
    ///
    /// let (table, mut of_rows, mut columns) = (x.reshape([2, 2])?, ctx.zeros([2, 1])?, ctx.zeros([2, 1])?);
    /// queue.top_k(table.axis(1), &mut of_rows, &mut columns)?;
    /// assert_eq!(queue.read(&of_rows).wait()?, [7.0, 7.0]);
    /// assert_eq!(queue.read(&columns).wait()?, [1, 1]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn top_k<'a, T: Reducible, const D: usize, const E: usize>(
        &self,
        x: impl Into<Over<'a, T, D>>,
        values: &mut DeviceArray<T, E>,
        places: &mut DeviceArray<u32, E>,
    ) -> Result<()> {
        top::top_k(&VerbQueue::new(self.queue(), "top_k")?, x.into(), values, places)
    }

    /// Enqueues `out` = the element at place `k` of the sorted array, so that `k` = 0 is the smallest. `out` has one
    /// element, and `k` is below the length of the array. If there are at most `k` first elements, `out` is not
    /// written. NaNs are sorted too, as for [`top_k`](Self::top_k).
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, mut median) = (ctx.array(&[3_u32, 9, 1, 4, 4])?, ctx.zeros([1])?);
    /// queue.kth(&x, 2, &mut median)?;
    /// assert_eq!(queue.read(&median).wait()?, [4]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn kth<'a, T: Reducible>(
        &self,
        x: impl Into<Prefix<'a, T>>,
        k: usize,
        out: &mut DeviceArray<T>,
    ) -> Result<()> {
        top::kth(&VerbQueue::new(self.queue(), "kth")?, x.into(), k, out)
    }

    /// Enqueues `out` = the median: the middle element of the sorted elements, or the mean of the two in the middle. A
    /// mean of integers is rounded down. A NaN makes the result a NaN, unless [`skip_nan`](DeviceArray::skip_nan)
    /// leaves NaNs out. An array or an axis must have at least one element. An empty segment, or a count of 0 first
    /// elements, gives a NaN, or 0 for integers.
    ///
    /// The mean of numbers is within `u` of the result, and 2^-126 more if one is below 2^-125. It does not overflow;
    /// that of infinities of both signs is a NaN.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = ctx.array(&[3.0, 9.0, f32::NAN, 1.0, 4.0, 5.0])?.reshape([2, 3])?;
    /// let mut of_rows = ctx.zeros([2, 1])?;
    /// queue.median(x.axis(1).skip_nan(), &mut of_rows)?;
    /// assert_eq!(queue.read(&of_rows).wait()?, [6.0, 4.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn median<'a, T: Reducible, const D: usize, const E: usize>(
        &self,
        x: impl Into<Candidates<'a, T, D>>,
        out: &mut DeviceArray<T, E>,
    ) -> Result<()> {
        let queue = VerbQueue::new(self.queue(), "median")?;
        quantile::quantile(&queue, x.into(), Quantiles::at(0.5), out)
    }

    /// Enqueues `out` = a quantile, or several, with the rules of [`median`](Self::median) for NaNs and for no
    /// elements. By default, a quantile between two elements is interpolated; a
    /// [`QuantileMethod`](crate::QuantileMethod) is one of NumPy's other definitions. Integers are rounded down.
    ///
    /// An element is exact. A number between two of `f32` is within 4 `u` times the larger magnitude, and not outside
    /// of the two; it is infinite if one of them is.
    ///
    /// # Shape
    /// For one quantile, `out` has the shape of a reduction. For a list of k quantiles, a first axis of length k comes
    /// before it; for a whole array, `out` has k elements.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = ctx.array(&[1.0_f32, 2.0, 3.0, 5.0, 10.0, 20.0, 30.0, 50.0])?.reshape([2, 4])?;
    /// let (mut first, mut both) = (ctx.zeros([2, 1])?, ctx.zeros([2, 2, 1])?);
    /// queue.quantile(x.axis(1), 0.25, &mut first)?;
    /// assert_eq!(queue.read(&first).wait()?, [1.75, 17.5]);
    /// let ends = Quantiles::several(&[0.1, 0.9]).method(QuantileMethod::Lower);
    /// queue.quantile(x.axis(1), ends, &mut both)?;
    /// assert_eq!(queue.read(&both).wait()?, [1.0, 10.0, 3.0, 30.0]);      // 0.1 of both rows, then 0.9
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn quantile<'a, 'q, T: Reducible, const D: usize, const E: usize>(
        &self,
        x: impl Into<Candidates<'a, T, D>>,
        quantiles: impl Into<Quantiles<'q>>,
        out: &mut DeviceArray<T, E>,
    ) -> Result<()> {
        let queue = VerbQueue::new(self.queue(), "quantile")?;
        quantile::quantile(&queue, x.into(), quantiles.into(), out)
    }

    /// Enqueues `out` = the median absolute deviation: the [`median`](Self::median) of the magnitudes of the
    /// differences from the median. For normal numbers, it is the standard deviation divided by 1.4826.
    ///
    /// An element equal to the median differs by 0, even if both are infinite. Each difference is rounded once.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut deviation = ctx.zeros([1])?;
    /// queue.mad(&ctx.array(&[1.0_f32, 2.0, 4.0, 7.0, 1000.0])?, &mut deviation)?;
    /// assert_eq!(queue.read(&deviation).wait()?, [3.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn mad<'a, const D: usize, const E: usize>(
        &self,
        x: impl Into<Candidates<'a, f32, D>>,
        out: &mut DeviceArray<f32, E>,
    ) -> Result<()> {
        quantile::mad(&VerbQueue::new(self.queue(), "mad")?, x.into(), out)
    }

    /// Enqueues `out` = the median, the smallest or the largest element of the window around each element, as
    /// [`Rolling`] says. A NaN makes the results of its windows NaNs, unless the windows leave NaNs out. A window
    /// without elements gives a NaN, or 0 for integers.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let noisy = ctx.array(&[0_u32, 0, 0, 0, 9, 7, 0, 7, 7])?.reshape([3, 3])?;
    /// let mut out = ctx.zeros([3, 3])?;
    /// queue.rolling(&noisy, &mut out, Rolling::median([3, 3]))?;          // a median filter of a picture
    /// assert_eq!(queue.read(&out).wait()?, [0, 0, 3, 0, 0, 7, 3, 7, 7]);
    /// queue.rolling(&noisy, &mut out, Rolling::max([3, 1]))?;             // along the first axis
    /// assert_eq!(queue.read(&out).wait()?, [0, 9, 7, 0, 9, 7, 0, 9, 7]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn rolling<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<T, D>,
        rolling: Rolling<'_, D>,
    ) -> Result<()> {
        rolling::rolling(&VerbQueue::new(self.queue(), "rolling")?, x, out, rolling)
    }

    /// Enqueues `flags` = a number that is not 0 for each element of `x` in a window with a sum above its threshold,
    /// else 0, as [`SumThreshold`] says. In a window, an element that a shorter window flagged counts as the threshold
    /// of an element. Windows lie inside the array. A sum that is a NaN is not above a threshold.
    ///
    /// # Shape
    /// `flags` has the shape of `x`, and so has `noise`, but with length 1 along the axis.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = ctx.array(&[1.0_f32, 9.0, 1.0, 0.0, 3.5, 3.5])?.reshape([2, 3])?;
    /// let noise = ctx.array(&[2.0_f32, 1.0])?.reshape([2, 1])?;
    /// let mut flags = ctx.zeros([2, 3])?;
    /// queue.sum_threshold(&x, &noise, &mut flags, SumThreshold::along(1, 4.0))?;
    /// assert_eq!(queue.read(&flags).wait()?, [0, 1, 0, 0, 1, 1]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn sum_threshold<const D: usize>(
        &self,
        x: &DeviceArray<f32, D>,
        noise: &DeviceArray<f32, D>,
        flags: &mut DeviceArray<u32, D>,
        options: SumThreshold,
    ) -> Result<()> {
        let queue = VerbQueue::new(self.queue(), "sum_threshold")?;
        sum_threshold::sum_threshold(&queue, x, noise, flags, options)
    }

    /// Enqueues `out` = 1 for each sample with interference, else 0. The first axis of `x` is the time, the second one the
    /// frequency, and each index of the other axes is a series of its own, such as a baseline. The samples are
    /// amplitudes, of which only the magnitude counts.
    ///
    /// A sample with interference deviates from a smooth background by more than the noise of its part of the band, alone
    /// or as one of a window along the time or the frequency, or its channel does so in the medians over time. The flags
    /// around it, and those of times and channels with many of them, are added, as [`SumThresholdFlagger`] says.
    ///
    /// Samples with a flag in `known`, infinite ones and NaNs are left out of the medians, the backgrounds and the noise.
    /// In windows, an averaged sample without any other counts as 0, so that it is usually flagged. An infinite sample
    /// and a NaN are always flagged. The sum of a window must not be infinite.
    ///
    /// # Shape
    /// `known` and `out` have the shape of `x`, which has two axes or more.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::Value`](fencepost_core::ErrorDetail::Value) for an option that is out of its range, and for
    /// more than 65,000 averaged channels. The larger spike width in samples, times the number of iterations, is at most
    /// 1,182.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// // 8 times of 32 channels: between 0.9 and 1.1, but for one time of channel 20.
    /// let sample = |i: usize| if i == 5 * 32 + 20 { 3.0 } else { 0.9 + 0.2 * (i * 7 % 11) as f32 / 10.0 };
    /// let x = ctx.array(&(0..256).map(sample).collect::<Vec<f32>>())?.reshape([8, 32])?;
    /// let (known, mut out) = (ctx.zeros([8, 32])?, ctx.zeros([8, 32])?);
    /// let options = SumThresholdFlagger::default().freq_chunks(1).spike_width(3.0, 3.0).extend(1, 3);
    /// queue.flag_interference(&x, &known, &mut out, options)?;
    /// let flags = queue.read(&out).wait()?;
    /// assert_eq!(flags[5 * 32..][18..23], [0, 1, 1, 1, 0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn flag_interference<const D: usize>(
        &self,
        x: &DeviceArray<f32, D>,
        known: &DeviceArray<u32, D>,
        out: &mut DeviceArray<u32, D>,
        options: SumThresholdFlagger<'_>,
    ) -> Result<()> {
        let queue = VerbQueue::new(self.queue(), "flag_interference")?;
        flagger::flag_interference(&queue, x, known, out, options)
    }

    /// Enqueues `places` = for each query, the place where it could be inserted into the sorted array `x`: the number
    /// of elements before it. If `x` is not sorted, the results are unspecified. `queries` may have any shape. If `x`
    /// is first elements, each query has a result, which is at most their number. NaNs are sorted too, as for
    /// [`top_k`](Self::top_k).
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, queries) = (ctx.array(&[1.0_f32, 2.0, 2.0, 4.0])?, ctx.array(&[2.0, 3.0, 9.0])?);
    /// let mut places = ctx.zeros([3])?;
    /// queue.searchsorted(&x, &queries, Side::Left, &mut places)?;
    /// assert_eq!(queue.read(&places).wait()?, [1, 3, 4]);
    /// queue.searchsorted(&x, &queries, Side::Right, &mut places)?;
    /// assert_eq!(queue.read(&places).wait()?, [3, 3, 4]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn searchsorted<'a, T: Reducible, const D: usize>(
        &self,
        x: impl Into<Prefix<'a, T>>,
        queries: &DeviceArray<T, D>,
        side: Side,
        places: &mut DeviceArray<u32, D>,
    ) -> Result<()> {
        sorted::searchsorted(&VerbQueue::new(self.queue(), "searchsorted")?, x.into(), queries, side, places)
    }

    /// Enqueues `out` = the elements of the sorted arrays `x` and `y` in ascending order. `out` is as long as both
    /// together. If `x` or `y` is not sorted, the results are unspecified.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, y, mut out) = (ctx.array(&[1_i32, 4])?, ctx.array(&[-2, 4, 9])?, ctx.zeros([5])?);
    /// queue.merge(&x, &y, &mut out)?;
    /// assert_eq!(queue.read(&out).wait()?, [-2, 1, 4, 4, 9]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn merge<T: Reducible>(
        &self,
        x: &DeviceArray<T>,
        y: &DeviceArray<T>,
        out: &mut DeviceArray<T>,
    ) -> Result<()> {
        sorted::merge(&VerbQueue::new(self.queue(), "merge")?, x, y, out)
    }

    /// Enqueues `out` = the elements whose `mask` is not zero, in order, and `count` = their number. `out` is as long
    /// as `x`; its elements beyond `count` do not change.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, mask) = (ctx.array(&[3.0_f32, -1.0, 4.0])?, ctx.array(&[1_u32, 0, 7])?);
    /// let (mut out, mut count) = (ctx.zeros([3])?, ctx.zeros([1])?);
    /// queue.select(&x, &mask, &mut out, &mut count)?;
    /// assert_eq!(queue.read(&out).wait()?, [3.0, 4.0, 0.0]);
    /// assert_eq!(queue.read(&count).wait()?, [2]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn select<'a, T: Reducible, const D: usize>(
        &self,
        x: impl Into<Prefix<'a, T, D>>,
        mask: &DeviceArray<u32, D>,
        out: &mut DeviceArray<T>,
        count: &mut DeviceArray<u32>,
    ) -> Result<()> {
        select::masked(&VerbQueue::new(self.queue(), "select")?, Kept::Masked, x.into(), mask, out, count)
    }

    /// Enqueues `out` = the elements whose `mask` is not zero, followed by the others, both in order, and `count` = the
    /// number of the former. `out` is as long as `x`.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, mask) = (ctx.array(&[3, -1, 4])?, ctx.array(&[1_u32, 0, 1])?);
    /// let (mut out, mut count) = (ctx.zeros([3])?, ctx.zeros([1])?);
    /// queue.partition(&x, &mask, &mut out, &mut count)?;
    /// assert_eq!(queue.read(&out).wait()?, [3, 4, -1]);
    /// assert_eq!(queue.read(&count).wait()?, [2]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn partition<'a, T: Reducible, const D: usize>(
        &self,
        x: impl Into<Prefix<'a, T, D>>,
        mask: &DeviceArray<u32, D>,
        out: &mut DeviceArray<T>,
        count: &mut DeviceArray<u32>,
    ) -> Result<()> {
        select::masked(
            &VerbQueue::new(self.queue(), "partition")?,
            Kept::MaskedFirst,
            x.into(),
            mask,
            out,
            count,
        )
    }

    /// Enqueues `out` = the places of the elements that are not zero, as [`select`](Self::select) does, and
    /// `count` = their number. -0 is zero; a NaN and a subnormal number are not.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (mut places, mut count) = (ctx.zeros([4])?, ctx.zeros([1])?);
    /// queue.nonzero(&ctx.array(&[-0.0_f32, 2.0, 0.0, f32::NAN])?, &mut places, &mut count)?;
    /// assert_eq!(queue.read(&places).wait()?, [1, 3, 0, 0]);
    /// assert_eq!(queue.read(&count).wait()?, [2]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn nonzero<'a, T: Reducible, const D: usize>(
        &self,
        x: impl Into<Prefix<'a, T, D>>,
        out: &mut DeviceArray<u32>,
        count: &mut DeviceArray<u32>,
    ) -> Result<()> {
        select::nonzero(&VerbQueue::new(self.queue(), "nonzero")?, x.into(), out, count)
    }

    /// Enqueues `out` = the first element and all elements whose bits differ from those of the element before, as
    /// [`select`](Self::select) does, and `count` = their number. In a sorted array, each value is kept once.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (mut out, mut count) = (ctx.zeros([5])?, ctx.zeros([1])?);
    /// queue.unique(&ctx.array(&[2, 2, 5, 5, 2])?, &mut out, &mut count)?;
    /// assert_eq!(queue.read(&out).wait()?, [2, 5, 2, 0, 0]);
    /// assert_eq!(queue.read(&count).wait()?, [3]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn unique<'a, T: Reducible, const D: usize>(
        &self,
        x: impl Into<Prefix<'a, T, D>>,
        out: &mut DeviceArray<T>,
        count: &mut DeviceArray<u32>,
    ) -> Result<()> {
        select::unique(&VerbQueue::new(self.queue(), "unique")?, x.into(), out, count)
    }

    /// Enqueues `out[i]` = the value of a WGSL expression of the inputs and of the place `i` in C order, a `u32`. With
    /// one array, its element is `x`; [`Inputs`] names up to six arrays, and values that change without another kernel.
    /// The expression can use the functions and types of WGSL, and no other names. A mistake in it is
    /// [`ErrorDetail::Kernel`](fencepost_core::ErrorDetail::Kernel), with its line. The value must have the element
    /// type of `out`, so a comparison needs `u32(..)` or `select(..)`. NaNs and infinities [differ between
    /// devices](crate#elementwise-and-expressions).
    ///
    /// Elements are `f32`, `i32`, `u32`, vectors and lists of these numbers, matrices of `f32`, and structs of these. A
    /// struct has the name and the members that it has in Rust, without those for padding. Values are numbers and
    /// vectors. Each array and `out` need a storage buffer: a call that needs more of them than the device has is
    /// [`ErrorDetail::TooManyBindings`](fencepost_core::ErrorDetail::TooManyBindings).
    ///
    /// # Shape
    /// Each array repeats to the shape of `out`, as in NumPy: counted from the last axis, each of its axes has the
    /// length of that of `out`, or length 1. First elements are those of an array with the shape of `out`;
    /// [`Inputs::first`] selects the first results of a list, whose arrays repeat.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, mut y) = (ctx.array(&[1.0_f32, 2.0, 3.0])?, ctx.zeros::<f32, 1>([3])?);
    /// queue.map(&x, "x * 2.0 + f32(i)", &mut y)?;
    /// assert_eq!(queue.read(&y).wait()?, [2.0, 5.0, 8.0]);
    ///
    /// let (bias, mut table) = (ctx.array(&[10.0_f32, 20.0])?.reshape([2, 1])?, ctx.zeros::<f32, 2>([2, 3])?);
    /// queue.map(args![x = &x, bias = &bias, by = 0.5_f32], "x * by + bias", &mut table)?;
    /// assert_eq!(queue.read(&table).wait()?, [10.5, 11.0, 11.5, 20.5, 21.0, 21.5]);
    ///
    /// let error = queue.map(&x, "x * z", &mut y).unwrap_err();
    /// assert!(error.to_string().ends_with("  | x * z\n  |     ^"), "{error}");
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn map<'a, U: Element, const D: usize>(
        &self,
        inputs: impl Into<Inputs<'a>>,
        expression: &str,
        out: &mut DeviceArray<U, D>,
    ) -> Result<()> {
        let inputs: Inputs<'a> = inputs.into();
        map::map(&VerbQueue::new(self.queue(), "map")?, &inputs, expression, out)
    }

    /// Enqueues a [`map`](Self::map) that writes to one of its inputs: `&mut x`, or the one array that a list of inputs
    /// passes by `&mut`. The other arrays repeat to its shape.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (mut x, v) = (ctx.array(&[[0.0_f32, 1.0], [2.0, 3.0]])?, ctx.array(&[[1.0_f32, -1.0]])?);
    /// queue.map_in_place(&mut x, "2.0 * x")?;
    /// queue.map_in_place(args![x = &mut x, v = &v, dt = 0.5_f32], "x + v * dt")?;
    /// assert_eq!(queue.read(&x).wait()?, [[0.5, 1.5], [4.5, 5.5]]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn map_in_place<'a>(&self, inputs: impl Into<Inputs<'a>>, expression: &str) -> Result<()> {
        let inputs: Inputs<'a> = inputs.into();
        map::map_in_place(&VerbQueue::new(self.queue(), "map_in_place")?, &inputs, expression)
    }

    /// Enqueues `out[i]` = the value of an expression of `x`, `y` and `i`, as [`map`](Self::map) does with
    /// `args![x = &x, y = &y]`. Of first elements of `x`, only their results are written.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, y) = (ctx.array(&[1.0_f32, 2.0])?, ctx.array(&[3_u32, 1])?);
    /// let mut out = ctx.zeros::<u32, 1>([2])?;
    /// queue.zip(&x, &y, "select(y, 0u, x > 1.5)", &mut out)?;
    /// assert_eq!(queue.read(&out).wait()?, [3, 0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn zip<'a, T: Element, V: Element, U: Element, const D: usize, const E: usize, const F: usize>(
        &self,
        x: impl Into<Prefix<'a, T, D>>,
        y: &'a DeviceArray<V, E>,
        expression: &str,
        out: &mut DeviceArray<U, F>,
    ) -> Result<()> {
        map::map(&VerbQueue::new(self.queue(), "zip")?, &Inputs::pair(x.into(), y), expression, out)
    }

    /// Enqueues `out[i] = start + i * step`, with the elements counted in C order. Integers wrap.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut x = ctx.zeros([2, 2])?;
    /// queue.iota(&mut x, 1.0_f32, 0.5)?;
    /// assert_eq!(queue.read(&x).wait()?, [1.0, 1.5, 2.0, 2.5]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn iota<T: Reducible, const D: usize>(
        &self,
        out: &mut DeviceArray<T, D>,
        start: T,
        step: T,
    ) -> Result<()> {
        elementwise::iota(&VerbQueue::new(self.queue(), "iota")?, out, start, step)
    }

    /// Enqueues `y[i] = a * x[i] + y[i]`. Integers wrap.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, mut y) = (ctx.array(&[1.0_f32, 2.0])?, ctx.full([2], 10.0_f32)?);
    /// queue.axpy(3.0, &x, &mut y)?;
    /// assert_eq!(queue.read(&y).wait()?, [13.0, 16.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn axpy<T: Reducible, const D: usize>(
        &self,
        a: T,
        x: &DeviceArray<T, D>,
        y: &mut DeviceArray<T, D>,
    ) -> Result<()> {
        elementwise::axpy(&VerbQueue::new(self.queue(), "axpy")?, a, x, y)
    }

    /// Enqueues `out` = the elements of `x`, converted as by Rust's operator `as`. A float loses its fraction. If the
    /// float is out of range, the result is the nearest integer; for a NaN, 0. Between `i32` and `u32`, the bits are
    /// kept.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, mut y) = (ctx.array(&[2.9_f32, -1e20, f32::NAN])?, ctx.zeros::<i32, 1>([3])?);
    /// queue.cast(&x, &mut y)?;
    /// assert_eq!(queue.read(&y).wait()?, [2, i32::MIN, 0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn cast<'a, T: Reducible, U: Reducible, const D: usize>(
        &self,
        x: impl Into<Prefix<'a, T, D>>,
        out: &mut DeviceArray<U, D>,
    ) -> Result<()> {
        elementwise::cast(&VerbQueue::new(self.queue(), "cast")?, x.into(), out)
    }

    /// Enqueues `out` = the elements of `x`, but `low` for those below `low`, and `high` for those above `high`. A NaN
    /// stays a NaN, and a NaN as a limit has no effect. If `low` is above `high`, elements below `low` become `low`.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, mut y) = (ctx.array(&[-3_i32, 5, 300])?, ctx.zeros([3])?);
    /// queue.clamp(&x, 0, 255, &mut y)?;
    /// assert_eq!(queue.read(&y).wait()?, [0, 5, 255]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn clamp<'a, T: Reducible, const D: usize>(
        &self,
        x: impl Into<Prefix<'a, T, D>>,
        low: T,
        high: T,
        out: &mut DeviceArray<T, D>,
    ) -> Result<()> {
        elementwise::clamp(&VerbQueue::new(self.queue(), "clamp")?, x.into(), low, high, out)
    }

    /// Enqueues `out[i] = x[i]` where `mask[i]` is not zero, else `y[i]`.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, y, mask) = (ctx.array(&[1.0_f32, 2.0])?, ctx.zeros([2])?, ctx.array(&[0_u32, 1])?);
    /// let mut out = ctx.zeros([2])?;
    /// queue.where_(&mask, &x, &y, &mut out)?;
    /// assert_eq!(queue.read(&out).wait()?, [0.0, 2.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn where_<'a, T: Reducible, const D: usize>(
        &self,
        mask: &DeviceArray<u32, D>,
        x: impl Into<Prefix<'a, T, D>>,
        y: &DeviceArray<T, D>,
        out: &mut DeviceArray<T, D>,
    ) -> Result<()> {
        elementwise::where_(&VerbQueue::new(self.queue(), "where_")?, mask, x.into(), y, out)
    }

    /// Enqueues `out[i] = x[places[i]]`. The places count the elements of `x` in C order. `out` has the shape
    /// of `places`.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, places) = (ctx.array(&[10, 11, 12])?, ctx.array(&[2_u32, 0, 9])?);
    /// let mut out = ctx.zeros([3])?;
    /// queue.gather(&x, &places, Outside::Zero, &mut out)?;
    /// assert_eq!(queue.read(&out).wait()?, [12, 10, 0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn gather<'a, T: Reducible, const D: usize, const E: usize>(
        &self,
        x: &DeviceArray<T, D>,
        places: impl Into<Prefix<'a, u32, E>>,
        outside: Outside,
        out: &mut DeviceArray<T, E>,
    ) -> Result<()> {
        rearrange::gather(&VerbQueue::new(self.queue(), "gather")?, x, places.into(), outside, out)
    }

    /// Enqueues `out[places[i]] = x[i]`. The places count the elements of `out` in C order; elements with a place
    /// outside `out` are ignored. If several elements have the same place, `out` gets any of them. `out` may have any
    /// shape.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, places) = (ctx.array(&[10, 11, 12])?, ctx.array(&[2_u32, 0, 9])?);
    /// let mut out = ctx.full([4], -1)?;
    /// queue.scatter(&x, &places, &mut out)?;
    /// assert_eq!(queue.read(&out).wait()?, [11, -1, 10, -1]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn scatter<'a, T: Reducible, const D: usize, const E: usize>(
        &self,
        x: impl Into<Prefix<'a, T, E>>,
        places: &DeviceArray<u32, E>,
        out: &mut DeviceArray<T, D>,
    ) -> Result<()> {
        rearrange::scatter(&VerbQueue::new(self.queue(), "scatter")?, x.into(), places, out)
    }

    /// Enqueues `out[places[i]] += x[i]`. All elements of `x` are added, even if they have the same place, and sums of
    /// integers wrap. Elements with a place outside `out` are ignored. `out` may have any shape.
    ///
    /// With `f32`, an element of `out` becomes the exact sum of itself and all that is added to it, rounded once to the
    /// nearest `f32`. So its bits are the same on each device and for each order of the elements; the rules of a
    /// [sum](Self::sum) that is the same everywhere hold. An element to which only zeros are added keeps its bits, and
    /// so does one with added elements whose exact sum is 0.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, places) = (ctx.array(&[1, 2, 4])?, ctx.array(&[2_u32, 0, 2])?);
    /// let mut out = ctx.full([3], 10)?;
    /// queue.scatter_add(&x, &places, &mut out)?;
    /// assert_eq!(queue.read(&out).wait()?, [12, 10, 15]);
    ///
    /// let (x, mut out) = (ctx.array(&[1e30_f32, 0.25, -1e30])?, ctx.full([3], 0.5)?);
    /// queue.scatter_add(&x, &ctx.array(&[2_u32, 2, 2])?, &mut out)?;
    /// assert_eq!(queue.read(&out).wait()?, [0.5, 0.5, 0.75]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn scatter_add<'a, T: Reducible, const D: usize, const E: usize>(
        &self,
        x: impl Into<Prefix<'a, T, E>>,
        places: &DeviceArray<u32, E>,
        out: &mut DeviceArray<T, D>,
    ) -> Result<()> {
        rearrange::scatter_add(&VerbQueue::new(self.queue(), "scatter_add")?, x.into(), places, out)
    }

    /// Enqueues `out` = `x` with rows and columns exchanged.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = ctx.array(&[1, 2, 3, 4, 5, 6])?.reshape([2, 3])?;
    /// let mut out = ctx.zeros([3, 2])?;
    /// queue.transpose(&x, &mut out)?;
    /// assert_eq!(queue.read(&out).wait()?, [1, 4, 2, 5, 3, 6]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn transpose<T: Reducible>(&self, x: &DeviceArray<T, 2>, out: &mut DeviceArray<T, 2>) -> Result<()> {
        rearrange::permute(&VerbQueue::new(self.queue(), "transpose")?, x, [1, 0], out)
    }

    /// Enqueues `out` = `x` with its axes permuted: axis `k` of `out` is axis `axes[k]` of `x`.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = ctx.zeros::<f32, 4>([8, 3, 16, 20])?;           // pictures, colours, rows, columns
    /// let mut out = ctx.zeros([8, 16, 20, 3])?;
    /// queue.permute(&x, [0, 2, 3, 1], &mut out)?;             // pictures, rows, columns, colours
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn permute<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        axes: [usize; D],
        out: &mut DeviceArray<T, D>,
    ) -> Result<()> {
        rearrange::permute(&VerbQueue::new(self.queue(), "permute")?, x, axes, out)
    }

    /// Enqueues `out[destination(i)] = x[source(i)]` for each index `i` of the shape. Each of the two places is given
    /// by [`Strides`]; a source stride of 0 repeats elements, and a negative stride reverses an axis. See also
    /// [`copy_region`](CommandQueue::copy_region).
    ///
    /// # Shape
    /// `x` and `out` may have any shapes. At most six axes of the copy may have more than one element. The stride of
    /// each axis of `out` must be longer than the extent of all axes with shorter strides, so that no two elements have
    /// the same place.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, mut out) = (ctx.array(&[1_u32, 2, 3])?, ctx.zeros([8])?);
    /// let repeated = Strides { first: 0, strides: [0, 1] };
    /// let spread = Strides { first: 1, strides: [4, 1] };
    /// queue.copy_strided([2, 3], &x, repeated, &mut out, spread)?;
    /// assert_eq!(queue.read(&out).wait()?, [0, 1, 2, 3, 0, 1, 2, 3]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn copy_strided<T: Reducible, const R: usize, const D: usize, const E: usize>(
        &self,
        shape: [usize; R],
        x: &DeviceArray<T, D>,
        from: Strides<R>,
        out: &mut DeviceArray<T, E>,
        to: Strides<R>,
    ) -> Result<()> {
        strided::copy_strided(&VerbQueue::new(self.queue(), "copy_strided")?, shape, x, from, out, to)
    }

    /// Enqueues `out` = the products of the matrices of `a` and `b`, or with the [options](Matmul), `out` =
    /// activation(`alpha` a b + `beta` `out` + `bias`). An argument for a factor can be `&a`,
    /// [`a.transposed()`](DeviceArray::transposed), or [`a.matrices(shape, strides)`](DeviceArray::matrices).
    ///
    /// The elements are `f32`, `i32` or `u32`; `half::f16` with results of `half::f16` or `f32`; or `i8` with results
    /// of `i32`. Integers wrap. Sums of `half::f16` are sums of `f32`, rounded once at the end. If there are no
    /// products, because `a` has no columns, each sum is 0.
    ///
    /// [`Matmul::determinism`] gives results of `f32` the same bits on each device: each is the exact sum of the exact
    /// products, rounded once, by the rules of [`sum`](Self::sum). A product of infinity and 0 makes it a NaN.
    ///
    /// # Shape
    /// `a` is `[.., m, k]`, `b` is `[.., k, n]` and `out` is `[.., m, n]`. A vector `[k]` is a row on the left and a
    /// column on the right, and its axis is left out of the results. The axes before the last two repeat to those of
    /// `out`, by the rules of [`map`](Self::map); at most three groups of them may move differently. All arrays but the
    /// bias may be padded; the padding of `out` is not written.
    ///
    /// # Errors
    /// Besides the errors of all verbs, [`ErrorDetail::Unsupported`](fencepost_core::ErrorDetail::Unsupported) for
    /// `half::f16` if the device has no such numbers, and [`ErrorDetail::Kernel`](fencepost_core::ErrorDetail::Kernel)
    /// for an activation that is not one expression of the right type.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let a = ctx.array(&[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?.reshape([2, 3])?;
    /// let b = ctx.array(&[1.0_f32, 0.0, 0.0, 1.0, 2.0, 2.0])?.reshape([3, 2])?;
    /// let mut out = ctx.zeros([2, 2])?;
    /// queue.matmul(&a, &b, &mut out, Matmul::default())?;
    /// assert_eq!(queue.read(&out).wait()?, [7.0, 8.0, 16.0, 17.0]);
    /// queue.matmul(&a, a.transposed(), &mut out, Matmul::default().beta(1.0))?;
    /// assert_eq!(queue.read(&out).wait()?, [21.0, 40.0, 48.0, 94.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn matmul<T: Factor<P>, P: Element, const E: usize>(
        &self,
        a: impl Into<Matrices<T>>,
        b: impl Into<Matrices<T>>,
        out: &mut DeviceArray<P, E>,
        options: Matmul<'_, T::Sum, P>,
    ) -> Result<()> {
        matmul::matmul(&VerbQueue::new(self.queue(), "matmul")?, [a.into(), b.into()], out, options)
    }

    /// Enqueues `out` = the Cholesky factors of the symmetric matrices of `a`: with [`Triangle::Lower`], the lower
    /// triangle L with `a` = L times its transpose; with [`Triangle::Upper`], the upper triangle U with `a` = the
    /// transpose of U times U. Only this triangle of `a` is read. The other triangle of `out` has zeros.
    ///
    /// `info` = 0 for each matrix that is positive definite. For each other one, it is the number of the first row,
    /// counted from 1, at which the factorization fails, and its factor has NaNs: the last pivot is not positive, is
    /// below 2^-126, or is a NaN.
    ///
    /// # Shape
    /// `a` and `out` are `[.., n, n]`, with n up to 128. The axes before the last two repeat to those of `out`; at most
    /// three groups of them may move differently. `info` has the shape of these axes, or one element for a single
    /// matrix. Matrices may be padded; the padding of `out` is not written.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let a = ctx.array(&[4.0_f32, 2.0, 2.0, 5.0, 1.0, 2.0, 2.0, 1.0])?.reshape([2, 2, 2])?;
    /// let (mut factors, mut info) = (ctx.zeros([2, 2, 2])?, ctx.zeros([2])?);
    /// queue.cholesky(&a, &mut factors, &mut info, Triangle::Lower)?;
    /// assert_eq!(queue.read(&info).wait()?, [0, 2]);      // the second matrix is not positive definite
    /// let found = queue.read(&factors).wait()?;
    /// for (found, expected) in found.iter().zip([2.0, 0.0, 1.0, 2.0]) {
    ///     assert!((found - expected).abs() < 1e-5);
    /// }
    /// assert!(found[7].is_nan());
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn cholesky<const E: usize, const F: usize>(
        &self,
        a: impl Into<Matrices<f32>>,
        out: &mut DeviceArray<f32, E>,
        info: &mut DeviceArray<u32, F>,
        triangle: Triangle,
    ) -> Result<()> {
        factors::cholesky(&VerbQueue::new(self.queue(), "cholesky")?, a.into(), out, info, triangle)
    }

    /// Enqueues `out` and `order` = the triangular factors of the matrices of `a`: L U = the rows of `a` in the order
    /// `order`. U is on the diagonal of `out` and above it, L below it, and the diagonal of L has ones. The pivot of
    /// each step is the element with the largest magnitude, and the first one if there are several.
    ///
    /// `info` = 0, or the number of the first row of U, counted from 1, whose element on the diagonal is 0, or below
    /// 2^-126. Then the matrix is singular, and the factors are those of the other rows.
    ///
    /// # Shape
    /// `a` and `out` are `[.., n, n]`, with n up to 128, and `order` is `[.., n]`. Otherwise as
    /// [`cholesky`](Self::cholesky).
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let a = ctx.array(&[1.0_f32, 2.0, 4.0, 4.0])?.reshape([2, 2])?;
    /// let (mut factors, mut order, mut info) = (ctx.zeros([2, 2])?, ctx.zeros([2])?, ctx.zeros([1])?);
    /// queue.lu(&a, &mut factors, &mut order, &mut info)?;
    /// assert_eq!(queue.read(&order).wait()?, [1, 0]);
    /// assert_eq!(queue.read(&factors).wait()?, [4.0, 4.0, 0.25, 1.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn lu<const E: usize, const F: usize, const G: usize>(
        &self,
        a: impl Into<Matrices<f32>>,
        out: &mut DeviceArray<f32, E>,
        order: &mut DeviceArray<u32, F>,
        info: &mut DeviceArray<u32, G>,
    ) -> Result<()> {
        factors::lu(&VerbQueue::new(self.queue(), "lu")?, &a.into(), out, order, info)
    }

    /// Enqueues `q` and `r` = factors of the matrices of `a`: q r = `a`. The columns of `q` are orthonormal, and `r` is
    /// an upper triangle with zeros below the diagonal. As in LAPACK, elements on the diagonal of `r` may be negative.
    ///
    /// # Shape
    /// `a` is `[.., m, n]`, `q` is `[.., m, k]` and `r` is `[.., k, n]`, with m and n up to 128, and k the smaller of m
    /// and n. Otherwise as [`cholesky`](Self::cholesky).
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let a = ctx.array(&[3.0_f32, 1.0, 4.0, 3.0, 0.0, 2.0])?.reshape([3, 2])?;
    /// let (mut q, mut r) = (ctx.zeros([3, 2])?, ctx.zeros([2, 2])?);
    /// queue.qr(&a, &mut q, &mut r)?;
    /// let mut product = ctx.zeros([3, 2])?;
    /// queue.matmul(&q, &r, &mut product, Matmul::default())?;
    /// for (found, expected) in queue.read(&product).wait()?.iter().zip([3.0, 1.0, 4.0, 3.0, 0.0, 2.0]) {
    ///     assert!((found - expected).abs() < 1e-5);
    /// }
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn qr<const E: usize, const F: usize>(
        &self,
        a: impl Into<Matrices<f32>>,
        q: &mut DeviceArray<f32, E>,
        r: &mut DeviceArray<f32, F>,
    ) -> Result<()> {
        factors::qr(&VerbQueue::new(self.queue(), "qr")?, &a.into(), q, r)
    }

    /// Enqueues `out` = the solutions x of `a` x = `b`, for each matrix and each column of `b`.
    ///
    /// `info` = 0, or the `info` of [`lu`](Self::lu) for a singular matrix, whose solutions are NaNs. To solve again
    /// with the same matrices, use their factors: the example of [`Triangular`].
    ///
    /// # Shape
    /// `a` is `[.., n, n]`, with n up to 128, and `b` and `out` are `[.., n, k]`. A `b` with one axis is one column,
    /// and its solutions are `[.., n]`. The axes before the last two repeat to those of `out`. Otherwise as
    /// [`cholesky`](Self::cholesky).
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let a = ctx.array(&[2.0_f32, 4.0, 4.0, 4.0, 1.0, 2.0, 2.0, 4.0])?.reshape([2, 2, 2])?;
    /// let (b, mut x, mut info) = (ctx.array(&[4.0_f32, 8.0])?, ctx.zeros([2, 2])?, ctx.zeros([2])?);
    /// queue.solve(&a, &b, &mut x, &mut info)?;            // the same right side for both matrices
    /// let found = queue.read(&x).wait()?;
    /// assert!((found[0] - 2.0).abs() < 1e-5 && found[1].abs() < 1e-5);
    /// assert_eq!(queue.read(&info).wait()?, [0, 2]);      // the second matrix is singular
    /// assert!(found[2].is_nan());
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn solve<const E: usize, const F: usize>(
        &self,
        a: impl Into<Matrices<f32>>,
        b: impl Into<Matrices<f32>>,
        out: &mut DeviceArray<f32, E>,
        info: &mut DeviceArray<u32, F>,
    ) -> Result<()> {
        systems::solve(&VerbQueue::new(self.queue(), "solve")?, &a.into(), &b.into(), out, info)
    }

    /// Enqueues `out` = the solutions x of `a` x = `b`, of which `a` is a [triangle](Triangular).
    ///
    /// `info` = 0, or the number of the first element on the diagonal, counted from 1, that is 0, or below 2^-126. The
    /// solutions of such a matrix are NaNs.
    ///
    /// # Shape
    /// As [`solve`](Self::solve).
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let a = ctx.array(&[2.0_f32, 0.0, 1.0, 4.0])?.reshape([2, 2])?;
    /// let (b, mut x, mut info) = (ctx.array(&[2.0_f32, 9.0])?, ctx.zeros([2])?, ctx.zeros([1])?);
    /// queue.solve_triangular(&a, &b, &mut x, &mut info, Triangular::lower())?;
    /// assert_eq!(queue.read(&x).wait()?, [1.0, 2.0]);
    /// // With rows and columns exchanged, it is an upper triangle.
    /// queue.solve_triangular(a.transposed(), &b, &mut x, &mut info, Triangular::upper())?;
    /// assert_eq!(queue.read(&x).wait()?, [-0.125, 2.25]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn solve_triangular<const E: usize, const F: usize>(
        &self,
        a: impl Into<Matrices<f32>>,
        b: impl Into<Matrices<f32>>,
        out: &mut DeviceArray<f32, E>,
        info: &mut DeviceArray<u32, F>,
        options: Triangular,
    ) -> Result<()> {
        let queue = VerbQueue::new(self.queue(), "solve_triangular")?;
        systems::solve_triangular(&queue, &a.into(), &b.into(), out, info, &options)
    }

    /// Enqueues `out` = the inverses of the matrices of `a`.
    ///
    /// `info` = 0, or the `info` of [`lu`](Self::lu) for a singular matrix, whose inverse has NaNs.
    ///
    /// # Shape
    /// As [`cholesky`](Self::cholesky).
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let a = ctx.array(&[0.0_f32, 2.0, 4.0, 0.0])?.reshape([2, 2])?;
    /// let (mut inverses, mut info) = (ctx.zeros([2, 2])?, ctx.zeros([1])?);
    /// queue.inverse(&a, &mut inverses, &mut info)?;
    /// assert_eq!(queue.read(&inverses).wait()?, [0.0, 0.25, 0.5, 0.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn inverse<const E: usize, const F: usize>(
        &self,
        a: impl Into<Matrices<f32>>,
        out: &mut DeviceArray<f32, E>,
        info: &mut DeviceArray<u32, F>,
    ) -> Result<()> {
        systems::inverse(&VerbQueue::new(self.queue(), "inverse")?, &a.into(), out, info)
    }

    /// Enqueues `out` = the determinants of the matrices of `a`: 1 for a matrix without rows, and 0 for a singular one.
    /// A determinant above the largest number is infinite, and one below the smallest number is 0; products of some of
    /// the pivots may be above or below them.
    ///
    /// # Shape
    /// `a` is `[.., n, n]`, with n up to 128. `out` has the shape of the axes before the last two, or one element for a
    /// single matrix.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let a = ctx.array(&[0.0_f32, 2.0, 4.0, 1.0, 1.0, 2.0, 2.0, 4.0])?.reshape([2, 2, 2])?;
    /// let mut determinants = ctx.zeros([2])?;
    /// queue.determinant(&a, &mut determinants)?;
    /// assert_eq!(queue.read(&determinants).wait()?, [-8.0, 0.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn determinant<const E: usize>(
        &self,
        a: impl Into<Matrices<f32>>,
        out: &mut DeviceArray<f32, E>,
    ) -> Result<()> {
        systems::determinant(&VerbQueue::new(self.queue(), "determinant")?, &a.into(), out)
    }

    /// Enqueues `signs` and `logs` = the signs of the determinants of the matrices of `a`, and the natural logarithms of
    /// their magnitudes, as `numpy.linalg.slogdet`. The determinants may be outside of the range of `f32`. A singular
    /// matrix has the sign 0 and the logarithm -infinity.
    ///
    /// # Shape
    /// `a` is `[.., n, n]`, with n up to 128. `signs` and `logs` have the shape of the axes before the last two, or one
    /// element for a single matrix.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let a = ctx.array(&[0.0_f32, 2.0, 4.0, 1.0, 1.0, 2.0, 2.0, 4.0])?.reshape([2, 2, 2])?;
    /// let (mut signs, mut logs) = (ctx.zeros([2])?, ctx.zeros([2])?);
    /// queue.log_determinant(&a, &mut signs, &mut logs)?;
    /// assert_eq!(queue.read(&signs).wait()?, [-1.0, 0.0]);
    /// let logs = queue.read(&logs).wait()?;
    /// assert!((logs[0] - 8.0_f32.ln()).abs() < 1e-5 && logs[1] == f32::NEG_INFINITY);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn log_determinant<const E: usize, const F: usize>(
        &self,
        a: impl Into<Matrices<f32>>,
        signs: &mut DeviceArray<f32, E>,
        logs: &mut DeviceArray<f32, F>,
    ) -> Result<()> {
        systems::log_determinant(&VerbQueue::new(self.queue(), "log_determinant")?, &a.into(), signs, logs)
    }

    /// Enqueues `values` = the eigenvalues of the symmetric matrices of `a` in ascending order, and `vectors` = their
    /// eigenvectors of length 1 as columns, in the same order. Only this triangle of `a` is read. The sign of a vector
    /// is not specified.
    ///
    /// `info` = 0, or 1 for a matrix with an element that is not finite, or whose rotations do not end within 16
    /// sweeps. The results of such a matrix are NaNs.
    ///
    /// # Shape
    /// `a` and `vectors` are `[.., n, n]`, with n up to 64, and `values` is `[.., n]`. Otherwise as
    /// [`cholesky`](Self::cholesky).
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let a = ctx.array(&[2.0_f32, 1.0, 1.0, 2.0])?.reshape([2, 2])?;
    /// let (mut values, mut vectors, mut info) = (ctx.zeros([2])?, ctx.zeros([2, 2])?, ctx.zeros([1])?);
    /// queue.eigh(&a, &mut values, &mut vectors, &mut info, Triangle::Lower)?;
    /// let (values, vectors) = (queue.read(&values).wait()?, queue.read(&vectors).wait()?);
    /// assert!((values[0] - 1.0).abs() < 1e-5 && (values[1] - 3.0).abs() < 1e-5);
    /// assert!((vectors[0] + vectors[2]).abs() < 1e-5 && (vectors[1] - vectors[3]).abs() < 1e-5);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn eigh<const E: usize, const F: usize, const G: usize>(
        &self,
        a: impl Into<Matrices<f32>>,
        values: &mut DeviceArray<f32, E>,
        vectors: &mut DeviceArray<f32, F>,
        info: &mut DeviceArray<u32, G>,
        triangle: Triangle,
    ) -> Result<()> {
        let queue = VerbQueue::new(self.queue(), "eigh")?;
        eigen::eigh(&queue, a.into(), values, vectors, info, triangle)
    }

    /// Enqueues `values` = the eigenvalues of the symmetric matrices of `a` in ascending order, as [`eigh`](Self::eigh)
    /// does, without eigenvectors.
    ///
    /// # Shape
    /// `a` is `[.., n, n]`, with n up to 64, `values` is `[.., n]`, and `info` has the shape of the axes before the
    /// last two, or one element for a single matrix.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let a = ctx.array(&[2.0_f32, 9.0, 1.0, 2.0])?.reshape([2, 2])?;
    /// let (mut values, mut info) = (ctx.zeros([2])?, ctx.zeros([1])?);
    /// queue.eigvalsh(&a, &mut values, &mut info, Triangle::Lower)?;       // the 9 is not read
    /// let values = queue.read(&values).wait()?;
    /// assert!((values[0] - 1.0).abs() < 1e-5 && (values[1] - 3.0).abs() < 1e-5);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn eigvalsh<const E: usize, const F: usize>(
        &self,
        a: impl Into<Matrices<f32>>,
        values: &mut DeviceArray<f32, E>,
        info: &mut DeviceArray<u32, F>,
        triangle: Triangle,
    ) -> Result<()> {
        eigen::eigvalsh(&VerbQueue::new(self.queue(), "eigvalsh")?, a.into(), values, info, triangle)
    }

    /// Enqueues `out` = a x for a sparse matrix `a`, or with the [options](MatmulSparse), `out` = `alpha` a x + `beta`
    /// `out`. Integers wrap, and a row without entries gives the sum 0.
    ///
    /// An entry whose column is outside of the matrix counts as 0, as an element outside of its array does in a
    /// [`gather`](Self::gather). An offset past the last entry counts as the end of the entries. The results of
    /// decreasing offsets are not specified, but no element outside of the arrays is read or written.
    ///
    /// A captured product reads the arrays of `a` at each replay. The number of invocations of a row stays that of the
    /// capture, which depends only on the lengths of the arrays and on [`row_len`](MatmulSparse::row_len).
    ///
    /// # Shape
    /// For a matrix of m rows and k columns, `x` is `[k]` and `out` is `[m]`, or `x` is `[k, n]` and `out` is `[m, n]`.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// // 10  0 20
    /// //  0  0  0
    /// //  0 30  0
    /// let (offsets, columns) = (ctx.array(&[0_u32, 2, 2, 3])?, ctx.array(&[0_u32, 2, 1])?);
    /// let values = ctx.array(&[10.0_f32, 20.0, 30.0])?;
    /// let matrix = Csr::new([3, 3], &offsets, &columns, &values);
    /// let (x, mut out) = (ctx.array(&[1.0_f32, 2.0, 3.0])?, ctx.zeros([3])?);
    /// queue.matmul_sparse(matrix, &x, &mut out, MatmulSparse::default())?;
    /// assert_eq!(queue.read(&out).wait()?, [70.0, 0.0, 60.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn matmul_sparse<T: Reducible, const D: usize>(
        &self,
        a: Csr<'_, T>,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<T, D>,
        options: MatmulSparse<T>,
    ) -> Result<()> {
        sparse::matmul_sparse(&VerbQueue::new(self.queue(), "matmul_sparse")?, a, x, out, options)
    }

    /// Enqueues `out` = the convolution of each image with the weights, as `scipy.ndimage.convolve`: `out[i, j]` = the
    /// sum of `weights[a, b] * x[i + m / 2 - a, j + n / 2 - b]` for m x n weights, where the halves are rounded down.
    /// [`Filter`] says which elements count beside an image. Integers wrap.
    ///
    /// The weights are multiplied one by one, so a call with more than 8192 of them is refused. If the weights are the
    /// products of a column and a row, [`convolve_separable`](Self::convolve_separable) takes fewer operations.
    ///
    /// # Shape
    /// `x` and `out` are `[.., height, width]`, or `[.., height, width, channels]` with
    /// [`channels_last`](Filter::channels_last()). The axes before count images. [Valid](crate::Boundary::Valid)
    /// results have `m - 1` rows and `n - 1` columns less than `x`, and are the sums of
    /// `weights[a, b] * x[i + m - 1 - a, j + n - 1 - b]`.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = ctx.array(&[0, 0, 0, 0, 1, 0, 0, 0, 0])?.reshape([3, 3])?;
    /// let weights = ctx.array(&[1, 2, 3, 4, 5, 6, 7, 8, 9])?.reshape([3, 3])?;
    /// let mut out = ctx.zeros([3, 3])?;
    /// queue.convolve_2d(&x, &weights, &mut out, Filter::default())?;
    /// assert_eq!(queue.read(&out).wait()?, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn convolve_2d<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        weights: &DeviceArray<T, 2>,
        out: &mut DeviceArray<T, D>,
        filter: Filter<T>,
    ) -> Result<()> {
        filter::filter(&VerbQueue::new(self.queue(), "convolve_2d")?, true, x, weights, out, filter)
    }

    /// Enqueues `out` = the correlation of each image with the weights, as `scipy.ndimage.correlate`: `out[i, j]` = the
    /// sum of `weights[a, b] * x[i + a - m / 2, j + b - n / 2]`, with the rules of [`convolve_2d`](Self::convolve_2d).
    /// [Valid](crate::Boundary::Valid) results are the sums of `weights[a, b] * x[i + a, j + b]`. A linear stencil is a
    /// correlation.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let cells = ctx.array(&[0.0_f32, 0.0, 0.0, 0.0, 16.0, 0.0, 0.0, 0.0, 0.0])?.reshape([3, 3])?;
    /// let exchange = ctx.array(&[0.0_f32, 0.125, 0.0, 0.125, 0.5, 0.125, 0.0, 0.125, 0.0])?.reshape([3, 3])?;
    /// let mut next = ctx.zeros([3, 3])?;
    /// let edges = Filter::default().boundary(Boundary::Wrap);
    /// queue.correlate_2d(&cells, &exchange, &mut next, edges)?;
    /// assert_eq!(queue.read(&next).wait()?, [0.0, 2.0, 0.0, 2.0, 8.0, 2.0, 0.0, 2.0, 0.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn correlate_2d<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        weights: &DeviceArray<T, 2>,
        out: &mut DeviceArray<T, D>,
        filter: Filter<T>,
    ) -> Result<()> {
        filter::filter(&VerbQueue::new(self.queue(), "correlate_2d")?, false, x, weights, out, filter)
    }

    /// Enqueues `out` = the convolution of each image along its columns with the weights `down`, and then of the results
    /// along the rows with the weights `across`, as two calls of `scipy.ndimage.convolve1d`. The shapes and the elements
    /// beside an image are those of [`convolve_2d`](Self::convolve_2d). Each list has at most 8192 weights.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = ctx.array(&[0, 0, 0, 0, 1, 0, 0, 0, 0])?.reshape([3, 3])?;
    /// let (down, across) = (ctx.array(&[1, 2, 3])?, ctx.array(&[10, 100, 1000])?);
    /// let mut out = ctx.zeros([3, 3])?;
    /// queue.convolve_separable(&x, &down, &across, &mut out, Filter::default())?;
    /// assert_eq!(queue.read(&out).wait()?, [10, 100, 1000, 20, 200, 2000, 30, 300, 3000]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn convolve_separable<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        down: &DeviceArray<T>,
        across: &DeviceArray<T>,
        out: &mut DeviceArray<T, D>,
        filter: Filter<T>,
    ) -> Result<()> {
        let queue = VerbQueue::new(self.queue(), "convolve_separable")?;
        filter::separable(&queue, true, x, [down, across], out, filter)
    }

    /// Enqueues `out` = the correlation of each image along its columns with the weights `down`, and then of the results
    /// along the rows with the weights `across`, as two calls of `scipy.ndimage.correlate1d`. The other rules are those
    /// of [`convolve_separable`](Self::convolve_separable).
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = ctx.array(&[1, 2, 3, 4, 5, 6, 7, 8, 9])?.reshape([3, 3])?;
    /// let (sum, difference) = (ctx.array(&[1, 1, 1])?, ctx.array(&[-1, 0, 1])?);
    /// let mut out = ctx.zeros([1, 1])?;
    /// let valid = Filter::default().boundary(Boundary::Valid);
    /// queue.correlate_separable(&x, &sum, &difference, &mut out, valid)?;
    /// assert_eq!(queue.read(&out).wait()?, [6]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn correlate_separable<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        down: &DeviceArray<T>,
        across: &DeviceArray<T>,
        out: &mut DeviceArray<T, D>,
        filter: Filter<T>,
    ) -> Result<()> {
        let queue = VerbQueue::new(self.queue(), "correlate_separable")?;
        filter::separable(&queue, false, x, [down, across], out, filter)
    }

    /// Enqueues `out` = the convolutions of images with kernels over all channels, as a layer of a neural network
    /// (`torch.nn.functional.conv2d`): `out[i, k, y, x]` = activation(the sum of `weights[k, c, a, b]` *
    /// `images[i, c, y * stride[0] + a * dilation[0] - padding[0], x * stride[1] + b * dilation[1] - padding[1]]` +
    /// `bias[k]`), with the [options](ConvolveChannels). Elements outside of an image are 0. Unlike those of
    /// [`convolve_2d`](Self::convolve_2d), the weights are not reversed.
    ///
    /// With [groups](ConvolveChannels::groups()), the first part of the kernels has the first part of the channels, and so
    /// on. The elements are `f32`, `i32` or `u32`, or `half::f16` with results of `half::f16` or `f32`. Integers wrap. Sums
    /// of `half::f16` are sums of `f32`, rounded once at the end. If there are no channels, each sum is 0. A weight of an
    /// element outside of an image is multiplied by 0, so a weight that is a NaN or infinite makes the result a NaN.
    ///
    /// # Shape
    /// `images` is `[n, c, h, w]`, `weights` is `[k, c / groups, r, s]` and `out` is `[n, k, p, q]`. Without options,
    /// p = h - r + 1 and q = w - s + 1; with them, p = (h + 2 `padding[0]` - (r - 1) `dilation[0]` - 1) / `stride[0]` + 1,
    /// rounded down, and q likewise. If no window fits into the padded image, p or q is 0. Images and weights may be padded,
    /// or [views by strides](DeviceArray::matrices): with the strides `[h * w * c, 1, w * c, c]`, images have their channels
    /// last in memory.
    ///
    /// # Errors
    /// Besides the errors of all verbs, [`ErrorDetail::Unsupported`](fencepost_core::ErrorDetail::Unsupported) for
    /// `half::f16` if the device has no such numbers, [`ErrorDetail::Kernel`](fencepost_core::ErrorDetail::Kernel) for an
    /// activation that is not one expression of the right type, and
    /// [`ErrorDetail::Value`](fencepost_core::ErrorDetail::Value) if h + 2 `padding[0]`, w + 2 `padding[1]` or the number of
    /// weights of a kernel is 2^31 or more.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// // One image of two channels, and a kernel that adds their differences along the rows.
    /// let images = ctx.array(&[1.0_f32, 2.0, 4.0, 10.0, 30.0, 60.0])?.reshape([1, 2, 1, 3])?;
    /// let weights = ctx.array(&[-1.0_f32, 1.0, -1.0, 1.0])?.reshape([1, 2, 1, 2])?;
    /// let mut out = ctx.zeros([1, 1, 1, 2])?;
    /// queue.convolve_channels(&images, &weights, &mut out, ConvolveChannels::default())?;
    /// assert_eq!(queue.read(&out).wait()?, [21.0, 32.0]);
    /// let mut every_second = ctx.zeros([1, 1, 1, 2])?;
    /// let options = ConvolveChannels::default().padding([0, 1]).stride([1, 2]);
    /// queue.convolve_channels(&images, &weights, &mut every_second, options)?;
    /// assert_eq!(queue.read(&every_second).wait()?, [11.0, 32.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn convolve_channels<T: ChannelElement<P>, P: Element>(
        &self,
        images: impl Into<Matrices<T>>,
        weights: impl Into<Matrices<T>>,
        out: &mut DeviceArray<P, 4>,
        options: ConvolveChannels<'_, P>,
    ) -> Result<()> {
        let queue = VerbQueue::new(self.queue(), "convolve_channels")?;
        channels::convolve_channels(&queue, [images.into(), weights.into()], out, options)
    }

    /// Enqueues `counts` = the number of elements of `x` in each bin. A count wraps at 2^32. As in `numpy.histogram`,
    /// an element equal to an edge is in the bin that begins there, and the last bin includes both its edges. NaNs and
    /// elements outside the edges are not counted; -0 and +0 are equal.
    ///
    /// # Shape
    /// `counts` has one element for each bin. There must be at least one bin.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut counts = ctx.zeros([2])?;
    /// let x = ctx.array(&[0.25_f32, 1.0, 2.0, 2.5, -1.0])?;
    /// queue.histogram(&x, Bins::even(0.0..2.0), &mut counts)?;
    /// assert_eq!(queue.read(&counts).wait()?, [1, 2]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn histogram<'a, T: Reducible, const D: usize>(
        &self,
        x: impl Into<Prefix<'a, T, D>>,
        bins: Bins<'_, T>,
        counts: &mut DeviceArray<u32>,
    ) -> Result<()> {
        histogram::histogram(&VerbQueue::new(self.queue(), "histogram")?, x.into(), bins, counts)
    }

    /// Enqueues `sums` = for each bin of [`histogram`](Self::histogram), the sum of the weights of the elements of `x`
    /// in it. Sums of integers wrap at 2^32.
    ///
    /// A sum of `f32` is the exact sum, rounded once to the nearest `f32`. So its bits are the same on each device and
    /// for each order of the elements. A sum beyond the largest number is infinite. An infinite weight makes the sum
    /// infinite; a NaN, or infinities of both signs, make it a NaN.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, weights) = (ctx.array(&[0.5_f32, 1.5, 0.25])?, ctx.array(&[10, 20, 30])?);
    /// let mut sums = ctx.zeros([2])?;
    /// queue.histogram_weighted(&x, &weights, Bins::even(0.0..2.0), &mut sums)?;
    /// assert_eq!(queue.read(&sums).wait()?, [40, 20]);
    ///
    /// let (days, amounts) = (ctx.array(&[0_u32, 1, 0, 0])?, ctx.array(&[1e30_f32, 0.5, 2.0, -1e30])?);
    /// let mut of_days = ctx.zeros([2])?;
    /// queue.histogram_weighted(&days, &amounts, Bins::modulo(), &mut of_days)?;
    /// assert_eq!(queue.read(&of_days).wait()?, [2.0, 0.5]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn histogram_weighted<'a, T: Reducible, W: Reducible, const D: usize>(
        &self,
        x: impl Into<Prefix<'a, T, D>>,
        weights: &DeviceArray<W, D>,
        bins: Bins<'_, T>,
        sums: &mut DeviceArray<W>,
    ) -> Result<()> {
        weighted::histogram_weighted(
            &VerbQueue::new(self.queue(), "histogram_weighted")?,
            x.into(),
            weights,
            bins,
            sums,
        )
    }

    /// Enqueues `sums` as [`histogram_weighted`](Self::histogram_weighted) does with weights of `f32`, but less exactly
    /// and with fewer operations. Each weight is first rounded to a 32-bit fixed-point number with `fraction_bits` = b
    /// bits after the binary point. A sum outside of -2^(31 - b)..2^(31 - b) wraps: with 16 bits, sums must be between
    /// -32768 and 32768.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, weights) = (ctx.array(&[0_u32, 1, 0])?, ctx.array(&[0.5_f32, -2.0, 0.25])?);
    /// let mut sums = ctx.zeros([2])?;
    /// queue.histogram_fixed(&x, &weights, 16, Bins::modulo(), &mut sums)?;
    /// assert_eq!(queue.read(&sums).wait()?, [0.75, -2.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn histogram_fixed<'a, T: Reducible, const D: usize>(
        &self,
        x: impl Into<Prefix<'a, T, D>>,
        weights: &DeviceArray<f32, D>,
        fraction_bits: u32,
        bins: Bins<'_, T>,
        sums: &mut DeviceArray<f32>,
    ) -> Result<()> {
        weighted::histogram_fixed(
            &VerbQueue::new(self.queue(), "histogram_fixed")?,
            x.into(),
            weights,
            fraction_bits,
            bins,
            sums,
        )
    }

    /// Enqueues `out[i]` = number `position + i` of a random sequence, with a given distribution. `i` counts the
    /// elements in C order.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let generator = Philox::seed(7).stream(3);
    /// let mut dice = ctx.zeros::<u32, 1>([1000])?;
    /// queue.fill_random(&mut dice, generator, Whole { low: 1, high: 7 })?;
    /// assert!(queue.read(&dice).wait()?.iter().all(|number| (1..7).contains(number)));
    ///
    /// let mut field = ctx.zeros::<f32, 2>([64, 64])?;
    /// queue.fill_random(&mut field, generator, Uniform { low: -1.0, high: 1.0 })?;
    /// queue.fill_random(&mut field, generator, Normal { mean: 0.0, deviation: 2.0 })?;
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn fill_random<T: Reducible, const D: usize>(
        &self,
        out: &mut DeviceArray<T, D>,
        generator: Philox,
        distribution: impl Distribution<T>,
    ) -> Result<()> {
        random::fill(&VerbQueue::new(self.queue(), "fill_random")?, out, generator, distribution)
    }

    /// Enqueues `out` = the numbers from 0 to n - 1 in a random order. All orders are equally probable, except for an
    /// effect of 64-bit random words that are equal by chance.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut order = ctx.zeros([52])?;
    /// queue.random_permutation(&mut order, Philox::seed(7))?;
    /// let mut numbers = queue.read(&order).wait()?;
    /// numbers.sort();
    /// assert!(numbers.into_iter().eq(0..52_u32));
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn random_permutation(&self, out: &mut DeviceArray<u32>, generator: Philox) -> Result<()> {
        random::random_permutation(&VerbQueue::new(self.queue(), "random_permutation")?, out, generator)
    }

    /// Enqueues `out` = the discrete Fourier transforms of `x` along the axes of a plan: `out[k] = sum(x[j] * exp(-2 pi
    /// i j k / n))`, times the factor that [`FftNorm`](crate::FftNorm) names. Each index of the other axes has a
    /// transform of its own.
    ///
    /// Elements are complex numbers: `[f32; 2]`, or `Complex<f32>` with the feature `num-complex`.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let plan = FftPlan::new(&ctx, [4])?;
    /// let x = ctx.array(&[[1.0_f32, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])?; // one turn
    /// let mut spectrum = ctx.zeros([4])?;
    /// queue.fft(&plan, &x, &mut spectrum)?;
    /// assert_eq!(queue.read(&spectrum).wait()?, [[0.0, 0.0], [4.0, 0.0], [0.0, 0.0], [0.0, 0.0]]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn fft<C: ComplexNumber, const D: usize>(
        &self,
        plan: &FftPlan,
        x: &DeviceArray<C, D>,
        out: &mut DeviceArray<C, D>,
    ) -> Result<()> {
        fft::fft(&VerbQueue::new(self.queue(), "fft")?, plan, false, x, out)
    }

    /// Enqueues `out` = the inverse of [`fft`](Self::fft): the exponent has the other sign, and the factor is that of
    /// an inverse transform.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let plan = FftPlan::new(&ctx, [2])?.norm(FftNorm::Ortho);
    /// let mut out = ctx.zeros([2])?;
    /// queue.ifft(&plan, &ctx.array(&[[3.0_f32, 0.0], [1.0, 0.0]])?, &mut out)?;
    /// let [[sum, _], [difference, _]] = queue.read(&out).wait()?[..] else { panic!("two elements") };
    /// assert!((sum - 8.0_f32.sqrt()).abs() < 1e-6 && (difference - 2.0_f32.sqrt()).abs() < 1e-6);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn ifft<C: ComplexNumber, const D: usize>(
        &self,
        plan: &FftPlan,
        x: &DeviceArray<C, D>,
        out: &mut DeviceArray<C, D>,
    ) -> Result<()> {
        fft::fft(&VerbQueue::new(self.queue(), "ifft")?, plan, true, x, out)
    }

    /// Enqueues `x` = the transforms that [`fft`](Self::fft) computes.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let plan = FftPlan::new(&ctx, [3])?;
    /// let mut x = ctx.full([3], [2.0_f32, 1.0])?;
    /// queue.fft_in_place(&plan, &mut x)?;
    /// assert_eq!(queue.get(&x, [0]).wait()?, [6.0, 3.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn fft_in_place<C: ComplexNumber, const D: usize>(
        &self,
        plan: &FftPlan,
        x: &mut DeviceArray<C, D>,
    ) -> Result<()> {
        fft::fft_in_place(&VerbQueue::new(self.queue(), "fft_in_place")?, plan, false, x)
    }

    /// Enqueues `x` = the transforms that [`ifft`](Self::ifft) computes.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let plan = FftPlan::new(&ctx, [2])?;
    /// let mut x = ctx.array(&[[1.0_f32, 2.0], [5.0, -4.0]])?;
    /// queue.fft_in_place(&plan, &mut x)?;
    /// queue.ifft_in_place(&plan, &mut x)?;
    /// assert_eq!(queue.read(&x).wait()?, [[1.0, 2.0], [5.0, -4.0]]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn ifft_in_place<C: ComplexNumber, const D: usize>(
        &self,
        plan: &FftPlan,
        x: &mut DeviceArray<C, D>,
    ) -> Result<()> {
        fft::fft_in_place(&VerbQueue::new(self.queue(), "ifft_in_place")?, plan, true, x)
    }

    /// Enqueues `out` = the transforms of real numbers that [`fft`](Self::fft) would compute, without their second
    /// halves, which are the conjugates of the first ones in reverse order.
    ///
    /// # Shape
    /// Along the last of the transformed axes, `out` has n / 2 + 1 elements for n elements of `x`.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let plan = RealFftPlan::new(&ctx, [4])?;
    /// let mut spectrum = ctx.zeros::<[f32; 2], 1>([3])?;
    /// queue.rfft(&plan, &ctx.array(&[1.0, 0.0, -1.0, 0.0])?, &mut spectrum)?;
    /// assert_eq!(queue.read(&spectrum).wait()?, [[0.0, 0.0], [2.0, 0.0], [0.0, 0.0]]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn rfft<C: ComplexNumber, const D: usize>(
        &self,
        plan: &RealFftPlan,
        x: &DeviceArray<f32, D>,
        out: &mut DeviceArray<C, D>,
    ) -> Result<()> {
        fft::rfft(&VerbQueue::new(self.queue(), "rfft")?, plan, x, out)
    }

    /// Enqueues `out` = the inverse of [`rfft`](Self::rfft). Along the last of the transformed axes, the imaginary part
    /// of the first element is ignored, and for an even length that of the last one.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let plan = RealFftPlan::new(&ctx, [4])?;
    /// let (spectrum, mut out) = (ctx.array(&[[0.0_f32, 9.0], [2.0, 0.0], [0.0, 0.0]])?, ctx.zeros([4])?);
    /// queue.irfft(&plan, &spectrum, &mut out)?;
    /// assert_eq!(queue.read(&out).wait()?, [1.0, 0.0, -1.0, 0.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn irfft<C: ComplexNumber, const D: usize>(
        &self,
        plan: &RealFftPlan,
        x: &DeviceArray<C, D>,
        out: &mut DeviceArray<f32, D>,
    ) -> Result<()> {
        fft::irfft(&VerbQueue::new(self.queue(), "irfft")?, plan, x, out)
    }

    /// Enqueues `out` = `x` with frequency 0 in the middle of an axis, or of all axes of a whole array: the first half
    /// of the elements is exchanged with the second one. Of an odd number, the first half has one element more. The
    /// elements are whole words.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, mut out) = (ctx.array(&fftfreq(5, 0.2))?, ctx.zeros([5])?);
    /// queue.fftshift(&x, &mut out)?;
    /// assert_eq!(queue.read(&out).wait()?, [-2.0, -1.0, 0.0, 1.0, 2.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn fftshift<'a, T: Element, const D: usize>(
        &self,
        x: impl Into<Over<'a, T, D>>,
        out: &mut DeviceArray<T, D>,
    ) -> Result<()> {
        fft_shift::shift(&VerbQueue::new(self.queue(), "fftshift")?, x.into(), false, out)
    }

    /// Enqueues `out` = the inverse of [`fftshift`](Self::fftshift).
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = ctx.array(&[-2, -1, 0, 1, 2, 7, 8, 9, 5, 6])?.reshape([2, 5])?;
    /// let mut out = ctx.zeros([2, 5])?;
    /// queue.ifftshift(x.axis(1), &mut out)?;
    /// assert_eq!(queue.read(&out).wait()?, [0, 1, 2, -2, -1, 9, 5, 6, 7, 8]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn ifftshift<'a, T: Element, const D: usize>(
        &self,
        x: impl Into<Over<'a, T, D>>,
        out: &mut DeviceArray<T, D>,
    ) -> Result<()> {
        fft_shift::shift(&VerbQueue::new(self.queue(), "ifftshift")?, x.into(), true, out)
    }

    /// Enqueues `out` = the convolution of `x` with weights along the last axis: result k of all is
    /// `sum(weights[j] * x[k - j])`, and [`ConvolveMode`](crate::ConvolveMode) says which of them are computed.
    ///
    /// Up to 64 weights, and any number with rows of up to 64 elements, are multiplied one by one. More are multiplied
    /// as spectra of blocks: then an infinity or a NaN changes all results of its block, and sums of whole numbers are
    /// not exact. [`ConvolveMode::direct`](crate::ConvolveMode::direct) multiplies any number one by one.
    ///
    /// # Shape
    /// Along the last axis, `out` has n + m - 1, n, or n - m + 1 elements for n elements of `x` and m weights; else its
    /// shape is that of `x`. There must be at least one weight.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, weights) = (ctx.array(&[1.0, 2.0, 3.0])?, ctx.array(&[0.0, 1.0, 0.5])?);
    /// let (mut full, mut same) = (ctx.zeros([5])?, ctx.zeros([3])?);
    /// queue.convolve(&x, &weights, ConvolveMode::Full, &mut full)?;
    /// queue.convolve(&x, &weights, ConvolveMode::Same, &mut same)?;
    /// assert_eq!(queue.read(&full).wait()?, [0.0, 1.0, 2.5, 4.0, 1.5]);
    /// assert_eq!(queue.read(&same).wait()?, [1.0, 2.5, 4.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn convolve<const D: usize>(
        &self,
        x: &DeviceArray<f32, D>,
        weights: &DeviceArray<f32>,
        mode: impl Into<Convolve>,
        out: &mut DeviceArray<f32, D>,
    ) -> Result<()> {
        convolution::convolve(&VerbQueue::new(self.queue(), "convolve")?, false, x, weights, mode.into(), out)
    }

    /// Enqueues `out` = the correlation of `x` with weights along the last axis: the [convolution](Self::convolve) with
    /// the weights in reverse order, so result k of all is `sum(weights[j] * x[k + j - (m - 1)])`.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, weights, mut out) = (ctx.array(&[1.0, 2.0, 4.0])?, ctx.array(&[-1.0, 1.0])?, ctx.zeros([2])?);
    /// queue.correlate(&x, &weights, ConvolveMode::Valid, &mut out)?;
    /// assert_eq!(queue.read(&out).wait()?, [1.0, 2.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn correlate<const D: usize>(
        &self,
        x: &DeviceArray<f32, D>,
        weights: &DeviceArray<f32>,
        mode: impl Into<Convolve>,
        out: &mut DeviceArray<f32, D>,
    ) -> Result<()> {
        convolution::convolve(&VerbQueue::new(self.queue(), "correlate")?, true, x, weights, mode.into(), out)
    }

    /// Enqueues `out` = the spectra of overlapping frames of each row of `x`: [`StftPlan`] says which. There is no
    /// other factor than the window.
    ///
    /// # Shape
    /// In place of the last axis of `x`, of n samples, `out` has an axis of
    /// [`plan.frames(n)`](StftPlan::frames) frames and one of [`plan.bins()`](StftPlan::bins) frequencies.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let plan = StftPlan::new(&ctx, &Window::Rectangle.periodic(4), 2)?;
    /// let x = ctx.array(&[1.0, 0.0, -1.0, 0.0, 1.0, 0.0, -1.0, 0.0])?.reshape([1, 8])?;
    /// let mut spectra = ctx.zeros::<[f32; 2], 3>([1, 3, 3])?;
    /// queue.stft(&plan, &x, &mut spectra)?;
    /// assert_eq!(queue.read(&spectra).wait()?[3..6], [[0.0, 0.0], [-2.0, 0.0], [0.0, 0.0]]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn stft<C: ComplexNumber, const D: usize, const E: usize>(
        &self,
        plan: &StftPlan,
        x: &DeviceArray<f32, D>,
        out: &mut DeviceArray<C, E>,
    ) -> Result<()> {
        stft::stft(&VerbQueue::new(self.queue(), "stft")?, plan, x, out)
    }

    /// Enqueues `out` = the samples whose spectra [`stft`](Self::stft) computes: the inverse transforms of the frames,
    /// times the window, are added and divided by the sum of the squares of the windows. A sample that no window
    /// reaches, or only with factors below about 10^-5 of the largest one, is 0: for example the first one of a plan
    /// that is not centered, if the window begins with 0.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let plan = StftPlan::new(&ctx, &Window::Hann.periodic(8), 2)?.centered();
    /// let samples: Vec<f32> = (0..40).map(|i| (i % 7) as f32).collect();
    /// let (x, mut again) = (ctx.array(&samples)?, ctx.zeros([40])?);
    /// let mut spectra = ctx.zeros::<[f32; 2], 2>([plan.frames(40), plan.bins()])?;
    /// queue.stft(&plan, &x, &mut spectra)?;
    /// queue.istft(&plan, &spectra, &mut again)?;
    /// let again = queue.read(&again).wait()?;
    /// assert!(again.iter().zip(samples).all(|(a, b)| (a - b).abs() < 1e-4), "{again:?}");
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn istft<C: ComplexNumber, const D: usize, const E: usize>(
        &self,
        plan: &StftPlan,
        x: &DeviceArray<C, E>,
        out: &mut DeviceArray<f32, D>,
    ) -> Result<()> {
        stft::istft(&VerbQueue::new(self.queue(), "istft")?, plan, x, out)
    }

    /// Enqueues `out` = the mean power spectrum of the frames of each row of `x`, with the power of negative
    /// frequencies added to that of positive ones: the method of Welch. [`Welch`] names the unit. If a power in it is
    /// below 10^-38, which is 0 as an `f32`, multiply the samples first.
    ///
    /// # Shape
    /// In place of the last axis of `x`, `out` has an axis of [`plan.bins()`](StftPlan::bins) frequencies. There must
    /// be a whole frame. The plan must be neither centered nor padded at its end.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let plan = StftPlan::new(&ctx, &Window::Rectangle.periodic(4), 4)?;
    /// let x = ctx.array(&[7.0, 5.0, 3.0, 5.0, 7.0, 5.0, 3.0, 5.0])?;       // a cosine of 2, and 5
    /// let mut power = ctx.zeros([3])?;
    /// queue.welch(&plan, Welch::spectrum(), &x, &mut power)?;
    /// assert_eq!(queue.read(&power).wait()?, [0.0, 2.0, 0.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn welch<const D: usize>(
        &self,
        plan: &StftPlan,
        welch: Welch,
        x: &DeviceArray<f32, D>,
        out: &mut DeviceArray<f32, D>,
    ) -> Result<()> {
        stft::welch(&VerbQueue::new(self.queue(), "welch")?, plan, welch, x, out)
    }

    /// Enqueues a verb with a single number as its result, and returns that number to the host. A captured queue
    /// refuses this.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = ctx.array(&[1_u32, 2, 3])?;
    /// assert_eq!(queue.value_of(|out| queue.sum(&x, out)).wait()?, 6);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn value_of<T: Element>(&self, verb: impl FnOnce(&mut DeviceArray<T>) -> Result<()>) -> Pending<T> {
        let queue = self.queue();
        let remedy = "a capture executes nothing: call the verb with an array of one element, and read that array after \
                      the replay";
        let allocated = queue.check_value("value_of", remedy).and_then(|()| queue.empty([1]));
        match allocated.and_then(|mut out| verb(&mut out).map(|()| out)) {
            Ok(out) => queue.get(&out, [0]),
            Err(error) => Pending::ready(Err(error)),
        }
    }

    /// Compiles the kernels that `calls` uses, without executing them. `calls` receives a captured queue, and calls
    /// verbs with arrays of the types and lengths of later calls. It may also launch kernels of the program. The call
    /// blocks until the kernels are compiled, so use a separate thread if the program is to continue.
    ///
    /// Lengths between two limits of a verb share their kernels. A sort has one set up to 4,096 elements, another up to
    /// 262,144 elements, and on a graphics card a third above; a scan has one up to 16,384 elements, and another above.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (mut x, mut least) = (ctx.array(&[3_u32, 1, 2])?, ctx.zeros([1])?);
    /// std::thread::scope(|threads| {
    ///     let compiled = threads.spawn(|| {
    ///         queue.warm_up(|q| {
    ///             q.min(&x, &mut least)?;
    ///             q.sort_in_place(&mut x, Sort::ascending())
    ///         })
    ///     });
    ///     compiled.join().unwrap()
    /// })?;
    /// assert_eq!(queue.read(&x).wait()?, [3, 1, 2]);      // nothing is sorted yet
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn warm_up(&self, calls: impl FnOnce(&CommandQueue) -> Result<()>) -> Result<()> {
        let queue = self.queue();
        queue.check_value("warm_up", "a capture compiles its kernels: call the verbs alone")?;
        queue.capture(|captured| calls(captured)).map(drop)
    }
}

impl Algorithms for CommandQueue {}

mod sealed {
    use super::CommandQueue;

    pub trait Queue {
        fn queue(&self) -> &CommandQueue;
    }

    impl Queue for CommandQueue {
        fn queue(&self) -> &CommandQueue {
            self
        }
    }
}
