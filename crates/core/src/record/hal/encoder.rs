//! A native encoder that records each command after the barrier that it needs. Also the native buffers of blocks.
#![allow(unsafe_code, reason = "commands that wgpu itself does not see")]

use crate::device::hal_pipeline::{HalGroup, HalPipeline, HalQueries};
use crate::device::wgpu_pipeline::LayoutId;
use crate::driver::backend::Backend;
use crate::driver::native_queue::NativeQueue;
use crate::memory::block::{Block, Memory};
use crate::memory::wgpu_memory::WgpuMemory;
use crate::record::hal::barriers::{
    ANYTHING, Barrier, BarrierTracker, BarrierUse, BufferStates, Epochs, OF_KERNELS, StateChange,
};
use crate::record::hal::external::ExternalHandles;
use crate::record::submitter::GroupCount;
use smallvec::SmallVec;
use wgpu::hal::CommandEncoder as _;
use wgpu::{BufferUses as Uses, hal};

/// A native encoder that records a batch's commands, and barriers between them.
///
/// The checks of the public calls ensure the following. Ranges lie within their buffers, and copies start and end on
/// words. Recorded resources live until the submission is complete. A bind group fits the layout of its pipeline.
pub(crate) struct NativeEncoder<'e, A: Backend> {
    encoder: &'e mut A::CommandEncoder,
    external: Option<&'e ExternalHandles<A>>,
    queue: Option<&'e dyn NativeQueue<A>>,
    hazards: BarrierTracker<&'e Block>,
    /// States of buffers. Only on exact backends, where a buffer must be in exactly the state of its use.
    states: BufferStates<&'e Block>,
    in_pass: bool,
    /// Pipeline that is set in the open pass.
    pipeline: Option<LayoutId>,
    /// `true` if the open command buffer has a command.
    has_commands: bool,
    /// List for the finished command buffers of the batch; `None` if the batch must be one command buffer.
    finished: Option<&'e mut FinishedBuffers<A>>,
}

/// Finished command buffers of an encoder.
pub(crate) struct FinishedBuffers<A: Backend> {
    pub(crate) buffers: Vec<A::CommandBuffer>,
    /// The raw handle of each buffer, if the queue below wgpu-hal is known.
    pub(crate) handles: Vec<u64>,
    /// `true` if the encoder has no open command buffer, because the driver refused one.
    pub(crate) is_closed: bool,
    /// `true` if the open command buffer has no commands at the end of the batch, so that it is not submitted.
    pub(crate) rest_is_empty: bool,
}

impl<A: Backend> Default for FinishedBuffers<A> {
    fn default() -> Self {
        Self { buffers: Vec::new(), handles: Vec::new(), is_closed: false, rest_is_empty: false }
    }
}

impl<'e, A: Backend> NativeEncoder<'e, A> {
    /// Starts a batch. `epochs` are those at the end of the previous batch.
    pub(crate) fn new(
        encoder: &'e mut A::CommandEncoder,
        external: Option<&'e ExternalHandles<A>>,
        queue: Option<&'e dyn NativeQueue<A>>,
        epochs: Epochs,
        finished: Option<&'e mut FinishedBuffers<A>>,
    ) -> Self {
        Self {
            encoder,
            external,
            queue,
            hazards: BarrierTracker::new(epochs, A::EXACT),
            states: BufferStates::new(),
            in_pass: false,
            pipeline: None,
            has_commands: false,
            finished,
        }
    }

    /// Returns `true` if other command buffers may be submitted between the commands of the batch.
    pub(crate) fn is_divisible(&self) -> bool {
        self.finished.is_some()
    }

