//! Sorts of whole arrays.

use crate::elementwise::{bits, same_shape};
use crate::order::{flips, order_key};
use crate::radix::{self, Arrays, Order, Payload};
use crate::reducible::Reducible;
use crate::refusals::check;
use crate::verb_queue::VerbQueue;
use fencepost_core::{CommandQueue, DeviceArray, Kind, Result};
use std::ops::Range;

/// Order of a sort.
///
/// # Example
/// ```
/// use fencepost::algorithms::{Sort, host};
/// assert_eq!(host::sort(&[3, -1, 4], Sort::ascending()), Some(vec![-1, 3, 4]));
/// assert_eq!(host::sort(&[3, -1, 4], Sort::descending()), Some(vec![4, 3, -1]));
/// let low_digits = Sort::ascending().bits(0..4);
/// assert_eq!(host::sort(&[0x31_u32, 0x21, 0x12], low_digits), Some(vec![0x31, 0x21, 0x12]));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Sort {
    descending: bool,
    first: u32,
    end: u32,
}

impl Sort {
    /// Puts the smallest element first.
    pub const fn ascending() -> Self {
        Self { descending: false, first: 0, end: u32::BITS }
    }

    /// Puts the largest element first. Equal elements keep their order as well.
    pub const fn descending() -> Self {
        Self { descending: true, ..Self::ascending() }
    }

    /// Compares a range of the bits of the keys alone; bit 0 is the lowest one. The key of a `u32` is the number
    /// itself. The key of an `i32` is the number with the sign bit inverted, and so is the key of an `f32` which is not
    /// negative. The key of a negative `f32` has all its bits inverted. Fewer bits take fewer launches. A sort refuses
    /// an empty range, and a range that does not end in 0..=32.
    pub fn bits(self, range: Range<u32>) -> Self {
        Self { first: range.start, end: range.end, ..self }
    }

    /// Returns `true` if the range of bits is one of the keys, and not empty.
    pub(crate) fn has_bits(self) -> bool {
        self.first < self.end && self.end <= u32::BITS
    }

    /// Returns an element's sort key, computed on the host. It has only the bits that the sort compares.
    pub(crate) fn key<T: Reducible>(self, element: T) -> u32 {
        let key = if self.descending { !order_key(element) } else { order_key(element) };
        key >> self.first & (u32::MAX >> (u32::BITS - (self.end - self.first)))
    }

    /// Returns the order of elements of a type, or an error if there are no such bits.
    pub(crate) fn order<T: Reducible>(self, payload: Payload) -> Result<Order> {
        let bits = self.first..self.end;
        if !self.has_bits() {
            let object = "the range of bits of a sort".into();
            let found = format!("{bits:?}");
            return Err(Kind::Value { object, found, needed: "a range in 0..32 that is not empty" }.into());
        }
        Ok(Order { flips: flips::<T>(self.descending), bits, payload })
    }
}

/// Sorts arrays.
///
/// A sort is stable: elements with equal keys keep their order, in descending order too. Floats are ordered by
/// `f32::total_cmp`: NaNs with the sign bit, -infinity, the negative numbers, -0, +0, the positive numbers,
/// infinity, NaNs without the sign bit. The bits of the elements stay as they are.
///
/// # Shape
/// All arrays of a call have one length, and one dimension.
///
/// # Cost
/// Up to 4,096 elements take one launch of one workgroup. More elements take three launches for each four bits of the
/// key: 24 for whole keys, for any number of elements. A sort in place of more elements by an odd number of digits adds
/// a copy of the array. Each digit reads the keys four times and writes them once, and the values are read and
/// written once. One launch reads the keys three times for each digit.
///
/// The scratch memory is as many keys, and as many values if there are values. A sort to another array by four bits or
/// fewer has arrays of one word in their place. More than 4,096 elements need up to 16,386 words more for the counts of the digits.
/// [`argsort`](Self::argsort) needs the keys a second time.
///
/// # Determinism
/// The result is exact, on all devices.
///
/// # Source
/// The sort moves the elements by one digit after the other, from the lowest one on. For each digit, one launch counts
/// the digits of shares, one scans the counts, and one moves the shares, as in Duane Merrill and Andrew Grimshaw, *High
/// Performance and Scalable Radix Sorting*, 2011. As there, the counters of several digits share a word.
pub trait RadixSort {
    /// *Enqueues* out = the elements of `x` in order.
    ///
    /// # Errors
    /// [`Kind::Shape`] if the lengths differ; [`Kind::Value`] if the keys have no such bits; [`Kind::Padding`] if an
    /// array is padded; the errors of a launch, and the queue's own error.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{RadixSort, Sort};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, mut out) = (ctx.array(&[3.0_f32, -0.5, 2.0])?, ctx.zeros([3])?);
    /// queue.sort(&x, &mut out, Sort::ascending())?;
    /// assert_eq!(queue.read(&out).wait()?, [-0.5, 2.0, 3.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn sort<T: Reducible>(&self, x: &DeviceArray<T>, out: &mut DeviceArray<T>, sort: Sort) -> Result<()>;

    /// *Enqueues* the sort of an array to the array itself.
    ///
    /// # Errors
    /// Returns the errors of [`sort`](Self::sort).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{RadixSort, Sort};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut x = ctx.array(&[3_i32, -7, 5])?;
    /// queue.sort_in_place(&mut x, Sort::descending())?;
    /// assert_eq!(queue.read(&x).wait()?, [5, 3, -7]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn sort_in_place<T: Reducible>(&self, x: &mut DeviceArray<T>, sort: Sort) -> Result<()>;

