//! The work of steps on host memory, and the execution of kernels on the CPU.

use crate::device::checks::FunctionMark;
use crate::error::{Error, ErrorDetail, Result, panic_text};
use crate::memory::allocations::{ByteMeter, MeteredVec};
use crate::memory::block::{Block, Memory};
use crate::memory::read_slot::{ReadSlot, ReadState, Readback};
use crate::memory::staging::Staged;
use crate::record::cpu::cpu_device;
use crate::record::cpu::cpu_device::DeviceClock;
use crate::record::cpu::cpu_recorder::FailedSteps;
use crate::record::cpu::kernel_checks::KernelChecks;
use crate::record::cpu::launch_timer::LaunchTimer;
use crate::record::walk::{WorkVisitor, visit};
use crate::work::graph::control::{ControlTable, Gate, GatedPlace};
use crate::work::graph::run::GraphStep;
use crate::work::kernel_launch::{Launch, Pipeline};
use crate::work::region_copy::RegionCopy;
use crate::work::step::{HostCode, Pattern, Span, Work};
use crate::work::time_slot::{Ticks, TimeSlot};
use fencepost_cpu::{Cells, CpuKernel, Fault, GridRun};
use fencepost_kernels::{HostBuffer, HostKernel, ParamsBlock};
use fencepost_sync::Lost;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use web_time::Instant;

/// Bytes of a read.
struct ReadBytes(MeteredVec);

impl Readback for ReadBytes {
    fn copy_out(&self, out: &mut [u8]) -> Result<(), Lost> {
        out.copy_from_slice(&self.0[..out.len()]);
        Ok(())
    }
}

/// Executor of launches: at once, or later together with others that do not depend on them.
pub(super) trait RunsLaunches<'e> {
    /// Begins the visit of the step with the index `at`. If it returns `false`, the step is not executed.
    fn begin_step(&mut self, _at: usize) -> bool {
        true
    }

    /// Begins the visit of a node of the graph of the current step. If it returns `false`, the rest of the graph is not
    /// executed.
    fn begin_node(&mut self, _graph: &'e GraphStep, _node: u32) -> bool {
        true
    }

    /// Executes a launch, or keeps it until [`settle`](Self::settle).
    fn launch(&mut self, launch: &'e Launch, params: &ParamsBlock);

    /// Executes the launches that were kept.
    fn settle(&mut self) {}
}

/// Number of bytes that a fill stores at a time, so that they stay in a near cache of the processor.
const FILL_PIECE: usize = 1 << 16;

/// The visitor that executes the work of steps on host bytes.
pub(super) struct CpuVisitor<'e, 'v, L> {
    clock: &'v mut DeviceClock,
    staging: &'v Arc<ByteMeter>,
    pub(super) launches: L,
    /// Checks that record which bytes the work writes.
    checks: Option<&'v KernelChecks>,
    /// Last level with timed commands, and the time at which they start. The commands of a level run side by side.
    pub(super) started: Option<(u32, u64)>,
    /// Timed commands of that level that end when the kept launches have been executed.
    ends: Vec<&'e TimeSlot>,
}

impl<'e, 'v, L: RunsLaunches<'e>> CpuVisitor<'e, 'v, L> {
    pub(super) fn new(
        clock: &'v mut DeviceClock,
        staging: &'v Arc<ByteMeter>,
        launches: L,
        checks: Option<&'v KernelChecks>,
    ) -> Self {
        Self { clock, staging, launches, checks, started: None, ends: Vec::new() }
    }

    /// Copies a range to `offset` of a block.
    fn transfer(&self, src: &Block, range: Range<u64>, dst: &Block, offset: u64) {
        cpu_device::transfer(src, range.clone(), dst, offset);
        if let Some(checks) = self.checks {
            checks.copied(src, range, dst, offset);
        }
    }

    /// Stores bytes at the start of a span, and records that the whole span is written.
    fn store(&self, dst: &Span, bytes: &[u8]) {
        cpu_device::write(&dst.block, dst.offset, bytes);
        if let Some(checks) = self.checks {
            checks.wrote(&dst.block, dst.range());
        }
    }

    fn run(&mut self, launch: &'e Launch, params: &ParamsBlock) -> Result<()> {
        self.launches.launch(launch, params);
        Ok(())
    }

    /// Executes the kept launches, and records the ends of the timed commands among them.
    pub(super) fn settle(&mut self) {
        self.launches.settle();
        for time in std::mem::take(&mut self.ends) {
            time.end(self.clock.read());
        }
    }
}

