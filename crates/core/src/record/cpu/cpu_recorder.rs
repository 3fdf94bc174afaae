//! Executes batches on host bytes, one command a step, in any order that is allowed.
//!
//! A seed chooses the order. Steps that no wait, queue or lane orders really run in any order here, so a missing wait
//! shows as wrong bytes. A thread that polls or waits for a fence executes the steps.

use crate::device::recorder::{Failure, Keep, LaneValue, Recorder};
use crate::device::{CostModel, Device, Lane};
use crate::driver::caps::Caps;
use crate::error::{Kind, Result};
use crate::memory::block::{Allocate, Block, Memory};
use crate::memory::byte_meter::{ByteMeter, MeteredVec};
use crate::memory::cpu_memory::CpuMemory;
use crate::memory::heap::Heap;
use crate::memory::read_slot::{ReadSlot, ReadState, Readback};
use crate::memory::staged_bytes::Staged;
use crate::record::cpu::run_order::{NextWork, Running};
use crate::record::walk::{WorkVisitor, visit, visit_node};
use crate::work::compiled_kernel::{Pipeline, Recipe};
use crate::work::graph_data::control_table::{ControlTable, GatedPlace};
use crate::work::graph_data::gate::Gate;
use crate::work::kernel_launch::Launch;
use crate::work::region_copy::RegionCopy;
use crate::work::span::{Pattern, Span};
use crate::work::step::{Step, Work};
use crate::work::time_slot::{Ticks, TimeSlot};
use fencepost_kernels::{HostBuffer, HostKernel, ParamsBlock};
use fencepost_sync::backend::Fence;
use fencepost_sync::prim::{Mutex, lock};
use fencepost_sync::{Lost, TimelineValue};
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Configures the CPU recorder. A seed chooses the order of unordered steps, and when delays and failures happen.
///
/// # Example
/// ```
/// use fencepost::{Context, CpuOptions};
/// let ctx = Context::on_cpu(CpuOptions { seed: 7, lanes: 2, ..CpuOptions::default() });
/// let queue = ctx.queue("main");
/// let x = queue.array(&[1_u32, 2, 3])?;
/// assert_eq!(queue.read(&x).wait()?, [1, 2, 3]);
/// # Ok::<(), fencepost::Error>(())
/// ```
#[cfg(feature = "cpu")] // as on the module: the documentation of `fencepost` shows only this condition
#[derive(Clone, Copy, Debug)]
pub struct CpuOptions {
    /// Seeds the run. The same seed and the same calls on one thread of a context without threads give the same run.
    pub seed: u64,
    /// Counts the simulated hardware queues.
    pub lanes: usize,
    /// Is `true` if lanes have threads. Without threads, only calls that flush or wait make progress.
    pub threads: bool,
    /// Limits the bytes of all allocations together. The staging memory of an upload must fit beside them.
    pub memory: u64,
}

impl Default for CpuOptions {
    fn default() -> Self {
        Self { seed: 0, lanes: 1, threads: true, memory: 1 << 34 }
    }
}

/// Chooses the faults that the CPU recorder injects, for tests.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuFaults {
    /// Is `true` if a wait for a fence sometimes sleeps, and the expected times of commands are random.
    pub delays: bool,
    /// Is the share of submissions that the device refuses, from 0 to 1.
    pub refusals: f64,
    /// Counts the steps after which the device is lost.
    pub lost_after: Option<u64>,
}

/// Simulates a device on host bytes.
pub(crate) struct CpuDevice {
    caps: Caps,
    memory: u64,
    allocated: Mutex<u64>,
    staging: Arc<ByteMeter>,
    /// Holds the host functions that replace shader entry points.
    kernels: Mutex<HashMap<String, Arc<dyn HostKernel>>>,
}

/// Holds all lanes of a device, with the batches that they still have to execute.
struct CpuDevices {
    /// Chooses the order of the steps.
    rng: fastrand::Rng,
    delays: bool,
    /// Counts the steps until the loss that the faults inject.
    steps_left: Option<u64>,
    lost: Option<Lost>,
    lanes: Vec<CpuLane>,
    clock: HostClock,
    staging: Arc<ByteMeter>,
}

/// Reads nanoseconds since `epoch`. Each reading is greater than the last.
struct HostClock {
    epoch: Instant,
    last: u64,
}

