//! Regions of arrays, as the user describes them and as places in memory. Also the shapes of arrays.
//!
//! The memory of an array has a separate padded shape, which is at least as long on every axis.

use crate::error::{Error, ErrorDetail, Result};
use fencepost_kernels::Element;
use smallvec::{SmallVec, smallvec};
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
/// An axis without an item is selected as a whole.
///
/// # Errors
/// Methods that take a region check it first. They return [`ErrorDetail::RegionAxes`](crate::ErrorDetail::RegionAxes)
/// for more items than the array has axes; [`ErrorDetail::RegionIndex`](crate::ErrorDetail::RegionIndex) for an index
/// outside its axis; [`ErrorDetail::RegionRange`](crate::ErrorDetail::RegionRange) for a range that exceeds its axis or
/// is empty, and for a step below
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

/// One item of a [`Region`]. Indices, ranges, ranges with a step, and [`NewAxis`] convert to items.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RegionAxis(pub(crate) RegionItem);

/// An item that adds an axis of length 1 to a [`Region`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewAxis;

/// The selection of one item of a region.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum RegionItem {
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

    pub(crate) fn items(&self) -> impl Iterator<Item = RegionItem> {
        self.0.iter().map(|axis| axis.0)
    }
}

impl RegionAxis {
    /// *Returns* the item that selects every `step`th index of a range, beginning at its start.
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
        Self(RegionItem::New)
    }
}

impl From<RangeFull> for RegionAxis {
    fn from(all: RangeFull) -> Self {
        Self::from((all, 1))
    }
}

impl From<(RangeFull, isize)> for RegionAxis {
    fn from((_, step): (RangeFull, isize)) -> Self {
        Self(RegionItem::Range { start: None, end: None, step })
    }
}

macro_rules! items {
    ($($int:ty),*) => {$(
        impl From<$int> for RegionAxis {
            fn from(index: $int) -> Self {
                Self(RegionItem::Index(index as i128))
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
                Self(RegionItem::Range { start: $start, end: $end, step })
            }
        }
    };
}

items!(isize, usize, i32, u32, i64, u64);

impl fmt::Display for RegionItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bound = |bound: Option<i128>| bound.map(|bound| bound.to_string()).unwrap_or_default();
        match *self {
            RegionItem::Index(index) => write!(f, "{index}"),
            RegionItem::Range { start, end, step: 1 } => write!(f, "{}..{}", bound(start), bound(end)),
            RegionItem::Range { start, end, step } => write!(f, "{}..{}; {step}", bound(start), bound(end)),
            RegionItem::New => f.write_str("NewAxis"),
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

/// Makes a [`Region`](crate::Region), as in `region![3, -1, 1..5, 0..10; 2, .., NewAxis]`.
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

/// The shape of an array, and the padded shape of its memory, which is at least as long on every axis.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct PaddedShape<'a> {
    pub(crate) shape: &'a [usize],
    pub(crate) padded: &'a [usize],
}

/// Shape of a new array, and the padded shape of its memory. Lengths such as `[2, 3]` convert to a shape without
/// padding. A reference to an array converts to its shape and its padding.
///
/// Element `[i, j]` of the array is element `[i, j]` of the padded memory. Uploads, reads, downloads and copies touch
/// only the elements; fills, maps and kernels touch all of the memory.
///
/// # Example
/// ```
/// use fencepost::Shape;
/// # let (ctx, queue) = fencepost::doctest();
/// let mut x = ctx.zeros::<u32, 2>(Shape::padded([2, 3], [2, 4]))?;
/// queue.upload(&[1, 2, 3, 4, 5, 6], &mut x)?;
/// assert_eq!(queue.read(&x).wait()?, [1, 2, 3, 4, 5, 6]);
/// assert_eq!(*x.map_read().wait()?, [1, 2, 3, 0, 4, 5, 6, 0]);
///
/// let y = ctx.zeros::<f32, 2>(&x)?; // another array of that shape and padding
/// assert_eq!((y.shape(), y.padded_shape()), ([2, 3], [2, 4]));
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape<const D: usize> {
    pub(crate) shape: [usize; D],
    pub(crate) padded: [usize; D],
}

impl<const D: usize> Shape<D> {
    /// Returns a shape with padded memory. `padded` must be at least as long on every axis; otherwise methods that make
    /// an array return [`ErrorDetail::Padding`](crate::ErrorDetail::Padding).
    pub fn padded(shape: [usize; D], padded: [usize; D]) -> Self {
        Self { shape, padded }
    }
}

impl<const D: usize> From<[usize; D]> for Shape<D> {
    fn from(shape: [usize; D]) -> Self {
        Self { shape, padded: shape }
    }
}

/// A selection of an array's elements: the first element, and a count and a stride for each axis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct StridedRegion {
    /// Number of elements of the memory before the first selected one.
    pub(crate) first: usize,
    pub(crate) axes: SmallVec<[StridedAxis; 4]>,
}

