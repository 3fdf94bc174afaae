//! Histograms on the host.

use crate::histogram::Bins;
use crate::host::cast;
use crate::reducible::Reducible;

/// Returns the number of elements in each of `bins` bins, or `None` if the bins are none, do not ascend, or do not fit in memory. An element
/// on an edge is in the bin that begins there, and the last bin has both its edges. A NaN is in no bin.
///
/// # Example
/// ```
/// use fencepost::algorithms::{Bins, host};
/// assert_eq!(host::histogram(&[1_u32, 2, 4, 5], Bins::edges(&[1, 2, 4]), 2), Some(vec![1, 2]));
/// ```
pub fn histogram<T: Reducible>(x: &[T], bins: Bins<'_, T>, count: usize) -> Option<Vec<u32>> {
    let edges = bins.checked_edges(count).ok()?;
    let mut counts = Vec::new();
    counts.try_reserve_exact(count).ok()?;
    counts.resize(count, 0_u32);
    for &element in x {
        let bin = match &edges {
            None => Some(cast::<T, u32>(element) as usize % count),
            Some(edges) => bin_between(element, edges),
        };
        if let Some(bin) = bin {
            counts[bin] = counts[bin].wrapping_add(1);
        }
    }
    Some(counts)
}

/// Returns the last bin that begins at the element or before it, or `None` outside of the edges.
fn bin_between<T: Reducible>(element: T, edges: &[T]) -> Option<usize> {
    let (last, begun) = (edges.len() - 1, edges.partition_point(|&edge| edge <= element));
    if begun > last { (element == edges[last]).then(|| last - 1) } else { begun.checked_sub(1) }
}