#[derive(Default)]
struct CpuLane {
    batches: VecDeque<Running>,
    completed: TimelineValue,
}

struct CpuRecorder {
    devices: Arc<Mutex<CpuDevices>>,
    lane: usize,
    /// Chooses the submissions that are refused.
    rng: fastrand::Rng,
    refusals: f64,
}

struct CpuFence {
    devices: Arc<Mutex<CpuDevices>>,
    lane: usize,
}

/// Opens a CPU device without faults.
#[cfg(test)]
pub(crate) fn open(options: &CpuOptions) -> (Arc<CpuDevice>, Vec<Lane>) {
    open_with(options, &CpuFaults::default())
}

/// Opens a CPU device that injects faults.
pub(crate) fn open_with(options: &CpuOptions, faults: &CpuFaults) -> (Arc<CpuDevice>, Vec<Lane>) {
    let count = options.lanes.max(1);
    let device = Arc::new(CpuDevice::new(options.memory));
    let devices = Arc::new(Mutex::new(CpuDevices {
        rng: fastrand::Rng::with_seed(options.seed),
        delays: faults.delays,
        steps_left: faults.lost_after,
        lost: None,
        lanes: (0..count).map(|_| CpuLane::default()).collect(),
        clock: HostClock { epoch: Instant::now(), last: 0 },
        staging: device.staging.clone(),
    }));
    let lane = |lane: usize| Lane {
        recorder: Box::new(CpuRecorder {
            devices: devices.clone(),
            lane,
            rng: fastrand::Rng::with_seed(options.seed ^ (lane as u64 + 1) << 32),
            refusals: faults.refusals,
        }),
        fence: Arc::new(CpuFence { devices: devices.clone(), lane }),
        async_submit: true,
        cost_model: cost_model(options, faults, lane as u64),
    };
    (device, (0..count).map(lane).collect())
}

/// Returns the cost model of a lane. Without threads, the same calls make the same batches, whatever time they take.
fn cost_model(options: &CpuOptions, faults: &CpuFaults, lane: u64) -> CostModel {
    match options.threads {
        _ if faults.delays => CostModel::Drawn(options.seed.rotate_left(17) ^ lane),
        true => CostModel::Measured(CostModel::LATENESS),
        false => CostModel::Unknown,
    }
}

impl CpuDevice {
    fn new(memory: u64) -> Self {
        let caps = Caps {
            adapter: "CPU recorder".into(),
            software: true,
            max_block: 1 << 31,
            max_binding: 1 << 31,
            binding_alignment: 32,
            max_bindings: 32,
            max_binding_index: 1000,
            max_groups: 65535,
            max_workgroup: [1024; 3],
            max_invocations: 1024,
            max_workgroup_memory: 32 << 10,
            max_immediates: 128,
            f16: true,
            f64: true,
            int64: true,
            subgroups: true,
            float32_atomics: true,
            timestamps: true,
        };
        Self { caps, memory, allocated: Mutex::default(), staging: Arc::default(), kernels: Mutex::default() }
    }

    /// Sets the function that replaces the shader entry point `entry`.
    pub(crate) fn host_kernel(&self, entry: &str, kernel: Arc<dyn HostKernel>) {
        lock(&self.kernels).insert(entry.into(), kernel);
    }
}

impl Allocate for CpuDevice {
    fn allocate(&self, _: Heap, size: u64, label: &str) -> Result<Memory> {
        let object = || format!("array `{label}`");
        if size > self.caps.max_block {
            return Err(Kind::TooLarge { object: object(), bytes: size, limit: self.caps.max_block }.into());
        }
        let mut allocated = lock(&self.allocated);
        if *allocated + size > self.memory {
            return Err(Kind::OutOfMemory { object: object(), bytes: size, limit: None }.into());
        }
        *allocated += size;
        Ok(Memory::Host(CpuMemory::zeroed(size)))
    }
}

