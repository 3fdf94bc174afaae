//! New arrays in the order of a queue, with the memory for them and for the temporary arrays of commands. The memory of
//! a padded array is larger than its shape.

use crate::api::context::Context;
use crate::api::graph::tape::CapturedQueue;
use crate::api::queue::CommandQueue;
use crate::api::queue::transfer::ArrayOps;
use crate::arrays::device_array::{ArrayRef, DeviceArray};
use crate::arrays::host_array::{Direction, HostArray};
use crate::arrays::storage::Storage;
use crate::error::{CommandKind, Result};
use crate::memory::block::{Block, Heap};
use crate::memory::pool::size_for;
use crate::memory::region::{PaddedShape, elements};
use crate::scheduler::ordering::{Admission, Policy};
use crate::work::step::{Pattern, Span, Work};
use fencepost_kernels::{Element, Number};
use fencepost_sync::Slot;
use std::sync::Arc;

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

impl ArrayOps<'_> {
    /// Allocates an array in the order of the queue.
    pub(crate) fn allocate(&self, bytes: u64, label: &Arc<str>) -> Result<Arc<Storage>> {
        let storage = Storage::allocate(self.owner, Heap::Device, bytes, label, self.by)?;
        self.owner.engine().note_making(self.by, storage.block());
        Ok(storage)
    }

    /// Clears an array without earlier uses.
    pub(crate) fn cleared<T: Element, const D: usize>(
        &self,
        array: DeviceArray<T, D>,
    ) -> Result<DeviceArray<T, D>> {
        // A captured fill clears the array in each replay.
        let fresh = self.captured.is_none() && {
            let state = self.owner.engine().lock();
            // Under `Checked`, the call fills fresh memory too: a hazard with the fill must not depend on the block
            // that the pool returns.
            let counts = state.policy() != Policy::Checked || self.by.slot == Slot::CONTEXT;
            counts && array.array.storage.block().order().fresh
        };
        if fresh && self.by.slot != Slot::CONTEXT && self.owner.device().postpones() {
            self.scribble(&array.array)?;
            self.fill_pattern(&array.array, Pattern::ZERO)?;
        } else if fresh {
            let block = array.array.storage.block();
            self.owner.device().host_writes(block, 0..block.size);
        } else {
            self.fill_pattern(&array.array, Pattern::ZERO)?;
        }
        Ok(array)
    }

    /// Overwrites the zeros of new memory. If the memory were zero all along, no seed of the CPU recorder would show a
    /// missing wait for the fill of `zeros`.
    fn scribble(&self, array: &ArrayRef) -> Result<()> {
        const NOISE: [u8; 4] = [0xa5; 4];
        let dst = array.words()?;
        if let Some(access) = self.owner.engine().try_overwrite(&dst)? {
            (0..dst.size / 4).for_each(|word| access.write(dst.offset + 4 * word, &NOISE));
        }
        Ok(())
    }

    /// Enqueues a fill of the memory of a new array of a capture, unless the memory is new. Until the first replay, the
    /// array has zeros, and not the bytes of a dropped array. The zeros do not count as written.
    fn clear_before_replays(&self, block: &Arc<Block>) -> Result<()> {
        if block.order().fresh {
            return Ok(());
        }
        let by = Admission { slot: Slot::CONTEXT, what: CommandKind::Fill, at: self.by.at };
        let dst = Span { block: block.clone(), offset: 0, size: block.size };
        if self.owner.device().tracks_writes()
            && let Some(access) = self.owner.engine().try_overwrite(&dst)?
        {
            access.write(0, &vec![0; block.size as usize]);
            self.owner.device().begin_array(block);
            return Ok(());
        }
        ArrayOps { owner: self.owner, by, captured: None }
            .enqueue(CommandKind::Fill, Work::Fill { dst, pattern: Pattern::ZERO })
    }

    /// Allocates an array of a capture, on the memory of a dropped array of the capture if there is one.
    #[cold]
    pub(crate) fn allocate_captured(
        &self,
        captured: &CapturedQueue,
        bytes: u64,
        label: &Arc<str>,
    ) -> Result<Arc<Storage>> {
        let size = size_for(bytes, self.owner.device().caps().max_block);
        if let Some(block) = captured.reuse(size, label, self.by.at)? {
            return Ok(Storage::on_reused_block(self.owner, block, bytes, label, self.by));
        }
        let storage = Storage::allocate(self.owner, Heap::Device, bytes, label, self.by)?;
        captured.adopt(storage.block(), self.by.at)?;
        self.clear_before_replays(storage.block())?;
        Ok(storage)
    }
}

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
