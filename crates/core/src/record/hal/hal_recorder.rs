//! Batches through wgpu-hal: barriers of our own, on memory of our own, in encoders that wgpu submits.

use crate::device::bind_groups::{BindGroups, GroupKey};
use crate::device::hal_pipeline::{HalGroup, HalPipeline};
use crate::device::recorder::{Failure, Keep, KeepAlive, LaneValue, Recorder, sort};
use crate::device::wgpu_device::WgpuDevice;
use crate::driver::backend::Backend;
use crate::error::Result;
use crate::memory::staging::StagingPiece;
use crate::memory::wgpu_memory::WgpuMemory;
use crate::record::external_blocks::{NamedExternal, blame};
use crate::record::hal::direct::Direct;
use crate::record::hal::encoder::NativeEncoder;
use crate::record::hal::external_handles::ExternalHandles;
use crate::record::hal::external_state::ExternalStates;
use crate::record::hal::hal_batch::HalBatch;
use crate::record::hal::hal_regions::HalRegionKernels;
use crate::record::hal::hal_times::HalTimePages;
use crate::record::hal::hal_transfers::HalTransfers;
use crate::record::hal::indirect::IndirectGroups;
use crate::record::hal::native_buffers::native_of;
use crate::record::hal::scratch::Scratch;
use crate::record::hal::zero_fill::ZeroFills;
use crate::record::lane_fence::LaneFence;
use crate::record::submitter::Submitter;
use crate::record::wgpu::passes::CommandBuffers;
use crate::record::{external_blocks as foreign, program_commands as encoded, submitter};
use crate::work::step::{Step, Work};
use fencepost_sync::Value;
use fencepost_sync::backend::{Fence, HalFence};
use smallvec::SmallVec;
use std::sync::Arc;
use wgpu::hal;

/// Records the batches of one lane.
pub(crate) struct HalRecorder<A: Backend> {
    way: Arc<HalSubmission<A>>,
    /// The order of the steps being recorded; kept for its memory.
    order: Vec<usize>,
    groups: BindGroups<Arc<HalGroup<A>>>,
    transfers: HalTransfers,
    sizes: IndirectGroups<A>,
    times: HalTimePages<A>,
    /// Where the hazards of the next batch start.
    stretch: u64,
    /// For parameters, where the device does not read them from staging memory.
    uniforms: Scratch,
    fill: Option<Arc<HalPipeline<A>>>,
    regions: HalRegionKernels<A>,
    external_states: ExternalStates,
}

/// How batches get to the device.
enum HalSubmission<A: Backend> {
    /// In encoders and submissions of wgpu's.
    Wgpu(Submitter),
    Direct(Direct<A>),
}

impl<A: Backend> HalSubmission<A> {
    fn device(&self) -> &Arc<WgpuDevice> {
        match self {
            HalSubmission::Wgpu(submitter) => submitter.device(),
            HalSubmission::Direct(direct) => direct.device(),
        }
    }

    /// Has wgpu submit what the program has recorded, and the fence follow it.
    fn send(&self, commands: CommandBuffers, signal: Value) -> Result<Keep, Failure> {
        let record = || encoded::send(self.device(), commands).map(|rest| (rest, ()));
        match self {
            HalSubmission::Wgpu(submitter) => submitter.submit(signal, record, |()| &[])?,
            HalSubmission::Direct(direct) => {
                submitter::submit(direct.device(), record, |()| direct.follow(signal))?
            }
        }
        Ok(None)
    }
}

/// What must live until a submission is complete.
struct HalBatchResources<A: Backend> {
    _groups: Vec<Arc<HalGroup<A>>>,
    _transfers: crate::record::hal::hal_transfers::HalTransferResources,
    _times: Vec<crate::record::hal::hal_times::HalTimePage<A>>,
    /// Kernels of our own in it.
    _pipelines: Vec<Arc<HalPipeline<A>>>,
    _uniforms: Vec<StagingPiece<WgpuMemory>>,
    zeroed: ZeroFills,
}

impl<A: Backend> HalRecorder<A> {
    /// A recorder whose batches wgpu submits.
    pub(crate) fn through_wgpu(device: Arc<WgpuDevice>, fence: LaneFence) -> Self {
        Self::new(HalSubmission::Wgpu(Submitter::new(device, fence)))
    }

    /// A recorder whose batches go past wgpu.
    pub(crate) fn direct(device: Arc<WgpuDevice>, fence: Arc<HalFence<A>>) -> Self {
        Self::new(HalSubmission::Direct(Direct::new(device, fence)))
    }

    fn new(way: HalSubmission<A>) -> Self {
        let (order, groups, transfers, sizes, times, fill, regions, external_states) = Default::default();
        let uniforms = Scratch::new(1, "parameters");
        let way = Arc::new(way);
        Self {
            way,
            order,
            groups,
            transfers,
            sizes,
            times,
            stretch: 0,
            uniforms,
            fill,
            regions,
            external_states,
        }
    }