impl Device for CpuDevice {
    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn recorder(&self) -> &'static str {
        "cpu"
    }

    fn hardware(&self) -> Option<usize> {
        None
    }

    fn pinned(&self) -> bool {
        true
    }

    fn stage(&self, size: u64, fill: &mut dyn FnMut(&mut [u8])) -> Result<Staged> {
        if *lock(&self.allocated) + size > self.memory {
            let object = "upload staging".into();
            return Err(Kind::OutOfMemory { object, bytes: size, limit: None }.into());
        }
        let mut bytes = vec![0; size as usize];
        fill(&mut bytes);
        Ok(Staged::Host(MeteredVec::new(bytes, &self.staging)))
    }

    fn trim_staging(&self) -> u64 {
        0 // the device keeps no free staging memory
    }

    fn staging(&self) -> (u64, u64) {
        self.staging.read()
    }

    fn compile(&self, recipe: &Recipe<'_>) -> Result<Pipeline> {
        let entry = &recipe.interface.entry;
        let given = lock(&self.kernels).get(entry).cloned();
        let kernel = given.or_else(|| recipe.reference.clone());
        kernel.map(Pipeline::Host).ok_or_else(|| Kind::NoReference { kernel: entry.clone() }.into())
    }

    fn nanoseconds_a_tick(&self) -> f64 {
        1.0
    }

    fn forget(&self, block: &Block) {
        let mut allocated = lock(&self.allocated);
        *allocated = allocated.saturating_sub(block.size);
    }

    fn tick(&self) -> bool {
        true
    }

    fn poll_loss(&self) -> bool {
        true
    }

    /// Returns `false`: only the fences of this device report its loss.
    fn is_gone(&self) -> bool {
        false
    }
}

impl Recorder for CpuRecorder {
    fn submit(
        &mut self,
        steps: &Arc<Vec<Step>>,
        waits: &[LaneValue],
        signal: TimelineValue,
    ) -> Result<Keep, Failure> {
        if self.rng.f64() < self.refusals {
            let step = self.rng.bool().then(|| self.rng.usize(..steps.len()));
            let (object, message) = ("a submission".into(), "refused by `CpuFaults::refusals`".into());
            return Err(Failure { step, error: Kind::Device { object, message }.into(), lost: false });
        }
        let running = Running::new(steps, waits, signal);
        lock(&self.devices).lanes[self.lane].batches.push_back(running);
        Ok(None)
    }
}

impl HostClock {
    fn read(&mut self) -> u64 {
        self.last = (self.epoch.elapsed().as_nanos() as u64).max(self.last + 1);
        self.last
    }
}

impl CpuDevices {
    /// Executes one of the steps that may come next. Returns `false` if there is none or the device is lost.
    fn step(&mut self) -> bool {
        let choices: Vec<usize> = (0..self.lanes.len()).map(|lane| self.choices(lane)).collect();
        let all: usize = choices.iter().sum();
        if all == 0 || self.lost.is_some() {
            return false;
        }
        if self.steps_left == Some(0) {
            self.lost = Some(Lost { reason: "loss injected by `CpuFaults::lost_after`".into() });
            return false;
        }
        self.steps_left = self.steps_left.map(|left| left - 1);
        let (mut lane, mut choice) = (0, self.rng.usize(..all));
        while choice >= choices[lane] {
            choice -= choices[lane];
            lane += 1;
        }
        let next = self.lanes[lane].batches[0].take(choice);
        let outcome = next.map_or(Ok(()), |next| run_catching_panics(&next, &mut self.clock, &self.staging));
        self.lost = outcome.err();
        self.finish(lane);
        self.lost.is_none()
    }

    /// Counts the steps of a lane that may come next.
    fn choices(&self, lane: usize) -> usize {
        let front = self.lanes[lane].batches.front();
        let passed = |wait: &LaneValue| self.lanes[wait.lane].completed >= wait.value;
        front.filter(|running| running.waits.iter().all(passed)).map_or(0, Running::choices)
    }

    /// Completes the first batch of a lane if all steps of the batch were executed.
    fn finish(&mut self, lane: usize) {
        let lane = &mut self.lanes[lane];
        if lane.batches.front().is_some_and(Running::is_over)
            && let Some(running) = lane.batches.pop_front()
        {
            lane.completed = running.signal;
        }
    }
}

impl Fence for CpuFence {
    fn completed(&self) -> Result<TimelineValue, Lost> {
        let mut devices = lock(&self.devices);
        // The device has no thread of its own, so a poll executes up to two steps.
        for _ in 0..devices.rng.usize(0..3) {
            devices.step();
        }
        devices.progress(self.lane)
    }

