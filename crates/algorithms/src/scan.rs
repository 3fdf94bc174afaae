//! Scans: each element combined with all elements before it, or after it.

use crate::elementwise::{flat, same_shape, words};
use crate::launches::launch_dyn;
use crate::monoid::Associative;
use crate::monoid::sealed::OfOperator;
use crate::operator::Operator;
use crate::passes::one_element;
use crate::reducible::Operation;
use crate::refusals::{Named, check};
use crate::shares::Shares;
use crate::tuning::tuned;
use crate::typed_kernel::{compiled, count_argument, value};
use crate::verb_queue::VerbQueue;
use fencepost_core::{CommandQueue, DeviceArray, DynKernel, Element, IntoArg, Result};
use fencepost_kernels::PART_COUNT;

/// A scan: the operation, the initial value, the direction, and whether an element is part of its own result.
///
/// The operation is a built-in [`Operation`], or a [`Monoid`](crate::Monoid) from user code.
///
/// # Example
/// ```
/// use fencepost::algorithms::{Operation, Scan, host};
/// let x = [3, 1, 4];
/// assert_eq!(host::scan(&x, Scan::inclusive(Operation::Sum)), [3, 4, 8]);
/// assert_eq!(host::scan(&x, Scan::exclusive(Operation::Sum)), [0, 3, 4]);
/// assert_eq!(host::scan(&x, Scan::exclusive(Operation::Sum).from(10)), [10, 13, 14]);
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Scan<T, O = Operation> {
    pub(crate) operation: O,
    pub(crate) exclusive: bool,
    pub(crate) reversed: bool,
    initial: Option<T>,
}

impl<T: Element, O: Associative<T>> Scan<T, O> {
    /// Combines each element with all elements before it. There is no initial value, so if NaNs are left out, the results before
    /// the first number are NaNs.
    pub fn inclusive(operation: O) -> Self {
        Self { operation, exclusive: false, reversed: false, initial: None }
    }

    /// Combines all elements before each element. The first result is the initial value: 0 for sums, 1 for products, for the
    /// smallest (largest) element the greatest (least) value of the type, which is infinite for `f32`, and for a
    /// [`Monoid`](crate::Monoid) its identity.
    pub fn exclusive(operation: O) -> Self {
        Self { operation, exclusive: true, reversed: false, initial: None }
    }

    /// Sets the initial value, with which all elements are combined.
    pub fn from(mut self, initial: T) -> Self {
        self.initial = Some(initial);
        self
    }

    /// Combines each element with all elements after it instead of before it. The result at `i` combines the last
    /// element down to the one at `i`, in this order. An exclusive scan leaves the one at `i` out. The initial value
    /// stands after the last element. Calling it twice is the same as calling it once.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Operation, PrefixScan, Scan};
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

    /// Returns the value before the first element.
    pub(crate) fn initial(&self) -> T {
        let of_none = if self.exclusive { O::identity } else { O::neutral };
        self.initial.unwrap_or_else(|| of_none(self.operation))
    }
}

/// Combines each element of an array with all elements before it, or after it if the scan is [reversed](Scan::reversed).
///
/// An array of any shape is scanned as a whole, in C order.
///
/// # Cost
/// Up to 16,384 elements take one launch, which reads each element twice and writes it once, with two words of scratch memory.
/// More elements take three, with up to 2,051 words of scratch memory, and each element is read three times and written once.
///
/// # Error bound
/// Integers are exact and wrap, and so is the smallest and the largest number. The error of a sum of `f32` is at most `d u`
/// times the sum of the magnitudes of the combined elements, with `d` = 95 + n / 2^17 for n elements. `u` is 2^-24
/// on a device that rounds to the nearest number. The relative error of a product of `f32` is at most about n times 2^-23. Both hold
/// unless the sum or the product of some neighbours is infinite, or such a product is below the smallest normal number. A device may take
/// subnormal numbers as 0. Then a sum may be wrong by up to 2^-126 more for each operation.
///
/// # Determinism
/// The order of the operations depends on the number of elements and the adapter, so one device and driver give the same bits in
/// each run. In contrast to a loop on the host, a sum of `f32` may be smaller than the one before it although no element is negative,
/// because the device rounds the two in different orders.
///
/// # Source
/// One launch reduces shares of the array, one scans the results, and one scans the shares from there: reduce-then-scan, as in
/// Duane Merrill and Michael Garland, *Single-pass Parallel Prefix Scan with Decoupled Look-back*, 2016, section 3. A tile of a
/// share is scanned as in W. Daniel Hillis and Guy L. Steele, *Data Parallel Algorithms*, 1986.
pub trait PrefixScan {
    /// *Enqueues* the scan of `x` to `out`. If a number is a NaN, the smallest and the largest number from there on are NaNs, and
    /// those up to there in a reversed scan. [`SmallestNumber`](Operation::SmallestNumber) and
    /// [`LargestNumber`](Operation::LargestNumber) leave NaNs out: a result is a NaN if no number comes before it, and if there is
    /// no initial value.
    ///
    /// # Errors
    /// [`Kind::Shape`](fencepost_core::Kind::Shape) if the shapes differ; [`Kind::Padding`](fencepost_core::Kind::Padding) if an
    /// array is padded; the errors of a launch, and the queue's own error.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Operation, PrefixScan, Scan};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, mut out) = (ctx.array(&[3_u32, 1, 4, 1])?, ctx.zeros([4])?);
    /// queue.scan(&x, &mut out, Scan::inclusive(Operation::Sum))?;
    /// assert_eq!(queue.read(&out).wait()?, [3, 4, 8, 9]);
    /// queue.scan(&x, &mut out, Scan::exclusive(Operation::Largest))?;
    /// assert_eq!(queue.read(&out).wait()?, [0, 3, 3, 4]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn scan<T: Element, O: Associative<T>, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<T, D>,
        scan: Scan<T, O>,
    ) -> Result<()>;

    /// *Enqueues* a scan as [`scan`](Self::scan) does, and writes the initial value combined with all elements to `total`, an
    /// array of one element.
    ///
    /// # Errors
    /// Returns the errors of [`scan`](Self::scan), and [`Kind::Shape`](fencepost_core::Kind::Shape) if `total` has not one
    /// element.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Operation, PrefixScan, Scan};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (lengths, mut starts, mut total) = (ctx.array(&[3_u32, 1, 4])?, ctx.zeros([3])?, ctx.zeros([1])?);
    /// queue.scan_with_total(&lengths, &mut starts, &mut total, Scan::exclusive(Operation::Sum))?;
    /// assert_eq!(queue.read(&starts).wait()?, [0, 3, 4]);
    /// assert_eq!(queue.read(&total).wait()?, [8]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn scan_with_total<T: Element, O: Associative<T>, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<T, D>,
        total: &mut DeviceArray<T>,
        scan: Scan<T, O>,
    ) -> Result<()>;

    /// *Enqueues* the scan of an array to the array itself.
    ///
    /// # Errors
    /// Returns the errors of [`scan`](Self::scan).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Operation, PrefixScan, Scan};
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
    ) -> Result<()>;
}

