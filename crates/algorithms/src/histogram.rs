//! Histograms: the number of elements in each bin.

use crate::counted::SizedKernel;
use crate::elementwise::bits;
use crate::order::{flips, order_key};
use crate::passes::checked_count;
use crate::reducible::{Operation, Reducible, cast};
use crate::refusals::check;
use crate::shares::Shares;
use crate::tuning::tuned_as;
use crate::variants::{COPIES, Tunable, chosen};
use crate::verb_queue::{VerbQueue, subject};
use fencepost_core::{DeviceArray, ErrorDetail, Prefix, Result, Scalar};
use fencepost_derive::KernelArgs;
use fencepost_kernels::PART_COUNT;
use std::borrow::Cow;
use std::ops::Range;

/// Bins of a histogram.
///
/// # Example
/// ```
/// use fencepost::prelude::*;
/// # let (ctx, queue) = fencepost::doctest();
/// let (mut of_remainders, mut counts) = (ctx.zeros([3])?, ctx.zeros([2])?);
/// queue.histogram(&ctx.array(&[7_u32, 4, 9])?, Bins::modulo(), &mut of_remainders)?;
/// assert_eq!(queue.read(&of_remainders).wait()?, [1, 2, 0]);
/// queue.histogram(&ctx.array(&[0.0_f32, 0.3, 1.0, 2.0])?, Bins::even(0.0..1.0), &mut counts)?;
/// assert_eq!(queue.read(&counts).wait()?, [2, 1]);
/// queue.histogram(&ctx.array(&[-5_i32, 0, 9, 10])?, Bins::edges(&[0, 1, 10]), &mut counts)?;
/// assert_eq!(queue.read(&counts).wait()?, [1, 2]);
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Bins<'a, T> {
    kind: BinsKind<'a, T>,
}

#[derive(Clone, PartialEq, Debug)]
enum BinsKind<'a, T> {
    Modulo,
    Even(Range<T>),
    Edges(&'a [T]),
}

impl Bins<'_, u32> {
    /// Counts an element in the bin with the number `element % bins`. If there are more bins than the largest element,
    /// that is the element itself.
    pub fn modulo() -> Self {
        Self { kind: BinsKind::Modulo }
    }
}

impl Bins<'_, f32> {
    /// Divides a range of numbers into bins of equal width. The edges are computed as `f64` and rounded.
    pub fn even(range: Range<f32>) -> Self {
        Self { kind: BinsKind::Even(range) }
    }
}

impl<'a, T: Reducible> Bins<'a, T> {
    /// Takes the edges of the bins, in ascending order. There is one edge more than there are bins.
    pub fn edges(edges: &'a [T]) -> Self {
        Self { kind: BinsKind::Edges(edges) }
    }

    /// Returns the edges of `bins` bins, or `None` if the bins are remainders.
    pub(crate) fn checked_edges(&self, verb: &str, bins: usize) -> Result<Option<Cow<'a, [T]>>> {
        let edges = match &self.kind {
            BinsKind::Modulo => {
                return if bins == 0 { Err(lengths(verb, "the array of counts", bins, 1)) } else { Ok(None) };
            }
            BinsKind::Even(range) => Cow::Owned(even_edges(verb, range, bins)?),
            BinsKind::Edges(edges) => Cow::Borrowed(*edges),
        };
        if edges.len() < 2 {
            return Err(lengths(verb, "the list of edges", edges.len(), 2));
        }
        if bins != edges.len() - 1 {
            return Err(lengths(verb, "the array of counts", bins, edges.len() - 1));
        }
        match edges.windows(2).find(|pair| pair[0] > pair[1] || pair[0].partial_cmp(&pair[1]).is_none()) {
            Some(pair) => {
                let found = format!("{} before {}", text(pair[0]), text(pair[1]));
                let object = "a pair of edges of a histogram".into();
                Err(ErrorDetail::Value { object, found, needed: "an ascending pair without a NaN" }.into())
            }
            None => Ok(Some(edges)),
        }
    }
}

/// Returns an element as text, for messages.
fn text<T: Reducible>(element: T) -> String {
    match T::DTYPE.scalar() {
        Some(Scalar::F32) => format!("{:?}", cast::<T, f32>(element)),
        Some(Scalar::I32) => cast::<T, i32>(element).to_string(),
        _ => cast::<T, u32>(element).to_string(),
    }
}

/// Returns the error for an array that does not have one element for each bin.
fn lengths(verb: &str, list: &str, found: usize, expected: usize) -> fencepost_core::Error {
    let object = format!("{}: {list}", subject(verb));
    let found = vec![found];
    let expected = vec![expected];
    ErrorDetail::Shape {
        object,
        found,
        expected,
        remedy: "a histogram has one count for each bin, at least one bin, and an edge on both sides of each",
    }
    .into()
}

/// Returns the edges of `bins` bins of equal width. The last edge is exactly the end of the range.
fn even_edges<T: Reducible>(verb: &str, range: &Range<T>, bins: usize) -> Result<Vec<T>> {
    let [low, high] = [range.start, range.end].map(|end| f64::from(cast::<T, f32>(end)));
    if !(low.is_finite() && high.is_finite() && low < high) {
        let object = "the range of a histogram".into();
        let found = format!("{low:?}..{high:?}");
        return Err(ErrorDetail::Value {
            object,
            found,
            needed: "a range of finite numbers that is not empty",
        }
        .into());
    }
    let edge = |i: usize| {
        let number = if i == bins { high } else { low + (high - low) * (i as f64 / bins as f64) };
        cast::<f32, T>(number as f32)
    };
    if bins == 0 {
        return Err(lengths(verb, "the array of counts", bins, 1));
    }
    let mut edges = Vec::new();
    let object = "the number of bins of a histogram".into();
    let found = bins.to_string();
    let needed = "a number of bins that host memory can hold";
    let count = bins.checked_add(1).filter(|&count| edges.try_reserve_exact(count).is_ok());
    let Some(_) = count else { return Err(ErrorDetail::Value { object, found, needed }.into()) };
    edges.extend((0..=bins).map(edge));
    Ok(edges)
}

