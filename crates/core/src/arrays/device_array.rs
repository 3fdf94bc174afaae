//! Typed, shaped device memory, and device memory with a type and a shape that are known only at run time.
//!
//! For `fencepost-algorithms`, an array can also be viewed as elements of a larger or smaller type. Any version of the
//! crate may change or remove these functions.

use crate::arrays::storage::Storage;
use crate::error::{ErrorDetail, Result};
use crate::memory::region::{ArrayShape, PaddedShape, Shape};
use crate::work::step::Span;
use fencepost_kernels::{BufferArg, DType, Element, SameBits, TypedBuffer};
use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

/// An array without its type: a range of a storage.
#[derive(Clone)]
pub(crate) struct ArrayRef {
    pub(crate) storage: Arc<Storage>,
    /// Offset of the array in its block, in bytes.
    pub(crate) offset: u64,
    /// Number of elements.
    pub(crate) len: usize,
    pub(crate) dtype: DType,
    /// `true` if other elements of the same storage follow, so that the last 4-byte word may be shared with them.
    pub(crate) followed: bool,
}

impl ArrayRef {
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        self.len as u64 * self.dtype.size() as u64
    }

    /// Returns the span of the array, with its end rounded up to a multiple of 4.
    pub(crate) fn span(&self) -> Span {
        let block = self.storage.block().clone();
        Span { block, offset: self.offset, size: self.bytes().next_multiple_of(4) }
    }

    /// Returns the span of the array for a copy or an upload, which work on whole words.
    ///
    /// # Errors
    /// [`ErrorDetail::Alignment`] if the array starts inside a 4-byte word, or ends inside one that it shares with
    /// elements after it.
    pub(crate) fn words(&self) -> Result<Span> {
        let end = self.offset + self.bytes();
        let ragged = !end.is_multiple_of(4) && self.followed;
        if !self.offset.is_multiple_of(4) || ragged {
            let offset = if ragged { end } else { self.offset };
            return Err(ErrorDetail::Alignment {
                array: self.storage.label().to_string(),
                offset,
                needed: 4,
            }
            .into());
        }
        Ok(self.span())
    }

    pub(crate) fn label(&self) -> String {
        self.storage.label().to_string()
    }

    /// Returns the elements `range` of the array.
    pub(crate) fn slice(&self, range: Range<usize>) -> Result<ArrayRef> {
        if range.start > range.end || range.end > self.len {
            return Err(ErrorDetail::Range { array: self.label(), range, len: self.len }.into());
        }
        let followed = self.followed || range.end < self.len;
        let offset = self.offset + range.start as u64 * self.dtype.size() as u64;
        Ok(ArrayRef { offset, len: range.len(), followed, ..self.clone() })
    }
}

/// An array in device memory: elements of type `T` in `D` dimensions, in C order. A clone is a cheap handle.
///
/// Elements have a type that WGSL can store: see [`Element`]. Clones and [slices](Self::slice) share the memory, and
/// can also write to it; launches check that overlapping arguments are only read. Dropping the last handle does not
/// wait: the memory is reused only after its earlier uses.
///
/// # Example
/// ```
/// # let (ctx, queue) = fencepost::doctest();
/// let mut x = queue.array(&[1.0_f32, 2.0, 3.0, 4.0])?;
/// queue.fill(&mut x, 7.0)?;
/// assert_eq!(queue.read(&x).wait()?, [7.0; 4]);
/// # drop(ctx);
/// # Ok::<(), fencepost::Error>(())
/// ```
pub struct DeviceArray<T: Element, const D: usize = 1> {
    /// Memory of the array, including the padding.
    pub(crate) array: ArrayRef,
    shape: ArrayShape<[usize; D]>,
    element: PhantomData<fn() -> T>,
}

impl<T: Element, const D: usize> DeviceArray<T, D> {
    /// Returns an array without padding.
    pub(crate) fn new(array: ArrayRef, shape: [usize; D]) -> Self {
        Self::padded(array, shape, shape)
    }

    pub(crate) fn padded(array: ArrayRef, shape: [usize; D], padded: [usize; D]) -> Self {
        Self { array, shape: ArrayShape::new(shape, padded), element: PhantomData }
    }

    /// Returns the number of elements in each dimension.
    pub fn shape(&self) -> [usize; D] {
        self.shape.shape
    }

