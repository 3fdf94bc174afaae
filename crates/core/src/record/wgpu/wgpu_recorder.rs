//! The recorder that uses wgpu alone.

use crate::device::wgpu_device::WgpuDevice;
use crate::device::wgpu_pipeline::{BindGroups, WgpuPipeline};
use crate::device::{Device as _, KeptResources, LaneValue, Recorder, SubmitFailure};
use crate::driver::caps::Caps;
use crate::error::Result;
use crate::memory::block::Block;
use crate::memory::read_slot::ReadSlot;
use crate::memory::staging::Staged;
use crate::record::lanes::LaneFence;
use crate::record::own_kernels::{
    OwnCommands, OwnDispatch, OwnDispatches, OwnKernels, OwnRange, copy_region, record_gate,
    record_gated_groups, record_gated_transfer,
};
use crate::record::submitter;
use crate::record::submitter::{CommandBuffers, GroupCount, Submitter, attribute, bound_ranges};
use crate::record::transfers::fill;
use crate::record::walk::{StepOrder, WorkVisitor};
use crate::record::wgpu::passes::{Passes, RangeCopy, Uniforms, WgpuDispatch};
use crate::record::wgpu::wgpu_transfers;
use crate::record::wgpu::wgpu_transfers::{
    WgpuTimePage, WgpuTimePages, WgpuTransferResources, WgpuTransfers,
};
use crate::work::graph::control::{ControlTable, Gate, GatedPlace, counts_at};
use crate::work::kernel_launch::{Launch, PipelineDescriptor};
use crate::work::region_copy::RegionCopy;
use crate::work::step::{Pattern, Span, Step, Work};
use crate::work::time_slot::TimeSlot;
use fencepost_kernels::ParamsBlock;
use fencepost_sync::TimelineValue;
use std::ops::Range;
use std::sync::Arc;

/// The recorder that records and submits the batches of one lane of a wgpu device.
pub(crate) struct WgpuRecorder {
    submitter: Submitter,
    order: StepOrder,
    uniforms: Uniforms,
    transfers: WgpuTransfers,
    times: WgpuTimePages,
    kernels: OwnKernels<WgpuPipeline>,
}

/// Resources to keep until a batch or a part of it is complete, if any.
type WgpuBatchResources = (Option<WgpuTransferResources>, WgpuStepResources);

/// Time pages, and copies of ranges.
type WgpuStepResources = (Vec<WgpuTimePage>, Vec<RangeCopy>);

impl WgpuRecorder {
    pub(crate) fn new(device: Arc<WgpuDevice>, fence: LaneFence) -> Self {
        let uniforms = Uniforms::new(device.raw());
        let transfers = WgpuTransfers::new(&device);
        Self {
            submitter: Submitter::new(device, fence),
            order: StepOrder::default(),
            uniforms,
            transfers,
            times: WgpuTimePages::default(),
            kernels: OwnKernels::default(),
        }
    }

    /// Drops the objects that batches share, so that they are made anew. In a browser, one of them may be invalid, and a
    /// batch that uses it fails.
    fn drop_shared_objects(&mut self, device: &WgpuDevice) {
        self.uniforms = Uniforms::new(device.raw());
        self.times = WgpuTimePages::default();
        self.transfers.drop_intermediate();
        device.with_groups(BindGroups::clear);
    }

    /// Records a batch, or a part of it. Returns the command buffers: the copies of parameters first, if there are any,
    /// then the steps.
    fn record(
        &mut self,
        steps: &[Step],
        signal: TimelineValue,
    ) -> Result<(CommandBuffers, WgpuBatchResources), SubmitFailure> {
        let device = self.submitter.device().clone();
        if device.late_failures.take_new() {
            self.drop_shared_objects(&device);
        }
        self.order.sort(steps);
        self.uniforms.reset();
        self.times.reset();
        let recorded = device.with_groups(|groups| self.record_steps(&device, groups, steps, signal));
        let kept = self.transfers.finish();
        let (commands, of_steps) = recorded?;
        Ok((commands, (kept, of_steps)))
    }

    fn record_steps(
        &mut self,
        device: &WgpuDevice,
        groups: &mut BindGroups,
        steps: &[Step],
        signal: TimelineValue,
    ) -> Result<(CommandBuffers, WgpuStepResources), SubmitFailure> {
        let Self { submitter, order, uniforms, transfers, times, kernels } = self;
        let mut visitor = WgpuVisitor {
            passes: Passes::new(device, groups, uniforms),
            transfers,
            times,
            kernels,
            read: (submitter.fence(), signal),
            side_by_side: several_queues(steps),
        };
        order.walk(steps, &mut visitor)?;
        let written = steps.iter().flat_map(|step| step.work.touches()).filter(|touch| touch.write);
        let is_mapped = written.into_iter().any(|touch| touch.block.view().is_some());
        let whole = |error| SubmitFailure { step: None, error, lost: false };
        let (steps, kept) = visitor.finish().map_err(whole)?;
        let head = load_parameters(device, uniforms, transfers).map_err(whole)?;
        let tail = is_mapped.then(|| device.host_barrier()).flatten();
        Ok((head.into_iter().chain(steps).chain(tail).collect(), kept))
    }
}

