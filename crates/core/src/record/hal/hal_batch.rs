//! The state of a batch while the native recorder records it.
//!
//! Some blocks are zeroed on the device before their first use. Scratch memory is device memory for parameters and
//! checked group counts of the current batch.
//!
//! The group counts of an indirect launch are checked against the device's limit by a kernel. The group counts of a
//! launch in a body are chosen by its gate.

use crate::device::Device as _;
use crate::device::hal_pipeline::{HalBinding, HalGroup, HalPipeline};
use crate::device::wgpu_device::WgpuDevice;
use crate::device::wgpu_pipeline::{BindGroups, GroupKey, LayoutId, ParameterPath};
use crate::driver::backend::Backend;
use crate::driver::native_queue::NativeQueue;
use crate::driver::reusable_encoders::ReusableEncoders;
use crate::error::Result;
use crate::memory::block::{Block, BlockId, Heap, Memory};
use crate::memory::native_memory::NativeMemory;
use crate::memory::staging::StagingPiece;
use crate::memory::wgpu_memory::{WgpuMemory, refused};
use crate::record::hal::barriers::BarrierUse;
use crate::record::hal::encoder::{NativeEncoder, buffer_of, native, native_of};
use crate::record::hal::external::ExternalHandles;
use crate::record::hal::stretch::{ResolvedGraph, Stretch, UsedStretch};
use crate::record::own_kernels::{OwnKernel, OwnKernels};
use crate::record::submitter::{BoundRange, BoundRanges, Dispatch, GroupCount, bound_ranges};
use crate::work::graph::control::{GatedPlace, counts_at};
use crate::work::graph::plan::GraphPlan;
use crate::work::kernel_launch::Launch;
use crate::work::step::Span;
use fencepost_kernels::ParamsBlock;
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
    pub(crate) parameter_scratch: &'e mut ScratchPages,
    /// Value that the lane's fence passes when the batch is complete, unique among the batches in flight.
    pub(crate) signal: TimelineValue,
    pub(crate) zeroed: ZeroFills,
    /// Stretches of graphs that the batch has recorded or submits as bodies.
    pub(crate) stretches: Vec<UsedStretch<A>>,
    /// `true` if the batch has not looked at its blocks, so that their marks do not include its uses.
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
        (parameter_scratch, signal): (&'e mut ScratchPages, TimelineValue),
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

    /// Records the barrier that the next command needs, if any. Each item of `uses` holds a block, the command's use of
    /// it, and `true` for a write.
    pub(crate) fn record_barrier_for(&mut self, uses: &[(&'e Arc<Block>, Uses, bool)]) {
        self.touches.clear();
        for &(block, uses, write) in uses {
            self.touch(block, uses, write);
        }
        self.calls.record_barrier_for(&self.touches);
    }

    pub(crate) fn buffer(&self, block: &'e Block) -> &'e A::Buffer {
        buffer_of(block, self.external)
    }

    /// Records that wgpu's commands at the start of the submission write an external block, so that a barrier comes
    /// before the first native command on it.
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
            self.calls.record_barrier_for(&[BarrierUse { uses: Uses::COPY_DST, write: true, ..touch }]);
            self.calls.clear(self.buffer(block), 0..block.size);
        }
        self.touches.push(touch);
    }

    /// Returns one of the recorder's own kernels, compiled at its first use. The batch keeps it alive until complete.
    pub(crate) fn own_kernel(
        &mut self,
        kernels: &mut OwnKernels<HalPipeline<A>>,
        kernel: OwnKernel,
    ) -> Result<Arc<HalPipeline<A>>> {
        let target = self.device.compile_target();
        let made = kernels.get_or_compile(kernel, |recipe| HalPipeline::new(target, recipe))?;
        self.pipelines.push(made.clone());
        Ok(made)
    }

    /// Records a dispatch with its bind group. Groups without parameters come from the cache; a group with parameters
    /// is used for just one dispatch.
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

    /// Records a stretch of a graph, or inserts its native body, after the earlier commands on its blocks.
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
        self.calls.record_barrier_for_kernel(&self.touches);
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

    /// Inserts the native body of a graph that is the only step of the batch, if there already is one that contains all
    /// of its `nodes` nodes. Nothing else in the batch uses the blocks, so the batch need not look at them.
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

    /// Makes a bind group with the parameters of this dispatch. If staging memory stays mapped, the shader reads the
    /// parameters there. Otherwise it cannot be bound, so a command first copies the parameters to scratch memory.
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
            let (page, offset) = self.parameter_scratch.reserve(self.device, self.signal, size)?;
            let buffer = native_of::<A>(&page);
            self.calls.copy(from, piece.offset(), buffer, offset, size);
            self.calls.transition(buffer, Uses::COPY_DST, Uses::UNIFORM);
            self.make(dispatch, Some((buffer, offset)))
        };
        self.parameter_staging.push(piece);
        group
    }

    /// Returns the bind group of the bound ranges from the cache, or makes and caches it. Inlined, because each launch
    /// calls it.
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
        self.groups.get_or_make(&self.key, || group.clone());
        Ok(group)
    }

    /// Makes a bind group of the bound ranges. `uniform` is the buffer and the offset of the parameters, if the group
    /// binds any.
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

