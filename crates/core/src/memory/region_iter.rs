//! The elements that a region selects, and their places in the array's memory.

use crate::error::{Error, Kind, Result};
use crate::memory::region::{Item, Region};
use crate::memory::shape::count;
use smallvec::{SmallVec, smallvec};

/// The shape of an array and the shape of its memory, which is at least as long on every axis.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct PaddedShape<'a> {
    pub(crate) shape: &'a [usize],
    pub(crate) padded: &'a [usize],
}

/// A selection of an array's elements: the first one, and for each axis a count and a stride.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct StridedRegion {
    /// Elements of the memory before the first selected element.
    pub(crate) first: usize,
    pub(crate) axes: SmallVec<[StridedAxis; 4]>,
}

/// The number of elements on an axis and the distance between two of them, in elements of the memory.
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

    /// Returns the pair of a shape and a padded shape.
    ///
    /// # Errors
    /// Returns [`Kind::Padding`] if the memory is shorter on an axis.
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
    /// Returns [`Kind::Padding`] if the array has padding.
    pub(crate) fn check_full(&self, object: impl FnOnce() -> String) -> Result<()> {
        if self.is_full() { Ok(()) } else { Err(self.refused(object(), "an array without padding")) }
    }

    fn refused(&self, object: String, needed: &'static str) -> Error {
        Kind::Padding { object, shape: self.shape.into(), padded: self.padded.into(), needed }.into()
    }

    /// Returns `true` if no padding is between elements or after the last.
    pub(crate) fn is_full(&self) -> bool {
        self.shape == self.padded
    }

    /// Returns the stride of each axis in elements of the memory. A stride saturates if the array has no elements: then
    /// the other axes may have any length.
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
    /// Returns [`Kind::RegionAxes`], [`Kind::RegionIndex`] or [`Kind::RegionRange`].
    pub(crate) fn of(array: &str, frame: PaddedShape<'_>, region: &Region) -> Result<Self> {
        let rank = frame.shape.len();
        let named = region.items().filter(|item| *item != Item::New).count();
        if named > rank {
            let (array, region) = (array.into(), region.to_string());
            return Err(Kind::RegionAxes { array, region, named, rank }.into());
        }
        let mut all = Self::all(frame).axes.into_iter().enumerate();
        let mut strided = Self { first: 0, axes: SmallVec::new() };
        for item in region.items() {
            if item == Item::New {
                strided.axes.push(StridedAxis { count: 1, stride: 0 });
            } else if let Some((at, axis)) = all.next() {
                strided.add(item, axis).map_err(|problem| problem.of(array, at, axis.count, item))?;
            }
        }
        strided.axes.extend(all.map(|(_, axis)| axis));
        Ok(strided)
    }

    /// Applies an item to the next axis: moves the first element, and adds an axis for a range.
    fn add(&mut self, item: Item, axis: StridedAxis) -> Result<(), Problem> {
        let len = axis.count as i128;
        let from_the_start = |index: i128| if index < 0 { index + len } else { index };
        match item {
            Item::New => {}
            Item::Index(index) => {
                let index = from_the_start(index);
                if !(0..len).contains(&index) {
                    return Err(Problem::Outside);
                }
                self.skip(index, axis);
            }
            Item::Range { start, end, step } => {
                let start_at = start.map_or(0, from_the_start);
                let end_at = end.map_or(len, from_the_start);
                if step < 1 {
                    return Err(Problem::Step);
                }
                if !(0..=len).contains(&start_at) || !(0..=len).contains(&end_at) {
                    return Err(Problem::Outside);
                }
                let everything = start.is_none() && end.is_none();
                if start_at >= end_at && !everything {
                    return Err(Problem::Nothing);
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

    /// Returns `true` if no gap is between the elements.
    pub(crate) fn is_contiguous(&self) -> bool {
        let mut longer = self.axes.iter().zip(self.packed().axes).filter(|(axis, _)| axis.count > 1);
        longer.all(|(axis, packed)| axis.stride == packed.stride)
    }
}

/// Reason why an item does not fit its axis.
enum Problem {
    Outside,
    Nothing,
    Step,
}

impl Problem {
    fn of(self, array: &str, axis: usize, len: usize, item: Item) -> Error {
        let array = array.to_owned();
        let problem = match (self, item) {
            (_, Item::Index(index)) => return Kind::RegionIndex { array, axis, index, len }.into(),
            (Problem::Outside, _) => "leaves it",
            (Problem::Nothing, _) => "picks nothing of it",
            (Problem::Step, _) => "has a step below 1",
        };
        Kind::RegionRange { array, axis, range: item.to_string(), len, problem }.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::region;

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
