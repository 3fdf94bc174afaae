//! The largest elements of an array, and the element at a place of the sorted array.

use crate::elementwise::{bits, same_shape};
use crate::order::flips;
use crate::passes::one_element;
use crate::radix::{self, Arrays, Payload, PreparedSort};
use crate::ranks::RankSearch;
use crate::reducible::Reducible;
use crate::refusals::check;
use crate::sort::Sort;
use crate::stages::Launches;
use crate::verb_queue::VerbQueue;
use fencepost_core::{DeviceArray, ErrorDetail, Result};

#[track_caller]
pub(crate) fn top_k<T: Reducible>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<T>,
    values: &mut DeviceArray<T>,
    places: &mut DeviceArray<u32>,
) -> Result<()> {
    same_shape(queue, values, "places", places)?;
    let k = values.len();
    if k > x.len() {
        let remedy = "not more elements are the largest than there are";
        return Err(queue.wrong_shape("values", values, [x.len()], remedy));
    }
    let values = bits(values)?;
    let places = bits(places)?;
    check(queue, &[("x", &bits(x)?)], &[("values", &values), ("places", &places)])?;
    let largest = Arrays { keys: Some(values), values: Some(places) };
    if !radix::sorts_in_one(x.len()) && k > 0 {
        return ranked(queue, x, k, largest);
    }
    part(queue, x, Sort::descending(), Payload::Places, 0, largest)
}

#[track_caller]
pub(crate) fn kth<T: Reducible>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<T>,
    k: usize,
    out: &mut DeviceArray<T>,
) -> Result<()> {
    let mut out = bits(&one_element(queue, "out", out)?)?;
    if k >= x.len() {
        let found = format!("{k}, and array `{}` has {} elements", x.label(), x.len());
        let object = "`k` of `kth`".into();
        let needed = "a number below that of the elements";
        return Err(ErrorDetail::Value { object, found, needed }.into());
    }
    check(queue, &[("x", &bits(x)?)], &[("out", &out)])?;
    if !radix::sorts_in_one(x.len()) {
        let mut search = RankSearch::new(queue, x.len(), flips::<T>(false))?;
        return search.enqueue(queue, &bits(x)?, k, &mut out);
    }
    part(queue, x, Sort::ascending(), Payload::None, k, Arrays { keys: Some(out), values: None })
}

/// Enqueues the search for the k-th largest element, the elements up to it, and the sort of these.
#[track_caller]
fn ranked<T: Reducible>(queue: &VerbQueue<'_>, x: &DeviceArray<T>, k: usize, largest: Arrays) -> Result<()> {
    let order = Sort::descending().order::<T>(Payload::Values)?;
    let n = x.len();
    let x = bits(x)?;
    let mut search = RankSearch::new(queue, n, flips::<T>(true))?;
    let values: DeviceArray<u32> = queue.empty([k])?;
    let places: DeviceArray<u32> = queue.empty([k])?;
    let mut found = queue.empty([1])?;
    let mut last = queue.empty([2])?;
    let taken = search.taken(&x, &values, &places);
    let launches = Launches::prepared(queue, &taken, n, &mut last)?;
    let unsorted = Arrays { keys: Some(values), values: Some(places) };
    let sorted = PreparedSort::new(queue, &order, k, None, Some(unsorted), largest)?;
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
    let keys = if out.keys.is_some() { Some(queue.empty([n])?) } else { None };
    let values = if out.values.is_some() { Some(queue.empty([n])?) } else { None };
    let sorted = Arrays { keys, values };
    let input = Arrays { keys: Some(x), values: None };
    radix::enqueue(queue, &order, n, Some(input), sorted.clone())?;
    for (sorted, out) in sorted.list().into_iter().zip(out.list()) {
        queue.copy(&sorted.slice(first..first + out.len())?, &mut out.clone())?;
    }
    Ok(())
}
