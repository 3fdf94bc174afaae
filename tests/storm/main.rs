//! Tests rules R02 and Q14: several threads run random programs on contexts and queues that they share. Each thread has
//! a model of its own program.
//!
//! A seed gives every thread the same program each time. The system schedules the threads. Each thread knows the bytes
//! of its arrays at every point of its program, and an array is given away together with its expected words. Every
//! read, download and map therefore has one correct result. `FENCEPOST_SEED=<number>` runs one seed, and
//! `FENCEPOST_SEEDS=<from>..<to>` runs many. `FENCEPOST_STORM_TIMES=<number>` repeats each seed.
//! `FENCEPOST_STORM_THREADS=<number>` replaces the number of threads that a seed draws.
#![allow(unreachable_pub, reason = "modules of a test program")]

mod array;
mod bursts;
mod bytes;
mod callbacks;
mod contexts;
mod end;
mod events;
mod failures;
mod handover;
mod helper_threads;
mod maps;
mod pinned;
mod progress;
mod queues;
mod regions;
mod run;
mod seed;
mod shared;
mod steps;
mod temporary;
mod waits;
mod worker;

#[path = "../common/mod.rs"]
mod common;

use common::full::full;
use common::results::{self, CPU, On};
use common::seeds::asked;
use common::subject::Place;
use common::{adapters, place_filter, validation};
use libtest_mimic::Trial;
use std::ops::Range;
use std::sync::Arc;

/// Seeds on the CPU recorder, in the full suite.
const ON_CPU: u64 = 4000;
/// Seeds on each adapter, in the full suite.
const ON_ADAPTER: u64 = 300;
/// Divisor of these numbers elsewhere.
const ELSEWHERE: u64 = 50;

const NAME: &str = "r02_threads_that_share_queues_each_read_their_own_bytes_and_no_wait_hangs";

fn main() {
    let mut trials = vec![trial(CPU, None)];
    let places = adapters::find().places;
    trials.extend(places.iter().filter(|place| !place.is_cpu()).map(|place| trial(place.on(), Some(place))));
    place_filter::run(trials).exit();
}

/// Returns the trial of one place. It fails if the validation layers report a message.
fn trial(on: On<'_>, place: Option<&Arc<Place>>) -> Trial {
    let adapter = on.adapter.to_owned();
    let backend = on.backend.to_owned();
    let place = place.cloned();
    Trial::test(format!("{NAME}::{adapter}"), move || {
        let on = On { adapter: &adapter, backend: &backend };
        Ok(results::noted(NAME, on, || run_at(place))?)
    })
}

fn run_at(place: Option<Arc<Place>>) -> Result<(), String> {
    let watched = place.as_ref().is_some_and(|place| place.is_vulkan());
    let seeds = asked().unwrap_or_else(|| own_seeds(place.is_none()));
    for seed in seeds.flat_map(|seed| (0..times()).map(move |_| seed)) {
        if watched {
            validation::forget();
        }
        run::run(seed, place.clone())?;
        if watched {
            validation::check().map_err(|said| run::explain(seed, place.as_ref(), &said))?;
        }
    }
    Ok(())
}

/// Returns the seeds of a run without environment variables.
fn own_seeds(cpu: bool) -> Range<u64> {
    let count = if cpu { ON_CPU } else { ON_ADAPTER };
    0..if full() { count } else { count / ELSEWHERE }
}

/// Returns the number of runs of each seed.
fn times() -> u64 {
    std::env::var("FENCEPOST_STORM_TIMES")
        .map_or(1, |times| times.parse().expect("FENCEPOST_STORM_TIMES is a number"))
}
