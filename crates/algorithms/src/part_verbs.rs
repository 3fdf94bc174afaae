//! Reductions, scans and maps of the first elements of arrays, whose number is on the device.

use crate::count::{Comparison, compare};
use crate::elementwise::{flat, same_shape};
use crate::map;
use crate::monoid::Associative;
use crate::part::Part;
use crate::passes::one_element;
use crate::reduce::{Nan, reduce};
use crate::reducible::{Operation, Reducible};
use crate::scan::{self, Scan};
use crate::verb_queue::VerbQueue;
use fencepost_core::{CommandQueue, DeviceArray, Element, Result};

/// Calls verbs on [parts](Part) of arrays: on the first elements, whose number is on the device.
///
/// Each verb is the one on whole arrays whose name it begins with, with the bounds, the determinism and the source of
/// that verb. Its host function is that verb's host function, called with the first elements. The results of elements
/// after the part are not written.
///
/// # Shape
/// Arrays have the lengths that the verb on whole arrays demands, as if the part was the whole array. The number of the
/// elements is an array of one element.
///
/// # Cost
/// A verb takes the launches and the scratch memory of the verb on the whole array, and reads the elements of the part
/// alone. Its kernels differ from those of whole arrays, so the first call compiles them.
///
/// # Errors
/// Each verb returns the errors of the verb on whole arrays, and [`Kind::Shape`](fencepost_core::Kind::Shape) if the
/// number of the elements is not one element.
pub trait PartVerbs {
    /// *Enqueues* out = the sum of the elements, as [`sum`](crate::Reduce::sum) does. The sum of no elements is 0.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Part, PartVerbs};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, count, mut total) = (ctx.array(&[1.5_f32, 2.0, 9.0])?, ctx.array(&[2])?, ctx.zeros([1])?);
    /// queue.sum_part(Part::new(&x, &count), &mut total)?;
    /// assert_eq!(queue.read(&total).wait()?, [3.5]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn sum_part<T: Reducible>(&self, x: Part<'_, T>, out: &mut DeviceArray<T>) -> Result<()>;

    /// *Enqueues* out = the product of the elements, as [`prod`](crate::Reduce::prod) does. The product of no elements
    /// is 1.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Part, PartVerbs};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, count, mut product) = (ctx.array(&[3_i32, -7, 5])?, ctx.array(&[2])?, ctx.zeros([1])?);
    /// queue.prod_part(Part::new(&x, &count), &mut product)?;
    /// assert_eq!(queue.read(&product).wait()?, [-21]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn prod_part<T: Reducible>(&self, x: Part<'_, T>, out: &mut DeviceArray<T>) -> Result<()>;

    /// *Enqueues* out = the smallest element, as [`min`](crate::Reduce::min) does. The smallest one of no elements is
    /// the greatest value of the type, which is infinite for `f32`.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Part, PartVerbs};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, count, mut least) = (ctx.array(&[3_i32, 2, -7])?, ctx.array(&[2])?, ctx.zeros([1])?);
    /// queue.min_part(Part::new(&x, &count), &mut least)?;
    /// assert_eq!(queue.read(&least).wait()?, [2]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn min_part<T: Reducible>(&self, x: Part<'_, T>, out: &mut DeviceArray<T>) -> Result<()>;

    /// *Enqueues* out = the smallest element, as [`min_with`](crate::Reduce::min_with) does. With [`Nan::Ignore`], the
    /// result of a part without a number is a NaN for `f32`.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Nan, Part, PartVerbs};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, count) = (ctx.array(&[f32::NAN, 2.0, -7.0])?, ctx.array(&[2])?);
    /// let mut least = ctx.zeros([1])?;
    /// queue.min_part_with(Part::new(&x, &count), &mut least, Nan::Ignore)?;
    /// assert_eq!(queue.read(&least).wait()?, [2.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn min_part_with<T: Reducible>(&self, x: Part<'_, T>, out: &mut DeviceArray<T>, nan: Nan) -> Result<()>;

    /// *Enqueues* out = the largest element, as [`max`](crate::Reduce::max) does. The largest one of no elements is the
    /// least value of the type, which is infinite for `f32`.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Part, PartVerbs};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, count, mut most) = (ctx.array(&[3_u32, 2, 7])?, ctx.array(&[2])?, ctx.zeros([1])?);
    /// queue.max_part(Part::new(&x, &count), &mut most)?;
    /// assert_eq!(queue.read(&most).wait()?, [3]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn max_part<T: Reducible>(&self, x: Part<'_, T>, out: &mut DeviceArray<T>) -> Result<()>;

