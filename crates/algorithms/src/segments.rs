//! Verbs that combine segments of an array, which offsets describe.

use crate::elementwise::{bits, flat};
use crate::launches::launch_dyn;
use crate::monoid::Associative;
use crate::monoid::sealed::OfOperator;
use crate::operator::Operator;
use crate::reducible::{Finish, Reducible};
use crate::refusals::{Named, check};
use crate::shares::Shares;
use crate::stages::{Launches, Stage, Stages};
use crate::tuning::tuned;
use crate::typed_kernel::value;
use crate::verb_queue::VerbQueue;
use fencepost_core::{CommandQueue, DeviceArray, DynKernel, Element, IntoArg, Result};

/// Combines the elements of each segment of an array.
///
/// # Cost
/// The results are filled with the value of an empty segment first. Then, up to 16,384 elements take one launch and a word of
/// scratch memory. More elements take two, with up to 2,049 words of scratch memory. The work is divided by elements, so one long segment takes about as long as
/// many shorter ones. The last launch reads each element once. The first one of two reads the last segment of each share.
///
/// # Error bound
/// The errors are those of [`ByKey`](crate::ByKey), for segments in place of runs.
///
/// # Determinism
/// The order of the operations depends on the number of elements, the offsets and the adapter, so one device and driver give the same
/// bits in each run.
///
/// # Source
/// Each invocation combines the pieces of segments in some neighbouring elements, and finds the segments by a search in
/// steps of doubled length: Jon L. Bentley and Andrew C. Yao, *An almost optimal algorithm for unbounded searching*,
/// 1976. The pieces of a segment that several invocations have are combined by a segmented scan: Guy E. Blelloch,
/// *Prefix Sums and Their Applications*, 1990, section 1.5.
pub trait ReduceSegments {
    /// *Enqueues* `out[s]` = the elements of `x` from `offsets[s]` up to `offsets[s + 1]`, combined by an operation. An empty
    /// segment gives 0 for a sum, 1 for a product, and for the smallest (largest) element the greatest (least) value of the
    /// type, which is infinite for `f32`. A NaN makes the smallest and the largest number of its segment a NaN, unless the operation
    /// leaves NaNs out.
    ///
    /// # Shape
    /// `offsets` has one element more than `out`, like the row offsets of a sparse matrix. `x` has any shape, and is one list in
    /// C order. The elements before the first offset and from the last offset on belong to no segment. No offsets have no
    /// segment, like one offset, and then `out` is empty.
    ///
    /// The offsets are on the device, so the call does not check them. An offset past the last element counts as the
    /// end of the array. If an offset is less than the one before it, the results are not specified; no element outside
    /// of the arrays is read or written.
    ///
    /// # Errors
    /// [`Kind::Shape`](fencepost_core::Kind::Shape) if `out` does not have one element less than `offsets`;
    /// [`Kind::Padding`](fencepost_core::Kind::Padding) if an array is padded; the errors of a launch, and the queue's own error.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Operation, ReduceSegments};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, offsets) = (ctx.array(&[3_u32, 1, 4, 1, 5])?, ctx.array(&[0_u32, 2, 2, 5])?);
    /// let mut out = ctx.zeros([3])?;
    /// queue.reduce_segments(&x, &offsets, Operation::Sum, &mut out)?;
    /// assert_eq!(queue.read(&out).wait()?, [4, 0, 10]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn reduce_segments<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        offsets: &DeviceArray<u32>,
        operation: impl Associative<T>,
        out: &mut DeviceArray<T>,
    ) -> Result<()>;
}

impl ReduceSegments for CommandQueue {
    #[track_caller]
    fn reduce_segments<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        offsets: &DeviceArray<u32>,
        operation: impl Associative<T>,
        out: &mut DeviceArray<T>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "reduce_segments");
        let lists = Lists::of(queue, x, offsets, out)?;
        let identity = operation.identity();
        operation.with_operator(identity, SegmentsVerb { queue, lists, identity })
    }
}

/// A reduction of segments.
struct SegmentsVerb<'a, T: Reducible> {
    queue: &'a VerbQueue<'a>,
    lists: Lists<T, T>,
    identity: T,
}

impl<T: Reducible> OfOperator<T> for SegmentsVerb<'_, T> {
    #[track_caller]
    fn enqueue<U: Element>(
        self,
        operator: Operator<'_, U>,
        of_kernel: fn(&DeviceArray<T>) -> DeviceArray<U>,
    ) -> Result<()> {
        let Self { queue, lists, identity } = self;
        let verb = lists.segments(of_kernel(&lists.x), of_kernel(&lists.out), operator, Form::default());
        lists.enqueue(queue, &[], &verb, identity)
    }
}

/// Arrays of a verb, flattened to one dimension.
pub(crate) struct Lists<T: Reducible, R: Reducible> {
    pub(crate) x: DeviceArray<T>,
    pub(crate) offsets: DeviceArray<u32>,
    pub(crate) out: DeviceArray<R>,
}

impl<T: Reducible, R: Reducible> Lists<T, R> {
    pub(crate) fn of<const D: usize>(
        queue: &VerbQueue<'_>,
        x: &DeviceArray<T, D>,
        offsets: &DeviceArray<u32>,
        out: &DeviceArray<R>,
    ) -> Result<Self> {
        one_of_each(queue, offsets, out)?;
        Ok(Self { x: flat(x)?, offsets: flat(offsets)?, out: flat(out)? })
    }

    /// Returns the verb that combines the lists, with `x` and `out` as arrays of the kernel's type.
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

    /// Enqueues a fill with the result of an empty segment, and the launches of a verb, which reads `others` too.
    #[track_caller]
    pub(crate) fn enqueue<V: Stages>(
        &self,
        queue: &VerbQueue<'_>,
        others: &[Named<'_>],
        verb: &V,
        none: R,
    ) -> Result<()> {
        let x = bits(&self.x)?;
        let results = bits(&self.out)?;
        let reads = [&[("offsets", &self.offsets), ("x", &x)], others].concat();
        check(queue, &reads, &[("out", &results)])?;
        let mut out = self.out.clone();
        if out.is_empty() || x.is_empty() {
            return if out.is_empty() { Ok(()) } else { queue.fill(&mut out, none) };
        }
        let mut state = queue.empty([1])?;
        let launches = Launches::prepared(queue, verb, x.len(), &mut state)?;
        queue.fill(&mut out, none)?;
        launches.enqueue(queue, verb, &mut state)
    }
}

/// Returns an error if there is not one result for each segment.
fn one_of_each<T: Element>(
    queue: &VerbQueue<'_>,
    offsets: &DeviceArray<u32>,
    out: &DeviceArray<T>,
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
    /// If not 0, an element with any of these bits set counts as 1, and any other as 0.
    pub(crate) bits: u32,
    /// `true` if each element is first multiplied by the element of the other array.
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
    /// Sets the other factors of products. Without them, an element is multiplied with itself.
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
        // A stage without partial results does not read the array that stands for them.
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
