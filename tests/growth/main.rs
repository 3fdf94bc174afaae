//! What a program does again and again leaves nothing behind: the bytes of the heap and the lengths of the tables are
//! the same later as before. On the CPU recorder and on one adapter; no time is measured.

#[path = "../common/mod.rs"]
mod common;

mod flat;
mod futures;
mod heap;
mod queues;
mod verbs;

use common::full::full;
use common::subject::{Place, Subject};
use common::{adapters, watchdog};
use libtest_mimic::{Failed, Trial};
use std::sync::Arc;
use std::time::Duration;

/// A hang is a failure after this long; the full suite does 34 times as much.
const LIMIT: Duration = Duration::from_secs(60);
/// How long contexts of a case may take to end.
const SETTLE: Duration = Duration::from_secs(10);

type Case = (&'static str, fn(&Subject));

fn main() {
    let quiet = env_logger::Env::default().default_filter_or("off"); // failures are provoked here
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
    // The heap is the process's: one after the other.
    common::one_place::run(trials).exit();
}

fn trial(&(name, run): &Case, place: &Arc<Place>) -> Trial {
    let (id, place) = (format!("{name}::{}", place.name()), place.clone());
    Trial::test(id.clone(), move || {
        let subject = Subject::new(place);
        let limit = if full() { 34 * LIMIT } else { LIMIT };
        watchdog::guard(&id, limit, &subject, run).map_err(Failed::from)?;
        subject.settle(SETTLE);
        Ok(())
    })
}

/// So many rounds on the CPU recorder, and so many where each is a submission to a driver.
fn rounds(subject: &Subject, cpu: usize, device: usize) -> usize {
    if subject.is_cpu() { cpu } else { device }
}
