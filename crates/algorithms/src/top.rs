//! The largest elements of an array or of its parts, and the element at a place of the sorted array.

use crate::axis::View;
use crate::elementwise::{bits, flat};
use crate::order::flips;
use crate::passes::{checked_count, one_count, one_element};
use crate::radix::{self, Arrays, Payload, PreparedSort};
use crate::ranks::RankSearch;
use crate::reducible::Reducible;
use crate::refusals::{Named, check};
use crate::rows::{Rows, count_of};
use crate::sort::{Sort, places_of_segments};
use crate::stages::Launches;
use crate::trusted;
use crate::tuning::WIDE;
use crate::verb_queue::VerbQueue;
use fencepost_core::{DeviceArray, ErrorDetail, Grid, Over, Parts, Prefix, Result};
use fencepost_derive::KernelArgs;
use fencepost_kernels::PART_COUNT;

/// Enqueues the search for the largest elements of an array, of its first elements, of each segment, or along an axis.
#[track_caller]
pub(crate) fn top_k<T: Reducible, const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    x: Over<'_, T, D>,
    values: &mut DeviceArray<T, E>,
    places: &mut DeviceArray<u32, E>,
) -> Result<()> {
    let array = x.array();
    if values.shape() != places.shape() {
        let remedy = "all results of the call have one shape";
        return Err(queue.wrong_shape("places", places, values.shape(), remedy));
    }
    match x.parts() {
        Parts::Axis(axis) => {
            let view = View::along(queue, array, axis)?;
            let k = along_axis(queue, array, axis, values)?;
            let x = flat(array)?;
            let largest = LargestOfParts::of(k, view.inner, values, places)?;
            check_reads(queue, &x, &[], &largest.named())?;
            if x.is_empty() || largest.values.is_empty() {
                return Ok(());
            }
            let unused = if view.inner == 1 { queue.scratch(x.len())? } else { bits(&x)? };
            let x = bits(&x)?;
            let rows = Rows::new(queue, view, &x, &unused)?;
            largest.enqueue::<T>(queue, [&rows.x, &rows.out], &rows.offsets, Some(&rows))
        }
        Parts::Segments(offsets) => {
            let offsets = flat(offsets)?;
            let k = in_segments(queue, &offsets, values)?;
            let x = flat(array)?;
            let largest = LargestOfParts::of(k, 1, values, places)?;
            check_reads(queue, &x, &[("offsets", &offsets)], &largest.named())?;
            if x.is_empty() || largest.values.is_empty() {
                return Ok(());
            }
            let order = queue.scratch(x.len())?;
            largest.enqueue::<T>(queue, [&bits(&x)?, &order], &offsets, None)
        }
        parts => of_prefix(queue, &flat(array)?, count_of(parts), [&bits(values)?, &flat(places)?]),
    }
}

/// Enqueues the search for the largest elements of an array, or of its first elements.
#[track_caller]
fn of_prefix<T: Reducible>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<T>,
    count: Option<&DeviceArray<u32>>,
    [values, places]: [&DeviceArray<u32>; 2],
) -> Result<()> {
    let k = values.len();
    if k > x.len() {
        return Err(queue.wrong_shape("values", values, [x.len()], FEWER));
    }
    let count = count.map(|count| one_count(queue, count)).transpose()?;
    let reads: Vec<Named<'_>> = count.iter().map(|count| (PART_COUNT, count)).collect();
    check_reads(queue, x, &reads, &[("values", values), ("places", places)])?;
    let largest = Arrays { keys: Some(values.clone()), values: Some(places.clone()) };
    if k > 0 && is_ranked(x, count.as_ref()) {
        return ranked(queue, x, count.as_ref(), k, largest);
    }
    part(queue, x, Sort::descending(), Payload::Places, 0, largest)
}

/// Remedy for more results than elements.
const FEWER: &str = "the largest `k` elements need at least `k` elements";

/// Returns the number of results of each row, which is the length of the results along the axis. All other axes must be
/// those of the array.
fn along_axis<T: Reducible, const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<T, D>,
    axis: usize,
    values: &DeviceArray<T, E>,
) -> Result<usize> {
    let n = x.shape()[axis];
    let k = values.shape().get(axis).copied().unwrap_or(n);
    let mut shape = x.shape();
    shape[axis] = k.min(n);
    if values.shape()[..] == shape[..] {
        return Ok(k);
    }
    let remedy =
        if k > n { FEWER } else { "the results have the shape of `x`, but length `k` along the axis" };
    Err(queue.wrong_shape("values", values, shape, remedy))
}

/// Returns the number of results of each segment: the results have two axes, of which the first one has the segments.
fn in_segments<T: Reducible, const E: usize>(
    queue: &VerbQueue<'_>,
    offsets: &DeviceArray<u32>,
    values: &DeviceArray<T, E>,
) -> Result<usize> {
    let segments = offsets.len().saturating_sub(1);
    let k = values.shape().get(1).copied().unwrap_or(1);
    if values.shape()[..] == [segments, k] {
        return Ok(k);
    }
    let remedy = "the results have a row of `k` elements for each segment, which lies between two `offsets`";
    Err(queue.wrong_shape("values", values, [segments, k], remedy))
}

/// The results of a search for the largest elements of segments, flattened.
struct LargestOfParts {
    /// Number of results of each segment.
    k: usize,
    /// Distance of the results of a segment.
    inner: usize,
    values: DeviceArray<u32>,
    places: DeviceArray<u32>,
}

impl LargestOfParts {
    fn of<T: Reducible, const E: usize>(
        k: usize,
        inner: usize,
        values: &DeviceArray<T, E>,
        places: &DeviceArray<u32, E>,
    ) -> Result<Self> {
        Ok(Self { k, inner, values: bits(values)?, places: flat(places)? })
    }

