//! The tests of the random programs on the CPU recorder and on the adapters of this machine.

use super::awaiting::{Awaiting, WithOrWithoutThreads};
use super::case::{Adapter, Cpu, Matching, POLICIES, run_all};
use super::common::full::{full, seeds};
use super::common::results::{self, CPU, NOTHING, On};
use super::common::seeds::asked;
use super::common::subject::Place;
use super::common::{self, refusing};
use super::faults::{Faulty, Where};
use super::{coverage, graphs, open_order, regressions, repeat};
use fencepost::{AdapterChoice, ContextOptions, Policy, RecorderChoice};
use libtest_mimic::{Completion, Trial};
use std::ops::Range;
use std::sync::Arc;

/// Number of programs on the CPU recorder, for each policy and each half, in the full suite.
const ON_CPU: u64 = 1000;
/// Number of programs with faults, for each half, in the full suite.
const FAULTY: u64 = 500;
/// Number of programs that run twice, in the full suite.
const REPEATED: u64 = 300;
/// Number of captured programs on the CPU recorder, for each policy, in the full suite.
const CAPTURED: u64 = 800;
/// Number of captured programs on each adapter, for each policy, in the full suite.
const CAPTURED_ON_ADAPTER: u64 = 30;
/// Number of parallel trials on the CPU recorder. Their programs mostly wait for sleeping threads.
const AT_ONCE: usize = 6;
/// Number of programs on each adapter, for each policy, in the full suite.
const ON_ADAPTER: u64 = 100;
/// Number of programs with faults on each adapter, in the full suite.
const FAULTY_ON_ADAPTER: u64 = 60;
/// Number of programs on each Vulkan adapter whose driver fails calls, for each recorder, in the full suite.
const REFUSED_ON_ADAPTER: u64 = 20;

const FAULT_ON_ADAPTER: &str = "r02_a_fault_on_an_adapter_gives_no_wrong_byte_and_no_hang";

const RECORDERS: [RecorderChoice; 3] = [RecorderChoice::Wgpu, RecorderChoice::Hal, RecorderChoice::Direct];

/// Runs all tests, and ends the process.
pub fn run() {
    let mut trials = Vec::new();
    for half in 0..2 {
        trials.extend(POLICIES.map(|(name, policy)| on_cpu(name, policy, half)));
        trials.extend(POLICIES.map(|(name, policy)| awaited_on_cpu(name, policy, half)));
        trials.push(with_faults(half));
    }
    trials.extend(POLICIES.map(|(name, policy)| captured_on_cpu(name, policy)));
    trials.push(trial("r02_without_threads_a_seed_determines_every_result", CPU, || {
        run_all(asked().unwrap_or(0..some(REPEATED)), &repeat::Repeated)
    }));
    if asked().is_none() {
        trials.push(trial("p08_programs_have_operations_of_every_kind", CPU, coverage::run));
        trials.push(trial("r02_unordered_work_runs_in_any_order", CPU, open_order::run));
        trials.extend(regressions::trials());
    }
    trials.extend(on_adapters());
    common::place_filter::run_beside(trials, AT_ONCE).exit();
}

/// Returns a test that writes its result to the file of results.
pub fn trial(
    name: impl Into<String>,
    on: On<'_>,
    run: impl FnOnce() -> Result<(), String> + Send + 'static,
) -> Trial {
    let name = name.into();
    let adapter = on.adapter.to_owned();
    let backend = on.backend.to_owned();
    Trial::test(format!("{name}::{adapter}"), move || {
        let on = On { adapter: &adapter, backend: &backend };
        Ok(results::noted(&name, on, run)?)
    })
}

/// Returns one half of the seeds of the environment variables, or of `2 * count` seeds.
fn half_of(count: u64, half: u64) -> Range<u64> {
    let all = asked().unwrap_or(0..2 * count);
    let middle = all.start + (all.end - all.start).div_ceil(2);
    if half == 0 { all.start..middle } else { middle..all.end }
}

fn on_cpu(name: &str, policy: Policy, half: u64) -> Trial {
    trial(format!("p08_{name}_programs_match_the_oracle_{half}"), CPU, move || {
        let place = |seed| Cpu::of_seed(seed, policy);
        run_all(half_of(some(ON_CPU), half), &Matching { policy, pinned: true, encodes: false, place })
    })
}

/// Returns the number of programs on the CPU recorder, and of awaited programs: all of `count` in the full suite, an eighth
/// elsewhere.
fn some(count: u64) -> u64 {
    if full() { count } else { count / 8 }
}

fn awaited_on_cpu(name: &str, policy: Policy, half: u64) -> Trial {
    trial(format!("p08_{name}_programs_that_await_match_the_oracle_{half}"), CPU, move || {
        let place = |seed| Awaiting { place: Cpu::of_seed(seed, policy), seed };
        run_all(half_of(some(ON_CPU), half), &Matching { policy, pinned: false, encodes: false, place })
    })
}

fn captured_on_cpu(name: &str, policy: Policy) -> Trial {
    trial(format!("p08_{name}_programs_that_are_captured_match_the_oracle"), CPU, move || {
        run_all(asked().unwrap_or(0..some(CAPTURED)), &graphs::on_cpu(policy))
    })
}

fn with_faults(half: u64) -> Trial {
    trial(format!("r02_a_fault_gives_no_wrong_byte_and_no_hang_{half}"), CPU, move || {
        run_all(half_of(some(FAULTY), half), &Faulty { place: Where::Cpu })
    })
}

