//! Reductions along one axis of an array.

use crate::elementwise::words;
use crate::grid::folded;
use crate::reducible::sealed::Combine as _;
use crate::reducible::{Finish, Operation, Reducible};
use crate::refusals::{Named, check};
use crate::shares::Shares;
use crate::tuning::tuned;
use crate::typed_kernel::{compiled, value};
use crate::verb_queue::VerbQueue;
use crate::wide::Wide;
use fencepost_core::{DeviceArray, DynKernel, Element, Grid, IntoArg, Kind, Result};

/// An axis of an array. `Axis(0)` is the first, along which neighbours are farthest apart in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Axis(pub usize);

/// Returns `true` if nothing is left to compute: `out` is empty, or `x` is, and then a fill with `none` is enqueued.
#[track_caller]
pub(crate) fn is_done<U: Element>(
    queue: &VerbQueue<'_>,
    reads: &[Named<'_>],
    out: &mut DeviceArray<U>,
    none: U,
) -> Result<bool> {
    if !out.is_empty() && reads.iter().all(|(_, x)| !x.is_empty()) {
        return Ok(false);
    }
    check(queue, reads, &[("out", &words(out)?)])?;
    if !out.is_empty() {
        queue.fill(out, none)?;
    }
    Ok(true)
}

/// The steps of a reduction: before, between and after the elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Steps {
    pub(crate) operation: Operation,
    /// `true` if the elements are the bits of numbers whose minimum or maximum is wanted.
    pub(crate) keys: bool,
    /// If not 0, an element with any of these bits set counts as 1, and any other as 0.
    pub(crate) bits: u32,
    /// `true` if each element is first multiplied by the element of another array.
    pub(crate) products: bool,
    pub(crate) finish: Finish,
}

impl Steps {
    /// Combines the elements by an operation alone.
    pub(crate) fn of(operation: Operation) -> Self {
        Self { operation, keys: false, bits: 0, products: false, finish: Finish::Nothing }
    }

    /// Returns the steps of the first one of two launches.
    fn first(self) -> Self {
        Self { finish: Finish::Nothing, ..self }
    }

    /// Returns the steps of the last one of two launches.
    fn last(self) -> Self {
        Self { bits: 0, products: false, ..self }
    }

    /// Compiles the kernel for rows or the kernel for columns.
    fn kernel<T: Reducible>(self, queue: &VerbQueue<'_>, rows: bool) -> Result<DynKernel> {
        let keys = if self.keys { self.operation.keys() } else { 0.0 };
        let mut overrides = vec![("OPERATION", self.operation.number()), ("KEYS", keys)];
        if self.bits != 0 {
            overrides.push(("BITS", f64::from(self.bits)));
        }
        if self.products {
            overrides.push(("PRODUCTS", 1.0));
        }
        if self.finish != Finish::Nothing {
            overrides.push(("FINISH", self.finish.number()));
        }
        if rows {
            return compiled::<T>(queue, "reduce_rows", &tuned(queue, &overrides));
        }
        // The kernel of columns has no barriers.
        compiled::<T>(queue, "reduce_columns", &overrides)
    }
}

/// An array seen as three axes, of which the middle one is combined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct View {
    pub(crate) outer: usize,
    pub(crate) n: usize,
    pub(crate) inner: usize,
}

impl View {
    pub(crate) fn of<T: Element, U: Element, const D: usize>(
        queue: &VerbQueue<'_>,
        x: &DeviceArray<T, D>,
        axis: Axis,
        out: &DeviceArray<U, D>,
    ) -> Result<Self> {
        let mut shape = x.shape();
        let Some(along) = shape.get_mut(axis.0) else {
            let verb = queue.verb;
            let array = x.label().into();
            return Err(Kind::Axis { verb, array, axis: axis.0, rank: D }.into());
        };
        let n = std::mem::replace(along, 1);
        if out.shape() != shape {
            let remedy = "the result has one element along the axis, and the shape of `x` else";
            return Err(queue.wrong_shape("out", out, shape, remedy));
        }
        let (outer, inner) = shape.split_at(axis.0);
        Ok(Self { outer: outer.iter().product(), n, inner: inner.iter().product() })
    }

    /// Returns `true` if a workgroup combines a share, and `false` if an invocation does, and the shares of a row or column.
    pub(crate) fn shares(self) -> (bool, Shares) {
        let rows = self.inner == 1 && self.n > SHORT;
        (rows, if rows { Shares::of(self.n) } else { Shares::of_column(self.n) })
    }

