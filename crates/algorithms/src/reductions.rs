//! Reductions: the code of each verb for whole arrays, axes, segments and first elements.

use crate::axis::{self, View};
use crate::count::{self, Comparison};
use crate::elementwise::words;
use crate::exact::{self, ExactSteps};
use crate::inner_product;
use crate::monoid::Associative;
use crate::passes::{self, Passes, one_count, one_element};
use crate::reduce::{self, Nan};
use crate::reducible::{Operation, Reducible};
use crate::refusals::check;
use crate::segments::{self, Bounds};
use crate::shares::Shares;
use crate::verb_queue::VerbQueue;
use crate::{axis_search, search, segment_search};
use fencepost_core::{Candidates, Determinism, DeviceArray, Element, Over, Parts, Result, Scalar, Terms};
use fencepost_kernels::PART_COUNT;

/// The elements of a [`mean`](crate::Algorithms::mean) or a [`norm`](crate::Algorithms::norm): an array of `f32`, or
/// parts of one.
///
/// It is anything that becomes [`Terms`]: `&x` is a whole array, and `x.axis(k)`, `x.segments(&offsets)` and
/// `x.first(&count)` are parts.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither an array of `f32` nor parts of one",
    label = "not `&DeviceArray<f32>`, nor `axis`, `segments` or `first` of one",
    note = "pass an array by one `&`, and without `skip_nan`, which only a search for the smallest or the largest takes",
    note = "convert integers with `cast`, as in `queue.cast(&x, &mut numbers)?`, and `f64` before the upload"
)]
pub trait Floats<'a, const D: usize>: Into<Terms<'a, f32, D>> {}

#[diagnostic::do_not_recommend]
impl<'a, X: Into<Terms<'a, f32, D>>, const D: usize> Floats<'a, D> for X {}

/// Returns `true` if the result must have the same bits on all devices, and the usual one has not.
fn is_exact<T: Element, const D: usize>(x: Terms<'_, T, D>) -> bool {
    x.same_bits() == Determinism::Everywhere && T::DTYPE.scalar() == Some(Scalar::F32)
}

#[track_caller]
pub(crate) fn sum<T: Reducible, const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    x: Terms<'_, T, D>,
    out: &mut DeviceArray<T, E>,
) -> Result<()> {
    if is_exact(x) {
        return exact::enqueue(queue, ExactSteps::SUM, x.over(), None, out);
    }
    built_in(queue, Operation::Sum, x.over().into(), out)
}

/// Enqueues the combination of the elements by a built-in operation.
#[track_caller]
pub(crate) fn built_in<T: Reducible, const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    operation: Operation,
    x: Candidates<'_, T, D>,
    out: &mut DeviceArray<T, E>,
) -> Result<()> {
    let array = x.over().array();
    let nan = nan(x);
    let of_numbers = operation.treating(nan);
    match x.over().parts() {
        Parts::Axis(axis) => axis::combine(queue, View::of(queue, array, axis, out)?, array, of_numbers, out),
        Parts::Segments(offsets) => segments::reduce(queue, array, Bounds::Offsets(offsets), of_numbers, out),
        Parts::First(count) => {
            let count = one_count(queue, count)?;
            reduce::reduce(queue, operation, nan, array, Some(&count), out)
        }
        _ => reduce::reduce(queue, operation, nan, array, None, out),
    }
}

/// Enqueues the combination of the elements by any operation, in order.
#[track_caller]
pub(crate) fn combined<T: Element, const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    x: Over<'_, T, D>,
    operation: impl Associative<T>,
    out: &mut DeviceArray<T, E>,
) -> Result<()> {
    let array = x.array();
    match x.parts() {
        Parts::Axis(axis) => axis::combine(queue, View::of(queue, array, axis, out)?, array, operation, out),
        Parts::Segments(offsets) => segments::reduce(queue, array, Bounds::Offsets(offsets), operation, out),
        Parts::First(count) => of_first(queue, array, count, operation, out),
        _ => {
            let view = View { outer: 1, n: array.len(), inner: 1 };
            axis::combine(queue, view, array, operation, &mut one_element(queue, "out", out)?)
        }
    }
}

#[track_caller]
fn of_first<T: Element, O: Associative<T>, const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<T, D>,
    count: &DeviceArray<u32>,
    operation: O,
    out: &mut DeviceArray<T, E>,
) -> Result<()> {
    let count = one_count(queue, count)?;
    let mut out = one_element(queue, "out", out)?;
    let x = x.reshape([x.len()])?;
    if x.is_empty() {
        check(queue, &[("x", &words(&x)?), (PART_COUNT, &count)], &[("out", &words(&out)?)])?;
        return queue.fill(&mut out, operation.neutral());
    }
    let elements = operation.shares_kernel(queue, x.len(), Some(&count), false)?;
    let partials = operation.shares_kernel(queue, x.len(), None, false)?;
    passes::enqueue(queue, &First { operation, elements, partials, x: &x }, x.len(), &mut out)
}

