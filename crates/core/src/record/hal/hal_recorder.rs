//! The native recorder: records the batches of a lane through wgpu-hal, and submits them itself or through wgpu.

use crate::device::hal_pipeline::{HalGroup, HalPipeline};
use crate::device::wgpu_device::WgpuDevice;
use crate::device::wgpu_pipeline::BindGroups;
use crate::device::{Device as _, KeptResources, LaneValue, Recorder, SubmitFailure};
use crate::driver::backend::Backend;
use crate::driver::caps::Caps;
use crate::driver::native_queue;
use crate::driver::native_queue::NativeQueue;
use crate::error::Result;
use crate::memory::block::Block;
use crate::memory::read_slot::ReadSlot;
use crate::memory::staging::{Staged, StagingPiece};
use crate::memory::wgpu_memory::WgpuMemory;
use crate::record::hal::barriers::Epochs;
use crate::record::hal::direct::{Direct, RecordedEncoder, SubmissionOrder};
use crate::record::hal::encoder::{FinishedBuffers, NativeEncoder, native_of};
use crate::record::hal::external::{ExternalHandles, ExternalStates};
use crate::record::hal::hal_batch::{
    HalBatch, HalDispatch, IndirectGroups, ScratchPages, ZeroFills, launch_gated,
};
use crate::record::hal::hal_transfers::{HalTimePage, HalTimePages, HalTransfers};
use crate::record::hal::stretch::{KnownGraphs, ResolvedGraph, UsedStretch};
use crate::record::hal::{hal_transfers, stretch};
use crate::record::lanes::LaneFence;
use crate::record::own_kernels::{
    OwnCommands, OwnDispatch, OwnDispatches, OwnGroups, OwnKernels, OwnRange, copy_region, record_gate,
    record_gated_groups, record_gated_transfer,
};
use crate::record::submitter;
use crate::record::submitter::{
    CommandBuffers, GroupCount, NamedExternal, Submitter, attribute, bound_ranges,
};
use crate::record::transfers::{BatchStaging, fill};
use crate::record::walk::{StepOrder, WorkVisitor, walk_nodes};
use crate::work::graph::control::{ControlTable, Gate, GatedPlace};
use crate::work::graph::run::GraphStep;
use crate::work::kernel_launch::Launch;
use crate::work::region_copy::RegionCopy;
use crate::work::step::{Pattern, Span, Step, Work};
use crate::work::time_slot::TimeSlot;
use fencepost_kernels::ParamsBlock;
use fencepost_sync::TimelineValue;
use fencepost_sync::backend::{Fence, HalFence};
use smallvec::SmallVec;
use std::iter;
use std::ops::Range;
use std::sync::Arc;
use wgpu::{BufferUses as Uses, hal};

/// The recorder that records and submits the batches of one lane.
pub(crate) struct HalRecorder<A: Backend> {
    submission: Arc<HalSubmission<A>>,
    order: StepOrder,
    groups: BindGroups<Arc<HalGroup<A>>>,
    transfers: HalTransfers,
    indirect_groups: IndirectGroups<A>,
    times: HalTimePages<A>,
    /// The epochs at the end of the previous batch. An epoch is a run of commands between two barriers.
    epochs: Epochs,
    /// The value of the last submission.
    last: TimelineValue,
    /// `true` if the marks of blocks do not include all uses since the last fully ordered submission. Then the next
    /// submission must also come after all earlier ones.
    is_unmarked: bool,
    /// Device memory for dispatch parameters, on devices where shaders cannot read them in staging memory.
    parameter_scratch: ScratchPages,
    kernels: OwnKernels<HalPipeline<A>>,
    external_states: ExternalStates,
    graphs: KnownGraphs<A>,
    /// The queue below wgpu-hal, for batches that wgpu submits.
    queue: Option<Box<dyn NativeQueue<A>>>,
}

/// Path by which batches reach the device.
enum HalSubmission<A: Backend> {
    /// The batches are recorded into wgpu's encoders, and wgpu submits them.
    Wgpu(Submitter),
    /// The batches are recorded into native encoders, and the recorder submits them without wgpu.
    Direct(Direct<A>),
}

impl<A: Backend> HalSubmission<A> {
    fn device(&self) -> &Arc<WgpuDevice> {
        match self {
            HalSubmission::Wgpu(submitter) => submitter.device(),
            HalSubmission::Direct(direct) => direct.device(),
        }
    }