impl<'e, L: RunsLaunches<'e>> WorkVisitor<'e> for CpuVisitor<'e, '_, L> {
    fn level(&mut self, _: u32) {
        self.settle();
    }

    fn begin_step(&mut self, at: usize) -> bool {
        self.launches.begin_step(at)
    }

    fn begin_node(&mut self, graph: &'e GraphStep, node: u32) -> bool {
        self.launches.begin_node(graph, node)
    }

    fn launch(&mut self, launch: &'e Launch) -> Result<()> {
        self.run(launch, &launch.params)
    }

    fn launch_with(&mut self, launch: &'e Launch, params: &ParamsBlock) -> Result<()> {
        self.run(launch, params)
    }

    fn copy(&mut self, src: &'e Span, dst: &'e Span) -> Result<()> {
        self.transfer(&src.block, src.range(), &dst.block, dst.offset);
        Ok(())
    }

    fn region(&mut self, copy: &'e RegionCopy) -> Result<()> {
        for (from, to) in copy.rows.iter() {
            self.transfer(&copy.src.block, from..from + copy.rows.row, &copy.dst.block, to);
        }
        Ok(())
    }

    fn fill(&mut self, dst: &'e Span, pattern: &'e Pattern) -> Result<()> {
        let once = pattern.bytes();
        let piece = once.repeat(FILL_PIECE.min(dst.size as usize).div_ceil(once.len()));
        for at in (0..dst.size).step_by(piece.len()) {
            let left = (dst.size - at).min(piece.len() as u64);
            cpu_device::write(&dst.block, dst.offset + at, &piece[..left as usize]);
        }
        if let Some(checks) = self.checks {
            checks.wrote(&dst.block, dst.range());
        }
        Ok(())
    }

    fn upload(&mut self, src: &'e Staged, dst: &'e Span) -> Result<()> {
        let Staged::Host(bytes) = src else { unreachable!("bug: device staging in a batch of the CPU") };
        self.store(dst, bytes);
        Ok(())
    }

    fn read(&mut self, src: &'e Span, slot: &'e Arc<ReadSlot>) -> Result<()> {
        let bytes = MeteredVec::new(cpu_device::copy(&src.block, src.range()), self.staging);
        slot.set(ReadState::Staged(Arc::new(ReadBytes(bytes))));
        Ok(())
    }

    /// Evaluates the condition of a gate, and stores the result and the counts in the table.
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
        if cpu_device::word(&place.table.words, place.gate) == 0 {
            Ok(())
        } else {
            self.launch_with(launch, params)
        }
    }

    fn transfer_gated(&mut self, work: &'e Work, place: GatedPlace<'e>) -> Result<()> {
        if cpu_device::word(&place.table.words, place.gate) == 0 { Ok(()) } else { visit(self, 0, work) }
    }

    fn start_time(&mut self, level: u32, time: &'e Arc<TimeSlot>) {
        let start = match self.started {
            Some((at, start)) if at == level => start,
            _ => {
                self.settle();
                self.clock.read()
            }
        };
        self.started = Some((level, start));
        time.set(Ticks { start, end: 0 });
    }

    fn end_time(&mut self, time: &'e Arc<TimeSlot>) {
        self.ends.push(time);
    }
}

