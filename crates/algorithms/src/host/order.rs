//! Sorts on the host.

use crate::reducible::Reducible;
use crate::sort::Sort;

/// Returns the elements in order. Elements with equal keys keep their order.
///
/// # Example
/// ```
/// use fencepost::algorithms::{Sort, host};
/// assert_eq!(host::sort(&[2.0_f32, -1.0, 0.5], Sort::ascending()), [-1.0, 0.5, 2.0]);
/// ```
pub fn sort<T: Reducible>(x: &[T], sort: Sort) -> Vec<T> {
    argsort(x, sort).into_iter().map(|place| x[place as usize]).collect()
}

/// Returns the place of each element of the sorted list.
///
/// # Example
/// ```
/// use fencepost::algorithms::{Sort, host};
/// assert_eq!(host::argsort(&[3_u32, 1, 3], Sort::descending()), [0, 2, 1]);
/// ```
pub fn argsort<T: Reducible>(x: &[T], sort: Sort) -> Vec<u32> {
    let mut places: Vec<u32> = (0..x.len() as u32).collect();
    places.sort_by_key(|&place| sort.key(x[place as usize]));
    places
}

/// Returns pairs of a key and a value, sorted by their keys. If the lengths differ, the rest of the longer list is left
/// out.
///
/// # Example
/// ```
/// use fencepost::algorithms::{Sort, host};
/// let pairs = host::sort_pairs(&[2_u32, 1], &[0.5_f32, 1.5], Sort::ascending());
/// assert_eq!(pairs, (vec![1, 2], vec![1.5, 0.5]));
/// ```
pub fn sort_pairs<T: Reducible, V: Copy>(keys: &[T], values: &[V], sort: Sort) -> (Vec<T>, Vec<V>) {
    let n = keys.len().min(values.len());
    let pair = |place: u32| (keys[place as usize], values[place as usize]);
    argsort(&keys[..n], sort).into_iter().map(pair).unzip()
}
