//! Reductions of segments, which are given by offsets, and of first elements as a single segment.

use crate::elementwise::{flat, words};
use crate::inner_product::one_shape;
use crate::launches::launch_dyn;
use crate::monoid::Associative;
use crate::monoid::sealed::OfOperator;
use crate::operator::Operator;
use crate::passes::{one_count, one_element};
use crate::reducible::{Finish, Operation, Reducible};
use crate::refusals::{Named, check};
use crate::shares::Shares;
use crate::stages::{Launches, Stage, Stages};
use crate::tuning::tuned;
use crate::typed_kernel::{nonzero_bits, value};
use crate::verb_queue::{VerbQueue, subject};
use fencepost_core::{DeviceArray, DynKernel, Element, ErrorDetail, IntoArg, Result};
use fencepost_kernels::PART_COUNT;

/// Enqueues the combination of the elements of each segment.
#[track_caller]
pub(crate) fn reduce<T: Element, const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<T, D>,
    bounds: Bounds<'_>,
    operation: impl Associative<T>,
    out: &mut DeviceArray<T, E>,
) -> Result<()> {
    one_number_each::<T>(queue, "segments")?;
    let lists = Lists::of(queue, x, bounds, out, &[])?;
    let identity = operation.identity();
    operation.with_operator(identity, SegmentsVerb { queue, lists, identity })
}

/// Refuses elements that consist of several numbers.
pub(crate) fn one_number_each<T: Element>(queue: &VerbQueue<'_>, parts: &str) -> Result<()> {
    if T::DTYPE.size() == size_of::<u32>() {
        return Ok(());
    }
    let object = format!("{}: the type of the elements of {parts}", subject(queue.verb));
    Err(ErrorDetail::Value { object, found: T::DTYPE.to_string(), needed: "`f32`, `i32` or `u32`" }.into())
}

/// A reduction of segments.
struct SegmentsVerb<'a, T: Element> {
    queue: &'a VerbQueue<'a>,
    lists: Lists<T, T>,
    identity: T,
}

impl<T: Element> OfOperator<T> for SegmentsVerb<'_, T> {
    #[track_caller]
    fn enqueue<U: Element>(
        self,
        operator: Operator<'_, U>,
        of_kernel: fn(&DeviceArray<T>) -> DeviceArray<U>,
    ) -> Result<()> {
        let Self { queue, lists, identity } = self;
        let verb = lists.segments(of_kernel(&lists.x), of_kernel(&lists.out), operator, Form::default());
        lists.enqueue(queue, &verb, identity)
    }
}