    /// Submits the user's command buffers through wgpu. When they are complete, the lane's fence passes `signal`.
    fn send(&self, commands: CommandBuffers, signal: TimelineValue) -> Result<KeptResources, SubmitFailure> {
        let record = || submitter::send(self.device(), commands).map(|rest| (rest, ()));
        match self {
            HalSubmission::Wgpu(submitter) => submitter.submit(signal, record)?,
            HalSubmission::Direct(direct) => {
                submitter::submit(direct.device(), record, |()| direct.follow(signal))?
            }
        }
        Ok(None)
    }
}

/// Resources that a batch needs until its submission is complete.
struct HalBatchResources<A: Backend> {
    _groups: Vec<Arc<HalGroup<A>>>,
    transfers: Option<BatchStaging>,
    _times: Vec<HalTimePage<A>>,
    /// The recorder's own kernels that the batch dispatches. The kernels of launches live in the steps.
    _pipelines: Vec<Arc<HalPipeline<A>>>,
    _parameter_staging: Vec<StagingPiece<WgpuMemory>>,
    zeroed: ZeroFills,
    stretches: Vec<UsedStretch<A>>,
    is_unmarked: bool,
}

impl<A: Backend> HalBatchResources<A> {
    /// Ends the submission of the batch.
    fn settle(&mut self) {
        self.zeroed.settle();
        if let Some(transfers) = &self.transfers {
            transfers.fetch_on_gl();
        }
    }
}

impl<A: Backend> HalRecorder<A> {
    /// Makes a recorder whose batches wgpu submits.
    pub(crate) fn through_wgpu(device: Arc<WgpuDevice>, fence: LaneFence) -> Self {
        Self::new(HalSubmission::Wgpu(Submitter::new(device, fence)))
    }

    /// Makes a recorder that submits its batches without wgpu.
    pub(crate) fn direct(device: Arc<WgpuDevice>, fence: Arc<HalFence<A>>) -> Self {
        Self::new(HalSubmission::Direct(Direct::new(device, fence)))
    }

    fn new(submission: HalSubmission<A>) -> Self {
        let device = submission.device();
        let queue = A::native_queue(device.raw(), device.queue());
        Self {
            submission: Arc::new(submission),
            order: StepOrder::default(),
            groups: BindGroups::default(),
            transfers: HalTransfers::default(),
            indirect_groups: IndirectGroups::default(),
            times: HalTimePages::default(),
            epochs: Epochs::default().ordered(),
            last: TimelineValue(0),
            is_unmarked: false,
            parameter_scratch: ScratchPages::new(1, "parameters"),
            kernels: OwnKernels::default(),
            external_states: ExternalStates::default(),
            graphs: KnownGraphs::default(),
            queue,
        }
    }

    /// Records a batch into a wgpu encoder, and wgpu submits it.
    fn submit_through_wgpu(
        &mut self,
        submitter: &Submitter,
        steps: &[Step],
        signal: TimelineValue,
    ) -> Result<HalBatchResources<A>, SubmitFailure> {
        let device = submitter.device();
        let read = (submitter.fence().shared(), signal);
        let named = submitter::named(device, steps);
        let encode = || self.encode(device, steps, &named, &read, None);
        let kept = submitter.submit(signal, encode)?;
        ExternalStates::done(&named);
        Ok(kept)
    }

