//! Execution of workgroups: the order of their invocations, the barriers, and the pauses of a run.

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

/// A run between two of its slices. [`CpuKernel::begin`](crate::CpuKernel::begin) makes it, and
/// [`CpuKernel::resume`](crate::CpuKernel::resume) executes the next slice.
pub struct PausedRun {
    /// Copy of the uniform block.
    params: Vec<u128>,
    /// Variables of the workgroup that has begun.
    shared: Vec<u128>,
    progress: RunProgress,
}

/// Progress of a run.
struct RunProgress {
    /// All invocations of a workgroup, or a single reused one if invocations never wait.
    invocations: Vec<Invocation>,
    /// The numbers of the invocations in the order in which they run.
    order: Vec<u32>,
    /// Place in `order` of the invocation that runs next.
    place: usize,
    /// Workgroup that has begun and not ended.
    group: Option<[u32; 3]>,
    /// The numbers of the next workgroups, in their order.
    block: std::vec::IntoIter<u64>,
    /// First workgroup after those whose order was drawn.
    undrawn: u64,
    /// Generator of the orders, if they are random.
    random: Option<fastrand::Rng>,
}

impl PausedRun {
    /// Creates a run that has not begun.
    pub(super) fn new(program: &Program, decoded: &Decoded, run: &GridRun<'_>) -> Self {
        let buffers = program.buffers().len();
        assert_eq!(run.buffers.len(), buffers, "kernel `{}` has {buffers} buffers", program.name());
        let mut params = words(run.params.len() as u64);
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut params);
        bytes[..run.params.len()].copy_from_slice(run.params);
        let size: u32 = program.workgroup().iter().product();
        let count = if decoded.waits { size } else { 1 };
        let progress = RunProgress {
            invocations: (0..count).map(|_| Invocation::new(decoded)).collect(),
            order: (0..size).collect(),
            place: 0,
            group: None,
            block: Vec::new().into_iter(),
            undrawn: run.range.start,
            // Parts of a grid that run on different threads get different orders.
            random: (run.seed != 0)
                .then(|| fastrand::Rng::with_seed(run.seed ^ run.range.start.rotate_left(32))),
        };
        Self { params, shared: words(decoded.workgroup_bytes), progress }
    }

    /// Executes workgroups for at most `steps` steps. Returns `true` if all workgroups have ended.
    ///
    /// # Errors
    /// Returns the fault that ended the run early.
    pub(super) fn resume<O: Observer>(
        &mut self,
        (program, decoded): (&Program, &Decoded),
        run: &GridRun<'_>,
        steps: u64,
        observer: &mut O,
    ) -> Result<bool, Fault> {
        let Self { params, shared, progress } = self;
        let mut regions = run.buffers.to_vec();
        let params: &mut [u8] = bytemuck::cast_slice_mut(params.as_mut_slice());
        let shared: &mut [u8] = bytemuck::cast_slice_mut(shared.as_mut_slice());
        regions.extend([Cells::new(params), Cells::new(shared)]);
        let executor =
            Executor { decoded, memory: Memory::new(regions), stop: run.stop, observer, left: steps };
        let shared = run.buffers.len() as u16 + 1;
        let size = program.workgroup();
        Groups { program, run, size, shared, executor, progress }.run_range()
    }
}

impl RunProgress {
    /// Returns the number of the next workgroup; `None` if there is none before `end`.
    fn next_group(&mut self, end: u64) -> Option<u64> {
        if let Some(number) = self.block.next() {
            return Some(number);
        }
        let start = self.undrawn;
        if start >= end {
            return None;
        }
        self.undrawn = end.min(start + BLOCK);
        let mut block: Vec<u64> = (start..self.undrawn).collect();
        if let Some(random) = &mut self.random {
            random.shuffle(&mut block);
        }
        self.block = block.into_iter();
        self.block.next()
    }
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
    progress: &'r mut RunProgress,
}

impl<O: Observer> Groups<'_, O> {
    /// Executes workgroups until no step is left. Returns `true` if all workgroups have ended.
    fn run_range(&mut self) -> Result<bool, Fault> {
        loop {
            let group = match self.progress.group {
                Some(group) => group,
                None => {
                    let Some(number) = self.progress.next_group(self.run.range.end) else { return Ok(true) };
                    if self.run.stop.load(Relaxed) {
                        return Err(Fault::Stopped);
                    }
                    let group = self.run.group(number);
                    self.begin_group(group);
                    group
                }
            };
            if !self.run_group(group)? {
                return Ok(false);
            }
            self.progress.group = None;
        }
    }

    fn begin_group(&mut self, group: [u32; 3]) {
        self.executor.memory.clear(self.shared);
        if O::ACTIVE {
            self.executor.observer.group(group);
        }
        self.shuffle();
        self.progress.place = 0;
        self.progress.group = Some(group);
        let decoded = self.executor.decoded;
        if decoded.waits {
            let first = self.position(group);
            for (number, invocation) in self.progress.invocations.iter_mut().enumerate() {
                invocation.begin(decoded, &Position { number: number as u32, ..first });
            }
        }
    }

    /// Returns the place of the first invocation of a workgroup.
    fn position(&self, group: [u32; 3]) -> Position {
        Position { groups: self.run.groups, size: self.size, group, number: 0 }
    }

    /// Executes the workgroup that has begun until it ends. Returns `false` if no step is left before that.
    fn run_group(&mut self, group: [u32; 3]) -> Result<bool, Fault> {
        let decoded = self.executor.decoded;
        let first = self.position(group);
        if !decoded.waits {
            let RunProgress { invocations, order, place, .. } = &mut *self.progress;
            let invocation = &mut invocations[0];
            while let Some(&number) = order.get(*place) {
                // A slice may have ended in the middle of the invocation.
                if invocation.state != State::Ready {
                    invocation.begin(decoded, &Position { number, ..first });
                }
                if !self.executor.resume(invocation)? {
                    return Ok(false);
                }
                *place += 1;
            }
            return Ok(true);
        }
        loop {
            let RunProgress { invocations, order, place, .. } = &mut *self.progress;
            while let Some(&number) = order.get(*place) {
                let invocation = &mut invocations[number as usize];
                if invocation.state == State::Ready && !self.executor.resume(invocation)? {
                    return Ok(false);
                }
                *place += 1;
            }
            *place = 0;
            if !self.exchange() && !self.pass_barrier(group)? {
                return Ok(true);
            }
        }
    }

    /// Draws the order of the invocations.
    fn shuffle(&mut self) {
        let RunProgress { order, random, .. } = &mut *self.progress;
        if let Some(random) = random {
            random.shuffle(order);
        }
    }

    /// Lets the lanes of each subgroup exchange values. Returns `false` if no lane waits for an exchange.
    fn exchange(&mut self) -> bool {
        let mut any = false;
        let decoded = self.executor.decoded;
        for lanes in self.progress.invocations.chunks_mut(LANES as usize) {
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
        let waits = |invocation: &&Invocation| invocation.state == State::Barrier;
        let Some(first) = self.progress.invocations.iter().find(waits) else {
            return Ok(false);
        };
        let code = &self.executor.decoded.functions[first.function];
        let here = |other: &Invocation| other.state == State::Barrier && other.compare_place(first).is_eq();
        if let Some(missing) = self.progress.invocations.iter().find(|other| !here(other)) {
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
        self.progress.invocations.iter_mut().for_each(|invocation| invocation.state = State::Ready);
        self.shuffle();
        Ok(true)
    }
}
