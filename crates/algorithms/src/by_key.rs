//! Verbs that combine runs of elements: neighbours with equal keys.

use crate::elementwise::{bits, flat, same_shape};
use crate::launches::launch_dyn;
use crate::monoid::Associative;
use crate::monoid::sealed::OfOperator;
use crate::operator::Operator;
use crate::passes::one_element;
use crate::reducible::{Operation, Reducible};
use crate::refusals::check;
use crate::scan::Scan;
use crate::segment_heads::Heads;
use crate::select::result;
use crate::shares::Shares;
use crate::stages::{self, Launches, Stage, Stages};
use crate::tuning::tuned;
use crate::typed_kernel::{count_argument, value};
use crate::verb_queue::VerbQueue;
use fencepost_core::{CommandQueue, DeviceArray, DynKernel, Element, IntoArg, Result};
use fencepost_kernels::PART_COUNT;

/// Combines the elements of each run: neighbours with equal keys.
///
/// Keys are equal if their bits are: -0 differs from +0, and NaNs with the same bits are equal. Arrays of any shape are lists,
/// in C order. Equal keys that are not neighbours belong to different runs.
///
/// # Cost
/// Up to 16,384 elements take one launch, and for a scan a word of scratch memory. More elements take two, with up to 2,049 words
/// of scratch memory. Each launch reads the elements and the keys.
///
/// # Error bound
/// Integers are exact and wrap, and so is the smallest and the largest number. The error of a sum of `f32` is at most `d u`
/// times the sum of the magnitudes of the combined elements, with `d` = 140 + n / 2^15 for n elements. `u` is 2^-24 on a
/// device that rounds to the nearest number. The relative error of a product of `f32` is at most about n times 2^-23. Both hold
/// unless the sum or the product of some neighbours is infinite, or such a product is below the smallest normal number.
///
/// # Determinism
/// The order of the operations depends on the number of elements, the keys and the adapter, so one device and driver give the same
/// bits in each run.
///
/// # Source
/// A scan of pairs of a value and a mark for the head of a run: Guy E. Blelloch, *Prefix Sums and Their Applications*, 1990,
/// section 1.5. The shares are reduced first, as for [`PrefixScan`](crate::PrefixScan).
pub trait ByKey {
    /// *Enqueues* a scan that begins anew at each element whose key differs from the key before. The initial value is combined
    /// with the elements of each run. A [reversed](Scan::reversed) scan begins anew at the last element of each run.
    ///
    /// # Errors
    /// [`Kind::Shape`](fencepost_core::Kind::Shape) if the shapes differ; [`Kind::Padding`](fencepost_core::Kind::Padding) if an
    /// array is padded; the errors of a launch, and the queue's own error.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{ByKey, Operation, Scan};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (keys, x) = (ctx.array(&[7, 7, 2, 2, 7])?, ctx.array(&[1_u32, 2, 3, 4, 5])?);
    /// let mut out = ctx.zeros([5])?;
    /// queue.scan_by_key(&keys, &x, &mut out, Scan::inclusive(Operation::Sum))?;
    /// assert_eq!(queue.read(&out).wait()?, [1, 3, 3, 7, 5]);
    /// queue.scan_by_key(&keys, &x, &mut out, Scan::exclusive(Operation::Sum).from(10))?;
    /// assert_eq!(queue.read(&out).wait()?, [10, 11, 10, 13, 10]);
    /// queue.scan_by_key(&keys, &x, &mut out, Scan::inclusive(Operation::Sum).reversed())?;
    /// assert_eq!(queue.read(&out).wait()?, [3, 2, 7, 4, 5]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn scan_by_key<K: Reducible, T: Reducible, O: Associative<T>, const D: usize>(
        &self,
        keys: &DeviceArray<K, D>,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<T, D>,
        scan: Scan<T, O>,
    ) -> Result<()>;

    /// *Enqueues* kept = the key of each run, out = the elements of each run combined, and count = the number of runs, an array
    /// of one element. The elements after the results stay as they are. A NaN makes the smallest and the largest number
    /// of its run a NaN, unless the operation leaves NaNs out.
    ///
    /// # Shape
    /// `kept` and `out` have one dimension and as many elements as `x`.
    ///
    /// # Errors
    /// [`Kind::Shape`](fencepost_core::Kind::Shape) if the shape of `keys` is not that of `x`, `kept` or `out` does not
    /// have as many elements as `x`, or `count` does not have exactly one; the other errors of
    /// [`scan_by_key`](Self::scan_by_key).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{ByKey, Operation};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (keys, x) = (ctx.array(&[7, 7, 2, 2, 7])?, ctx.array(&[1_u32, 2, 3, 4, 5])?);
    /// let (mut kept, mut out, mut count) = (ctx.zeros([5])?, ctx.zeros([5])?, ctx.zeros([1])?);
    /// queue.reduce_by_key(&keys, &x, Operation::Sum, &mut kept, &mut out, &mut count)?;
    /// assert_eq!(queue.read(&kept).wait()?, [7, 2, 7, 0, 0]);
    /// assert_eq!(queue.read(&out).wait()?, [3, 7, 5, 0, 0]);
    /// assert_eq!(queue.read(&count).wait()?, [3]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn reduce_by_key<K: Reducible, T: Reducible, const D: usize>(
        &self,
        keys: &DeviceArray<K, D>,
        x: &DeviceArray<T, D>,
        operation: impl Associative<T>,
        kept: &mut DeviceArray<K>,
        out: &mut DeviceArray<T>,
        count: &mut DeviceArray<u32>,
    ) -> Result<()>;

    /// *Enqueues* kept = the element of each run of equal elements of `x`, lengths = the length of each run, and count = the
    /// number of runs, an array of one element. The elements after the results stay as they are.
    ///
    /// # Shape
    /// `kept` and `lengths` have one dimension and as many elements as `x`.
    ///
    /// # Errors
    /// Returns the errors of [`reduce_by_key`](Self::reduce_by_key).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::ByKey;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (mut kept, mut lengths, mut count) = (ctx.zeros([5])?, ctx.zeros([5])?, ctx.zeros([1])?);
    /// queue.run_lengths(&ctx.array(&[7.0_f32, 7.0, 2.0, 2.0, 7.0])?, &mut kept, &mut lengths, &mut count)?;
    /// assert_eq!(queue.read(&kept).wait()?, [7.0, 2.0, 7.0, 0.0, 0.0]);
    /// assert_eq!(queue.read(&lengths).wait()?, [2, 2, 1, 0, 0]);
    /// assert_eq!(queue.read(&count).wait()?, [3]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn run_lengths<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        kept: &mut DeviceArray<T>,
        lengths: &mut DeviceArray<u32>,
        count: &mut DeviceArray<u32>,
    ) -> Result<()>;
}