    /// Records a batch with external buffers into a wgpu encoder, which wgpu submits because it tracks these buffers.
    /// Then makes the fence pass `signal` by an empty native submission.
    fn submit_external_through_wgpu(
        &mut self,
        direct: &Direct<A>,
        steps: &[Step],
        named: &[NamedExternal<'_>],
        signal: TimelineValue,
    ) -> Result<HalBatchResources<A>, SubmitFailure> {
        let device = direct.device();
        direct.hold_next(self.last)?;
        self.is_unmarked = true; // the next batch must come after wgpu's
        let read: (Arc<dyn Fence>, TimelineValue) = (direct.fence().clone(), signal);
        let follow = |_: &HalBatchResources<A>| direct.follow(signal);
        let encode = || self.encode(device, steps, named, &read, Some(&**direct.fence()));
        let kept = submitter::submit(device, encode, follow)?;
        ExternalStates::done(named);
        Ok(kept)
    }

    /// Records the steps into a wgpu encoder. The wgpu commands before the encoder put each external buffer into the
    /// state that the native recorder expects. `read` is the lane's fence, and the value that it passes when the batch
    /// is complete and the bytes of its reads are valid. `watching` is the same fence, if it can watch the commands.
    fn encode(
        &mut self,
        device: &WgpuDevice,
        steps: &[Step],
        named: &[NamedExternal<'_>],
        read: &(Arc<dyn Fence>, TimelineValue),
        watching: Option<&HalFence<A>>,
    ) -> Result<(CommandBuffers, HalBatchResources<A>), SubmitFailure> {
        let external_states = self.external_states.commands(device, named);
        let commands = |encoder: &mut A::CommandEncoder| {
            if let Some(fence) = watching {
                fence.watch(encoder, read.1);
            }
            let external = ExternalHandles::of(named)?;
            self.record_steps(device, (encoder, None), steps, (named, external.as_ref()), read, true)
        };
        match native_queue::record::<A, _, _>(device.raw(), commands, || ExternalHandles::<A>::check(named)) {
            None => Err(submitter::failure(device, None, true)),
            Some(recorded) => recorded
                .map(|(commands, kept)| (external_states.into_iter().chain([commands]).collect(), kept)),
        }
    }

    /// Records and submits a batch without wgpu, or through wgpu if the batch has external buffers. If wgpu submitted
    /// the batch, the returned encoder is `None`.
    fn submit_direct(
        &mut self,
        direct: &Direct<A>,
        steps: &[Step],
        signal: TimelineValue,
    ) -> Result<(HalBatchResources<A>, Option<RecordedEncoder<A>>), SubmitFailure> {
        let device = direct.device();
        if device.had_external_buffers() {
            let named = submitter::named(device, steps);
            if !named.is_empty() {
                return self
                    .submit_external_through_wgpu(direct, steps, &named, signal)
                    .map(|kept| (kept, None));
            }
        }
        if device.lost().is_raised() {
            return Err(direct.failure(&hal::DeviceError::Lost));
        }
        let _inside = device.gate().enter();
        let read: (Arc<dyn Fence>, TimelineValue) = (direct.fence().clone(), signal);
        // wgpu's chain of submissions orders the batch after submissions of user code and of other contexts.
        let is_fence = |step: &Step| matches!(step.work, Work::QueueFence);
        let is_after_wgpu = *device.exposed() || self.order.more_than_launches && steps.iter().any(is_fence);
        let comes_after = is_after_wgpu || self.is_unmarked || direct.queue().is_none();
        // After a failure the marks show uses that never happened, in place of others.
        self.is_unmarked = true;
        let record = |encoder: &mut A::CommandEncoder, finished: &mut FinishedBuffers<A>| {
            self.record_steps(device, (encoder, Some(finished)), steps, (&[], None), &read, comes_after)
        };
        let (recorded, kept) = direct.record(signal, record)?;
        let order = match (is_after_wgpu, comes_after || kept.is_unmarked) {
            (true, _) => SubmissionOrder::AfterWgpu,
            (_, true) => SubmissionOrder::After,
            _ => SubmissionOrder::Early,
        };
        if let Err(lost) = direct.submit(Some(&recorded), &kept.stretches, (order, self.last), signal) {
            std::mem::forget((recorded, kept)); // the lost device may still use them
            return Err(lost);
        }
        self.is_unmarked = is_after_wgpu || kept.is_unmarked;
        Ok((kept, Some(recorded)))
    }

    /// Records the steps into `encoder`, and returns the resources that the batch needs until it is complete. If there
    /// is a list for finished command buffers, the batch may have several. If `comes_after` is `false`, the batch may
    /// start before earlier ones end. After an error, no pass is open.
    fn record_steps<'e>(
        &'e mut self,
        device: &'e WgpuDevice,
        (encoder, finished): (&'e mut A::CommandEncoder, Option<&'e mut FinishedBuffers<A>>),
        steps: &'e [Step],
        (named, external): (&'e [NamedExternal<'e>], Option<&'e ExternalHandles<A>>),
        read: &'e (Arc<dyn Fence>, TimelineValue),
        comes_after: bool,
    ) -> Result<HalBatchResources<A>, SubmitFailure> {
        device.take_gone(|block| self.groups.forget(block));
        self.graphs.sweep();
        let order = &self.order;
        let epochs = &mut self.epochs;
        let queue = self.queue.as_deref();
        let before = if comes_after { epochs.ordered() } else { *epochs };
        let calls = NativeEncoder::new(encoder, external, queue, before, finished);
        let mut batch =
            HalBatch::new(device, external, calls, &mut self.groups, (&mut self.parameter_scratch, read.1));
        named.iter().for_each(|(_, block)| batch.come_after(block));
        let mut visitor = HalVisitor {
            batch,
            transfers: &mut self.transfers,
            indirect_groups: &mut self.indirect_groups,
            times: &mut self.times,
            kernels: &mut self.kernels,
            graphs: &mut self.graphs,
            read,
            queue,
        };
        if order.times {
            visitor.times.reset();
        }
        if let Err(failure) = order.walk(steps, &mut visitor) {
            visitor.batch.calls.end_pass();
            *epochs = visitor.batch.calls.epochs();
            visitor.transfers.finish();
            visitor.batch.parameter_scratch.give_back();
            visitor.indirect_groups.give_back();
            return Err(failure);
        }
        let timed = visitor.finish(order);
        visitor.batch.calls.note_rest();
        *epochs = visitor.batch.calls.epochs();
        let transfers = order.more_than_launches.then(|| visitor.transfers.finish());
        let HalBatch { kept, pipelines, parameter_staging, zeroed, stretches, is_unmarked, .. } =
            visitor.batch;
        Ok(HalBatchResources {
            _groups: kept,
            transfers,
            _times: timed?,
            _pipelines: pipelines,
            _parameter_staging: parameter_staging,
            zeroed,
            stretches,
            is_unmarked,
        })
    }
}

/// The visitor that records the steps of one batch.
struct HalVisitor<'e, A: Backend> {
    batch: HalBatch<'e, A>,
    transfers: &'e mut HalTransfers,
    indirect_groups: &'e mut IndirectGroups<A>,
    times: &'e mut HalTimePages<A>,
    kernels: &'e mut OwnKernels<HalPipeline<A>>,
    graphs: &'e mut KnownGraphs<A>,
    /// The lane's fence, and the value that it passes when the batch is complete and the bytes of its reads are valid.
    read: &'e (Arc<dyn Fence>, TimelineValue),
    queue: Option<&'e dyn NativeQueue<A>>,
}