/// The visitor that records the steps of one batch.
struct WgpuVisitor<'e> {
    passes: Passes<'e>,
    transfers: &'e mut WgpuTransfers,
    times: &'e mut WgpuTimePages,
    kernels: &'e mut OwnKernels<WgpuPipeline>,
    /// The lane's fence, and the value that it passes when the batch is complete and the bytes of its reads are valid.
    read: (&'e LaneFence, TimelineValue),
    /// `true` if the batch has launches of several queues. Then each level gets separate passes, so that these launches
    /// can run side by side.
    side_by_side: bool,
}

impl WgpuVisitor<'_> {
    /// Ends the recording. Copies the times, and makes the staged bytes visible to the host.
    fn finish(mut self) -> Result<(CommandBuffers, WgpuStepResources)> {
        let pages = wgpu_transfers::finish(self.times, &mut self.passes, self.transfers, self.read)?;
        publish(&mut self.passes, self.transfers.published());
        let (commands, copies) = self.passes.finish();
        Ok((commands, (pages, copies)))
    }
}

impl<'e> WorkVisitor<'e> for WgpuVisitor<'e> {
    /// Ends the pass, so that a single barrier orders the steps of the next level after the earlier ones.
    fn level(&mut self, _: u32) {
        if self.side_by_side {
            self.passes.end_pass();
        }
    }

    fn begin_graph(&mut self) {
        self.passes.begin_graph_time();
    }

    #[inline]
    fn launch(&mut self, launch: &'e Launch) -> Result<()> {
        record_launch(&mut self.passes, self.transfers, launch, &launch.params)
    }

    fn launch_with(&mut self, launch: &'e Launch, params: &ParamsBlock) -> Result<()> {
        record_launch(&mut self.passes, self.transfers, launch, params)
    }

    fn copy(&mut self, src: &'e Span, dst: &'e Span) -> Result<()> {
        self.transfers.copy(&mut self.passes, src, dst)
    }

    fn region(&mut self, copy: &'e RegionCopy) -> Result<()> {
        copy_region(self, copy)
    }

    fn fill(&mut self, dst: &'e Span, pattern: &'e Pattern) -> Result<()> {
        fill(self, dst, pattern)
    }

    fn upload(&mut self, src: &'e Staged, dst: &'e Span) -> Result<()> {
        self.transfers.upload(&mut self.passes, src, dst)
    }

    fn read(&mut self, src: &'e Span, slot: &'e Arc<ReadSlot>) -> Result<()> {
        self.transfers.read(&mut self.passes, src, slot, self.read)
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
        let pipeline = launch.pipeline::<WgpuPipeline>();
        let size = GroupCount::Indirect(place.table.counts.wgpu_buffer(), counts_at(place.first));
        let params = params.words();
        let parts = bound_ranges(launch);
        self.passes
            .dispatch(&WgpuDispatch { pipeline, params, parts, size }, pipeline.mixes(&launch.bindings))
    }

    fn transfer_gated(&mut self, work: &'e Work, place: GatedPlace<'e>) -> Result<()> {
        record_gated_transfer(self, work, place)
    }

    fn start_time(&mut self, level: u32, time: &'e Arc<TimeSlot>) {
        wgpu_transfers::start(self.times, &mut self.passes, level, time);
    }

    fn end_time(&mut self, time: &'e Arc<TimeSlot>) {
        wgpu_transfers::end(self.times, &mut self.passes, time);
    }
}

impl<'e> OwnCommands<'e> for WgpuVisitor<'e> {
    fn clear(&mut self, block: &'e Arc<Block>, range: Range<u64>) {
        let size = range.end - range.start;
        self.passes.encoder().clear_buffer(block.wgpu_buffer(), range.start, Some(size));
    }

    fn copy_rows(&mut self, copy: &'e RegionCopy) {
        let src = copy.src.block.wgpu_buffer();
        let dst = copy.dst.block.wgpu_buffer();
        for (from, to) in copy.rows.iter() {
            self.passes.encoder().copy_buffer_to_buffer(src, from, dst, to, Some(copy.rows.row));
        }
    }
}

impl<'e> OwnDispatches<'e> for WgpuVisitor<'e> {
    fn caps(&self) -> &'e Caps {
        self.passes.device.caps()
    }

    fn dispatch_own(&mut self, dispatch: &OwnDispatch<'_, 'e>) -> Result<()> {
        let device = self.passes.device;
        let compile = |recipe: &PipelineDescriptor<'_>| WgpuPipeline::new(device.compile_target(), recipe);
        let pipeline = self.kernels.get_or_compile(dispatch.kernel, compile)?;
        let dispatch = WgpuDispatch {
            pipeline: &pipeline,
            params: dispatch.params,
            parts: dispatch.ranges.iter().map(OwnRange::bound),
            size: dispatch.groups.count(Block::wgpu_buffer),
        };
        self.passes.dispatch(&dispatch, false) // every binding of these kernels is writable
    }
}

