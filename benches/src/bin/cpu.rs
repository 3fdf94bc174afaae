//! `cpu` prints the times of kernels on the CPU device, on software drivers, on PoCL and in plain Rust.

use clap::Parser;
use fencepost_benches::cpu::{SimulatorOptions, run};

fn main() -> anyhow::Result<()> {
    run(&SimulatorOptions::parse(), &mut std::io::stdout().lock())
}