    /// Returns the number of elements along the axis if a mean is wanted, and else 1.
    fn divisor<T: Reducible>(self, steps: Steps) -> T {
        if steps.finish == Finish::Divide { T::of_types((self.n as u32).as_types()) } else { T::ONE }
    }
}

/// Longest row that one invocation combines. A workgroup combines a longer row.
const SHORT: usize = 64;

/// Enqueues the launches: one, or two with the results of shares between them. The second array has the other factors of products;
/// without products, it is not read.
#[track_caller]
pub(crate) fn along<T: Reducible>(
    queue: &VerbQueue<'_>,
    steps: Steps,
    view: View,
    [x, y]: [&DeviceArray<T>; 2],
    out: &mut DeviceArray<T>,
) -> Result<()> {
    let (rows, shares) = view.shares();
    // A kernel with loads of several elements takes the elements as they are, and finishes no result.
    let is_finished = steps.finish != Finish::Nothing && shares.count == 1;
    let is_plain = steps.bits == 0 && !steps.products && !is_finished;
    let wide = if rows && is_plain { Wide::of(queue, steps.operation, steps.keys, shares, x)? } else { None };
    if let Some(wide) = wide.as_ref().filter(|_| shares.count == 1) {
        return wide.launch(queue, view.outer, shares, out);
    }
    let identity = T::identity(steps.operation);
    let divisor = view.divisor::<T>(steps);
    let reduction =
        |steps: Steps| steps.kernel::<T>(queue, rows).map(|kernel| Along { kernel, rows, identity, divisor });
    if shares.count == 1 {
        return reduction(steps)?.launch(queue, view, shares, [x, y], out);
    }
    let last = reduction(steps.last())?;
    let other = if steps.first() == steps.last() { None } else { Some(reduction(steps.first())?) };
    let first = |outer: usize, out: &mut DeviceArray<T>| match &wide {
        Some(wide) => wide.launch(queue, outer, shares, out),
        None => other.as_ref().unwrap_or(&last).launch(queue, View { outer, ..view }, shares, [x, y], out),
    };
    // The check of a launch without results refuses what the last launch would refuse.
    first(0, out)?;
    let mut partials = queue.empty([view.outer * shares.count * view.inner])?;
    first(view.outer, &mut partials)?;
    let rest = View { n: shares.count, ..view };
    last.launch(queue, rest, Shares::one(shares.count), [&partials; 2], out)
}

struct Along<T> {
    kernel: DynKernel,
    /// `true` if a workgroup combines a share, `false` if a single invocation does.
    rows: bool,
    identity: T,
    divisor: T,
}

impl<T: Reducible> Along<T> {
    /// Enqueues the launch that combines each share of each row or column into one element of `out`.
    #[track_caller]
    fn launch(
        &self,
        queue: &VerbQueue<'_>,
        view: View,
        shares: Shares,
        [x, y]: [&DeviceArray<T>; 2],
        out: &mut DeviceArray<T>,
    ) -> Result<()> {
        let results = view.outer * shares.count * view.inner;
        let [n, share, count, results_u32, inner] =
            [view.n, shares.share, shares.count, results, view.inner].map(|n| n as u32);
        let [x, y] = [("x", x), ("y", y)].map(|(name, array)| (Some(name.into()), array.into_arg()));
        let out = (Some("out".into()), out.into_arg());
        let n = value("n", n);
        let share = value("share", share);
        let identity = value("identity", self.identity);
        let divisor = value("divisor", self.divisor);
        if self.rows {
            let in_row = value("in_row", count);
            let all = value("shares", results_u32);
            let args = [n, share, in_row, all, identity, divisor, x, y, out];
            if results == 0 {
                return queue.check_launch_dyn(&self.kernel, args);
            }
            return queue.launch_dyn(&self.kernel, Grid::groups(folded(results)), args);
        }
        let in_column = value("in_column", count);
        let inner = value("inner", inner);
        let args = [n, share, in_column, inner, value("count", results_u32), identity, divisor, x, y, out];
        if results == 0 {
            return queue.check_launch_dyn(&self.kernel, args);
        }
        queue.launch_dyn(&self.kernel, Grid::threads([results]), args)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host;

    #[test]
    fn a_shape_with_more_elements_than_a_number_counts_has_no_reduction_on_the_host() {
        let reduce = |shape: [usize; 3]| host::reduce::<u32, 3>(&[], shape, Operation::Sum, Axis(2));
        assert_eq!(reduce([usize::MAX, 2, 0]), None);
        assert_eq!(reduce([2, usize::MAX, 3]), None);
        assert_eq!(reduce([2, 2, 0]), Some(vec![0; 4]));
    }
}
