//! Arrays whose memory is larger than their shape.

use crate::api::context::Context;
use crate::api::queue::CommandQueue;
use crate::arrays::device_array::DeviceArray;
use crate::arrays::host_array::{Direction, HostArray};
use crate::error::Result;
use crate::error::site::CommandKind;
use fencepost_kernels::Element;

impl Context {
    /// Returns an array whose memory is larger than its shape. Element `[i, j]` of the array is element `[i, j]` of
    /// memory with the shape `padded_shape`. All of the memory is zero before every later use on any queue.
    ///
    /// Uploads, reads, downloads and copies touch only the elements; fills, maps and kernels touch all of the memory.
    ///
    /// # Errors
    /// Returns [`Kind::Padding`](crate::Kind::Padding) if `padded_shape` is smaller than `shape` on an axis, and the
    /// errors of [`zeros`](Self::zeros).
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut x = ctx.zeros_padded::<u32, 2>([2, 3], [2, 4])?;
    /// queue.upload(&[1, 2, 3, 4, 5, 6], &mut x)?;
    /// assert_eq!(queue.read(&x).wait()?, [1, 2, 3, 4, 5, 6]);
    /// assert_eq!(*x.map_read().wait()?, [1, 2, 3, 0, 4, 5, 6, 0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn zeros_padded<T: Element, const D: usize>(
        &self,
        shape: [usize; D],
        padded_shape: [usize; D],
    ) -> Result<DeviceArray<T, D>> {
        self.own(CommandKind::Fill).zeros(shape, padded_shape)
    }

    /// Returns an array as [`zeros_padded`](Self::zeros_padded) does, but with unspecified contents.
    ///
    /// # Errors
    /// Returns the errors of [`zeros_padded`](Self::zeros_padded).
    #[track_caller]
    pub fn empty_padded<T: Element, const D: usize>(
        &self,
        shape: [usize; D],
        padded_shape: [usize; D],
    ) -> Result<DeviceArray<T, D>> {
        self.own(CommandKind::Fill).empty(shape, padded_shape)
    }

    /// Returns a zeroed pinned host array whose memory is larger than its shape. Its `read` and `write` give access to
    /// all of the memory. A transfer to or from a device array of the same two shapes moves all of the memory, padding
    /// included, in one copy.
    ///
    /// # Errors
    /// Returns [`Kind::Padding`](crate::Kind::Padding) if `padded_shape` is smaller than `shape` on an axis, and the
    /// errors of [`pinned`](Self::pinned).
    ///
    /// # Example
    /// ```
    /// use fencepost::{HostArray, Upload};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut host: HostArray<u32, Upload, 2> = ctx.pinned_padded([2, 1], [2, 3])?;
    /// host.write(|memory| memory.copy_from_slice(&[1, 0, 0, 2, 0, 0]))?;
    /// let mut x = ctx.zeros_padded([2, 1], [2, 3])?;
    /// queue.upload(&host, &mut x)?;
    /// assert_eq!(queue.read(&x).wait()?, [1, 2]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn pinned_padded<T: Element, Dir: Direction, const D: usize>(
        &self,
        shape: [usize; D],
        padded_shape: [usize; D],
    ) -> Result<HostArray<T, Dir, D>> {
        HostArray::new(&self.owner, shape, padded_shape)
    }
}

impl CommandQueue {
    /// *Enqueues* an array of zeros whose memory is larger than its shape, in this queue's order.
    /// [`Context::zeros_padded`] describes the layout.
    ///
    /// # Errors
    /// Returns [`Kind::Padding`](crate::Kind::Padding) if `padded_shape` is smaller than `shape` on an axis, and the
    /// errors of [`zeros`](Self::zeros).
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut x = queue.zeros_padded::<u32, 2>([2, 2], [2, 8])?;
    /// queue.upload(&[1, 2, 3, 4], &mut x)?;
    /// assert_eq!(queue.read(&x.slice(1..2)?).wait()?, [3, 4]);
    /// # drop(ctx);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn zeros_padded<T: Element, const D: usize>(
        &self,
        shape: [usize; D],
        padded_shape: [usize; D],
    ) -> Result<DeviceArray<T, D>> {
        self.by(CommandKind::Fill)?.zeros(shape, padded_shape)
    }

    /// *Returns* an array with unspecified contents whose memory is larger than its shape, for use in this queue's
    /// order.
    ///
    /// # Errors
    /// Returns the errors of [`zeros_padded`](Self::zeros_padded).
    #[track_caller]
    pub fn empty_padded<T: Element, const D: usize>(
        &self,
        shape: [usize; D],
        padded_shape: [usize; D],
    ) -> Result<DeviceArray<T, D>> {
        self.by(CommandKind::Fill)?.empty(shape, padded_shape)
    }
}