/// Bounds of the segments of an array.
#[derive(Clone, Copy)]
pub(crate) enum Bounds<'a> {
    /// Segment `s` is the elements from `offsets[s]` up to `offsets[s + 1]`.
    Offsets(&'a DeviceArray<u32>),
    /// One segment: the first elements. The only element of this array is their number.
    First(&'a DeviceArray<u32>),
}

/// Arrays of a verb, flattened to one dimension.
pub(crate) struct Lists<T: Element, R: Element> {
    pub(crate) x: DeviceArray<T>,
    pub(crate) offsets: DeviceArray<u32>,
    /// Length of the only segment, which the device writes to the offsets.
    length: Option<DeviceArray<u32>>,
    pub(crate) out: DeviceArray<R>,
}

impl<T: Element, R: Element> Lists<T, R> {
    /// Checks the arrays of a verb that also reads `others`, and then allocates the offsets of first elements.
    #[track_caller]
    pub(crate) fn of<const D: usize, const E: usize>(
        queue: &VerbQueue<'_>,
        x: &DeviceArray<T, D>,
        bounds: Bounds<'_>,
        out: &DeviceArray<R, E>,
        others: &[Named<'_>],
    ) -> Result<Self> {
        let x = flat(x)?;
        let (name, given, out) = match bounds {
            Bounds::Offsets(offsets) => {
                one_of_each(queue, offsets, out)?;
                ("offsets", flat(offsets)?, flat(out)?)
            }
            Bounds::First(count) => (PART_COUNT, one_count(queue, count)?, one_element(queue, "out", out)?),
        };
        let elements = words(&x)?;
        let results = words(&out)?;
        let reads = [&[(name, &given), ("x", &elements)], others].concat();
        check(queue, &reads, &[("out", &results)])?;
        // An allocation may enqueue a wait for the memory, so it comes after the checks.
        Ok(match bounds {
            Bounds::Offsets(_) => Self { x, offsets: given, length: None, out },
            Bounds::First(_) => Self { x, offsets: queue.scratch(2)?, length: Some(given), out },
        })
    }

    pub(crate) fn segments<'a, U: Element>(
        &self,
        x: DeviceArray<U>,
        out: DeviceArray<U>,
        operator: Operator<'a, U>,
        form: Form,
    ) -> Segments<'a, U> {
        let offsets = self.offsets.clone();
        let y = x.clone();
        Segments { offsets, x, y, out, operator, form }
    }

    /// Enqueues the launches of a verb. The result for an empty segment is `none`.
    #[track_caller]
    pub(crate) fn enqueue<V: Stages>(&self, queue: &VerbQueue<'_>, verb: &V, none: R) -> Result<()> {
        let mut out = self.out.clone();
        if out.is_empty() || self.x.is_empty() {
            return if out.is_empty() { Ok(()) } else { queue.fill(&mut out, none) };
        }
        let mut state = queue.scratch(1)?;
        let launches = Launches::prepared(queue, verb, self.x.len(), &mut state)?;
        self.write_offsets(queue)?;
        queue.fill(&mut out, none)?;
        launches.enqueue(queue, verb, &mut state)
    }

    /// Enqueues the offsets of first elements. The program has the offsets of other segments.
    #[track_caller]
    pub(crate) fn write_offsets(&self, queue: &VerbQueue<'_>) -> Result<()> {
        let Some(length) = &self.length else { return Ok(()) };
        queue.fill(&mut self.offsets.slice(0..1)?, 0)?;
        queue.copy(length, &mut self.offsets.slice(1..2)?)
    }
}

/// Returns an error if there is not one result for each segment.
fn one_of_each<T: Element, const D: usize>(
    queue: &VerbQueue<'_>,
    offsets: &DeviceArray<u32>,
    out: &DeviceArray<T, D>,
) -> Result<()> {
    let segments = offsets.len().saturating_sub(1);
    if out.len() == segments {
        return Ok(());
    }
    let remedy = "a segment lies between two `offsets`, so there is one result less than offsets";
    Err(queue.wrong_shape("out", out, [segments], remedy))
}

/// Steps of the kernel before the operation, for each element, and after it, for each result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Form {
    /// If not 0, an element with any of these bits set counts as 1, and any other element as 0.
    pub(crate) bits: u32,
    /// `true` if each element is first multiplied by an element of the other array.
    pub(crate) products: bool,
    pub(crate) finish: Finish,
}

/// A verb on segments, with elements of the kernel's type.
pub(crate) struct Segments<'a, U: Element> {
    offsets: DeviceArray<u32>,
    x: DeviceArray<U>,
    /// Other factors of the products.
    y: DeviceArray<U>,
    out: DeviceArray<U>,
    operator: Operator<'a, U>,
    form: Form,
}

impl<U: Element> Segments<'_, U> {
    /// Sets the other factors of products. Without them, elements are multiplied by themselves.
    pub(crate) fn times(self, y: &DeviceArray<U>) -> Self {
        Self { y: y.clone(), ..self }
    }
}