/// The number of elements on an axis, and the distance between neighbours, counted in elements of the memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StridedAxis {
    pub(crate) count: usize,
    pub(crate) stride: usize,
}

impl<'a> PaddedShape<'a> {
    /// Returns the shape of an array without padding.
    pub(crate) fn full(shape: &'a [usize]) -> Self {
        Self { shape, padded: shape }
    }

    /// Returns a padded shape.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::Padding`] if the memory is shorter on an axis.
    pub(crate) fn new(object: &str, shape: &'a [usize], padded: &'a [usize]) -> Result<Self> {
        let frame = Self { shape, padded };
        if frame.fits() {
            Ok(frame)
        } else {
            Err(frame.refused(object.into(), "a padded shape that is nowhere smaller"))
        }
    }

    /// Returns `true` if the memory is at least as long on every axis.
    pub(crate) fn fits(&self) -> bool {
        self.shape.iter().zip(self.padded).all(|(shape, padded)| shape <= padded)
    }

    /// Returns the number of elements, without padding.
    pub(crate) fn len(&self) -> usize {
        count(self.shape)
    }

    /// Returns `true` if an array of this shape and one of `other`, with the same number of elements, have the same
    /// layout in memory.
    pub(crate) fn has_same_layout(&self, other: PaddedShape<'_>) -> bool {
        self == &other || (self.is_full() && other.is_full())
    }

    /// Checks that the array has no padding.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::Padding`] if the array has padding.
    pub(crate) fn check_full(&self, object: impl FnOnce() -> String) -> Result<()> {
        if self.is_full() { Ok(()) } else { Err(self.refused(object(), "an array without padding")) }
    }

    fn refused(&self, object: String, needed: &'static str) -> Error {
        ErrorDetail::Padding { object, shape: self.shape.into(), padded: self.padded.into(), needed }.into()
    }

    /// Returns `true` if there is no padding between elements or after the last.
    pub(crate) fn is_full(&self) -> bool {
        self.shape == self.padded
    }

    /// Returns the stride of each axis in elements of the memory. Strides saturate, because in an array without
    /// elements the other axes may have any length.
    fn strides(&self) -> SmallVec<[usize; 4]> {
        let mut strides: SmallVec<[usize; 4]> = SmallVec::from_elem(1, self.padded.len());
        for axis in (1..strides.len()).rev() {
            strides[axis - 1] = strides[axis].saturating_mul(self.padded[axis]);
        }
        strides
    }
}

impl StridedRegion {
    /// Selects all elements of an array.
    pub(crate) fn all(frame: PaddedShape<'_>) -> Self {
        let axis = |(&count, stride)| StridedAxis { count, stride };
        Self { first: 0, axes: frame.shape.iter().zip(frame.strides()).map(axis).collect() }
    }

    /// Selects the array's first element `count` times.
    pub(crate) fn repeated(count: usize) -> Self {
        Self { first: 0, axes: smallvec![StridedAxis { count, stride: 0 }] }
    }

    /// Selects the elements of `array` in `region`.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::RegionAxes`], [`ErrorDetail::RegionIndex`] or [`ErrorDetail::RegionRange`].
    pub(crate) fn of(array: &str, frame: PaddedShape<'_>, region: &Region) -> Result<Self> {
        let rank = frame.shape.len();
        let named = region.items().filter(|item| *item != RegionItem::New).count();
        if named > rank {
            let array = array.into();
            let region = region.to_string();
            return Err(ErrorDetail::RegionAxes { array, region, named, rank }.into());
        }
        let mut all = Self::all(frame).axes.into_iter().enumerate();
        let mut strided = Self { first: 0, axes: SmallVec::new() };
        for item in region.items() {
            if item == RegionItem::New {
                strided.axes.push(StridedAxis { count: 1, stride: 0 });
            } else if let Some((at, axis)) = all.next() {
                strided.add(item, axis).map_err(|problem| problem.of(array, at, axis.count, item))?;
            }
        }
        strided.axes.extend(all.map(|(_, axis)| axis));
        Ok(strided)
    }

