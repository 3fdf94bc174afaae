//! Batches through wgpu-hal: barriers of our own, on memory of our own, in encoders that wgpu submits.

use crate::device::Device as _;
use crate::device::bind_groups::{BindGroups, Key};
use crate::device::hal_pipeline::{Bind, Group, HalPipeline};
use crate::device::recorder::{Failure, Keep, KeepAlive, LaneValue, Recorder, sort};
use crate::device::wgpu_device::WgpuDevice;
use crate::device::wgpu_pipeline::Carry;
use crate::driver::backend::Backend;
use crate::error::{Kind, Result};
use crate::memory::block::{Block, Memory};
use crate::memory::staging::Piece;
use crate::memory::wgpu_memory::WgpuMemory;
use crate::record::external_blocks as foreign;
use crate::record::external_blocks::{Named, blame};
use crate::record::hal::barriers::Touch;
use crate::record::hal::direct::Direct;
use crate::record::hal::encoder::{Calls, Size};
use crate::record::hal::external_handles::Lent;
use crate::record::hal::external_state::Home;
use crate::record::hal::hal_regions::RegionKernels;
use crate::record::hal::hal_times::Times;
use crate::record::hal::hal_transfers::Transfers;
use crate::record::hal::indirect::Sizes;
use crate::record::hal::scratch::Scratch;
use crate::record::hal::zero_fill::Zeroed;
use crate::record::lane_fence::LaneFence;
use crate::record::program_commands as encoded;
use crate::record::submitter;
use crate::record::submitter::Submitter;
use crate::record::wgpu::passes::CommandBuffers;
use crate::record::wgpu::wgpu_fill as fill;
use crate::record::wgpu::wgpu_fill::{PIECE, WORDS_EACH, WORKGROUP};
use crate::work::compiled_kernel::Pipeline;
use crate::work::kernel_launch::Launch;
use crate::work::step::{Step, Work};
use crate::work::span::{Pattern, Span};
use fencepost_sync::Value;
use fencepost_sync::backend::{Fence, HalFence};
use smallvec::SmallVec;
use std::sync::Arc;
use wgpu::BufferUses as Uses;
use wgpu::hal;

/// Records the batches of one lane.
pub(crate) struct HalRecorder<A: Backend> {
    way: Arc<Way<A>>,
    /// The order of the steps being recorded; kept for its memory.
    order: Vec<usize>,
    groups: BindGroups<Arc<Group<A>>>,
    transfers: Transfers,
    sizes: Sizes<A>,
    times: Times<A>,
    /// Where the hazards of the next batch start.
    stretch: u64,
    /// For parameters, where the device does not read them from staging memory.
    uniforms: Scratch,
    fill: Option<Arc<HalPipeline<A>>>,
    regions: RegionKernels<A>,
    home: Home,
}

/// How batches get to the device.
enum Way<A: Backend> {
    /// In encoders and submissions of wgpu's.
    Wgpu(Submitter),
    Direct(Direct<A>),
}

impl<A: Backend> Way<A> {
    fn device(&self) -> &Arc<WgpuDevice> {
        match self {
            Way::Wgpu(submitter) => submitter.device(),
            Way::Direct(direct) => direct.device(),
        }
    }

    /// Has wgpu submit what the program has recorded, and the fence follow it.
    fn send(&self, commands: CommandBuffers, signal: Value) -> Result<Keep, Failure> {
        let record = || encoded::send(self.device(), commands).map(|rest| (rest, ()));
        match self {
            Way::Wgpu(submitter) => submitter.submit(signal, record, |()| &[])?,
            Way::Direct(direct) => submitter::submit(direct.device(), record, |()| direct.follow(signal))?,
        }
        Ok(None)
    }
}

/// What must live until a submission is complete.
struct Kept<A: Backend> {
    _groups: Vec<Arc<Group<A>>>,
    _transfers: crate::record::hal::hal_transfers::Kept,
    _times: Vec<crate::record::hal::hal_times::Page<A>>,
    /// Kernels of our own in it.
    _pipelines: Vec<Arc<HalPipeline<A>>>,
    _uniforms: Vec<Piece<WgpuMemory>>,
    zeroed: Zeroed,
}