impl<'e, A: Backend> HalVisitor<'e, A> {
    /// Records a launch. Inlined into [`launch`](WorkVisitor::launch), because each launch calls it.
    #[inline(always)]
    fn record_launch(&mut self, launch: &'e Launch, params: &ParamsBlock) -> Result<()> {
        let batch = &mut self.batch;
        let pipeline = launch.pipeline::<HalPipeline<A>>().variant_for(&launch.bindings)?;
        if launch.indirect.is_none() && launch.groups.contains(&0) {
            return Ok(());
        }
        let limited =
            launch.indirect.as_ref().map(|span| self.indirect_groups.limit(batch, span)).transpose()?;
        batch.touches.clear();
        for (at, bound) in launch.bindings.iter().enumerate() {
            if let Some((uses, write)) = pipeline.uses(at, bound) {
                batch.touch(&bound.block, uses, write);
            }
        }
        batch.calls.record_barrier_for_kernel(&batch.touches);
        let size = match &limited {
            None => GroupCount::Fixed(launch.groups),
            Some((block, offset)) => GroupCount::Indirect(native_of::<A>(block), *offset),
        };
        let done = batch.dispatch(&HalDispatch {
            pipeline,
            params: params.words(),
            parts: bound_ranges(launch),
            size,
        });
        // The next check writes to the same page, which an exact backend needs back in the state for that.
        if let Some((place, _)) = limited.as_ref().filter(|_| A::EXACT) {
            batch.calls.transition(native_of::<A>(place), Uses::INDIRECT, Uses::STORAGE_READ_WRITE);
        }
        done
    }

    /// Returns the stretches of a graph, from its second replay on.
    fn resolved(&mut self, graph: &GraphStep) -> Result<Option<Arc<ResolvedGraph<A>>>> {
        let batch = &mut self.batch;
        let native_from = batch.device.parts.native_replay_from;
        let resolve =
            || stretch::resolve(graph, native_from, |pipeline, launch| batch.group_of(pipeline, launch));
        self.graphs.get_or_resolve(graph, resolve)
    }