impl<U: Element> Stages for Segments<'_, U> {
    const WORDS: usize = 2;
    type Kernel = DynKernel;

    fn kernel(&self, queue: &VerbQueue<'_>, stage: Stage) -> Result<DynKernel> {
        let mut overrides = vec![("STAGE", stage.number())];
        let Form { bits, products, finish } = self.form;
        if self.form != Form::default() {
            let products = f64::from(products);
            overrides.extend([
                ("BITS", f64::from(bits)),
                ("PRODUCTS", products),
                ("FINISH", finish.number()),
            ]);
        }
        self.operator.kernel(queue, "reduce_segments", &tuned(queue, &overrides), None)
    }

    #[track_caller]
    fn launch(
        &self,
        queue: &VerbQueue<'_>,
        kernel: &DynKernel,
        shares: Shares,
        partials: Option<&DeviceArray<u32>>,
        result: &mut DeviceArray<u32>,
    ) -> Result<()> {
        let [n, share, segments] = [shares.elements, shares.share, self.out.len()].map(|n| n as u32);
        // A stage without partial results does not read the array that is passed for them.
        let partials = partials.unwrap_or(&self.offsets);
        let mut out = self.out.clone();
        let args = vec![
            value("n", n),
            value("share", share),
            value("identity", self.operator.identity),
            value("segments", segments),
            (Some("offsets".into()), (&self.offsets).into_arg()),
            (Some("x".into()), (&self.x).into_arg()),
            (Some("y".into()), (&self.y).into_arg()),
            (Some("partials".into()), partials.into_arg()),
            (Some("out".into()), (&mut out).into_arg()),
            (Some("states".into()), result.into_arg()),
        ];
        launch_dyn(queue, kernel, shares.count, args)
    }
}

#[track_caller]
pub(crate) fn mean<const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<f32, D>,
    bounds: Bounds<'_>,
    out: &mut DeviceArray<f32, E>,
) -> Result<()> {
    finished(queue, Form { finish: Finish::Divide, ..Form::default() }, f32::NAN, x, bounds, out)
}

#[track_caller]
pub(crate) fn norm<const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<f32, D>,
    bounds: Bounds<'_>,
    out: &mut DeviceArray<f32, E>,
) -> Result<()> {
    let form = Form { products: true, finish: Finish::Root, ..Form::default() };
    finished(queue, form, 0.0, x, bounds, out)
}

#[track_caller]
pub(crate) fn dot<T: Reducible, const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<T, D>,
    y: &DeviceArray<T, D>,
    bounds: Bounds<'_>,
    out: &mut DeviceArray<T, E>,
) -> Result<()> {
    one_shape(queue, x, y)?;
    let y = flat(y)?;
    let lists = Lists::of(queue, x, bounds, out, &[("y", &y.cast_bits())])?;
    let zero = T::identity(Operation::Sum);
    let form = Form { products: true, ..Form::default() };
    let sum = Operator::of_elements(Operation::Sum, zero);
    let verb = lists.segments(lists.x.clone(), lists.out.clone(), sum, form).times(&y);
    lists.enqueue(queue, &verb, zero)
}

/// Enqueues sums of elements or of squares, followed by a last operation. The result for an empty segment is `none`.
#[track_caller]
fn finished<const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    form: Form,
    none: f32,
    x: &DeviceArray<f32, D>,
    bounds: Bounds<'_>,
    out: &DeviceArray<f32, E>,
) -> Result<()> {
    let lists = Lists::of(queue, x, bounds, out, &[])?;
    let sum = Operator::of_elements(Operation::Sum, 0.0);
    let verb = lists.segments(lists.x.clone(), lists.out.clone(), sum, form);
    lists.enqueue(queue, &verb, none)
}

/// Enqueues the comparison with zero: an element that is not zero counts as 1, and a zero as 0.
#[track_caller]
pub(crate) fn compare<T: Reducible, const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    operation: Operation,
    x: &DeviceArray<T, D>,
    bounds: Bounds<'_>,
    out: &DeviceArray<u32, E>,
) -> Result<()> {
    let lists = Lists::of(queue, x, bounds, out, &[])?;
    let operator = Operator::of_elements(operation, operation.identity_of_keys());
    let form = Form { bits: nonzero_bits::<T>(), ..Form::default() };
    let verb = lists.segments(lists.x.cast_bits(), lists.out.clone(), operator, form);
    lists.enqueue(queue, &verb, u32::from(operation == Operation::Smallest))
}
