//! Batches on wgpu alone: safe, portable, the browser's too.

mod fence;
mod fill;
mod passes;
mod portable;
mod transfer;
mod uniforms;

pub(crate) use crate::lane::WgpuPipeline;
pub(crate) use fence::LaneFence;

use super::{Failure, Keep, KeepAlive, LaneValue, Recorder};
use crate::command::{Launch, Span, Step, Work};
use crate::error::{Error, Kind, Result};
use crate::kernel::Pipeline;
use crate::lane::{BindGroups, Device as _, Doing, WgpuDevice, scoped};
use fencepost_sync::Value;
use fill::FillKernel;
use passes::{CommandBuffers, Dispatch, Part, Passes, Size, buffer_of};
use smallvec::SmallVec;
use std::sync::Arc;
use transfer::{Kept, Transfers};
use uniforms::Uniforms;

/// Records the batches of one lane of a wgpu device.
pub(crate) struct WgpuRecorder {
    device: Arc<WgpuDevice>,
    /// The fences of all lanes; `lane` is the own one.
    fences: Vec<LaneFence>,
    lane: usize,
    /// The order of the steps being recorded; kept for its memory.
    order: Vec<usize>,
    uniforms: Uniforms,
    transfers: Transfers,
    fill: FillKernel,
}

/// A batch, recorded.
struct Recorded {
    /// The copies of parameters, if there are any, then the steps.
    commands: CommandBuffers,
    kept: Option<Kept>,
}

impl WgpuRecorder {
    pub(crate) fn new(device: Arc<WgpuDevice>, fence: LaneFence) -> Self {
        let (uniforms, transfers) = (Uniforms::new(device.raw()), Transfers::new(&device));
        let (order, fill) = Default::default();
        Self { device, fences: vec![fence], lane: 0, order, uniforms, transfers, fill }
    }

    fn record(&mut self, steps: &[Step], signal: Value) -> Result<Recorded, Failure> {
        self.sort(steps);
        self.uniforms.reset();
        let device = self.device.clone();
        let recorded = device.with_groups(|groups| self.record_steps(&device, groups, steps, signal));
        let kept = self.transfers.finish();
        Ok(Recorded { commands: recorded?, kept })
    }

    /// Levels first, then the order of the calls.
    fn sort(&mut self, steps: &[Step]) {
        self.order.clear();
        self.order.extend(0..steps.len());
        self.order.sort_unstable_by_key(|&at| (steps[at].level, steps[at].stamp, at));
    }

    fn record_steps(
        &mut self,
        device: &WgpuDevice,
        groups: &mut BindGroups,
        steps: &[Step],
        signal: Value,
    ) -> Result<CommandBuffers, Failure> {
        let Self { fences, lane, order, uniforms, transfers, fill, .. } = self;
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
                Work::Fill { dst, pattern } => fill.record(&mut passes, dst, pattern),
                Work::Upload { src, dst } => transfers.upload(&mut passes, src, dst),
                Work::Read { src, slot } => transfers.read(&mut passes, src, slot, (&fences[*lane], signal)),
                Work::Publish(block) => {
                    published.extend(block.view().map(|_| buffer_of(block)));
                    Ok(())
                }
                Work::Nothing => Ok(()),
            };
            outcome.map_err(|error| Failure { step: Some(at), error, lost: false })?;
        }
        publish(&mut passes, published.into_iter().chain(transfers.published()));
        let steps = passes.finish();
        let head = load_parameters(device, uniforms, transfers);
        let head = head.map_err(|error| Failure { step: None, error, lost: false })?;
        Ok(head.into_iter().chain(steps).collect())
    }

    /// Stages what the submission waits for and signals; `false` if the device is gone.
    fn stage(&self, waits: &[LaneValue], signal: Value) -> bool {
        let queue = self.device.queue();
        waits.iter().all(|wait| self.fences[wait.lane].stage_wait(queue, wait.value))
            && self.fences[self.lane].stage_signal(queue, signal)
    }

    /// Takes all that back; `false` if the submission went through.
    fn unstage(&self, waits: &[LaneValue], signal: Value) -> bool {
        let queue = self.device.queue();
        waits.iter().for_each(|wait| self.fences[wait.lane].unstage_wait(queue));
        self.fences[self.lane].unstage_signal(queue, signal)
    }

    fn record_and_submit(
        &mut self,
        steps: &[Step],
        waits: &[LaneValue],
        signal: Value,
    ) -> Result<Option<Kept>, Failure> {
        let Recorded { commands, kept } = self.record(steps, signal)?;
        if !self.stage(waits, signal) {
            return Err(self.failure(None, true));
        }
        self.device.queue().submit(commands);
        Ok(kept)
    }

    /// What went wrong, as the scheduler wants to know it.
    fn failure(&self, error: Option<&wgpu::Error>, gone: bool) -> Failure {
        let lost = self.device.lost();
        if gone {
            lost.raise("wgpu no longer knows the device");
        }
        let error: Error = match (lost.check(), error) {
            (Err(lost), _) => {
                Kind::DeviceLost { device: self.device.caps().adapter.clone(), reason: lost.reason }.into()
            }
            (Ok(()), Some(error)) => Doing { object: "a submission", bytes: 0 }.failed(error),
            (Ok(()), None) => {
                Kind::Device { object: "a submission".into(), message: "no reason given".into() }.into()
            }
        };
        Failure { step: None, error, lost: lost.is_raised() }
    }
}

