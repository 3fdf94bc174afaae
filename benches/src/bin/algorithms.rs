//! `algorithms` prints the times of the verbs of the algorithms on devices, and of the same work in plain Rust.

use clap::Parser;
use fencepost_benches::algorithms::{AlgorithmsOptions, run};

fn main() -> anyhow::Result<()> {
    run(&AlgorithmsOptions::parse(), &mut std::io::stdout().lock())
}