/// A reduction of first elements. There is a partial result for every share, even for those beyond the first elements.
struct First<'a, T: Element, O: Associative<T>> {
    operation: O,
    elements: O::Kernel,
    partials: O::Kernel,
    x: &'a DeviceArray<T>,
}

impl<T: Element, O: Associative<T>> Passes for First<'_, T, O> {
    type Partial = T;

    fn first(&self, queue: &VerbQueue<'_>, shares: Shares, out: &mut DeviceArray<T>) -> Result<()> {
        self.operation.combine_shares(queue, &self.elements, shares, self.x, out)
    }

    fn last(
        &self,
        queue: &VerbQueue<'_>,
        shares: Shares,
        partials: &DeviceArray<T>,
        out: &mut DeviceArray<T>,
    ) -> Result<()> {
        self.operation.combine_shares(queue, &self.partials, shares, partials, out)
    }
}

/// Enqueues a comparison with zero: the number of elements that are not zero, or if any or all are not.
#[track_caller]
pub(crate) fn compared<T: Reducible, const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    comparison: Comparison,
    x: Over<'_, T, D>,
    out: &mut DeviceArray<u32, E>,
) -> Result<()> {
    let array = x.array();
    let operation = match comparison {
        Comparison::Count => Operation::Sum,
        Comparison::Any => Operation::Largest,
        Comparison::All => Operation::Smallest,
    };
    match x.parts() {
        Parts::Axis(axis) => axis::compare(queue, operation, array, axis, out),
        Parts::Segments(offsets) => segments::compare(queue, operation, array, Bounds::Offsets(offsets), out),
        Parts::First(count) => {
            let count = one_count(queue, count)?;
            count::compare(queue, comparison, array, Some(&count), out)
        }
        _ => count::compare(queue, comparison, array, None, out),
    }
}

#[track_caller]
pub(crate) fn mean<const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    x: Terms<'_, f32, D>,
    out: &mut DeviceArray<f32, E>,
) -> Result<()> {
    if is_exact(x) {
        return exact::enqueue(queue, ExactSteps::MEAN, x.over(), None, out);
    }
    let x = x.over();
    match x.parts() {
        Parts::Axis(axis) => axis::mean(queue, x.array(), axis, out),
        Parts::Segments(offsets) => segments::mean(queue, x.array(), Bounds::Offsets(offsets), out),
        Parts::First(count) => segments::mean(queue, x.array(), Bounds::First(count), out),
        _ => inner_product::mean(queue, x.array(), out),
    }
}

#[track_caller]
pub(crate) fn norm<const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    x: Terms<'_, f32, D>,
    out: &mut DeviceArray<f32, E>,
) -> Result<()> {
    if is_exact(x) {
        return exact::enqueue(queue, ExactSteps::NORM, x.over(), None, out);
    }
    let x = x.over();
    match x.parts() {
        Parts::Axis(axis) => axis::norm(queue, x.array(), axis, out),
        Parts::Segments(offsets) => segments::norm(queue, x.array(), Bounds::Offsets(offsets), out),
        Parts::First(count) => segments::norm(queue, x.array(), Bounds::First(count), out),
        _ => inner_product::norm(queue, x.array(), out),
    }
}

#[track_caller]
pub(crate) fn dot<T: Reducible, const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    x: Terms<'_, T, D>,
    y: &DeviceArray<T, D>,
    out: &mut DeviceArray<T, E>,
) -> Result<()> {
    if is_exact(x) {
        return exact::enqueue(queue, ExactSteps::DOT, x.over(), Some(y), out);
    }
    let x = x.over();
    match x.parts() {
        Parts::Axis(axis) => axis::dot(queue, x.array(), y, axis, out),
        Parts::Segments(offsets) => segments::dot(queue, x.array(), y, Bounds::Offsets(offsets), out),
        Parts::First(count) => segments::dot(queue, x.array(), y, Bounds::First(count), out),
        _ => inner_product::dot(queue, x.array(), y, out),
    }
}

/// Enqueues the search for the place of the smallest or the largest element.
#[track_caller]
pub(crate) fn place<T: Reducible, const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    largest: bool,
    x: Candidates<'_, T, D>,
    out: &mut DeviceArray<u32, E>,
) -> Result<()> {
    let array = x.over().array();
    let nan = nan(x);
    match x.over().parts() {
        Parts::Axis(axis) => axis_search::search(queue, largest, nan, array, axis, out),
        Parts::Segments(offsets) => {
            segment_search::search(queue, largest, nan, array, Bounds::Offsets(offsets), out)
        }
        Parts::First(count) => segment_search::search(queue, largest, nan, array, Bounds::First(count), out),
        _ => search::search(queue, largest, nan, array, out),
    }
}

fn nan<T: Element, const D: usize>(x: Candidates<'_, T, D>) -> Nan {
    if x.skips_nan() { Nan::Ignore } else { Nan::Propagate }
}
