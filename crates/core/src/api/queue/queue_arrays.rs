//! Arrays that a queue makes in its own order.

use crate::api::queue::CommandQueue;
use crate::arrays::device_array::DeviceArray;
use crate::error::Result;
use crate::error::site::CommandKind;
use fencepost_kernels::{Element, Number};

impl CommandQueue {
    /// *Enqueues* an array of zeros, in this queue's order.
    ///
    /// # Errors
    /// Returns [`Kind::TooLarge`](crate::Kind::TooLarge), [`Kind::OutOfMemory`](crate::Kind::OutOfMemory) or the
    /// queue's own error.
    #[track_caller]
    pub fn zeros<T: Element, const D: usize>(&self, shape: [usize; D]) -> Result<DeviceArray<T, D>> {
        self.zeros_padded(shape, shape)
    }

    /// *Enqueues* an array whose elements are all `value`, in this queue's order.
    ///
    /// # Errors
    /// Returns the errors of [`zeros`](Self::zeros).
    #[track_caller]
    pub fn full<T: Element, const D: usize>(&self, shape: [usize; D], value: T) -> Result<DeviceArray<T, D>> {
        self.by(CommandKind::Fill)?.full(shape, shape, value)
    }

    /// *Enqueues* an array of ones, in this queue's order.
    ///
    /// # Errors
    /// Returns the errors of [`zeros`](Self::zeros).
    #[track_caller]
    pub fn ones<T: Number, const D: usize>(&self, shape: [usize; D]) -> Result<DeviceArray<T, D>> {
        self.full(shape, T::ONE)
    }

    /// *Enqueues* an array of zeros with the shape, padding and type of another, in this queue's order.
    ///
    /// # Errors
    /// Returns the errors of [`zeros`](Self::zeros).
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = queue.ones::<f32, 2>([2, 2])?;
    /// let y = queue.zeros_like(&x)?;
    /// assert_eq!(queue.read(&y).wait()?, [0.0; 4]);
    /// # drop(ctx);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn zeros_like<T: Element, const D: usize>(
        &self,
        like: &DeviceArray<T, D>,
    ) -> Result<DeviceArray<T, D>> {
        self.zeros_padded(like.shape(), like.padded_shape())
    }

    /// *Enqueues* an array of ones with the shape, padding and type of another, in this queue's order.
    ///
    /// # Errors
    /// Returns the errors of [`zeros`](Self::zeros).
    #[track_caller]
    pub fn ones_like<T: Number, const D: usize>(
        &self,
        like: &DeviceArray<T, D>,
    ) -> Result<DeviceArray<T, D>> {
        self.by(CommandKind::Fill)?.full(like.shape(), like.padded_shape(), T::ONE)
    }

    /// *Returns* an array with unspecified elements and the shape, padding and type of another, for use in this queue's
    /// order.
    ///
    /// # Errors
    /// Returns the errors of [`zeros`](Self::zeros).
    #[track_caller]
    pub fn empty_like<T: Element, const D: usize>(
        &self,
        like: &DeviceArray<T, D>,
    ) -> Result<DeviceArray<T, D>> {
        self.empty_padded(like.shape(), like.padded_shape())
    }

    /// *Enqueues* an array with the elements of a slice, which is copied at the call, in this queue's order.
    ///
    /// # Errors
    /// Returns the errors of [`zeros`](Self::zeros).
    #[track_caller]
    pub fn array<T: Element>(&self, elements: &[T]) -> Result<DeviceArray<T>> {
        self.by(CommandKind::Upload)?.array(elements)
    }

    /// *Returns* an array with unspecified elements, for use in this queue's order.
    ///
    /// # Errors
    /// Returns the errors of [`zeros`](Self::zeros).
    #[track_caller]
    pub fn empty<T: Element, const D: usize>(&self, shape: [usize; D]) -> Result<DeviceArray<T, D>> {
        self.empty_padded(shape, shape)
    }
}
