//! Sorts of the first elements of arrays, whose number is on the device.

use crate::elementwise::{bits, same_shape};
use crate::part::Part;
use crate::radix::{Arrays, Order, Payload, Prepared};
use crate::reducible::Reducible;
use crate::refusals::{Named, check};
use crate::sort::Sort;
use crate::verb_queue::VerbQueue;
use fencepost_core::{CommandQueue, DeviceArray, Element, Result, SameBits};
use fencepost_kernels::PART_COUNT;

/// Sorts [parts](Part) of arrays, as the [verbs on parts](crate::PartVerbs) do: the results of elements after the part
/// are not written.
///
/// The shapes, the costs and the errors are those of [`PartVerbs`](crate::PartVerbs).
pub trait PartOrder {
    /// *Enqueues* out = the elements in order, as [`sort`](crate::RadixSort::sort) does.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Part, PartOrder, Sort};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, count, mut out) = (ctx.array(&[3_i32, -1, -4])?, ctx.array(&[2])?, ctx.zeros([3])?);
    /// queue.sort_part(Part::new(&x, &count), &mut out, Sort::ascending())?;
    /// assert_eq!(queue.read(&out).wait()?, [-1, 3, 0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn sort_part<T: Reducible>(&self, x: Part<'_, T>, out: &mut DeviceArray<T>, sort: Sort) -> Result<()>;

    /// *Enqueues* out = the keys in order, each with its value, as [`sort_pairs`](crate::RadixSort::sort_pairs) does. There
    /// is a value for each key of the whole array.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Part, PartOrder, Sort};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (keys, count, values) = (ctx.array(&[3_u32, 1, 0])?, ctx.array(&[2])?, ctx.array(&[30_u32, 10, 5])?);
    /// let (mut out_keys, mut out_values) = (ctx.zeros([3])?, ctx.zeros([3])?);
    /// let part = Part::new(&keys, &count);
    /// queue.sort_pairs_part(part, &values, &mut out_keys, &mut out_values, Sort::ascending())?;
    /// assert_eq!(queue.read(&out_keys).wait()?, [1, 3, 0]);
    /// assert_eq!(queue.read(&out_values).wait()?, [10, 30, 0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn sort_pairs_part<T: Reducible, V: Reducible>(
        &self,
        keys: Part<'_, T>,
        values: &DeviceArray<V>,
        out_keys: &mut DeviceArray<T>,
        out_values: &mut DeviceArray<V>,
        sort: Sort,
    ) -> Result<()>;

    /// *Enqueues* places = the places of the elements in their order, as [`argsort`](crate::RadixSort::argsort) does.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Part, PartOrder, Sort};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, count, mut places) = (ctx.array(&[3_i32, -1, -4])?, ctx.array(&[2])?, ctx.zeros([3])?);
    /// queue.argsort_part(Part::new(&x, &count), &mut places, Sort::ascending())?;
    /// assert_eq!(queue.read(&places).wait()?, [1, 0, 0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn argsort_part<T: Reducible>(
        &self,
        x: Part<'_, T>,
        places: &mut DeviceArray<u32>,
        sort: Sort,
    ) -> Result<()>;
}

impl PartOrder for CommandQueue {
    #[track_caller]
    fn sort_part<T: Reducible>(&self, x: Part<'_, T>, out: &mut DeviceArray<T>, sort: Sort) -> Result<()> {
        let queue = &VerbQueue::new(self, "sort_part");
        let out = Arrays { keys: Some(same_length(queue, x, "out", out)?), values: None };
        sorted(queue, x, &sort.order::<T>(Payload::None)?, None, out)
    }

    #[track_caller]
    fn sort_pairs_part<T: Reducible, V: Reducible>(
        &self,
        keys: Part<'_, T>,
        values: &DeviceArray<V>,
        out_keys: &mut DeviceArray<T>,
        out_values: &mut DeviceArray<V>,
        sort: Sort,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "sort_pairs_part");
        let values = same_length(queue, keys, "values", values)?;
        let order = sort.order::<T>(Payload::Values)?;
        let out_keys = same_length(queue, keys, "out_keys", out_keys)?;
        let out_values = same_length(queue, keys, "out_values", out_values)?;
        let out = Arrays { keys: Some(out_keys), values: Some(out_values) };
        sorted(queue, keys, &order, Some(values), out)
    }

    #[track_caller]
    fn argsort_part<T: Reducible>(
        &self,
        x: Part<'_, T>,
        places: &mut DeviceArray<u32>,
        sort: Sort,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "argsort_part");
        let out = Arrays { keys: None, values: Some(same_length(queue, x, "places", places)?) };
        sorted(queue, x, &sort.order::<T>(Payload::Places)?, None, out)
    }
}

/// Returns the bits of an array that has as many elements as the whole array of a part.
fn same_length<T: Element, U: Element + SameBits<u32>>(
    queue: &VerbQueue<'_>,
    x: Part<'_, T>,
    argument: &str,
    other: &DeviceArray<U>,
) -> Result<DeviceArray<u32>> {
    same_shape(queue, x.array, argument, other)?;
    bits(other)
}

/// Enqueues the sort of a part by an order.
#[track_caller]
fn sorted<T: Reducible>(
    queue: &VerbQueue<'_>,
    x: Part<'_, T>,
    order: &Order,
    values: Option<DeviceArray<u32>>,
    out: Arrays,
) -> Result<()> {
    let keys = bits(x.array)?;
    let count = x.count(queue)?;
    let names = match order.payload {
        Payload::Values => ["keys", "out_keys", "out_values"],
        Payload::None | Payload::Places => ["x", "out", "places"],
    };
    let mut reads: Vec<Named<'_>> = vec![(names[0], &keys), (PART_COUNT, &count)];
    reads.extend(values.as_ref().map(|values| ("values", values)));
    let written = [out.keys.as_ref(), out.values.as_ref()].into_iter().zip(&names[1..]);
    let writes: Vec<Named<'_>> = written.filter_map(|(array, name)| Some((*name, array?))).collect();
    check(queue, &reads, &writes)?;
    let n = keys.len();
    let input = Arrays { keys: Some(keys), values };
    Prepared::of(queue, order, n, Some(&count), Some(input), out)?.enqueue(queue)
}
