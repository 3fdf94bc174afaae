//! Typed, shaped device memory.

use super::{AnyArray, Block};
use crate::command::Span;
use crate::context::Owner;
use crate::error::{Kind, Result};
use fencepost_kernels::{BufferArg, DType, Element, TypedBuffer};
use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

/// Device memory and whom it belongs to; given to the pool when the last array on it goes.
pub(crate) struct Storage {
    block: Option<Arc<Block>>,
    pub(crate) label: Arc<str>,
    pub(crate) owner: Owner,
}

impl Storage {
    pub(crate) fn new(block: Arc<Block>, label: Arc<str>, owner: Owner) -> Arc<Self> {
        Arc::new(Self { block: Some(block), label, owner })
    }

    pub(crate) fn block(&self) -> &Arc<Block> {
        self.block.as_ref().expect("bug: a storage keeps its block until it is dropped")
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            self.owner.engine().free(block);
        }
    }
}

/// An array without its type: a range of a storage.
#[derive(Clone)]
pub(crate) struct ArrayRef {
    pub(crate) storage: Arc<Storage>,
    /// Bytes from the start of the block.
    pub(crate) offset: u64,
    /// Elements.
    pub(crate) len: usize,
    pub(crate) dtype: DType,
    /// Whether elements of the same storage follow: a word at the end may be shared with them.
    pub(crate) followed: bool,
}

impl ArrayRef {
    pub(crate) fn bytes(&self) -> u64 {
        self.len as u64 * self.dtype.size() as u64
    }

    /// The bytes of the array, rounded out to 4 at the end.
    pub(crate) fn span(&self) -> Span {
        let block = self.storage.block().clone();
        Span { block, offset: self.offset, size: self.bytes().next_multiple_of(4) }
    }

    /// The bytes as a copy or an upload can reach them.
    ///
    /// # Errors
    /// [`Kind::Alignment`] if it starts inside a word of 4 bytes, or ends inside one that something follows in.
    pub(crate) fn words(&self) -> Result<Span> {
        let end = self.offset + self.bytes();
        let ragged = !end.is_multiple_of(4) && self.followed;
        if !self.offset.is_multiple_of(4) || ragged {
            let offset = if ragged { end } else { self.offset };
            return Err(Kind::Alignment { array: self.storage.label.to_string(), offset, needed: 4 }.into());
        }
        Ok(self.span())
    }

    pub(crate) fn label(&self) -> String {
        self.storage.label.to_string()
    }

    /// Whether it is a part without elements of something that has some.
    pub(crate) fn is_empty_part(&self) -> bool {
        self.len == 0 && (self.offset > 0 || self.followed)
    }

    /// Elements `range` of the array.
    pub(crate) fn slice(&self, range: Range<usize>) -> Result<ArrayRef> {
        if range.start > range.end || range.end > self.len {
            return Err(Kind::Range { array: self.label(), range, len: self.len }.into());
        }
        let followed = self.followed || range.end < self.len;
        let offset = self.offset + range.start as u64 * self.dtype.size() as u64;
        Ok(ArrayRef { offset, len: range.len(), followed, ..self.clone() })
    }
}

/// An array in device memory: elements of type `T` in `D` dimensions, C order. A cheap handle.
///
/// Elements are what WGSL can store: see [`Element`]. Handles made by [`handle`](Self::handle) and
/// [`slice`](Self::slice) share the memory; launches check that arguments which overlap are only read. Dropping the
/// last handle waits for nothing: the memory is used again in the order of the queues.
///
/// # Example
/// ```
/// # let (ctx, queue) = fencepost_core::doctest();
/// let mut x = queue.array(&[1.0_f32, 2.0, 3.0, 4.0])?;
/// queue.fill(&mut x, 7.0)?;
/// assert_eq!(queue.read(&x).wait()?, [7.0; 4]);
/// # drop(ctx);
/// # Ok::<(), fencepost_core::Error>(())
/// ```
pub struct DeviceArray<T: Element, const D: usize = 1> {
    pub(crate) array: ArrayRef,
    shape: [usize; D],
    element: PhantomData<fn() -> T>,
}

impl<T: Element, const D: usize> DeviceArray<T, D> {
    pub(crate) fn new(array: ArrayRef, shape: [usize; D]) -> Self {
        Self { array, shape, element: PhantomData }
    }

    /// Elements in each dimension.
    pub fn shape(&self) -> [usize; D] {
        self.shape
    }

    /// Elements in all.
    #[allow(clippy::len_without_is_empty, reason = "is_empty follows")]
    pub fn len(&self) -> usize {
        self.array.len
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.array.len == 0
    }

    /// What messages call it.
    pub fn label(&self) -> &str {
        &self.array.storage.label
    }

    /// Another handle of the same memory. `&mut y.handle()` writes through shared state; launches check by memory
    /// and range that what is written is not bound twice.
    pub fn handle(&self) -> Self {
        Self::new(self.array.clone(), self.shape)
    }

    /// The part of the array with these indices in the first dimension, sharing its memory.
    ///
    /// # Errors
    /// [`Kind::Range`] outside the array. As the argument of a launch, a part must start on a multiple of the
    /// adapter's binding alignment, [`Context::binding_alignment`](crate::Context::binding_alignment) bytes;
    /// copies and uploads need 4.
    pub fn slice(&self, range: Range<usize>) -> Result<Self> {
        let (rows, row) = match self.shape.split_first() {
            Some((&rows, rest)) => (rows, rest.iter().product::<usize>()),
            None => (1, 1),
        };
        if range.start > range.end || range.end > rows {
            return Err(Kind::Range { array: self.array.label(), range, len: rows }.into());
        }
        let mut shape = self.shape;
        if let Some(first) = shape.first_mut() {
            *first = range.len();
        }
        Ok(Self::new(self.array.slice(range.start * row..range.end * row)?, shape))
    }

    /// The same elements in another shape.
    ///
    /// # Errors
    /// [`Kind::Shape`] if the number of elements differs.
    pub fn reshape<const E: usize>(&self, shape: [usize; E]) -> Result<DeviceArray<T, E>> {
        let elements = shape.iter().try_fold(1_usize, |all, &n| all.checked_mul(n));
        if elements != Some(self.len()) {
            let object = format!("array `{}`", self.label());
            return Err(Kind::Shape { object, found: self.shape.into(), expected: shape.into() }.into());
        }
        Ok(DeviceArray::new(self.array.clone(), shape))
    }

    /// The array with its type and shape known at run time only.
    pub fn any(&self) -> AnyArray {
        AnyArray::new(self.array.clone(), self.shape.into())
    }

    pub(crate) fn array_ref(&self) -> ArrayRef {
        self.array.clone()
    }
}

impl<T: Element, const D: usize> BufferArg for DeviceArray<T, D> {
    fn dtype(&self) -> DType {
        T::DTYPE
    }

    fn len(&self) -> usize {
        self.array.len
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
        write!(f, "DeviceArray `{}` of {} {:?}", self.label(), T::DTYPE, self.shape)
    }
}
