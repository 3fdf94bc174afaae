//! The calls of one native encoder, each behind the barrier that it needs.
#![allow(unsafe_code, reason = "commands that wgpu itself does not see")]

use crate::device::bind_layout::LayoutId;
use crate::device::hal_pipeline::{HalGroup, HalPipeline, HalQueries};
use crate::driver::backend::Backend;
use crate::memory::block::Block;
use crate::record::dispatch::GroupCount;
use crate::record::hal::barriers::{Barrier, BarrierTracker, BarrierUse};
use crate::record::hal::buffer_states::{BufferStates, StateChange};
use crate::record::hal::external_handles::ExternalHandles;
use crate::record::hal::native_buffers::buffer_of;
use smallvec::SmallVec;
use wgpu::BufferUses as Uses;
use wgpu::hal::{self, CommandEncoder as _};

/// Whatever may come behind a barrier.
const ANYTHING: Uses = Uses::COPY_SRC
    .union(Uses::COPY_DST)
    .union(Uses::STORAGE_READ_ONLY)
    .union(Uses::STORAGE_READ_WRITE)
    .union(Uses::INDIRECT)
    .union(Uses::UNIFORM);

/// An encoder that is recording.
///
/// Whoever calls promises, as the checks of every verb do: ranges lie within their buffers and copies start and end on
/// words; what is recorded lives until the submission is complete; a group fits the pipeline's layout.
pub(crate) struct NativeEncoder<'e, A: Backend> {
    encoder: &'e mut A::CommandEncoder,
    external: &'e ExternalHandles<A>,
    hazards: BarrierTracker<&'e Block>,
    states: BufferStates<&'e Block>,
    in_pass: bool,
    /// What is set in the open pass.
    pipeline: Option<LayoutId>,
}

impl<'e, A: Backend> NativeEncoder<'e, A> {
    /// For a batch behind `stretch`, where the hazards of the last one have ended.
    pub(crate) fn new(
        encoder: &'e mut A::CommandEncoder,
        external: &'e ExternalHandles<A>,
        stretch: u64,
    ) -> Self {
        Self {
            encoder,
            external,
            hazards: BarrierTracker::new(stretch, A::EXACT),
            states: BufferStates::new(),
            in_pass: false,
            pipeline: None,
        }
    }

    /// Notes what was done to a block in front of this encoder, in the same submission.
    pub(crate) fn come_after(&mut self, touch: &BarrierUse<'_, &'e Block>) {
        if !A::EXACT {
            self.hazards.note(touch); // there the change of its state orders what comes
        }
    }

    /// Orders what is recorded next behind what it depends on.
    #[inline]
    pub(crate) fn admit(&mut self, touches: &[BarrierUse<'_, &'e Block>]) {
        let barrier = self.hazards.admit(touches);
        if A::EXACT {
            let changes = self.states.admit(touches, barrier);
            change(self.encoder, self.external, &changes);
        } else if let Some(barrier) = barrier {
            order(self.encoder, self.external, barrier);
        }
    }

    /// Where the hazards of the next batch start.
    pub(crate) fn stretch(&self) -> u64 {
        self.hazards.stretch()
    }

    /// A barrier for one buffer that the hazards do not know, between two uses of it.
    pub(crate) fn separate(&mut self, buffer: &A::Buffer, from: Uses, to: Uses) {
        let usage = hal::StateTransition { from, to };
        // SAFETY: the buffer was made for these uses.
        unsafe { self.encoder.transition_buffers(std::iter::once(hal::BufferBarrier { buffer, usage })) };
    }