    /// *Enqueues* out = the largest element, as [`max_with`](crate::Reduce::max_with) does. With [`Nan::Ignore`], the
    /// result of a part without a number is a NaN for `f32`.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Nan, Part, PartVerbs};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, count) = (ctx.array(&[f32::NAN, 2.0, 7.0])?, ctx.array(&[2])?);
    /// let mut most = ctx.zeros([1])?;
    /// queue.max_part_with(Part::new(&x, &count), &mut most, Nan::Ignore)?;
    /// assert_eq!(queue.read(&most).wait()?, [2.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn max_part_with<T: Reducible>(&self, x: Part<'_, T>, out: &mut DeviceArray<T>, nan: Nan) -> Result<()>;

    /// *Enqueues* out = the number of elements that are not zero, as [`count_nonzero`](crate::Count::count_nonzero)
    /// does.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Part, PartVerbs};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, count, mut out) = (ctx.array(&[5_u32, 0, 5])?, ctx.array(&[2])?, ctx.zeros([1])?);
    /// queue.count_nonzero_part(Part::new(&x, &count), &mut out)?;
    /// assert_eq!(queue.read(&out).wait()?, [1]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn count_nonzero_part<T: Reducible>(&self, x: Part<'_, T>, out: &mut DeviceArray<u32>) -> Result<()>;

    /// *Enqueues* out = 1 if any element is not zero, else 0, as [`any`](crate::Count::any) does.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Part, PartVerbs};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, count, mut any) = (ctx.array(&[0_u32, 0, 5])?, ctx.array(&[2])?, ctx.zeros([1])?);
    /// queue.any_part(Part::new(&x, &count), &mut any)?;
    /// assert_eq!(queue.read(&any).wait()?, [0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn any_part<T: Reducible>(&self, x: Part<'_, T>, out: &mut DeviceArray<u32>) -> Result<()>;

    /// *Enqueues* out = 1 if no element is zero, else 0, as [`all`](crate::Count::all) does.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Part, PartVerbs};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, count, mut all) = (ctx.array(&[5_u32, 5, 0])?, ctx.array(&[2])?, ctx.zeros([1])?);
    /// queue.all_part(Part::new(&x, &count), &mut all)?;
    /// assert_eq!(queue.read(&all).wait()?, [1]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn all_part<T: Reducible>(&self, x: Part<'_, T>, out: &mut DeviceArray<u32>) -> Result<()>;

    /// *Enqueues* the scan of the elements to `out`, as [`scan`](crate::PrefixScan::scan) does. A reversed scan begins at the last
    /// element of the part.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Operation, Part, PartVerbs, Scan};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, count, mut out) = (ctx.array(&[3_u32, 1, 4])?, ctx.array(&[2])?, ctx.zeros([3])?);
    /// queue.scan_part(Part::new(&x, &count), &mut out, Scan::inclusive(Operation::Sum))?;
    /// assert_eq!(queue.read(&out).wait()?, [3, 4, 0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn scan_part<T: Element, O: Associative<T>>(
        &self,
        x: Part<'_, T>,
        out: &mut DeviceArray<T>,
        scan: Scan<T, O>,
    ) -> Result<()>;

    /// *Enqueues* the scan of the elements to `out`, and all of them combined to `total`, as
    /// [`scan_with_total`](crate::PrefixScan::scan_with_total) does.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Operation, Part, PartVerbs, Scan};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, count) = (ctx.array(&[3_u32, 1, 4])?, ctx.array(&[2])?);
    /// let (mut out, mut total) = (ctx.zeros([3])?, ctx.zeros([1])?);
    /// let sums = Scan::exclusive(Operation::Sum);
    /// queue.scan_part_with_total(Part::new(&x, &count), &mut out, &mut total, sums)?;
    /// assert_eq!(queue.read(&out).wait()?, [0, 3, 0]);
    /// assert_eq!(queue.read(&total).wait()?, [4]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn scan_part_with_total<T: Element, O: Associative<T>>(
        &self,
        x: Part<'_, T>,
        out: &mut DeviceArray<T>,
        total: &mut DeviceArray<T>,
        scan: Scan<T, O>,
    ) -> Result<()>;

    /// *Enqueues* `out[i]` = the value of an expression of `x` and `i`, as [`map`](crate::Map::map) does.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Part, PartVerbs};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, count, mut out) = (ctx.array(&[3_u32, 1, 4])?, ctx.array(&[2])?, ctx.zeros::<u32, 1>([3])?);
    /// queue.map_part(Part::new(&x, &count), "x * 2u + i", &mut out)?;
    /// assert_eq!(queue.read(&out).wait()?, [6, 3, 0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn map_part<T: Reducible, U: Reducible>(
        &self,
        x: Part<'_, T>,
        expression: &str,
        out: &mut DeviceArray<U>,
    ) -> Result<()>;
}

