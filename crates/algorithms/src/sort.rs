//! Sorts of arrays, of their first elements, of segments, and along an axis.

use crate::axis::View;
use crate::elementwise::{bits, flat, iota, same_shape};
use crate::order::{flips, order_key};
use crate::passes::one_count;
use crate::radix::{self, Arrays, Order, Payload, PreparedSort};
use crate::rearrange::{Outside, gather};
use crate::reducible::Reducible;
use crate::refusals::{Named, check};
use crate::rows::{Rows, count_of};
use crate::sorted::{Side, searchsorted};
use crate::trusted;
use crate::tuning::WIDE;
use crate::typed_kernel::compiled;
use crate::verb_queue::VerbQueue;
use fencepost_core::{DeviceArray, ErrorDetail, Grid, Over, Parts, Prefix, Result};
use fencepost_derive::KernelArgs;
use fencepost_kernels::PART_COUNT;
use std::ops::Range;

/// Order of a [`sort`](crate::Algorithms::sort).
///
/// # Example
/// ```
/// use fencepost::prelude::*;
/// # let (ctx, queue) = fencepost::doctest();
/// let mut x = ctx.array(&[3, -1, 4])?;
/// queue.sort_in_place(&mut x, Sort::ascending())?;
/// assert_eq!(queue.read(&x).wait()?, [-1, 3, 4]);
/// queue.sort_in_place(&mut x, Sort::descending())?;
/// assert_eq!(queue.read(&x).wait()?, [4, 3, -1]);
///
/// let mut words = ctx.array(&[0x31_u32, 0x21, 0x12])?;
/// queue.sort_in_place(&mut words, Sort::ascending().bits(0..4))?;     // compares the low digits
/// assert_eq!(queue.read(&words).wait()?, [0x31, 0x21, 0x12]);
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Sort {
    descending: bool,
    first: u32,
    end: u32,
}

impl Sort {
    /// Returns a sort with the smallest element first.
    pub const fn ascending() -> Self {
        Self { descending: false, first: 0, end: u32::BITS }
    }

    /// Returns a sort with the largest element first. Equal elements keep their order even here.
    pub const fn descending() -> Self {
        Self { descending: true, ..Self::ascending() }
    }

    /// Compares only a range of bits of the keys; bit 0 is the lowest. The key of a `u32` is the number itself. The key
    /// of an `i32`, or of an `f32` that is not negative, is the number with its sign bit inverted. The key of a
    /// negative `f32` is the number with all bits inverted. Fewer bits take fewer launches. A range that is empty or
    /// not within 0..32 is refused.
    pub fn bits(self, range: Range<u32>) -> Self {
        Self { first: range.start, end: range.end, ..self }
    }

    /// Returns `true` if the range of bits is not empty and lies within a key.
    pub(crate) fn has_bits(self) -> bool {
        self.first < self.end && self.end <= u32::BITS
    }

    /// Returns an element's sort key, computed on the host, with only the bits that the sort compares.
    pub(crate) fn key<T: Reducible>(self, element: T) -> u32 {
        let key = if self.descending { !order_key(element) } else { order_key(element) };
        key >> self.first & (u32::MAX >> (u32::BITS - (self.end - self.first)))
    }

    /// Returns the order of elements of a type, or an error if the range of bits is not valid.
    pub(crate) fn order<T: Reducible>(self, payload: Payload) -> Result<Order> {
        let bits = self.first..self.end;
        if !self.has_bits() {
            let object = "the range of bits of a sort".into();
            let found = format!("{bits:?}");
            return Err(
                ErrorDetail::Value { object, found, needed: "a range in 0..32 that is not empty" }.into()
            );
        }
        Ok(Order { flips: flips::<T>(self.descending), bits, payload })
    }
}

/// Enqueues the sort of an array, of its first elements, of each segment, or along an axis.
#[track_caller]
pub(crate) fn sort<T: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    x: Over<'_, T, D>,
    out: &DeviceArray<T, D>,
    sort: Sort,
) -> Result<()> {
    let array = x.array();
    same_shape(queue, array, "out", out)?;
    match x.parts() {
        Parts::Segments(offsets) => of_segments(queue, [&flat(array)?, &flat(out)?], offsets, None, sort),
        Parts::Axis(axis) => {
            let view = View::along(queue, array, axis)?;
            sort.order::<T>(Payload::Values)?;
            let x = flat(array)?;
            let out = flat(out)?;
            check(queue, &[("x", &bits(&x)?)], &[("out", &bits(&out)?)])?;
            if x.is_empty() {
                return Ok(());
            }
            let rows = Rows::new(queue, view, &x, &out)?;
            of_segments(queue, [&rows.x, &rows.out], &rows.offsets, Some(&rows), sort)?;
            rows.leave(queue)
        }
        parts => {
            let order = sort.order::<T>(Payload::None)?;
            let out = Arrays { keys: Some(bits(out)?), values: None };
            sorted(queue, array, count_of(parts), &order, None, out)
        }
    }
}

