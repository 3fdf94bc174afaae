//! Histograms on the host.

use crate::cast;
use fencepost_algorithms::for_oracles::edges;
use fencepost_algorithms::{Bins, Reducible};

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
    added(x, |_| 1, bins, count)
}

/// Returns the sum of the weights of the elements in each of `count` bins. Returns `None` as [`histogram`] does, and
/// also if there are fewer weights than elements.
///
/// # Example
/// ```
/// use fencepost_algorithms::Bins;
/// use fencepost_oracles as host;
/// assert_eq!(host::histogram_weighted(&[1_u32, 2, 3], &[10, 20, 30], Bins::modulo(), 2), Some(vec![20, 40]));
/// ```
pub fn histogram_weighted<T: Reducible>(
    x: &[T],
    weights: &[u32],
    bins: Bins<'_, T>,
    count: usize,
) -> Option<Vec<u32>> {
    let weights = weights.get(..x.len())?;
    added(x, |i| weights[i], bins, count)
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
    let sums = (fraction_bits < 32).then(|| added(x, whole, bins, count)).flatten()?;
    Some(sums.into_iter().map(|sum| sum as i32 as f32 / scale).collect())
}

/// Returns the wrapping sum of the weights in each bin.
fn added<T: Reducible>(
    x: &[T],
    weight: impl Fn(usize) -> u32,
    bins: Bins<'_, T>,
    count: usize,
) -> Option<Vec<u32>> {
    let edges = edges(&bins, count).ok()?;
    let mut sums = Vec::new();
    sums.try_reserve_exact(count).ok()?;
    sums.resize(count, 0_u32);
    for (i, &element) in x.iter().enumerate() {
        let bin = match &edges {
            None => Some(cast::<T, u32>(element) as usize % count),
            Some(edges) => bin_between(element, edges),
        };
        if let Some(bin) = bin {
            sums[bin] = sums[bin].wrapping_add(weight(i));
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
