//! Batches through wgpu-hal: barriers of our own, on memory of our own, in encoders that wgpu submits.

mod calls;
mod hazards;
mod indirect;
mod transfer;

use super::wgpu::LaneFence;
use super::wgpu::fill::{self, PIECE, WORDS_EACH, WORKGROUP};
use super::wgpu::submitter::Submitter;
use super::{Failure, Keep, KeepAlive, LaneValue, Recorder, sort};
use crate::command::{Bound, Launch, Pattern, Span, Step, Work};
use crate::error::{Kind, Result};
use crate::kernel::Pipeline;
use crate::lane::{Bind, BindGroups, Carry, Device as _, Group, HalPipeline, Key, WgpuDevice, WgpuMemory};
use crate::memory::{Block, Memory, Piece};
use calls::{Calls, Size};
use fencepost_sync::Value;
use hazards::Touch;
use indirect::Sizes;
use smallvec::SmallVec;
use std::sync::Arc;
use transfer::Transfers;
use wgpu::BufferUses as Uses;
use wgpu::hal;

/// Records the batches of one lane.
pub(crate) struct HalRecorder<A: hal::Api> {
    submitter: Submitter,
    /// The order of the steps being recorded; kept for its memory.
    order: Vec<usize>,
    groups: BindGroups<Arc<Group<A>>>,
    transfers: Transfers,
    sizes: Sizes<A>,
    fill: Option<Arc<HalPipeline<A>>>,
}

/// What must live until a submission is complete.
struct Kept<A: hal::Api> {
    _groups: Vec<Arc<Group<A>>>,
    _transfers: transfer::Kept,
    /// Kernels of our own in it.
    _pipelines: Vec<Arc<HalPipeline<A>>>,
    _uniforms: Vec<Piece<WgpuMemory>>,
}

/// A batch while it is recorded.
struct Batch<'e, A: hal::Api> {
    device: &'e WgpuDevice,
    calls: Calls<'e, A>,
    groups: &'e mut BindGroups<Arc<Group<A>>>,
    kept: Vec<Arc<Group<A>>>,
    pipelines: Vec<Arc<HalPipeline<A>>>,
    uniforms: Vec<Piece<WgpuMemory>>,
    key: Key,
}

/// A dispatch, resolved to blocks.
struct Dispatch<'a, A: hal::Api> {
    pipeline: &'a HalPipeline<A>,
    params: &'a [u8],
    parts: &'a [Part<'a>],
    size: Size<'a, A>,
}

/// What is bound, in the order of the interface.
#[derive(Clone, Copy)]
struct Part<'a> {
    block: &'a Block,
    offset: u64,
    size: u64,
}

impl<A: hal::Api> HalRecorder<A> {
    pub(crate) fn new(device: Arc<WgpuDevice>, fence: LaneFence) -> Self {
        let (order, groups, transfers, sizes, fill) = Default::default();
        Self { submitter: Submitter::new(device, fence), order, groups, transfers, sizes, fill }
    }

    fn record(&mut self, steps: &[Step], signal: Value) -> Result<(wgpu::CommandBuffer, Kept<A>), Failure> {
        sort(&mut self.order, steps);
        let submitter = self.submitter.clone();
        let device = submitter.device();
        device.take_gone(|block| self.groups.forget(block));
        let commands =
            |encoder: &mut A::CommandEncoder| self.record_steps(&submitter, encoder, steps, signal);
        match calls::record::<A, _>(device.raw(), commands) {
            None => Err(self.submitter.failure(None, true)),
            Some((commands, outcome)) => Ok((commands, outcome?)),
        }
    }

