//! The region of an array that a copy reads or writes, as the user describes it.

use smallvec::SmallVec;
use std::fmt;
use std::ops::{Range, RangeFrom, RangeFull, RangeTo};

/// A region of an array. The macro [`region!`](crate::region) makes a region from an item for each axis, in the order
/// of the axes.
///
/// | Item | Selects | Its axis |
/// |---|---|---|
/// | `3`, `-1` | one index; a negative one counts from the end | is removed |
/// | `a..b`, `a..`, `..b`, `..` | a range; negative bounds count from the end | stays |
/// | `a..b; step` | every `step`th element of a range | stays |
/// | [`NewAxis`] | no element | is new, of length 1 |
///
/// An axis without an item is selected whole.
///
/// # Errors
/// A method that takes a region returns these before any work: [`Kind::RegionAxes`](crate::Kind::RegionAxes) for more
/// items than the array has axes; [`Kind::RegionIndex`](crate::Kind::RegionIndex) for an index outside its axis;
/// [`Kind::RegionRange`](crate::Kind::RegionRange) for a range that exceeds its axis or is empty, and for a step below
/// 1. Only `..` may select an empty axis.
///
/// # Example
/// ```
/// use fencepost::{NewAxis, region};
/// # let (ctx, queue) = fencepost::doctest();
/// let x = queue.array(&[0_u32, 1, 2, 3, 4, 5])?.reshape([2, 3])?;
/// assert_eq!(queue.read_region(&x, region![.., -1]).wait()?, [2, 5]);
/// assert_eq!(queue.read_region(&x, region![1, 0..3; 2]).wait()?, [3, 5]);
/// assert_eq!(region![1, 0..3; 2, NewAxis].to_string(), "[1, 0..3; 2, NewAxis]");
/// # drop(ctx);
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Region(SmallVec<[RegionAxis; 4]>);

/// One item of a [`Region`]. An index, a range, a range with a step, or [`NewAxis`] converts to an item.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RegionAxis(pub(crate) Item);

/// An item that adds an axis of length 1 to a [`Region`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewAxis;

/// The selection of one item of a region.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Item {
    /// An `i128` holds every value of the index types that a user can pass.
    Index(i128),
    Range {
        start: Option<i128>,
        end: Option<i128>,
        step: isize,
    },
    New,
}

impl Region {
    /// *Returns* the region with these items.
    pub fn new(items: impl IntoIterator<Item = RegionAxis>) -> Self {
        Self(items.into_iter().collect())
    }

    /// Returns the region of one element.
    pub(crate) fn index<const D: usize>(index: [usize; D]) -> Self {
        Self::new(index.map(RegionAxis::from))
    }

    pub(crate) fn items(&self) -> impl Iterator<Item = Item> {
        self.0.iter().map(|axis| axis.0)
    }
}

impl RegionAxis {
    /// *Returns* every `step`th index of a range, beginning at its start.
    pub fn every<R>(step: isize, range: R) -> Self
    where
        Self: From<(R, isize)>,
    {
        Self::from((range, step))
    }
}

impl From<&Region> for Region {
    fn from(region: &Region) -> Self {
        region.clone()
    }
}

impl From<NewAxis> for RegionAxis {
    fn from(_: NewAxis) -> Self {
        Self(Item::New)
    }
}

impl From<RangeFull> for RegionAxis {
    fn from(all: RangeFull) -> Self {
        Self::from((all, 1))
    }
}

impl From<(RangeFull, isize)> for RegionAxis {
    fn from((_, step): (RangeFull, isize)) -> Self {
        Self(Item::Range { start: None, end: None, step })
    }
}

macro_rules! items {
    ($($int:ty),*) => {$(
        impl From<$int> for RegionAxis {
            fn from(index: $int) -> Self {
                Self(Item::Index(index as i128))
            }
        }
        items!(@range $int, Range<$int>, range => Some(range.start as i128), Some(range.end as i128));
        items!(@range $int, RangeFrom<$int>, range => Some(range.start as i128), None);
        items!(@range $int, RangeTo<$int>, range => None, Some(range.end as i128));
    )*};
    (@range $int:ty, $range:ty, $name:ident => $start:expr, $end:expr) => {
        impl From<$range> for RegionAxis {
            fn from(range: $range) -> Self {
                Self::from((range, 1))
            }
        }

        impl From<($range, isize)> for RegionAxis {
            fn from(($name, step): ($range, isize)) -> Self {
                Self(Item::Range { start: $start, end: $end, step })
            }
        }
    };
}

items!(isize, usize, i32, u32, i64, u64);

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bound = |bound: Option<i128>| bound.map(|bound| bound.to_string()).unwrap_or_default();
        match *self {
            Item::Index(index) => write!(f, "{index}"),
            Item::Range { start, end, step: 1 } => write!(f, "{}..{}", bound(start), bound(end)),
            Item::Range { start, end, step } => write!(f, "{}..{}; {step}", bound(start), bound(end)),
            Item::New => f.write_str("NewAxis"),
        }
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let items: Vec<String> = self.items().map(|item| item.to_string()).collect();
        write!(f, "[{}]", items.join(", "))
    }
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "region!{self}")
    }
}

impl fmt::Debug for RegionAxis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Makes a [`Region`](crate::Region): `region![3, -1, 1..5, 0..10; 2, .., NewAxis]`.
///
/// # Example
/// ```
/// use fencepost::region;
/// # let (ctx, queue) = fencepost::doctest();
/// let x = queue.array(&[0_u32, 1, 2, 3, 4, 5])?.reshape([3, 2])?;
/// let mut y = queue.zeros([2, 2])?;
/// queue.copy_region(&x, region![1..], &mut y, region![])?;
/// assert_eq!(queue.read(&y).wait()?, [2, 3, 4, 5]);
/// # drop(ctx);
/// # Ok::<(), fencepost::Error>(())
/// ```
#[macro_export]
macro_rules! region {
    (@items [$($item:expr,)*]) => { $crate::Region::new([$($item),*]) };
    (@items [$($item:expr,)*] $range:expr; $step:expr, $($rest:tt)*) => {
        $crate::region!(@items [$($item,)* $crate::RegionAxis::every($step, $range),] $($rest)*)
    };
    (@items [$($item:expr,)*] $range:expr; $step:expr) => {
        $crate::region!(@items [$($item,)* $crate::RegionAxis::every($step, $range),])
    };
    (@items [$($item:expr,)*] $next:expr, $($rest:tt)*) => {
        $crate::region!(@items [$($item,)* $crate::RegionAxis::from($next),] $($rest)*)
    };
    (@items [$($item:expr,)*] $next:expr) => {
        $crate::region!(@items [$($item,)* $crate::RegionAxis::from($next),])
    };
    ($($items:tt)*) => { $crate::region!(@items [] $($items)*) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_macro_takes_every_form_in_any_mix() {
        let (n, from) = (7_usize, -2_isize);
        let all = region![3, -1, 1..5, 0..n; 2, from.., ..n, .., ..; 3, NewAxis,];
        assert_eq!(all.to_string(), "[3, -1, 1..5, 0..7; 2, -2.., ..7, .., ..; 3, NewAxis]");
        assert_eq!(region![3_u32, 1_i64.., ..4_u64], region![3, 1.., ..4]);
        assert_eq!(region![].to_string(), "[]");
        let most = region![usize::MAX, ..u64::MAX, i64::MIN].to_string();
        assert_eq!(most, format!("[{}, ..{}, {}]", usize::MAX, u64::MAX, i64::MIN));
    }
}
