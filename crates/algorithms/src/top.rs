//! The largest elements of an array, and the element at a place of the sorted array.

use crate::elementwise::{bits, same_shape};
use crate::order::flips;
use crate::passes::{checked_count, one_element};
use crate::radix::{self, Arrays, Payload, PreparedSort};
use crate::ranks::RankSearch;
use crate::reducible::Reducible;
use crate::refusals::{Named, check};
use crate::sort::Sort;
use crate::stages::Launches;
use crate::verb_queue::VerbQueue;
use fencepost_core::{DeviceArray, ErrorDetail, Prefix, Result};
use fencepost_kernels::PART_COUNT;

#[track_caller]
pub(crate) fn top_k<T: Reducible>(
    queue: &VerbQueue<'_>,
    x: Prefix<'_, T>,
    values: &mut DeviceArray<T>,
    places: &mut DeviceArray<u32>,
) -> Result<()> {
    let array = x.array();
    same_shape(queue, values, "places", places)?;
    let k = values.len();
    if k > array.len() {
        let remedy = "the largest `k` elements need an array of at least `k` elements";
        return Err(queue.wrong_shape("values", values, [array.len()], remedy));
    }
    let count = checked_count(queue, x)?;
    let values = bits(values)?;
    let places = bits(places)?;
    check_reads(queue, array, count.as_ref(), &[("values", &values), ("places", &places)])?;
    let largest = Arrays { keys: Some(values), values: Some(places) };
    if k > 0 && is_ranked(array, count.as_ref()) {
        return ranked(queue, array, count.as_ref(), k, largest);
    }
    part(queue, array, Sort::descending(), Payload::Places, 0, largest)
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
    check_reads(queue, array, count.as_ref(), &[("out", &out)])?;
    if is_ranked(array, count.as_ref()) {
        let mut search = RankSearch::new(queue, array.len(), count.as_ref(), flips::<T>(false))?;
        return search.enqueue(queue, &bits(array)?, k, &mut out);
    }
    part(queue, array, Sort::ascending(), Payload::None, k, Arrays { keys: Some(out), values: None })
}

/// Checks a verb that reads `x`, and the number of first elements if there is a count.
#[track_caller]
fn check_reads<T: Reducible>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<T>,
    count: Option<&DeviceArray<u32>>,
    writes: &[Named<'_>],
) -> Result<()> {
    let x = bits(x)?;
    let reads = [("x", &x)].into_iter().chain(count.map(|count| (PART_COUNT, count)));
    check(queue, &reads.collect::<Vec<_>>(), writes)
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