    /// *Enqueues* the sort of pairs, each of a key and a value, by their keys.
    ///
    /// # Errors
    /// Returns the errors of [`sort`](Self::sort).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{RadixSort, Sort};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (keys, values) = (ctx.array(&[2_u32, 1, 2])?, ctx.array(&[0.5_f32, 1.5, 2.5])?);
    /// let (mut out_keys, mut out_values) = (ctx.zeros([3])?, ctx.zeros([3])?);
    /// queue.sort_pairs(&keys, &values, &mut out_keys, &mut out_values, Sort::ascending())?;
    /// assert_eq!(queue.read(&out_keys).wait()?, [1, 2, 2]);
    /// assert_eq!(queue.read(&out_values).wait()?, [1.5, 0.5, 2.5]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn sort_pairs<T: Reducible, V: Reducible>(
        &self,
        keys: &DeviceArray<T>,
        values: &DeviceArray<V>,
        out_keys: &mut DeviceArray<T>,
        out_values: &mut DeviceArray<V>,
        sort: Sort,
    ) -> Result<()>;

    /// *Enqueues* the sort of pairs to their own arrays.
    ///
    /// # Errors
    /// Returns the errors of [`sort`](Self::sort).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{RadixSort, Sort};
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
    ) -> Result<()>;

    /// *Enqueues* places = the place in `x` of each element of the sorted array.
    ///
    /// # Errors
    /// Returns the errors of [`sort`](Self::sort).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{RadixSort, Sort};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, mut places) = (ctx.array(&[3_u32, 1, 4, 1])?, ctx.zeros([4])?);
    /// queue.argsort(&x, &mut places, Sort::ascending())?;
    /// assert_eq!(queue.read(&places).wait()?, [1, 3, 0, 2]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn argsort<T: Reducible>(
        &self,
        x: &DeviceArray<T>,
        places: &mut DeviceArray<u32>,
        sort: Sort,
    ) -> Result<()>;
}

impl RadixSort for CommandQueue {
    #[track_caller]
    fn sort<T: Reducible>(&self, x: &DeviceArray<T>, out: &mut DeviceArray<T>, sort: Sort) -> Result<()> {
        let queue = &VerbQueue::new(self, "sort");
        same_shape(queue, x, "out", out)?;
        let order = sort.order::<T>(Payload::None)?;
        let x = bits(x)?;
        let out = bits(out)?;
        check(queue, &[("x", &x)], &[("out", &out)])?;
        let n = x.len();
        let out = Arrays { keys: Some(out), values: None };
        radix::enqueue(queue, &order, n, Some(Arrays { keys: Some(x), values: None }), out)
    }

    #[track_caller]
    fn sort_in_place<T: Reducible>(&self, x: &mut DeviceArray<T>, sort: Sort) -> Result<()> {
        let queue = &VerbQueue::new(self, "sort_in_place");
        let order = sort.order::<T>(Payload::None)?;
        let x = bits(x)?;
        check(queue, &[], &[("x", &x)])?;
        radix::enqueue(queue, &order, x.len(), None, Arrays { keys: Some(x), values: None })
    }

    #[track_caller]
    fn sort_pairs<T: Reducible, V: Reducible>(
        &self,
        keys: &DeviceArray<T>,
        values: &DeviceArray<V>,
        out_keys: &mut DeviceArray<T>,
        out_values: &mut DeviceArray<V>,
        sort: Sort,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "sort_pairs");
        same_shape(queue, keys, "values", values)?;
        same_shape(queue, keys, "out_keys", out_keys)?;
        same_shape(queue, keys, "out_values", out_values)?;
        let order = sort.order::<T>(Payload::Values)?;
        let n = keys.len();
        let keys = bits(keys)?;
        let values = bits(values)?;
        let out_keys = bits(out_keys)?;
        let out_values = bits(out_values)?;
        let writes = [("out_keys", &out_keys), ("out_values", &out_values)];
        check(queue, &[("keys", &keys), ("values", &values)], &writes)?;
        let input = Arrays { keys: Some(keys), values: Some(values) };
        radix::enqueue(
            queue,
            &order,
            n,
            Some(input),
            Arrays { keys: Some(out_keys), values: Some(out_values) },
        )
    }

    #[track_caller]
    fn sort_pairs_in_place<T: Reducible, V: Reducible>(
        &self,
        keys: &mut DeviceArray<T>,
        values: &mut DeviceArray<V>,
        sort: Sort,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "sort_pairs_in_place");
        same_shape(queue, keys, "values", values)?;
        let order = sort.order::<T>(Payload::Values)?;
        let keys = bits(keys)?;
        let values = bits(values)?;
        check(queue, &[], &[("keys", &keys), ("values", &values)])?;
        radix::enqueue(queue, &order, keys.len(), None, Arrays { keys: Some(keys), values: Some(values) })
    }

    #[track_caller]
    fn argsort<T: Reducible>(
        &self,
        x: &DeviceArray<T>,
        places: &mut DeviceArray<u32>,
        sort: Sort,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "argsort");
        same_shape(queue, x, "places", places)?;
        let order = sort.order::<T>(Payload::Places)?;
        let x = bits(x)?;
        let places = bits(places)?;
        check(queue, &[("x", &x)], &[("places", &places)])?;
        let n = x.len();
        let out = Arrays { keys: None, values: Some(places) };
        radix::enqueue(queue, &order, n, Some(Arrays { keys: Some(x), values: None }), out)
    }
}
