//! Checks that repeated operations retain no memory: the bytes of the heap and the lengths of the tables do not grow.
//! The tests run on the CPU recorder and on one adapter, and measure no time.

#[path = "../common/mod.rs"]
mod common;

mod futures;
mod heap;
mod queues;
mod retained;
mod verbs;

use common::full::full;
use common::subject::{Place, Subject};
use common::{adapters, watchdog};
use libtest_mimic::{Failed, Trial};
use std::sync::Arc;
use std::time::Duration;

/// Time limit of a case. A longer case counts as a hang and fails. The full suite runs 34 times as many rounds, with 34
/// times the limit.
const LIMIT: Duration = Duration::from_secs(60);
/// Time within which the contexts of a case must end.
const SETTLE: Duration = Duration::from_secs(10);

type Case = (&'static str, fn(&Subject));

fn main() {
    let quiet = env_logger::Env::default().default_filter_or("off"); // the cases provoke failures
    env_logger::Builder::from_env(quiet).init();
    let places = adapters::find().places;
    let device =
        places.iter().find(|place| place.is_vulkan()).or(places.iter().find(|place| !place.is_cpu()));
    let cpu = places.iter().find(|place| place.is_cpu());
    let mut trials = Vec::new();
    for place in cpu.into_iter().chain(device) {
        for cases in [verbs::CASES, futures::CASES, queues::CASES] {
            trials.extend(cases.iter().map(|case| trial(case, place)));
        }
    }
    // All trials share the heap of the process, so they run one after the other.
    common::place_filter::run(trials).exit();
}

fn trial(&(name, run): &Case, place: &Arc<Place>) -> Trial {
    let id = format!("{name}::{}", place.name());
    let place = place.clone();
    Trial::test(id.clone(), move || {
        let subject = Subject::new(place);
        let limit = if full() { 34 * LIMIT } else { LIMIT };
        watchdog::guard(&id, limit, &subject, run).map_err(Failed::from)?;
        subject.settle(SETTLE);
        Ok(())
    })
}

/// Returns the number of rounds: `cpu` for the CPU recorder, `device` where each round is a submission to a driver.
fn rounds(subject: &Subject, cpu: usize, device: usize) -> usize {
    if subject.is_cpu() { cpu } else { device }
}
