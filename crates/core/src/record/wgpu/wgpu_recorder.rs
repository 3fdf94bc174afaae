//! Batches on wgpu alone: safe, portable, the browser's too.

use crate::device::bind_groups::BindGroups;
use crate::device::recorder::{Failure, Keep, KeepAlive, LaneValue, Recorder, sort};
use crate::device::wgpu_device::WgpuDevice;
use crate::device::wgpu_pipeline::WgpuPipeline;
use crate::error::Result;
use crate::record::external_blocks::blame;
use crate::record::lane_fence::LaneFence;
use crate::record::program_commands as encoded;
use crate::record::submitter::Submitter;
use crate::record::wgpu::passes::{CommandBuffers, Dispatch, Part, Passes, Size, buffer_of};
use crate::record::wgpu::uniforms::Uniforms;
use crate::record::wgpu::wgpu_fill::FillKernel;
use crate::record::wgpu::wgpu_regions::WgpuRegionKernels;
use crate::record::wgpu::wgpu_times::WgpuTimePages;
use crate::record::wgpu::wgpu_transfers::WgpuTransfers;
use crate::work::compiled_kernel::Pipeline;
use crate::work::kernel_launch::Launch;
use crate::work::span::Span;
use crate::work::step::{Step, Work};
use fencepost_sync::Value;
use smallvec::SmallVec;
use std::sync::Arc;

/// Records the batches of one lane of a wgpu device.
pub(crate) struct WgpuRecorder {
    submitter: Submitter,
    /// The order of the steps being recorded; kept for its memory.
    order: Vec<usize>,
    uniforms: Uniforms,
    transfers: WgpuTransfers,
    times: WgpuTimePages,
    fill: FillKernel,
    regions: WgpuRegionKernels,
}

/// A batch, recorded.
struct RecordedBatch {
    /// The copies of parameters, if there are any, then the steps.
    commands: CommandBuffers,
    kept: WgpuBatchResources,
}

/// What must live until a submission is complete, if anything.
type WgpuBatchResources = (
    Option<crate::record::wgpu::wgpu_transfers::WgpuTransferResources>,
    Vec<crate::record::wgpu::wgpu_times::WgpuTimePage>,
);

impl WgpuRecorder {
    pub(crate) fn new(device: Arc<WgpuDevice>, fence: LaneFence) -> Self {
        let (uniforms, transfers) = (Uniforms::new(device.raw()), WgpuTransfers::new(&device));
        let (order, times, fill, regions) = Default::default();
        let submitter = Submitter::new(device, fence);
        Self { submitter, order, uniforms, transfers, times, fill, regions }
    }

    fn record(&mut self, steps: &[Step], signal: Value) -> Result<RecordedBatch, Failure> {
        sort(&mut self.order, steps);
        self.uniforms.reset();
        self.times.reset();
        let device = self.submitter.device().clone();
        let recorded = device.with_groups(|groups| self.record_steps(&device, groups, steps, signal));
        let kept = self.transfers.finish();
        let (commands, pages) = recorded?;
        Ok(RecordedBatch { commands, kept: (kept, pages) })
    }

    fn record_steps(
        &mut self,
        device: &WgpuDevice,
        groups: &mut BindGroups,
        steps: &[Step],
        signal: Value,
    ) -> Result<(CommandBuffers, Vec<crate::record::wgpu::wgpu_times::WgpuTimePage>), Failure> {
        let Self { submitter, order, uniforms, transfers, times, fill, regions } = self;
        let side_by_side = several_queues(steps);
        let mut passes = Passes::new(device, groups, uniforms);
        let mut level = None;
        let mut published: SmallVec<[&wgpu::Buffer; 8]> = SmallVec::new();
        for &at in order.iter() {
            let step = &steps[at];
            if side_by_side && level.replace(step.level) != Some(step.level) {
                passes.end_pass(); // what the next level waits for is one barrier then
            }
            let outcome = match &step.work {
                Work::Launch(launch) => record_launch(&mut passes, transfers, launch),
                Work::Copy { src, dst } => transfers.copy(&mut passes, src, dst),
                Work::Region(copy) => regions.record(&mut passes, copy),
                Work::Fill { dst, pattern } => fill.record(&mut passes, dst, pattern),
                Work::Upload { src, dst } => transfers.upload(&mut passes, src.staged(), dst),
                Work::Read { src, slot } => {
                    transfers.read(&mut passes, src, slot, (submitter.fence(), signal))
                }
                Work::Publish(block) => {
                    published.extend(block.view().map(|_| buffer_of(block)));
                    Ok(())
                }
                Work::Start(time) => {
                    crate::record::wgpu::wgpu_times::start(times, &mut passes, step.level, time);
                    Ok(())
                }
                Work::End(_) => {
                    passes.end_time();
                    Ok(())
                }
                Work::WgpuCommands(_) => encoded::unreachable_commands(),
                Work::Behind | Work::Nothing => Ok(()),
            };
            outcome.map_err(|error| Failure { step: Some(at), error, lost: false })?;
        }
        let whole = |error| Failure { step: None, error, lost: false };
        let pages = crate::record::wgpu::wgpu_times::finish(
            times,
            &mut passes,
            transfers,
            (submitter.fence(), signal),
        )
        .map_err(whole)?;
        publish(&mut passes, published.into_iter().chain(transfers.published()));
        let steps = passes.finish();
        let head = load_parameters(device, uniforms, transfers).map_err(whole)?;
        Ok((head.into_iter().chain(steps).collect(), pages))
    }
}

