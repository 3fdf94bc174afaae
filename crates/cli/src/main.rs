//! The command `fencepost`: lists the adapters of a machine, tests, measures and tunes them, and runs kernels from a
//! shell.
#![forbid(unsafe_code)]

mod bench;
mod bytes;
mod cli;
mod doctor;
mod info;
mod opened;
mod output;
mod progress;
mod run;
mod shaders;
mod shell;
mod table;
mod tune;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

use cli::{Cli, Command};

fn main() -> ExitCode {
    match work(Cli::parse().command) {
        Ok(Outcome::Good) => ExitCode::SUCCESS,
        Ok(Outcome::Bad) => ExitCode::FAILURE,
        Ok(Outcome::Mistakes) => ExitCode::from(MISTAKES),
        Err(error) => {
            output::complain(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Exit code after mistakes of a kernel.
const MISTAKES: u8 = 3;

/// Result of a command that has printed everything.
enum Outcome {
    /// The exit code is 0.
    Good,
    /// The exit code is 1.
    Bad,
    /// A check found mistakes of a kernel. The exit code is 3.
    Mistakes,
}

fn work(command: Command) -> Result<Outcome> {
    match command {
        Command::Info(options) => info::info(&options),
        Command::Doctor(options) => doctor::doctor(&options),
        Command::Run(options) => run::run(&options),
        Command::Bench(options) => bench::bench(&options),
        Command::Tune(options) => tune::tune(&options),
        Command::Shaders(options) => shaders::shaders(&options),
        Command::Completions { shell } => shell::completions(shell),
        Command::Man { command } => shell::man(command.as_deref()),
    }
}