fn on_adapters() -> Vec<Trial> {
    let found = common::adapters::find();
    let mut trials = Vec::new();
    for place in found.places.iter().filter(|place| !place.is_cpu()) {
        let Some(index) = place.adapter_index() else { continue };
        trials.extend(POLICIES.map(|(name, policy)| on_adapter(place, index, name, policy)));
        trials.extend(POLICIES.map(|(name, policy)| awaited_on_adapter(place, index, name, policy)));
        trials.extend(POLICIES.map(|(name, policy)| captured_on_adapter(place, index, name, policy)));
        trials.push(faults_on_adapter(place, index));
        if place.is_vulkan() {
            trials.extend(RECORDERS.map(|recorder| refusals_on_adapter(place, recorder)));
        }
    }
    if let Some(reason) = found.no_adapter {
        let names = ["p08_programs_match_the_oracle", FAULT_ON_ADAPTER];
        trials.extend(names.map(|name| ignored(name.into(), "no_adapter", NOTHING, reason)));
    }
    trials
}

/// Returns a test that cannot run there. `place` is the last part of its name.
fn ignored(name: String, place: &str, on: On<'_>, reason: &'static str) -> Trial {
    let adapter = on.adapter.to_owned();
    let backend = on.backend.to_owned();
    Trial::ignorable_test(format!("{name}::{place}"), move || {
        let on = On { adapter: &adapter, backend: &backend };
        results::note(&name, on, &results::Ended::NotPossible(reason));
        Ok(Completion::ignored_with(reason))
    })
}

/// Returns the options of contexts on an adapter.
fn options(index: usize, policy: Policy) -> ContextOptions {
    ContextOptions::default().adapter(AdapterChoice::Index(index)).policy(policy)
}

fn on_adapter(place: &Arc<Place>, index: usize, name: &str, policy: Policy) -> Trial {
    let name = format!("p08_{name}_programs_match_the_oracle");
    let encodes = place.has_wgpu();
    watched(place, name, move || {
        let options = options(index, policy);
        // Where pinned memory is ordinary memory, uses of it are not hazards, so there programs under `Checked` do not
        // use it.
        let pinned = policy != Policy::Checked;
        let place = |seed| Adapter { options: options.clone(), seed };
        run_all(
            asked().unwrap_or(10_000..10_000 + seeds(ON_ADAPTER)),
            &Matching { policy, pinned, encodes, place },
        )
    })
}

fn awaited_on_adapter(place: &Arc<Place>, index: usize, name: &str, policy: Policy) -> Trial {
    let name = format!("p08_{name}_programs_that_await_match_the_oracle");
    let own = place.clone();
    let encodes = place.has_wgpu();
    watched(place, name, move || {
        let options = options(index, policy);
        let place = |seed: u64| {
            let threads = seed.is_multiple_of(2);
            let with = || WithOrWithoutThreads::With(Box::new(Adapter { options: options.clone(), seed }));
            let without = || WithOrWithoutThreads::Without(own.clone(), policy);
            Awaiting { place: if threads { with() } else { without() }, seed }
        };
        let seeds = 10_000..10_000 + seeds(ON_ADAPTER / 2);
        // A pinned array cannot be awaited.
        run_all(asked().unwrap_or(seeds), &Matching { policy, pinned: false, encodes, place })
    })
}

fn captured_on_adapter(place: &Arc<Place>, index: usize, name: &str, policy: Policy) -> Trial {
    let name = format!("p08_{name}_programs_that_are_captured_match_the_oracle");
    watched(place, name, move || {
        let options = options(index, policy);
        let place = |seed| Adapter { options: options.clone(), seed };
        let seeds = 10_000..10_000 + seeds(CAPTURED_ON_ADAPTER);
        run_all(asked().unwrap_or(seeds), &graphs::Replaying { policy, place })
    })
}

fn faults_on_adapter(place: &Arc<Place>, index: usize) -> Trial {
    watched(place, FAULT_ON_ADAPTER.into(), move || {
        let place = Where::Adapter(Box::new(options(index, Policy::Ordered)));
        run_all(asked().unwrap_or(20_000..20_000 + seeds(FAULTY_ON_ADAPTER)), &Faulty { place })
    })
}

/// Runs programs with a recorder, on a device whose driver fails calls as the seed determines.
fn refusals_on_adapter(place: &Arc<Place>, recorder: RecorderChoice) -> Trial {
    let name = format!("r02_failures_of_a_driver_give_no_wrong_byte_and_no_hang_{recorder:?}").to_lowercase();
    if let Some(reason) = refusing::not_tried(recorder) {
        return ignored(name, place.name(), place.on(), reason);
    }
    let own = place.clone();
    trial(name, place.on(), move || {
        common::validation::forget();
        let place = Where::Driver(common::raw::adapter(&own), recorder);
        run_all(asked().unwrap_or(31_020..31_020 + seeds(REFUSED_ON_ADAPTER)), &Faulty { place })?;
        common::validation::check_but(refusing::leaked_by_hal)
    })
}

/// Returns a test on an adapter that fails if the validation layers report a message.
fn watched(
    place: &Arc<Place>,
    name: String,
    run: impl FnOnce() -> Result<(), String> + Send + 'static,
) -> Trial {
    let watched = place.is_vulkan();
    trial(name, place.on(), move || {
        common::validation::forget();
        run()?;
        if watched { common::validation::check() } else { Ok(()) }
    })
}