fn run_gate(gate: &Gate, table: &ControlTable) {
    let set = |word: Option<u32>| word.is_none_or(|word| cpu_device::word(&table.words, word) != 0);
    let store = |word: u32, value: u32| cpu_device::store_word(&table.words, word, value);
    let mut value = [0; 4];
    cpu_device::read(&gate.condition.block, gate.condition.offset, &mut value);
    let past = gate.bound.and(gate.previous).map_or(0, |word| cpu_device::word(&table.words, word));
    let (decided, passes) = gate.test.decide(gate.bound, u32::from_ne_bytes(value), past);
    let may_go = set(gate.parent) && set(gate.previous);
    let own = if may_go { decided } else { 0 };
    let on = own != 0;
    let stopped = may_go && passes && own == 0;
    store(gate.own, own);
    if let Some(counter) = gate.counter {
        let at = table.layout.counter_at(counter.index);
        let known = |word| if counter.resets { 0 } else { cpu_device::word(&table.words, word) };
        store(at, known(at) + u32::from(on && !counter.last));
        store(at + 1, known(at + 1) | u32::from(stopped || (on && counter.last)));
    }
}

/// Maximum number of workgroups of a launch along each axis.
pub(super) const MAX_GROUPS: u32 = 65535;

/// Returns the code of a launch's kernel.
///
/// # Panics
/// Panics if the kernel was compiled for another recorder, which is a bug.
pub(super) fn code_of(launch: &Launch) -> &HostCode {
    match launch.kernel().pipeline.compiled() {
        Pipeline::Host(code) => code,
        _ => unreachable!("bug: a kernel of another recorder"),
    }
}

/// Returns the workgroup counts of a launch. If one of them is 0, all are 0, because host kernels check only the first.
/// If a count of an indirect launch exceeds the limit, all are 0, as on every device.
pub(super) fn groups(launch: &Launch) -> [u32; 3] {
    let groups = launch.indirect.as_ref().map_or(launch.groups, |span| {
        let bytes = cpu_device::copy(&span.block, span.range());
        std::array::from_fn(|i| bytemuck::pod_read_unaligned(&bytes[4 * i..4 * i + 4]))
    });
    let refused = |&count: &u32| count == 0 || count > MAX_GROUPS;
    if groups.iter().any(refused) { [0; 3] } else { groups }
}

/// Executes a launch of a host function for the device with the failures `failed`. `checks` record which arrays it
/// writes.
///
/// # Errors
/// Returns `LaunchFailed` if the function panics. Then the arrays keep their earlier bytes.
pub(super) fn run_function(
    function: &dyn HostKernel,
    launch: &Launch,
    params: &ParamsBlock,
    failed: &FailedSteps,
    checks: Option<&KernelChecks>,
) -> Result<()> {
    let groups = groups(launch);
    let workgroup = launch.kernel().interface.workgroup;
    run_on_copies(launch, |buffers| {
        let _mark = FunctionMark::set(failed.device());
        let run = AssertUnwindSafe(|| function.run(groups, workgroup, params.bytes(), buffers));
        catch_unwind(run).map_err(|panic| {
            let problem = format!("the host function panicked: {}", panic_text(panic));
            let kernel = launch.kernel().name.to_string();
            let launch = launch.at;
            ErrorDetail::LaunchFailed { kernel, launch, problem }.into()
        })
    })?;
    if let Some(checks) = checks {
        let written = launch.bindings.iter().filter(|bound| bound.used.is_some_and(|used| used.writes()));
        written.for_each(|bound| checks.wrote(&bound.block, bound.range()));
    }
    Ok(())
}