impl Recorder for WgpuRecorder {
    fn submit(
        &mut self,
        steps: &Arc<Vec<Step>>,
        _waits: &[LaneValue], // there is one lane
        signal: Value,
    ) -> Result<Keep, Failure> {
        let submitter = self.submitter.clone();
        let record = || match encoded::commands(steps) {
            Some(commands) => {
                encoded::send(submitter.device(), commands).map(|rest| (rest, WgpuBatchResources::default()))
            }
            None => self.record(steps, signal).map(|RecordedBatch { commands, kept }| (commands, kept)),
        };
        let submitted = submitter.submit(signal, record, downloads);
        let kept = submitted.map_err(|failure| blame(submitter.device(), steps, failure))?;
        let nothing = kept.0.is_none() && kept.1.is_empty();
        Ok((!nothing).then(|| Box::new(kept) as Box<dyn KeepAlive>))
    }
}

/// What the host reads of a submission through maps of wgpu's.
fn downloads((kept, _): &WgpuBatchResources) -> &[crate::record::mapped_buffers::DownloadBuffer] {
    kept.as_ref().map_or(&[], |kept| &kept.downloads)
}

/// Whether launches of more than one queue come together: then levels are worth passes of their own.
fn several_queues(steps: &[Step]) -> bool {
    let mut launches = steps.iter().filter(|step| matches!(step.work, Work::Launch(_))).map(|step| step.slot);
    launches.next().is_some_and(|first| launches.any(|slot| slot != first))
}

fn record_launch(passes: &mut Passes<'_>, transfers: &mut WgpuTransfers, launch: &Launch) -> Result<()> {
    let pipeline = pipeline_of(launch);
    let aside;
    let size = match &launch.indirect {
        None if launch.groups.contains(&0) => return Ok(()),
        None => Size::Groups(launch.groups),
        Some(span) if writes(launch, pipeline, span) || !readable(span) => {
            aside = transfers.aside(passes, span)?;
            Size::Indirect(&aside, 0)
        }
        Some(span) => Size::Indirect(buffer_of(&span.block), span.offset),
    };
    let bindings = launch.bindings.iter();
    let parts: SmallVec<[Part<'_>; 8]> =
        bindings.map(|b| Part { block: &b.block, offset: b.offset, size: b.size }).collect();
    let mixed = pipeline.both_ways() && mixed(launch, pipeline);
    passes.dispatch(&Dispatch { pipeline, mixed, params: launch.params.bytes(), parts: &parts, size })
}

/// # Panics
/// If the kernel was compiled for another recorder: a bug.
fn pipeline_of(launch: &Launch) -> &WgpuPipeline {
    let found = match &launch.kernel().pipeline {
        Pipeline::Device(pipeline) => pipeline.downcast_ref(),
        Pipeline::Host(_) => None,
    };
    found.expect("bug: a kernel of another recorder")
}

/// Whether a launch binds the block that its size is read from to a writable binding.
fn writes(launch: &Launch, pipeline: &WgpuPipeline, span: &Span) -> bool {
    let bindings = launch.bindings.iter().enumerate();
    let mut same = bindings.filter(|(_, bound)| Arc::ptr_eq(&bound.block, &span.block));
    same.any(|(at, _)| pipeline.binding(at).1 || mixed(launch, pipeline))
}

/// Whether a size can be read from where it lies: a buffer of the program's own may not be meant for that.
fn readable(span: &Span) -> bool {
    buffer_of(&span.block).usage().contains(wgpu::BufferUsages::INDIRECT)
}

/// Whether a launch binds one block both to a readable and to a writable binding.
fn mixed(launch: &Launch, pipeline: &WgpuPipeline) -> bool {
    let bindings = &launch.bindings;
    (0..bindings.len()).any(|a| {
        let differs = |b: usize| pipeline.binding(a).1 != pipeline.binding(b).1;
        (0..a).any(|b| differs(b) && Arc::ptr_eq(&bindings[a].block, &bindings[b].block))
    })
}

/// Makes what was written to these buffers visible to the host.
fn publish<'a>(passes: &mut Passes<'_>, buffers: impl Iterator<Item = &'a wgpu::Buffer>) {
    let state = wgpu::BufferUses::MAP_READ;
    let mut transitions = buffers.map(|buffer| wgpu::wgt::BufferTransition { buffer, state }).peekable();
    if transitions.peek().is_some() {
        passes.encoder().transition_resources(transitions, std::iter::empty());
    }
}

/// The copies of all parameters into the uniform ring, which come before the steps.
fn load_parameters(
    device: &WgpuDevice,
    uniforms: &Uniforms,
    transfers: &mut WgpuTransfers,
) -> Result<Option<wgpu::CommandBuffer>> {
    if uniforms.bytes().is_empty() {
        return Ok(None);
    }
    let (staging, offset) = transfers.parameters(device, uniforms.bytes())?;
    let mut encoder =
        device.raw().create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("parameters") });
    uniforms.load(&mut encoder, &staging, offset);
    Ok(Some(encoder.finish()))
}