/// Enqueues the sort of keys, or of the first ones, together with their values.
#[track_caller]
pub(crate) fn sort_pairs<T: Reducible, V: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    keys: Prefix<'_, T, D>,
    values: &DeviceArray<V, D>,
    [out_keys, out_values]: [&DeviceArray<u32, D>; 2],
    sort: Sort,
) -> Result<()> {
    let array = keys.array();
    same_shape(queue, array, "values", values)?;
    same_shape(queue, array, "out_keys", out_keys)?;
    same_shape(queue, array, "out_values", out_values)?;
    let order = sort.order::<T>(Payload::Values)?;
    let out = Arrays { keys: Some(flat(out_keys)?), values: Some(flat(out_values)?) };
    sorted(queue, array, keys.count(), &order, Some(bits(values)?), out)
}

/// Enqueues the places of the elements in sorted order: of an array, of its first elements, of each segment, or along an
/// axis.
#[track_caller]
pub(crate) fn argsort<T: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    x: Over<'_, T, D>,
    places: &DeviceArray<u32, D>,
    sort: Sort,
) -> Result<()> {
    let array = x.array();
    same_shape(queue, array, "places", places)?;
    let order = sort.order::<T>(Payload::Places)?;
    let out = flat(places)?;
    match x.parts() {
        Parts::Segments(offsets) => {
            let x = bits(array)?;
            let offsets = flat(offsets)?;
            check(queue, &[("x", &x), ("offsets", &offsets)], &[("places", &out)])?;
            places_of_segments(queue, [&x, &out], &offsets, None, &order)
        }
        Parts::Axis(axis) => {
            let view = View::along(queue, array, axis)?;
            let x = bits(array)?;
            check(queue, &[("x", &x)], &[("places", &out)])?;
            if x.is_empty() {
                return Ok(());
            }
            let rows = Rows::new(queue, view, &x, &out)?;
            places_of_segments(queue, [&rows.x, &rows.out], &rows.offsets, Some(&rows), &order)?;
            rows.leave(queue)
        }
        parts => {
            let out = Arrays { keys: None, values: Some(out) };
            sorted(queue, array, count_of(parts), &order, None, out)
        }
    }
}

#[track_caller]
pub(crate) fn sort_in_place<T: Reducible>(
    queue: &VerbQueue<'_>,
    x: &mut DeviceArray<T>,
    sort: Sort,
) -> Result<()> {
    let order = sort.order::<T>(Payload::None)?;
    let x = bits(x)?;
    check(queue, &[], &[("x", &x)])?;
    radix::enqueue(queue, &order, x.len(), None, Arrays { keys: Some(x), values: None })
}

#[track_caller]
pub(crate) fn sort_pairs_in_place<T: Reducible, V: Reducible>(
    queue: &VerbQueue<'_>,
    keys: &mut DeviceArray<T>,
    values: &mut DeviceArray<V>,
    sort: Sort,
) -> Result<()> {
    same_shape(queue, keys, "values", values)?;
    let order = sort.order::<T>(Payload::Values)?;
    let keys = bits(keys)?;
    let values = bits(values)?;
    check(queue, &[], &[("keys", &keys), ("values", &values)])?;
    radix::enqueue(queue, &order, keys.len(), None, Arrays { keys: Some(keys), values: Some(values) })
}

/// Enqueues the sort of an array, or of its first elements, in a given order.
#[track_caller]
fn sorted<T: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<T, D>,
    count: Option<&DeviceArray<u32>>,
    order: &Order,
    values: Option<DeviceArray<u32>>,
    out: Arrays,
) -> Result<()> {
    let keys = bits(x)?;
    let count = count.map(|count| one_count(queue, count)).transpose()?;
    let names = match order.payload {
        Payload::Values => ["keys", "out_keys", "out_values"],
        Payload::None | Payload::Places => ["x", "out", "places"],
    };
    let mut reads: Vec<Named<'_>> = vec![(names[0], &keys)];
    reads.extend(count.as_ref().map(|count| (PART_COUNT, count)));
    reads.extend(values.as_ref().map(|values| ("values", values)));
    let written = [out.keys.as_ref(), out.values.as_ref()].into_iter().zip(&names[1..]);
    let writes: Vec<Named<'_>> = written.filter_map(|(array, name)| Some((*name, array?))).collect();
    check(queue, &reads, &writes)?;
    let n = keys.len();
    let input = Arrays { keys: Some(keys), values };
    PreparedSort::new(queue, order, n, count.as_ref(), Some(input), out)?.enqueue(queue)
}

