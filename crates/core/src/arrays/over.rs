//! The elements that an algorithm works on: a whole array, or parts of it.

use std::fmt;

use fencepost_kernels::Element;

use crate::arrays::device_array::DeviceArray;

/// The elements that an algorithm works on: a whole array, or each part of it separately.
///
/// An argument `impl Into<Over<T, D>>` can be `&x` for the whole array, [`x.axis(k)`](DeviceArray::axis) for the
/// elements along an axis, [`x.segments(&offsets)`](DeviceArray::segments) for segments of consecutive elements, or
/// [`x.first(&count)`](DeviceArray::first) for the first elements.
///
/// # Example
/// ```
/// use fencepost::prelude::*;
/// # let (ctx, queue) = fencepost::doctest();
/// let x = ctx.array(&[3.0_f32, 1.0, 4.0, 1.0, 5.0, 9.0])?.reshape([2, 3])?;
/// let (mut total, mut of_rows) = (ctx.zeros([1])?, ctx.zeros([2, 1])?);
/// queue.sum(&x, &mut total)?;
/// queue.sum(x.axis(1), &mut of_rows)?;
/// assert_eq!(queue.read(&total).wait()?, [23.0]);
/// assert_eq!(queue.read(&of_rows).wait()?, [8.0, 15.0]);
/// # Ok::<(), fencepost::Error>(())
/// ```
pub struct Over<'a, T: Element, const D: usize = 1> {
    array: &'a DeviceArray<T, D>,
    parts: Parts<'a>,
}

/// The parts of an array that an [`Over`] selects.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Parts<'a> {
    /// All elements, in C order.
    Whole,
    /// The elements along this axis, for each index of the other axes.
    Axis(usize),
    /// Segment `s` is the elements from `offsets[s]` up to `offsets[s + 1]`.
    Segments(&'a DeviceArray<u32>),
    /// The first elements; their number is the only element of this array.
    First(&'a DeviceArray<u32>),
}

impl<'a, T: Element, const D: usize> Over<'a, T, D> {
    /// Returns the array.
    pub fn array(&self) -> &'a DeviceArray<T, D> {
        self.array
    }

    /// Returns the parts of the array.
    pub fn parts(&self) -> Parts<'a> {
        self.parts
    }

    /// Leaves NaNs out of a search for the smallest or the largest element, or for a median or another quantile.
    pub fn skip_nan(self) -> Candidates<'a, T, D> {
        Candidates { over: self, skips_nan: true }
    }

    /// Chooses where a sum of these terms has the same bits.
    pub fn determinism(self, determinism: Determinism) -> Terms<'a, T, D> {
        Terms { over: self, determinism }
    }
}

/// The whole array, or its first elements.
///
/// An argument `impl Into<Prefix<T, D>>` can be `&x` for the whole array, or [`x.first(&count)`](DeviceArray::first)
/// for the first elements.
pub struct Prefix<'a, T: Element, const D: usize = 1> {
    array: &'a DeviceArray<T, D>,
    count: Option<&'a DeviceArray<u32>>,
}

impl<'a, T: Element, const D: usize> Prefix<'a, T, D> {
    /// Returns the array.
    pub fn array(&self) -> &'a DeviceArray<T, D> {
        self.array
    }

    /// Returns the array with the number of first elements, or `None` for a whole array.
    pub fn count(&self) -> Option<&'a DeviceArray<u32>> {
        self.count
    }

    /// Leaves NaNs out of a search for the smallest or the largest element, or for a median or another quantile.
    pub fn skip_nan(self) -> Candidates<'a, T, D> {
        Over::from(self).skip_nan()
    }

    /// Chooses where a sum of these terms has the same bits.
    pub fn determinism(self, determinism: Determinism) -> Terms<'a, T, D> {
        Over::from(self).determinism(determinism)
    }
}

/// The elements among which a verb searches the smallest or the largest, or a median or another quantile.
///
/// An argument `impl Into<Candidates<T, D>>` can be anything that an [`Over`] can be. By default, a NaN makes the
/// result a NaN or its place; `skip_nan` ignores NaNs.
///
/// # Example
/// ```
/// use fencepost::prelude::*;
/// # let (ctx, queue) = fencepost::doctest();
/// let x = ctx.array(&[3.0, f32::NAN, 2.5])?;
/// let mut least = ctx.zeros([1])?;
/// queue.min(x.skip_nan(), &mut least)?;
/// assert_eq!(queue.read(&least).wait()?, [2.5]);
/// # Ok::<(), fencepost::Error>(())
/// ```
pub struct Candidates<'a, T: Element, const D: usize = 1> {
    over: Over<'a, T, D>,
    skips_nan: bool,
}

