//! `cpu` prints the times of kernels on the CPU device, on software drivers, on PoCL and in plain Rust.

use std::process::ExitCode;

use clap::Parser;
use fencepost_benches::cpu::{SimulatorOptions, run};

fn main() -> ExitCode {
    match run(&SimulatorOptions::parse(), &mut std::io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
