//! The sources of uploads.

use crate::arrays::device_array::ArrayRef;
use crate::arrays::host_array::{HostArray, HostMemory, SharedElements, Upload};
use crate::error::Result;
use crate::memory::region::{PaddedShape, count};
use crate::runtime::owner::Owner;
use fencepost_kernels::Element;
use fencepost_sync::prim::lock;
use std::ops::Range;
use std::sync::Arc;

/// Name of the source in messages.
pub(crate) const SOURCE: &str = "the source of an upload";

/// The source of an upload: a slice, a `Vec`, an array or a pinned [`HostArray`].
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

impl<T: Element, const D: usize> HostArray<T, Upload, D> {
    /// Calls `f` with a reference to the elements `range` of the memory, which has the layout `frame`.
    pub(crate) fn with_part(
        &self,
        range: Range<usize>,
        frame: PaddedShape<'_>,
        f: impl FnOnce(HostRef<'_, T>) -> Result<()>,
    ) -> Result<()> {
        let owner = self.owner();
        match &self.place {
            HostMemory::Pinned(array) => {
                let part = array.slice(range)?;
                f(HostRef { owner, frame, bytes: SourceBytes::Pinned(&part) })
            }
            HostMemory::Plain(_, memory) => {
                let memory = &lock(memory).data.clone();
                let data = lock(memory).clone();
                let elements = &data[range.clone()];
                let label = self.shared_label();
                let bytes = SourceBytes::Plain(PlainBytes { elements, memory, range, label });
                f(HostRef { owner, frame, bytes })
            }
        }
    }
}
