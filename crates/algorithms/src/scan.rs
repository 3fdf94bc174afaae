//! Scans: each element combined with all elements before it, or after it.

use crate::axis::View;
use crate::by_key::{Results, RunsVerb};
use crate::elementwise::{flat, same_shape, words};
use crate::launches::launch_dyn;
use crate::monoid::Associative;
use crate::monoid::sealed::OfOperator;
use crate::operator::Operator;
use crate::passes::{one_count, one_element};
use crate::reducible::Operation;
use crate::refusals::{Named, check};
use crate::rows::{Rows, count_of};
use crate::segment_heads::Heads;
use crate::segments::one_number_each;
use crate::shares::Shares;
use crate::tuning::{tuned, tuned_as};
use crate::typed_kernel::{compiled, count_argument, value};
use crate::variants::{KernelVariant, Tunable, chosen};
use crate::verb_queue::VerbQueue;
use fencepost_core::{DeviceArray, DynKernel, Element, IntoArg, Over, Parts, Prefix, Result};
use fencepost_kernels::PART_COUNT;

/// A scan: its operation, initial value and direction, and if an element is part of its own result.
///
/// The operation is a built-in [`Operation`], or a [`Monoid`](crate::Monoid) from user code. The verb is
/// [`scan`](crate::Algorithms::scan).
///
/// # Example
/// ```
/// use fencepost::prelude::*;
/// # let (ctx, queue) = fencepost::doctest();
/// let (x, mut out) = (ctx.array(&[3_u32, 1, 4])?, ctx.zeros([3])?);
/// queue.scan(&x, &mut out, Scan::inclusive(Operation::Sum))?;
/// assert_eq!(queue.read(&out).wait()?, [3, 4, 8]);
/// queue.scan(&x, &mut out, Scan::exclusive(Operation::Sum))?;
/// assert_eq!(queue.read(&out).wait()?, [0, 3, 4]);
/// queue.scan(&x, &mut out, Scan::exclusive(Operation::Sum).from(10))?;
/// assert_eq!(queue.read(&out).wait()?, [10, 13, 14]);
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Scan<T, O = Operation> {
    pub(crate) operation: O,
    pub(crate) exclusive: bool,
    pub(crate) reversed: bool,
    initial: Option<T>,
}

impl<T: Element, O: Associative<T>> Scan<T, O> {
    /// Combines each element with all elements before it. There is no initial value, so if NaNs are ignored, the
    /// results before the first number are NaNs.
    pub fn inclusive(operation: O) -> Self {
        Self { operation, exclusive: false, reversed: false, initial: None }
    }

    /// Combines, for each element, only the elements before it. The first result is the initial value. By default, this
    /// is 0 for sums, 1 for products, and the identity of a [`Monoid`](crate::Monoid). For the smallest element it is
    /// the largest value of the type, which is infinite for `f32`; for the largest element, the smallest.
    pub fn exclusive(operation: O) -> Self {
        Self { operation, exclusive: true, reversed: false, initial: None }
    }

    /// Sets the initial value, which is combined with all elements.
    pub fn from(mut self, initial: T) -> Self {
        self.initial = Some(initial);
        self
    }

    /// Combines each element with all elements after it instead of before it. The result at `i` combines the last
    /// element down to the one at `i`, in this order; an exclusive scan leaves out the element at `i`. The initial
    /// value comes after the last element. Calling this twice is the same as calling it once.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, mut out) = (ctx.array(&[3_u32, 1, 4])?, ctx.zeros([3])?);
    /// queue.scan(&x, &mut out, Scan::inclusive(Operation::Sum).reversed())?;
    /// assert_eq!(queue.read(&out).wait()?, [8, 5, 4]);
    /// queue.scan(&x, &mut out, Scan::exclusive(Operation::Sum).from(10).reversed())?;
    /// assert_eq!(queue.read(&out).wait()?, [15, 14, 10]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn reversed(mut self) -> Self {
        self.reversed = true;
        self
    }

    /// Returns the initial value, which comes before the first element.
    pub(crate) fn initial(&self) -> T {
        let of_none = if self.exclusive { O::identity } else { O::neutral };
        self.initial.unwrap_or_else(|| of_none(self.operation))
    }
}

