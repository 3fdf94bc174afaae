//! Sorts of the segments of an array.

use crate::elementwise::{bits, flat, iota, same_shape};
use crate::radix::{Arrays, Payload, Prepared};
use crate::reducible::Reducible;
use crate::refusals::check;
use crate::sort::Sort;
use crate::sorted::{Side, searchsorted};
use crate::tuning::WIDE;
use crate::typed_kernel::compiled;
use crate::verb_queue::VerbQueue;
use fencepost_core::{CommandQueue, DeviceArray, Result};

/// Sorts the segments of an array, each one alone.
pub trait SortSegments {
    /// *Enqueues* out = the elements of `x`, with those of each segment in order. A segment lies between two
    /// neighbouring offsets. The elements before the first offset and the elements from the last offset on are
    /// segments too.
    ///
    /// The sort is stable, and orders like a [`sort`](crate::RadixSort::sort).
    ///
    /// # Shape
    /// `x` and `out` have one length. The offsets ascend; equal ones have an empty segment between them. There may be
    /// any number of them, and an offset past the last element counts as the end of the array. If the offsets do not
    /// ascend, `out` has the elements in any order.
    ///
    /// # Cost
    /// The verb numbers the segments by two launches, and takes the launches of two sorts of pairs: one by the keys,
    /// and one by the numbers of the segments, with as many bits as the number of offsets has. The lengths of the
    /// segments do not change the cost. The scratch memory is 8 words for each element, and up to 32,772 words for the
    /// counts of the digits.
    ///
    /// # Determinism
    /// The result is exact, on all devices.
    ///
    /// # Errors
    /// Returns the errors of [`sort`](crate::RadixSort::sort).
    ///
    /// # Source
    /// A stable sort by the higher digits of a number keeps the order by its lower ones: the segment is the highest
    /// digit.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Sort, SortSegments};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, offsets) = (ctx.array(&[3_u32, 1, 9, 7, 8, 2])?, ctx.array(&[2, 5])?);
    /// let mut out = ctx.zeros([6])?;
    /// queue.sort_segments(&x, &offsets, &mut out, Sort::ascending())?;
    /// assert_eq!(queue.read(&out).wait()?, [1, 3, 7, 8, 9, 2]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn sort_segments<T: Reducible>(
        &self,
        x: &DeviceArray<T>,
        offsets: &DeviceArray<u32>,
        out: &mut DeviceArray<T>,
        sort: Sort,
    ) -> Result<()>;
}

impl SortSegments for CommandQueue {
    #[track_caller]
    fn sort_segments<T: Reducible>(
        &self,
        x: &DeviceArray<T>,
        offsets: &DeviceArray<u32>,
        out: &mut DeviceArray<T>,
        sort: Sort,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "sort_segments");
        same_shape(queue, x, "out", out)?;
        let by_key = sort.order::<T>(Payload::Values)?;
        let x = bits(x)?;
        let offsets = flat(offsets)?;
        let out = bits(out)?;
        check(queue, &[("x", &x), ("offsets", &offsets)], &[("out", &out)])?;
        let n = x.len();
        if n == 0 {
            return Ok(());
        }
        // The numbers of the segments are 0 to the number of offsets.
        let digits = u32::BITS - (offsets.len() as u32).leading_zeros();
        let by_segment = Sort::ascending().bits(0..digits.max(1)).order::<u32>(Payload::Values)?;
        // A closure would be the caller that the memory names.
        let (segments, places) = (queue.empty::<u32, 1>([n])?, queue.empty::<u32, 1>([n])?);
        let (keys, sorted) = (queue.empty::<u32, 1>([n])?, queue.empty::<u32, 1>([n])?);
        let pairs = |keys: &DeviceArray<u32>, values: &DeviceArray<u32>| Arrays {
            keys: Some(keys.clone()),
            values: Some(values.clone()),
        };
        let input = pairs(&x, &segments);
        let between = pairs(&keys, &sorted);
        let first = Prepared::of(queue, &by_key, n, None, Some(input), between)?;
        let between = pairs(&sorted, &keys);
        let last = pairs(&places, &out);
        let second = Prepared::of(queue, &by_segment, n, None, Some(between), last)?;
        compiled::<u32>(queue, "iota", &WIDE)?;
        iota(queue, &places, 0, 1)?;
        searchsorted(queue, &offsets, &places, Side::Right, &segments)?;
        first.enqueue(queue)?;
        second.enqueue(queue)
    }
}