#[track_caller]
pub(crate) fn histogram<T: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    x: Prefix<'_, T, D>,
    bins: Bins<'_, T>,
    counts: &mut DeviceArray<u32>,
) -> Result<()> {
    let first = checked_count(queue, x)?;
    let x = bits(x.array())?;
    let mut counts = bits(counts)?;
    let mut cleared = counts.clone();
    let binning = Binning::of(queue.verb, &bins, counts.len())?;
    let reads = [("x", &x)].into_iter().chain(first.as_ref().map(|first| (PART_COUNT, first)));
    check(queue, &reads.collect::<Vec<_>>(), &[("counts", &counts)])?;
    if x.is_empty() {
        return queue.fill(&mut counts, 0);
    }
    let variant = chosen(queue, Tunable::Histogram, x.len());
    let overrides = tuned_as(queue, variant, &[]);
    let kernel = SizedKernel::<BinCountsArgs<'static>>::compiled(queue, &overrides, first.as_ref())?;
    let copies = variant.get(COPIES).map_or(binning.copies, |most| binning.copies.min(most));
    let edges = binning.edges(queue, &x)?;
    let shares = Shares::of(x.len());
    let [flip_clear, flip_set] = flips::<T>(false);
    let mut count = |groups: usize| {
        let args = BinCountsArgs {
            n: x.len() as u32,
            share: shares.share as u32,
            bins: counts.len() as u32,
            flip_clear,
            flip_set,
            between: binning.between,
            copies,
            x: &x,
            edges: &edges,
            counts: &mut counts,
        };
        kernel.launch(queue, groups, args)
    };
    // Before the fill is enqueued, refuse what the launch after it would refuse.
    count(0)?;
    queue.fill(&mut cleared, 0)?;
    count(shares.count)
}

/// A kernel's rule for the bin of an element, as arguments of the snippet `bins`.
pub(crate) struct Binning {
    pub(crate) between: u32,
    /// Number of counters per bin in workgroup memory, or 0 if there are too many bins.
    pub(crate) copies: u32,
    /// Keys of the edges, unless the bins are remainders.
    keys: Option<Vec<u32>>,
}

impl Binning {
    /// Returns the binning for a number of bins, or an error if the bins do not fit that number.
    pub(crate) fn of<T: Reducible>(verb: &str, bins: &Bins<'_, T>, count: usize) -> Result<Self> {
        let keys = bins.checked_edges(verb, count)?.map(|edges| edge_keys(&edges));
        let between = match keys {
            Some(_) => 1,
            None if count.is_power_of_two() => 2,
            None => 0,
        };
        Ok(Self { between, copies: copies(count), keys })
    }

    /// Returns the binning by places: an element is the number of its bin, and no bin has a larger number.
    pub(crate) fn of_places(count: usize) -> Self {
        Self { between: 3, copies: copies(count), keys: None }
    }

    /// Uploads the keys of the edges. For remainders, the kernel reads no edges, so the elements are passed instead.
    #[track_caller]
    pub(crate) fn edges(&self, queue: &VerbQueue<'_>, x: &DeviceArray<u32>) -> Result<DeviceArray<u32>> {
        match &self.keys {
            Some(keys) => {
                let mut edges = queue.scratch(keys.len())?;
                queue.upload(keys, &mut edges)?;
                Ok(edges)
            }
            None => Ok(x.clone()),
        }
    }
}

/// Returns the number of counters per bin in workgroup memory.
fn copies(bins: usize) -> u32 {
    (MOST_PRIVATE / bins).min(MOST_COPIES) as u32
}

/// Maximum number of bins that a workgroup counts in its own memory: the number of counters in `bin_counts.wgsl`.
const MOST_PRIVATE: usize = 256;
/// Maximum number of counters for one bin in workgroup memory.
const MOST_COPIES: usize = 8;

#[derive(KernelArgs)]
#[kernel(source = "bin_counts.wgsl", crate = fencepost_kernels)]
struct BinCountsArgs<'a> {
    n: u32,
    share: u32,
    bins: u32,
    flip_clear: u32,
    flip_set: u32,
    between: u32,
    copies: u32,
    x: &'a DeviceArray<u32>,
    edges: &'a DeviceArray<u32>,
    counts: &'a mut DeviceArray<u32>,
}

/// Returns the keys of edges. Both zeros belong to a bin that begins or ends with zero. So a zero edge gets the key of
/// -0 or, if it is the last edge, of +0.
fn edge_keys<T: Reducible>(edges: &[T]) -> Vec<u32> {
    let zero = T::identity(Operation::Sum);
    let key = |(i, &edge): (usize, &T)| match edge == zero {
        true if i + 1 < edges.len() => order_key(cast::<f32, T>(-0.0)),
        true => order_key(zero),
        false => order_key(edge),
    };
    edges.iter().enumerate().map(key).collect()
}