/// Enqueues the scan of an array, of its first elements, of each segment, or along an axis.
#[track_caller]
pub(crate) fn scan<T: Element, O: Associative<T>, const D: usize>(
    queue: &VerbQueue<'_>,
    x: Over<'_, T, D>,
    out: &DeviceArray<T, D>,
    scan: Scan<T, O>,
) -> Result<()> {
    let array = x.array();
    same_shape(queue, array, "out", out)?;
    match x.parts() {
        Parts::Segments(offsets) => {
            of_segments(queue, [&flat(array)?, &flat(out)?], &flat(offsets)?, None, scan)
        }
        Parts::Axis(axis) => {
            let view = View::along(queue, array, axis)?;
            one_number_each::<T>(queue, "a scan along an axis")?;
            let x = flat(array)?;
            let out = flat(out)?;
            check(queue, &[("x", &words(&x)?)], &[("out", &words(&out)?)])?;
            if x.is_empty() {
                return Ok(());
            }
            let rows = Rows::new(queue, view, &x, &out)?;
            of_segments(queue, [&rows.x, &rows.out], &rows.offsets, Some(&rows), scan)?;
            rows.leave(queue)
        }
        parts => of_prefix(queue, array, count_of(parts), out, None, scan),
    }
}

/// Enqueues the scan of an array, or of its first elements, and writes the combination of all of them to `total`.
#[track_caller]
pub(crate) fn scan_and_total<T: Element, O: Associative<T>, const D: usize>(
    queue: &VerbQueue<'_>,
    x: Prefix<'_, T, D>,
    out: &DeviceArray<T, D>,
    total: &DeviceArray<T>,
    scan: Scan<T, O>,
) -> Result<()> {
    same_shape(queue, x.array(), "out", out)?;
    of_prefix(queue, x.array(), x.count(), out, Some(one_element(queue, "total", total)?), scan)
}

#[track_caller]
fn of_prefix<T: Element, O: Associative<T>, const D: usize>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<T, D>,
    count: Option<&DeviceArray<u32>>,
    out: &DeviceArray<T, D>,
    total: Option<DeviceArray<T>>,
    scan: Scan<T, O>,
) -> Result<()> {
    let count = count.map(|count| one_count(queue, count)).transpose()?;
    enqueue(queue, &flat(x)?, count.as_ref(), Some(flat(out)?), total, scan)
}

/// Enqueues a separate scan of each segment. If the segments are rows, they are written only once all memory is
/// allocated.
#[track_caller]
fn of_segments<T: Element, O: Associative<T>>(
    queue: &VerbQueue<'_>,
    [x, out]: [&DeviceArray<T>; 2],
    offsets: &DeviceArray<u32>,
    rows: Option<&Rows<'_, T>>,
    scan: Scan<T, O>,
) -> Result<()> {
    one_number_each::<T>(queue, "segments")?;
    check(queue, &[("x", &words(x)?), ("offsets", offsets)], &[("out", &words(out)?)])?;
    if x.is_empty() {
        return Ok(());
    }
    let heads = Heads::new(queue, offsets, x.len())?;
    let keys = heads.bits.clone();
    let mut state = queue.scratch(1)?;
    let results = Results::Scan { exclusive: scan.exclusive, reversed: scan.reversed, heads: Some(heads) };
    let x = x.clone();
    let out = out.clone();
    let verb = RunsVerb { queue, keys, x, out, count: None, rows, results, result: &mut state };
    scan.operation.with_operator(scan.initial(), verb)
}

