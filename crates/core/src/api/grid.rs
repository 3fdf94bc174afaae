//! The size of a launch.

use crate::arrays::device_array::{ArrayRef, DeviceArray};
use crate::error::{Error, ErrorDetail};
use fencepost_kernels::Interface;
use std::fmt;

/// The size of a launch: a number of threads, a number of workgroups, or workgroup counts in a device array.
///
/// # Example
/// ```
/// use fencepost::Grid;
/// let rounded_up = Grid::threads([1000]);      // 16 workgroups of 64
/// let exact = Grid::groups([4, 4]);
/// # let _ = (rounded_up, exact);
/// ```
#[derive(Clone, Copy)]
pub struct Grid<'a>(pub(crate) GridSize<'a>);

#[derive(Clone, Copy)]
pub(crate) enum GridSize<'a> {
    Threads(GridValues),
    Groups(GridValues),
    /// Three `u32` elements of the array, starting at this index.
    Indirect(&'a ArrayRef, usize),
}

/// The numbers of a grid as the program passed them.
#[derive(Clone, Copy)]
pub(crate) struct GridValues {
    size: [u64; 3],
    /// `true` if a number is negative. Every number of `size` then holds the bits of an `i64`.
    negative: bool,
}

impl<'a> Grid<'a> {
    /// Returns a grid of this many invocations in each of one to three dimensions, rounded up to whole workgroups.
    ///
    /// Devices limit the number of workgroups in one dimension, usually to 65,535. A larger one-dimensional grid is
    /// folded into two dimensions, provided that the kernel computes its index with `linear_id` of the snippet
    /// `linear`, as the built-in kernels do.
    pub fn threads<N: GridNumber, const D: usize>(threads: [N; D]) -> Self {
        Self(GridSize::Threads(GridValues::new(threads)))
    }

    /// Returns a grid of exactly this many workgroups in each of one to three dimensions.
    pub fn groups<N: GridNumber, const D: usize>(groups: [N; D]) -> Self {
        Self(GridSize::Groups(GridValues::new(groups)))
    }

    /// Returns a grid with the workgroup counts in the three elements of `groups` from index `at` on. The device reads
    /// them when the launch runs.
    pub fn indirect<const D: usize>(groups: &'a DeviceArray<u32, D>, at: usize) -> Self {
        Self(GridSize::Indirect(&groups.array, at))
    }
}

/// An integer that counts threads or workgroups: `usize`, `u32`, `u64` or `i32`.
///
/// A launch with a negative number returns [`ErrorDetail::GridNegative`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a number of threads or workgroups",
    note = "such a number is a `usize`, `u32`, `u64` or `i32`"
)]
pub trait GridNumber: sealed::GridValue {}

pub(crate) mod sealed {
    pub trait GridValue: Copy {
        /// Returns the bits of the number as a `u64`, or as an `i64` if it is negative.
        fn bits(self) -> u64;

        fn is_negative(self) -> bool;
    }

    macro_rules! numbers {
        ($($number:ty),*) => {
            $(impl super::GridNumber for $number {}

            impl GridValue for $number {
                fn bits(self) -> u64 {
                    self as u64
                }

                #[allow(unused_comparisons, reason = "most are unsigned")]
                fn is_negative(self) -> bool {
                    self < 0
                }
            })*
        };
    }

    numbers!(usize, u32, u64, i32);
}

impl fmt::Debug for Grid<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            GridSize::Threads(numbers) => write!(f, "Grid::threads({:?})", numbers.size),
            GridSize::Groups(numbers) => write!(f, "Grid::groups({:?})", numbers.size),
            GridSize::Indirect(array, at) => write!(f, "Grid::indirect(`{}`, {at})", array.storage.label()),
        }
    }
}

impl GridValues {
    /// # Panics
    /// At compile time, unless there are one to three dimensions.
    fn new<N: GridNumber, const D: usize>(size: [N; D]) -> Self {
        const { assert!(D >= 1 && D <= 3, "a grid has one to three dimensions") }
        let negative = size.iter().any(|n| n.is_negative());
        Self { size: std::array::from_fn(|i| size.get(i).map_or(1, |n| n.bits())), negative }
    }
}

impl GridSize<'_> {
    /// Returns the workgroup counts of a grid for `kernel`: `[0; 3]` if a dimension is empty, or if the device reads
    /// them.
    ///
    /// # Errors
    /// [`ErrorDetail::GridTooLarge`] above the device's limit: the counts never wrap around.
    /// [`ErrorDetail::GridNegative`].
    #[inline(always)] // launches and edits share it, and a launch makes no call for it
    pub(crate) fn workgroups(self, kernel: &Interface, limit: u32) -> Result<[u32; 3], Error> {
        let workgroup = kernel.workgroup;
        // In most dimensions there is one workgroup, so no division is needed.
        let groups = |n: u64, width: u64| if n <= width { u64::from(n > 0) } else { n.div_ceil(width) };
        let (groups, numbers, folds) = match self {
            Self::Threads(numbers) => {
                let groups = std::array::from_fn(|i| groups(numbers.size[i], u64::from(workgroup[i])));
                (groups, numbers, kernel.folds)
            }
            Self::Groups(numbers) => (numbers.size, numbers, false),
            Self::Indirect(..) => return Ok([0; 3]),
        };
        if groups.iter().any(|&n: &u64| n > u64::from(limit)) {
            return numbers.folded(groups, kernel, limit, folds);
        }
        if groups.contains(&0) {
            return Ok([0; 3]);
        }
        Ok(groups.map(|n| n as u32))
    }
}

