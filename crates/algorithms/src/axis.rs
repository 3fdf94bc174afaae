//! Reductions along one axis of an array.

use crate::elementwise::{flat, words};
use crate::grid::folded;
use crate::inner_product::one_shape;
use crate::monoid::Associative;
use crate::passes::{NO_EXTREME, no_element};
use crate::reducible::sealed::Combine as _;
use crate::reducible::{Finish, Operation, Reducible};
use crate::refusals::{Named, check};
use crate::shares::Shares;
use crate::tuning::{limit, tuned_as};
use crate::typed_kernel::{compiled, nonzero_bits, value};
use crate::variants::{Tunable, chosen};
use crate::verb_queue::VerbQueue;
use crate::wide::Wide;
use fencepost_core::{DeviceArray, DynKernel, Element, ErrorDetail, Grid, IntoArg, Result};

/// Returns `true` if nothing is left to compute, because `out` is empty, or because `x` is empty and `out` is filled
/// with `none`.
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

/// The steps of a reduction before, between and after the operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Steps {
    pub(crate) operation: Operation,
    /// `true` if the elements are the bits of numbers whose minimum or maximum is wanted.
    pub(crate) keys: bool,
    /// If not 0, an element with any of these bits set counts as 1, and any other element as 0.
    pub(crate) bits: u32,
    /// `true` if each element is first multiplied by an element of another array.
    pub(crate) products: bool,
    pub(crate) finish: Finish,
}

impl Steps {
    /// Returns the steps that only combine the elements by an operation.
    pub(crate) fn of(operation: Operation) -> Self {
        Self { operation, keys: false, bits: 0, products: false, finish: Finish::Nothing }
    }

    /// Returns the steps of a mean.
    pub(crate) fn mean() -> Self {
        Self { finish: Finish::Divide, ..Self::of(Operation::Sum) }
    }

    /// Returns the steps for the first of two launches.
    fn first(self) -> Self {
        Self { finish: Finish::Nothing, ..self }
    }

    /// Returns the steps for the second of two launches.
    fn last(self) -> Self {
        Self { bits: 0, products: false, ..self }
    }

    /// Compiles the kernel for rows of a length, or for columns if there is none.
    fn kernel<T: Reducible>(self, queue: &VerbQueue<'_>, row: Option<usize>) -> Result<DynKernel> {
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
        if let Some(row) = row {
            let variant = chosen(queue, Tunable::Reduce, row);
            return compiled::<T>(queue, "reduce_rows", &tuned_as(queue, variant, &overrides));
        }
        // The kernel for columns has no barriers.
        compiled::<T>(queue, "reduce_columns", &overrides)
    }
}

/// An array seen as three axes, of which the middle one is reduced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct View {
    pub(crate) outer: usize,
    pub(crate) n: usize,
    pub(crate) inner: usize,
}

impl View {
    pub(crate) fn of<T: Element, U: Element, const D: usize, const E: usize>(
        queue: &VerbQueue<'_>,
        x: &DeviceArray<T, D>,
        axis: usize,
        out: &DeviceArray<U, E>,
    ) -> Result<Self> {
        let view = Self::along(queue, x, axis)?;
        let mut shape = x.shape();
        shape[axis] = 1;
        if out.shape()[..] == shape[..] {
            return Ok(view);
        }
        let remedy = "the result has one element along the axis, and the shape of `x` else";
        Err(queue.wrong_shape("out", out, shape, remedy))
    }

    /// Returns the view of an array along an axis, or an error if it has no such axis.
    pub(crate) fn along<T: Element, const D: usize>(
        queue: &VerbQueue<'_>,
        x: &DeviceArray<T, D>,
        axis: usize,
    ) -> Result<Self> {
        if axis < D {
            return Ok(Self::of_shape(x.shape(), axis));
        }
        let verb = queue.verb;
        let array = x.label().into();
        Err(ErrorDetail::Axis { verb, array, axis, rank: D }.into())
    }