#[track_caller]
pub(crate) fn scan_in_place<T: Element, O: Associative<T>, const D: usize>(
    queue: &VerbQueue<'_>,
    x: &mut DeviceArray<T, D>,
    scan: Scan<T, O>,
) -> Result<()> {
    enqueue(queue, &flat(x)?, None, None, None, scan)
}

/// Enqueues a scan of an array, or of its first elements if there is a count, to `out` or in place.
#[track_caller]
fn enqueue<T: Element, O: Associative<T>>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<T>,
    count: Option<&DeviceArray<u32>>,
    out: Option<DeviceArray<T>>,
    total: Option<DeviceArray<T>>,
    scan: Scan<T, O>,
) -> Result<()> {
    let totals = total.as_ref().map(words).transpose()?;
    let results = out.as_ref().map_or_else(|| words(x), words)?;
    let inputs = out.as_ref().map(|_| words(x)).transpose()?;
    let written = if inputs.is_some() { "out" } else { "x" };
    let reads = inputs.iter().map(|x| ("x", x)).chain(count.map(|count| (PART_COUNT, count)));
    let reads: Vec<Named<'_>> = reads.collect();
    let writes = [(written, &results)].into_iter().chain(totals.iter().map(|total| ("total", total)));
    check(queue, &reads, &writes.collect::<Vec<_>>())?;
    if x.is_empty() {
        return total.map_or(Ok(()), |mut total| queue.fill(&mut total, scan.initial()));
    }
    let verb = ScanVerb { queue, x, count, out, total, scan };
    scan.operation.with_operator(scan.initial(), verb)
}

/// A scan of at least one element.
struct ScanVerb<'a, T: Element, O> {
    queue: &'a VerbQueue<'a>,
    x: &'a DeviceArray<T>,
    count: Option<&'a DeviceArray<u32>>,
    out: Option<DeviceArray<T>>,
    total: Option<DeviceArray<T>>,
    scan: Scan<T, O>,
}

impl<T: Element, O: Associative<T>> OfOperator<T> for ScanVerb<'_, T, O> {
    /// Enqueues the launches: one, or three, with the results of the shares combined in between.
    #[track_caller]
    fn enqueue<U: Element>(
        self,
        operator: Operator<'_, U>,
        of_kernel: fn(&DeviceArray<T>) -> DeviceArray<U>,
    ) -> Result<()> {
        let Self { queue, scan, .. } = self;
        let shares = Shares::of(self.x.len());
        let x = of_kernel(self.x);
        let out = self.out.as_ref().map(of_kernel);
        let mut arrays = Arrays { x, out, count: self.count.cloned() };
        // The variants are those of kernels with one word for each invocation in workgroup memory.
        let variant = if operator.is_builtin() {
            chosen(queue, Tunable::Scan, self.x.len())
        } else {
            KernelVariant::DEFAULT
        };
        let tiles = Tiles { queue, operator, variant, reversed: scan.reversed };
        let last = tiles.kernel(arrays.out.is_none(), scan.exclusive, shares.count > 1, self.count)?;
        let mut total = match &self.total {
            Some(total) => of_kernel(total),
            None => queue.scratch(1)?,
        };
        let carries = queue.scratch(shares.count)?;
        if shares.count == 1 {
            return launch(queue, &last, shares, &mut arrays, &carries, &mut total, operator);
        }
        let combined = scan.operation.shares_kernel(queue, self.x.len(), self.count, scan.reversed)?;
        let spine = tiles.kernel(false, true, false, None)?;
        let mut partials = queue.scratch(shares.count)?;
        let unused = queue.scratch(1)?;
        let mut all = queue.scratch(1)?;
        scan.operation.combine_shares(queue, &combined, shares, self.x, &mut partials)?;
        let mut sums = Arrays { x: of_kernel(&partials), out: Some(carries.clone()), count: None };
        let of_shares = Shares::one(shares.count);
        launch(queue, &spine, of_shares, &mut sums, &unused, &mut all, operator.without_initial())?;
        launch(queue, &last, shares, &mut arrays, &carries, &mut total, operator)
    }
}

