//! Verbs that combine runs of elements: neighbours with equal keys.

use crate::elementwise::{bits, flat, same_shape};
use crate::launches::launch_dyn;
use crate::monoid::Associative;
use crate::monoid::sealed::OfOperator;
use crate::operator::Operator;
use crate::passes::{checked_count, one_element};
use crate::reducible::{Operation, Reducible};
use crate::refusals::{Named, check};
use crate::rows::Rows;
use crate::scan::Scan;
use crate::segment_heads::Heads;
use crate::select::result;
use crate::shares::Shares;
use crate::stages::{self, Launches, Stage, Stages};
use crate::tuning::tuned;
use crate::typed_kernel::{count_argument, value};
use crate::verb_queue::VerbQueue;
use fencepost_core::{DeviceArray, DynKernel, Element, IntoArg, Prefix, Result};
use fencepost_kernels::PART_COUNT;

#[track_caller]
pub(crate) fn scan_by_key<K: Reducible, T: Reducible, O: Associative<T>, const D: usize>(
    queue: &VerbQueue<'_>,
    keys: Prefix<'_, K, D>,
    x: &DeviceArray<T, D>,
    out: &mut DeviceArray<T, D>,
    scan: Scan<T, O>,
) -> Result<()> {
    same_shape(queue, x, "keys", keys.array())?;
    same_shape(queue, x, "out", out)?;
    let count = checked_count(queue, keys)?;
    let keys = bits(keys.array())?;
    let x = flat(x)?;
    let out = flat(out)?;
    check(queue, &with_count(&count, [("keys", &keys), ("x", &bits(&x)?)]), &[("out", &bits(&out)?)])?;
    if x.is_empty() {
        return Ok(());
    }
    let results = Results::Scan { exclusive: scan.exclusive, reversed: scan.reversed, heads: None };
    let mut state = queue.scratch(1)?;
    let verb = RunsVerb { queue, keys, x, out, count, rows: None, results, result: &mut state };
    scan.operation.with_operator(scan.initial(), verb)
}

#[track_caller]
pub(crate) fn reduce_by_key<K: Reducible, T: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    keys: Prefix<'_, K, D>,
    x: &DeviceArray<T, D>,
    operation: impl Associative<T>,
    kept: &mut DeviceArray<K>,
    out: &mut DeviceArray<T>,
    count: &mut DeviceArray<u32>,
) -> Result<()> {
    same_shape(queue, x, "keys", keys.array())?;
    let elements = checked_count(queue, keys)?;
    let kept = result(queue, x, "kept", kept)?;
    let mut count = one_element(queue, "count", count)?;
    result(queue, x, "out", out)?;
    let keys = bits(keys.array())?;
    let x = flat(x)?;
    let out = out.clone();
    if x.is_empty() {
        let results = [("kept", &bits(&kept)?), ("out", &bits(&out)?), ("count", &count)];
        let x = bits(&x)?;
        check(queue, &with_count(&elements, [("keys", &keys), ("x", &x)]), &results)?;
        return queue.fill(&mut count, 0);
    }
    let results = Results::Runs { kept, lengths: false };
    let verb = RunsVerb { queue, keys, x, out, count: elements, rows: None, results, result: &mut count };
    operation.with_operator(operation.identity(), verb)
}

/// Returns the arrays that a verb reads, and the number of first elements if there is a count.
fn with_count<'a, const N: usize>(
    count: &'a Option<DeviceArray<u32>>,
    reads: [Named<'a>; N],
) -> Vec<Named<'a>> {
    reads.into_iter().chain(count.iter().map(|count| (PART_COUNT, count))).collect()
}

/// Enqueues the lengths of the runs of an array, or of its first elements.
#[track_caller]
pub(crate) fn run_lengths<T: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    x: Prefix<'_, T, D>,
    kept: &DeviceArray<T>,
    lengths: &DeviceArray<u32>,
    count: &DeviceArray<u32>,
) -> Result<()> {
    let elements = checked_count(queue, x)?;
    let x = x.array();
    let keys = bits(x)?;
    let mut count = one_element(queue, "count", count)?;
    let kept = result(queue, x, "kept", kept)?;
    let out = result(queue, x, "lengths", lengths)?;
    if x.is_empty() {
        let results = [("kept", &bits(&kept)?), ("lengths", &out), ("count", &count)];
        check(queue, &with_count(&elements, [("x", &keys)]), &results)?;
        return queue.fill(&mut count, 0);
    }
    let operator = Operator::of_elements(Operation::Sum, 0_u32);
    // The kernel does not read the elements, because all count as 1.
    let ones = keys.clone();
    let results = Results::Runs { kept, lengths: true };
    let runs = Runs { keys, x: ones, out, count: elements, results, operator };
    stages::enqueue(queue, &runs, x.len(), &mut count)
}

/// Kind of results of a verb.
pub(crate) enum Results {
    /// One result for each element. If `heads` marks the first elements of runs, it replaces the keys.
    Scan { exclusive: bool, reversed: bool, heads: Option<Heads> },
    /// One result for each run, with the run's key in `kept`.
    Runs { kept: DeviceArray<u32>, lengths: bool },
}

/// A verb that combines the runs of a non-empty array.
pub(crate) struct RunsVerb<'a, T: Element> {
    pub(crate) queue: &'a VerbQueue<'a>,
    pub(crate) keys: DeviceArray<u32>,
    pub(crate) x: DeviceArray<T>,
    pub(crate) out: DeviceArray<T>,
    /// Number of first elements, if not all elements are combined.
    pub(crate) count: Option<DeviceArray<u32>>,
    /// Rows that `x` and `out` belong to, if the scan is along an axis.
    pub(crate) rows: Option<&'a Rows<'a, T>>,
    pub(crate) results: Results,
    /// Number of runs, or an unused word instead.
    pub(crate) result: &'a mut DeviceArray<u32>,
}

impl<T: Element> OfOperator<T> for RunsVerb<'_, T> {
    #[track_caller]
    fn enqueue<U: Element>(
        self,
        operator: Operator<'_, U>,
        of_kernel: fn(&DeviceArray<T>) -> DeviceArray<U>,
    ) -> Result<()> {
        let Self { queue, keys, count, rows, results, result, .. } = self;
        let x = of_kernel(&self.x);
        let out = of_kernel(&self.out);
        let verb = Runs { keys, x, out, count, results, operator };
        let launches = Launches::prepared(queue, &verb, self.x.len(), result)?;
        if let Some(rows) = rows {
            rows.enter(queue)?;
        }
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
    /// Number of first elements, if not all elements are combined.
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
        // A stage without partial results does not read the array that is passed for them.
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
