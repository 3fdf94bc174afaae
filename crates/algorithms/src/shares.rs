//! The division of an array into shares, one per workgroup.

use crate::tuning::limit;

/// Maximum number of elements that one workgroup combines in a single launch.
const MOST_IN_ONE: usize = 16 * 1024;
/// Minimum number of elements in a share, if there are several shares.
const LEAST: usize = 4096;
/// Maximum number of shares, so that one workgroup can combine their results.
const MOST_SHARES: usize = 1024;

/// Approximate minimum number of elements in a share of a column, if there are several shares.
const LEAST_OF_COLUMN: usize = 256;

/// Division of an array into shares. It depends only on the number of elements, so the order of combination does too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shares {
    /// Number of all elements.
    pub(crate) elements: usize,
    /// Number of elements of a share. The last share may have fewer.
    pub(crate) share: usize,
    /// Number of shares.
    pub(crate) count: usize,
}

/// Bounds of the shares of an inner index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InnerLimits {
    /// Number of workgroups up to which there are several shares.
    pub(crate) wanted: usize,
    /// Maximum number of inner indices that have one share on any device.
    pub(crate) undivided: usize,
    /// Approximate minimum number of inner indices of a share, if there are several shares. It is at most `undivided`.
    pub(crate) least: usize,
    /// Maximum number of inner indices of a share: a multiple of `multiple`.
    pub(crate) most: usize,
    /// A share consists of a multiple of this number of inner indices. The last share may have fewer.
    pub(crate) multiple: usize,
}

impl Shares {
    /// Divides `elements` elements, of which there must be at least one.
    pub(crate) fn of(elements: usize) -> Self {
        if elements <= limit(MOST_IN_ONE, 90) { Self::one(elements) } else { Self::several(elements) }
    }

    /// Divides `elements` elements as [`of`](Self::of) does, but into several shares even from 4097 elements on.
    pub(crate) fn several(elements: usize) -> Self {
        let least = limit(LEAST, 80);
        let share = elements.div_ceil(MOST_SHARES).next_multiple_of(least / 4).max(least);
        Self { elements, share, count: elements.div_ceil(share) }
    }

    /// Divides the elements of a column, of which there must be at least one. Each share is combined by one invocation.
    pub(crate) fn of_column(elements: usize) -> Self {
        if elements <= limit(MOST_SHARES, 9) {
            return Self::one(elements);
        }
        let share = elements.div_ceil(elements.div_ceil(limit(LEAST_OF_COLUMN, 8)).min(MOST_SHARES));
        Self { elements, share, count: elements.div_ceil(share) }
    }

    /// Divides the inner index of products of matrices, whose results have this number of workgroups. Few workgroups with
    /// long sums have several shares.
    pub(crate) fn of_inner(inner: usize, groups: usize, limits: &InnerLimits) -> Self {
        if inner == 0 {
            return Self::one(0);
        }
        let &InnerLimits { wanted, undivided, least, most, multiple } = limits;
        let several = if inner <= undivided { 1 } else { (wanted / groups).clamp(1, inner / least) };
        let count = several.max(inner.div_ceil(most));
        let share = inner.div_ceil(count).next_multiple_of(multiple);
        Self { elements: inner, share, count: inner.div_ceil(share) }
    }

    /// Divides the elements into more shares if a share has more than `most` elements.
    pub(crate) fn of_at_most(self, most: usize) -> Self {
        if self.share <= most {
            return self;
        }
        Self { share: most, count: self.elements.div_ceil(most), ..self }
    }

    /// Gives all elements to one workgroup.
    pub(crate) fn one(elements: usize) -> Self {
        Self { elements, share: elements, count: 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_a_column_cover_it_and_are_at_most_1024() {
        for elements in [1, 1024, 1025, 4097, 1 << 18, (1 << 18) + 1, (1 << 25) - 1] {
            let shares = Shares::of_column(elements);
            assert!(shares.count * shares.share >= elements, "{shares:?}");
            assert!((shares.count - 1) * shares.share < elements, "{shares:?}: a share is empty");
            assert!((1..=MOST_SHARES).contains(&shares.count), "{shares:?}");
        }
    }

    #[test]
    fn shares_of_an_inner_index_cover_it_and_have_at_most_the_limit() {
        let limits = InnerLimits { wanted: 256, undivided: 1024, least: 256, most: 8192, multiple: 32 };
        for inner in [1, 31, 1024, 1025, 8192, 8193, 100_000, (1 << 31) - 1] {
            for groups in [1, 100, 10_000] {
                let shares = Shares::of_inner(inner, groups, &limits);
                assert!(shares.count * shares.share >= inner, "{shares:?}");
                assert!((shares.count - 1) * shares.share < inner, "{shares:?}: a share is empty");
                assert!(shares.share <= 8192 && shares.share.is_multiple_of(32), "{shares:?}");
                let is_divided = inner > 8192 || (groups <= 128 && inner > 1024);
                assert_eq!(shares.count > 1, is_divided, "{shares:?} of {groups} workgroups");
            }
        }
        assert_eq!(Shares::of_inner(0, 5, &limits), Shares::one(0));
    }

    #[test]
    fn only_shares_above_a_bound_are_divided() {
        for elements in [1, 1000, 1 << 18, (1 << 21) + 1, (1 << 25) - 1, (1 << 30) - 1] {
            let shares = Shares::of_column(elements);
            let bounded = shares.of_at_most(2048);
            assert_eq!(bounded == shares, shares.share <= 2048, "{shares:?} and {bounded:?}");
            assert!(bounded.share <= 2048, "{bounded:?}");
            assert!(bounded.count * bounded.share >= elements, "{bounded:?}");
            assert!((bounded.count - 1) * bounded.share < elements, "{bounded:?}: a share is empty");
        }
    }

    #[test]
    fn shares_cover_all_elements_and_are_at_most_1024() {
        let sizes =
            [1, 2, 4095, 16_384, 16_385, 1 << 20, (1 << 22) + 1, (1 << 22) + 4097, 1 << 28, (1 << 30) - 1];
        for elements in sizes {
            let shares = Shares::of(elements);
            assert_eq!(shares.elements, elements);
            assert!(shares.count * shares.share >= elements, "{shares:?}");
            assert!((shares.count - 1) * shares.share < elements, "{shares:?}: a share is empty");
            assert!((1..=MOST_SHARES).contains(&shares.count), "{shares:?}");
            assert_eq!(shares.count == 1, elements <= MOST_IN_ONE, "{shares:?}");
            assert_eq!(Shares::several(elements).count == 1, elements <= LEAST);
        }
    }
}