    /// Ends the recording: copies the times to staging memory, ends the pass, and makes all writes visible to the host.
    /// A batch with only launches has no times.
    fn finish(&mut self, order: &StepOrder) -> Result<Vec<HalTimePage<A>>, SubmitFailure> {
        if !order.more_than_launches {
            self.batch.calls.publish(iter::empty());
            return Ok(Vec::new());
        }
        let batch = &mut self.batch;
        let transfers = &mut *self.transfers;
        let timed = match order.times {
            true => hal_transfers::finish(self.times, batch.device, &mut batch.calls, transfers, self.read),
            false => Ok(Vec::new()),
        };
        batch.calls.publish(transfers.published::<A>());
        timed.map_err(|error| SubmitFailure { step: None, error, lost: false })
    }
}

impl<'e, A: Backend> WorkVisitor<'e> for HalVisitor<'e, A> {
    #[inline]
    fn launch(&mut self, launch: &'e Launch) -> Result<()> {
        self.record_launch(launch, &launch.params)
    }

    #[inline(never)]
    fn launch_with(&mut self, launch: &'e Launch, params: &ParamsBlock) -> Result<()> {
        self.record_launch(launch, params)
    }

    fn copy(&mut self, src: &'e Span, dst: &'e Span) -> Result<()> {
        self.transfers.copy(&mut self.batch, src, dst)
    }

    fn region(&mut self, copy: &'e RegionCopy) -> Result<()> {
        copy_region(self, copy)
    }

    fn fill(&mut self, dst: &'e Span, pattern: &'e Pattern) -> Result<()> {
        fill(self, dst, pattern)
    }

    fn upload(&mut self, src: &'e Staged, dst: &'e Span) -> Result<()> {
        self.transfers.upload(&mut self.batch, src, dst)
    }

    fn read(&mut self, src: &'e Span, slot: &'e Arc<ReadSlot>) -> Result<()> {
        self.transfers.read(&mut self.batch, src, slot, self.read)
    }

    fn gate(&mut self, gate: &'e Gate, table: &'e ControlTable) -> Result<()> {
        record_gate(self, gate, table)
    }

    fn launch_gated(
        &mut self,
        launch: &'e Launch,
        params: &ParamsBlock,
        place: GatedPlace<'e>,
    ) -> Result<()> {
        if let Some(wanted) = &launch.indirect {
            record_gated_groups(self, wanted, place)?;
        }
        launch_gated(&mut self.batch, launch, params, place)
    }

    fn transfer_gated(&mut self, work: &'e Work, place: GatedPlace<'e>) -> Result<()> {
        record_gated_transfer(self, work, place)
    }

    /// Returns `true` if a stretch of the graph has a native body or gets one: that saves more than interleaving its
    /// nodes with those of other graphs.
    fn keeps_whole(&mut self, graph: &'e GraphStep) -> Result<bool> {
        if graph.run.times.get().is_some() || !self.batch.calls.is_divisible() {
            return Ok(false);
        }
        let resolved = self.resolved(graph)?;
        let mut stretches = resolved.iter().flat_map(|resolved| &resolved.stretches);
        Ok(stretches.any(|stretch| self.batch.is_long(stretch))
            && self.graphs.encoders(self.batch.device).is_some())
    }

    /// Visits the nodes of a graph. From the second replay on, stretches of launches are recorded as one command.
    fn graph(
        &mut self,
        graph: &'e GraphStep,
        base: u32,
        level: &mut Option<u32>,
        is_alone: bool,
    ) -> Result<()> {
        if graph.run.times.get().is_some() {
            // Each timed node must be recorded between its own timestamps.
            return walk_nodes(graph, base, 0..graph.order().sorted.len(), self, level);
        }
        let nodes = graph.order().sorted.len();
        let Some(resolved) = self.resolved(graph)? else {
            return walk_nodes(graph, base, 0..nodes, self, level);
        };
        if is_alone && self.batch.submits_again(&resolved, nodes) {
            return Ok(());
        }
        let mut next = 0;
        for (at, stretch) in resolved.stretches.iter().enumerate() {
            walk_nodes(graph, base, next..stretch.places.start, self, level)?;
            let device = self.batch.device;
            let graphs = &mut *self.graphs;
            let queue = self.queue;
            self.batch.stretch(&graph.run.plan, &resolved, at, queue, || graphs.encoders(device).cloned())?;
            next = stretch.places.end;
        }
        walk_nodes(graph, base, next..nodes, self, level)?;
        *level = None; // the stretches contain levels that were not visited
        Ok(())
    }

    fn start_time(&mut self, level: u32, time: &'e Arc<TimeSlot>) {
        hal_transfers::start(self.times, self.batch.device, &mut self.batch.calls, (level, time));
    }

    fn end_time(&mut self, time: &'e Arc<TimeSlot>) {
        hal_transfers::end(self.times, &mut self.batch.calls, time);
    }
}