    /// Returns the view of a shape along one of its axes.
    pub(crate) fn of_shape<const D: usize>(shape: [usize; D], axis: usize) -> Self {
        // With an empty axis, the other axes may have any length.
        let [outer, inner] = [&shape[..axis], &shape[axis + 1..]]
            .map(|axes| axes.iter().fold(1_usize, |count, &n| count.saturating_mul(n)));
        Self { outer, n: shape[axis], inner }
    }

    /// Returns how a row or column is divided into shares, and `true` if a workgroup combines a share, `false` if an
    /// invocation does.
    pub(crate) fn shares(self) -> (bool, Shares) {
        let rows = self.inner == 1 && self.n > limit(SHORT, 10);
        (rows, if rows { Shares::of(self.n) } else { Shares::of_column(self.n) })
    }

    /// Returns memory for the results of shares, or `None` if each row or column is one share.
    #[track_caller]
    pub(crate) fn partials<T: Element>(self, queue: &VerbQueue<'_>) -> Result<Option<DeviceArray<T>>> {
        let (_, shares) = self.shares();
        if shares.count == 1 {
            return Ok(None);
        }
        queue.scratch(self.outer * shares.count * self.inner).map(Some)
    }

    /// Returns the divisor of the result: the number of elements along the axis for a mean, and otherwise 1.
    fn divisor<T: Reducible>(self, steps: Steps) -> T {
        if steps.finish == Finish::Divide { T::of_types((self.n as u32).as_types()) } else { T::ONE }
    }
}

/// Longest row that one invocation combines. Longer rows are combined by workgroups.
const SHORT: usize = 64;

/// Enqueues the launches: one, or two with the results of shares between them. The second array has the other factors
/// of products; it is not read otherwise.
#[track_caller]
pub(crate) fn along<T: Reducible>(
    queue: &VerbQueue<'_>,
    steps: Steps,
    view: View,
    arrays: [&DeviceArray<T>; 2],
    out: &mut DeviceArray<T>,
) -> Result<()> {
    along_with(queue, steps, view, arrays, None, out)
}

/// Enqueues the launches as [`along`] does, with the memory that [`View::partials`] returned before other commands of
/// the verb.
#[track_caller]
pub(crate) fn along_with<T: Reducible>(
    queue: &VerbQueue<'_>,
    steps: Steps,
    view: View,
    [x, y]: [&DeviceArray<T>; 2],
    partials: Option<DeviceArray<T>>,
    out: &mut DeviceArray<T>,
) -> Result<()> {
    let (rows, shares) = view.shares();
    // A kernel that loads several elements at a time takes the elements unchanged, and does not finish a result.
    let is_finished = steps.finish != Finish::Nothing && shares.count == 1;
    let is_plain = steps.bits == 0 && !steps.products && !is_finished;
    let wide = if rows && is_plain { Wide::of(queue, steps.operation, steps.keys, shares, x)? } else { None };
    if let Some(wide) = wide.as_ref().filter(|_| shares.count == 1) {
        return wide.launch(queue, view.outer, shares, out);
    }
    let identity = T::identity(steps.operation);
    let divisor = view.divisor::<T>(steps);
    let reduction = |steps: Steps| -> Result<Along<T>> {
        let kernel = steps.kernel::<T>(queue, rows.then_some(view.n))?;
        Ok(Along { kernel, rows, identity, divisor })
    };
    if shares.count == 1 {
        return reduction(steps)?.launch(queue, view, shares, [x, y], out);
    }
    let last = reduction(steps.last())?;
    let other = if steps.first() == steps.last() { None } else { Some(reduction(steps.first())?) };
    let first = |outer: usize, out: &mut DeviceArray<T>| match &wide {
        Some(wide) => wide.launch(queue, outer, shares, out),
        None => other.as_ref().unwrap_or(&last).launch(queue, View { outer, ..view }, shares, [x, y], out),
    };
    // A launch without results is only checked, and refuses what the last launch would refuse.
    first(0, out)?;
    let mut partials = match partials {
        Some(partials) => partials,
        None => queue.scratch(view.outer * shares.count * view.inner)?,
    };
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

/// Enqueues the combination of the elements of each row or column.
#[track_caller]
pub(crate) fn combine<T: Element, const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    view: View,
    x: &DeviceArray<T, D>,
    operation: impl Associative<T>,
    out: &mut DeviceArray<T, E>,
) -> Result<()> {
    if x.is_empty() && !out.is_empty() && operation.needs_an_element() {
        return no_element(queue, x, NO_EXTREME);
    }
    let x = x.reshape([x.len()])?;
    let mut out = out.reshape([out.len()])?;
    if is_done(queue, &[("x", &words(&x)?)], &mut out, operation.identity())? {
        return Ok(());
    }
    operation.combine_along(queue, view, &x, &mut out)
}