impl<'a, T: Element, const D: usize> Candidates<'a, T, D> {
    /// Returns the elements.
    pub fn over(&self) -> Over<'a, T, D> {
        self.over
    }

    /// Returns `true` if NaNs are ignored.
    pub fn skips_nan(&self) -> bool {
        self.skips_nan
    }
}

/// The terms of a sum, a mean, a norm or an inner product.
///
/// An argument `impl Into<Terms<T, D>>` can be anything that an [`Over`] can be.
/// [`determinism`](DeviceArray::determinism) chooses where a result of `f32` has the same bits; integers have them
/// everywhere.
///
/// # Example
/// ```
/// use fencepost::prelude::*;
/// # let (ctx, queue) = fencepost::doctest();
/// let x = ctx.array(&[1e30_f32, 1.0, -1e30])?;
/// let mut total = ctx.zeros([1])?;
/// queue.sum(x.determinism(Determinism::Everywhere), &mut total)?;
/// assert_eq!(queue.read(&total).wait()?, [1.0]);
/// # Ok::<(), fencepost::Error>(())
/// ```
pub struct Terms<'a, T: Element, const D: usize = 1> {
    over: Over<'a, T, D>,
    determinism: Determinism,
}

/// The runs in which a result of `f32` has the same bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Determinism {
    /// All runs on one device with one driver.
    #[default]
    RunToRun,
    /// All runs on all devices, with the terms in any order: the result is the exact one, rounded once.
    Everywhere,
}

impl<'a, T: Element, const D: usize> Terms<'a, T, D> {
    /// Returns the terms.
    pub fn over(&self) -> Over<'a, T, D> {
        self.over
    }

    /// Returns the runs in which the result has the same bits.
    pub fn same_bits(&self) -> Determinism {
        self.determinism
    }
}

impl<T: Element, const D: usize> DeviceArray<T, D> {
    /// Selects the elements along an axis, separately for each index of the other axes.
    ///
    /// # Shape
    /// If the result is one number for each index, it has the shape of the array, but with length 1 along the axis.
    ///
    /// # Errors
    /// The verb returns [`ErrorDetail::Axis`](crate::ErrorDetail::Axis) if the array has no such axis.
    pub fn axis(&self, axis: usize) -> Over<'_, T, D> {
        Over { array: self, parts: Parts::Axis(axis) }
    }

    /// Selects segments of the array, in C order: segment `s` is the elements from `offsets[s]` up to, but not
    /// including, `offsets[s + 1]`.
    ///
    /// # Shape
    /// `offsets` has one element more than there are segments, and must ascend; otherwise the results are unspecified.
    /// An offset beyond the end of the array counts as the end.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, offsets) = (ctx.array(&[3_u32, 1, 4, 1, 5])?, ctx.array(&[0, 2, 2, 5])?);
    /// let mut sums = ctx.zeros([3])?;
    /// queue.sum(x.segments(&offsets), &mut sums)?;
    /// assert_eq!(queue.read(&sums).wait()?, [4, 0, 10]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn segments<'a>(&'a self, offsets: &'a DeviceArray<u32>) -> Over<'a, T, D> {
        Over { array: self, parts: Parts::Segments(offsets) }
    }

    /// Selects the first elements of the array, in C order. Their number is read from `count` on the device, so an
    /// earlier command may compute it.
    ///
    /// A number above the length of the array counts as the length. Elements of results beyond the first elements are
    /// not written.
    ///
    /// # Shape
    /// `count` has one element.
    ///
    /// # Cost
    /// A verb launches workgroups for the whole array; those beyond the last element end at once.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, mask) = (ctx.array(&[3_u32, 7, 1, 5])?, ctx.array(&[0, 1, 0, 1])?);
    /// let (mut large, mut count, mut total) = (ctx.zeros([4])?, ctx.zeros([1])?, ctx.zeros([1])?);
    /// queue.select(&x, &mask, &mut large, &mut count)?;
    /// queue.sum(large.first(&count), &mut total)?;
    /// assert_eq!(queue.read(&total).wait()?, [12]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn first<'a>(&'a self, count: &'a DeviceArray<u32>) -> Prefix<'a, T, D> {
        Prefix { array: self, count: Some(count) }
    }

    /// Leaves NaNs out of a search for the smallest or the largest element of the array, or for a median or another
    /// quantile.
    pub fn skip_nan(&self) -> Candidates<'_, T, D> {
        Over::from(self).skip_nan()
    }

    /// Chooses where a sum, a mean, a norm or an inner product of the array has the same bits. By default, these are
    /// runs on one device.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = ctx.array(&[0.1_f32, 0.2, 0.3, 0.4])?.reshape([2, 2])?;
    /// let mut of_rows = ctx.zeros([2, 1])?;
    /// queue.sum(x.axis(1).determinism(Determinism::Everywhere), &mut of_rows)?;
    /// assert_eq!(queue.read(&of_rows).wait()?, [0.1 + 0.2, 0.3 + 0.4]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn determinism(&self, determinism: Determinism) -> Terms<'_, T, D> {
        Over::from(self).determinism(determinism)
    }
}