    fn named(&self) -> [Named<'_>; 2] {
        [("values", &self.values), ("places", &self.places)]
    }

    /// Enqueues a sort of the places of each segment, and the copy of the first ones with their elements. `order` is
    /// scratch memory for the places.
    #[track_caller]
    fn enqueue<T: Reducible>(
        mut self,
        queue: &VerbQueue<'_>,
        [x, order]: [&DeviceArray<u32>; 2],
        offsets: &DeviceArray<u32>,
        rows: Option<&Rows<'_, u32>>,
    ) -> Result<()> {
        let kernel = trusted::kernel_with::<TakeRowsArgs<'_>>(queue, &WIDE)?;
        let descending = Sort::descending().order::<T>(Payload::Places)?;
        places_of_segments(queue, [x, order], offsets, rows, &descending)?;
        let results = self.values.len();
        let [n, k, inner, count] = [x.len(), self.k, self.inner, results].map(|n| n as u32);
        let values = &mut self.values;
        let places = &mut self.places;
        let args = TakeRowsArgs { n, k, inner, count, x, order, offsets, values, places };
        queue.launch(&kernel, Grid::threads([results]), args)
    }
}

#[derive(KernelArgs)]
#[kernel(source = "take_rows.wgsl", crate = fencepost_kernels)]
struct TakeRowsArgs<'a> {
    n: u32,
    k: u32,
    inner: u32,
    count: u32,
    x: &'a DeviceArray<u32>,
    order: &'a DeviceArray<u32>,
    offsets: &'a DeviceArray<u32>,
    values: &'a mut DeviceArray<u32>,
    places: &'a mut DeviceArray<u32>,
}

#[track_caller]
pub(crate) fn kth<T: Reducible>(
    queue: &VerbQueue<'_>,
    x: Prefix<'_, T>,
    k: usize,
    out: &mut DeviceArray<T>,
) -> Result<()> {
    let array = x.array();
    let mut out = bits(&one_element(queue, "out", out)?)?;
    if k >= array.len() {
        let found = format!("{k}, and array `{}` has {} elements", array.label(), array.len());
        let object = "`k` of `kth`".into();
        let needed = "a number below the number of elements";
        return Err(ErrorDetail::Value { object, found, needed }.into());
    }
    let count = checked_count(queue, x)?;
    let reads: Vec<Named<'_>> = count.iter().map(|count| (PART_COUNT, count)).collect();
    check_reads(queue, array, &reads, &[("out", &out)])?;
    if is_ranked(array, count.as_ref()) {
        let mut search = RankSearch::new(queue, array.len(), count.as_ref(), flips::<T>(false))?;
        return search.enqueue(queue, &bits(array)?, k, &mut out);
    }
    part(queue, array, Sort::ascending(), Payload::None, k, Arrays { keys: Some(out), values: None })
}

/// Checks a verb that reads `x` and others.
#[track_caller]
fn check_reads<T: Reducible>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<T>,
    others: &[Named<'_>],
    writes: &[Named<'_>],
) -> Result<()> {
    let x = bits(x)?;
    check(queue, &[&[("x", &x)][..], others].concat(), writes)
}

/// Returns `true` if the elements are found by their ranks, instead of by a sort. After a sort of first elements, the
/// host does not know how many results to copy.
fn is_ranked<T: Reducible>(x: &DeviceArray<T>, count: Option<&DeviceArray<u32>>) -> bool {
    !radix::sorts_in_one(x.len()) || count.is_some()
}

/// Enqueues the search for the k-th largest element, the elements up to it, and the sort of these. Of fewer first
/// elements than k, all are sorted, and the results after them are not written.
#[track_caller]
fn ranked<T: Reducible>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<T>,
    count: Option<&DeviceArray<u32>>,
    k: usize,
    largest: Arrays,
) -> Result<()> {
    let order = Sort::descending().order::<T>(Payload::Values)?;
    let n = x.len();
    let x = bits(x)?;
    let mut search = RankSearch::new(queue, n, count, flips::<T>(true))?;
    let values: DeviceArray<u32> = queue.scratch(k)?;
    let places: DeviceArray<u32> = queue.scratch(k)?;
    let mut found = queue.scratch(1)?;
    let mut last = queue.scratch(2)?;
    let taken = search.taken(&x, &values, &places);
    let launches = Launches::prepared(queue, &taken, n, &mut last)?;
    let unsorted = Arrays { keys: Some(values), values: Some(places) };
    let sorted = PreparedSort::new(queue, &order, k, count, Some(unsorted), largest)?;
    search.enqueue(queue, &x, k - 1, &mut found)?;
    launches.enqueue(queue, &taken, &mut last)?;
    sorted.enqueue(queue)
}

/// Enqueues a sort of `x` to scratch memory, and a copy of its elements from `first` on to `out`.
#[track_caller]
fn part<T: Reducible>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<T>,
    sort: Sort,
    payload: Payload,
    first: usize,
    out: Arrays,
) -> Result<()> {
    let order = sort.order::<T>(payload)?;
    let n = x.len();
    let x = bits(x)?;
    if out.list().iter().all(|out| out.is_empty()) {
        return Ok(());
    }
    let keys = if out.keys.is_some() { Some(queue.scratch(n)?) } else { None };
    let values = if out.values.is_some() { Some(queue.scratch(n)?) } else { None };
    let sorted = Arrays { keys, values };
    let input = Arrays { keys: Some(x), values: None };
    radix::enqueue(queue, &order, n, Some(input), sorted.clone())?;
    for (sorted, out) in sorted.list().into_iter().zip(out.list()) {
        queue.copy(&sorted.slice(first..first + out.len())?, &mut out.clone())?;
    }
    Ok(())
}