/// A batch while it is recorded.
pub(crate) struct Batch<'e, A: Backend> {
    pub(crate) device: &'e WgpuDevice,
    pub(crate) lent: &'e Lent<A>,
    pub(crate) calls: Calls<'e, A>,
    pub(crate) groups: &'e mut BindGroups<Arc<Group<A>>>,
    pub(crate) kept: Vec<Arc<Group<A>>>,
    pub(crate) pipelines: Vec<Arc<HalPipeline<A>>>,
    pub(crate) uniforms: Vec<Piece<WgpuMemory>>,
    pub(crate) places: &'e mut Scratch,
    pub(crate) zeroed: Zeroed,
    /// What is being looked up, admitted, bound; kept for its memory.
    pub(crate) key: Key,
    pub(crate) touches: Vec<Touch<'e, &'e Block>>,
}

/// A dispatch, resolved to blocks.
pub(crate) struct Dispatch<'a, A: Backend, P> {
    pub(crate) pipeline: &'a HalPipeline<A>,
    pub(crate) params: &'a [u8],
    /// What is bound, in the order of the interface.
    pub(crate) parts: P,
    pub(crate) size: Size<'a, A>,
}

/// What a dispatch binds, part by part.
pub(crate) trait Parts<'p>: Iterator<Item = Part<'p>> + Clone {}
impl<'p, P: Iterator<Item = Part<'p>> + Clone> Parts<'p> for P {}

/// A range of a block.
#[derive(Clone, Copy)]
pub(crate) struct Part<'a> {
    pub(crate) block: &'a Block,
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

impl<A: Backend> HalRecorder<A> {
    /// A recorder whose batches wgpu submits.
    pub(crate) fn through_wgpu(device: Arc<WgpuDevice>, fence: LaneFence) -> Self {
        Self::new(Way::Wgpu(Submitter::new(device, fence)))
    }

    /// A recorder whose batches go past wgpu.
    pub(crate) fn direct(device: Arc<WgpuDevice>, fence: Arc<HalFence<A>>) -> Self {
        Self::new(Way::Direct(Direct::new(device, fence)))
    }

    fn new(way: Way<A>) -> Self {
        let (order, groups, transfers, sizes, times, fill, regions, home) = Default::default();
        let uniforms = Scratch::new(1, "parameters");
        let way = Arc::new(way);
        Self { way, order, groups, transfers, sizes, times, stretch: 0, uniforms, fill, regions, home }
    }

    /// Records through wgpu, which submits.
    fn by_wgpu(&mut self, submitter: &Submitter, steps: &[Step], signal: Value) -> Result<Kept<A>, Failure> {
        let (device, read) = (submitter.device(), (submitter.fence().shared(), signal));
        let named = foreign::named(device, steps);
        let kept = submitter.submit(signal, || self.encode(device, steps, &named, &read), |_| &[])?;
        Home::done(&named);
        Ok(kept)
    }