impl ByKey for CommandQueue {
    #[track_caller]
    fn scan_by_key<K: Reducible, T: Reducible, O: Associative<T>, const D: usize>(
        &self,
        keys: &DeviceArray<K, D>,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<T, D>,
        scan: Scan<T, O>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "scan_by_key");
        same_shape(queue, x, "keys", keys)?;
        same_shape(queue, x, "out", out)?;
        let keys = bits(keys)?;
        let x = flat(x)?;
        let out = flat(out)?;
        check(queue, &[("keys", &keys), ("x", &bits(&x)?)], &[("out", &bits(&out)?)])?;
        if x.is_empty() {
            return Ok(());
        }
        let results = Results::Scan { exclusive: scan.exclusive, reversed: scan.reversed, heads: None };
        let mut state = queue.empty([1])?;
        let verb = RunsVerb { queue, keys, x, out, results, result: &mut state };
        scan.operation.with_operator(scan.initial(), verb)
    }

    #[track_caller]
    fn reduce_by_key<K: Reducible, T: Reducible, const D: usize>(
        &self,
        keys: &DeviceArray<K, D>,
        x: &DeviceArray<T, D>,
        operation: impl Associative<T>,
        kept: &mut DeviceArray<K>,
        out: &mut DeviceArray<T>,
        count: &mut DeviceArray<u32>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "reduce_by_key");
        same_shape(queue, x, "keys", keys)?;
        let kept = result(queue, x, "kept", kept)?;
        let mut count = one_element(queue, "count", count)?;
        result(queue, x, "out", out)?;
        let keys = bits(keys)?;
        let x = flat(x)?;
        let out = out.clone();
        if x.is_empty() {
            let results = [("kept", &bits(&kept)?), ("out", &bits(&out)?), ("count", &count)];
            let x = bits(&x)?;
            check(queue, &[("keys", &keys), ("x", &x)], &results)?;
            return queue.fill(&mut count, 0);
        }
        let results = Results::Runs { kept, lengths: false };
        let verb = RunsVerb { queue, keys, x, out, results, result: &mut count };
        operation.with_operator(operation.identity(), verb)
    }

    #[track_caller]
    fn run_lengths<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        kept: &mut DeviceArray<T>,
        lengths: &mut DeviceArray<u32>,
        count: &mut DeviceArray<u32>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "run_lengths");
        lengths_of_runs(queue, &flat(x)?, None, kept, lengths, count)
    }
}

