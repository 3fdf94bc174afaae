//! Programs by the hundred: a seed each, and the smallest program of the first failure.

use super::generate::{Style, program};
use super::op::Op;
use super::run::{Place, run};
use super::shrink::shrink;
use fastrand::Rng;
use fencepost::{Context, ContextOptions, CpuOptions, Policy};

/// How often a smaller program is run before it counts as right: order is a matter of chance with threads.
const TRIES: usize = 4;

/// The CPU recorder, as a seed has it.
#[derive(Clone)]
pub struct Cpu {
    pub options: CpuOptions,
    pub policy: Policy,
}

impl Place for Cpu {
    fn open(&self) -> Result<Context, String> {
        Ok(Context::on_cpu_with(self.options, self.policy))
    }

    fn policy(&self) -> Policy {
        self.policy
    }

    fn threads(&self) -> bool {
        self.options.threads
    }
}

/// An adapter of this machine.
#[derive(Clone)]
pub struct Adapter {
    pub options: ContextOptions,
}

impl Place for Adapter {
    fn open(&self) -> Result<Context, String> {
        Context::with_options(self.options.clone()).wait().map_err(|error| error.to_string())
    }

    fn policy(&self) -> Policy {
        self.options.policy
    }

    fn threads(&self) -> bool {
        true
    }
}

/// The CPU recorder's behaviour that a seed stands for: one to three lanes, threads or not, delays or not.
pub fn cpu_options(seed: u64) -> CpuOptions {
    let mut rng = Rng::with_seed(seed ^ 0xC0DE);
    CpuOptions {
        seed,
        lanes: rng.usize(1..=3),
        threads: rng.u32(0..3) > 0,
        delays: rng.u32(0..4) == 0,
        ..CpuOptions::default()
    }
}

/// Runs the program of each seed; the first that fails is made small and shown.
pub fn run_all<P: Place>(
    seeds: impl IntoIterator<Item = u64>,
    place: impl Fn(u64) -> P,
    style: impl Fn(u64) -> Style,
) -> Result<(), String> {
    for seed in seeds {
        let (place, style) = (place(seed), style(seed));
        let ops = program(&mut Rng::with_seed(seed), style);
        if let Err(what) = run(&place, &ops) {
            return Err(explain(seed, &place, &ops, style.policy, &what));
        }
    }
    Ok(())
}

fn explain(seed: u64, place: &impl Place, ops: &[Op], policy: Policy, what: &str) -> String {
    let error = |ops: &[Op]| (0..TRIES).find_map(|_| run(place, ops).err());
    // A hang takes a minute to be seen: it stays as it is.
    let small = if what.starts_with("not over") { ops.to_vec() } else { shrink(ops, policy, |ops| error(ops).is_some()) };
    let again = error(&small).unwrap_or_else(|| format!("{what} (not every time)"));
    let lines: Vec<String> = small.iter().enumerate().map(|(at, op)| format!("  {at:3}  {op:?}")).collect();
    format!(
        "FENCEPOST_SEED={seed} replays it, under {policy:?}, with the threads {}\n{}\n{again}\nin full at first: {what}",
        if place.threads() { "of the context" } else { "of nobody but the caller" },
        lines.join("\n")
    )
}
