//! New arrays in the order of a queue, and the memory for them and for temporary arrays of commands.

use crate::api::graph::tape::CapturedQueue;
use crate::api::queue::CommandQueue;
use crate::api::queue::transfer::ArrayOps;
use crate::arrays::device_array::{ArrayRef, DeviceArray};
use crate::arrays::storage::{Storage, at_line};
use crate::error::{CommandKind, Result};
use crate::memory::block::{Block, Heap};
use crate::memory::pool::size_for;
use crate::memory::region::{PaddedShape, Shape, elements};
use crate::memory::uses::Policy;
use crate::scheduler::ordering::Admission;
use crate::work::step::{Pattern, Span, Work};
use fencepost_kernels::Element;
use fencepost_sync::Slot;
use std::sync::Arc;

impl CommandQueue {
    /// *Makes* an array of zeros, in this queue's order.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::TooLarge`](crate::ErrorDetail::TooLarge), [`ErrorDetail::OutOfMemory`](crate::ErrorDetail::OutOfMemory),
    /// [`ErrorDetail::Padding`](crate::ErrorDetail::Padding) or the queue's own error.
    #[track_caller]
    pub fn zeros<T: Element, const D: usize>(&self, shape: impl Into<Shape<D>>) -> Result<DeviceArray<T, D>> {
        self.array_ops(CommandKind::Fill)?.zeros(shape.into())
    }

    /// *Makes* an array whose elements are all `value`, in this queue's order.
    ///
    /// # Errors
    /// Returns the errors of [`zeros`](Self::zeros).
    #[track_caller]
    pub fn full<T: Element, const D: usize>(
        &self,
        shape: impl Into<Shape<D>>,
        value: T,
    ) -> Result<DeviceArray<T, D>> {
        self.array_ops(CommandKind::Fill)?.full(shape.into(), value)
    }

    /// *Enqueues* an array with the elements of a slice, which is copied at the call, in this queue's order.
    ///
    /// # Errors
    /// Returns the errors of [`zeros`](Self::zeros).
    #[track_caller]
    pub fn array<T: Element>(&self, elements: &[T]) -> Result<DeviceArray<T>> {
        self.array_ops(CommandKind::Upload)?.array(elements)
    }

    /// *Returns* an array with unspecified elements, for use in this queue's order.
    ///
    /// # Errors
    /// Returns the errors of [`zeros`](Self::zeros).
    #[track_caller]
    pub fn empty<T: Element, const D: usize>(&self, shape: impl Into<Shape<D>>) -> Result<DeviceArray<T, D>> {
        self.array_ops(CommandKind::Fill)?.empty(shape.into())
    }
}

impl ArrayOps<'_> {
    /// Allocates an array in the order of the queue.
    pub(crate) fn allocate(&self, bytes: u64, label: &Arc<str>) -> Result<Arc<Storage>> {
        let storage = Storage::allocate(self.owner, Heap::Device, bytes, label, self.by)?;
        self.owner.engine().note_making(self.by, storage.block());
        Ok(storage)
    }

    /// Clears a new array.
    pub(crate) fn cleared<T: Element, const D: usize>(
        &self,
        array: DeviceArray<T, D>,
    ) -> Result<DeviceArray<T, D>> {
        // A captured fill clears the array in each replay.
        let fresh = self.captured.is_none() && {
            let state = self.owner.engine().lock();
            // Under `Checked`, fresh memory is filled too: otherwise it would depend on the pool's choice of a block
            // whether there is a hazard with the fill.
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

    /// Overwrites the zeros of new memory, so that a missing wait for the fill of `zeros` shows in tests with the CPU
    /// recorder.
    fn scribble(&self, array: &ArrayRef) -> Result<()> {
        const NOISE: [u8; 4] = [0xa5; 4];
        let dst = array.words()?;
        if let Some(access) = self.owner.engine().try_overwrite(&dst)? {
            (0..dst.size / 4).for_each(|word| access.write(dst.offset + 4 * word, &NOISE));
        }
        Ok(())
    }

    /// Enqueues a fill of the memory of a new array of a capture, unless the memory is new or an earlier array of the
    /// capture has enqueued the fill. So until the first replay the array is zero, instead of holding bytes of a dropped
    /// array. For the check of unwritten reads, these zeros do not count as written.
    fn clear_before_replays(&self, block: &Arc<Block>) -> Result<()> {
        let is_clear = {
            let _state = self.owner.engine().lock();
            let order = block.order();
            order.fresh || !order.uses.is_empty()
        };
        if is_clear {
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

    /// Allocates an array of a capture, if possible in the memory of a dropped array of that capture. Its bytes are
    /// unspecified.
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
        Ok(storage)
    }

    /// Returns an array with unspecified elements. In a capture, they are zero until the first replay.
    ///
    /// # Errors
    /// Returns `TooLarge` or `OutOfMemory`.
    pub(crate) fn empty<T: Element, const D: usize>(&self, shape: Shape<D>) -> Result<DeviceArray<T, D>> {
        let array = self.memory(shape)?;
        if self.captured.is_some() {
            self.clear_before_replays(array.array.storage.block())?;
        }
        Ok(array)
    }

    /// Returns an array with unspecified elements, for temporary memory of one command.
    pub(crate) fn memory<T: Element, const D: usize>(&self, shape: Shape<D>) -> Result<DeviceArray<T, D>> {
        let label = format!("{} {:?}{}", T::DTYPE, shape.shape, at_line(self.by.at));
        self.labelled(shape, label.into())
    }

    /// Returns temporary memory of a verb, which messages name.
    pub(crate) fn scratch<T: Element>(&self, verb: &str, len: usize) -> Result<DeviceArray<T>> {
        let label = format!("scratch memory of {verb}{}", at_line(self.by.at));
        self.labelled([len].into(), label.into())
    }

    fn labelled<T: Element, const D: usize>(
        &self,
        shape: Shape<D>,
        label: Arc<str>,
    ) -> Result<DeviceArray<T, D>> {
        let Shape { shape, padded } = shape;
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