/// Enqueues the lengths of the runs of an array, or of a part whose number of elements `elements` has.
#[track_caller]
pub(crate) fn lengths_of_runs<T: Reducible>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<T>,
    elements: Option<DeviceArray<u32>>,
    kept: &DeviceArray<T>,
    lengths: &DeviceArray<u32>,
    count: &DeviceArray<u32>,
) -> Result<()> {
    let keys = bits(x)?;
    let mut count = one_element(queue, "count", count)?;
    let kept = result(queue, x, "kept", kept)?;
    let out = result(queue, x, "lengths", lengths)?;
    if x.is_empty() {
        let results = [("kept", &bits(&kept)?), ("lengths", &out), ("count", &count)];
        let elements = elements.as_ref().map(|elements| (PART_COUNT, elements));
        let reads: Vec<_> = [("x", &keys)].into_iter().chain(elements).collect();
        check(queue, &reads, &results)?;
        return queue.fill(&mut count, 0);
    }
    let operator = Operator::of_elements(Operation::Sum, 0_u32);
    // The kernel does not read the elements, which are all 1.
    let ones = keys.clone();
    let results = Results::Runs { kept, lengths: true };
    let runs = Runs { keys, x: ones, out, count: elements, results, operator };
    stages::enqueue(queue, &runs, x.len(), &mut count)
}

/// Results of a verb.
pub(crate) enum Results {
    /// One result for each element. If there are bits that mark the first elements of runs, they replace the keys.
    Scan { exclusive: bool, reversed: bool, heads: Option<Heads> },
    /// One result for each run, with its key in `kept`.
    Runs { kept: DeviceArray<u32>, lengths: bool },
}

/// A verb that combines the runs of a non-empty array.
pub(crate) struct RunsVerb<'a, T: Element> {
    pub(crate) queue: &'a VerbQueue<'a>,
    pub(crate) keys: DeviceArray<u32>,
    pub(crate) x: DeviceArray<T>,
    pub(crate) out: DeviceArray<T>,
    pub(crate) results: Results,
    /// Number of runs, or an unused word in its place.
    pub(crate) result: &'a mut DeviceArray<u32>,
}

impl<T: Element> OfOperator<T> for RunsVerb<'_, T> {
    #[track_caller]
    fn enqueue<U: Element>(
        self,
        operator: Operator<'_, U>,
        of_kernel: fn(&DeviceArray<T>) -> DeviceArray<U>,
    ) -> Result<()> {
        let Self { queue, keys, results, result, .. } = self;
        let x = of_kernel(&self.x);
        let out = of_kernel(&self.out);
        let verb = Runs { keys, x, out, count: None, results, operator };
        let launches = Launches::prepared(queue, &verb, self.x.len(), result)?;
        if let Results::Scan { heads: Some(heads), .. } = &verb.results {
            heads.launch(queue)?;
        }
        launches.enqueue(queue, &verb, result)
    }
}

/// The same verb, with elements of the kernel's type.
struct Runs<'a, U: Element> {
    keys: DeviceArray<u32>,
    x: DeviceArray<U>,
    out: DeviceArray<U>,
    /// Number of elements of the part, if there is one.
    count: Option<DeviceArray<u32>>,
    results: Results,
    operator: Operator<'a, U>,
}

impl<U: Element> Stages for Runs<'_, U> {
    const WORDS: usize = 2;
    type Kernel = DynKernel;

    fn kernel(&self, queue: &VerbQueue<'_>, stage: Stage) -> Result<DynKernel> {
        let mut overrides = vec![("STAGE", stage.number())];
        let stem = match &self.results {
            &Results::Scan { exclusive, reversed, ref heads } => {
                let [exclusive, reversed, heads] = [exclusive, reversed, heads.is_some()].map(f64::from);
                overrides.extend([("EXCLUSIVE", exclusive), ("REVERSED", reversed), ("HEADS", heads)]);
                "scan_by_key"
            }
            Results::Runs { lengths, .. } => {
                overrides.push(("LENGTHS", f64::from(*lengths)));
                "reduce_by_key"
            }
        };
        self.operator.kernel(queue, stem, &tuned(queue, &overrides), self.count.as_ref())
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
        let ([n, share], mut out) = ([shares.elements, shares.share].map(|n| n as u32), self.out.clone());
        // A stage without partial results does not read the array that stands for them.
        let partials = partials.unwrap_or(&self.keys);
        let mut args = vec![
            value("n", n),
            value("share", share),
            value("identity", self.operator.identity),
            (Some("keys".into()), (&self.keys).into_arg()),
            (Some("x".into()), (&self.x).into_arg()),
            (Some("partials".into()), partials.into_arg()),
            (Some("out".into()), (&mut out).into_arg()),
            (Some("states".into()), result.into_arg()),
        ];
        args.extend(count_argument(self.count.as_ref()));
        let mut kept;
        match &self.results {
            Results::Scan { .. } => args.push(value("initial", self.operator.initial)),
            Results::Runs { kept: keys, .. } => {
                kept = keys.clone();
                args.push((Some("kept".into()), (&mut kept).into_arg()));
            }
        }
        launch_dyn(queue, kernel, shares.count, args)
    }
}