    /// Records a batch with buffers of the program's own through wgpu, which submits, and has the fence follow it.
    fn beside_wgpu(
        &mut self,
        direct: &Direct<A>,
        steps: &[Step],
        named: &[Named<'_>],
        signal: Value,
    ) -> Result<Kept<A>, Failure> {
        let (device, fence) = (direct.device(), direct.fence().clone());
        let read: (Arc<dyn Fence>, Value) = (fence, signal);
        let follow = |_: &Kept<A>| direct.follow(signal);
        let kept = submitter::submit(device, || self.encode(device, steps, named, &read), follow)?;
        Home::done(named);
        Ok(kept)
    }

    /// Records into an encoder of wgpu's, behind one that brings the program's own buffers home.
    fn encode(
        &mut self,
        device: &WgpuDevice,
        steps: &[Step],
        named: &[Named<'_>],
        read: &(Arc<dyn Fence>, Value),
    ) -> Result<(CommandBuffers, Kept<A>), Failure> {
        let home = self.home.commands(device, named);
        let commands = |encoder: &mut A::CommandEncoder| {
            let lent = Lent::of(named)?;
            self.record_steps(device, encoder, steps, named, &lent, read)
        };
        match crate::driver::hal_encoder::record::<A, _, _>(device.raw(), commands, || {
            Lent::<A>::check(named)
        }) {
            None => Err(submitter::failure(device, None, true)),
            Some(recorded) => {
                recorded.map(|(commands, kept)| (home.into_iter().chain([commands]).collect(), kept))
            }
        }
    }

    /// Records and submits past wgpu.
    fn past_wgpu(
        &mut self,
        direct: &Direct<A>,
        steps: &[Step],
        signal: Value,
    ) -> Result<(Kept<A>, Option<crate::record::hal::direct::Recorded<A>>), Failure> {
        let device = direct.device();
        let named = foreign::named(device, steps);
        if !named.is_empty() {
            return self.beside_wgpu(direct, steps, &named, signal).map(|kept| (kept, None));
        }
        if device.lost().is_raised() {
            return Err(direct.failure(&hal::DeviceError::Lost));
        }
        let _inside = device.gate().enter();
        let read: (Arc<dyn Fence>, Value) = (direct.fence().clone(), signal);
        let lent = Lent::none();
        let record =
            |encoder: &mut A::CommandEncoder| self.record_steps(device, encoder, steps, &named, &lent, &read);
        let (recorded, kept) = direct.record(record)?;
        direct.submit(Some(&recorded), signal)?;
        Ok((kept, Some(recorded)))
    }

    fn record_steps<'e>(
        &'e mut self,
        device: &'e WgpuDevice,
        encoder: &'e mut A::CommandEncoder,
        steps: &'e [Step],
        named: &'e [Named<'e>],
        lent: &'e Lent<A>,
        read: &(Arc<dyn Fence>, Value),
    ) -> Result<Kept<A>, Failure> {
        sort(&mut self.order, steps);
        device.take_gone(|block| self.groups.forget(block));
        let Self { order, groups, transfers, sizes, times, stretch, uniforms: places, fill, regions, .. } =
            self;
        let key = Key { layout: crate::device::wgpu_pipeline::LayoutId::none(), parts: Vec::new() };
        let (kept, pipelines, uniforms, zeroed, touches) = Default::default();
        let calls = Calls::new(encoder, lent, *stretch);
        let mut batch =
            Batch { device, lent, calls, groups, kept, pipelines, uniforms, places, zeroed, key, touches };
        named.iter().for_each(|(_, block)| batch.come_after(block));
        let mut published: SmallVec<[&A::Buffer; 8]> = SmallVec::new();
        sizes.reset();
        times.reset();
        batch.places.reset();
        for &at in order.iter() {
            let outcome = match &steps[at].work {
                Work::Launch(launch) => batch.launch(sizes, launch),
                Work::Copy { src, dst } => transfers.copy(&mut batch, src, dst),
                Work::Region(copy) => batch.region(regions, copy),
                Work::Fill { dst, pattern } => batch.fill(fill, dst, pattern),
                Work::Upload { src, dst } => transfers.upload(&mut batch, src.staged(), dst),
                Work::Read { src, slot } => transfers.read(&mut batch, src, slot, read),
                Work::Publish(block) => {
                    published.extend(block.view().map(|_| native_of::<A>(block)));
                    Ok(())
                }
                Work::Start(time) => {
                    crate::record::hal::hal_times::start(
                        times,
                        device,
                        &mut batch.calls,
                        (steps[at].level, time),
                    );
                    Ok(())
                }
                Work::End(_) => {
                    crate::record::hal::hal_times::end(times, &mut batch.calls);
                    Ok(())
                }
                Work::Encoded(_) => encoded::astray(),
                Work::Behind | Work::Nothing => Ok(()),
            };
            if let Err(error) = outcome {
                batch.calls.end_pass();
                *stretch = batch.calls.stretch();
                transfers.finish();
                return Err(Failure { step: Some(at), error, lost: false });
            }
        }
        let Batch { mut calls, kept, pipelines, uniforms, zeroed, .. } = batch;
        let timed = crate::record::hal::hal_times::finish(times, device, &mut calls, transfers, read);
        *stretch = calls.stretch();
        calls.publish(published.into_iter().chain(transfers.published::<A>()));
        let _transfers = transfers.finish();
        let _times = timed.map_err(|error| Failure { step: None, error, lost: false })?;
        Ok(Kept { _groups: kept, _transfers, _times, _pipelines: pipelines, _uniforms: uniforms, zeroed })
    }
}

impl<A: Backend> Recorder for HalRecorder<A> {
    fn submit(
        &mut self,
        steps: &Arc<Vec<Step>>,
        _waits: &[LaneValue], // there is one lane
        signal: Value,
    ) -> Result<Keep, Failure> {
        let way = self.way.clone();
        if let Some(commands) = encoded::commands(steps) {
            return way.send(commands, signal).map_err(|failure| blame(way.device(), steps, failure));
        }
        let keep: Box<dyn KeepAlive> = match &*way {
            Way::Wgpu(submitter) => {
                let submitted = self.by_wgpu(submitter, steps, signal);
                let mut kept = submitted.map_err(|failure| blame(submitter.device(), steps, failure))?;
                kept.zeroed.settle();
                Box::new(kept)
            }
            Way::Direct(direct) => {
                let submitted = self.past_wgpu(direct, steps, signal);
                let (mut kept, recorded) =
                    submitted.map_err(|failure| blame(direct.device(), steps, failure))?;
                kept.zeroed.settle();
                Box::new((kept, recorded))
            }
        };
        Ok(Some(keep))
    }
}

