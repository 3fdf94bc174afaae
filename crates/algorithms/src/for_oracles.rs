//! Rules of the verbs that the oracles of the tests share: orders, edges, random numbers and refusals.

pub use crate::distribution::numbers;
pub use crate::order::order_key;
pub use crate::reduce::Nan;
pub use crate::strided::check_places;

use crate::{Bins, Operation, Philox, Reducible, Scan, Sort};
use fencepost_core::Result;
use std::borrow::Cow;

/// Parts of a scan.
pub struct ScanParts<T> {
    /// Operation that combines the elements.
    pub operation: Operation,
    /// `true` if an element is not part of its own result.
    pub exclusive: bool,
    /// `true` if the last element is combined first.
    pub reversed: bool,
    /// Value before the first element.
    pub initial: T,
}

/// Returns the parts of a scan.
pub fn scan_parts<T: Reducible>(scan: &Scan<T>) -> ScanParts<T> {
    let Scan { operation, exclusive, reversed, .. } = *scan;
    ScanParts { operation, exclusive, reversed, initial: scan.initial() }
}

/// Returns the edges of `count` bins, or `None` if the bins are remainders.
///
/// # Errors
/// Returns the error of the verb for edges that it refuses.
pub fn edges<'a, T: Reducible>(bins: &Bins<'a, T>, count: usize) -> Result<Option<Cow<'a, [T]>>> {
    bins.checked_edges("histogram", count)
}

/// Returns the key by which a sort compares elements, or `None` if the keys have no such bits.
pub fn sort_key<T: Reducible>(sort: Sort) -> Option<impl Fn(T) -> u32> {
    sort.has_bits().then_some(move |element| sort.key(element))
}

/// Returns the two lists of words by which `n` numbers are sorted, one after the other.
pub fn words_of_permutation(generator: Philox, n: usize) -> [impl Iterator<Item = u32>; 2] {
    generator.twice(n).map(Philox::words)
}
