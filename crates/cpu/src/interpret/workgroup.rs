//! Execution of workgroups: the order of their invocations, and the barriers.

use super::builtin::Position;
use super::decode::Decoded;
use super::invocation::{Invocation, State};
use super::memory::Memory;
use super::observer::{Missing, Observer};
use super::op::Op;
use super::step::{Executor, Here};
use super::subgroup::{self, LANES};
use crate::error::Fault;
use crate::program::Program;
use crate::run::{Cells, GridRun};
use std::sync::atomic::Ordering::Relaxed;

/// Number of workgroups whose order is drawn at once.
const BLOCK: u64 = 1 << 12;

/// Runs the workgroups of a run.
///
/// # Errors
/// Returns the fault that ended the run early.
pub(super) fn run<O: Observer>(
    program: &Program,
    decoded: &Decoded,
    run: &GridRun<'_>,
    observer: &mut O,
) -> Result<(), Fault> {
    let buffers = program.buffers().len();
    assert_eq!(run.buffers.len(), buffers, "kernel `{}` has {buffers} buffers", program.name());
    let mut params = words(run.params.len() as u64);
    let mut shared = words(decoded.workgroup_bytes);
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut params);
    bytes[..run.params.len()].copy_from_slice(run.params);
    let mut regions = run.buffers.to_vec();
    regions.extend([Cells::new(bytes), Cells::new(bytemuck::cast_slice_mut(&mut shared))]);
    let executor = Executor { decoded, memory: Memory::new(regions), stop: run.stop, observer };
    let size = program.workgroup();
    let count = if decoded.waits { size.iter().product::<u32>() } else { 1 };
    let mut groups = Groups {
        program,
        run,
        size,
        shared: buffers as u16 + 1,
        executor,
        invocations: (0..count).map(|_| Invocation::new(decoded)).collect(),
        order: (0..size.iter().product()).collect(),
        // Parts of a grid that run on different threads get different orders.
        random: (run.seed != 0).then(|| fastrand::Rng::with_seed(run.seed ^ run.range.start.rotate_left(32))),
    };
    groups.run_range()
}

/// Returns zeros that are aligned to 16 bytes.
fn words(bytes: u64) -> Vec<u128> {
    vec![0; bytes.div_ceil(16) as usize]
}

/// Executor of one workgroup after the other.
struct Groups<'r, O> {
    program: &'r Program,
    run: &'r GridRun<'r>,
    size: [u32; 3],
    /// Region of the variables of the workgroup.
    shared: u16,
    executor: Executor<'r, O>,
    /// All invocations of a workgroup, or a single reused one if invocations never wait.
    invocations: Vec<Invocation>,
    /// Numbers of the invocations in the order in which they run.
    order: Vec<u32>,
    /// Generator of the orders, if they are random.
    random: Option<fastrand::Rng>,
}

impl<O: Observer> Groups<'_, O> {
    fn run_range(&mut self) -> Result<(), Fault> {
        let mut start = self.run.range.start;
        let end = self.run.range.end;
        while start < end {
            let mut block: Vec<u64> = (start..end.min(start + BLOCK)).collect();
            if let Some(random) = &mut self.random {
                random.shuffle(&mut block);
            }
            for &number in &block {
                if self.run.stop.load(Relaxed) {
                    return Err(Fault::Stopped);
                }
                self.run_group(self.run.group(number))?;
            }
            start += BLOCK;
        }
        Ok(())
    }

    fn run_group(&mut self, group: [u32; 3]) -> Result<(), Fault> {
        self.executor.memory.clear(self.shared);
        if O::ACTIVE {
            self.executor.observer.group(group);
        }
        self.shuffle();
        let decoded = self.executor.decoded;
        let position = |number| Position { groups: self.run.groups, size: self.size, group, number };
        if !decoded.waits {
            let invocation = &mut self.invocations[0];
            for &number in &self.order {
                invocation.begin(decoded, &position(number));
                self.executor.resume(invocation)?;
            }
            return Ok(());
        }
        for (number, invocation) in self.invocations.iter_mut().enumerate() {
            invocation.begin(decoded, &position(number as u32));
        }
        loop {
            for &number in &self.order {
                let invocation = &mut self.invocations[number as usize];
                if invocation.state == State::Ready {
                    self.executor.resume(invocation)?;
                }
            }
            if !self.exchange() && !self.pass_barrier(group)? {
                return Ok(());
            }
        }
    }

    /// Draws the order of the invocations.
    fn shuffle(&mut self) {
        if let Some(random) = &mut self.random {
            random.shuffle(&mut self.order);
        }
    }

    /// Lets the lanes of each subgroup exchange values. Returns `false` if no lane waits for an exchange.
    fn exchange(&mut self) -> bool {
        let mut any = false;
        let decoded = self.executor.decoded;
        for lanes in self.invocations.chunks_mut(LANES as usize) {
            let active = subgroup::first_waiting(lanes);
            let Some(&first) = active.first() else { continue };
            let code = &decoded.functions[lanes[first].function];
            if let Op::Subgroup(op) = &code.ops[lanes[first].next - 1] {
                subgroup::exchange(op, lanes, &active);
                any = true;
            }
        }
        any
    }

    /// Lets all invocations continue if they wait at the same barrier. Returns `false` if all have ended.
    fn pass_barrier(&mut self, group: [u32; 3]) -> Result<bool, Fault> {
        let Some(first) = self.invocations.iter().find(|invocation| invocation.state == State::Barrier)
        else {
            return Ok(false);
        };
        let code = &self.executor.decoded.functions[first.function];
        let here = |other: &Invocation| other.state == State::Barrier && other.compare_place(first).is_eq();
        if let Some(missing) = self.invocations.iter().find(|other| !here(other)) {
            if O::ACTIVE {
                let site = |at: &Invocation| Here::new(self.executor.decoded, at).site(at.next);
                let missing = match missing.state {
                    State::Barrier => Missing::Waits(site(missing)),
                    _ => Missing::Ended(missing.number),
                };
                self.executor.observer.split(site(first), missing);
            }
            let place = self.program.place(code.origins[first.next - 1].span);
            let place = place.map_or_else(|| self.program.name().to_owned(), |place| place.to_string());
            return Err(Fault::Barrier { place, workgroup: group });
        }
        if O::ACTIVE {
            let site = Here::new(self.executor.decoded, first).site(first.next);
            self.executor.observer.barrier(site);
        }
        self.invocations.iter_mut().for_each(|invocation| invocation.state = State::Ready);
        self.shuffle();
        Ok(true)
    }
}