impl Recorder for WgpuRecorder {
    fn submit(
        &mut self,
        steps: &Arc<Vec<Step>>,
        _waits: &[LaneValue], // the device has no other lane
        signal: TimelineValue,
    ) -> Result<KeptResources, SubmitFailure> {
        let submitter = self.submitter.clone();
        let record = |part: &[Step]| match submitter::of(part) {
            Some(commands) => submitter::send(submitter.device(), commands)
                .map(|rest| (rest, WgpuBatchResources::default())),
            None => self.record(part, signal),
        };
        let submitted = submitter.submit_steps(steps, signal, record, downloads);
        let kept = submitted.map_err(|failure| attribute(submitter.device(), steps, failure))?;
        let is_nothing = |(transfers, (pages, copies)): &WgpuBatchResources| {
            transfers.is_none() && pages.is_empty() && copies.is_empty()
        };
        let nothing = kept.iter().all(is_nothing);
        Ok((!nothing).then(|| Box::new(kept) as Box<dyn Send>))
    }
}

/// Returns the download buffers of a batch or a part of it, which wgpu maps for the host.
fn downloads((kept, _): &WgpuBatchResources) -> &[crate::record::transfers::DownloadBuffer] {
    kept.as_ref().map_or(&[], |kept| &kept.downloads)
}

/// Returns `true` if the batch has launches and graphs of more than one queue, or a graph with several queues. Then
/// separate passes for each level pay off.
fn several_queues(steps: &[Step]) -> bool {
    let forks = |step: &Step| matches!(&step.work, Work::Graph(graph) if graph.has_several_queues());
    if steps.iter().any(forks) {
        return true;
    }
    let launches = |step: &&Step| matches!(step.work, Work::Launch(_) | Work::Graph(_));
    let mut launches = steps.iter().filter(launches).map(|step| step.slot);
    launches.next().is_some_and(|first| launches.any(|slot| slot != first))
}

/// Records a launch. If an indirect launch may write its own group counts, or the device cannot read counts from there,
/// they are copied first.
#[inline]
fn record_launch(
    passes: &mut Passes<'_>,
    transfers: &mut WgpuTransfers,
    launch: &Launch,
    params: &ParamsBlock,
) -> Result<()> {
    let pipeline = launch.pipeline::<WgpuPipeline>();
    let counts;
    let size = match &launch.indirect {
        None if launch.groups.contains(&0) => return Ok(()),
        None => GroupCount::Fixed(launch.groups),
        Some(span) if writes(launch, pipeline, span) || !readable(span) => {
            counts = transfers.copy_group_counts(passes, span)?;
            GroupCount::Indirect(&counts, 0)
        }
        Some(span) => GroupCount::Indirect(span.block.wgpu_buffer(), span.offset),
    };
    let dispatch = WgpuDispatch { pipeline, params: params.words(), parts: bound_ranges(launch), size };
    passes.dispatch(&dispatch, pipeline.mixes(&launch.bindings))
}

/// Returns `true` if the launch binds the block of its group counts to a writable binding.
fn writes(launch: &Launch, pipeline: &WgpuPipeline, span: &Span) -> bool {
    let bindings = launch.bindings.iter().enumerate();
    let mut same = bindings.filter(|(_, bound)| Arc::ptr_eq(&bound.block, &span.block));
    same.any(|(at, _)| pipeline.binding(at).1 || pipeline.mixes(&launch.bindings))
}

/// Returns `true` if the device can read group counts from `span`. External buffers may lack the usage for that.
fn readable(span: &Span) -> bool {
    span.block.wgpu_buffer().usage().contains(wgpu::BufferUsages::INDIRECT)
}

/// Makes the writes to these buffers visible to the host.
fn publish<'a>(passes: &mut Passes<'_>, buffers: impl Iterator<Item = &'a wgpu::Buffer>) {
    let state = wgpu::BufferUses::MAP_READ;
    let mut transitions = buffers.map(|buffer| wgpu::wgt::BufferTransition { buffer, state }).peekable();
    if transitions.peek().is_some() {
        passes.encoder().transition_resources(transitions, std::iter::empty());
    }
}

/// Records the copies of all parameters into the uniform pages. The copies come before the steps.
fn load_parameters(
    device: &WgpuDevice,
    uniforms: &Uniforms,
    transfers: &mut WgpuTransfers,
) -> Result<Option<wgpu::CommandBuffer>> {
    if uniforms.bytes().is_empty() {
        return Ok(None);
    }
    let (staging, offset) = transfers.parameters(device, uniforms.bytes())?;
    let mut encoder = device.encoder("parameters");
    uniforms.load(&mut encoder, &staging, offset);
    Ok(Some(encoder.finish()))
}
