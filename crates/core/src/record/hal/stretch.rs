//! Stretches of a graph: consecutive launches with no other command between them. Launches with named values are in
//! separate stretches if there are many launches without, because each replay may set other values.
//!
//! The recorder resolves a stretch once: its bind groups, and the barriers between its launches. Later replays record
//! the stretch without searching any cache, or submit its native body.

use crate::device::hal_pipeline::{HalGroup, HalPipeline};
use crate::device::wgpu_device::WgpuDevice;
use crate::device::wgpu_pipeline::ParameterPath;
use crate::driver::backend::Backend;
use crate::driver::native_queue::NativeQueue;
use crate::driver::reusable_encoders::ReusableEncoders;
use crate::error::Result;
use crate::memory::block::{Block, BlockId};
use crate::record::hal::barriers::{BarrierTracker, BarrierUse, Epochs};
use crate::record::hal::direct::NativeBody;
use crate::record::hal::encoder::NativeEncoder;
use crate::record::submitter::GroupCount;
use crate::work::graph::plan::{GraphPlan, PlanId};
use crate::work::graph::run::GraphStep;
use crate::work::kernel_launch::Launch;
use crate::work::step::Work;
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock, Weak};
use wgpu::BufferUses as Uses;

/// The stretches of a part of a graph.
pub(crate) struct ResolvedGraph<A: Backend> {
    pub(crate) stretches: Vec<Stretch<A>>,
}

/// Consecutive launches of a graph, in the order of the visits.
pub(crate) struct Stretch<A: Backend> {
    /// Places of the launches in the order of the visits.
    pub(crate) places: Range<usize>,
    /// Blocks that the launches use, each once.
    pub(crate) uses: Vec<StretchUse>,
    launches: Vec<StretchLaunch<A>>,
    /// `true` if a launch holds a named value. In that case each replay must record the launches.
    has_values: bool,
    /// Buffers of all barriers: the index of each in `uses`, and its use before the barrier.
    barriers: Vec<(u32, Uses)>,
    /// Set once a batch has found that the memory of all blocks has been zeroed or written.
    zeroed: OnceLock<()>,
    /// Native body, once one was requested; `None` if the device could not make it.
    pub(crate) body: OnceLock<Option<NativeBody<A>>>,
}

/// The use of a block by a stretch.
pub(crate) struct StretchUse {
    /// A node whose launch binds the block at `binding`.
    node: u32,
    binding: u32,
    pub(crate) uses: Uses,
    pub(crate) write: bool,
}

/// A stretch that a batch uses, kept until the batch is complete.
pub(crate) struct UsedStretch<A: Backend> {
    /// Number of the batch's own command buffers before the native body; `None` if the launches were recorded instead.
    pub(crate) body_after: Option<usize>,
    pub(crate) graph: Arc<ResolvedGraph<A>>,
    /// Index of the stretch.
    pub(crate) stretch: usize,
}

struct StretchLaunch<A: Backend> {
    node: u32,
    /// End of the launch's range in `barriers`, which is empty if the launch needs no barrier.
    barriers: u32,
    group: Arc<HalGroup<A>>,
}

/// The blocks and the barriers of a stretch under construction.
struct Barriers {
    places: FxHashMap<BlockId, u32>,
    uses: Vec<StretchUse>,
    /// Mark of each block in `uses`, separate from the mark in the block.
    marks: Vec<AtomicU64>,
    tracker: BarrierTracker<u32>,
    barriers: Vec<(u32, Uses)>,
}

/// Makes the stretches of a part of a graph. `group` returns the bind group of a launch. Stretches of at least
/// `native_from` launches can have a native body.
///
/// # Errors
/// Returns the error of `group`, which names the node.
pub(crate) fn resolve<A: Backend>(
    graph: &GraphStep,
    native_from: usize,
    mut group: impl FnMut(&HalPipeline<A>, &Launch) -> Result<Arc<HalGroup<A>>>,
) -> Result<ResolvedGraph<A>> {
    let plan = &graph.run.plan;
    let sorted = &graph.order().sorted;
    let mut stretches = Vec::new();
    let mut start = 0;
    while start < sorted.len() {
        let is_plain = |&&node: &&u32| plain::<A>(plan, node).is_some();
        let end = start + sorted[start..].iter().take_while(is_plain).count();
        for places in pieces(start..end, native_from, |at| has_values(plan, sorted[at])) {
            let made = Stretch::new(plan, &sorted[places.clone()], places, &mut group);
            stretches.push(made.map_err(|(node, error)| graph.failure(node, error))?);
        }
        start = end + 1;
    }
    Ok(ResolvedGraph { stretches })
}

/// Returns `true` if a replay may change parameters of the node.
fn has_values(plan: &GraphPlan, node: u32) -> bool {
    plan.values_of(plan.command(node)).next().is_some()
}