/// Enqueues the sort of each segment: a sort by element, followed by a stable sort by segment. If the segments are
/// rows, they are written only once all memory is allocated.
#[track_caller]
fn of_segments<T: Reducible>(
    queue: &VerbQueue<'_>,
    [x, out]: [&DeviceArray<T>; 2],
    offsets: &DeviceArray<u32>,
    rows: Option<&Rows<'_, T>>,
    sort: Sort,
) -> Result<()> {
    let by_key = sort.order::<T>(Payload::Values)?;
    let x = bits(x)?;
    let offsets = flat(offsets)?;
    let out = bits(out)?;
    check(queue, &[("x", &x), ("offsets", &offsets)], &[("out", &out)])?;
    let n = x.len();
    if n == 0 {
        return Ok(());
    }
    let by_segment = order_of_segments(&offsets)?;
    // Not in a closure, because then the memory would name the closure as its caller.
    let segments = queue.scratch::<u32>(n)?;
    let places = queue.scratch::<u32>(n)?;
    let keys = queue.scratch::<u32>(n)?;
    let sorted = queue.scratch::<u32>(n)?;
    let pairs = |keys: &DeviceArray<u32>, values: &DeviceArray<u32>| Arrays {
        keys: Some(keys.clone()),
        values: Some(values.clone()),
    };
    let input = pairs(&x, &segments);
    let between = pairs(&keys, &sorted);
    let first = PreparedSort::new(queue, &by_key, n, None, Some(input), between)?;
    let between = pairs(&sorted, &keys);
    let last = pairs(&places, &out);
    let second = PreparedSort::new(queue, &by_segment, n, None, Some(between), last)?;
    compiled::<u32>(queue, "iota", &WIDE)?;
    if let Some(rows) = rows {
        rows.enter(queue)?;
    }
    iota(queue, &places, 0, 1)?;
    searchsorted(queue, (&offsets).into(), &places, Side::Right, &segments)?;
    first.enqueue(queue)?;
    second.enqueue(queue)
}

/// Returns the order of pairs whose keys are the numbers of segments, from 0 to the number of offsets.
fn order_of_segments(offsets: &DeviceArray<u32>) -> Result<Order> {
    let digits = u32::BITS - (offsets.len() as u32).leading_zeros();
    Sort::ascending().bits(0..digits.max(1)).order::<u32>(Payload::Values)
}

/// Enqueues the places of the elements of each segment in sorted order: a sort of the places by element, followed by a
/// stable sort by segment. The arrays must already be checked. If the segments are rows, they are written only once all
/// memory is allocated.
#[track_caller]
pub(crate) fn places_of_segments(
    queue: &VerbQueue<'_>,
    [x, out]: [&DeviceArray<u32>; 2],
    offsets: &DeviceArray<u32>,
    rows: Option<&Rows<'_, u32>>,
    by_key: &Order,
) -> Result<()> {
    let n = x.len();
    if n == 0 {
        return Ok(());
    }
    let by_segment = order_of_segments(offsets)?;
    let segments = queue.scratch::<u32>(n)?;
    let places = queue.scratch::<u32>(n)?;
    let keys = queue.scratch::<u32>(n)?;
    let sorted = queue.scratch::<u32>(n)?;
    let unused = queue.scratch::<u32>(n)?;
    let values =
        |array: &DeviceArray<u32>| Arrays { keys: Some(unused.clone()), values: Some(array.clone()) };
    let input = Arrays { keys: Some(x.clone()), values: None };
    let first = PreparedSort::new(queue, by_key, n, None, Some(input), values(&places))?;
    let input = Arrays { keys: Some(keys.clone()), values: Some(places.clone()) };
    let second = PreparedSort::new(queue, &by_segment, n, None, Some(input), values(&sorted))?;
    let local = trusted::kernel_with::<PlacesArgs<'_>>(queue, &WIDE)?;
    compiled::<u32>(queue, "iota", &WIDE)?;
    if let Some(rows) = rows {
        rows.enter(queue)?;
    }
    iota(queue, &places, 0, 1)?;
    searchsorted(queue, offsets.into(), &places, Side::Right, &segments)?;
    first.enqueue(queue)?;
    gather(queue, &segments, (&places).into(), Outside::Zero, &mut keys.clone())?;
    second.enqueue(queue)?;
    let mut out = out.clone();
    let args = PlacesArgs { n: n as u32, places: &sorted, segments: &segments, offsets, out: &mut out };
    queue.launch(&local, Grid::threads([n]), args)
}

#[derive(KernelArgs)]
#[kernel(source = "places_in_segments.wgsl", crate = fencepost_kernels)]
struct PlacesArgs<'a> {
    n: u32,
    places: &'a DeviceArray<u32>,
    segments: &'a DeviceArray<u32>,
    offsets: &'a DeviceArray<u32>,
    out: &'a mut DeviceArray<u32>,
}