    /// Applies an item to the next axis: moves the first element, and adds an axis for a range.
    fn add(&mut self, item: RegionItem, axis: StridedAxis) -> Result<(), ItemProblem> {
        let len = axis.count as i128;
        let from_the_start = |index: i128| if index < 0 { index + len } else { index };
        match item {
            RegionItem::New => {}
            RegionItem::Index(index) => {
                let index = from_the_start(index);
                if !(0..len).contains(&index) {
                    return Err(ItemProblem::Outside);
                }
                self.skip(index, axis);
            }
            RegionItem::Range { start, end, step } => {
                let start_at = start.map_or(0, from_the_start);
                let end_at = end.map_or(len, from_the_start);
                if step < 1 {
                    return Err(ItemProblem::Step);
                }
                if !(0..=len).contains(&start_at) || !(0..=len).contains(&end_at) {
                    return Err(ItemProblem::Outside);
                }
                let everything = start.is_none() && end.is_none();
                if start_at >= end_at && !everything {
                    return Err(ItemProblem::Nothing);
                }
                self.skip(start_at, axis);
                let count = ((end_at - start_at) as usize).div_ceil(step as usize);
                self.axes.push(StridedAxis { count, stride: axis.stride.saturating_mul(step as usize) });
            }
        }
        Ok(())
    }

    fn skip(&mut self, index: i128, axis: StridedAxis) {
        self.first = self.first.saturating_add(axis.stride.saturating_mul(index as usize));
    }

    /// Returns a selection of the same shape in memory without gaps.
    pub(crate) fn packed(&self) -> Self {
        let shape = self.shape();
        Self::all(PaddedShape::full(&shape))
    }

    pub(crate) fn shape(&self) -> SmallVec<[usize; 4]> {
        self.axes.iter().map(|axis| axis.count).collect()
    }

    /// Returns the number of elements.
    pub(crate) fn len(&self) -> usize {
        count(&self.shape())
    }

    /// Returns `true` if there are no gaps between the elements.
    pub(crate) fn is_contiguous(&self) -> bool {
        let mut longer = self.axes.iter().zip(self.packed().axes).filter(|(axis, _)| axis.count > 1);
        longer.all(|(axis, packed)| axis.stride == packed.stride)
    }
}

/// Reason why an item does not fit its axis.
enum ItemProblem {
    Outside,
    Nothing,
    Step,
}

impl ItemProblem {
    fn of(self, array: &str, axis: usize, len: usize, item: RegionItem) -> Error {
        let array = array.to_owned();
        let problem = match (self, item) {
            (_, RegionItem::Index(index)) => {
                return ErrorDetail::RegionIndex { array, axis, index, len }.into();
            }
            (ItemProblem::Outside, _) => "leaves it",
            (ItemProblem::Nothing, _) => "picks nothing of it",
            (ItemProblem::Step, _) => "has a step below 1",
        };
        ErrorDetail::RegionRange { array, axis, range: item.to_string(), len, problem }.into()
    }
}

/// Returns the number of elements of a shape, which is 0 if an axis has length 0. Saturates at `usize::MAX`, which
/// [`elements`] reports as an error.
pub(crate) fn count(shape: &[usize]) -> usize {
    if shape.contains(&0) { 0 } else { shape.iter().fold(1, |all, &n| all.saturating_mul(n)) }
}

/// Returns the number of elements of a shape, and checks that their bytes fit into the address space.
///
/// # Errors
/// Returns [`ErrorDetail::Uncountable`] if the bytes of the elements exceed the address space.
pub(crate) fn elements<T: Element>(object: &str, shape: &[usize]) -> Result<usize> {
    const { assert!(size_of::<T>() == T::DTYPE.size(), "an element's DTYPE has another size than the type") };
    let size = T::DTYPE.size();
    if shape.contains(&0) {
        return Ok(0);
    }
    let count = shape.iter().try_fold(1_usize, |all, &n| all.checked_mul(n));
    count.filter(|n| n.checked_mul(size).is_some_and(|bytes| bytes <= isize::MAX as usize)).ok_or_else(|| {
        ErrorDetail::Uncountable {
            object: object.into(),
            shape: shape.into(),
            size,
            limit: isize::MAX as u64,
        }
        .into()
    })
}

/// Owned form of a [`PaddedShape`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArrayShape<S> {
    pub(crate) shape: S,
    pub(crate) padded: S,
}

impl<S: AsRef<[usize]>> ArrayShape<S> {
    pub(crate) fn new(shape: S, padded: S) -> Self {
        let new = Self { shape, padded };
        debug_assert!(new.frame().fits(), "bug: the memory of an array is shorter than its shape");
        new
    }

    pub(crate) fn frame(&self) -> PaddedShape<'_> {
        PaddedShape { shape: self.shape.as_ref(), padded: self.padded.as_ref() }
    }
}