/// Splits launches into pieces: the runs of at least `native_from` launches without values, and the launches between
/// them.
fn pieces(all: Range<usize>, native_from: usize, has_values: impl Fn(usize) -> bool) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut start = all.start;
    let mut at = all.start;
    while at < all.end {
        let plain = (at..all.end).take_while(|&at| !has_values(at)).count();
        if plain >= native_from.max(1) {
            pieces.extend((start < at).then_some(start..at));
            pieces.push(at..at + plain);
            start = at + plain;
        }
        at = (at + plain + 1).min(all.end);
    }
    pieces.extend((start < all.end).then_some(start..all.end));
    pieces
}

/// Returns the launch of a node and its pipeline, if a stretch can contain the node. The node must not be in a body,
/// and its launch must have fixed group counts, parameters that need no memory, and no external arrays.
fn plain<A: Backend>(plan: &GraphPlan, node: u32) -> Option<(&Launch, &HalPipeline<A>)> {
    let node = plan.nodes.get(node);
    let Work::Launch(launch) = &node.command.work else { return None };
    let pipeline = launch.pipeline::<HalPipeline<A>>();
    let is_plain = node.gate.is_none()
        && launch.indirect.is_none()
        && !matches!(pipeline.parameter_path, ParameterPath::Uniform { .. })
        && !launch.bindings.iter().any(|bound| bound.block.is_external());
    is_plain.then_some((launch, pipeline))
}

impl<A: Backend> Stretch<A> {
    fn new(
        plan: &GraphPlan,
        nodes: &[u32],
        places: Range<usize>,
        group: &mut impl FnMut(&HalPipeline<A>, &Launch) -> Result<Arc<HalGroup<A>>>,
    ) -> std::result::Result<Self, (u32, crate::error::Error)> {
        let mut barriers = Barriers::new();
        let mut launches = Vec::with_capacity(nodes.len());
        for &node in nodes {
            let (launch, pipeline) = plain::<A>(plan, node).expect("bug: no plain launch");
            if launch.groups.contains(&0) {
                continue;
            }
            barriers.add_launch(node, launch, |at| pipeline.uses(at, &launch.bindings[at]));
            let group = group(pipeline, launch).map_err(|error| (node, error))?;
            launches.push(StretchLaunch { node, barriers: barriers.barriers.len() as u32, group });
        }
        let Barriers { uses, barriers, .. } = barriers;
        let has_values = nodes.iter().any(|&node| has_values(plan, node));
        Ok(Self {
            places,
            uses,
            launches,
            has_values,
            barriers,
            zeroed: OnceLock::new(),
            body: OnceLock::new(),
        })
    }

    /// Returns `true` if the stretch has a native body, which the first call records. `encoders` returns the object
    /// that makes its encoder. If the driver refuses, every replay records the launches.
    pub(crate) fn has_body(
        &self,
        plan: &GraphPlan,
        queue: Option<&dyn NativeQueue<A>>,
        encoders: impl FnOnce() -> Option<Arc<dyn ReusableEncoders<A>>>,
    ) -> bool {
        let make = || NativeBody::new(&encoders()?, queue, |calls| self.record(plan, calls)).ok();
        self.body.get_or_init(make).is_some()
    }

    /// Returns `true` if a launch holds a named value.
    pub(crate) fn has_values(&self) -> bool {
        self.has_values
    }

    /// Records that a batch has looked at all blocks and had to zero none. This stays so, because the graph keeps the
    /// blocks.
    pub(crate) fn note_zeroed(&self) {
        self.zeroed.get_or_init(|| ());
    }

    /// Returns `true` if a batch without other steps may submit the native body without looking at its blocks.
    pub(crate) fn needs_no_block(&self) -> bool {
        self.zeroed.get().is_some() && self.body.get().is_some_and(Option::is_some)
    }

    /// Returns the number of launches that the device executes.
    pub(crate) fn len(&self) -> usize {
        self.launches.len()
    }

    /// Records the launches. The caller must have ordered all earlier commands on their blocks before them.
    pub(crate) fn record(&self, plan: &GraphPlan, calls: &mut NativeEncoder<'_, A>) {
        let mut at = 0;
        let mut others = None;
        let differ = self.has_values && plan.values_differ;
        for StretchLaunch { node, barriers, group } in &self.launches {
            if at != *barriers {
                let buffers = &self.barriers[at as usize..*barriers as usize];
                let of = |&(place, from): &(u32, Uses)| (&**self.uses[place as usize].block(plan), from);
                calls.record_barrier_before_kernels(buffers.iter().map(of));
                at = *barriers;
            }
            let launch = launch_of(plan, *node);
            let pipeline = launch.pipeline::<HalPipeline<A>>();
            if differ {
                others = plan.other_params(plan.command(*node));
            }
            let immediates = match pipeline.parameter_path {
                ParameterPath::Immediates => others.as_ref().unwrap_or(&launch.params).words(),
                _ => &[],
            };
            calls.dispatch(pipeline, group, &[], immediates, &GroupCount::Fixed(launch.groups));
        }
    }
}

