//! Device memory whose type and shape are known at run time.

use crate::arrays::device_array::{ArrayRef, DeviceArray};
use crate::error::{Kind, Result};
use crate::memory::array_shape::ArrayShape;
use fencepost_kernels::{BufferArg, DType, Element};
use std::any::Any;
use std::fmt;

/// An array whose element type and shape are known at run time only. A cheap handle.
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

    /// Returns the array with its type and number of dimensions known at compile time.
    ///
    /// # Errors
    /// [`Kind::Type`] if the elements are of another type, [`Kind::Rank`] if the array has more or fewer dimensions.
    pub fn typed<T: Element, const D: usize>(&self) -> Result<DeviceArray<T, D>> {
        if self.dtype() != T::DTYPE {
            return Err(Kind::Type { found: self.dtype().to_string(), asked: T::DTYPE.to_string() }.into());
        }
        let ranked = |shape: &[usize]| {
            <[usize; D]>::try_from(shape).map_err(|_| Kind::Rank {
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
    /// Returns the array with its type and shape known at run time only.
    pub fn any(&self) -> AnyArray {
        let shape = ArrayShape::new(self.shape().into(), self.padded_shape().into());
        AnyArray { array: self.array.clone(), shape }
    }
}