impl<const D: usize> ArrayShape<[usize; D]> {
    /// Returns the place in memory and the shape of the part with these indices in the first dimension. `label` names
    /// the array in an error.
    pub(crate) fn slice(
        self,
        range: Range<usize>,
        label: impl FnOnce() -> String,
    ) -> Result<(Range<usize>, Self)> {
        let Self { mut shape, mut padded } = self;
        let rows = shape.first().copied().unwrap_or(1);
        let row = count(padded.get(1..).unwrap_or_default());
        if range.start > range.end || range.end > rows || (D == 0 && range.is_empty()) {
            return Err(ErrorDetail::Range { array: label(), range, len: rows }.into());
        }
        if let (Some(shape), Some(padded)) = (shape.first_mut(), padded.first_mut()) {
            (*shape, *padded) = (range.len(), range.len());
        }
        Ok((range.start * row..range.end * row, Self { shape, padded }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_macro_takes_every_form_in_any_mix() {
        let n = 7_usize;
        let from = -2_isize;
        let all = region![3, -1, 1..5, 0..n; 2, from.., ..n, .., ..; 3, NewAxis,];
        assert_eq!(all.to_string(), "[3, -1, 1..5, 0..7; 2, -2.., ..7, .., ..; 3, NewAxis]");
        assert_eq!(region![3_u32, 1_i64.., ..4_u64], region![3, 1.., ..4]);
        assert_eq!(region![].to_string(), "[]");
        let most = region![usize::MAX, ..u64::MAX, i64::MIN].to_string();
        assert_eq!(most, format!("[{}, ..{}, {}]", usize::MAX, u64::MAX, i64::MIN));
    }

    const FRAME: PaddedShape<'static> = PaddedShape { shape: &[4, 5, 6], padded: &[4, 8, 6] };

    fn of(region: Region) -> Result<(usize, Vec<(usize, usize)>)> {
        let strided = StridedRegion::of("x", FRAME, &region)?;
        Ok((strided.first, strided.axes.iter().map(|axis| (axis.count, axis.stride)).collect()))
    }

    #[test]
    fn an_index_too_large_for_any_array_is_reported_as_given() {
        let error =
            StridedRegion::of("x", FRAME, &Region::index([usize::MAX, 0, 0])).unwrap_err().to_string();
        let given =
            format!("index {} is outside axis 0 of array `x`, which has 4 elements there", usize::MAX);
        assert_eq!(error, given);
    }

    #[test]
    fn items_select_the_same_elements_as_in_numpy() {
        assert_eq!(of(region![]).unwrap(), (0, vec![(4, 48), (5, 6), (6, 1)]));
        assert_eq!(of(region![-1, 1..4; 2]).unwrap(), (3 * 48 + 6, vec![(2, 12), (6, 1)]));
        assert_eq!(
            of(region![-3..-1, crate::memory::region::NewAxis, .., 5]).unwrap(),
            (48 + 5, vec![(2, 48), (1, 0), (5, 6)])
        );
        assert_eq!(of(region![.., .., 0..6; 4]).unwrap(), (0, vec![(4, 48), (5, 6), (2, 4)]));
        assert_eq!(of(region![..1, 2, 3..]).unwrap(), (12 + 3, vec![(1, 48), (3, 1)]));
    }

    #[test]
    fn an_error_names_the_item_and_its_axis() {
        let error = |region| of(region).unwrap_err().to_string();
        assert_eq!(error(region![0, 0, 0, 0]), "region [0, 0, 0, 0] names 4 axes of array `x`, which has 3");
        assert_eq!(
            error(region![0, -6]),
            "index -6 is outside axis 1 of array `x`, which has 5 elements there"
        );
        let range = |what| format!("range {what}: array `x` has 4 elements there");
        assert_eq!(error(region![2..5]), range("2..5 of axis 0 leaves it"));
        assert_eq!(error(region![-5..]), range("-5.. of axis 0 leaves it"));
        assert_eq!(error(region![2..2]), range("2..2 of axis 0 picks nothing of it"));
        assert_eq!(error(region![..; 0]), range("..; 0 of axis 0 has a step below 1"));
        assert_eq!(error(region![0..3; -1]), range("0..3; -1 of axis 0 has a step below 1"));
    }

    #[test]
    fn only_a_full_range_may_select_an_empty_axis() {
        let none = PaddedShape { shape: &[0, 5], padded: &[0, 5] };
        assert_eq!(StridedRegion::of("x", none, &region![..]).unwrap().len(), 0);
        assert!(StridedRegion::of("x", none, &region![0..0]).is_err());
        assert!(StridedRegion::of("x", none, &region![0]).is_err());
    }

    #[test]
    fn elements_without_gaps_are_a_run_on_any_axes() {
        let run = |region: Region| StridedRegion::of("x", FRAME, &region).unwrap().is_contiguous();
        assert!(
            run(region![2]) && run(region![2, 1..3]) && run(region![2, 1, 2..5]) && run(region![1..2, 1..3])
        );
        assert!(
            !run(region![])
                && !run(region![.., 1])
                && !run(region![2, 1..3, 1..3])
                && !run(region![2, ..; 2])
        );
        assert!(run(region![2, ..1; 7, 3]));
    }
}
