//! Parses the command line of the tutorial.

#[path = "trace.rs"]
mod trace;

use std::path::PathBuf;

use clap::Parser;

/// Runs one example of the tutorial, on the best adapter of the machine.
#[derive(Parser)]
#[command(after_help = HELP)]
struct Args {
    /// Write what every queue did, and when, to a `.html` timeline or a `.json` trace for Perfetto
    #[arg(long, value_name = "FILE", value_parser = trace::file)]
    trace: Option<PathBuf>,
}

const HELP: &str = concat!(
    "Examples:\n  cargo run --example ",
    env!("CARGO_BIN_NAME"),
    "\n  cargo run --example ",
    env!("CARGO_BIN_NAME"),
    " -- --trace timeline.html\n  FENCEPOST_ADAPTER=llvmpipe cargo run --example ",
    env!("CARGO_BIN_NAME"),
);

/// Returns the file for the trace, if there is one. Ends the program if the command line is invalid.
pub(crate) fn trace() -> Option<PathBuf> {
    Args::parse().trace
}