    /// Returns the shape of the memory, in C order: the shape of the array, or a larger one if the array is padded.
    /// Element `[i, j]` of the array is element `[i, j]` of the memory. Kernels and maps access all of the memory.
    ///
    /// # Example
    /// ```
    /// use fencepost::Shape;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = ctx.zeros::<f32, 2>(Shape::padded([17, 13], [32, 16]))?;
    /// assert_eq!((x.shape(), x.padded_shape(), x.len()), ([17, 13], [32, 16], 221));
    /// assert_eq!(x.slice(3..5)?.padded_shape(), [2, 16]);
    /// # drop(queue);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn padded_shape(&self) -> [usize; D] {
        self.shape.padded
    }

    pub(crate) fn frame(&self) -> PaddedShape<'_> {
        self.shape.frame()
    }

    /// Returns the number of elements, without padding.
    #[allow(clippy::len_without_is_empty, reason = "is_empty follows")]
    pub fn len(&self) -> usize {
        self.frame().len()
    }

    /// Returns `true` if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the name of the array in messages.
    pub fn label(&self) -> &str {
        self.array.storage.label()
    }

    /// Gives the memory a name. Without a name, messages describe an array by its type, its shape, and the line and the
    /// file that made it. All handles and slices share the name. Only the first call has an effect.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let speeds = ctx.zeros::<f32, 1>([8])?.named("speeds");
    /// let error = speeds.slice(0..9).unwrap_err();
    /// assert!(error.to_string().contains("array `speeds`"), "{error}");
    /// # drop(queue);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[must_use]
    pub fn named(self, name: impl Into<Arc<str>>) -> Self {
        let storage = &self.array.storage;
        let name = storage.name.get_or_init(|| name.into());
        storage.block().order().label = name.clone();
        self
    }

    /// Returns the part of the array with these indices in the first dimension, which shares the array's memory. The
    /// other dimensions keep their padding.
    ///
    /// # Errors
    /// [`ErrorDetail::Range`] for a range outside the array. (An array without dimensions has only the range `0..1`.)
    /// To be an argument of a launch, a part must start at a multiple of
    /// [`Context::binding_alignment`](crate::Context::binding_alignment) bytes; for copies and uploads, at a multiple
    /// of 4 bytes.
    pub fn slice(&self, range: Range<usize>) -> Result<Self> {
        let (elements, ArrayShape { shape, padded }) = self.shape.slice(range, || self.array.label())?;
        Ok(Self::padded(self.array.slice(elements)?, shape, padded))
    }

    /// Returns an array with the same elements in another shape, which shares the memory.
    ///
    /// # Errors
    /// [`ErrorDetail::Shape`] if the number of elements differs; [`ErrorDetail::Padding`] if the array is padded.
    pub fn reshape<const E: usize>(&self, shape: [usize; E]) -> Result<DeviceArray<T, E>> {
        self.frame().check_full(|| format!("array `{}`", self.label()))?;
        let elements = shape.iter().try_fold(1_usize, |all, &n| all.checked_mul(n));
        if elements != Some(self.len()) {
            let object = format!("array `{}`", self.label());
            let found = self.shape().into();
            let expected = shape.into();
            let remedy = "a reshape keeps the number of elements";
            return Err(ErrorDetail::Shape { object, found, expected, remedy }.into());
        }
        Ok(DeviceArray::new(self.array.clone(), shape))
    }

    /// Returns an array that views the same bits as elements of another type. It shares the memory, and has the same
    /// shape and padding. Nothing is converted.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = queue.array(&[1.0_f32, -0.0])?;
    /// assert_eq!(queue.read(&x.cast_bits::<u32>()).wait()?, [0x3F80_0000, 0x8000_0000]);
    /// queue.fill(&mut x.cast_bits::<u32>(), 0x4000_0000)?;
    /// assert_eq!(queue.read(&x).wait()?, [2.0, 2.0]);
    /// # drop(ctx);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn cast_bits<U: Element>(&self) -> DeviceArray<U, D>
    where
        T: SameBits<U>,
    {
        let array = ArrayRef { dtype: U::DTYPE, ..self.array.clone() };
        DeviceArray::padded(array, self.shape.shape, self.shape.padded)
    }
}

impl<T: Element, const D: usize> From<&DeviceArray<T, D>> for Shape<D> {
    fn from(array: &DeviceArray<T, D>) -> Self {
        Shape::padded(array.shape(), array.padded_shape())
    }
}