impl GridValues {
    /// Folds the workgroups of one dimension into two, with as few rows and as few additional workgroups as possible.
    /// Negative numbers come here too, because their bits exceed every limit.
    #[cold]
    fn folded(
        self,
        groups: [u64; 3],
        kernel: &Interface,
        limit: u32,
        folds: bool,
    ) -> Result<[u32; 3], Error> {
        let name = kernel.entry.clone();
        let workgroup = kernel.workgroup;
        if self.negative {
            return Err(ErrorDetail::GridNegative { kernel: name, size: self.size.map(|n| n as i64) }.into());
        }
        if groups.contains(&0) {
            return Ok([0; 3]);
        }
        let rows = groups[0].div_ceil(u64::from(limit));
        let columns = groups[0].div_ceil(rows);
        let threads = u128::from(columns) * u128::from(rows) * u128::from(workgroup[0]);
        let line = groups[1..] == [1, 1] && workgroup[1..] == [1, 1];
        if folds && line && threads <= u128::from(u32::MAX) && rows <= u64::from(limit) {
            return Ok([columns as u32, rows as u32, 1]);
        }
        Err(ErrorDetail::GridTooLarge { kernel: name, groups, limit, folds: folds && line }.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(workgroup: [u32; 3], folds: bool) -> Interface {
        let source = fencepost_kernels::ShaderSource::text("k", "@compute @workgroup_size(1) fn k() {}");
        let interface =
            fencepost_kernels::Module::parse(&source).and_then(|module| module.interface("k", &[]));
        Interface { workgroup, folds, ..interface.expect("it is valid") }
    }

    fn groups(grid: Grid<'_>, workgroup: [u32; 3], limit: u32) -> [u32; 3] {
        grid.0.workgroups(&kernel(workgroup, false), limit).expect("it is not too large")
    }

    #[test]
    fn threads_round_up_to_workgroups() {
        assert_eq!(groups(Grid::threads([65]), [64, 1, 1], 9), [2, 1, 1]);
        assert_eq!(groups(Grid::threads([8_u32, 9]), [8, 8, 1], 9), [1, 2, 1]);
    }

    #[test]
    fn a_grid_with_an_empty_dimension_has_no_workgroups() {
        assert_eq!(groups(Grid::groups([7_usize, 0]), [1; 3], 9), [0; 3]);
        assert_eq!(groups(Grid::groups([70_u64, 0]), [1; 3], 9), [0; 3]);
    }

    #[test]
    fn over_the_limit_is_an_error_and_never_wraps() {
        let grid = Grid::threads([u32::MAX as usize + 2]);
        for folds in [false, true] {
            let error = grid.0.workgroups(&kernel([1; 3], folds), 65535).expect_err("it is too large");
            assert!(matches!(error.detail(), ErrorDetail::GridTooLarge { limit: 65535, .. }), "{error}");
        }
    }

    #[test]
    fn a_negative_size_is_an_error_with_the_number() {
        for (grid, size) in
            [(Grid::threads([-1]), "grid of [-1, 1, 1]"), (Grid::groups([3, -1]), "grid of [3, -1, 1]")]
        {
            let error = grid.0.workgroups(&kernel([64, 1, 1], true), 65535).expect_err("it is negative");
            let text = error.to_string();
            assert!(
                matches!(error.detail(), ErrorDetail::GridNegative { .. }) && text.contains(size),
                "{error}"
            );
        }
    }

    #[test]
    fn a_large_grid_of_one_dimension_is_folded_for_a_kernel_with_linear_id() {
        let fold = |threads: usize| Grid::threads([threads]).0.workgroups(&kernel([64, 1, 1], true), 65535);
        assert_eq!(fold(65535 * 64).expect("it fits"), [65535, 1, 1]);
        assert_eq!(fold(65535 * 64 + 1).expect("it folds"), [32768, 2, 1]);
        assert_eq!(fold(5_000_000).expect("it folds"), [39063, 2, 1]);
        let error = fold(1 << 32).expect_err("the last number is over u32").to_string();
        assert!(
            error.contains("`linear_id` counts at most 4294967295 invocations")
                && !error.contains("more dimensions"),
            "{error}"
        );
    }

    #[test]
    fn a_grid_in_groups_or_of_two_dimensions_is_not_folded() {
        for grid in [Grid::groups([70_000]), Grid::threads([70_000 * 64, 2])] {
            assert!(grid.0.workgroups(&kernel([64, 1, 1], true), 65535).is_err(), "{grid:?}");
        }
        assert!(
            Grid::threads([70_000 * 64]).0.workgroups(&kernel([8, 8, 1], true), 65535).is_err(),
            "a workgroup of two dimensions"
        );
    }
}