    fn record_steps<'e>(
        &'e mut self,
        submitter: &'e Submitter,
        encoder: &'e mut A::CommandEncoder,
        steps: &'e [Step],
        signal: Value,
    ) -> Result<Kept<A>, Failure> {
        let Self { order, groups, transfers, sizes, fill, .. } = self;
        let device = &**submitter.device();
        let key = Key { layout: crate::lane::LayoutId::none(), parts: SmallVec::new() };
        let (kept, pipelines, uniforms) = Default::default();
        let mut batch = Batch { device, calls: Calls::new(encoder), groups, kept, pipelines, uniforms, key };
        let mut published: SmallVec<[&A::Buffer; 8]> = SmallVec::new();
        sizes.reset();
        for &at in order.iter() {
            let outcome = match &steps[at].work {
                Work::Launch(launch) => batch.launch(sizes, launch),
                Work::Copy { src, dst } => transfers.copy(&mut batch, src, dst),
                Work::Fill { dst, pattern } => batch.fill(fill, dst, pattern),
                Work::Upload { src, dst } => transfers.upload(&mut batch, src, dst),
                Work::Read { src, slot } => {
                    transfers.read(&mut batch, src, slot, (submitter.fence(), signal))
                }
                Work::Publish(block) => {
                    published.push(buffer_of::<A>(block));
                    Ok(())
                }
                Work::Nothing => Ok(()),
            };
            if let Err(error) = outcome {
                batch.calls.end_pass();
                transfers.finish();
                return Err(Failure { step: Some(at), error, lost: false });
            }
        }
        let Batch { mut calls, kept, pipelines, uniforms, .. } = batch;
        calls.publish(published.into_iter().chain(transfers.published::<A>()));
        Ok(Kept { _groups: kept, _transfers: transfers.finish(), _pipelines: pipelines, _uniforms: uniforms })
    }
}

impl<A: hal::Api> Recorder for HalRecorder<A> {
    fn submit(
        &mut self,
        steps: &Arc<Vec<Step>>,
        waits: &[LaneValue],
        signal: Value,
    ) -> Result<Keep, Failure> {
        let submitter = self.submitter.clone();
        let record =
            || self.record(steps, signal).map(|(commands, kept)| ([commands].into_iter().collect(), kept));
        let kept = submitter.submit(waits, signal, record, |_| &[])?;
        Ok(Some(Box::new(kept) as Box<dyn KeepAlive>))
    }
}