/// Copies `bytes` to a new piece of staging memory, followed by zeros up to the next multiple of 16.
pub(crate) fn staged(device: &WgpuDevice, bytes: &[u8]) -> Result<StagingPiece<WgpuMemory>> {
    let piece = device.staged(bytes.len() as u64, &mut |to| to.copy_from_slice(bytes))?;
    piece.ok_or_else(|| device.no_memory("upload staging"))
}

/// Blocks that a batch zeroes before it uses them. Unless the batch was submitted, the drop marks them as not zeroed.
#[derive(Default)]
pub(crate) struct ZeroFills(Vec<Arc<Block>>);

impl ZeroFills {
    /// Adds a block that the batch zeroes, and that the caller has already marked as zeroed.
    #[cold]
    pub(crate) fn add(&mut self, block: &Arc<Block>) {
        self.0.push(block.clone());
    }

    /// Returns `true` if the batch zeroes no block.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keeps the blocks marked as zeroed, because the batch was submitted.
    pub(crate) fn settle(&mut self) {
        self.0.clear();
    }
}

impl Drop for ZeroFills {
    fn drop(&mut self) {
        for block in &self.0 {
            if let Some(memory) = block.memory.native() {
                memory.still_blank();
            }
        }
    }
}

/// Bytes of an ordinary page.
const PAGE: u64 = 64 << 10;
/// Alignment of each place in bytes, so that each can be bound separately.
const ALIGNMENT: u64 = 256;

/// Pages in which a batch reserves places, from front to back. The next batch starts again at the front of the same
/// pages, because the device executes it after this batch. So the recorder keeps all pages, and needs no free list.
pub(crate) struct ScratchPages {
    label: &'static str,
    /// Id of the first page. The ids of later pages count down, and no array has such an id.
    first: u64,
    pages: Vec<Arc<Block>>,
    /// Value of the current batch: all places before `at` and `used` belong to this batch.
    signal: TimelineValue,
    /// Index of the page that the next place comes from. The first `used` bytes of this page and all earlier pages are
    /// taken.
    at: usize,
    used: u64,
}

impl ScratchPages {
    /// Makes scratch memory without pages. Each `ScratchPages` of a recorder has a different `kind`, so no two of their
    /// pages share an id.
    pub(crate) fn new(kind: u64, label: &'static str) -> Self {
        Self {
            label,
            first: u64::MAX - (kind << 32),
            pages: Vec::new(),
            signal: TimelineValue(0),
            at: 0,
            used: 0,
        }
    }

    /// Frees the places of the current batch after its recording has failed. The next batch may have the same value,
    /// and [`reserve`](Self::reserve) could not tell the two apart.
    pub(crate) fn give_back(&mut self) {
        self.at = 0;
        self.used = 0;
    }

    /// Reserves `size` bytes for the batch that signals `signal`. The first call for a batch starts at the front of the
    /// first page. Returns the page and the offset in it.
    ///
    /// # Errors
    /// Returns `OutOfMemory`.
    pub(crate) fn reserve(
        &mut self,
        device: &WgpuDevice,
        signal: TimelineValue,
        size: u64,
    ) -> Result<(Arc<Block>, u64)> {
        if self.signal != signal {
            self.signal = signal;
            self.at = 0;
            self.used = 0;
        }
        let size = size.next_multiple_of(ALIGNMENT);
        while self.pages.get(self.at).is_some_and(|page| self.used + size > page.size) {
            self.at += 1;
            self.used = 0;
        }
        if self.at == self.pages.len() {
            let page = self.make(device, size.max(PAGE))?;
            self.pages.push(Arc::new(page));
        }
        self.used += size;
        debug_assert!(self.used <= self.pages[self.at].size, "bug: a place ends after its page");
        Ok((self.pages[self.at].clone(), self.used - size))
    }

