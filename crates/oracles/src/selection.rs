//! Host functions for the verbs that keep some elements.

use fencepost_algorithms::Reducible;

/// Returns the elements whose mask is not zero. If the lengths differ, the rest of the longer list is ignored.
///
/// # Example
/// ```
/// assert_eq!(fencepost_oracles::select(&[3, -1, 4], &[1, 0, 7]), [3, 4]);
/// ```
pub fn select<T: Copy>(x: &[T], mask: &[u32]) -> Vec<T> {
    x.iter().zip(mask).filter(|(_, mask)| **mask != 0).map(|(x, _)| *x).collect()
}

/// Returns the elements whose mask is not zero, followed by the others, and the number of the former. If the lengths
/// differ, the rest of the longer list is ignored.
///
/// # Example
/// ```
/// let (elements, count) = fencepost_oracles::partition(&[3, -1, 4], &[1, 0, 7]);
/// assert_eq!((&elements[..], count), (&[3, 4, -1][..], 2));
/// ```
pub fn partition<T: Copy>(x: &[T], mask: &[u32]) -> (Vec<T>, usize) {
    let mut elements = select(x, mask);
    let count = elements.len();
    let others: Vec<u32> = mask.iter().map(|&mask| u32::from(mask == 0)).collect();
    elements.extend(select(x, &others));
    (elements, count)
}

/// Returns the places of the elements that are not zero.
///
/// # Example
/// ```
/// assert_eq!(fencepost_oracles::nonzero(&[-0.0, 2.0, 0.0, f32::NAN]), [1, 3]);
/// ```
pub fn nonzero<T: Reducible>(x: &[T]) -> Vec<usize> {
    (0..x.len()).filter(|&i| super::any(&x[i..=i])).collect()
}

/// Returns the first element, and each element whose bits differ from those of the element before.
///
/// # Example
/// ```
/// assert_eq!(fencepost_oracles::unique(&[2, 2, 5, 5, 2]), [2, 5, 2]);
/// ```
pub fn unique<T: Reducible>(x: &[T]) -> Vec<T> {
    x.chunk_by(|a, b| a.to_word() == b.to_word()).map(|run| run[0]).collect()
}
