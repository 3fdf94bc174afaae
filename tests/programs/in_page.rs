//! The random programs in a page of a browser. The program of each seed is a case, so a page that ends or hangs names it.
//!
//! A seed gives another program than natively, because a page draws numbers of type `usize` with 32 bits.

use super::awaiting::Awaiting;
use super::case::{Adapter, Cpu, Matching, POLICIES, Trial, listed};
use super::common::case::computed;
use super::common::{Case, Subject};
use super::graphs::Replaying;
use super::run::Place;
use super::soak;
use fencepost::{AdapterChoice, ContextOptions, Policy};

/// Number of programs at each place.
const SEEDS: u64 = 200;

/// A way to run programs.
#[derive(Clone, Copy)]
enum Way {
    /// Each operation waits as it was drawn. The page runs meanwhile.
    Drawn,
    Awaited,
    Captured,
}

/// The ways, with the ends of the tests' names.
const WAYS: [(&str, Way); 3] = [
    ("match_the_oracle", Way::Drawn),
    ("that_await_match_the_oracle", Way::Awaited),
    ("that_are_captured_match_the_oracle", Way::Captured),
];

/// Returns the cases of the page.
pub fn cases() -> Vec<Case> {
    (0..SEEDS).map(of_seed).chain([soak::case()]).collect()
}

/// Returns the case of a seed. Nine seeds in a row have each policy in each way.
fn of_seed(seed: u64) -> Case {
    let (policy_name, policy) = POLICIES[(seed % 3) as usize];
    let (way_name, way) = WAYS[(seed / 3 % 3) as usize];
    let name = format!("p08_{policy_name}_programs_{way_name}_{seed}");
    computed(name.leak(), move |s| {
        if let Err(what) = run(s, seed, policy, way) {
            panic!("{what}");
        }
    })
}

fn run(s: &Subject, seed: u64, policy: Policy, way: Way) -> Result<(), String> {
    let encodes = s.place().has_wgpu();
    if s.is_cpu() {
        return run_at(&Cpu::of_seed(seed, policy), seed, way, encodes, true);
    }
    let adapter = if s.place().has_wgpu() { AdapterChoice::Auto } else { AdapterChoice::Cpu };
    let options = ContextOptions::default().adapter(adapter).policy(policy);
    // As natively: where pinned memory is ordinary memory, uses of it are not hazards.
    let pinned = policy != Policy::Checked;
    run_at(&Adapter { options, seed }, seed, way, encodes, pinned)
}

fn run_at(place: &impl Place, seed: u64, way: Way, encodes: bool, pinned: bool) -> Result<(), String> {
    let policy = place.policy();
    match way {
        Way::Drawn => {
            let place = |_: u64| place.clone();
            tried(seed, &Matching { policy, pinned, encodes, place })
        }
        Way::Awaited => {
            let place = |seed: u64| Awaiting { place: place.clone(), seed };
            // A pinned array cannot be awaited.
            tried(seed, &Matching { policy, pinned: false, encodes, place })
        }
        Way::Captured => tried(seed, &Replaying { policy, place: |_: u64| place.clone() }),
    }
}

/// Runs the program of a seed. The error shows it.
fn tried(seed: u64, trial: &impl Trial) -> Result<(), String> {
    let ops = trial.program(seed);
    trial.run(seed, &ops).map_err(|what| format!("{what}\nthe program:\n{}", listed(&ops)))
}
