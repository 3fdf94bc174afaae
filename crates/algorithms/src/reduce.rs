//! Sum, product, smallest and largest element, of whole arrays and of first elements.

use crate::passes::{self, NO_EXTREME, Passes, no_element, one_element};
use crate::reducible::{Operation, Reducible};
use crate::refusals::check;
use crate::shares::Shares;
use crate::verb_queue::VerbQueue;
use crate::wide::Wide;
use fencepost_core::{DeviceArray, Result, Scalar};
use fencepost_kernels::PART_COUNT;

/// Treatment of NaNs in a search for the smallest or the largest number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Nan {
    /// If a number is a NaN, the result is a NaN.
    #[default]
    Propagate,
    /// NaNs are ignored. If all numbers are NaNs, the result is a NaN.
    Ignore,
}

/// Enqueues the reduction of an array, or of its first elements if there is a count.
#[track_caller]
pub(crate) fn reduce<T: Reducible, const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    operation: Operation,
    nan: Nan,
    x: &DeviceArray<T, D>,
    count: Option<&DeviceArray<u32>>,
    out: &mut DeviceArray<T, E>,
) -> Result<()> {
    let mut out = one_element(queue, "out", out)?;
    let array = x;
    let x = x.reshape([x.len()])?;
    if !x.is_empty() {
        let shares = Shares::of(x.len());
        let wide = if count.is_none() { wide(queue, operation, nan, shares, &x)? } else { None };
        if let Some(wide) = wide.as_ref().filter(|_| shares.count == 1) {
            return wide.launch(queue, 1, shares, &mut out);
        }
        let of_shares = count.map(|_| T::kernel(queue, operation, nan, x.len(), None)).transpose()?;
        let kernel = T::kernel(queue, operation, nan, x.len(), count)?;
        let passes = Reduction { kernel, wide, of_shares, operation, x: &x };
        return passes::enqueue(queue, &passes, x.len(), &mut out);
    }
    let bits = x.cast_bits();
    let reads: Vec<_> = [("x", &bits)].into_iter().chain(count.map(|count| (PART_COUNT, count))).collect();
    check(queue, &reads, &[("out", &out.cast_bits())])?;
    if count.is_some() {
        return queue.fill(&mut out, T::of_none(operation, nan));
    }
    if operation.needs_an_element() {
        return no_element(queue, array, NO_EXTREME);
    }
    queue.fill(&mut out, T::identity(operation))
}

/// Returns the kernel that loads several elements at a time, or `None` if the device does not gain from it. Searches
/// that ignore NaNs have no such kernel.
pub(crate) fn wide<T: Reducible>(
    queue: &VerbQueue<'_>,
    operation: Operation,
    nan: Nan,
    shares: Shares,
    x: &DeviceArray<T>,
) -> Result<Option<Wide>> {
    let keys = operation.needs_an_element() && T::DTYPE.scalar() == Some(Scalar::F32);
    if keys && nan == Nan::Ignore {
        return Ok(None);
    }
    Wide::of(queue, operation, keys, shares, x)
}

struct Reduction<'a, T: Reducible> {
    kernel: T::Kernel,
    /// Kernel that loads several elements at a time for each share, if the device gains from it.
    wide: Option<Wide>,
    /// Kernel that combines the results of the shares, for first elements. There is a result even for shares beyond the
    /// first elements.
    of_shares: Option<T::Kernel>,
    operation: Operation,
    x: &'a DeviceArray<T>,
}

impl<T: Reducible> Passes for Reduction<'_, T> {
    type Partial = T;

    fn first(&self, queue: &VerbQueue<'_>, shares: Shares, out: &mut DeviceArray<T>) -> Result<()> {
        match &self.wide {
            Some(wide) => wide.launch(queue, 1, shares, out),
            None => T::launch(queue, &self.kernel, self.operation, shares, self.x, out),
        }
    }

    fn last(
        &self,
        queue: &VerbQueue<'_>,
        shares: Shares,
        partials: &DeviceArray<T>,
        out: &mut DeviceArray<T>,
    ) -> Result<()> {
        let kernel = self.of_shares.as_ref().unwrap_or(&self.kernel);
        T::launch(queue, kernel, self.operation, shares, partials, out)
    }
}