impl<T: Element, const D: usize> Clone for DeviceArray<T, D> {
    fn clone(&self) -> Self {
        Self { array: self.array.clone(), ..*self }
    }
}

impl<T: Element, const D: usize> BufferArg for DeviceArray<T, D> {
    fn dtype(&self) -> DType {
        T::DTYPE
    }

    fn len(&self) -> usize {
        self.array.len
    }

    fn shape(&self) -> Vec<usize> {
        self.shape.shape.to_vec()
    }

    fn padded_shape(&self) -> Vec<usize> {
        self.shape.padded.to_vec()
    }

    fn handle(&self) -> &dyn Any {
        &self.array
    }
}

impl<T: Element, const D: usize> TypedBuffer for DeviceArray<T, D> {
    type Element = T;
}

impl<T: Element, const D: usize> fmt::Debug for DeviceArray<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceArray `{}` of {} {:?}", self.label(), T::DTYPE, self.shape())?;
        if self.frame().is_full() { Ok(()) } else { write!(f, " in {:?}", self.padded_shape()) }
    }
}

/// An array with an element type and a shape that are known only at run time. A clone is a cheap handle.
///
/// # Example
/// ```
/// # let (ctx, queue) = fencepost::doctest();
/// let any = queue.array(&[1_u32, 2, 3])?.any();
/// assert_eq!((any.dtype().to_string().as_str(), any.shape()), ("u32", &[3][..]));
/// let typed = any.typed::<u32, 1>()?;
/// assert_eq!(queue.read(&typed).wait()?, [1, 2, 3]);
/// # drop(ctx);
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone)]
pub struct AnyArray {
    array: ArrayRef,
    shape: ArrayShape<Vec<usize>>,
}

impl AnyArray {
    /// Returns the type of the elements.
    pub fn dtype(&self) -> DType {
        self.array.dtype
    }

    /// Returns the number of elements in each dimension.
    pub fn shape(&self) -> &[usize] {
        &self.shape.shape
    }

    /// Returns the shape of the memory, as [`DeviceArray::padded_shape`] does.
    pub fn padded_shape(&self) -> &[usize] {
        &self.shape.padded
    }

    /// Returns the number of elements, without padding.
    pub fn len(&self) -> usize {
        self.shape.frame().len()
    }

    /// Returns `true` if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the array with a type and a number of dimensions known at compile time.
    ///
    /// # Errors
    /// [`ErrorDetail::Type`] if the elements are of another type, [`ErrorDetail::Rank`] if the array has more or fewer dimensions.
    pub fn typed<T: Element, const D: usize>(&self) -> Result<DeviceArray<T, D>> {
        if self.dtype() != T::DTYPE {
            return Err(
                ErrorDetail::Type { found: self.dtype().to_string(), asked: T::DTYPE.to_string() }.into()
            );
        }
        let ranked = |shape: &[usize]| {
            <[usize; D]>::try_from(shape).map_err(|_| ErrorDetail::Rank {
                array: self.array.storage.label().to_string(),
                found: self.shape().len(),
                asked: D,
            })
        };
        Ok(DeviceArray::padded(self.array.clone(), ranked(self.shape())?, ranked(self.padded_shape())?))
    }
}

impl BufferArg for AnyArray {
    fn dtype(&self) -> DType {
        self.array.dtype
    }

    fn len(&self) -> usize {
        self.array.len
    }

    fn shape(&self) -> Vec<usize> {
        self.shape.shape.to_vec()
    }

    fn padded_shape(&self) -> Vec<usize> {
        self.shape.padded.to_vec()
    }

    fn handle(&self) -> &dyn Any {
        &self.array
    }
}

impl fmt::Debug for AnyArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AnyArray `{}` of {} {:?}", self.array.storage.label(), self.dtype(), self.shape())
    }
}

impl<T: Element, const D: usize> DeviceArray<T, D> {
    /// Returns the array with a type and a shape known only at run time.
    pub fn any(&self) -> AnyArray {
        let shape = ArrayShape::new(self.shape().into(), self.padded_shape().into());
        AnyArray { array: self.array.clone(), shape }
    }
}

