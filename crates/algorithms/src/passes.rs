//! The launches of a reduction: one for a short array, two for a long one.

use crate::shares::Shares;
use crate::verb_queue::VerbQueue;
use fencepost_core::{DeviceArray, Element, Prefix, Result};
use fencepost_kernels::PART_COUNT;

/// A reduction: one launch combines each share of the elements, and another combines the results of the shares.
pub(crate) trait Passes {
    /// Result of a share.
    type Partial: Element;

    /// Enqueues the launch that combines each share into one element of `out`. If there is only one share, `out` is the
    /// final result.
    #[track_caller]
    fn first(
        &self,
        queue: &VerbQueue<'_>,
        shares: Shares,
        out: &mut DeviceArray<Self::Partial>,
    ) -> Result<()>;

    /// Enqueues the launch that combines the results of the shares.
    #[track_caller]
    fn last(
        &self,
        queue: &VerbQueue<'_>,
        shares: Shares,
        partials: &DeviceArray<Self::Partial>,
        out: &mut DeviceArray<Self::Partial>,
    ) -> Result<()>;
}

/// Enqueues a reduction of at least one element.
#[track_caller]
pub(crate) fn enqueue<P: Passes>(
    queue: &VerbQueue<'_>,
    passes: &P,
    elements: usize,
    out: &mut DeviceArray<P::Partial>,
) -> Result<()> {
    let shares = Shares::of(elements);
    if shares.count == 1 {
        return passes.first(queue, shares, out);
    }
    // A launch without shares is only checked, and refuses what the last launch would refuse.
    passes.first(queue, Shares { count: 0, ..shares }, out)?;
    let mut partials = queue.scratch(shares.count)?;
    passes.first(queue, shares, &mut partials)?;
    passes.last(queue, Shares::one(shares.count), &partials, out)
}

/// Returns a result array with one dimension, or an error if it does not have exactly one element.
pub(crate) fn one_element<T: Element, const D: usize>(
    queue: &VerbQueue<'_>,
    argument: &str,
    out: &DeviceArray<T, D>,
) -> Result<DeviceArray<T>> {
    if out.len() == 1 {
        return out.reshape([1]);
    }
    let remedy = "pass an array of one element, because the result is one number";
    Err(queue.wrong_shape(argument, out, [1], remedy))
}

/// Returns the array with the number of first elements, or an error if it does not have exactly one element.
pub(crate) fn one_count(queue: &VerbQueue<'_>, count: &DeviceArray<u32>) -> Result<DeviceArray<u32>> {
    if count.len() == 1 {
        return count.reshape([1]);
    }
    Err(queue.wrong_shape(PART_COUNT, count, [1], "the number of the first elements is one element"))
}

/// Returns the array with the number of first elements, or `None` for a whole array. Returns an error as [`one_count`]
/// does.
pub(crate) fn checked_count<T: Element, const D: usize>(
    queue: &VerbQueue<'_>,
    x: Prefix<'_, T, D>,
) -> Result<Option<DeviceArray<u32>>> {
    x.count().map(|count| one_count(queue, count)).transpose()
}

/// Remedy for searching the smallest or the largest of no elements.
pub(crate) const NO_EXTREME: &str =
    "pass at least one element, because an empty array has no smallest or largest element";

/// Returns the error of a reduction that has no result for no elements. It names the smallest shape with a result.
pub(crate) fn no_element<T: Element, const D: usize>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<T, D>,
    remedy: &'static str,
) -> Result<()> {
    Err(queue.wrong_shape("x", x, x.shape().map(|count| count.max(1)), remedy))
}
