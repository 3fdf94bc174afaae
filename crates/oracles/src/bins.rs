//! Histograms on the host.

use crate::cast;
use crate::exact::ExactSum;
use fencepost_algorithms::for_oracles::edges;
use fencepost_algorithms::{Bins, Operation, Reducible};
use fencepost_core::Scalar;

/// Returns the number of elements in each of `count` bins, or `None` if there are no bins, they do not ascend, or they
/// do not fit in memory. An element on an edge is in the bin that begins there, and the last bin includes both its
/// edges. NaNs are in no bin.
///
/// # Example
/// ```
/// use fencepost_algorithms::Bins;
/// use fencepost_oracles as host;
/// assert_eq!(host::histogram(&[1_u32, 2, 4, 5], Bins::edges(&[1, 2, 4]), 2), Some(vec![1, 2]));
/// ```
pub fn histogram<T: Reducible>(x: &[T], bins: Bins<'_, T>, count: usize) -> Option<Vec<u32>> {
    added(x, bins, count, 0, |sum: &mut u32, _| *sum = sum.wrapping_add(1))
}

/// Returns the sum of the weights of the elements in each of `count` bins: integers wrap, and a sum of `f32` is the
/// exact sum, rounded once. Returns `None` as [`histogram`] does, and also if there are fewer weights than elements.
///
/// # Example
/// ```
/// use fencepost_algorithms::Bins;
/// use fencepost_oracles as host;
/// assert_eq!(host::histogram_weighted(&[1_u32, 2, 3], &[10, 20, 30], Bins::modulo(), 2), Some(vec![20, 40]));
/// assert_eq!(host::histogram_weighted(&[0_u32; 3], &[1e30_f32, 1.0, -1e30], Bins::modulo(), 1), Some(vec![1.0]));
/// ```
pub fn histogram_weighted<T: Reducible, W: Reducible>(
    x: &[T],
    weights: &[W],
    bins: Bins<'_, T>,
    count: usize,
) -> Option<Vec<W>> {
    let weights = weights.get(..x.len())?;
    if W::DTYPE.scalar() == Some(Scalar::F32) {
        let add = |sum: &mut ExactSum, i: usize| sum.add(cast::<W, f32>(weights[i]));
        let sums = added(x, bins, count, ExactSum::default(), add)?;
        return Some(sums.iter().map(|sum| cast::<f32, W>(sum.rounded())).collect());
    }
    let add = |sum: &mut W, i: usize| *sum = W::combined(Operation::Sum, *sum, weights[i]);
    added(x, bins, count, W::identity(Operation::Sum), add)
}

/// Returns the sum of the weights of the elements in each of `count` bins, with weights rounded as by the verb. Returns
/// `None` as [`histogram_weighted`] does, and also for more than 31 fraction bits.
///
/// # Example
/// ```
/// use fencepost_algorithms::Bins;
/// use fencepost_oracles as host;
/// let sums = host::histogram_fixed(&[0_u32, 1, 0], &[0.5, -2.0, 0.3], 1, Bins::modulo(), 2);
/// assert_eq!(sums, Some(vec![1.0, -2.0]));
/// ```
pub fn histogram_fixed<T: Reducible>(
    x: &[T],
    weights: &[f32],
    fraction_bits: u32,
    bins: Bins<'_, T>,
    count: usize,
) -> Option<Vec<f32>> {
    let weights = weights.get(..x.len())?;
    let scale = 2_f32.powi(fraction_bits as i32);
    let whole = |i: usize| (weights[i] * scale).round_ties_even() as i32 as u32;
    let add = |sum: &mut u32, i: usize| *sum = sum.wrapping_add(whole(i));
    let sums = (fraction_bits < 32).then(|| added(x, bins, count, 0, add)).flatten()?;
    Some(sums.into_iter().map(|sum| sum as i32 as f32 / scale).collect())
}

/// Returns the sum of each bin. `add` adds the weight of the element at an index to a sum, and all sums begin with
/// `none`.
fn added<T: Reducible, S: Clone>(
    x: &[T],
    bins: Bins<'_, T>,
    count: usize,
    none: S,
    add: impl Fn(&mut S, usize),
) -> Option<Vec<S>> {
    let edges = edges(&bins, count).ok()?;
    let mut sums = Vec::new();
    sums.try_reserve_exact(count).ok()?;
    sums.resize(count, none);
    for (i, &element) in x.iter().enumerate() {
        let bin = match &edges {
            None => Some(cast::<T, u32>(element) as usize % count),
            Some(edges) => bin_between(element, edges),
        };
        if let Some(bin) = bin {
            add(&mut sums[bin], i);
        }
    }
    Some(sums)
}

/// Returns the last bin that begins at or before the element, or `None` if the element is outside the edges.
fn bin_between<T: Reducible>(element: T, edges: &[T]) -> Option<usize> {
    let last = edges.len() - 1;
    let begun = edges.partition_point(|&edge| edge <= element);
    if begun > last { (element == edges[last]).then(|| last - 1) } else { begun.checked_sub(1) }
}
