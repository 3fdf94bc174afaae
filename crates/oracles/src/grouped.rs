//! Host functions for the verbs that combine runs and segments.

use super::{combined, scan};
use fencepost_algorithms::{Operation, Reducible, Scan};

/// Returns the runs of equal keys, as ranges. Keys are equal if their bits are equal.
fn runs<K: Reducible>(keys: &[K]) -> Vec<std::ops::Range<usize>> {
    let lengths = keys.chunk_by(|a, b| a.to_word() == b.to_word()).map(<[K]>::len);
    let mut start = 0;
    let range = |length: usize| {
        start += length;
        start - length..start
    };
    lengths.map(range).collect()
}

/// Returns the elements combined. The result for no elements is the neutral value of the operation.
fn reduced<T: Reducible>(x: &[T], operation: Operation) -> T {
    let first = if x.is_empty() { T::identity(operation) } else { T::neutral(operation) };
    x.iter().fold(first, |all, &one| combined(operation, all, one))
}

/// Scans the elements of each run of keys, as [`scan`] does. If the lengths differ, the rest of the longer list is
/// ignored.
///
/// # Example
/// ```
/// use fencepost_algorithms::{Operation, Scan};
/// use fencepost_oracles as host;
/// let sums = host::scan_by_key(&[7, 7, 2], &[1_u32, 2, 3], Scan::inclusive(Operation::Sum));
/// assert_eq!(sums, [1, 3, 3]);
/// ```
pub fn scan_by_key<K: Reducible, T: Reducible>(keys: &[K], x: &[T], of_run: Scan<T>) -> Vec<T> {
    let keys = &keys[..keys.len().min(x.len())];
    runs(keys).into_iter().flat_map(|run| scan(&x[run], of_run)).collect()
}

/// Returns the key of each run of keys, and the elements of each run combined. If the lengths differ, the rest of the
/// longer list is ignored.
///
/// # Example
/// ```
/// use fencepost_algorithms::Operation;
/// use fencepost_oracles as host;
/// let (kept, sums) = host::reduce_by_key(&[7, 7, 2], &[1_u32, 2, 3], Operation::Sum);
/// assert_eq!((&kept[..], &sums[..]), (&[7, 2][..], &[3, 3][..]));
/// ```
pub fn reduce_by_key<K: Reducible, T: Reducible>(
    keys: &[K],
    x: &[T],
    operation: Operation,
) -> (Vec<K>, Vec<T>) {
    let keys = &keys[..keys.len().min(x.len())];
    runs(keys).into_iter().map(|run| (keys[run.start], reduced(&x[run], operation))).unzip()
}

/// Returns the element of each run of equal elements, and the length of each run. Elements are equal if their bits are
/// equal.
///
/// # Example
/// ```
/// let (kept, lengths) = fencepost_oracles::run_lengths(&[7, 7, 2]);
/// assert_eq!((&kept[..], &lengths[..]), (&[7, 2][..], &[2, 1][..]));
/// ```
pub fn run_lengths<T: Reducible>(x: &[T]) -> (Vec<T>, Vec<usize>) {
    runs(x).into_iter().map(|run| (x[run.start], run.len())).unzip()
}

/// Returns, for each offset, the combined elements up to the next offset. An offset beyond the last element counts as
/// the end of the list, and a segment that would end before it begins is empty. Without offsets there are no segments.
///
/// # Example
/// ```
/// use fencepost_algorithms::Operation;
/// use fencepost_oracles as host;
/// assert_eq!(host::reduce_segments(&[3_u32, 1, 4, 1, 5], &[0, 2, 2, 5], Operation::Sum), [4, 0, 10]);
/// ```
pub fn reduce_segments<T: Reducible>(x: &[T], offsets: &[u32], operation: Operation) -> Vec<T> {
    segments(x, offsets).map(|segment| reduced(segment, operation)).collect()
}

/// Returns the elements of each segment.
pub(super) fn segments<'a, T>(x: &'a [T], offsets: &'a [u32]) -> impl Iterator<Item = &'a [T]> {
    let place = |offset: u32| x.len().min(offset as usize);
    offsets.windows(2).map(move |ends| x.get(place(ends[0])..place(ends[1])).unwrap_or_default())
}

/// Scans the elements of each segment, as [`scan`] does. Segments begin at the first element and at each offset, except
/// offsets beyond the last element. The offsets must ascend.
///
/// # Example
/// ```
/// use fencepost_algorithms::{Operation, Scan};
/// use fencepost_oracles as host;
/// let sums = host::scan_segments(&[3_u32, 1, 4, 1, 5], &[0, 2, 2, 5], Scan::inclusive(Operation::Sum));
/// assert_eq!(sums, [3, 4, 4, 5, 10]);
/// ```
pub fn scan_segments<T: Reducible>(x: &[T], offsets: &[u32], of_segment: Scan<T>) -> Vec<T> {
    let offsets = offsets.iter().map(|&offset| x.len().min(offset as usize));
    let ends: Vec<usize> = [0].into_iter().chain(offsets).chain([x.len()]).collect();
    let segments = ends.windows(2).map(|ends| x.get(ends[0]..ends[1]).unwrap_or_default());
    segments.flat_map(|segment| scan(segment, of_segment)).collect()
}