impl<A: Backend> UsedStretch<A> {
    /// Returns the native body, and the number of the batch's own command buffers before it. Returns `None` if the
    /// batch has recorded the launches instead.
    pub(crate) fn body(&self) -> Option<(usize, &NativeBody<A>)> {
        let after = self.body_after?;
        let body = self.graph.stretches[self.stretch].body.get();
        Some((after, body.and_then(Option::as_ref).expect("bug: the stretch has no body")))
    }
}

impl StretchUse {
    /// Returns the block.
    pub(crate) fn block<'p>(&self, plan: &'p GraphPlan) -> &'p Arc<Block> {
        &launch_of(plan, self.node).bindings[self.binding as usize].block
    }
}

impl Barriers {
    fn new() -> Self {
        Self {
            places: FxHashMap::default(),
            uses: Vec::new(),
            marks: Vec::new(),
            tracker: BarrierTracker::new(Epochs::default().ordered(), false),
            barriers: Vec::new(),
        }
    }

    /// Adds a launch. `uses` returns the use of an argument, or `None` for an unused argument.
    fn add_launch(&mut self, node: u32, launch: &Launch, uses: impl Fn(usize) -> Option<(Uses, bool)>) {
        let Self { places, uses: all, marks, tracker, barriers } = self;
        let mut of_launch = Vec::with_capacity(launch.bindings.len());
        for (at, bound) in launch.bindings.iter().enumerate() {
            let Some((uses, write)) = uses(at) else { continue };
            let place = *places.entry(bound.block.id).or_insert_with(|| {
                marks.push(AtomicU64::new(0));
                all.push(StretchUse { node, binding: at as u32, uses: Uses::empty(), write: false });
                all.len() as u32 - 1
            });
            let merged = &mut all[place as usize];
            merged.uses |= uses;
            merged.write |= write;
            of_launch.push((bound.block.id, place, uses, write));
        }
        let touches: Vec<BarrierUse<'_, u32>> = of_launch
            .into_iter()
            .map(|(block, buffer, uses, write)| BarrierUse {
                block,
                mark: &marks[buffer as usize],
                buffer,
                uses,
                write,
            })
            .collect();
        barriers.extend_from_slice(tracker.barrier_before(&touches).map_or(&[], |barrier| barrier.buffers));
    }
}

/// Returns the launch of a node.
#[inline]
fn launch_of(plan: &GraphPlan, node: u32) -> &Launch {
    match &plan.command(node).work {
        Work::Launch(launch) => launch,
        _ => unreachable!("bug: a stretch has only launches"),
    }
}

/// Resolved parts of graphs, by the id of their plan's commands and the number of their segment.
pub(crate) struct KnownGraphs<A: Backend> {
    graphs: FxHashMap<(u64, u32), KnownGraph<A>>,
    /// Maker of the encoders of native bodies: `None` before the first body, `Some(None)` if the device has none.
    encoders: Option<Option<Arc<dyn ReusableEncoders<A>>>>,
}

struct KnownGraph<A: Backend> {
    /// Alive as long as a graph, a replay or an edit has a plan with these commands.
    commands: Weak<PlanId>,
    /// `None` until the second replay, because a graph that is replayed once would gain nothing.
    resolved: Option<Arc<ResolvedGraph<A>>>,
}

impl<A: Backend> Default for KnownGraphs<A> {
    fn default() -> Self {
        Self { graphs: FxHashMap::default(), encoders: None }
    }
}

impl<A: Backend> KnownGraphs<A> {
    /// Drops the graphs whose plans are gone.
    #[inline]
    pub(crate) fn sweep(&mut self) {
        if !self.graphs.is_empty() {
            self.graphs.retain(|_, known| known.commands.strong_count() > 0);
        }
    }

    /// Returns the resolved part of a graph, made by `resolve` at the second replay. Returns `None` at the first
    /// replay, and on exact backends.
    ///
    /// # Errors
    /// Returns the error of `resolve`.
    pub(crate) fn get_or_resolve(
        &mut self,
        graph: &GraphStep,
        resolve: impl FnOnce() -> Result<ResolvedGraph<A>>,
    ) -> Result<Option<Arc<ResolvedGraph<A>>>> {
        let plan = &graph.run.plan;
        let Some(segment) = graph.segment.filter(|_| !A::EXACT) else { return Ok(None) };
        let key = (plan.commands.0, segment);
        let Some(known) = self.graphs.get_mut(&key) else {
            let first = KnownGraph { commands: Arc::downgrade(&plan.commands), resolved: None };
            self.graphs.insert(key, first);
            return Ok(None);
        };
        if known.resolved.is_none() {
            known.resolved = Some(Arc::new(resolve()?));
        }
        Ok(known.resolved.clone())
    }

    /// Returns the maker of encoders for native bodies, if the device has one.
    pub(crate) fn encoders(&mut self, device: &WgpuDevice) -> Option<&Arc<dyn ReusableEncoders<A>>> {
        let make = || {
            let parts = &device.parts;
            A::reusable_encoders(&parts.device, &parts.queue, parts.adapter.as_ref()).map(Arc::from)
        };
        self.encoders.get_or_insert_with(make).as_ref()
    }
}