impl PrefixScan for CommandQueue {
    #[track_caller]
    fn scan<T: Element, O: Associative<T>, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<T, D>,
        scan: Scan<T, O>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "scan");
        same_shape(queue, x, "out", out)?;
        enqueue(queue, &flat(x)?, None, Some(flat(out)?), None, scan)
    }

    #[track_caller]
    fn scan_with_total<T: Element, O: Associative<T>, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<T, D>,
        total: &mut DeviceArray<T>,
        scan: Scan<T, O>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "scan_with_total");
        same_shape(queue, x, "out", out)?;
        enqueue(queue, &flat(x)?, None, Some(flat(out)?), Some(one_element(queue, "total", total)?), scan)
    }

    #[track_caller]
    fn scan_in_place<T: Element, O: Associative<T>, const D: usize>(
        &self,
        x: &mut DeviceArray<T, D>,
        scan: Scan<T, O>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "scan_in_place");
        enqueue(queue, &flat(x)?, None, None, None, scan)
    }
}

/// Enqueues a scan of an array, or of a part with a count, to `out`, or of `x` to itself.
#[track_caller]
pub(crate) fn enqueue<T: Element, O: Associative<T>>(
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
    /// Enqueues the launches: one, or three with the combined shares between them.
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
        let tiles = Tiles { queue, operator, reversed: scan.reversed };
        let last = tiles.kernel(arrays.out.is_none(), scan.exclusive, shares.count > 1, self.count)?;
        let mut total = match &self.total {
            Some(total) => of_kernel(total),
            None => queue.empty([1])?,
        };
        let carries = queue.empty([shares.count])?;
        if shares.count == 1 {
            return launch(queue, &last, shares, &mut arrays, &carries, &mut total, operator);
        }
        let combined = scan.operation.shares_kernel(queue, self.count, scan.reversed)?;
        let spine = tiles.kernel(false, true, false, None)?;
        let mut partials = queue.empty([shares.count])?;
        let unused = queue.empty([1])?;
        let mut all = queue.empty([1])?;
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
    /// `true` if each share is scanned from its last element on. The shares stay the same; the last one is scanned
    /// first.
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
        self.operator.kernel(self.queue, stem, &tuned(self.queue, &overrides), count)
    }
}

/// Arrays of a scan, with elements of the kernel's type.
struct Arrays<U: Element> {
    x: DeviceArray<U>,
    /// `None` if the results replace the elements.
    out: Option<DeviceArray<U>>,
    /// Number of elements of the part, if there is one.
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

/// Launch that replaces each of at most 16,384 counts by the sum of all counts before it.
pub(crate) struct CountSums {
    kernel: DynKernel,
    carries: DeviceArray<u32>,
    total: DeviceArray<u32>,
}

impl CountSums {
    #[track_caller]
    pub(crate) fn new(queue: &VerbQueue<'_>, counts: usize) -> Result<Self> {
        // Few counts are scanned by few invocations, which wait for each other more seldom.
        let workgroup = if counts <= 1024 { 64.0 } else { 256.0 };
        let overrides = [("EXCLUSIVE", 1.0), ("WORKGROUP", workgroup)];
        let kernel = compiled::<u32>(queue, "scan_in_place", &tuned(queue, &overrides))?;
        Ok(Self { kernel, carries: queue.empty([1])?, total: queue.empty([1])? })
    }

    #[track_caller]
    pub(crate) fn launch(&mut self, queue: &VerbQueue<'_>, counts: &DeviceArray<u32>) -> Result<()> {
        let mut arrays = Arrays { x: counts.clone(), out: None, count: None };
        let shares = Shares::one(counts.len());
        let sum = Operator::of_elements(Operation::Sum, 0);
        launch(queue, &self.kernel, shares, &mut arrays, &self.carries, &mut self.total, sum)
    }
}