    /// Ends the open command buffer, if it has commands, and opens another one. Returns the number of finished command
    /// buffers.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub(crate) fn divide(&mut self) -> Result<usize, hal::DeviceError> {
        self.end_pass();
        let finished = self.finished.as_mut().expect("bug: the batch is one command buffer");
        if std::mem::take(&mut self.has_commands) {
            finished.is_closed = true;
            finished.handles.extend(self.queue.map(|queue| queue.handle(self.encoder)));
            // SAFETY: the encoder is open, and no pass is open in it.
            finished.buffers.push(unsafe { self.encoder.end_encoding() }?);
            // SAFETY: the encoder is closed.
            unsafe { self.encoder.begin_encoding(None) }?;
            finished.is_closed = false;
        }
        Ok(finished.buffers.len())
    }

    /// Records, at the end of the batch, if the open command buffer has commands.
    pub(crate) fn note_rest(&mut self) {
        if let Some(finished) = &mut self.finished {
            finished.rest_is_empty = !self.has_commands;
        }
    }

    /// Records a barrier between all earlier commands and later kernels, for these buffers with their earlier uses.
    pub(crate) fn record_barrier_before_kernels<'b>(
        &mut self,
        buffers: impl Iterator<Item = (&'b Block, Uses)>,
    ) {
        let barriers = buffers.map(|(block, from)| hal::BufferBarrier {
            buffer: native_of::<A>(block),
            usage: hal::StateTransition { from, to: OF_KERNELS },
        });
        self.has_commands = true;
        // SAFETY: the buffers were created for the uses that the tracker recorded.
        unsafe { self.encoder.transition_buffers(barriers) };
    }

    /// Records that wgpu's commands before this encoder, in the same submission, use a block.
    pub(crate) fn come_after(&mut self, touch: &BarrierUse<'_, &'e Block>) {
        if !A::EXACT {
            self.hazards.note(touch); // on an exact backend a state change orders the use
        }
    }

    /// Records the barrier or the state changes that order the next command after those that it depends on.
    #[inline]
    pub(crate) fn record_barrier_for(&mut self, touches: &[BarrierUse<'_, &'e Block>]) {
        self.record_any_barrier::<false>(touches);
    }

    /// Does the same as [`record_barrier_for`](Self::record_barrier_for) for a launch with only uses by kernels.
    #[inline]
    pub(crate) fn record_barrier_for_kernel(&mut self, touches: &[BarrierUse<'_, &'e Block>]) {
        self.record_any_barrier::<true>(touches);
    }

    #[inline(always)]
    fn record_any_barrier<const KERNEL: bool>(&mut self, touches: &[BarrierUse<'_, &'e Block>]) {
        let barrier = if KERNEL {
            self.hazards.barrier_before_kernel(touches)
        } else {
            self.hazards.barrier_before(touches)
        };
        if A::EXACT {
            let changes = self.states.changes_before(touches, barrier.map(|barrier| barrier.buffers));
            self.has_commands |= !changes.is_empty();
            change(self.encoder, self.external, &changes);
        } else if let Some(barrier) = barrier {
            self.has_commands = true;
            match self.queue.filter(|_| barrier.is_global) {
                Some(queue) => queue.order_all(self.encoder, barrier.to),
                None => order(self.encoder, self.external, barrier),
            }
        }
    }

    /// Orders all earlier batches before the next command, which uses memory outside the barrier tracker.
    pub(crate) fn follow_earlier_batches(&mut self) {
        if let Some(queue) = self.queue.filter(|_| self.hazards.follow_earlier_batches()) {
            self.has_commands = true;
            queue.order_all(self.encoder, ANYTHING);
        }
    }

    /// Returns the epochs so far.
    pub(crate) fn epochs(&self) -> Epochs {
        self.hazards.epochs()
    }

    /// Records a barrier between two uses of a buffer outside the barrier tracker.
    pub(crate) fn transition(&mut self, buffer: &A::Buffer, from: Uses, to: Uses) {
        let usage = hal::StateTransition { from, to };
        self.has_commands = true;
        // SAFETY: the buffer was created for these uses.
        unsafe { self.encoder.transition_buffers(std::iter::once(hal::BufferBarrier { buffer, usage })) };
    }

    /// Ends the recording: makes all writes visible to the host, and orders this submission before the next if the
    /// backend needs a barrier for that. If barriers name buffers, only the writes to `staging` become visible, because
    /// such a backend keeps no other memory mapped. This must be the last call on an encoder.
    pub(crate) fn publish<'b>(&mut self, staging: impl Iterator<Item = &'b A::Buffer>)
    where
        A::Buffer: 'b,
    {
        self.end_pass();
        if !A::VISIBLE
            && let Some(barrier) = self.hazards.close()
        {
            self.has_commands = true;
            order(self.encoder, self.external, barrier);
        }
        if A::EXACT {
            // On these backends, the host sees the writes without a barrier.
            return change(self.encoder, self.external, &self.states.restore());
        }
        if let Some(queue) = self.queue {
            if self.has_commands {
                queue.end_batch(self.encoder);
            }
            return;
        }
        let from = Uses::STORAGE_READ_WRITE | Uses::COPY_DST;
        let usage = hal::StateTransition { from, to: Uses::MAP_READ };
        let all: SmallVec<[_; 8]> = staging.collect();
        if !all.is_empty() {
            self.has_commands = true;
            let barriers = all.into_iter().map(|buffer| hal::BufferBarrier { buffer, usage: usage.clone() });
            // SAFETY: the buffers were created for these uses.
            unsafe { self.encoder.transition_buffers(barriers) };
        }
    }

    pub(crate) fn copy(&mut self, src: &A::Buffer, from: u64, dst: &A::Buffer, to: u64, size: u64) {
        self.copy_rows(src, dst, size, std::iter::once((from, to)));
    }

    /// Copies rows of `size` bytes. Each item of `rows` holds the offsets of a row in `src` and `dst`. Rows start and
    /// end on words, and rows in one buffer do not overlap.
    pub(crate) fn copy_rows(
        &mut self,
        src: &A::Buffer,
        dst: &A::Buffer,
        size: u64,
        rows: impl Iterator<Item = (u64, u64)>,
    ) {
        self.end_pass();
        let Some(size) = wgpu::BufferSize::new(size) else { return };
        self.has_commands = true;
        let regions = rows.map(|(src_offset, dst_offset)| hal::BufferCopy { src_offset, dst_offset, size });
        // SAFETY: each row is in bounds and on words, and no two rows share bytes.
        unsafe { self.encoder.copy_buffer_to_buffer(src, dst, regions) };
    }

    /// Fills a range with zeros.
    pub(crate) fn clear(&mut self, buffer: &A::Buffer, range: std::ops::Range<u64>) {
        self.end_pass();
        self.has_commands = true;
        // SAFETY: the range is in bounds and on words.
        unsafe { self.encoder.clear_buffer(buffer, range) };
    }

    #[inline]
    pub(crate) fn dispatch(
        &mut self,
        pipeline: &HalPipeline<A>,
        group: &HalGroup<A>,
        offsets: &[u32],
        immediates: &[u32],
        size: &GroupCount<'_, A::Buffer>,
    ) {
        self.begin_pass();
        if self.pipeline.replace(pipeline.id) != Some(pipeline.id) {
            // SAFETY: a pass is open.
            unsafe { self.encoder.set_compute_pipeline(pipeline.pipeline()) };
        }
        // SAFETY: the pipeline is set, and the group has its layout.
        unsafe { self.encoder.set_bind_group(pipeline.layout(), 0, group.native(), offsets) };
        if !immediates.is_empty() {
            // SAFETY: the pipeline is set, and `immediates` holds all of its immediates.
            unsafe { self.encoder.set_immediates(pipeline.layout(), 0, immediates) };
        }
        match size {
            // SAFETY: the pipeline and its group are set, and the launch keeps within the device's limit.
            GroupCount::Fixed(groups) => unsafe { self.encoder.dispatch_workgroups(*groups) },
            // SAFETY: the pipeline and its group are set, and an earlier dispatch limited the numbers in the buffer.
            GroupCount::Indirect(buffer, offset) => unsafe {
                self.encoder.dispatch_workgroups_indirect(buffer, *offset);
            },
        }
    }

    /// Records in query `at` the time at which all earlier commands are complete. The timestamp gets a separate pass,
    /// because some devices support none inside passes, and others none outside.
    pub(crate) fn stamp(&mut self, queries: &HalQueries<A>, at: u32) {
        self.end_pass();
        self.has_commands = true;
        let writes = hal::PassTimestampWrites {
            query_set: queries.native(),
            beginning_of_pass_write_index: Some(at),
            end_of_pass_write_index: None,
        };
        let desc = hal::ComputePassDescriptor { label: None, timestamp_writes: Some(writes) };
        // SAFETY: no pass is open, and each query is written once after its reset.
        unsafe { self.encoder.begin_compute_pass(&desc) };
        // SAFETY: a pass is open.
        unsafe { self.encoder.end_compute_pass() };
    }

    /// Resets all queries of a page, so that they can be written.
    pub(crate) fn reset(&mut self, queries: &HalQueries<A>) {
        self.end_pass();
        self.has_commands = true;
        // SAFETY: no pass is open, and the batch that used the queries before is complete.
        unsafe { self.encoder.reset_queries(queries.native(), 0..queries.count()) };
    }

    /// Copies the results of the first `count` queries, all of which were written.
    pub(crate) fn copy_times(&mut self, queries: &HalQueries<A>, count: u32, to: &A::Buffer, offset: u64) {
        self.end_pass();
        self.has_commands = true;
        let each = std::num::NonZeroU64::new(8).expect("bug: 8 is 0");
        // SAFETY: no pass is open, the buffer has room, and `offset` is a multiple of eight bytes.
        unsafe { self.encoder.copy_query_results(queries.native(), 0..count, to, offset, each) };
    }

    #[inline]
    fn begin_pass(&mut self) {
        if !std::mem::replace(&mut self.in_pass, true) {
            self.has_commands = true;
            let desc = hal::ComputePassDescriptor { label: None, timestamp_writes: None };
            // SAFETY: no pass is open.
            unsafe { self.encoder.begin_compute_pass(&desc) };
        }
    }

    pub(crate) fn end_pass(&mut self) {
        if std::mem::take(&mut self.in_pass) {
            self.pipeline = None;
            // SAFETY: a pass is open.
            unsafe { self.encoder.end_compute_pass() };
        }
    }
}