    fn wait(&self, value: TimelineValue, limit: Duration) -> Result<TimelineValue, Lost> {
        let deadline = Instant::now() + limit;
        loop {
            let mut devices = lock(&self.devices);
            let reached = devices.progress(self.lane)?;
            if reached >= value || Instant::now() >= deadline {
                return Ok(reached);
            }
            let moved = devices.step();
            let delay = devices.delays.then(|| devices.rng.u64(0..200)).filter(|&us| us > 150);
            drop(devices);
            match delay {
                Some(us) => std::thread::sleep(Duration::from_micros(us)),
                None if !moved => std::thread::sleep(Duration::from_micros(20)),
                None => std::thread::yield_now(),
            }
        }
    }
}

impl CpuDevices {
    /// Returns the value that the lane has completed, or the loss of the device.
    fn progress(&self, lane: usize) -> Result<TimelineValue, Lost> {
        self.lost.clone().map_or(Ok(self.lanes[lane].completed), Err)
    }
}

/// Holds the bytes of a read.
struct CpuBytes(MeteredVec);

impl Readback for CpuBytes {
    fn copy_out(&self, out: &mut [u8]) -> Result<(), Lost> {
        out.copy_from_slice(&self.0[..out.len()]);
        Ok(())
    }
}

fn memory_of(block: &Block) -> &CpuMemory {
    match &block.memory {
        Memory::Host(memory) => memory,
        Memory::Wgpu(_) => unreachable!("bug: {block:?} does not belong to the CPU recorder"),
    }
}

/// Executes a step. If a host function panics the device is lost, as a GPU is lost if its kernel hangs.
fn run_catching_panics(
    next: &NextWork<'_>,
    clock: &mut HostClock,
    staging: &Arc<ByteMeter>,
) -> std::result::Result<(), Lost> {
    let work = match *next {
        NextWork::Step(work) => Some(work),
        NextWork::Node(graph, node) => Some(&graph.run.plan.command(node).work),
        NextWork::End => None,
    };
    let kernel = if let Some(Work::Launch(launch)) = work { &*launch.kernel().name } else { "none" };
    let mut visitor = CpuVisitor { clock, staging };
    let outcome = catch_unwind(AssertUnwindSafe(|| match *next {
        NextWork::Step(work) => visit(&mut visitor, 0, work),
        NextWork::Node(graph, node) => visit_node(&mut visitor, 0, graph, node),
        NextWork::End => Ok(()),
    }));
    outcome
        .map(|done| debug_assert!(done.is_ok(), "bug: a step of the CPU recorder returned an error"))
        .map_err(|_| Lost { reason: format!("the host function of kernel `{kernel}` panicked") })
}

/// Executes the work of one step on host bytes.
struct CpuVisitor<'a> {
    clock: &'a mut HostClock,
    staging: &'a Arc<ByteMeter>,
}

impl<'e> WorkVisitor<'e> for CpuVisitor<'_> {
    fn launch(&mut self, launch: &'e Launch) -> Result<()> {
        run_launch(launch, &launch.params);
        Ok(())
    }

    fn launch_with(&mut self, launch: &'e Launch, params: &ParamsBlock) -> Result<()> {
        run_launch(launch, params);
        Ok(())
    }

    fn copy(&mut self, src: &'e Span, dst: &'e Span) -> Result<()> {
        memory_of(&dst.block).write(dst.offset, &memory_of(&src.block).copy(src.range()));
        Ok(())
    }

    fn region(&mut self, copy: &'e RegionCopy) -> Result<()> {
        run_region(copy);
        Ok(())
    }

    fn fill(&mut self, dst: &'e Span, pattern: &'e Pattern) -> Result<()> {
        let size = dst.size as usize;
        let bytes = pattern.bytes().repeat(size.div_ceil(pattern.bytes().len()));
        memory_of(&dst.block).write(dst.offset, &bytes[..size]);
        Ok(())
    }

    fn upload(&mut self, src: &'e Staged, dst: &'e Span) -> Result<()> {
        let Staged::Host(bytes) = src else {
            unreachable!("bug: device staging in a batch of the CPU recorder")
        };
        memory_of(&dst.block).write(dst.offset, bytes);
        Ok(())
    }

    fn read(&mut self, src: &'e Span, slot: &'e Arc<ReadSlot>) -> Result<()> {
        let bytes = MeteredVec::new(memory_of(&src.block).copy(src.range()), self.staging);
        slot.set(ReadState::Staged(Arc::new(CpuBytes(bytes))));
        Ok(())
    }

    /// Evaluates the condition, and stores the result and the counts in the words of the table.
    fn gate(&mut self, gate: &'e Gate, table: &'e ControlTable) -> Result<()> {
        run_gate(gate, table);
        Ok(())
    }

    fn launch_gated(
        &mut self,
        launch: &'e Launch,
        params: &ParamsBlock,
        place: GatedPlace<'e>,
    ) -> Result<()> {
        if word_of(&place.table.words, place.gate) == 0 { Ok(()) } else { self.launch_with(launch, params) }
    }

    fn transfer_gated(&mut self, work: &'e Work, place: GatedPlace<'e>) -> Result<()> {
        if word_of(&place.table.words, place.gate) == 0 { Ok(()) } else { visit(self, 0, work) }
    }

    fn publish(&mut self, _: &'e Arc<Block>) {}

    fn start_time(&mut self, _: u32, time: &'e Arc<TimeSlot>) {
        time.set(Ticks { start: self.clock.read(), end: 0 });
    }

    fn end_time(&mut self, time: &'e Arc<TimeSlot>) {
        time.end(self.clock.read());
    }
}

