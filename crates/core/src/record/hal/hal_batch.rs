//! The state of a batch while the native recorder records it.

use crate::device::bind_groups::{BindGroups, GroupKey, LayoutId};
use crate::device::hal_pipeline::{HalBinding, HalGroup, HalPipeline};
use crate::device::parameter_path::ParameterPath;
use crate::device::wgpu_device::WgpuDevice;
use crate::driver::backend::Backend;
use crate::driver::native_queue::NativeQueue;
use crate::driver::reusable_encoders::ReusableEncoders;
use crate::error::Result;
use crate::memory::block::Block;
use crate::memory::native_memory::NativeMemory;
use crate::memory::staging::StagingPiece;
use crate::memory::wgpu_memory::{WgpuMemory, refused};
use crate::record::dispatch::{BoundRanges, Dispatch, GroupCount, bound_ranges};
use crate::record::hal::barriers::BarrierUse;
use crate::record::hal::encoder::NativeEncoder;
use crate::record::hal::external_handles::ExternalHandles;
use crate::record::hal::native_buffers::{buffer_of, native, native_of};
use crate::record::hal::scratch::Scratch;
use crate::record::hal::stretch::{ResolvedGraph, Stretch, UsedStretch};
use crate::record::hal::zero_fill::ZeroFills;
use crate::record::own_kernels::{OwnKernel, OwnKernels};
use crate::work::graph_data::graph_plan::GraphPlan;
use crate::work::kernel_launch::Launch;
use fencepost_sync::TimelineValue;
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wgpu::{BufferUses as Uses, hal};

/// The objects that record a batch, and the resources that the batch needs until it is complete.
pub(crate) struct HalBatch<'e, A: Backend> {
    pub(crate) device: &'e WgpuDevice,
    pub(crate) external: Option<&'e ExternalHandles<A>>,
    pub(crate) calls: NativeEncoder<'e, A>,
    pub(crate) groups: &'e mut BindGroups<Arc<HalGroup<A>>>,
    /// Bind groups of the batch.
    pub(crate) kept: Vec<Arc<HalGroup<A>>>,
    /// The recorder's own kernels that the batch dispatches.
    pub(crate) pipelines: Vec<Arc<HalPipeline<A>>>,
    pub(crate) parameter_staging: Vec<StagingPiece<WgpuMemory>>,
    pub(crate) parameter_scratch: &'e mut Scratch,
    /// Value that the lane's fence passes when the batch is complete. No other batch in flight has this value.
    pub(crate) signal: TimelineValue,
    pub(crate) zeroed: ZeroFills,
    /// Stretches of graphs that the batch has recorded or submits as bodies.
    pub(crate) stretches: Vec<UsedStretch<A>>,
    /// `true` if the batch has looked at none of its blocks, so that their marks do not tell its uses.
    pub(crate) is_unmarked: bool,
    /// Key of the current dispatch's bind group. The next dispatch reuses its memory.
    pub(crate) key: GroupKey,
    /// Uses of the current command. The next command reuses the memory of the list.
    pub(crate) touches: Vec<BarrierUse<'e, &'e Block>>,
}

/// A dispatch of the native recorder.
pub(crate) type HalDispatch<'a, A, P> = Dispatch<'a, HalPipeline<A>, <A as hal::Api>::Buffer, P>;