impl<'e, A: hal::Api> Batch<'e, A> {
    fn launch(&mut self, sizes: &mut Sizes<A>, launch: &'e Launch) -> Result<()> {
        let pipeline = pipeline_of::<A>(launch);
        if launch.indirect.is_none() && launch.groups.contains(&0) {
            return Ok(());
        }
        let limited = launch.indirect.as_ref().map(|span| sizes.limit(self, span)).transpose()?;
        let touches: SmallVec<[Touch<&A::Buffer>; 8]> =
            launch.bindings.iter().filter_map(touch::<A>).collect();
        self.calls.admit(&touches);
        let parts: SmallVec<[Part<'_>; 8]> = launch
            .bindings
            .iter()
            .map(|b| Part { block: &b.block, offset: b.offset, size: b.size })
            .collect();
        let size = match &limited {
            None => Size::Groups(launch.groups),
            Some((block, offset)) => Size::Indirect(buffer_of::<A>(block), *offset),
        };
        self.dispatch(&Dispatch { pipeline, params: launch.params.bytes(), parts: &parts, size })
    }

    fn fill(
        &mut self,
        kernel: &mut Option<Arc<HalPipeline<A>>>,
        dst: &'e Span,
        pattern: &Pattern,
    ) -> Result<()> {
        let size = dst.size.next_multiple_of(4);
        let (block, buffer) = (dst.block.id, buffer_of::<A>(&dst.block));
        if pattern.is_zero() {
            self.calls.admit(&[Touch { block, buffer, uses: Uses::COPY_DST, write: true }]);
            self.calls.clear(buffer, dst.offset..dst.offset + size);
            return Ok(());
        }
        self.calls.admit(&[Touch { block, buffer, uses: Uses::STORAGE_READ_WRITE, write: true }]);
        let pipeline = self.own(kernel, |device| {
            fill::with_recipe(|recipe| HalPipeline::new(device.raw(), device.caps(), recipe))
        })?;
        let caps = self.device.caps();
        for piece in fill::pieces(dst.offset, size, caps.binding_alignment, PIECE.min(caps.max_binding)) {
            let groups = u64::from(piece.count).div_ceil(WORKGROUP * WORDS_EACH) as u32;
            self.dispatch(&Dispatch {
                pipeline: &pipeline,
                params: &fill::params(pattern, piece),
                parts: &[Part { block: &dst.block, offset: piece.offset, size: piece.size }],
                size: Size::Groups([groups, 1, 1]),
            })?;
        }
        Ok(())
    }

    /// A kernel of the recorder's own, compiled when it is first needed and kept as long as a batch uses it.
    fn own(
        &mut self,
        kernel: &mut Option<Arc<HalPipeline<A>>>,
        compile: impl FnOnce(&WgpuDevice) -> Result<HalPipeline<A>>,
    ) -> Result<Arc<HalPipeline<A>>> {
        let made = match kernel.take() {
            Some(made) => made,
            None => Arc::new(compile(self.device)?),
        };
        self.pipelines.push(made.clone());
        Ok(kernel.insert(made).clone())
    }

    fn dispatch(&mut self, dispatch: &Dispatch<'_, A>) -> Result<()> {
        let carry = dispatch.pipeline.carry;
        let uniform = matches!(carry, Carry::Uniform { .. });
        let group = if uniform { self.with_uniform(dispatch)? } else { self.cached(dispatch)? };
        let immediates: SmallVec<[u32; 32]> = match carry {
            Carry::Immediates => bytemuck::pod_collect_to_vec::<u8, u32>(dispatch.params).into(),
            _ => SmallVec::new(),
        };
        let offsets: &[u32] = if uniform { &[0] } else { &[] };
        self.calls.dispatch(dispatch.pipeline, &group, offsets, &immediates, &dispatch.size);
        self.kept.push(group);
        Ok(())
    }

    /// A group with the values of this launch in memory of their own.
    fn with_uniform(&mut self, dispatch: &Dispatch<'_, A>) -> Result<Arc<Group<A>>> {
        let piece = transfer::staged(self.device, dispatch.params)?;
        let group = self.make(dispatch, Some(&piece));
        self.uniforms.push(piece);
        group
    }

    /// The group of what is bound, made once.
    fn cached(&mut self, dispatch: &Dispatch<'_, A>) -> Result<Arc<Group<A>>> {
        self.key.layout = dispatch.pipeline.id;
        self.key.parts.clear();
        self.key.parts.extend(dispatch.parts.iter().map(|part| (part.block.id, part.offset, part.size)));
        if let Some(group) = self.groups.known(&self.key) {
            return Ok(group.clone());
        }
        let group = self.make(dispatch, None)?;
        self.groups.get(&self.key, || group.clone());
        Ok(group)
    }

    fn make(&self, dispatch: &Dispatch<'_, A>, uniform: Option<&Piece<WgpuMemory>>) -> Result<Arc<Group<A>>> {
        let mut binds: SmallVec<[Bind<'_, A>; 8]> = SmallVec::new();
        for (part, &index) in dispatch.parts.iter().zip(&dispatch.pipeline.indices) {
            binds.push(Bind {
                index,
                buffer: buffer_of::<A>(part.block),
                offset: part.offset,
                size: part.size,
            });
        }
        if let (Some(piece), Carry::Uniform { index, size }) = (uniform, dispatch.pipeline.carry) {
            let (buffer, offset) = (native::<A>(piece.memory()), piece.offset());
            binds.push(Bind { index, buffer, offset, size: u64::from(size) });
        }
        dispatch.pipeline.group(&binds).map_err(|error| refused(&error).into())
    }
}

/// What a launch does to an argument; nothing if it is bound and not used.
fn touch<A: hal::Api>(bound: &Bound) -> Option<Touch<&A::Buffer>> {
    let write = bound.used?.writes();
    let buffer = buffer_of::<A>(&bound.block);
    Some(Touch { block: bound.block.id, buffer, uses: Uses::STORAGE_READ_WRITE, write })
}

fn refused(error: &hal::DeviceError) -> Kind {
    let object = "a bind group".to_owned();
    match error {
        hal::DeviceError::OutOfMemory => Kind::OutOfMemory { object, bytes: 0 },
        other => Kind::Device { object, message: other.to_string() },
    }
}

/// # Panics
/// If the kernel was compiled for another recorder: a bug.
fn pipeline_of<A: hal::Api>(launch: &Launch) -> &HalPipeline<A> {
    let found = match &launch.kernel.pipeline {
        Pipeline::Hal(pipeline) => pipeline.downcast_ref(),
        _ => None,
    };
    found.expect("bug: a kernel of another recorder")
}

/// # Panics
/// If the block is another recorder's: a bug.
fn buffer_of<A: hal::Api>(block: &Block) -> &A::Buffer {
    match &block.memory {
        Memory::Wgpu(memory) => native::<A>(memory),
        Memory::Host(_) => unreachable!("bug: {block:?} is the CPU recorder's"),
    }
}

/// # Panics
/// If the memory is wgpu's own: a bug.
fn native<A: hal::Api>(memory: &WgpuMemory) -> &A::Buffer {
    memory.view().and_then(|view| view.buffer::<A>()).expect("bug: memory that is not native")
}