    /// Makes what was written to these buffers visible to the host. The last thing in an encoder.
    pub(crate) fn publish<'b>(&mut self, buffers: impl Iterator<Item = &'b A::Buffer>)
    where
        A::Buffer: 'b,
    {
        self.end_pass();
        if !A::VISIBLE
            && let Some(barrier) = self.hazards.close()
        {
            order(self.encoder, self.external, barrier);
        }
        if A::EXACT {
            // What the host reads there is visible as it is.
            return change(self.encoder, self.external, &self.states.external_states());
        }
        let from = Uses::STORAGE_READ_WRITE | Uses::COPY_DST;
        let usage = hal::StateTransition { from, to: Uses::MAP_READ };
        let all: SmallVec<[_; 8]> = buffers.collect();
        if !all.is_empty() {
            let barriers = all.into_iter().map(|buffer| hal::BufferBarrier { buffer, usage: usage.clone() });
            // SAFETY: the buffers were made for these uses.
            unsafe { self.encoder.transition_buffers(barriers) };
        }
    }

    pub(crate) fn copy(&mut self, src: &A::Buffer, from: u64, dst: &A::Buffer, to: u64, size: u64) {
        self.end_pass();
        let Some(size) = wgpu::BufferSize::new(size) else { return };
        let region = hal::BufferCopy { src_offset: from, dst_offset: to, size };
        // SAFETY: in bounds, in words; parts of one buffer do not overlap.
        unsafe { self.encoder.copy_buffer_to_buffer(src, dst, std::iter::once(region)) };
    }

    /// Copies rows of `size` bytes, from and to these places.
    pub(crate) fn copy_rows(
        &mut self,
        src: &A::Buffer,
        dst: &A::Buffer,
        size: u64,
        rows: impl Iterator<Item = (u64, u64)>,
    ) {
        self.end_pass();
        let Some(size) = wgpu::BufferSize::new(size) else { return };
        let regions = rows.map(|(src_offset, dst_offset)| hal::BufferCopy { src_offset, dst_offset, size });
        // SAFETY: as above, of each row; no two share bytes.
        unsafe { self.encoder.copy_buffer_to_buffer(src, dst, regions) };
    }

    /// Fills with zeros.
    pub(crate) fn clear(&mut self, buffer: &A::Buffer, range: std::ops::Range<u64>) {
        self.end_pass();
        // SAFETY: in bounds, in words.
        unsafe { self.encoder.clear_buffer(buffer, range) };
    }

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
            // SAFETY: inside a pass.
            unsafe { self.encoder.set_compute_pipeline(pipeline.pipeline()) };
        }
        // SAFETY: the pipeline is set, and the group is of its layout.
        unsafe { self.encoder.set_bind_group(pipeline.layout(), 0, group.native(), offsets) };
        if !immediates.is_empty() {
            // SAFETY: the pipeline is set, and these are all of its immediates.
            unsafe { self.encoder.set_immediates(pipeline.layout(), 0, immediates) };
        }
        match size {
            // SAFETY: everything is set; launches keep within the device's limit.
            GroupCount::Fixed(groups) => unsafe { self.encoder.dispatch_workgroups(*groups) },
            // SAFETY: as above, and the numbers in the buffer were limited by a dispatch before.
            GroupCount::Indirect(buffer, offset) => unsafe {
                self.encoder.dispatch_workgroups_indirect(buffer, *offset);
            },
        }
    }

    /// Notes in query `at` when everything before it is done: a pass of its own, as not every device does that inside
    /// passes or outside of them.
    pub(crate) fn stamp(&mut self, queries: &HalQueries<A>, at: u32) {
        self.end_pass();
        let writes = hal::PassTimestampWrites {
            query_set: queries.native(),
            beginning_of_pass_write_index: Some(at),
            end_of_pass_write_index: None,
        };
        let desc = hal::ComputePassDescriptor { label: None, timestamp_writes: Some(writes) };
        // SAFETY: outside any pass; each query is written once after it was reset.
        unsafe { self.encoder.begin_compute_pass(&desc) };
        // SAFETY: inside a pass.
        unsafe { self.encoder.end_compute_pass() };
    }

    /// Makes all queries of a page ready to be written.
    pub(crate) fn reset(&mut self, queries: &HalQueries<A>) {
        self.end_pass();
        // SAFETY: outside any pass, and the device has passed the batch that used them before.
        unsafe { self.encoder.reset_queries(queries.native(), 0..queries.count()) };
    }

    /// Copies what is in the first `count` queries, all of which were written.
    pub(crate) fn copy_times(&mut self, queries: &HalQueries<A>, count: u32, to: &A::Buffer, offset: u64) {
        self.end_pass();
        let each = std::num::NonZeroU64::new(8).expect("it is not 0");
        // SAFETY: outside any pass; the buffer has room, from a multiple of eight bytes on.
        unsafe { self.encoder.copy_query_results(queries.native(), 0..count, to, offset, each) };
    }

    fn begin_pass(&mut self) {
        if !std::mem::replace(&mut self.in_pass, true) {
            let desc = hal::ComputePassDescriptor { label: None, timestamp_writes: None };
            // SAFETY: outside any pass.
            unsafe { self.encoder.begin_compute_pass(&desc) };
        }
    }

    pub(crate) fn end_pass(&mut self) {
        if std::mem::take(&mut self.in_pass) {
            self.pipeline = None;
            // SAFETY: inside a pass.
            unsafe { self.encoder.end_compute_pass() };
        }
    }
}

/// Everything before comes before everything behind, for the buffers of `barrier`.
fn order<A: Backend>(
    encoder: &mut A::CommandEncoder,
    external: &ExternalHandles<A>,
    barrier: &Barrier<&Block>,
) {
    let barriers = barrier.iter().map(|&(block, from)| hal::BufferBarrier {
        buffer: buffer_of(block, external),
        usage: hal::StateTransition { from, to: ANYTHING },
    });
    // SAFETY: the buffers were made for the uses that were noted of them.
    unsafe { encoder.transition_buffers(barriers) };
}

fn change<A: Backend>(
    encoder: &mut A::CommandEncoder,
    external: &ExternalHandles<A>,
    changes: &[StateChange<&Block>],
) {
    if changes.is_empty() {
        return;
    }
    let barriers = changes.iter().map(|&(block, from, to)| hal::BufferBarrier {
        buffer: buffer_of(block, external),
        usage: hal::StateTransition { from, to },
    });
    // SAFETY: the buffers were made for these uses, and are in the states that they are said to be in.
    unsafe { encoder.transition_buffers(barriers) };
}