impl<'e, A: Backend> HalBatch<'e, A> {
    pub(crate) fn new(
        device: &'e WgpuDevice,
        external: Option<&'e ExternalHandles<A>>,
        calls: NativeEncoder<'e, A>,
        groups: &'e mut BindGroups<Arc<HalGroup<A>>>,
        (parameter_scratch, signal): (&'e mut Scratch, TimelineValue),
    ) -> Self {
        Self {
            device,
            external,
            calls,
            groups,
            kept: Vec::new(),
            pipelines: Vec::new(),
            parameter_staging: Vec::new(),
            parameter_scratch,
            signal,
            zeroed: ZeroFills::default(),
            stretches: Vec::new(),
            is_unmarked: false,
            key: GroupKey { layout: LayoutId::none(), parts: Vec::new() },
            touches: Vec::new(),
        }
    }

    /// Records the barrier that the next command needs, if it needs one. Each item of `uses` holds a block, the
    /// command's use of the block, and `true` if the command writes to it.
    pub(crate) fn admit(&mut self, uses: &[(&'e Arc<Block>, Uses, bool)]) {
        self.touches.clear();
        for &(block, uses, write) in uses {
            self.touch(block, uses, write);
        }
        self.calls.admit(&self.touches);
    }

    pub(crate) fn buffer(&self, block: &'e Block) -> &'e A::Buffer {
        buffer_of(block, self.external)
    }

    /// Notes that wgpu's commands at the start of the submission write an external block, so that a barrier comes
    /// before the first native command on the block.
    pub(crate) fn come_after(&mut self, block: &'e Block) {
        let uses = Uses::STORAGE_READ_WRITE;
        let touch = BarrierUse { block: block.id, mark: &block.mark, buffer: block, uses, write: true };
        self.calls.come_after(&touch);
    }

    /// Adds a use of a block to `touches`. Records the zeroing of the block first if its memory is not zeroed yet.
    #[inline(always)] // several callers share it, and a launch makes no call for each argument
    pub(crate) fn touch(&mut self, block: &'e Arc<Block>, uses: Uses, write: bool) {
        let touch = BarrierUse { block: block.id, mark: &block.mark, buffer: &**block, uses, write };
        if block.memory.native().is_some_and(NativeMemory::take_blank) {
            self.zeroed.add(block);
            self.calls.admit(&[BarrierUse { uses: Uses::COPY_DST, write: true, ..touch }]);
            self.calls.clear(self.buffer(block), 0..block.size);
        }
        self.touches.push(touch);
    }

    /// Returns one of the recorder's own kernels, which the first call compiles. The batch holds the kernel until it is
    /// complete.
    pub(crate) fn own_kernel(
        &mut self,
        kernels: &mut OwnKernels<HalPipeline<A>>,
        kernel: OwnKernel,
    ) -> Result<Arc<HalPipeline<A>>> {
        let target = self.device.compile_target();
        let made = kernels.get(kernel, |recipe| HalPipeline::new(target, recipe))?;
        self.pipelines.push(made.clone());
        Ok(made)
    }

    /// Records a dispatch with its bind group. A group without parameters comes from the cache. A group with parameters
    /// serves one dispatch.
    pub(crate) fn dispatch<'p, P: BoundRanges<'p>>(
        &mut self,
        dispatch: &HalDispatch<'_, A, P>,
    ) -> Result<()> {
        let parameter_path = dispatch.pipeline.parameter_path;
        let uniform = matches!(parameter_path, ParameterPath::Uniform { .. });
        let group = if uniform { self.with_uniform(dispatch)? } else { self.cached(dispatch)? };
        let immediates = if parameter_path == ParameterPath::Immediates { dispatch.params } else { &[] };
        let offsets: &[u32] = if uniform { &[0] } else { &[] };
        self.calls.dispatch(dispatch.pipeline, &group, offsets, immediates, &dispatch.size);
        self.kept.push(group);
        Ok(())
    }

    /// Returns the bind group of a launch whose parameters need no memory.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub(crate) fn group_of(
        &mut self,
        pipeline: &HalPipeline<A>,
        launch: &Launch,
    ) -> Result<Arc<HalGroup<A>>> {
        let size = GroupCount::Fixed(launch.groups);
        self.cached(&HalDispatch { pipeline, params: &[], parts: bound_ranges(launch), size })
    }

    /// Returns `true` if a stretch has enough launches, without named values, for a native body to be worth its memory.
    pub(crate) fn is_long(&self, stretch: &Stretch<A>) -> bool {
        stretch.len() >= self.device.parts.native_replay_from.max(1) && !stretch.has_values()
    }

    /// Records a stretch of a graph after the earlier commands on its blocks, or places its native body there.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub(crate) fn stretch(
        &mut self,
        plan: &'e GraphPlan,
        graph: &Arc<ResolvedGraph<A>>,
        at: usize,
        queue: Option<&dyn NativeQueue<A>>,
        encoders: impl FnOnce() -> Option<Arc<dyn ReusableEncoders<A>>>,
    ) -> Result<()> {
        let stretch = &graph.stretches[at];
        self.touches.clear();
        for of_block in &stretch.uses {
            self.touch(of_block.block(plan), of_block.uses, of_block.write);
        }
        self.calls.admit_kernel(&self.touches);
        if self.zeroed.is_empty() {
            stretch.note_zeroed();
        }
        let has_body =
            self.is_long(stretch) && self.calls.is_divisible() && stretch.has_body(plan, queue, encoders);
        let mut body_after = None;
        if has_body {
            let after = self.calls.divide().map_err(|error| refused(&error, "a command buffer", 0))?;
            body_after = Some(after);
            self.device.native_bodies.fetch_add(1, Ordering::Relaxed);
        } else {
            stretch.record(plan, &mut self.calls);
        }
        self.stretches.push(UsedStretch { body_after, graph: graph.clone(), stretch: at });
        Ok(())
    }

    /// Places the native body of a graph of `nodes` nodes that is the only step of the batch, if the body has all of
    /// them and was made before. Nothing else in the batch uses the blocks, so the batch does not look at them.
    pub(crate) fn submits_again(&mut self, graph: &Arc<ResolvedGraph<A>>, nodes: usize) -> bool {
        let is_ready = |stretch: &Stretch<A>| stretch.places == (0..nodes) && stretch.needs_no_block();
        let next_sees_writes = A::VISIBLE && !A::EXACT; // without a barrier at the end of the batch
        if !next_sees_writes || !self.calls.is_divisible() || !graph.stretches.first().is_some_and(is_ready) {
            return false;
        }
        self.device.native_bodies.fetch_add(1, Ordering::Relaxed);
        self.stretches.push(UsedStretch { body_after: Some(0), graph: graph.clone(), stretch: 0 });
        self.is_unmarked = true;
        true
    }

    /// Makes a bind group with the parameters of this dispatch. The shader reads the parameters in staging memory if
    /// that memory stays mapped. Other staging memory cannot be bound, so a command copies the parameters to scratch
    /// memory first.
    fn with_uniform<'p, P: BoundRanges<'p>>(
        &mut self,
        dispatch: &HalDispatch<'_, A, P>,
    ) -> Result<Arc<HalGroup<A>>> {
        let piece = staged(self.device, bytemuck::cast_slice(dispatch.params))?;
        let from = native::<A>(piece.memory());
        let group = if piece.memory().view().is_some() {
            self.make(dispatch, Some((from, piece.offset())))
        } else {
            let size = (4 * dispatch.params.len()).next_multiple_of(16) as u64;
            let (page, offset) = self.parameter_scratch.place(self.device, self.signal, size)?;
            let buffer = native_of::<A>(&page);
            self.calls.copy(from, piece.offset(), buffer, offset, size);
            self.calls.transition(buffer, Uses::COPY_DST, Uses::UNIFORM);
            self.make(dispatch, Some((buffer, offset)))
        };
        self.parameter_staging.push(piece);
        group
    }

    /// Returns the bind group of the bound ranges from the cache, or makes and caches it. Each launch needs it, so the
    /// code is part of its caller.
    #[inline(always)]
    fn cached<'p, P: BoundRanges<'p>>(
        &mut self,
        dispatch: &HalDispatch<'_, A, P>,
    ) -> Result<Arc<HalGroup<A>>> {
        self.key.layout = dispatch.pipeline.id;
        self.key.parts.clear();
        for part in dispatch.parts.clone() {
            self.key.parts.push((part.block.id, part.offset, part.size));
        }
        if let Some(group) = self.groups.known(&self.key) {
            return Ok(group.clone());
        }
        let group = self.make(dispatch, None)?;
        self.groups.get(&self.key, || group.clone());
        Ok(group)
    }

    /// Makes a bind group of the bound ranges. `uniform` holds the buffer and the offset of the parameters if the group
    /// binds them.
    fn make<'p, P: BoundRanges<'p>>(
        &self,
        dispatch: &HalDispatch<'_, A, P>,
        uniform: Option<(&A::Buffer, u64)>,
    ) -> Result<Arc<HalGroup<A>>> {
        let mut binds: SmallVec<[HalBinding<'_, A>; 8]> = SmallVec::new();
        for (part, &index) in dispatch.parts.clone().zip(&dispatch.pipeline.indices) {
            assert!(part.offset + part.size <= part.block.size, "bug: a binding ends after its block");
            binds.push(HalBinding {
                index,
                buffer: buffer_of(part.block, self.external),
                offset: part.offset,
                size: part.size,
            });
        }
        if let (Some((buffer, offset)), ParameterPath::Uniform { index, size }) =
            (uniform, dispatch.pipeline.parameter_path)
        {
            binds.push(HalBinding { index, buffer, offset, size: u64::from(size) });
        }
        dispatch.pipeline.group(&binds).map_err(|error| refused(&error, "a bind group", 0))
    }
}

/// Copies `bytes` to a new piece of staging memory. Zeros follow up to the next multiple of 16.
pub(crate) fn staged(device: &WgpuDevice, bytes: &[u8]) -> Result<StagingPiece<WgpuMemory>> {
    let piece = device.staged(bytes.len() as u64, &mut |to| to.copy_from_slice(bytes))?;
    piece.ok_or_else(|| device.no_memory("upload staging"))
}
