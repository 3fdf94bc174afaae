//! Sorts, searches and merges on the host.

use fencepost_algorithms::for_oracles::{order_key, sort_key};
use fencepost_algorithms::{Reducible, Side, Sort};

/// Returns the sorted elements, or `None` if the keys do not have the bits to compare. Elements with equal keys keep
/// their order.
///
/// # Example
/// ```
/// use fencepost_algorithms::Sort;
/// use fencepost_oracles as host;
/// assert_eq!(host::sort(&[2.0_f32, -1.0, 0.5], Sort::ascending()), Some(vec![-1.0, 0.5, 2.0]));
/// assert_eq!(host::sort(&[2.0_f32, -1.0, 0.5], Sort::ascending().bits(30..33)), None);
/// ```
pub fn sort<T: Reducible>(x: &[T], sort: Sort) -> Option<Vec<T>> {
    Some(argsort(x, sort)?.into_iter().map(|place| x[place as usize]).collect())
}

/// Returns the elements in ascending order.
fn sorted<T: Reducible>(x: &[T]) -> Vec<T> {
    sort(x, Sort::ascending()).expect("bug: a key has no bits")
}

/// Returns, for each element of the sorted list, its place in `x`, or `None` as [`sort`] does.
///
/// # Example
/// ```
/// use fencepost_algorithms::Sort;
/// use fencepost_oracles as host;
/// assert_eq!(host::argsort(&[3_u32, 1, 3], Sort::descending()), Some(vec![0, 2, 1]));
/// ```
pub fn argsort<T: Reducible>(x: &[T], sort: Sort) -> Option<Vec<u32>> {
    let key = sort_key(sort)?;
    let mut places: Vec<u32> = (0..x.len() as u32).collect();
    places.sort_by_key(|&place| key(x[place as usize]));
    Some(places)
}

/// Returns pairs of keys and values, sorted by key, or `None` as [`sort`] does. If the lengths differ, the rest of the
/// longer list is ignored.
///
/// # Example
/// ```
/// use fencepost_algorithms::Sort;
/// use fencepost_oracles as host;
/// let pairs = host::sort_pairs(&[2_u32, 1], &[0.5_f32, 1.5], Sort::ascending());
/// assert_eq!(pairs, Some((vec![1, 2], vec![1.5, 0.5])));
/// ```
pub fn sort_pairs<T: Reducible, V: Copy>(keys: &[T], values: &[V], sort: Sort) -> Option<(Vec<T>, Vec<V>)> {
    let n = keys.len().min(values.len());
    let pair = |place: u32| (keys[place as usize], values[place as usize]);
    Some(argsort(&keys[..n], sort)?.into_iter().map(pair).unzip())
}

/// Returns the elements, with each segment sorted, or `None` as [`sort`] does. A segment lies between two neighbouring
/// offsets, which must ascend. The elements before the first offset and from the last offset on are segments too.
///
/// # Example
/// ```
/// use fencepost_algorithms::Sort;
/// use fencepost_oracles as host;
/// let sorted = host::sort_segments(&[3_u32, 1, 9, 7, 8, 2], &[2, 5], Sort::ascending());
/// assert_eq!(sorted, Some(vec![1, 3, 7, 8, 9, 2]));
/// ```
pub fn sort_segments<T: Reducible>(x: &[T], offsets: &[u32], sort: Sort) -> Option<Vec<T>> {
    let key = sort_key(sort)?;
    let segment = |place: u32| offsets.partition_point(|&offset| offset <= place);
    let mut places: Vec<u32> = (0..x.len() as u32).collect();
    places.sort_by_key(|&place| (segment(place), key(x[place as usize])));
    Some(places.into_iter().map(|place| x[place as usize]).collect())
}

/// Returns, for each query, the number of elements of a sorted list before it.
///
/// # Example
/// ```
/// use fencepost_algorithms::Side;
/// use fencepost_oracles as host;
/// assert_eq!(host::searchsorted(&[1_i32, 2, 2], &[2], Side::Left), [1]);
/// assert_eq!(host::searchsorted(&[1_i32, 2, 2], &[2], Side::Right), [3]);
/// ```
pub fn searchsorted<T: Reducible>(x: &[T], queries: &[T], side: Side) -> Vec<u32> {
    let before = |element: T, query: T| match side {
        Side::Left => order_key(element) < order_key(query),
        Side::Right => order_key(element) <= order_key(query),
    };
    queries.iter().map(|&query| x.partition_point(|&element| before(element, query)) as u32).collect()
}

/// Returns the elements of two sorted lists in ascending order.
///
/// # Example
/// ```
/// assert_eq!(fencepost_oracles::merge(&[1_u32, 4], &[2, 4]), [1, 2, 4, 4]);
/// ```
pub fn merge<T: Reducible>(x: &[T], y: &[T]) -> Vec<T> {
    sorted(&[x, y].concat())
}

/// Returns the `k` largest elements, the largest first, and their places, or `None` if there are fewer than `k`.
///
/// # Example
/// ```
/// use fencepost_oracles as host;
/// assert_eq!(host::top_k(&[3_u32, 7, 7], 2), Some((vec![7, 7], vec![1, 2])));
/// ```
pub fn top_k<T: Reducible>(x: &[T], k: usize) -> Option<(Vec<T>, Vec<u32>)> {
    let places = argsort(x, Sort::descending())?;
    let places = places.get(..k)?.to_vec();
    Some((places.iter().map(|&place| x[place as usize]).collect(), places))
}

/// Returns the element at place `k` of the sorted list, or `None` if there are at most `k` elements.
///
/// # Example
/// ```
/// assert_eq!(fencepost_oracles::kth(&[3_u32, 9, 1], 1), Some(3));
/// ```
pub fn kth<T: Reducible>(x: &[T], k: usize) -> Option<T> {
    sorted(x).get(k).copied()
}