impl PartVerbs for CommandQueue {
    #[track_caller]
    fn sum_part<T: Reducible>(&self, x: Part<'_, T>, out: &mut DeviceArray<T>) -> Result<()> {
        let queue = &VerbQueue::new(self, "sum_part");
        reduced(queue, Operation::Sum, Nan::Propagate, x, out)
    }

    #[track_caller]
    fn prod_part<T: Reducible>(&self, x: Part<'_, T>, out: &mut DeviceArray<T>) -> Result<()> {
        let queue = &VerbQueue::new(self, "prod_part");
        reduced(queue, Operation::Product, Nan::Propagate, x, out)
    }

    #[track_caller]
    fn min_part<T: Reducible>(&self, x: Part<'_, T>, out: &mut DeviceArray<T>) -> Result<()> {
        let queue = &VerbQueue::new(self, "min_part");
        reduced(queue, Operation::Smallest, Nan::Propagate, x, out)
    }

    #[track_caller]
    fn min_part_with<T: Reducible>(&self, x: Part<'_, T>, out: &mut DeviceArray<T>, nan: Nan) -> Result<()> {
        let queue = &VerbQueue::new(self, "min_part_with");
        reduced(queue, Operation::Smallest, nan, x, out)
    }

    #[track_caller]
    fn max_part<T: Reducible>(&self, x: Part<'_, T>, out: &mut DeviceArray<T>) -> Result<()> {
        let queue = &VerbQueue::new(self, "max_part");
        reduced(queue, Operation::Largest, Nan::Propagate, x, out)
    }

    #[track_caller]
    fn max_part_with<T: Reducible>(&self, x: Part<'_, T>, out: &mut DeviceArray<T>, nan: Nan) -> Result<()> {
        let queue = &VerbQueue::new(self, "max_part_with");
        reduced(queue, Operation::Largest, nan, x, out)
    }

    #[track_caller]
    fn count_nonzero_part<T: Reducible>(&self, x: Part<'_, T>, out: &mut DeviceArray<u32>) -> Result<()> {
        let queue = &VerbQueue::new(self, "count_nonzero_part");
        compared(queue, Comparison::Count, x, out)
    }

    #[track_caller]
    fn any_part<T: Reducible>(&self, x: Part<'_, T>, out: &mut DeviceArray<u32>) -> Result<()> {
        let queue = &VerbQueue::new(self, "any_part");
        compared(queue, Comparison::Any, x, out)
    }

    #[track_caller]
    fn all_part<T: Reducible>(&self, x: Part<'_, T>, out: &mut DeviceArray<u32>) -> Result<()> {
        let queue = &VerbQueue::new(self, "all_part");
        compared(queue, Comparison::All, x, out)
    }

    #[track_caller]
    fn scan_part<T: Element, O: Associative<T>>(
        &self,
        x: Part<'_, T>,
        out: &mut DeviceArray<T>,
        scan: Scan<T, O>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "scan_part");
        scanned(queue, x, out, None, scan)
    }

    #[track_caller]
    fn scan_part_with_total<T: Element, O: Associative<T>>(
        &self,
        x: Part<'_, T>,
        out: &mut DeviceArray<T>,
        total: &mut DeviceArray<T>,
        scan: Scan<T, O>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "scan_part_with_total");
        scanned(queue, x, out, Some(one_element(queue, "total", total)?), scan)
    }

    #[track_caller]
    fn map_part<T: Reducible, U: Reducible>(
        &self,
        x: Part<'_, T>,
        expression: &str,
        out: &mut DeviceArray<U>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "map_part");
        same_shape(queue, x.array, "out", out)?;
        let array = x.array.reshape([x.array.len()])?;
        let mut out = out.reshape([out.len()])?;
        map::map(queue, &array, Some(&x.count(queue)?), expression, &mut out)
    }
}

#[track_caller]
fn reduced<T: Reducible>(
    queue: &VerbQueue<'_>,
    operation: Operation,
    nan: Nan,
    x: Part<'_, T>,
    out: &mut DeviceArray<T>,
) -> Result<()> {
    reduce(queue, operation, nan, x.array, Some(&x.count(queue)?), out)
}

#[track_caller]
fn compared<T: Reducible>(
    queue: &VerbQueue<'_>,
    comparison: Comparison,
    x: Part<'_, T>,
    out: &mut DeviceArray<u32>,
) -> Result<()> {
    compare(queue, comparison, x.array, Some(&x.count(queue)?), out)
}

#[track_caller]
fn scanned<T: Element, O: Associative<T>>(
    queue: &VerbQueue<'_>,
    x: Part<'_, T>,
    out: &DeviceArray<T>,
    total: Option<DeviceArray<T>>,
    scan: Scan<T, O>,
) -> Result<()> {
    same_shape(queue, x.array, "out", out)?;
    scan::enqueue(queue, &flat(x.array)?, Some(&x.count(queue)?), Some(flat(out)?), total, scan)
}