/// Returns an array that views the same bytes as elements of another type. It shares the memory.
///
/// Returns `None` if the array is padded, if it ends inside an element of the new type, or if it does not begin at a
/// multiple of that element's size.
pub fn regrouped<T: Element, U: Element>(array: &DeviceArray<T>) -> Option<DeviceArray<U>> {
    let from = &array.array;
    let size = U::DTYPE.size() as u64;
    if !array.frame().is_full() || !from.offset.is_multiple_of(size) || !from.bytes().is_multiple_of(size) {
        return None;
    }
    let len = (from.bytes() / size) as usize;
    Some(DeviceArray::new(ArrayRef { len, dtype: U::DTYPE, ..from.clone() }, [len]))
}

/// Returns an array that views the same bytes as 4-byte words, padding included. It shares the memory. Bytes after the
/// last whole word are left out.
pub fn words<T: Element>(array: &DeviceArray<T>) -> DeviceArray<u32> {
    as_words(&array.array)
}

/// Returns the words that a binding of an array consists of, padding included. The last one may end after the array.
pub fn covering_words<T: Element, const D: usize>(array: &DeviceArray<T, D>) -> DeviceArray<u32> {
    let from = &array.array;
    let len = from.bytes().div_ceil(size_of::<u32>() as u64) as usize;
    DeviceArray::new(ArrayRef { len, dtype: u32::DTYPE, ..from.clone() }, [len])
}

/// Returns an argument of a kernel as 4-byte words, as [`words`] does, or `None` if it is not an array of this crate.
pub fn words_of(argument: &dyn BufferArg) -> Option<DeviceArray<u32>> {
    argument.handle().downcast_ref::<ArrayRef>().map(as_words)
}

fn as_words(array: &ArrayRef) -> DeviceArray<u32> {
    let len = (array.bytes() / size_of::<u32>() as u64) as usize;
    DeviceArray::new(ArrayRef { len, dtype: u32::DTYPE, ..array.clone() }, [len])
}

#[cfg(all(test, cpu))]
mod tests {
    use super::*;

    #[test]
    fn an_array_of_whole_groups_that_begins_at_a_multiple_of_their_size_is_one_of_groups() {
        let (_ctx, queue) = crate::doctest();
        let x = queue.array(&(0..20_u32).collect::<Vec<_>>()).unwrap();
        let groups = |from: usize, to: usize| regrouped::<u32, [u32; 4]>(&x.slice(from..to).unwrap());
        let read = |from, to| groups(from, to).map(|groups| queue.read(&groups).wait().unwrap());
        assert_eq!(read(4, 12), Some(vec![[4, 5, 6, 7], [8, 9, 10, 11]]));
        assert_eq!(read(8, 8), Some(vec![]));
        assert_eq!(read(2, 10), None);
        assert_eq!(read(4, 11), None);
        let padded = queue.zeros::<u32, 1>(Shape::padded([4], [8])).unwrap();
        assert!(regrouped::<u32, [u32; 4]>(&padded).is_none());
    }

    #[test]
    fn an_array_of_vectors_is_one_of_words() {
        let (_ctx, queue) = crate::doctest();
        let x = queue.array(&[[1_i32, -1], [3, 4], [5, 6]]).unwrap().slice(1..3).unwrap();
        assert_eq!(queue.read(&words(&x)).wait().unwrap(), [3, 4, 5, 6]);
        let bytes = queue.array(&[[1_u8; 3]; 3]).unwrap();
        assert_eq!((words(&bytes).len(), covering_words(&bytes).len()), (2, 3));
        assert_eq!(covering_words(&bytes.slice(1..1).unwrap()).len(), 0);
    }

    #[test]
    fn an_argument_without_a_type_has_the_words_and_the_shape_of_its_array() {
        let (_ctx, queue) = crate::doctest();
        let x = queue.array(&[[1.0_f32, -1.0], [2.0, 3.0]]).unwrap().reshape([2, 1]).unwrap();
        let padded = queue.zeros::<u32, 1>(Shape::padded([3], [4])).unwrap();
        for argument in [&x as &dyn BufferArg, &x.any()] {
            assert_eq!(
                (argument.shape(), argument.padded_shape(), argument.len()),
                (vec![2, 1], vec![2, 1], 2)
            );
            let words = words_of(argument).expect("an array");
            assert_eq!(queue.read(&words).wait().unwrap(), [1.0_f32, -1.0, 2.0, 3.0].map(f32::to_bits));
        }
        for argument in [&padded as &dyn BufferArg, &padded.any()] {
            assert_eq!((argument.shape(), argument.padded_shape(), argument.len()), (vec![3], vec![4], 4));
        }
    }
}
