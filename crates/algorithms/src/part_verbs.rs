//! Verbs on the first elements of arrays, whose number is on the device.

use crate::by_key;
use crate::count::{Comparison, compare};
use crate::counted::COUNT;
use crate::elementwise::{bits, same_shape};
use crate::map;
use crate::part::Part;
use crate::radix::{Arrays, Payload, Prepared};
use crate::reduce::{Nan, reduce};
use crate::reducible::{Operation, Reducible};
use crate::refusals::check;
use crate::scan::{self, Scan};
use crate::select::{Compact, Kept, result};
use crate::sort::Sort;
use fencepost_core::{CommandQueue, DeviceArray, Result};

/// Calls verbs on [parts](Part) of arrays: on the first elements, whose number is on the device.
///
/// Each verb is the one on whole arrays whose name it begins with, with the bounds, the determinism and the source of
/// that verb. The function of the host is that verb's function on the first elements. The results of elements behind
/// the part are not written.
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

    /// *Enqueues* the scan of the elements to `out`, as [`scan`](crate::PrefixScan::scan) does.
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
    fn scan_part<T: Reducible>(&self, x: Part<'_, T>, out: &mut DeviceArray<T>, scan: Scan<T>) -> Result<()>;

    /// *Enqueues* out = the elements in order, as [`sort`](crate::RadixSort::sort) does.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Part, PartVerbs, Sort};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, count, mut out) = (ctx.array(&[3_i32, -1, -4])?, ctx.array(&[2])?, ctx.zeros([3])?);
    /// queue.sort_part(Part::new(&x, &count), &mut out, Sort::ascending())?;
    /// assert_eq!(queue.read(&out).wait()?, [-1, 3, 0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn sort_part<T: Reducible>(&self, x: Part<'_, T>, out: &mut DeviceArray<T>, sort: Sort) -> Result<()>;

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

    /// *Enqueues* out = the elements whose mask is not zero, as [`select`](crate::Select::select) does. The mask has an
    /// element for each one of the whole array.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Part, PartVerbs};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, count, mask) = (ctx.array(&[3_u32, 1, 4])?, ctx.array(&[2])?, ctx.array(&[0, 1, 1])?);
    /// let (mut out, mut kept) = (ctx.zeros([3])?, ctx.zeros([1])?);
    /// queue.select_part(Part::new(&x, &count), &mask, &mut out, &mut kept)?;
    /// assert_eq!(queue.read(&out).wait()?, [1, 0, 0]);
    /// assert_eq!(queue.read(&kept).wait()?, [1]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn select_part<T: Reducible>(
        &self,
        x: Part<'_, T>,
        mask: &DeviceArray<u32>,
        out: &mut DeviceArray<T>,
        count: &mut DeviceArray<u32>,
    ) -> Result<()>;

    /// *Enqueues* out = the elements that differ from the element before them, as [`unique`](crate::Select::unique)
    /// does.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Part, PartVerbs};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, count) = (ctx.array(&[2_u32, 2, 5, 7])?, ctx.array(&[3])?);
    /// let (mut out, mut kept) = (ctx.zeros([4])?, ctx.zeros([1])?);
    /// queue.unique_part(Part::new(&x, &count), &mut out, &mut kept)?;
    /// assert_eq!(queue.read(&out).wait()?, [2, 5, 0, 0]);
    /// assert_eq!(queue.read(&kept).wait()?, [2]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn unique_part<T: Reducible>(
        &self,
        x: Part<'_, T>,
        out: &mut DeviceArray<T>,
        count: &mut DeviceArray<u32>,
    ) -> Result<()>;

    /// *Enqueues* the keys and the lengths of the runs, as [`run_lengths`](crate::ByKey::run_lengths) does.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Part, PartVerbs};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, count) = (ctx.array(&[2_u32, 2, 5, 5])?, ctx.array(&[3])?);
    /// let (mut kept, mut lengths, mut runs) = (ctx.zeros([4])?, ctx.zeros([4])?, ctx.zeros([1])?);
    /// queue.run_lengths_part(Part::new(&x, &count), &mut kept, &mut lengths, &mut runs)?;
    /// assert_eq!(queue.read(&kept).wait()?, [2, 5, 0, 0]);
    /// assert_eq!(queue.read(&lengths).wait()?, [2, 1, 0, 0]);
    /// assert_eq!(queue.read(&runs).wait()?, [2]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn run_lengths_part<T: Reducible>(
        &self,
        x: Part<'_, T>,
        kept: &mut DeviceArray<T>,
        lengths: &mut DeviceArray<u32>,
        count: &mut DeviceArray<u32>,
    ) -> Result<()>;
}

