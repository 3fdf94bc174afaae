//! `algorithms` prints the times of the verbs of the algorithms on devices, and of the same work in plain Rust.

use std::process::ExitCode;

use clap::Parser;
use fencepost_benches::algorithms::{AlgorithmsOptions, run};

fn main() -> ExitCode {
    match run(&AlgorithmsOptions::parse(), &mut std::io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
