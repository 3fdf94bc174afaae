//! What a subject is tried together with: every other place of the machine, itself, and contexts without threads.

use super::adapters;
use super::full::full;
use super::subject::{Place, Subject};
use fencepost::{Context, CpuOptions, Policy};
use std::sync::{Arc, OnceLock};

/// A name for messages, and a second context.
pub type Partner = (String, Context);

/// Calls `each` with a fresh context of the subject and one of each partner, both ways round.
pub fn each_pair(s: &Subject, each: impl Fn(&str, &Context, &Context)) {
    each_pair_with(s, [Policy::Ordered; 2], each);
}

/// As [`each_pair`], with the policy of the first and of the second.
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

/// Calls `each` with a fresh context of the subject and one of its own place and of the next; of every place of the
/// machine where the full suite runs.
pub fn every_pair(s: &Subject, each: impl Fn(&str, &Context, &Context)) {
    let all = if full() { places().iter().collect() } else { near(s) };
    for place in all {
        each(&format!("{} and {}", s.name(), place.name()), &s.ctx(), &of_place(s, place, Policy::Ordered));
    }
}

/// A fresh context of the subject's own place, of the next one, and one that has no threads.
pub fn partners(s: &Subject, policy: Policy) -> Vec<Partner> {
    let mut partners: Vec<Partner> =
        near(s).into_iter().map(|place| (place.name().to_owned(), of_place(s, place, policy))).collect();
    partners.push(("no threads".into(), without_threads(s, 5, policy)));
    partners
}

/// The subject's own place, and the next one.
fn near(s: &Subject) -> Vec<&'static Arc<Place>> {
    let places = places();
    let at = places.iter().position(|place| place.name() == s.name()).unwrap_or(0);
    vec![&places[at], &places[(at + 1) % places.len()]]
}

fn of_place(s: &Subject, place: &Arc<Place>, policy: Policy) -> Context {
    let ctx = Subject::new(place.clone()).ctx_with(policy);
    s.watch(&ctx);
    ctx
}

/// A context on the CPU recorder that goes on only inside calls which wait or flush.
pub fn without_threads(s: &Subject, seed: u64, policy: Policy) -> Context {
    let options = CpuOptions { seed, lanes: 1 + seed as usize % 2, threads: false, ..CpuOptions::default() };
    let ctx = Context::on_cpu_with(options, policy);
    s.watch(&ctx);
    ctx
}

fn places() -> &'static [Arc<Place>] {
    static FOUND: OnceLock<Vec<Arc<Place>>> = OnceLock::new();
    FOUND.get_or_init(|| adapters::find().places)
}