/// Orders all earlier commands before the later commands of `barrier`.
fn order<A: Backend>(
    encoder: &mut A::CommandEncoder,
    external: Option<&ExternalHandles<A>>,
    Barrier { buffers, to, .. }: Barrier<'_, &Block>,
) {
    let barriers = buffers.iter().map(|&(block, from)| hal::BufferBarrier {
        buffer: buffer_of(block, external),
        usage: hal::StateTransition { from, to },
    });
    // SAFETY: the buffers were created for the uses that the tracker recorded.
    unsafe { encoder.transition_buffers(barriers) };
}

/// Records the changes of states, if there are any.
fn change<A: Backend>(
    encoder: &mut A::CommandEncoder,
    external: Option<&ExternalHandles<A>>,
    changes: &[StateChange<&Block>],
) {
    if changes.is_empty() {
        return;
    }
    let barriers = changes.iter().map(|&(block, from, to)| hal::BufferBarrier {
        buffer: buffer_of(block, external),
        usage: hal::StateTransition { from, to },
    });
    // SAFETY: the buffers were created for these uses, and each is in the state that its change starts from.
    unsafe { encoder.transition_buffers(barriers) };
}

/// Returns the native buffer of a block, which may be external.
///
/// # Panics
/// Panics if the block belongs to another recorder, or is an external block outside the batch, which is a bug.
pub(crate) fn buffer_of<'a, A: Backend>(
    block: &'a Block,
    external: Option<&'a ExternalHandles<A>>,
) -> &'a A::Buffer {
    let found = external.and_then(|external| external.get(block.id));
    found.unwrap_or_else(|| native_of::<A>(block))
}

/// Returns the native buffer of a block that is not external.
///
/// # Panics
/// Panics if the block's memory is not native, which is a bug.
pub(crate) fn native_of<A: Backend>(block: &Block) -> &A::Buffer {
    match &block.memory {
        Memory::Wgpu(memory) => native::<A>(memory),
        _ => unreachable!("bug: {block:?} belongs to the CPU"),
    }
}

/// Returns the native buffer of memory.
///
/// # Panics
/// Panics if the memory belongs to wgpu, which is a bug.
pub(crate) fn native<A: Backend>(memory: &WgpuMemory) -> &A::Buffer {
    memory.native().and_then(|native| native.buffer::<A>()).expect("bug: the memory is not native")
}
