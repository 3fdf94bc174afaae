//! The work of steps on host bytes, apart from launches.

use super::device_clock::DeviceClock;
use super::host_bytes;
use super::kernel_checks::KernelChecks;
use crate::error::Result;
use crate::memory::block::Block;
use crate::memory::byte_meter::{ByteMeter, MeteredVec};
use crate::memory::read_slot::{ReadSlot, ReadState, Readback};
use crate::memory::staged_bytes::Staged;
use crate::record::walk::{WorkVisitor, visit};
use crate::work::graph_data::control_table::{ControlTable, GatedPlace};
use crate::work::graph_data::gate::Gate;
use crate::work::graph_data::graph_run::GraphStep;
use crate::work::kernel_launch::Launch;
use crate::work::region_copy::RegionCopy;
use crate::work::span::{Pattern, Span};
use crate::work::step::Work;
use crate::work::time_slot::{Ticks, TimeSlot};
use fencepost_kernels::ParamsBlock;
use fencepost_sync::Lost;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of a read.
struct CpuBytes(MeteredVec);

impl Readback for CpuBytes {
    fn copy_out(&self, out: &mut [u8]) -> Result<(), Lost> {
        out.copy_from_slice(&self.0[..out.len()]);
        Ok(())
    }
}

/// Executes launches at once, or later with others that do not depend on them.
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

/// Bytes that a fill stores in one piece: they stay in a near cache of a processor.
const FILL_PIECE: usize = 1 << 16;

/// The visitor that executes the work of steps on host bytes.
pub(super) struct CpuVisitor<'e, 'v, L> {
    clock: &'v mut DeviceClock,
    staging: &'v Arc<ByteMeter>,
    launches: L,
    /// Checks that are told which bytes the work writes.
    checks: Option<&'v KernelChecks>,
    /// The last level whose commands are timed, with the time at which they start: they run side by side.
    started: Option<(u32, u64)>,
    /// Timed commands of the level that end when the launches are executed.
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
        host_bytes::transfer(src, range.clone(), dst, offset);
        if let Some(checks) = self.checks {
            checks.copied(src, range, dst, offset);
        }
    }

    /// Stores bytes at the start of a span, and records that the whole span is written.
    fn store(&self, dst: &Span, bytes: &[u8]) {
        host_bytes::write(&dst.block, dst.offset, bytes);
        if let Some(checks) = self.checks {
            checks.wrote(&dst.block, dst.range());
        }
    }

    fn run(&mut self, launch: &'e Launch, params: &ParamsBlock) -> Result<()> {
        self.launches.launch(launch, params);
        Ok(())
    }

    /// Executes the launches that were kept, and records the ends of the timed commands among them.
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
            host_bytes::write(&dst.block, dst.offset + at, &piece[..left as usize]);
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
        let bytes = MeteredVec::new(host_bytes::copy(&src.block, src.range()), self.staging);
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
        if host_bytes::word(&place.table.words, place.gate) == 0 {
            Ok(())
        } else {
            self.launch_with(launch, params)
        }
    }

    fn transfer_gated(&mut self, work: &'e Work, place: GatedPlace<'e>) -> Result<()> {
        if host_bytes::word(&place.table.words, place.gate) == 0 { Ok(()) } else { visit(self, 0, work) }
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
    let set = |word: Option<u32>| word.is_none_or(|word| host_bytes::word(&table.words, word) != 0);
    let store = |word: u32, value: u32| host_bytes::store_word(&table.words, word, value);
    let mut value = [0; 4];
    host_bytes::read(&gate.condition.block, gate.condition.offset, &mut value);
    let past = gate.bound.and(gate.previous).map_or(0, |word| host_bytes::word(&table.words, word));
    let (decided, passes) = gate.test.decide(gate.bound, u32::from_ne_bytes(value), past);
    let may_go = set(gate.parent) && set(gate.previous);
    let own = if may_go { decided } else { 0 };
    let (on, stopped) = (own != 0, may_go && passes && own == 0);
    store(gate.own, own);
    if let Some(counter) = gate.counter {
        let at = table.layout.counter_at(counter.index);
        let known = |word| if counter.resets { 0 } else { host_bytes::word(&table.words, word) };
        store(at, known(at) + u32::from(on && !counter.last));
        store(at + 1, known(at + 1) | u32::from(stopped || (on && counter.last)));
    }
}