impl<'e, A: Backend> OwnCommands<'e> for HalVisitor<'e, A> {
    fn clear(&mut self, block: &'e Arc<Block>, range: Range<u64>) {
        self.batch.record_barrier_for(&[(block, Uses::COPY_DST, true)]);
        self.batch.calls.clear(self.batch.buffer(block), range);
    }

    fn copy_rows(&mut self, copy: &'e RegionCopy) {
        let src = &copy.src.block;
        let dst = &copy.dst.block;
        self.batch.record_barrier_for(&[(src, Uses::COPY_SRC, false), (dst, Uses::COPY_DST, true)]);
        let src = self.batch.buffer(src);
        let dst = self.batch.buffer(dst);
        self.batch.calls.copy_rows(src, dst, copy.rows.row, copy.rows.iter());
    }
}

impl<'e, A: Backend> OwnDispatches<'e> for HalVisitor<'e, A> {
    fn caps(&self) -> &'e Caps {
        self.batch.device.caps()
    }

    /// Records a dispatch of an own kernel after the earlier commands on its blocks. The dispatches of a large region
    /// copy or fill are ordered one after the other although they write different bytes, because the barrier tracker
    /// compares whole blocks.
    fn dispatch_own(&mut self, dispatch: &OwnDispatch<'_, 'e>) -> Result<()> {
        let ranges = dispatch.ranges.iter();
        let counts = match dispatch.groups {
            OwnGroups::Fixed(_) => None,
            OwnGroups::Indirect(block, _) => Some((block, Uses::INDIRECT, false)),
        };
        let uses: SmallVec<[_; 4]> = ranges
            .clone()
            .map(|range| (range.block, Uses::STORAGE_READ_WRITE, range.write))
            .chain(counts)
            .collect();
        self.batch.record_barrier_for(&uses);
        let pipeline = self.batch.own_kernel(self.kernels, dispatch.kernel)?;
        self.batch.dispatch(&HalDispatch {
            pipeline: &pipeline,
            params: dispatch.params,
            parts: ranges.map(OwnRange::bound),
            size: dispatch.groups.count(native_of::<A>),
        })
    }
}

impl<A: Backend> Recorder for HalRecorder<A> {
    fn submit(
        &mut self,
        steps: &Arc<Vec<Step>>,
        _waits: &[LaneValue], // the device has no other lane
        signal: TimelineValue,
    ) -> Result<KeptResources, SubmitFailure> {
        let submission = self.submission.clone();
        self.order.sort(steps);
        if self.order.more_than_launches
            && let Some(commands) = submitter::of(steps)
        {
            if let HalSubmission::Direct(direct) = &*submission {
                direct.hold_next(self.last)?;
                self.is_unmarked = true; // the next batch must come after wgpu's
            }
            let sent = submission.send(commands, signal);
            let sent = sent.map_err(|failure| attribute(submission.device(), steps, failure));
            self.last = if sent.is_ok() { signal } else { self.last };
            return sent;
        }
        let keep: Box<dyn Send> = match &*submission {
            HalSubmission::Wgpu(submitter) => {
                let submitted = self.submit_through_wgpu(submitter, steps, signal);
                let mut kept = submitted.map_err(|failure| attribute(submitter.device(), steps, failure))?;
                kept.settle();
                Box::new(kept)
            }
            HalSubmission::Direct(direct) => {
                let submitted = self.submit_direct(direct, steps, signal);
                let (mut kept, recorded) =
                    submitted.map_err(|failure| attribute(direct.device(), steps, failure))?;
                self.last = signal;
                kept.settle();
                Box::new((kept, recorded))
            }
        };
        Ok(Some(keep))
    }
}