/// Interprets a launch on this thread, on copies of its arrays and for at most `limit`. `seed`, which is not 0, chooses
/// the order of the invocations. With `checks`, the launch is checked.
///
/// # Errors
/// Returns the error of a launch that [ended early](ended_early), or with mistakes that end its queue. Then the arrays
/// keep their earlier bytes.
pub(super) fn run_program(
    program: &CpuKernel,
    launch: &Launch,
    params: &ParamsBlock,
    seed: u64,
    limit: Duration,
    checks: Option<&KernelChecks>,
) -> Result<()> {
    let timer = checks.map(|_| LaunchTimer::start(limit));
    let never = AtomicBool::new(false);
    run_on_copies(launch, |buffers| {
        let groups = groups(launch);
        let params = params.bytes();
        let stop = timer.as_ref().map_or(&never, LaunchTimer::stop);
        GridRun::on_copies(groups, params, buffers, seed, stop, |run| match checks {
            None => run_within(program, run, limit).map_err(|fault| ended_early(launch, &fault, limit)),
            Some(checks) => checks.run(program, run, launch, limit),
        })
    })
}

/// Number of steps of the interpreter between two looks at the clock. They take much longer than a look, and much less
/// time than a slice, unless each of them is long.
pub(super) const STEPS_A_LOOK: u64 = 256;

/// Interprets a run for at most `limit`. Needs no other thread for the limit.
///
/// # Errors
/// Returns the fault that ended the run early.
fn run_within(program: &CpuKernel, run: &GridRun<'_>, limit: Duration) -> Result<(), Fault> {
    let begun = Instant::now();
    let mut paused = program.begin(run);
    while !program.resume(run, &mut paused, STEPS_A_LOOK)? {
        if begun.elapsed() > limit {
            return Err(Fault::Stopped);
        }
    }
    Ok(())
}

/// Returns the memory that a launch binds, for code that writes it in place.
///
/// # Panics
/// Panics if an array does not belong to the CPU device, which is a bug.
pub(super) fn cells(launch: &Launch) -> Vec<Cells<'_>> {
    let cells = launch.bindings.iter().map(|bound| {
        let Memory::Shared(memory) = &bound.block.memory else {
            unreachable!("bug: {:?} does not belong to the device", bound.block)
        };
        memory.cells(&(bound.offset..bound.offset + bound.size))
    });
    cells.collect()
}

/// Returns the error of a launch that ended with a fault. A stopped launch has exceeded its time limit.
pub(super) fn ended_early(launch: &Launch, fault: &Fault, limit: Duration) -> Error {
    let kernel = launch.kernel().name.to_string();
    let launch = launch.at;
    let kind = match fault {
        Fault::Stopped => ErrorDetail::LaunchTooLong { kernel, launch, limit },
        fault => ErrorDetail::LaunchFailed { kernel, launch, problem: fault.to_string() },
    };
    kind.into()
}

/// Executes code on copies of a launch's arrays, because two bindings may be ranges of one block. Writes the results
/// back if the code returns no error, and the messages in any case.
fn run_on_copies(launch: &Launch, run: impl FnOnce(&mut [HostBuffer<'_>]) -> Result<()>) -> Result<()> {
    let interface = &launch.kernel().interface;
    let mut copies: Vec<Vec<u8>> = launch
        .bindings
        .iter()
        .map(|bound| cpu_device::copy(&bound.block, bound.offset..bound.offset + bound.size))
        .collect();
    let writes = |at: usize| interface.bindings[at].declared.writes();
    let mut buffers: Vec<HostBuffer<'_>> = copies
        .iter_mut()
        .enumerate()
        .map(|(at, bytes)| if writes(at) { HostBuffer::Write(bytes) } else { HostBuffer::Read(bytes) })
        .collect();
    let ran = run(&mut buffers);
    drop(buffers);
    let messages = launch.message_buffer().map(|buffer| buffer.id);
    for (bound, bytes) in launch.bindings.iter().zip(&copies) {
        let is_kept = ran.is_ok() || Some(bound.block.id) == messages;
        if is_kept && bound.used.is_some_and(|used| used.writes()) {
            cpu_device::write(&bound.block, bound.offset, bytes);
        }
    }
    ran
}