    fn make(&self, device: &WgpuDevice, size: u64) -> Result<Block> {
        let memory = Memory::Wgpu(device.scratch(size, self.label)?);
        Ok(Block::new(BlockId(self.first - self.pages.len() as u64), Heap::Device, size, memory))
    }
}

/// Records a launch in a body. Its gate has written the group counts, or zeros, to the table.
///
/// # Errors
/// Returns `OutOfMemory`, or the error of a kernel variant that the driver rejects.
pub(crate) fn launch_gated<'e, A: Backend>(
    batch: &mut HalBatch<'e, A>,
    launch: &'e Launch,
    params: &ParamsBlock,
    place: GatedPlace<'e>,
) -> Result<()> {
    let pipeline = launch.pipeline::<HalPipeline<A>>().variant_for(&launch.bindings)?;
    let counts = &place.table.counts;
    batch.touches.clear();
    for (at, bound) in launch.bindings.iter().enumerate() {
        if let Some((uses, write)) = pipeline.uses(at, bound) {
            batch.touch(&bound.block, uses, write);
        }
    }
    batch.touch(counts, Uses::INDIRECT, false);
    batch.calls.record_barrier_for(&batch.touches);
    let size = GroupCount::Indirect(native_of::<A>(counts), counts_at(place.first));
    let params = params.words();
    let parts = bound_ranges(launch);
    batch.dispatch(&HalDispatch { pipeline, params, parts, size })
}

/// The checking kernel, and the memory for checked group counts.
pub(crate) struct IndirectGroups<A: Backend> {
    kernels: OwnKernels<HalPipeline<A>>,
    places: ScratchPages,
}

impl<A: Backend> Default for IndirectGroups<A> {
    fn default() -> Self {
        Self { kernels: OwnKernels::default(), places: ScratchPages::new(0, "sizes of launches") }
    }
}

impl<A: Backend> IndirectGroups<A> {
    /// Frees the memory of the current batch after its recording has failed.
    pub(crate) fn give_back(&mut self) {
        self.places.give_back();
    }

    /// Records a check of the three words at `span`. Returns the block and the offset of a checked copy. If one of the
    /// three exceeds the limit, the copy is all zeros, and the launch has no workgroups.
    ///
    /// # Errors
    /// Returns `Compile` at the first use of the kernel, or `OutOfMemory`.
    pub(crate) fn limit<'e>(
        &mut self,
        batch: &mut HalBatch<'e, A>,
        span: &'e Span,
    ) -> Result<(Arc<Block>, u64)> {
        let (place, offset) = self.places.reserve(batch.device, batch.signal, 16)?;
        batch.calls.follow_earlier_batches(); // an earlier batch may be using the same place
        let read = if A::EXACT { Uses::STORAGE_READ_ONLY } else { Uses::STORAGE_READ_WRITE };
        batch.record_barrier_for(&[(&span.block, read, false)]);
        let kernel = batch.own_kernel(&mut self.kernels, OwnKernel::LimitGroups)?;
        let caps = batch.device.caps();
        let start = span.offset / caps.binding_alignment * caps.binding_alignment;
        let params = [((span.offset - start) / 4) as u32, caps.max_groups];
        let limited = [
            BoundRange { block: &span.block, offset: start, size: span.offset + span.size - start },
            BoundRange { block: &place, offset, size: 16 },
        ];
        batch.dispatch(&HalDispatch {
            pipeline: &kernel,
            params: &params,
            parts: limited.into_iter(),
            size: GroupCount::Fixed([1; 3]),
        })?;
        let more = if A::EXACT { Uses::empty() } else { Uses::STORAGE_READ_WRITE };
        batch.calls.transition(native_of::<A>(&place), Uses::STORAGE_READ_WRITE, Uses::INDIRECT | more);
        Ok((place, offset))
    }
}
