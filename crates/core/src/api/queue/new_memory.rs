//! Memory for new arrays, and for the temporary arrays of commands.

use crate::api::queue::transfer::ArrayOps;
use crate::arrays::device_array::{ArrayRef, DeviceArray};
use crate::error::Result;
use crate::memory::region_iter::PaddedShape;
use crate::memory::shape::elements;
use fencepost_kernels::Element;
use std::sync::Arc;

/// Remedy for a new array in a body.
const NO_NEW_ARRAY: &str = "a body makes no arrays: before the condition or the loop, make the array, or call the verb that \
                            takes scratch memory";

impl ArrayOps<'_> {
    /// Returns an array with unspecified elements.
    ///
    /// # Errors
    /// Returns `TooLarge`, `OutOfMemory`, or `Captured` in a body.
    pub(crate) fn empty<T: Element, const D: usize>(
        &self,
        shape: [usize; D],
        padded: [usize; D],
    ) -> Result<DeviceArray<T, D>> {
        if let Some(captured) = self.captured {
            captured.not_in_body("a new array", self.by.at, NO_NEW_ARRAY)?;
        }
        self.memory(shape, padded)
    }

    /// Returns an array as [`empty`](Self::empty) does, even in a body: for temporary memory of one command.
    pub(crate) fn memory<T: Element, const D: usize>(
        &self,
        shape: [usize; D],
        padded: [usize; D],
    ) -> Result<DeviceArray<T, D>> {
        let label: Arc<str> = format!("{} {:?}, line {}", T::DTYPE, shape, self.by.at.line()).into();
        let object = format!("array `{label}`");
        PaddedShape::new(&object, &shape, &padded)?;
        let len = elements::<T>(&object, &padded)?;
        let bytes = len as u64 * T::DTYPE.size() as u64;
        let storage = match self.captured {
            None => self.allocate(bytes, &label)?,
            Some(captured) => self.allocate_captured(captured, bytes, &label)?,
        };
        let array = ArrayRef { storage, offset: 0, len, dtype: T::DTYPE, followed: false };
        Ok(DeviceArray::padded(array, shape, padded))
    }
}