impl PartVerbs for CommandQueue {
    #[track_caller]
    fn sum_part<T: Reducible>(&self, x: Part<'_, T>, out: &mut DeviceArray<T>) -> Result<()> {
        reduce(self, Operation::Sum, Nan::Propagate, x.array, Some(&x.count()?), out)
    }

    #[track_caller]
    fn prod_part<T: Reducible>(&self, x: Part<'_, T>, out: &mut DeviceArray<T>) -> Result<()> {
        reduce(self, Operation::Product, Nan::Propagate, x.array, Some(&x.count()?), out)
    }

    #[track_caller]
    fn min_part<T: Reducible>(&self, x: Part<'_, T>, out: &mut DeviceArray<T>) -> Result<()> {
        reduce(self, Operation::Smallest, Nan::Propagate, x.array, Some(&x.count()?), out)
    }

    #[track_caller]
    fn max_part<T: Reducible>(&self, x: Part<'_, T>, out: &mut DeviceArray<T>) -> Result<()> {
        reduce(self, Operation::Largest, Nan::Propagate, x.array, Some(&x.count()?), out)
    }

    #[track_caller]
    fn count_nonzero_part<T: Reducible>(&self, x: Part<'_, T>, out: &mut DeviceArray<u32>) -> Result<()> {
        compare(self, Comparison::Count, x.array, Some(&x.count()?), out)
    }

    #[track_caller]
    fn any_part<T: Reducible>(&self, x: Part<'_, T>, out: &mut DeviceArray<u32>) -> Result<()> {
        compare(self, Comparison::Any, x.array, Some(&x.count()?), out)
    }

    #[track_caller]
    fn all_part<T: Reducible>(&self, x: Part<'_, T>, out: &mut DeviceArray<u32>) -> Result<()> {
        compare(self, Comparison::All, x.array, Some(&x.count()?), out)
    }

    #[track_caller]
    fn scan_part<T: Reducible>(&self, x: Part<'_, T>, out: &mut DeviceArray<T>, scan: Scan<T>) -> Result<()> {
        same_shape(x.array, out)?;
        let (array, out) = (x.array.reshape([x.array.len()])?, out.reshape([out.len()])?);
        scan::enqueue(self, &array, Some(&x.count()?), Some(out), None, scan)
    }

    #[track_caller]
    fn sort_part<T: Reducible>(&self, x: Part<'_, T>, out: &mut DeviceArray<T>, sort: Sort) -> Result<()> {
        same_shape(x.array, out)?;
        let (order, count) = (sort.order::<T>(Payload::None)?, x.count()?);
        let (x, out) = (bits(x.array)?, bits(out)?);
        check(self, "sort_part", &[("x", &x), (COUNT, &count)], &[("out", &out)])?;
        let (n, input) = (x.len(), Arrays { keys: Some(x), values: None });
        let out = Arrays { keys: Some(out), values: None };
        Prepared::of(self, &order, n, Some(&count), Some(input), out)?.enqueue(self)
    }

    #[track_caller]
    fn map_part<T: Reducible, U: Reducible>(
        &self,
        x: Part<'_, T>,
        expression: &str,
        out: &mut DeviceArray<U>,
    ) -> Result<()> {
        same_shape(x.array, out)?;
        let (array, mut out) = (x.array.reshape([x.array.len()])?, out.reshape([out.len()])?);
        map::map(self, &array, Some(&x.count()?), expression, &mut out)
    }

    #[track_caller]
    fn select_part<T: Reducible>(
        &self,
        x: Part<'_, T>,
        mask: &DeviceArray<u32>,
        out: &mut DeviceArray<T>,
        count: &mut DeviceArray<u32>,
    ) -> Result<()> {
        same_shape(x.array, mask)?;
        let results = result(x.array, out)?;
        let compact = Compact::new(Kept::Masked, bits(x.array)?, bits(mask)?, results);
        compact.of_part(x.count()?).enqueue(self, count)
    }

    #[track_caller]
    fn unique_part<T: Reducible>(
        &self,
        x: Part<'_, T>,
        out: &mut DeviceArray<T>,
        count: &mut DeviceArray<u32>,
    ) -> Result<()> {
        let (array, results) = (bits(x.array)?, result(x.array, out)?);
        let compact = Compact::new(Kept::Heads, array.handle(), array, results);
        compact.of_part(x.count()?).enqueue(self, count)
    }

    #[track_caller]
    fn run_lengths_part<T: Reducible>(
        &self,
        x: Part<'_, T>,
        kept: &mut DeviceArray<T>,
        lengths: &mut DeviceArray<u32>,
        count: &mut DeviceArray<u32>,
    ) -> Result<()> {
        by_key::lengths_of_runs(self, x.array, Some(x.count()?), kept, lengths, count)
    }
}