impl<'a, T: Element, const D: usize> From<&'a DeviceArray<T, D>> for Over<'a, T, D> {
    fn from(array: &'a DeviceArray<T, D>) -> Self {
        Self { array, parts: Parts::Whole }
    }
}

impl<'a, T: Element, const D: usize> From<Prefix<'a, T, D>> for Over<'a, T, D> {
    fn from(Prefix { array, count }: Prefix<'a, T, D>) -> Self {
        Self { array, parts: count.map_or(Parts::Whole, Parts::First) }
    }
}

impl<'a, T: Element, const D: usize> From<&'a DeviceArray<T, D>> for Prefix<'a, T, D> {
    fn from(array: &'a DeviceArray<T, D>) -> Self {
        Self { array, count: None }
    }
}

impl<'a, T: Element, const D: usize> From<&'a DeviceArray<T, D>> for Candidates<'a, T, D> {
    fn from(array: &'a DeviceArray<T, D>) -> Self {
        Over::from(array).into()
    }
}

impl<'a, T: Element, const D: usize> From<Over<'a, T, D>> for Candidates<'a, T, D> {
    fn from(over: Over<'a, T, D>) -> Self {
        Self { over, skips_nan: false }
    }
}

impl<'a, T: Element, const D: usize> From<Prefix<'a, T, D>> for Candidates<'a, T, D> {
    fn from(prefix: Prefix<'a, T, D>) -> Self {
        Over::from(prefix).into()
    }
}

impl<'a, T: Element, const D: usize> From<&'a DeviceArray<T, D>> for Terms<'a, T, D> {
    fn from(array: &'a DeviceArray<T, D>) -> Self {
        Over::from(array).into()
    }
}

impl<'a, T: Element, const D: usize> From<Over<'a, T, D>> for Terms<'a, T, D> {
    fn from(over: Over<'a, T, D>) -> Self {
        over.determinism(Determinism::default())
    }
}

impl<'a, T: Element, const D: usize> From<Prefix<'a, T, D>> for Terms<'a, T, D> {
    fn from(prefix: Prefix<'a, T, D>) -> Self {
        Over::from(prefix).into()
    }
}

// A variable of type `&mut DeviceArray` needs no `&*`.
impl<'a, T: Element, const D: usize> From<&'a mut DeviceArray<T, D>> for Over<'a, T, D> {
    fn from(array: &'a mut DeviceArray<T, D>) -> Self {
        (&*array).into()
    }
}

impl<'a, T: Element, const D: usize> From<&'a mut DeviceArray<T, D>> for Prefix<'a, T, D> {
    fn from(array: &'a mut DeviceArray<T, D>) -> Self {
        (&*array).into()
    }
}

impl<'a, T: Element, const D: usize> From<&'a mut DeviceArray<T, D>> for Candidates<'a, T, D> {
    fn from(array: &'a mut DeviceArray<T, D>) -> Self {
        (&*array).into()
    }
}

impl<'a, T: Element, const D: usize> From<&'a mut DeviceArray<T, D>> for Terms<'a, T, D> {
    fn from(array: &'a mut DeviceArray<T, D>) -> Self {
        (&*array).into()
    }
}

impl<T: Element, const D: usize> Clone for Over<'_, T, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Element, const D: usize> Copy for Over<'_, T, D> {}

impl<T: Element, const D: usize> Clone for Prefix<'_, T, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Element, const D: usize> Copy for Prefix<'_, T, D> {}

impl<T: Element, const D: usize> Clone for Candidates<'_, T, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Element, const D: usize> Copy for Candidates<'_, T, D> {}

impl<T: Element, const D: usize> Clone for Terms<'_, T, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Element, const D: usize> Copy for Terms<'_, T, D> {}

impl<T: Element, const D: usize> fmt::Debug for Over<'_, T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Over").field("array", &self.array.label()).field("parts", &self.parts).finish()
    }
}

impl<T: Element, const D: usize> fmt::Debug for Prefix<'_, T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prefix").field("array", &self.array.label()).field("count", &self.count).finish()
    }
}

impl<T: Element, const D: usize> fmt::Debug for Candidates<'_, T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Candidates").field("over", &self.over).field("skips_nan", &self.skips_nan).finish()
    }
}

impl<T: Element, const D: usize> fmt::Debug for Terms<'_, T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Terms").field("over", &self.over).field("determinism", &self.determinism).finish()
    }
}
