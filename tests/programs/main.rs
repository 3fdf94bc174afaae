//! Rules P08 and R02: random programs on several queues against an oracle that does one operation after the other.
//!
//! `FENCEPOST_SEED=<number>` runs the program of one seed only; a failure prints its seed and the smallest program
//! that still fails.
#![allow(unreachable_pub, reason = "modules of a test program")]

mod case;
mod checked;
mod faults;
mod generate;
mod held;
mod kernels;
mod legal;
mod machine;
mod op;
mod oracle;
mod pseudo;
mod regressions;
mod repeat;
mod run;
mod shrink;

#[path = "../common/mod.rs"]
mod common;

use case::{Adapter, Cpu, Matching, cpu_options, run_all};
use common::subject::context_options;
use fencepost::{AdapterChoice, ContextOptions, Policy};
use libtest_mimic::{Arguments, Trial};

/// Programs on the CPU recorder, for each policy and half.
const ON_CPU: u64 = 1000;
/// Programs with faults, for each half.
const FAULTY: u64 = 500;
/// Programs that run twice.
const REPEATED: u64 = 300;
/// Programs on each adapter, for each policy.
const ON_ADAPTER: u64 = 100;

const POLICIES: [(&str, Policy); 3] =
    [("ordered", Policy::Ordered), ("checked", Policy::Checked), ("unchecked", Policy::Unchecked)];

fn main() {
    let args = Arguments::from_args();
    let mut trials = Vec::new();
    for (name, policy) in POLICIES {
        for half in 0..2 {
            trials.push(on_cpu(name, policy, half));
        }
    }
    trials.extend((0..2).map(with_faults));
    trials.push(Trial::test("r02_without_threads_a_seed_says_everything_that_happens::cpu", || {
        Ok(run_all(seeds(0, REPEATED), &repeat::Repeated)?)
    }));
    trials.extend(regressions::trials());
    trials.extend(on_adapters());
    libtest_mimic::run(&args, trials).exit();
}

/// The seeds of a trial, or the one that is asked for.
fn seeds(first: u64, count: u64) -> Vec<u64> {
    let asked =
        std::env::var("FENCEPOST_SEED").ok().map(|seed| seed.parse().expect("FENCEPOST_SEED is a number"));
    let times: u64 = std::env::var("FENCEPOST_PROGRAMS")
        .map_or(1, |times| times.parse().expect("FENCEPOST_PROGRAMS is a number"));
    asked.map_or_else(|| (first * times..(first + count) * times).collect(), |seed| vec![seed])
}

fn on_cpu(name: &str, policy: Policy, half: u64) -> Trial {
    Trial::test(format!("p08_{name}_programs_match_the_oracle_{half}::cpu"), move || {
        let place = |seed| Cpu { options: cpu_options(seed), policy };
        Ok(run_all(seeds(half * ON_CPU, ON_CPU), &Matching { policy, pinned: true, place })?)
    })
}

fn with_faults(half: u64) -> Trial {
    Trial::test(format!("r02_a_fault_gives_no_wrong_byte_and_no_hang_{half}::cpu"), move || {
        Ok(run_all(seeds(half * FAULTY, FAULTY), &faults::Faulty)?)
    })
}

fn on_adapters() -> Vec<Trial> {
    let found = common::adapters::find();
    let mut trials = Vec::new();
    for place in found.places.iter().filter(|place| !place.is_cpu()) {
        let Some(index) = place.adapter_index() else { continue };
        for (name, policy) in POLICIES {
            trials.push(on_adapter(place, index, name, policy));
        }
    }
    if let Some(reason) = found.no_adapter {
        trials.push(
            Trial::test(format!("p08_programs_match_the_oracle::no_adapter ({reason})"), || Ok(()))
                .with_ignored_flag(true),
        );
    }
    trials
}

fn on_adapter(place: &common::subject::Place, index: usize, name: &str, policy: Policy) -> Trial {
    let watched = place.is_vulkan();
    Trial::test(format!("p08_{name}_programs_match_the_oracle::{}", place.name()), move || {
        let adapter = AdapterChoice::Index(index);
        let options = ContextOptions { adapter, policy, ..context_options() };
        // Where pinned memory is ordinary memory, uses of it are no hazard.
        let pinned = policy != Policy::Checked;
        let place = |_| Adapter { options: options.clone() };
        run_all(seeds(10_000, ON_ADAPTER), &Matching { policy, pinned, place })?;
        if watched {
            common::validation::check()?;
        }
        Ok(())
    })
}
