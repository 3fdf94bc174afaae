//! Draws the contexts, queues, threads and program lengths of a seed.

use super::common::subject::Place;
use fastrand::Rng;
use fencepost::testing::CpuFaults;
use fencepost::{Policy, SimulatorOptions};
use std::sync::Arc;

/// Variable with the number of threads.
pub const THREADS: &str = "FENCEPOST_STORM_THREADS";

/// Description of a storm without the programs of its threads.
pub struct Drawn {
    pub seed: u64,
    /// Place of the first context. `None` is the CPU recorder.
    pub place: Option<Arc<Place>>,
    pub homes: Vec<HomeOf>,
    /// Context and priority of each shared queue.
    pub queues: Vec<(usize, i32)>,
    pub threads: usize,
    /// Number of steps of each thread.
    pub steps: usize,
    /// `true` if a separate thread flushes the contexts without threads repeatedly.
    pub driven: bool,
    /// `true` if some queues are timed.
    pub timed: bool,
    /// `true` if some arrays are so large that a copy between contexts has several pieces.
    pub large: bool,
    /// `true` if callbacks wait for queues. Otherwise, some callbacks signal events for which queues wait. Both
    /// together could deadlock, because a context does not know which callback signals an event.
    pub callbacks_wait: bool,
}

/// Device and policy of a context.
#[derive(Clone, Copy)]
pub struct HomeOf {
    pub device: Device,
    pub policy: Policy,
}

/// Device of a context.
#[derive(Clone, Copy)]
pub enum Device {
    // The adapter of the place. `shared` allows memory that the device shares with the host.
    Adapter { shared: bool },
    // An adopted wgpu device of the caller; the context has no threads.
    Adopted,
    Cpu(SimulatorOptions, CpuFaults),
}

impl Device {
    /// Returns `true` if the context has threads.
    pub fn threads(self) -> bool {
        match self {
            Device::Adapter { .. } => true,
            Device::Adopted => false,
            Device::Cpu(options, _) => options.threads,
        }
    }
}

const POLICIES: [Policy; 4] = [Policy::Ordered, Policy::Ordered, Policy::Unchecked, Policy::Checked];

impl Drawn {
    pub fn new(seed: u64, place: Option<Arc<Place>>) -> Self {
        let mut rng = Rng::with_seed(seed ^ 0x57_0B_3A);
        let count = 1 + usize::from(rng.u32(..3) > 0);
        let homes: Vec<HomeOf> = (0..count).map(|at| home(&mut rng, seed, at, place.is_some())).collect();
        let mut queues: Vec<(usize, i32)> =
            (0..count).flat_map(|at| [(at, rng.i32(-1..=1)), (at, rng.i32(-1..=1))]).collect();
        queues.extend((0..rng.usize(..3)).map(|_| (rng.usize(..count), rng.i32(-1..=1))));
        let threads = threads_asked().unwrap_or(rng.usize(2..=5));
        let steps = rng.usize(20..=80);
        let driven = rng.bool();
        let timed = rng.u32(..3) == 0;
        let large = rng.u32(..12) == 0;
        let callbacks_wait = rng.bool();
        Self { seed, place, homes, queues, threads, steps, driven, timed, large, callbacks_wait }
    }

    /// Returns `true` if every context has threads, so that an executor is woken for every future.
    pub fn all_have_threads(&self) -> bool {
        self.homes.iter().all(|home| home.device.threads())
    }

    /// Returns the random numbers of one step of one thread. They do not depend on earlier steps.
    pub fn step(&self, thread: usize, step: usize) -> Rng {
        let mut of_thread = Rng::with_seed(self.seed ^ (thread as u64 + 1) << 40);
        let base = of_thread.u64(..);
        Rng::with_seed(base.wrapping_add((step as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)))
    }
}

fn home(rng: &mut Rng, seed: u64, at: usize, adapter: bool) -> HomeOf {
    let policy = POLICIES[rng.usize(..POLICIES.len())];
    let device = match (adapter, at, rng.u32(..8)) {
        (true, 0, kind) => Device::Adapter { shared: kind > 1 },
        (true, _, 0) => Device::Adopted,
        (true, _, kind @ 1..4) => Device::Adapter { shared: kind > 1 },
        _ => cpu(rng, seed ^ at as u64),
    };
    HomeOf { device, policy }
}

fn cpu(rng: &mut Rng, seed: u64) -> Device {
    let lanes = rng.usize(1..=4);
    let threads = rng.u32(..4) > 0;
    let faults = CpuFaults { delays: rng.u32(..4) == 0, ..CpuFaults::default() };
    Device::Cpu(SimulatorOptions::default().seed(seed).lanes(lanes).threads(threads), faults)
}

/// Returns the number of threads from the environment variable, if it is set.
fn threads_asked() -> Option<usize> {
    let count = std::env::var(THREADS).ok()?.parse().expect("the number of threads is a number");
    assert!((1..=64).contains(&count), "{THREADS} is {count}; it must be from 1 to 64");
    Some(count)
}