/// Source of the kernels of a scan.
struct Tiles<'a, U> {
    queue: &'a VerbQueue<'a>,
    operator: Operator<'a, U>,
    variant: KernelVariant,
    /// `true` if each share is scanned from its last element to its first, and the last share first. The division into
    /// shares is the same.
    reversed: bool,
}

impl<U: Element> Tiles<'_, U> {
    fn kernel(
        &self,
        in_place: bool,
        exclusive: bool,
        carried: bool,
        count: Option<&DeviceArray<u32>>,
    ) -> Result<DynKernel> {
        let stem = if in_place { "scan_in_place" } else { "scan" };
        let [exclusive, carried, reversed] = [exclusive, carried, self.reversed].map(f64::from);
        let overrides = [("EXCLUSIVE", exclusive), ("CARRIED", carried), ("REVERSED", reversed)];
        self.operator.kernel(self.queue, stem, &tuned_as(self.queue, self.variant, &overrides), count)
    }
}

/// Arrays of a scan, with elements of the kernel's type.
struct Arrays<U: Element> {
    x: DeviceArray<U>,
    /// Array for the results; `None` if they replace the elements.
    out: Option<DeviceArray<U>>,
    /// Number of first elements, if not all elements are scanned.
    count: Option<DeviceArray<u32>>,
}

/// Enqueues a launch that scans each share.
#[track_caller]
fn launch<U: Element>(
    queue: &VerbQueue<'_>,
    kernel: &DynKernel,
    shares: Shares,
    arrays: &mut Arrays<U>,
    carries: &DeviceArray<U>,
    total: &mut DeviceArray<U>,
    operator: Operator<'_, U>,
) -> Result<()> {
    let [n, share] = [shares.elements, shares.share].map(|n| n as u32);
    let mut args = vec![
        value("n", n),
        value("share", share),
        value("identity", operator.identity),
        value("initial", operator.initial),
        (Some("carries".into()), carries.into_arg()),
        (Some("total".into()), total.into_arg()),
    ];
    args.extend(count_argument(arrays.count.as_ref()));
    match &mut arrays.out {
        Some(out) => {
            args.push((Some("x".into()), (&arrays.x).into_arg()));
            args.push((Some("out".into()), out.into_arg()));
        }
        None => args.push((Some("x".into()), (&mut arrays.x).into_arg())),
    }
    launch_dyn(queue, kernel, shares.count, args)
}

/// Launch that replaces each of at most 16,384 counts by the sum of all earlier counts.
pub(crate) struct CountSums {
    kernel: DynKernel,
    carries: DeviceArray<u32>,
    total: DeviceArray<u32>,
}

impl CountSums {
    #[track_caller]
    pub(crate) fn new(queue: &VerbQueue<'_>, counts: usize) -> Result<Self> {
        // Few counts are scanned by few invocations, which have to wait for each other less often.
        let workgroup = if counts <= 1024 { 64.0 } else { 256.0 };
        let overrides = [("EXCLUSIVE", 1.0), ("WORKGROUP", workgroup)];
        let kernel = compiled::<u32>(queue, "scan_in_place", &tuned(queue, &overrides))?;
        Ok(Self { kernel, carries: queue.scratch(1)?, total: queue.scratch(1)? })
    }

    #[track_caller]
    pub(crate) fn launch(&mut self, queue: &VerbQueue<'_>, counts: &DeviceArray<u32>) -> Result<()> {
        let mut arrays = Arrays { x: counts.clone(), out: None, count: None };
        let shares = Shares::one(counts.len());
        let sum = Operator::of_elements(Operation::Sum, 0);
        launch(queue, &self.kernel, shares, &mut arrays, &self.carries, &mut self.total, sum)
    }
}