fn word_of(block: &Block, word: u32) -> u32 {
    let mut bytes = [0; 4];
    memory_of(block).read(4 * u64::from(word), &mut bytes);
    u32::from_ne_bytes(bytes)
}

fn run_gate(gate: &Gate, table: &ControlTable) {
    let set = |word: Option<u32>| word.is_none_or(|word| word_of(&table.words, word) != 0);
    let store =
        |word: u32, value: u32| memory_of(&table.words).write(4 * u64::from(word), &value.to_ne_bytes());
    let mut value = [0; 4];
    memory_of(&gate.condition.block).read(gate.condition.offset, &mut value);
    let past = gate.bound.and(gate.previous).map_or(0, |word| word_of(&table.words, word));
    let (decided, passes) = gate.test.decide(gate.bound, u32::from_ne_bytes(value), past);
    let may_go = set(gate.parent) && set(gate.previous);
    let own = if may_go { decided } else { 0 };
    let (on, stopped) = (own != 0, may_go && passes && own == 0);
    store(gate.own, own);
    if let Some(counter) = gate.counter {
        let at = table.layout.counter_at(counter.index);
        let known = |word| if counter.resets { 0 } else { word_of(&table.words, word) };
        store(at, known(at) + u32::from(on && !counter.last));
        store(at + 1, known(at + 1) | u32::from(stopped || (on && counter.last)));
    }
}

fn run_region(copy: &RegionCopy) {
    let (src, dst) = (memory_of(&copy.src.block), memory_of(&copy.dst.block));
    for (from, to) in copy.rows.iter() {
        dst.write(to, &src.copy(from..from + copy.rows.row));
    }
}

fn run_launch(launch: &Launch, params: &ParamsBlock) {
    let Pipeline::Host(kernel) = &launch.kernel().pipeline else { return };
    // The host function works on copies, because two bindings may be ranges of one block.
    let mut copies: Vec<Vec<u8>> =
        launch.bindings.iter().map(|b| memory_of(&b.block).copy(b.offset..b.offset + b.size)).collect();
    let writes = |at: usize| launch.kernel().interface.bindings[at].declared.writes();
    let mut buffers: Vec<HostBuffer<'_>> = copies
        .iter_mut()
        .enumerate()
        .map(|(at, bytes)| if writes(at) { HostBuffer::Write(bytes) } else { HostBuffer::Read(bytes) })
        .collect();
    kernel.run(groups(launch), launch.kernel().interface.workgroup, params.bytes(), &mut buffers);
    drop(buffers);
    for (bound, bytes) in launch.bindings.iter().zip(&copies) {
        if bound.used.is_some_and(|used| used.writes()) {
            memory_of(&bound.block).write(bound.offset, bytes);
        }
    }
}

/// Returns the workgroup counts of a launch. If one of them is 0 all are 0, because host kernels check only the first.
fn groups(launch: &Launch) -> [u32; 3] {
    let groups = launch.indirect.as_ref().map_or(launch.groups, |span| {
        let bytes = memory_of(&span.block).copy(span.range());
        std::array::from_fn(|i| bytemuck::pod_read_unaligned(&bytes[4 * i..4 * i + 4]))
    });
    if groups.contains(&0) { [0; 3] } else { groups }
}
