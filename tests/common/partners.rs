//! Second contexts for cases with two contexts: at every other place of the machine, at the same place, and without
//! threads.

use super::full::full;
use super::subject::{Place, Subject};
use fastrand::Rng;
use fencepost::testing::CpuFaults;
use fencepost::{Context, Policy, SimulatorOptions};
use std::sync::{Arc, OnceLock};

/// A second context, with a name for messages.
pub type Partner = (String, Context);

/// Calls `each` with a fresh context of the subject and a context of each partner, in both orders.
pub fn each_pair(s: &Subject, each: impl Fn(&str, &Context, &Context)) {
    each_pair_with(s, [Policy::Ordered; 2], each);
}

/// Like [`each_pair`], with the policies of the first and of the second context.
pub fn each_pair_with(s: &Subject, policies: [Policy; 2], each: impl Fn(&str, &Context, &Context)) {
    for (name, partner) in partners(s, policies[1]) {
        let own = s.ctx_with(policies[0]);
        each(&format!("{} and {name}", s.name()), &own, &partner);
    }
    for (name, partner) in partners(s, policies[0]).into_iter().skip(1) {
        let own = s.ctx_with(policies[1]);
        each(&format!("{name} and {}", s.name()), &partner, &own);
    }
}

/// Calls `each` with a fresh context of the subject and a context of its own place, then with a context of the next
/// place. In the full suite it does so for every place of the machine.
pub fn every_pair(s: &Subject, each: impl Fn(&str, &Context, &Context)) {
    let all = if full() { places().iter().collect() } else { near(s) };
    for place in all {
        each(&format!("{} and {}", s.name(), place.name()), &s.ctx(), &of_place(s, place, Policy::Ordered));
    }
}

/// Returns a fresh context of the subject's own place, of the next place, and a context without threads.
pub fn partners(s: &Subject, policy: Policy) -> Vec<Partner> {
    let mut partners: Vec<Partner> =
        near(s).into_iter().map(|place| (place.name().to_owned(), of_place(s, place, policy))).collect();
    partners.push(("no threads".into(), without_threads(s, 5, policy)));
    partners
}

/// Returns a fresh context of every place of the machine.
pub fn everywhere(s: &Subject, policy: Policy) -> Vec<Partner> {
    places().iter().map(|place| (place.name().to_owned(), of_place(s, place, policy))).collect()
}

/// Returns `n` numbers, each larger than the one before by 7.
pub fn counted(n: usize, start: u32) -> Vec<u32> {
    (0..n as u32).map(|i| start.wrapping_add(i.wrapping_mul(7))).collect()
}

/// Returns the subject's own place and the next place.
fn near(s: &Subject) -> Vec<&'static Arc<Place>> {
    let places = places();
    let at = places.iter().position(|place| place.name() == s.name()).expect("it is one of them");
    vec![&places[at], &places[(at + 1) % places.len()]]
}

fn of_place(s: &Subject, place: &Arc<Place>, policy: Policy) -> Context {
    let ctx = Subject::new(place.clone()).ctx_with(policy);
    s.watch(&ctx);
    ctx
}

/// Returns a context on the CPU recorder that makes progress only inside calls that wait or flush.
pub fn without_threads(s: &Subject, seed: u64, policy: Policy) -> Context {
    let options = SimulatorOptions::default().seed(seed).lanes(1 + seed as usize % 2).threads(false);
    s.simulated(options.policy(policy))
}

/// Returns two contexts on the CPU recorder with random delays, refusals and losses.
pub fn faulty_pair(s: &Subject, seed: u64, rng: &mut Rng) -> [Context; 2] {
    [0, 1].map(|at| {
        let options =
            SimulatorOptions::default().seed(2 * seed + at).lanes(rng.usize(1..4)).threads(rng.bool());
        let faults = CpuFaults {
            delays: true,
            refusals: if rng.bool() { 0.0 } else { 0.2 },
            lost_after: (rng.u32(..4) == 0).then(|| rng.u64(..30)),
        };
        s.faulty(options, faults)
    })
}

fn places() -> &'static [Arc<Place>] {
    static FOUND: OnceLock<Vec<Arc<Place>>> = OnceLock::new();
    #[cfg(not(target_arch = "wasm32"))]
    let find = || super::adapters::find().places;
    #[cfg(target_arch = "wasm32")]
    let find = super::page::places;
    FOUND.get_or_init(find)
}