impl<'e, A: Backend> Batch<'e, A> {
    /// Orders what is recorded next behind what it depends on: what it uses of which blocks, and whether it writes.
    pub(crate) fn admit(&mut self, uses: &[(&'e Arc<Block>, Uses, bool)]) {
        self.touches.clear();
        for &(block, uses, write) in uses {
            self.touch(block, uses, write);
        }
        self.calls.admit(&self.touches);
    }

    pub(crate) fn buffer(&self, block: &'e Block) -> &'e A::Buffer {
        buffer_of(block, self.lent)
    }

    /// Has what is recorded come after what wgpu does to a block of the program's own at the head of the submission.
    fn come_after(&mut self, block: &'e Block) {
        let uses = Uses::STORAGE_READ_WRITE;
        let touch = Touch { block: block.id, mark: &block.mark, buffer: block, uses, write: true };
        self.calls.come_after(&touch);
    }

    /// Adds to what is admitted next. Memory that nobody has zeroed yet is.
    #[inline]
    fn touch(&mut self, block: &'e Arc<Block>, uses: Uses, write: bool) {
        let touch = Touch { block: block.id, mark: &block.mark, buffer: &**block, uses, write };
        if self.zeroed.take(block) {
            self.calls.admit(&[Touch { uses: Uses::COPY_DST, write: true, ..touch }]);
            self.calls.clear(self.buffer(block), 0..block.size);
        }
        self.touches.push(touch);
    }

    fn launch(&mut self, sizes: &mut Sizes<A>, launch: &'e Launch) -> Result<()> {
        let pipeline = pipeline_of::<A>(launch).form(&launch.bindings)?;
        if launch.indirect.is_none() && launch.groups.contains(&0) {
            return Ok(());
        }
        let limited = launch.indirect.as_ref().map(|span| sizes.limit(self, span)).transpose()?;
        self.touches.clear();
        for (at, bound) in launch.bindings.iter().enumerate() {
            if let Some((uses, write)) = pipeline.uses(at, bound) {
                self.touch(&bound.block, uses, write);
            }
        }
        self.calls.admit(&self.touches);
        let parts = launch.bindings.iter().map(|b| Part { block: &b.block, offset: b.offset, size: b.size });
        let size = match &limited {
            None => Size::Groups(launch.groups),
            Some((block, offset)) => Size::Indirect(native_of::<A>(block), *offset),
        };
        let done = self.dispatch(&Dispatch { pipeline, params: launch.params.bytes(), parts, size });
        if let Some((place, _)) = limited.as_ref().filter(|_| A::EXACT) {
            self.calls.separate(native_of::<A>(place), Uses::INDIRECT, Uses::STORAGE_READ_WRITE);
        }
        done
    }

    fn fill(
        &mut self,
        kernel: &mut Option<Arc<HalPipeline<A>>>,
        dst: &'e Span,
        pattern: &Pattern,
    ) -> Result<()> {
        let size = dst.size.next_multiple_of(4);
        if pattern.is_zero() {
            self.admit(&[(&dst.block, Uses::COPY_DST, true)]);
            self.calls.clear(self.buffer(&dst.block), dst.offset..dst.offset + size);
            return Ok(());
        }
        self.admit(&[(&dst.block, Uses::STORAGE_READ_WRITE, true)]);
        let pipeline =
            self.own(kernel, |device| fill::with_recipe(|recipe| HalPipeline::new(device, recipe)))?;
        let caps = self.device.caps();
        for piece in fill::pieces(dst.offset, size, caps.binding_alignment, PIECE.min(caps.max_binding)) {
            let groups = u64::from(piece.count).div_ceil(WORKGROUP * WORDS_EACH) as u32;
            self.dispatch(&Dispatch {
                pipeline: &pipeline,
                params: &fill::params(pattern, piece),
                parts: [Part { block: &dst.block, offset: piece.offset, size: piece.size }].into_iter(),
                size: Size::Groups([groups, 1, 1]),
            })?;
        }
        Ok(())
    }

    /// A kernel of the recorder's own, compiled when it is first needed and kept as long as a batch uses it.
    pub(crate) fn own(
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

    pub(crate) fn dispatch<'p, P: Parts<'p>>(&mut self, dispatch: &Dispatch<'_, A, P>) -> Result<()> {
        let carry = dispatch.pipeline.carry;
        let uniform = matches!(carry, Carry::Uniform { .. });
        let group = if uniform { self.with_uniform(dispatch)? } else { self.cached(dispatch)? };
        let unaligned;
        let immediates = match (carry, bytemuck::try_cast_slice(dispatch.params)) {
            (Carry::Immediates, Ok(words)) => words,
            (Carry::Immediates, Err(_)) => {
                unaligned = bytemuck::pod_collect_to_vec::<u8, u32>(dispatch.params);
                &unaligned[..]
            }
            _ => &[],
        };
        let offsets: &[u32] = if uniform { &[0] } else { &[] };
        self.calls.dispatch(dispatch.pipeline, &group, offsets, immediates, &dispatch.size);
        self.kept.push(group);
        Ok(())
    }

    /// A group with the values of this launch in memory of their own.
    fn with_uniform<'p, P: Parts<'p>>(&mut self, dispatch: &Dispatch<'_, A, P>) -> Result<Arc<Group<A>>> {
        let piece = crate::record::hal::hal_transfers::staged(self.device, dispatch.params)?;
        let staged = native::<A>(piece.memory());
        let group = if piece.memory().view().is_some() {
            self.make(dispatch, Some((staged, piece.offset())))
        } else {
            let size = dispatch.params.len().next_multiple_of(16) as u64;
            let (page, offset) = self.places.place(self.device, size)?;
            let buffer = native_of::<A>(&page);
            self.calls.copy(staged, piece.offset(), buffer, offset, size);
            self.calls.separate(buffer, Uses::COPY_DST, Uses::UNIFORM);
            self.make(dispatch, Some((buffer, offset)))
        };
        self.uniforms.push(piece);
        group
    }

    /// The group of what is bound, made once.
    fn cached<'p, P: Parts<'p>>(&mut self, dispatch: &Dispatch<'_, A, P>) -> Result<Arc<Group<A>>> {
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

    /// A group of what is bound and the values at a place.
    fn make<'p, P: Parts<'p>>(
        &self,
        dispatch: &Dispatch<'_, A, P>,
        uniform: Option<(&A::Buffer, u64)>,
    ) -> Result<Arc<Group<A>>> {
        let mut binds: SmallVec<[Bind<'_, A>; 8]> = SmallVec::new();
        for (part, &index) in dispatch.parts.clone().zip(&dispatch.pipeline.indices) {
            assert!(part.offset + part.size <= part.block.size, "bug: more is bound than there is");
            binds.push(Bind {
                index,
                buffer: buffer_of(part.block, self.lent),
                offset: part.offset,
                size: part.size,
            });
        }
        if let (Some((buffer, offset)), Carry::Uniform { index, size }) = (uniform, dispatch.pipeline.carry) {
            binds.push(Bind { index, buffer, offset, size: u64::from(size) });
        }
        dispatch.pipeline.group(&binds).map_err(|error| refused(&error).into())
    }
}

fn refused(error: &hal::DeviceError) -> Kind {
    let object = "a bind group".to_owned();
    match error {
        hal::DeviceError::OutOfMemory => Kind::OutOfMemory { object, bytes: 0, limit: None },
        other => Kind::Device { object, message: other.to_string() },
    }
}

/// # Panics
/// If the kernel was compiled for another recorder: a bug.
fn pipeline_of<A: Backend>(launch: &Launch) -> &HalPipeline<A> {
    let found = match &launch.kernel().pipeline {
        Pipeline::Device(pipeline) => pipeline.downcast_ref(),
        _ => None,
    };
    found.expect("bug: a kernel of another recorder")
}

/// The buffer of a block, the program's own among them.
///
/// # Panics
/// If the block is another recorder's, or is not lent: a bug.
pub(crate) fn buffer_of<'a, A: Backend>(block: &'a Block, lent: &'a Lent<A>) -> &'a A::Buffer {
    lent.get(block.id).unwrap_or_else(|| native_of::<A>(block))
}

/// # Panics
/// If the block is not native memory: a bug.
pub(crate) fn native_of<A: Backend>(block: &Block) -> &A::Buffer {
    match &block.memory {
        Memory::Wgpu(memory) => native::<A>(memory),
        Memory::Host(_) => unreachable!("bug: {block:?} is the CPU recorder's"),
    }
}

/// # Panics
/// If the memory is wgpu's own: a bug.
pub(crate) fn native<A: Backend>(memory: &WgpuMemory) -> &A::Buffer {
    memory.native().and_then(|native| native.buffer::<A>()).expect("bug: memory that is not native")
}
