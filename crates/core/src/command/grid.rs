//! How many invocations a launch has.

use crate::error::{Error, Kind};
use crate::memory::ArrayRef;
use std::fmt;

/// The size of a launch: by threads, by workgroups, or read from the device.
///
/// # Example
/// ```
/// use fencepost_core::Grid;
/// let rounded_up = Grid::threads([1000]);      // 16 workgroups of 64
/// let exact = Grid::groups([4, 4]);
/// # let _ = (rounded_up, exact);
/// ```
#[derive(Clone)]
pub struct Grid(pub(crate) Size);

#[derive(Clone)]
pub(crate) enum Size {
    Threads([u64; 3]),
    Groups([u64; 3]),
    /// Three u32 at this element.
    Indirect(ArrayRef, usize),
}

impl Grid {
    /// At least this many invocations in each of one to three dimensions, rounded up to whole workgroups.
    pub fn threads<const D: usize>(threads: [usize; D]) -> Self {
        Self(Size::Threads(pad(threads)))
    }

    /// Exactly this many workgroups in each of one to three dimensions.
    pub fn groups<const D: usize>(groups: [usize; D]) -> Self {
        Self(Size::Groups(pad(groups)))
    }

    /// As many workgroups as the three u32 at element `at` of `groups` say when the launch runs.
    pub fn indirect<const D: usize>(groups: &crate::DeviceArray<u32, D>, at: usize) -> Self {
        Self(Size::Indirect(groups.array_ref(), at))
    }
}

impl fmt::Debug for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Size::Threads(n) => write!(f, "Grid::threads({n:?})"),
            Size::Groups(n) => write!(f, "Grid::groups({n:?})"),
            Size::Indirect(array, at) => write!(f, "Grid::indirect(`{}`, {at})", array.storage.label),
        }
    }
}

/// # Panics
/// At compile time if there are no dimensions or more than three.
fn pad<const D: usize>(size: [usize; D]) -> [u64; 3] {
    const { assert!(D >= 1 && D <= 3, "a grid has one to three dimensions") }
    std::array::from_fn(|i| size.get(i).map_or(1, |&n| n as u64))
}

/// The workgroups of a grid of whole numbers; none if any dimension is empty.
///
/// # Errors
/// [`Kind::GridTooLarge`] over the device's limit: a grid never wraps.
#[inline]
pub(crate) fn groups(size: &Size, workgroup: [u32; 3], limit: u32) -> Result<[u32; 3], Error> {
    // Most dimensions have one workgroup: no division for those.
    let across = |n: u64, width: u64| if n <= width { u64::from(n > 0) } else { n.div_ceil(width) };
    let groups: [u64; 3] = match size {
        Size::Threads(n) => std::array::from_fn(|i| across(n[i], u64::from(workgroup[i]))),
        Size::Groups(n) => *n,
        Size::Indirect(..) => [0; 3],
    };
    if groups.contains(&0) {
        return Ok([0; 3]);
    }
    if groups.iter().any(|&n| n > u64::from(limit)) {
        return Err(too_large(groups, limit));
    }
    Ok(groups.map(|n| n as u32))
}

#[cold]
fn too_large(groups: [u64; 3], limit: u32) -> Error {
    Kind::GridTooLarge { groups, limit }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_round_up_to_workgroups() {
        assert_eq!(groups(&Grid::threads([65]).0, [64, 1, 1], 9).unwrap(), [2, 1, 1]);
        assert_eq!(groups(&Grid::threads([8, 9]).0, [8, 8, 1], 9).unwrap(), [1, 2, 1]);
    }

    #[test]
    fn an_empty_dimension_is_no_work() {
        assert_eq!(groups(&Grid::groups([7, 0]).0, [1; 3], 9).unwrap(), [0; 3]);
    }

    #[test]
    fn over_the_limit_is_an_error_and_never_wraps() {
        let error = groups(&Grid::threads([u32::MAX as usize + 2]).0, [1; 3], 65535).unwrap_err();
        assert!(matches!(error.kind(), Kind::GridTooLarge { limit: 65535, .. }), "{error}");
    }
}
