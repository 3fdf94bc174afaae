//! The elements along an axis, as the segments of another array.

use crate::axis::View;
use crate::elementwise::{iota, words};
use crate::rearrange::permute;
use crate::tuning::WIDE;
use crate::typed_kernel::compiled;
use crate::verb_queue::VerbQueue;
use fencepost_core::{DeviceArray, Element, Parts, Result};

/// Arrays of a verb along an axis. A row is one segment: the elements along the axis for one index of the other axes.
pub(crate) struct Rows<'a, T: Element> {
    view: View,
    /// Arrays that were passed to the verb.
    given: [&'a DeviceArray<T>; 2],
    pub(crate) x: DeviceArray<T>,
    pub(crate) offsets: DeviceArray<u32>,
    pub(crate) out: DeviceArray<T>,
}

impl<'a, T: Element> Rows<'a, T> {
    /// Allocates the offsets and, unless the axis is the last one, arrays of rows for `x` and `out`.
    #[track_caller]
    pub(crate) fn new(
        queue: &VerbQueue<'_>,
        view: View,
        x: &'a DeviceArray<T>,
        out: &'a DeviceArray<T>,
    ) -> Result<Self> {
        compiled::<u32>(queue, "iota", &WIDE)?;
        let offsets = queue.scratch(view.outer * view.inner + 1)?;
        let given = [x, out];
        if view.inner == 1 {
            return Ok(Self { view, given, x: x.clone(), offsets, out: out.clone() });
        }
        Ok(Self { view, given, x: queue.scratch(x.len())?, offsets, out: queue.scratch(x.len())? })
    }

    /// Enqueues the offsets, and the copy of `x` to rows.
    #[track_caller]
    pub(crate) fn enter(&self, queue: &VerbQueue<'_>) -> Result<()> {
        let View { outer, n, inner } = self.view;
        iota(queue, &self.offsets, 0, n as u32)?;
        if inner == 1 {
            return Ok(());
        }
        exchanged(queue, self.given[0], [outer, n, inner], &self.x)
    }

    /// Enqueues the copy of the rows to `out`.
    #[track_caller]
    pub(crate) fn leave(&self, queue: &VerbQueue<'_>) -> Result<()> {
        let View { outer, n, inner } = self.view;
        if inner == 1 {
            return Ok(());
        }
        exchanged(queue, &self.out, [outer, inner, n], self.given[1])
    }
}

/// Enqueues the copy of an array with its last two axes exchanged.
#[track_caller]
pub(crate) fn exchanged<T: Element>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<T>,
    [a, b, c]: [usize; 3],
    out: &DeviceArray<T>,
) -> Result<()> {
    permute(queue, &words(x)?.reshape([a, b, c])?, [0, 2, 1], &words(out)?.reshape([a, c, b])?)
}

/// Returns the array with the number of first elements, if the parts are first elements.
pub(crate) fn count_of(parts: Parts<'_>) -> Option<&DeviceArray<u32>> {
    match parts {
        Parts::First(count) => Some(count),
        _ => None,
    }
}
