//! The sources of uploads.

use crate::arrays::device_array::ArrayRef;
use crate::arrays::host_array::{HostArray, HostMemory, Upload};
use crate::arrays::plain_memory::SharedElements;
use crate::error::Result;
use crate::memory::region::{ArrayShape, PaddedShape, count};
use crate::runtime::owner::Owner;
use fencepost_kernels::Element;
use fencepost_sync::prim::lock;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Name of the source in messages.
pub(crate) const SOURCE: &str = "the source of an upload";

/// The source of an upload: a slice, a `Vec`, an array, a pinned [`HostArray`] or a [slice](HostArray::slice) of one.
pub trait Source<T: Element> {
    /// Calls `f` with a reference to the elements.
    #[doc(hidden)]
    fn source(&self, f: &mut dyn FnMut(SourceRef<'_, T>) -> Result<()>) -> Result<()>;
}

/// A reference to the elements of a source.
#[doc(hidden)]
pub enum SourceRef<'a, T> {
    /// Ordinary memory, copied during the call.
    Slice(&'a [T]),
    /// A pinned array.
    #[doc(hidden)]
    Host(HostRef<'a, T>),
}

/// A reference to a pinned array and its context.
#[doc(hidden)]
pub struct HostRef<'a, T> {
    pub(crate) owner: &'a Owner,
    pub(crate) frame: PaddedShape<'a>,
    pub(crate) bytes: SourceBytes<'a, T>,
}

/// The memory of a pinned array, including the padding.
pub(crate) enum SourceBytes<'a, T> {
    /// Memory that the device copies from.
    Pinned(&'a ArrayRef),
    /// Ordinary memory, because the device has no pinned memory.
    Plain(PlainBytes<'a, T>),
}

/// Elements of a pinned array in ordinary memory.
pub(crate) struct PlainBytes<'a, T> {
    pub(crate) elements: &'a [T],
    /// Memory of the whole array, the place of the elements in it, and the label of the array.
    pub(crate) memory: &'a SharedElements<T>,
    pub(crate) range: Range<usize>,
    pub(crate) label: &'a Arc<str>,
}

impl<T: Element> Source<T> for [T] {
    fn source(&self, f: &mut dyn FnMut(SourceRef<'_, T>) -> Result<()>) -> Result<()> {
        f(SourceRef::Slice(self))
    }
}

impl<T: Element, const N: usize> Source<T> for [T; N] {
    fn source(&self, f: &mut dyn FnMut(SourceRef<'_, T>) -> Result<()>) -> Result<()> {
        f(SourceRef::Slice(self))
    }
}

impl<T: Element> Source<T> for Vec<T> {
    fn source(&self, f: &mut dyn FnMut(SourceRef<'_, T>) -> Result<()>) -> Result<()> {
        f(SourceRef::Slice(self))
    }
}

impl<T: Element, const D: usize> Source<T> for HostArray<T, Upload, D> {
    fn source(&self, f: &mut dyn FnMut(SourceRef<'_, T>) -> Result<()>) -> Result<()> {
        let frame = self.frame();
        self.with_part(0..count(frame.padded), frame, |host| f(SourceRef::Host(host)))
    }
}

/// Some of the elements of a pinned array.
struct HostSlice<'a, T: Element, const D: usize> {
    host: &'a HostArray<T, Upload, D>,
    /// Place of the elements in the memory of the array, with padding.
    range: Range<usize>,
    shape: ArrayShape<[usize; D]>,
}

impl<T: Element, const D: usize> Source<T> for HostSlice<'_, T, D> {
    fn source(&self, f: &mut dyn FnMut(SourceRef<'_, T>) -> Result<()>) -> Result<()> {
        let range = self.range.clone();
        self.host.with_part(range, self.shape.frame(), |host| f(SourceRef::Host(host)))
    }
}

impl<T: Element, const D: usize> fmt::Debug for HostSlice<'_, T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "elements {:?} of the memory of {:?}", self.range, self.host)
    }
}

impl<T: Element, const D: usize> HostArray<T, Upload, D> {
    /// Returns the part of the array with these indices in the first dimension, for an upload. The other dimensions
    /// keep their padding.
    ///
    /// # Errors
    /// [`ErrorDetail::Range`](crate::ErrorDetail::Range) for a range outside the array, and for every range but `0..1` of an array
    /// without dimensions. The upload returns [`ErrorDetail::Alignment`](crate::ErrorDetail::Alignment) for a part that starts or
    /// ends inside a word of 4 bytes.
    ///
    /// # Example
    /// ```
    /// use fencepost::{HostArray, Upload};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut host: HostArray<u32, Upload> = ctx.pinned([8])?;
    /// host.host_mut()?[6..].copy_from_slice(&[7, 8]);
    /// let mut x = ctx.zeros::<u32, 1>([2])?;
    /// queue.upload(&host.slice(6..8)?, &mut x)?;
    /// assert_eq!(queue.read(&x).wait()?, [7, 8]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn slice(&self, range: Range<usize>) -> Result<impl Source<T> + fmt::Debug> {
        let (range, shape) = self.array_shape().slice(range, || self.label().into())?;
        Ok(HostSlice { host: self, range, shape })
    }

    /// Calls `f` with a reference to the elements `range` of the memory, which have the layout `frame`.
    pub(crate) fn with_part(
        &self,
        range: Range<usize>,
        frame: PaddedShape<'_>,
        f: impl FnOnce(HostRef<'_, T>) -> Result<()>,
    ) -> Result<()> {
        let owner = self.owner();
        self.end_leaked_guards(false);
        match &self.place {
            HostMemory::Pinned(array) => {
                let part = array.slice(range)?;
                f(HostRef { owner, frame, bytes: SourceBytes::Pinned(&part) })
            }
            HostMemory::Plain(_, memory) => {
                let memory = &lock(memory).data.clone();
                let label = self.shared_label();
                let data = lock(memory).share(label)?;
                let elements = &data[range.clone()];
                let bytes = SourceBytes::Plain(PlainBytes { elements, memory, range, label });
                f(HostRef { owner, frame, bytes })
            }
        }
    }
}