#[track_caller]
pub(crate) fn mean<const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<f32, D>,
    axis: usize,
    out: &mut DeviceArray<f32, E>,
) -> Result<()> {
    let view = View::of(queue, x, axis, out)?;
    if x.is_empty() && !out.is_empty() {
        return no_element(queue, x, "pass at least one element, because an empty array has no mean");
    }
    let x = x.reshape([x.len()])?;
    let mut out = out.reshape([out.len()])?;
    if is_done(queue, &[("x", &x.cast_bits())], &mut out, 0.0)? {
        return Ok(());
    }
    along(queue, Steps::mean(), view, [&x; 2], &mut out)
}

#[track_caller]
pub(crate) fn norm<const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<f32, D>,
    axis: usize,
    out: &mut DeviceArray<f32, E>,
) -> Result<()> {
    let steps = Steps { products: true, finish: Finish::Root, ..Steps::of(Operation::Sum) };
    products(queue, steps, [x, x], axis, out)
}

#[track_caller]
pub(crate) fn dot<T: Reducible, const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<T, D>,
    y: &DeviceArray<T, D>,
    axis: usize,
    out: &mut DeviceArray<T, E>,
) -> Result<()> {
    one_shape(queue, x, y)?;
    products(queue, Steps { products: true, ..Steps::of(Operation::Sum) }, [x, y], axis, out)
}

/// Enqueues the sums of the products of two arrays.
#[track_caller]
fn products<T: Reducible, const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    steps: Steps,
    [x, y]: [&DeviceArray<T, D>; 2],
    axis: usize,
    out: &mut DeviceArray<T, E>,
) -> Result<()> {
    let view = View::of(queue, x, axis, out)?;
    let x = flat(x)?;
    let y = flat(y)?;
    let mut out = flat(out)?;
    let reads = [("x", &x.cast_bits()), ("y", &y.cast_bits())];
    if is_done(queue, &reads, &mut out, T::identity(Operation::Sum))? {
        return Ok(());
    }
    along(queue, steps, view, [&x, &y], &mut out)
}

/// Enqueues the comparison with zero: an element that is not zero counts as 1, and a zero as 0.
#[track_caller]
pub(crate) fn compare<T: Reducible, const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    operation: Operation,
    x: &DeviceArray<T, D>,
    axis: usize,
    out: &mut DeviceArray<u32, E>,
) -> Result<()> {
    let view = View::of(queue, x, axis, out)?;
    let x = x.reshape([x.len()])?.cast_bits();
    let mut out = out.reshape([out.len()])?;
    if is_done(queue, &[("x", &x)], &mut out, u32::from(operation == Operation::Smallest))? {
        return Ok(());
    }
    let steps = Steps { bits: nonzero_bits::<T>(), ..Steps::of(operation) };
    along::<u32>(queue, steps, view, [&x; 2], &mut out)
}