impl Recorder for WgpuRecorder {
    fn submit(
        &mut self,
        steps: &Arc<Vec<Step>>,
        waits: &[LaneValue],
        signal: Value,
    ) -> Result<Keep, Failure> {
        if self.device.lost().is_raised() {
            return Err(self.failure(None, false));
        }
        let device = self.device.clone();
        let _inside = device.gate().enter();
        let (outcome, error) = scoped(device.raw(), || self.record_and_submit(steps, waits, signal));
        if error.is_some() {
            device.with_groups(BindGroups::clear); // one that could not be made may be among them
        }
        let kept = match outcome {
            Err(_) if device.lost().is_raised() => return Err(self.failure(None, false)),
            outcome => outcome?,
        };
        if error.is_some() || device.lost().is_raised() {
            let taken_back = self.unstage(waits, signal);
            if taken_back || device.lost().is_raised() {
                return Err(self.failure(error.as_ref(), false));
            }
            log::error!("wgpu complained about a submission that went through: {error:?}");
        }
        if self.fences[self.lane].swallowed(device.queue(), signal) {
            return Err(self.failure(None, true));
        }
        let downloads = kept.as_ref().map_or(&[][..], |kept| &kept.downloads);
        self.fences[self.lane].arm(device.queue(), signal, downloads);
        Ok(kept.map(|kept| Box::new(kept) as Box<dyn KeepAlive>))
    }
}

/// Whether launches of more than one queue come together: then levels are worth passes of their own.
fn several_queues(steps: &[Step]) -> bool {
    let mut launches = steps.iter().filter(|step| matches!(step.work, Work::Launch(_))).map(|step| step.slot);
    launches.next().is_some_and(|first| launches.any(|slot| slot != first))
}

fn record_launch(passes: &mut Passes<'_>, transfers: &mut Transfers, launch: &Launch) -> Result<()> {
    let Pipeline::Wgpu(pipeline) = &launch.kernel.pipeline else {
        unreachable!("bug: kernel `{}` is the CPU recorder's", launch.kernel.name)
    };
    let aside;
    let size = match &launch.indirect {
        None if launch.groups.contains(&0) => return Ok(()),
        None => Size::Groups(launch.groups),
        Some(span) if writes(launch, pipeline, span) => {
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

/// Whether a launch binds the block that its size is read from to a writable binding.
fn writes(launch: &Launch, pipeline: &WgpuPipeline, span: &Span) -> bool {
    let bindings = launch.bindings.iter().enumerate();
    let mut same = bindings.filter(|(_, bound)| Arc::ptr_eq(&bound.block, &span.block));
    same.any(|(at, _)| pipeline.binding(at).1 || mixed(launch, pipeline))
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
    transfers: &mut Transfers,
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
