//! The contract, rule by rule, on every adapter of the machine and on the CPU recorder.
//!
//! A test is named after its rule and ends in what it ran on: `q01_enqueueing_never_blocks::lavapipe`.
#![allow(unreachable_pub, reason = "modules of a program")]

#[path = "../common/mod.rs"]
mod common;

mod cupy;
mod devices;
mod events;
mod gstaichi;
mod hangs;
mod katsdpsigproc;
mod katsdpsigproc_memory;
mod kernels;
mod memory;
mod peers_memory;
mod peers_timing;
mod policy;
mod queues;
mod robustness;
mod taichi;
mod timing;
mod warp;
mod warp_copy;

use libtest_mimic::Arguments;

/// One case at a time: what the validation layer says belongs to the case that runs, and the adapters are shared.
fn main() {
    let quiet = env_logger::Env::default().default_filter_or("off"); // failures are provoked here
    env_logger::Builder::from_env(quiet).init();
    let given = Arguments::from_args();
    let arguments = Arguments { test_threads: given.test_threads.or(Some(1)), ..given };
    let modules = [
        queues::cases,
        events::cases,
        devices::cases,
        memory::cases,
        peers_memory::cases,
        policy::cases,
        kernels::cases,
        robustness::cases,
        timing::cases,
        taichi::cases,
        katsdpsigproc::cases,
        cupy::cases,
        gstaichi::cases,
        warp::cases,
        katsdpsigproc_memory::cases,
        warp_copy::cases,
        peers_timing::cases,
        hangs::cases,
    ];
    let cases = modules.into_iter().flat_map(|cases| cases()).collect();
    libtest_mimic::run(&arguments, common::trials(cases)).exit();
}
