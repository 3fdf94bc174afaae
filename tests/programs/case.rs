//! Runs programs, one for each seed, and minimizes the first failing program.

use super::generate::{Style, program};
use super::op::Op;
use super::run::{Place, run};
use super::shrink::shrink;
use crate::common::subject::device_switches;
use fastrand::Rng;
use fencepost::testing::{self, CpuFaults};
use fencepost::{Context, ContextOptions, Policy, SimulatorOptions};

/// Number of runs of a smaller program before it counts as correct, because with threads the order of its work is
/// random.
const TRIES: usize = 4;

/// The policies, with their names in the names of tests.
pub const POLICIES: [(&str, Policy); 3] =
    [("ordered", Policy::Ordered), ("checked", Policy::Checked), ("unchecked", Policy::Unchecked)];

/// The CPU recorder with the options and the faults of a seed.
#[derive(Clone)]
pub struct Cpu {
    pub options: SimulatorOptions,
    pub faults: CpuFaults,
    pub policy: Policy,
}

impl Place for Cpu {
    fn open(&self) -> Result<Context, String> {
        Ok(testing::on_cpu(self.options, self.faults, self.policy))
    }

    fn open_second(&self) -> Result<Context, String> {
        Ok(testing::on_cpu(second_options(&self.options), self.faults, self.policy))
    }

    fn policy(&self) -> Policy {
        self.policy
    }

    /// In a page, turns of the event loop do the work of threads.
    fn threads(&self) -> bool {
        self.options.threads || cfg!(target_arch = "wasm32")
    }
}

/// An adapter of this machine.
#[derive(Clone)]
pub struct Adapter {
    pub options: ContextOptions,
    pub seed: u64,
}

impl Place for Adapter {
    fn open(&self) -> Result<Context, String> {
        testing::open(self.options.clone(), device_switches()).wait().map_err(|error| error.to_string())
    }

    /// Opens the second context on the same adapter, or on the CPU recorder.
    fn open_second(&self) -> Result<Context, String> {
        if self.seed.is_multiple_of(3) {
            return self.open();
        }
        let options = second_options(&SimulatorOptions::default().seed(self.seed));
        Ok(Context::simulated(options.policy(self.options.policy)))
    }

    fn policy(&self) -> Policy {
        self.options.policy
    }

    fn threads(&self) -> bool {
        true
    }
}

impl Cpu {
    /// Returns the CPU recorder of a seed: one to four lanes, with or without threads, with or without delays.
    pub fn of_seed(seed: u64, policy: Policy) -> Self {
        let mut rng = Rng::with_seed(seed ^ 0xC0DE);
        let lanes = rng.usize(1..=4);
        let threads = rng.u32(0..3) > 0;
        let options = SimulatorOptions::default().seed(seed).lanes(lanes).threads(threads);
        let faults = CpuFaults { delays: rng.u32(0..4) == 0, ..CpuFaults::default() };
        Self { options, faults, policy }
    }
}

/// Returns the options of the second context of a program, with another seed and another number of lanes.
fn second_options(first: &SimulatorOptions) -> SimulatorOptions {
    let seed = first.seed ^ 0x5EC0;
    (*first).seed(seed).lanes(1 + first.lanes % 3)
}

/// A test that runs one program for each seed, all of them in the same way.
pub trait Trial {
    /// Returns the program of a seed.
    fn program(&self, seed: u64) -> Vec<Op>;
    fn policy(&self) -> Policy;
    /// Runs a program with the options of a seed.
    fn run(&self, seed: u64, ops: &[Op]) -> Result<(), String>;
}

/// Comparison of random programs with the oracle, each on its own context.
pub struct Matching<F> {
    pub policy: Policy,
    /// `true` if programs use pinned arrays.
    pub pinned: bool,
    /// `true` if programs encode wgpu commands.
    pub encodes: bool,
    /// Function that returns the place where the program of a seed runs.
    pub place: F,
}

impl<P: Place, F: Fn(u64) -> P> Trial for Matching<F> {
    fn program(&self, seed: u64) -> Vec<Op> {
        let all = Style::of_seed(seed, self.policy);
        let style = Style { pinned: self.pinned, encodes: self.encodes, ..all };
        program(&mut Rng::with_seed(seed), style)
    }

    fn policy(&self) -> Policy {
        self.policy
    }

    fn run(&self, seed: u64, ops: &[Op]) -> Result<(), String> {
        run(&(self.place)(seed), ops)
    }
}

/// Runs the program of each seed. The first program that fails is minimized and shown.
pub fn run_all(seeds: impl IntoIterator<Item = u64>, trial: &impl Trial) -> Result<(), String> {
    for seed in seeds {
        let ops = trial.program(seed);
        if let Err(what) = trial.run(seed, &ops) {
            return Err(explain(seed, trial, &ops, &what));
        }
    }
    Ok(())
}

fn explain(seed: u64, trial: &impl Trial, ops: &[Op], what: &str) -> String {
    eprintln!("the program of seed {seed} fails, looking for a smaller one: {what}");
    let error = |ops: &[Op]| (0..TRIES).find_map(|_| trial.run(seed, ops).err());
    // A hang takes a minute to detect, so its program is not minimized.
    let hangs = what.starts_with(super::guarded::HANG);
    let small = if hangs { ops.to_vec() } else { shrink(ops, trial.policy(), |ops| error(ops).is_some()) };
    let again =
        if hangs { None } else { error(&small) }.unwrap_or_else(|| format!("{what} (not every time)"));
    format!(
        "FENCEPOST_SEED={seed} replays it\n{}\n{again}\nthe full program failed with: {what}",
        listed(&small)
    )
}

/// Returns a line for each operation.
pub fn listed(ops: &[Op]) -> String {
    let lines = ops.iter().enumerate().map(|(at, op)| format!("  {at:3}  {op:?}"));
    lines.collect::<Vec<_>>().join("\n")
}