    /// Records through wgpu, which submits.
    fn by_wgpu(
        &mut self,
        submitter: &Submitter,
        steps: &[Step],
        signal: Value,
    ) -> Result<HalBatchResources<A>, Failure> {
        let (device, read) = (submitter.device(), (submitter.fence().shared(), signal));
        let named = foreign::named(device, steps);
        let kept = submitter.submit(signal, || self.encode(device, steps, &named, &read), |_| &[])?;
        ExternalStates::done(&named);
        Ok(kept)
    }

    /// Records a batch with buffers of the program's own through wgpu, which submits, and has the fence follow it.
    fn beside_wgpu(
        &mut self,
        direct: &Direct<A>,
        steps: &[Step],
        named: &[NamedExternal<'_>],
        signal: Value,
    ) -> Result<HalBatchResources<A>, Failure> {
        let (device, fence) = (direct.device(), direct.fence().clone());
        let read: (Arc<dyn Fence>, Value) = (fence, signal);
        let follow = |_: &HalBatchResources<A>| direct.follow(signal);
        let kept = submitter::submit(device, || self.encode(device, steps, named, &read), follow)?;
        ExternalStates::done(named);
        Ok(kept)
    }

    /// Records into an encoder of wgpu's, behind one that brings the program's own buffers home.
    fn encode(
        &mut self,
        device: &WgpuDevice,
        steps: &[Step],
        named: &[NamedExternal<'_>],
        read: &(Arc<dyn Fence>, Value),
    ) -> Result<(CommandBuffers, HalBatchResources<A>), Failure> {
        let external_states = self.external_states.commands(device, named);
        let commands = |encoder: &mut A::CommandEncoder| {
            let external = ExternalHandles::of(named)?;
            self.record_steps(device, encoder, steps, named, &external, read)
        };
        match crate::driver::hal_encoder::record::<A, _, _>(device.raw(), commands, || {
            ExternalHandles::<A>::check(named)
        }) {
            None => Err(submitter::failure(device, None, true)),
            Some(recorded) => recorded
                .map(|(commands, kept)| (external_states.into_iter().chain([commands]).collect(), kept)),
        }
    }

    /// Records and submits past wgpu.
    fn past_wgpu(
        &mut self,
        direct: &Direct<A>,
        steps: &[Step],
        signal: Value,
    ) -> Result<(HalBatchResources<A>, Option<crate::record::hal::direct::RecordedEncoder<A>>), Failure> {
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
        let external = ExternalHandles::none();
        let record = |encoder: &mut A::CommandEncoder| {
            self.record_steps(device, encoder, steps, &named, &external, &read)
        };
        let (recorded, kept) = direct.record(record)?;
        direct.submit(Some(&recorded), signal)?;
        Ok((kept, Some(recorded)))
    }

    fn record_steps<'e>(
        &'e mut self,
        device: &'e WgpuDevice,
        encoder: &'e mut A::CommandEncoder,
        steps: &'e [Step],
        named: &'e [NamedExternal<'e>],
        external: &'e ExternalHandles<A>,
        read: &(Arc<dyn Fence>, Value),
    ) -> Result<HalBatchResources<A>, Failure> {
        sort(&mut self.order, steps);
        device.take_gone(|block| self.groups.forget(block));
        let Self { order, groups, transfers, sizes, times, stretch, uniforms: places, fill, regions, .. } =
            self;
        let key = GroupKey { layout: crate::device::bind_layout::LayoutId::none(), parts: Vec::new() };
        let (kept, pipelines, uniforms, zeroed, touches) = Default::default();
        let calls = NativeEncoder::new(encoder, external, *stretch);
        let mut batch = HalBatch {
            device,
            external,
            calls,
            groups,
            kept,
            pipelines,
            uniforms,
            places,
            zeroed,
            key,
            touches,
        };
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
                Work::WgpuCommands(_) => encoded::unreachable_commands(),
                Work::Behind | Work::Nothing => Ok(()),
            };
            if let Err(error) = outcome {
                batch.calls.end_pass();
                *stretch = batch.calls.stretch();
                transfers.finish();
                return Err(Failure { step: Some(at), error, lost: false });
            }
        }
        let HalBatch { mut calls, kept, pipelines, uniforms, zeroed, .. } = batch;
        let timed = crate::record::hal::hal_times::finish(times, device, &mut calls, transfers, read);
        *stretch = calls.stretch();
        calls.publish(published.into_iter().chain(transfers.published::<A>()));
        let _transfers = transfers.finish();
        let _times = timed.map_err(|error| Failure { step: None, error, lost: false })?;
        Ok(HalBatchResources {
            _groups: kept,
            _transfers,
            _times,
            _pipelines: pipelines,
            _uniforms: uniforms,
            zeroed,
        })
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
            HalSubmission::Wgpu(submitter) => {
                let submitted = self.by_wgpu(submitter, steps, signal);
                let mut kept = submitted.map_err(|failure| blame(submitter.device(), steps, failure))?;
                kept.zeroed.settle();
                Box::new(kept)
            }
            HalSubmission::Direct(direct) => {
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
