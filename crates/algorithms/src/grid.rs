//! Grids with more workgroups than one dimension can have.

use crate::tuning::limit;

/// Maximum number of workgroups in one dimension that every device accepts.
const MOST: usize = 65_535;

/// Returns a two-dimensional grid with at least this many workgroups, and less than one row more.
pub(crate) fn folded(groups: usize) -> [usize; 2] {
    let rows = groups.div_ceil(limit(MOST, 5)).max(1);
    [groups.div_ceil(rows), rows]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folded_grid_has_enough_workgroups_and_fits_a_device() {
        for groups in [0, 1, 65_535, 65_536, 131_070, 131_071, 1 << 28] {
            let [x, y] = folded(groups);
            assert!(x <= MOST && y <= MOST, "{x} x {y}");
            assert!(x * y >= groups && x * y < groups + y.max(2), "{x} x {y} for {groups}");
            assert_eq!(y == 1, groups <= MOST);
        }
    }
}
